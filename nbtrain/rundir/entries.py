"""Reads the lines of a run's `steering.jsonl`: their events and their fields.

Damaged or changed lines are skipped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from nbtrain.core import own_files
from nbtrain.core.values.config import Config, merged

FILE = "steering.jsonl"

# The most bytes of a journal that are read: a journal with a checkpoint each second has as many
# after two months.
MOST_BYTES = 1 << 30

# The most unreadable lines that a message names.
_MOST_NAMED = 5

# Steps are counted in 64 bits.
_MOST_STEPS = 2**63

_SURROGATE = re.compile("[\ud800-\udfff]")

Entry = Mapping[str, Any]

# The events that end a run.
ENDS = frozenset({"finished", "stopped", "failed"})

# Events without a mark: the start and end of a run, the starts of segments, and events that have a
# curve.
UNMARKED = frozenset(
    {"start", "stop", "finished", "stopped"}
    | {"origin", "back", "segment", "found", "copy", "evaluated", "folder"}
    | {"unsaved", "saved"}  # the process ends
    | {"tag"}  # the run shows its tags
    | {"lacking"}  # trained variables that are not saved
)

# All events of the journal.
EVENTS = (
    *("start", "pause", "resume", "stop", "save", "checkpoint", "restore", "set", "try", "replay"),
    *("evaluate", "evaluated", "nan", "recovery", "folder", "finished", "stopped", "failed"),
    *("why_nan", "why_slow", "look_inside"),
    *("undone", "origin", "back", "segment", "found", "copy", "lacking", "unsaved", "saved"),
    *("best", "patience"),  # a better value; no better value for too long
    *("lost", "returned"),  # tasks of its cluster
    "stage",  # a stage of the training begins
    *("note", "tag"),
)


def entries(logdir: Path, unread: list[int] | None = None) -> Iterator[Entry]:
    """Yields the entries of a run's folder, the oldest first; skips lines that are not entries.

    Args:
        unread: A list to which the numbers of skipped lines are added, from 1.

    Raises:
        OSError: The file does not exist, or cannot be opened.
    """
    with own_files.opened(logdir / FILE) as file:
        for number, line in enumerate(own_files.lines(file, MOST_BYTES), 1):
            if (entry := entry_of(line.decode("utf-8", "replace"))) is not None:
                yield entry
            elif unread is not None and line.strip():
                unread.append(number)


def entry_of(line: str) -> Entry | None:
    """Returns the entry of a line; None if the line is damaged or was changed."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):  # ValueError also for a number with too many digits
        return None
    if not isinstance(entry, dict) or not {"event", "step"} <= entry.keys():
        return None
    return (
        entry if all(_FIELDS[name](entry[name]) for name in _FIELDS.keys() & entry.keys()) else None
    )


def step_of(entry: Entry) -> int:
    """Returns the step of the run after an entry."""
    to = entry.get("to")
    return to if type(to) is int else int(entry["step"])


def edits_of(entry: Entry) -> list[tuple[str, float, float]]:
    """Returns the hyperparameters that an entry changed: name, old and new value."""
    edits = entry.get("edits")
    found = edits.items() if isinstance(edits, Mapping) else ()
    return [(name, *pair) for name, pair in found if _is_pair(pair)]


def tags_of(entry: Entry, before: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Returns the tags of the run after an entry; `before` are those before it."""
    found = entry.get("tags")
    changes = entry["event"] in ("start", "tag") and entry.get("applied", True)
    if not changes or not isinstance(found, list):
        return before
    return tuple(word for word in found if _is_text(word))


def config_of(entry: Entry, before: Config) -> Config:
    """Returns the config of the run after an entry; `before` is that before it."""
    return merged(before, entry.get("config")) if entry["event"] == "start" else before


def arms_in(entry: Entry) -> list[Entry]:
    """Returns the results of the arms of a trial in an entry; empty for other entries."""
    arms = entry.get("arms")
    found = arms if isinstance(arms, list) else ()
    return [arm for arm in found if isinstance(arm, Mapping) and _is_named(arm.get("values"))]


def arm_of(entry: Entry) -> tuple[int, str] | None:
    """Returns the turn and name of the arm of a trial that an entry begins; None without one."""
    match entry.get("arm"):
        case [int(turn), str(name)]:
            return turn, name
    return None


def parent_of(entry: Entry) -> Mapping[str, Any] | None:
    """Returns the parent of a branch, from the entry of its start; None if it is no branch."""
    parent = entry.get("parent")
    if not isinstance(parent, Mapping) or type(parent.get("step")) is not int:
        return None
    return parent if isinstance(parent.get("logdir"), str) else None


def when(entry: Entry) -> float:
    """Returns the time of an entry, in seconds since the epoch; 0 if it has none."""
    return float(entry.get("wall_time", 0.0))


def numbers_of(values: object) -> dict[str, float]:
    """Returns the numbers of a mapping by name."""
    found = values.items() if isinstance(values, Mapping) else ()
    return {name: value for name, value in found if _is_number(value)}


def _is_pair(pair: object) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and all(map(_is_number, pair))


def _is_number(value: object) -> bool:
    """Returns whether a value is a number that fits into a float."""
    try:
        return isinstance(value, (int, float)) and float(value) is not None
    except OverflowError:
        return False


def _is_time(value: object) -> bool:
    return _is_number(value) and math.isfinite(cast(float, value))


def _is_step(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST_STEPS


def _is_text(value: object) -> bool:
    """Returns whether a value is text that a file name may contain and a page can show."""
    return isinstance(value, str) and "\0" not in value and not _SURROGATE.search(value)


def _is_named(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def _is_parent(value: object) -> bool:
    return isinstance(value, Mapping) and _is_text(value.get("logdir", ""))


def _or_none(is_right: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or is_right(value)


# The checks of the fields of an entry. Every field may be missing.
_FIELDS: dict[str, Callable[[object], bool]] = {
    "event": _is_text,
    "step": _is_step,
    "wall_time": _is_time,
    "text": lambda value: isinstance(value, str),
    "to": _or_none(_is_step),
    "good": _or_none(_is_step),
    "applied": lambda value: isinstance(value, bool),
    "kept": lambda value: isinstance(value, bool),
    "why_nan": lambda value: isinstance(value, bool),
    "edits": _is_named,
    "values": _is_named,
    "config": _is_named,
    "checkpoint": _is_text,
    "parent": _is_parent,
}


def skipped(folder: Path, unread: Sequence[int]) -> str:
    """Returns a message about lines that were skipped, by their numbers."""
    lines = "Line" if len(unread) == 1 else "Lines"
    named = ", ".join(f"{number:,}" for number in unread[:_MOST_NAMED])
    more = f" and {len(unread) - _MOST_NAMED:,} more" if len(unread) > _MOST_NAMED else ""
    return (
        f"{lines} {named}{more} of {folder / FILE} cannot be read and "
        f"{'is' if len(unread) == 1 else 'are'} left out."
    )
