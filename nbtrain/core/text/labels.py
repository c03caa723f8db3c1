"""The words of a user about a run: its tags, its notes, and the names of its stages."""

from __future__ import annotations

from collections.abc import Iterable

from nbtrain.core.errors import ArgumentError

MOST_TAGS = 20
MOST_CHARS = 40

# The most characters of a note.
MOST_NOTE_CHARS = 1000


def checked(tags: object) -> tuple[str, ...]:
    """Returns tags without spaces around them, each once, in their order; a text is one tag.

    Raises:
        ArgumentError: The tags cannot be used.
    """
    given = [tags] if isinstance(tags, str) else tags
    words = list(given) if isinstance(given, Iterable) else None
    if words is None or not all(isinstance(word, str) for word in words):
        raise ArgumentError(f'tags={tags!r}: give a list of words, such as ["baseline", "adam"].')
    found = tuple(dict.fromkeys(word.strip() for word in words))
    for word in found:
        if not word or "," in word or not word.isprintable() or len(word) > MOST_CHARS:
            raise ArgumentError(
                f"tags={tags!r}: {word!r} is no tag. Give words of 1 to {MOST_CHARS} characters "
                "without a comma."
            )
    if len(found) > MOST_TAGS:
        raise ArgumentError(f"{len(found)} tags are given, and {MOST_TAGS} are the most.")
    return found


def checked_stage(name: object) -> str:
    """Returns the name of a stage of a training.

    Raises:
        ArgumentError: The name cannot be used.
    """
    said = name.strip() if isinstance(name, str) else ""
    if not said or not said.isprintable() or len(said) > MOST_CHARS:
        raise ArgumentError(
            f"stage={name!r}: give a name of 1 to {MOST_CHARS} characters, such as 'fine-tune', or "
            "None to go on with the stage of the checkpoint."
        )
    return said


def checked_note(text: object) -> str:
    """Returns the text of a note on one line.

    Raises:
        ArgumentError: The note is no text, empty or too long.
    """
    said = " ".join(text.split()) if isinstance(text, str) else ""
    if not said:
        raise ArgumentError(f"note({text!r}): give a text, such as 'the loss is flat'.")
    if len(said) > MOST_NOTE_CHARS:
        raise ArgumentError(
            f"The note has {len(said):,} characters, and {MOST_NOTE_CHARS:,} are the most."
        )
    return said
