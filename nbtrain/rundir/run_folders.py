"""Deletes and renames the folders of runs that have ended.

contents = Contents.of(folder)      # to ask before the folder is deleted
delete(folder)
rename(folder, "digits-adam")
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.text.text_table import counted, some
from nbtrain.rundir import files, processes, status_file
from nbtrain.rundir.entries import FILE, Entry, entries, entry_of, parent_of
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.folder import BASE, check_name, shown
from nbtrain.rundir.lock import RunLock


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the folder of a run.

    Attributes:
        folder: The folder.
        files: The number of files in it and below it.
        bytes: Their bytes.
        branches: The names of the runs beside it that branch from it.
    """

    folder: Path
    files: int
    bytes: int
    branches: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> Contents:
        """Returns the contents of the folder of a run.

        Raises:
            ArgumentError: The folder is not that of a run, or contains other runs.
            BusyError: A run trains there.
        """
        _check(folder)
        with _locked(folder):
            branches = tuple(path.name for path in _branches(folder))
        found = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(path.lstat().st_size for path in found)
        return cls(folder, len(found), size, branches)

    def __str__(self) -> str:
        words = f"{shown(self.folder)}: {counted(self.files, 'file')}, {self.bytes / 1e6:,.1f} MB."
        if self.branches:
            names = some(self.branches)
            words += f" These branches stay, but lose their history up to the branch: {names}."
        return words


def delete(folder: Path) -> None:
    """Deletes the folder of a run, with everything in it, and links to it beside it.

    Raises:
        ArgumentError: The folder is not that of a run, contains other runs, or cannot be deleted.
        BusyError: A run trains there.
    """
    _check(folder)
    aside = folder.with_name(f".deleted-{secrets.token_hex(4)}")
    _move(folder, aside)
    for link in _links(folder):
        link.unlink(missing_ok=True)
    try:
        shutil.rmtree(aside)
    except OSError as error:
        raise ArgumentError(f"A part of {shown(folder)} is left, in {aside}: {error}") from None


def rename(folder: Path, name: str) -> Path:
    """Renames a run and its folder, and updates the branches and links beside it.

    Returns:
        The new folder.

    Raises:
        ArgumentError: The folder is not that of a run, contains other runs, or cannot be renamed;
            the name cannot name a folder or is in use; or the folder was renamed, but a branch
            could not be updated.
        BusyError: A run trains there, or in the folder of a branch.
    """
    check_name(name)
    _check(folder)
    new = folder.with_name(name)
    if new.exists():
        raise ArgumentError(f"{shown(new)} is there already: give another name.")
    branches, links = list(_branches(folder)), list(_links(folder))
    with contextlib.ExitStack() as held:
        for branch in branches:
            held.enter_context(_locked(branch))
        _move(folder, new)
        left = []
        for link in links:
            link.unlink(missing_ok=True)
            link.symlink_to(new.name, target_is_directory=True)
        for branch in branches:
            try:
                _point(branch, folder, new)
            except OSError as error:
                left.append(f"{branch.name} ({error})")
    with contextlib.suppress(OSError, Untrusted):
        sign = status_file.read(new)
        status_file.write(new, replace(sign, status=replace(sign.status, name=name)))
    if left:
        raise ArgumentError(
            f"{shown(folder)} is {shown(new)} now, but these branches still name the old folder: "
            f"{some(left)}."
        )
    return new


def _check(folder: Path) -> None:
    """Checks that a folder is that of one run."""
    if not folder.is_dir():
        named = BASE / folder.name
        instead = f" Give the folder of the run: {named}." if named.is_dir() else ""
        raise ArgumentError(f"There is no folder {shown(folder)}.{instead}")
    if folder.is_symlink():
        raise ArgumentError(f"{shown(folder)} is a link: give the folder to which it leads.")
    if not (folder / FILE).is_file():
        raise ArgumentError(f"{shown(folder)} is not the folder of a run: it has no {FILE}.")
    if folder in (Path.cwd(), *Path.cwd().parents):
        raise ArgumentError(f"{shown(folder)} contains the working folder.")
    below = sorted({shown(path.parent) for path in folder.rglob(FILE)} - {shown(folder)})
    if below:
        raise ArgumentError(f"There are other runs in {shown(folder)}: {some(below)}.")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks a folder, and those below it in which a run has saved, inside the block.

    Raises:
        ArgumentError: A folder cannot be locked.
        BusyError: A run trains there, or a process that was launched is about to start one.
    """
    with contextlib.suppress(OSError, Untrusted):
        sign = status_file.read(folder)
        writer = sign.writer
        started = writer.host, writer.process, writer.process_started
        if writer.launched and not processes.has_ended(*started, sign.alive):
            raise BusyError(
                f"{shown(folder)} is held by {writer}, which was launched and is about to start "
                f"its run. Stop it first: nbtrain.attach({shown(folder)!r}).request_stop()."
            )
    with contextlib.ExitStack() as held:
        for each in sorted({folder, *(path.parent for path in folder.rglob("run.lock"))}):
            lock = RunLock(each, folder.name)
            try:
                lock.acquire(otherwise=f"In a terminal: nbtrain stop {shown(folder)}.")
            except OSError as error:
                raise ArgumentError(f"{shown(each)} cannot be locked: {error}") from None
            held.callback(lock.release)
        yield


def _move(folder: Path, new: Path) -> None:
    """Renames a folder in which no run trains."""
    with _locked(folder):
        try:
            folder.rename(new)
        except OSError as error:
            raise ArgumentError(f"{shown(folder)} cannot be moved: {error}") from None
    for lock in new.rglob("run.lock"):
        lock.with_name("run.json").unlink(missing_ok=True)


def _links(folder: Path) -> Iterator[Path]:
    """Yields the symbolic links beside a folder that lead to it, as those of a launch."""
    for path in folder.parent.iterdir():
        if path.is_symlink() and path.resolve() == folder.resolve():
            yield path


def _branches(folder: Path) -> Iterator[Path]:
    """Yields the folders beside that of a run whose runs continue from it, by their names."""
    for path in sorted(folder.parent.glob(f"*/{FILE}")):
        beside = path.parent
        if beside == folder or beside.is_symlink():
            continue
        with contextlib.suppress(OSError):
            if any(_leads(each, beside, folder) for each in entries(beside)):
                yield beside


def _leads(entry: Entry, beside: Path, folder: Path) -> bool:
    """Returns whether an entry of the run `beside` names another folder as its origin."""
    parent = parent_of(entry)
    if parent is not None and (beside / parent["logdir"]).resolve() == folder.resolve():
        return True
    checkpoint = entry.get("checkpoint")
    return checkpoint is not None and folder in Path(os.path.normpath(beside / checkpoint)).parents


def _point(branch: Path, old: Path, new: Path) -> None:
    """Replaces the name of a folder in the journal of a branch."""
    before, after = (os.path.relpath(each, branch) for each in (old, new))

    def renamed(path: str) -> str:
        first, found, rest = path.partition(before)
        return f"{after}{rest}" if found and not first and rest[:1] in ("", "/", os.sep) else path

    with own_files.opened(branch / FILE) as file:
        lines = file.readall().splitlines(keepends=True)
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
    try:
        temporary.write_bytes(b"".join(lines))
        temporary.replace(branch / FILE)
    finally:
        temporary.unlink(missing_ok=True)
