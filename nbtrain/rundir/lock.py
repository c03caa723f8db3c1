"""The lock of a run's folder: one run at a time trains there, of whichever kernel.

It is a lock on the open file `run.lock`, so it ends with its process; `run.json` beside
it says who has it, as long as one does. A folder that is deleted or renamed takes the
locked file away with it: then another run could have the name.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from pathlib import Path

from filelock import FileLock, Timeout

from nbtrain.core.errors import BusyError


def is_held(folder: Path) -> bool:
    """Whether a run trains in a folder now, of whichever kernel: its lock is tried for a moment."""
    if not (folder / "run.json").exists():
        return False
    lock = FileLock(folder / "run.lock", thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:  # it is not ours to write
        return False
    lock.release()
    return False


class RunLock:
    """The lock of one run on its folder; any thread.

    Args:
        folder: The folder.
        name: The run's name, for whoever is refused.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        # Taken by the thread that starts the run, anew by the one that finds it gone, and
        # released by the one that trained: one after the other.
        self._guard = threading.Lock()
        self._lock: FileLock | None = None
        self._inode = (0, 0)

    def take(self) -> None:
        """Hold the folder until `release`, or until this process ends.

        Raises:
            BusyError: Another run trains here.
            OSError: It cannot be written, or not be locked.
        """
        with self._guard:
            self._take()

    @property
    def in_place(self) -> bool:
        """Whether the folder is still the one that was taken, as far as the system tells.

        False after it was deleted or renamed; True where nothing is held.
        """
        lock = self._lock
        if lock is None:
            return True
        try:
            found = Path(lock.lock_file).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a folder of the network that does not answer
            return True
        return (found.st_dev, found.st_ino) == self._inode

    def take_anew(self) -> None:
        """Hold the folder that has its path now, which is made where there is none.

        Raises:
            BusyError: Another run trains there.
            OSError: It cannot be made.
        """
        with self._guard:
            old = self._lock
            if old is None or self.in_place:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                # Before the old one is let go: the folder may be back by now.
                self._take()
            except BusyError:
                if self.in_place:
                    return
                raise
            old.release()

    def release(self) -> None:
        """Let the next run have the folder; does nothing where it is not held."""
        with self._guard:
            if (lock := self._lock) is None:
                return
            if self.in_place:  # else it is another run's by now
                with contextlib.suppress(OSError):
                    (self._folder / "run.json").unlink()
            self._lock = None
            lock.release()

    def _take(self) -> None:
        lock = FileLock(self._folder / "run.lock", thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            name, holder = self._holder()
            raise BusyError(
                f"{self._folder} is held by {holder}. Stop that run first, or give another name= "
                "or logdir=.",
                run=name,
            ) from None
        owner = {"name": self._name, "process": os.getpid(), "host": socket.gethostname()}
        owner["since"] = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            found = Path(lock.lock_file).stat()
            (self._folder / "run.json").write_text(json.dumps(owner) + "\n", encoding="utf-8")
        except OSError:
            lock.release()
            raise
        self._lock, self._inode = lock, (found.st_dev, found.st_ino)

    def _holder(self) -> tuple[str | None, str]:
        """The run that holds the folder: its name, if it is one of this kernel; and in words."""
        try:
            owner = json.loads((self._folder / "run.json").read_text(encoding="utf-8"))
            here = (owner["process"], owner["host"]) == (os.getpid(), socket.gethostname())
            where = "this kernel" if here else "another kernel"
            shown = f"; nbtrain.runs()[{owner['name']!r}] at the end of a cell shows it"
            words = (
                f"the run {owner['name']!r} in {where} (process {owner['process']} on "
                f"{owner['host']}, since {owner['since']}{shown if here else ''})"
            )
            return owner["name"] if here else None, words
        except (OSError, ValueError, KeyError, TypeError):
            return None, "another run, just starting"
