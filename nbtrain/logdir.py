"""The folder of a run, held by one run at a time on this machine.

runs/<name>/
    events.out.tfevents...   scalars, for TensorBoard
    checkpoints/             what can be restored
    steering.jsonl           every command, its outcome and step
    run.lock                 held while a run trains here
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import socket
import time
from pathlib import Path

from filelock import FileLock, Timeout

from nbtrain.errors import ArgumentError, BusyError

BASE = Path("runs")


class Logdir:
    """One run's folder.

    Args:
        logdir: The folder; None takes `runs/<name>`.
        name: The run's name; None takes the folder's, or a new numbered one.
        kind: Word that a new numbered name begins with.

    Raises:
        ArgumentError: A name that is no folder name, or a folder that cannot be written.
    """

    def __init__(
        self, logdir: str | os.PathLike[str] | None, name: str | None, *, kind: str
    ) -> None:
        if name is not None and not re.fullmatch(r"[\w][\w .+=@-]*", name):
            raise ArgumentError(
                f"name={name!r} cannot name a folder: use letters, digits, and any of _ . + = @ -"
            )
        try:
            if logdir is not None:
                self.path = Path(logdir).expanduser().absolute()
            else:
                self.path = (BASE / name if name else _new_folder(kind)).absolute()
            self._made = (logdir is None and name is None) or not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            _check_writable(self.path)
        except OSError as error:
            raise ArgumentError(
                f"The folder {logdir or BASE / (name or kind)} cannot be written ({error}): "
                "give another logdir=."
            ) from error
        self.name = name or self.path.name
        # Taken by the thread that starts the run, released by the one that trained.
        self._lock = FileLock(self.path / "run.lock", thread_local=False)

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    def acquire(self) -> None:
        """Hold the folder until `release`, or until this process ends.

        Raises:
            BusyError: Another run, of this kernel or another one, trains here.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise BusyError(
                f"{self.path} is held by {self._holder()}. Stop that run first, or give "
                "another name= or logdir=."
            ) from None
        owner = {"name": self.name, "process": os.getpid(), "host": socket.gethostname()}
        owner["since"] = time.strftime("%Y-%m-%d %H:%M:%S")
        (self.path / "run.json").write_text(json.dumps(owner) + "\n", encoding="utf-8")

    def release(self) -> None:
        """Let the next run have the folder."""
        self._made = False
        self._lock.release()

    def discard(self) -> None:
        """Let go of the folder without a start; one that was made for it disappears."""
        made = self._made
        self.release()
        if made:
            for name in ("run.json", "run.lock"):
                (self.path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # somebody put something there
                self.path.rmdir()

    def log(self, **entry: object) -> None:
        """Append one line to `steering.jsonl`.

        Raises:
            OSError: The line cannot be written.
        """
        with open(self.path / "steering.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _holder(self) -> str:
        try:
            owner = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            here = owner["process"] == os.getpid()
            where = "this kernel" if here else "another kernel"
            shown = f"; `%nbtrain show {owner['name']}` shows it" if here else ""
            return (
                f"the run {owner['name']!r} in {where} (process {owner['process']} on "
                f"{owner['host']}, since {owner['since']}{shown})"
            )
        except (OSError, ValueError, KeyError):
            return "another run, just starting"


def _new_folder(kind: str) -> Path:
    for number in itertools.count(1):
        path = BASE / f"{kind}-{number}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")


def _check_writable(path: Path) -> None:
    """Raise OSError unless a file can be made here: permissions alone do not tell."""
    probe = path / f".write-{os.getpid()}"
    probe.touch()
    probe.unlink()
