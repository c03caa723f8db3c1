"""The folder of a run, locked by one run at a time on this machine.

runs/<name>/
    events.out.tfevents...   scalars, for TensorBoard
    checkpoints/             checkpoints to restore
    steering.jsonl           every command, its outcome and step
    run.lock                 locked while a run trains here
    log.txt                  the prints of the process, if nbtrain has launched it
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.rundir import launched
from nbtrain.rundir.entries import FILE as JOURNAL
from nbtrain.rundir.lock import RunLock
from nbtrain.rundir.log_file import descriptor_of
from nbtrain.rundir.names import LOG

BASE = Path("runs")

_NAME = re.compile(r"\w[\w .+=@-]*")
_LONGEST = 100  # characters of a name: a longer one is a mistake
_OTHERWISE = "Or give another name= or logdir=."  # what a start whose folder is held can do

# The files from which a run continues, by their names in TensorFlow's classes and nbtrain. The
# lock, the mailbox and a log to which the process prints belong to the process; other files belong
# to the user.
_LEFT = (
    "checkpoints",
    "checkpoint",
    "*.ckpt*",
    "graph.pbtxt",
    JOURNAL,
    "events.out.tfevents.*",
)


class Logdir:
    """One run's folder.

    Args:
        logdir: The folder; None means `runs/<name>`.
        name: The run's name; None means the folder's, or a new numbered one.
        kind: The first word of a new numbered name, if it can be part of a name.
        beside: The folder of another run, next to which a new one is created; None for `runs`.
        launches: Whether the folder is for a run of another process.

    Raises:
        ArgumentError: The name cannot name a folder, or the folder cannot be written, or must be
            new but exists; nothing was created.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None,
        name: str | None,
        *,
        kind: str,
        beside: Path | None = None,
        launches: bool = False,
    ) -> None:
        check_name(name)
        given = None if logdir is None else _path_of(logdir)
        if given is None and name is None and beside is None and not launches:
            given = launched.waiting()
        self._launches = launches
        self.numbered = False  # named by the next free number
        self._made: list[Path] = []  # folders created before the start, the innermost first
        base = BASE if beside is None else beside.parent
        wanted = given or base / (name or (kind if _NAME.fullmatch(kind) else "run"))
        if beside is not None and name is not None and wanted.exists():
            raise ArgumentError(
                f"{wanted} is there already, and a branch begins in a new folder: give another "
                "name=, or None for a numbered one."
            )
        try:
            if given is None and name is None:
                self._made = _missing(wanted.parent)
                wanted = _numbered(wanted)
                self._made.insert(0, wanted)
                self.numbered = True
            else:
                self._make(wanted)
            self.path = wanted.absolute()
            _check_writable(self.path)
        except OSError as error:
            _unmake(self._made)
            raise unwritable(wanted, error) from None
        # The last part of the path is the name, also for a link; but ".." is not, and "/" has none.
        last = self.path.resolve() if self.path.name in ("", "..") else self.path
        self.name = name or last.name or kind
        self.lock = RunLock(self.path, self.name)
        self._further: list[Path] = []
        self._held = contextlib.ExitStack()

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def outside(self) -> Path | None:
        """The first folder outside of this one to which the run saves; None if there is none."""
        own = self.path.resolve()
        further = (directory.resolve() for directory in self._further)
        return next((each for each in further if own not in (each, *each.parents)), None)

    def include(self, directory: Path) -> None:
        """Adds a folder to lock with this one, because the run writes its checkpoints there."""
        self._further.append(directory)

    def acquire(self) -> None:
        """Locks the folder until `release`, or until this process ends.

        Raises:
            BusyError: Another run, of this kernel or another one, trains here.
            ArgumentError: The folder is no longer writable, or cannot be locked.
        """
        try:
            self._make(self.path)
            self.lock.acquire(otherwise=_OTHERWISE)
        except OSError as error:
            self.discard()
            raise unwritable(self.path, error) from None
        try:
            for directory in self._further:
                self._held.enter_context(self.holding(directory))
            if not self._launches:
                launched.begin(self.path)
        except BaseException:
            self.discard()
            raise

    @contextlib.contextmanager
    def holding(self, directory: Path) -> Iterator[None]:
        """Locks another folder inside the block; a folder inside this one is locked already.

        Raises:
            BusyError: Another run, of this kernel or another one, trains there.
            ArgumentError: The folder cannot be written or locked.
        """
        directory, own = directory.resolve(), self.path.resolve()
        if own in (directory, *directory.parents):
            yield
            return
        lock = RunLock(directory, self.name)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock.acquire(otherwise=_OTHERWISE)
        except OSError as error:
            raise unwritable(directory, error) from None
        try:
            yield
        finally:
            lock.release()

    def release(self) -> None:
        """Unlocks the folder for the next run."""
        self._made = []
        self._held.close()
        self.lock.release()

    def discard(self) -> None:
        """Unlocks the folder without a start, and deletes the files and folders created for it."""
        made = self._made
        self.release()
        if made:
            for name in ("run.json", "run.lock"):
                (self.path / name).unlink(missing_ok=True)
            _unmake(made)

    def log(self, **entry: object) -> None:
        """Appends one line to `steering.jsonl`."""
        line = json.dumps(entry, default=str).encode() + b"\n"
        number = own_files.descriptor(self.path / JOURNAL, own_files.APPEND_AND_READ)
        with open(number, "ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # the last write was cut short: a full disk, or a crash
                    line = b"\n" + line
            file.write(line)

    def _make(self, path: Path) -> None:
        """Creates the folder if it does not exist, and stores which folders were created."""
        self._made = _missing(path) or self._made
        path.mkdir(parents=True, exist_ok=True)


def move_aside(folder: Path) -> Path | None:
    """Moves the files of an earlier run to `<folder>-before-1`, or the next free number.

    The caller must have locked the folder.

    Returns:
        The folder to which they were moved; None if there were none.

    Raises:
        OSError: The files cannot be moved.
    """
    left = sorted({path for pattern in _LEFT for path in folder.glob(pattern)})
    if not left:
        return None
    log = folder / LOG
    if log.is_file() and descriptor_of(log) is None:
        left.append(log)
    aside = _numbered(folder.with_name(f"{folder.name}-before"))
    for path in left:
        path.rename(aside / path.name)
    return aside


def _numbered(first: Path) -> Path:
    """Creates the first numbered folder of a name that does not exist yet."""
    for number in itertools.count(1):
        path = first.with_name(f"{first.name}-{number}")
        with contextlib.suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise AssertionError("unreachable")


def shown(path: Path) -> str:
    """Returns a path as a user types it: relative if it is below the working folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def unwritable(path: Path, error: OSError) -> ArgumentError:
    """Returns the error to raise for a folder that cannot be written, before a start."""
    if isinstance(error, FileExistsError):
        why = "there is a file of this name"
    elif isinstance(error, NotADirectoryError):
        why = "one of the folders above it is a file"
    else:
        why = error.strerror or str(error)
    return ArgumentError(
        f"The folder {path} cannot be written: {why}. Mend that, or give another name= or logdir=."
    )


def check_no_file(path: Path) -> None:
    """Checks that a folder can be created: no part of its path is a file."""
    there = next((folder for folder in [path, *path.parents] if folder.exists()), None)
    if there is not None and not there.is_dir():
        raise unwritable(path, FileExistsError() if there == path else NotADirectoryError())


def check_name(name: object) -> None:
    """Checks that a name, unless it is None, can name the folder of a run."""
    if name is None:
        return
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(
            f"name={name!r} cannot name a folder: use letters, digits, and any of _ . + = @ -"
        )
    if len(name) > _LONGEST:
        raise ArgumentError(
            f"name={name[:20]!r}... has {len(name)} characters: use {_LONGEST} at the most."
        )


def _path_of(logdir: str | os.PathLike[str]) -> Path:
    """Returns the given path."""
    try:
        text = os.fspath(logdir)
        if isinstance(text, str) and text and "://" not in text and b"\0" not in os.fsencode(text):
            return Path(text).expanduser()
    except (TypeError, RuntimeError, UnicodeError):  # no path; an unknown home; invalid characters
        pass
    raise ArgumentError(
        f"logdir={logdir!r} is no folder of this machine: give a path, such as 'runs/mine', or "
        "None for a new folder under runs/."
    )


def _missing(path: Path) -> list[Path]:
    """Returns the folders of a path that do not exist, the innermost first."""
    return [*itertools.takewhile(lambda folder: not folder.exists(), [path, *path.parents])]


def _unmake(made: list[Path]) -> None:
    """Removes created folders if they are empty."""
    for path in made:
        with contextlib.suppress(OSError):
            path.rmdir()


def _check_writable(path: Path) -> None:
    """Raises OSError unless a file can be written here; checking permissions is not enough."""
    probe = path / f".write-{os.getpid()}"
    try:
        probe.write_bytes(bytes(4096))  # on a full disk an empty file can still be created
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
