"""The order in which a run's folder is copied to its mirror; pure.

At every moment the mirror must hold a whole checkpoint. So the files of a checkpoint are copied
before its index, the index before the state file that names the checkpoint, and what the run has
deleted is deleted last. A checkpoint that was saved again under its name loses its index first:
then the mirror counts as not having it until it is whole again.

    steps(snapshot, mirrored)   # what to do now, in order
    grown(snapshot, mirrored)   # the journal and the event files that are longer than their copies
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# The file of a folder that names its checkpoints, the newest last.
STATE = "checkpoint"

JOURNAL = "steering.jsonl"

# The folders of a run that may hold checkpoints. The folder with the start of a trial vanishes with
# the trial, and not every run has one for its best state. The copies in `last_good` are not
# mirrored: there may be one every ten seconds.
FOLDERS = ("", "checkpoints/")
ASIDE = ("trial/", "checkpoints/trial/", "best/", "checkpoints/best/")

_PART = re.compile(r"(?P<name>[^/]+)\.(?P<kind>index|meta|data-\d{5}-of-(?P<parts>\d{5}))")
_NAMED = re.compile(r'^all_model_checkpoint_paths: "(.*)"', re.M)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a file in the run's folder: another one differs in a field.

    Attributes:
        size: Bytes.
        changed: When it was changed, in nanoseconds.
        number: Its number in the file system: a file that was replaced has another.
    """

    size: int
    changed: int
    number: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run's folder at one moment.

    Attributes:
        files: The versions of its files, by their paths in the folder.
        states: The contents of the state files, read before the files were listed, by folder.
    """

    files: Mapping[str, Version]
    states: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One file to copy, or to delete in the mirror.

    Attributes:
        path: Its path in the folder.
        version: The version to copy; None to delete it.
        content: What to copy of a state file; None to copy the file.
    """

    path: str
    version: Version | None
    content: bytes | None = None


# The versions of which the mirror has copies, by path; None if it is unknown which.
Mirrored = Mapping[str, Version | None]


def is_mirrored(path: str) -> bool:
    """Tells if a file of a run's folder belongs into its mirror."""
    folder, _, name = path.rpartition("/")
    if is_growing(path):
        return True
    of_checkpoint = name == STATE or _PART.fullmatch(name) is not None
    return of_checkpoint and (f"{folder}/" if folder else "") in (*FOLDERS, *ASIDE)


def is_growing(path: str) -> bool:
    """Tells if a file is only appended to: the journal, and event files."""
    return path == JOURNAL or ("/" not in path and ".tfevents." in path)


def named(state: bytes | None) -> tuple[str, ...]:
    """Returns the names of the checkpoints in a state file, the newest last."""
    paths = _NAMED.findall((state or b"").decode(errors="replace"))
    return tuple(path.replace("\\\\", "\\").rpartition("/")[2] for path in paths)


def complete(paths: Sequence[str], folder: str) -> dict[str, list[str]]:
    """Returns the files of the checkpoints in a folder that are whole, index last, by name."""
    found: dict[str, list[str]] = {}
    parts: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for path in sorted(paths):
        if (part := _part(path, folder)) is None:
            continue
        found.setdefault(part["name"], []).append(path)
        parts.setdefault(part["name"], set()).add(part["kind"])
        if part["parts"]:
            counts[part["name"]] = int(part["parts"])
    return {
        name: sorted(files, key=lambda path: path.endswith(".index"))
        for name, files in found.items()
        if "index" in parts[name]
        and sum(kind.startswith("data-") for kind in parts[name]) == counts.get(name)
    }


def steps(snapshot: Snapshot, mirrored: Mirrored) -> list[Step]:
    """Returns what is to be copied and deleted of checkpoints, in order."""
    folders = (*FOLDERS, *ASIDE)
    copies = [step for folder in folders for step in _copies(snapshot, mirrored, folder)]
    return copies + [step for folder in folders for step in _deletions(snapshot, mirrored, folder)]


def grown(snapshot: Snapshot, mirrored: Mirrored) -> list[Step]:
    """Returns the journal and the event files of which the mirror has an older version."""
    return [
        Step(path, version)
        for path, version in sorted(snapshot.files.items(), key=lambda item: item[0] != JOURNAL)
        if is_growing(path) and mirrored.get(path) != version
    ]


def latest(snapshot: Snapshot, mirrored: Mirrored) -> str | None:
    """Returns the name of the newest checkpoint of which the mirror has a whole copy."""
    for folder in FOLDERS:
        whole = complete(list(snapshot.files), folder)
        for name in reversed(named(snapshot.states.get(folder))):
            files = whole.get(name, ())
            if files and all(mirrored.get(path) == snapshot.files[path] for path in files):
                return name
    return None


def _copies(snapshot: Snapshot, mirrored: Mirrored, folder: str) -> Iterator[Step]:
    """Yields the copies of a folder, new checkpoints before those that were saved again.

    The newest comes first. The state file comes after the first: the others do not count yet.
    """
    whole = complete(list(snapshot.files), folder)
    names = [name for name in named(snapshot.states.get(folder)) if name in whole]
    todo = [
        (whole[name][-1], files)
        for name in reversed(names)
        if (files := [path for path in whole[name] if mirrored.get(path) != snapshot.files[path]])
    ]
    todo.sort(key=lambda each: each[0] in mirrored)
    state = folder + STATE
    for index, files in todo[:1]:
        yield from _copy(snapshot, mirrored, index, files)
    if names and mirrored.get(state) != snapshot.files[state]:
        yield Step(state, snapshot.files[state], snapshot.states[folder])
    for index, files in todo[1:]:
        yield from _copy(snapshot, mirrored, index, files)


def _copy(
    snapshot: Snapshot, mirrored: Mirrored, index: str, files: Sequence[str]
) -> Iterator[Step]:
    """Yields the copies of one checkpoint."""
    if index in mirrored:
        yield Step(index, None)
    yield from (Step(path, snapshot.files[path]) for path in files if path != index)
    yield Step(index, snapshot.files[index])


def _deletions(snapshot: Snapshot, mirrored: Mirrored, folder: str) -> Iterator[Step]:
    """Yields the deletions of checkpoints that the folder has no more, each index first.

    A folder without a state file was damaged, and its mirror stays; unless it is that of a trial.
    """
    names = named(snapshot.states.get(folder))
    if not names and folder not in ASIDE:
        return
    gone = [
        path
        for path in mirrored
        if (part := _part(path, folder)) is not None and part["name"] not in names
    ]
    if not names and folder + STATE in mirrored:
        yield Step(folder + STATE, None)
    yield from (Step(path, None) for path in sorted(gone, key=lambda p: not p.endswith(".index")))


def _part(path: str, folder: str) -> re.Match[str] | None:
    """Matches a file of a checkpoint in a folder."""
    return _PART.fullmatch(path.removeprefix(folder)) if path.startswith(folder) else None
