"""The side of an ipyparallel engine: the task that it runs for a launcher elsewhere.

The launcher calls `poll` about once a second. If it has not for some time, it is gone, and the
engine ends the task.
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

# Seconds without a call of the launcher after which its task is ended.
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


# By an identifier that the launcher has chosen.
_HELD: dict[str, Held] = {}


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def reserve(key: str, listens_at: str) -> int:
    """Holds a free port for a task; returns its number."""
    _HELD[key] = Held(HeldPort(listens_at))
    return _HELD[key].port.number


def start(
    key: str, tf_config: str, folder: str, program: Sequence[str], env: Mapping[str, str] | None
) -> int:
    """Starts the process of a task; returns its number."""
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
    """Ends a task's process: asks it, and kills it after some seconds; returns its exit code."""
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
