"""Deletes and renames the folders of runs that nobody trains.

kept = Kept.of(folder)      # what the folder contains, to ask before it is deleted
delete(folder)
rename(folder, "digits-adam")
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.text_table import counted, some
from nbtrain.rundir import files, status_file
from nbtrain.rundir.entries import FILE, MOST_BYTES, Entry, entries, entry_of, parent_of
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.folder import check_name, shown
from nbtrain.rundir.lock import RunLock


@dataclass(frozen=True, slots=True)
class Kept:
    """What the folder of a run contains.

    Attributes:
        folder: The folder.
        files: The number of files in it and below it.
        bytes: Their bytes.
        branches: The runs beside it that branch from it, by their names.
    """

    folder: Path
    files: int
    bytes: int
    branches: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> Kept:
        """Returns what the folder of a run contains.

        Raises:
            ArgumentError: It is not the folder of a run alone.
            BusyError: A run trains there.
        """
        _check(folder)
        found = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(path.lstat().st_size for path in found)
        branches = tuple(path.name for path in _branches(folder))
        return cls(folder, len(found), size, branches)

    def __str__(self) -> str:
        words = f"{shown(self.folder)}: {counted(self.files, 'file')}, {self.bytes / 1e6:,.1f} MB"
        if not self.branches:
            return f"{words}."
        return f"{words}. Its branches stay, without what led to them: {some(self.branches)}."


def delete(folder: Path) -> None:
    """Deletes the folder of a run, with all that is in it.

    Raises:
        ArgumentError: It is not the folder of a run alone, or it cannot be deleted.
        BusyError: A run trains there.
    """
    _check(folder)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise ArgumentError(f"{folder} cannot be deleted: {error}") from None


def rename(folder: Path, name: str) -> Path:
    """Renames a run and its folder; its branches then name the new folder as their origin.

    Returns:
        The new folder.

    Raises:
        ArgumentError: It is not the folder of a run alone, the name cannot name a folder or is in
            use, or the folder cannot be renamed.
        BusyError: A run trains there, or in the folder of a branch.
    """
    check_name(name)
    _check(folder)
    new = folder.with_name(name)
    if new.exists():
        raise ArgumentError(f"{shown(new)} is there already: give another name.")
    branches = list(_branches(folder))
    for branch in branches:
        _check(branch)
    try:
        folder.rename(new)
        with contextlib.suppress(FileNotFoundError, Untrusted):
            sign = status_file.read(new)
            status_file.write(new, replace(sign, status=replace(sign.status, name=name)))
        for branch in branches:
            _point(branch, folder, new)
    except OSError as error:
        raise ArgumentError(f"{folder} cannot be renamed: {error}") from None
    return new


def _check(folder: Path) -> None:
    """Checks that a folder is that of one run, which nobody trains."""
    if not (folder / FILE).is_file():
        raise ArgumentError(f"{shown(folder)} is not the folder of a run: it has no {FILE}.")
    if folder.is_symlink():
        raise ArgumentError(f"{shown(folder)} is a link: give the folder to which it leads.")
    below = sorted({shown(path.parent) for path in folder.rglob(FILE)} - {shown(folder)})
    if below:
        raise ArgumentError(f"There are other runs in {shown(folder)}: {some(below)}.")
    lock = RunLock(folder, folder.name)
    try:
        lock.acquire()
    except OSError as error:
        raise ArgumentError(f"{folder} cannot be locked: {error}") from None
    lock.release()


def _branches(folder: Path) -> Iterator[Path]:
    """Yields the folders beside a folder of a run that branch from it, by their names."""
    for path in sorted(folder.parent.glob(f"*/{FILE}")):
        beside = path.parent
        with contextlib.suppress(OSError):
            if beside != folder and any(_leads(each, beside, folder) for each in entries(beside)):
                yield beside


def _leads(entry: Entry, beside: Path, folder: Path) -> bool:
    """Returns whether an entry of the run `beside` names another folder as its origin."""
    parent = parent_of(entry)
    return parent is not None and (beside / parent["logdir"]).resolve() == folder.resolve()


def _point(branch: Path, old: Path, new: Path) -> None:
    """Replaces the name of a folder in the journal of a branch."""
    before, after = (os.path.relpath(each, branch) for each in (old, new))

    def renamed(path: str) -> str:
        first, slash, rest = path.partition(before)
        return f"{after}{rest}" if slash and not first and rest[:1] in ("", os.sep) else path

    with own_files.opened(branch / FILE) as file:
        lines = list(own_files.lines(file, MOST_BYTES))
    for number, line in enumerate(lines):
        entry: dict[str, Any] = dict(entry_of(line.decode("utf-8", "replace")) or {})
        changed: dict[str, Any] = {}
        if "checkpoint" in entry:
            changed["checkpoint"] = renamed(entry["checkpoint"])
        if parent := parent_of(entry):
            changed["parent"] = {**parent, "logdir": renamed(parent["logdir"])}
        if any(entry[name] != value for name, value in changed.items()):
            lines[number] = json.dumps(entry | changed).encode() + b"\n"
    temporary = files.temporary(branch / FILE)
    temporary.write_bytes(b"".join(lines))
    temporary.replace(branch / FILE)
