"""Functions that run on an ipyparallel engine: they run a task for a launcher elsewhere.

The launcher calls `poll` about once a second. After `LEASE_SECS` without a call, the engine assumes
that the launcher is gone, and ends the task.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbtrain.cluster.description import described
from nbtrain.cluster.ports import HeldPort
from nbtrain.cluster.process import TaskProcess

# Seconds without a call from the launcher after which the task is ended.
LEASE_SECS = 30.0


class Held:
    """The port and the process of a task.

    Args:
        port: The port of the task.
    """

    def __init__(self, port: HeldPort) -> None:
        self.port = port
        self.process: TaskProcess | None = None
        self.seen = time.monotonic()
        threading.Thread(target=self._watch, name="nbtrain lease", daemon=True).start()

    def _watch(self) -> None:
        while time.monotonic() - self.seen < LEASE_SECS:
            time.sleep(1.0)
        if self.process is not None:
            self.process.kill()
        self.port.release()


# The ports and processes, by an identifier that the launcher has chosen.
_HELD: dict[str, Held] = {}


def host() -> str:
    """Returns the name of this machine."""
    return socket.gethostname()


def reserve(key: str, listens_at: str) -> int:
    """Reserves a free port for a task; returns the port's number."""
    _HELD[key] = Held(HeldPort(listens_at))
    return _HELD[key].port.number


def start(
    key: str, tf_config: str, folder: str, program: Sequence[str], env: Mapping[str, str] | None
) -> int:
    """Starts the process of a task; returns the process's number."""
    held = _HELD[key]
    held.port.lend()
    held.process = TaskProcess(described(tf_config), Path(folder), program, env)
    return held.process.pid


def poll(key: str) -> int | None:
    """Returns the exit code of a task's process; None while it runs."""
    held = _HELD[key]
    held.seen = time.monotonic()
    return None if held.process is None else held.process.code


def end(key: str, secs: float) -> int | None:
    """Asks a task's process to end, and kills it after `secs` seconds; returns its exit code."""
    process = _HELD[key].process
    if process is None:
        return None
    if secs:
        process.terminate()
    if not process.join(secs):
        process.kill()
    return process.code


def release(key: str) -> None:
    """Frees the port of a task that has ended."""
    held = _HELD.pop(key)
    held.port.release()
    held.seen = float("-inf")
