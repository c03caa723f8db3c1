"""Temporary folders that are deleted even if their process is killed: by the next one.

Beside each is a lock, which the system takes from a process that ends. As long as that is locked,
its process lives, maybe in another container that has the same folder for temporary files.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock

_PREFIX, _LOCK = "nbtrain-", ".lock"
_BYTES = 8  # drawn for a name, so that no folder of the user's has such a name
_NAMES = _PREFIX + 2 * _BYTES * "[0-9a-f]"


class TemporaryFolder:
    """A folder for temporary files; for one thread at a time.

    Attributes:
        path: The folder, empty at first.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir(), f"{_PREFIX}{secrets.token_hex(_BYTES)}")
        self._lock = _lock_of(self.path)
        self._lock.acquire(timeout=0)  # first: a folder is never seen without its lock
        try:
            self.path.mkdir(mode=0o700)
        except OSError:
            self.delete()
            raise

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.delete()

    def delete(self) -> None:
        """Deletes it with all that it holds; calling it again does nothing."""
        _delete(self.path, self._lock)


def delete_left() -> None:
    """Deletes the temporary folders of processes that have ended; never raises an error."""
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_NAMES}{_LOCK}"):
            with contextlib.suppress(OSError):
                _delete_unless_held(path.with_suffix(""))


def _delete_unless_held(folder: Path) -> None:
    from filelock import Timeout

    if not folder.is_dir():  # its process has locked it and not made it yet
        return
    lock = _lock_of(folder)
    with contextlib.suppress(Timeout):
        lock.acquire(timeout=0)
        _delete(folder, lock)


def _delete(folder: Path, lock: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # leaves alone a link, which leads elsewhere
    lock.release()
    if not folder.exists():
        Path(lock.lock_file).unlink(missing_ok=True)


def _lock_of(folder: Path) -> FileLock:
    from filelock import FileLock

    return FileLock(folder.with_suffix(_LOCK), thread_local=False)
