"""Locks a run's folder: one run at a time trains there, across all kernels.

The lock is on the open file `run.lock`, so it ends with its process. While it is locked, `run.json`
beside it names the run. If the folder is deleted or renamed, the locked file goes with it, and
another run can use the name of the folder.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nbtrain.core import own_files
from nbtrain.core.errors import BusyError
from nbtrain.rundir import files

if TYPE_CHECKING:
    from filelock import FileLock


def is_locked(folder: Path) -> bool:
    """Returns whether a run of any kernel trains in a folder now; locks it for a moment."""
    if not (folder / "run.json").exists():
        return False
    from filelock import Timeout

    try:
        lock = _lock_of(folder)
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:  # the folder is not writable
        return False
    lock.release()
    return False


def _lock_of(folder: Path) -> FileLock:
    """Returns the lock of a folder; loads the lock's library, which readers do not need.

    Raises:
        NotOwnError: Its file is a link or not a regular file, which the library could open and
            empty.
    """
    from filelock import FileLock

    path = folder / "run.lock"
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        own_files.state(path)
    return FileLock(path, thread_local=False)


class RunLock:
    """The lock of one run on its folder; any thread."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._guard = threading.Lock()  # the monitor thread may release it, or the training thread
        # The lock, and the device and inode of its file. Replaced together, because `in_place` does
        # not acquire the guard.
        self._held: tuple[FileLock, tuple[int, int]] | None = None

    def acquire(self, *, otherwise: str = "") -> None:
        """Locks the folder until `release`, or until this process ends.

        Args:
            otherwise: A sentence for the error: another way than to stop the run that holds it.

        Raises:
            BusyError: Another run holds it.
        """
        from filelock import Timeout

        lock = _lock_of(self._folder)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            name, holder = self._holder(otherwise)
            raise BusyError(f"{self._folder} is held by {holder}", run=name) from None
        owner = {"name": self._name, "process": os.getpid(), "host": socket.gethostname()}
        owner["since"] = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            found = Path(lock.lock_file).stat()
            files.replace(self._folder / "run.json", owner, sync=False)
        except OSError:
            lock.release()
            raise
        with self._guard:
            self._held = lock, (found.st_dev, found.st_ino)

    @property
    def in_place(self) -> bool:
        """True if the folder is still the locked one, or if nothing is locked.

        False after the folder was deleted or renamed.
        """
        held = self._held
        if held is None:
            return True
        lock, inode = held
        try:
            found = Path(lock.lock_file).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a network folder does not answer
            return True
        return (found.st_dev, found.st_ino) == inode

    def release(self) -> None:
        """Unlocks the folder for the next run; does nothing if it is not locked."""
        with self._guard:
            if self._held is None:
                return
            lock, _ = self._held
            if self.in_place:  # otherwise the file may belong to another run by now
                with contextlib.suppress(OSError):
                    (self._folder / "run.json").unlink()
            self._held = None
            lock.release()

    def _holder(self, otherwise: str) -> tuple[str | None, str]:
        """Returns the holder's name, None if it is in another process, and advice in words."""
        otherwise = otherwise and f" {otherwise}"
        try:
            owner = files.read(self._folder / "run.json")
            here = (owner["process"], owner["host"]) == (os.getpid(), socket.gethostname())
            where = "this kernel" if here else "another process"
            found = f"runs()[{owner['name']!r}]" if here else f"attach({str(self._folder)!r})"
            words = (
                f"the run {owner['name']!r} in {where} (process {owner['process']} on "
                f"{owner['host']}, since {owner['since']}). Stop it first: run = nbtrain.{found}; "
                f"run.request_stop(); run.wait().{otherwise} nbtrain.{found} at the end of a cell "
                "shows it."
            )
            return owner["name"] if here else None, words
        except (OSError, ValueError, KeyError, TypeError):
            return None, f"another run, just starting. Stop that run first.{otherwise}"
