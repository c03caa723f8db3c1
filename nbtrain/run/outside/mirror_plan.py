"""The order in which a run's folder is copied to its mirror; pure.

The journal comes first, so that the mirror has each edit before a checkpoint with it. Then come
the files of a checkpoint, its index, the state file that names it, the event files, and at last
the deletions. So the mirror has a whole checkpoint at any moment. A checkpoint that was saved again
under its name loses its index first: until it is whole again, the mirror does not have it.

    steps(snapshot, mirrored)     # what to do now, in order, for one checkpoint of each folder
    lacking(snapshot, mirrored)   # all files whose present version is not in the mirror
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# The file of a folder that names its checkpoints, the newest last.
STATE = "checkpoint"

JOURNAL = "steering.jsonl"

# The folders that may contain a run's own checkpoints, and all folders that may contain
# checkpoints. The copies in `last_good` are not mirrored: there may be one every ten seconds.
OWN = ("", "checkpoints/")
FOLDERS = (*OWN, "trial/", "checkpoints/trial/", "best/", "checkpoints/best/")

_PART = re.compile(r"(?P<name>[^/]+)\.(?P<kind>index|meta|data-\d{5}-of-\d{5})")
_NAMED = re.compile(r'^all_model_checkpoint_paths: "(.*)"', re.M)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a file in the run's folder; two versions differ in at least one field.

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
class CopyStep:
    """One file to copy, or to delete in the mirror.

    Attributes:
        path: Its path in the folder.
        version: The version to copy; None to delete it.
        content: The content to copy of a state file; None to copy the file.
    """

    path: str
    version: Version | None
    content: bytes | None = None


# The files of a mirror by their paths: the version that was copied, or None if that is unknown.
Mirrored = Mapping[str, Version | None]


def is_mirrored(path: str) -> bool:
    """Returns whether a file of a run's folder belongs in its mirror."""
    folder, name = _split(path)
    is_of_checkpoint = name == STATE or _PART.fullmatch(name) is not None
    return is_growing(path) or (is_of_checkpoint and folder in FOLDERS)


def is_growing(path: str) -> bool:
    """Returns whether a file is only appended to: the journal, and event files."""
    return path == JOURNAL or ("/" not in path and ".tfevents." in path)


def named(state: bytes | None) -> tuple[str, ...]:
    """Returns the names of the checkpoints in a state file, the newest last."""
    paths = _NAMED.findall((state or b"").decode(errors="replace"))
    return tuple(path.replace("\\\\", "\\").rpartition("/")[2] for path in paths)


def complete(paths: Iterable[str], folder: str) -> dict[str, list[str]]:
    """Returns the files of the checkpoints in a folder that are whole, index last, by name."""
    found: dict[str, dict[str, str]] = {}  # the paths of a checkpoint by their kinds
    for path in paths:
        below, name = _split(path)
        if below == folder and (part := _PART.fullmatch(name)) is not None:
            found.setdefault(part["name"], {})[part["kind"]] = path
    return {
        name: [kinds[kind] for kind in sorted(kinds, key=lambda kind: (kind == "index", kind))]
        for name, kinds in found.items()
        if _is_whole(kinds)
    }


def _is_whole(kinds: Iterable[str]) -> bool:
    """Returns whether kinds of files, such as `data-00000-of-00002`, make a whole checkpoint."""
    data = [kind for kind in kinds if kind.startswith("data-")]
    return "index" in kinds and bool(data) and len(data) == int(data[0].rpartition("-")[2])


def steps(snapshot: Snapshot, mirrored: Mirrored) -> list[CopyStep]:
    """Returns what to do next, in order; copies the newest of several new checkpoints.

    The others follow after the next snapshot, because there may be a newer one by then.
    """
    lacks = lacking(snapshot, mirrored)
    grown = [CopyStep(path, snapshot.files[path]) for path in lacks if is_growing(path)]
    found = [step for step in grown if step.path == JOURNAL]
    for folder in FOLDERS:
        # A new checkpoint comes first, because the mirror loses one that was saved again while it
        # is copied.
        todo = [files for files in _checkpoints(snapshot, folder) if set(lacks) & set(files)]
        for *data, index in sorted(todo, key=lambda files: files[-1] in mirrored)[:1]:
            if index in mirrored:
                found.append(CopyStep(index, None))
            found += [CopyStep(path, snapshot.files[path]) for path in data if path in lacks]
            found.append(CopyStep(index, snapshot.files[index]))
        if (state := folder + STATE) in lacks:
            found.append(CopyStep(state, snapshot.files[state], snapshot.states[folder]))
    found += [step for step in grown if step.path != JOURNAL]
    return found + _deletions(snapshot, mirrored)


def lacking(snapshot: Snapshot, mirrored: Mirrored) -> list[str]:
    """Returns the files whose present version is not in the mirror, the journal first."""
    wanted = sorted(filter(is_growing, snapshot.files), key=lambda path: (path != JOURNAL, path))
    for folder in FOLDERS:
        if checkpoints := _checkpoints(snapshot, folder):
            wanted += [path for files in checkpoints for path in files]
            wanted.append(folder + STATE)
    return [path for path in wanted if mirrored.get(path) != snapshot.files[path]]


def latest(snapshot: Snapshot, mirrored: Mirrored) -> str | None:
    """Returns the name of the newest checkpoint that is whole in the mirror; None without one."""
    for folder in FOLDERS:
        for files in _checkpoints(snapshot, folder):
            if all(mirrored.get(path) == snapshot.files[path] for path in files):
                return _split(files[-1])[1].removesuffix(".index")
    return None


def _checkpoints(snapshot: Snapshot, folder: str) -> list[list[str]]:
    """Returns the files of the whole checkpoints that a folder's state file names, newest first."""
    whole = complete(snapshot.files, folder)
    return [whole[name] for name in reversed(named(snapshot.states.get(folder))) if name in whole]


def _deletions(snapshot: Snapshot, mirrored: Mirrored) -> list[CopyStep]:
    """Returns the deletions of checkpoints that the run has deleted, each index before its data.

    A run that names no checkpoint of its own was damaged or has saved none; its mirror stays.
    """
    names = {folder: named(snapshot.states.get(folder)) for folder in FOLDERS}
    if not any(names[folder] for folder in OWN):
        return []

    def is_deleted(path: str) -> bool:
        folder, name = _split(path)
        if name == STATE:
            return path not in snapshot.files
        part = _PART.fullmatch(name)
        return part is not None and part["name"] not in names[folder]

    gone = sorted(
        filter(is_deleted, mirrored), key=lambda path: not path.endswith((STATE, ".index"))
    )
    return [CopyStep(path, None) for path in gone]


def _split(path: str) -> tuple[str, str]:
    """Returns the folder of a path, with its slash, and the name of the file."""
    folder, slash, name = path.rpartition("/")
    return folder + slash, name
