"""Notices servers that are out of reach: their machine is switched off, or the network is cut.

Nothing comes from them that ends a connection, so TensorFlow would wait for their answer for ever,
in some calls with Python's lock held. So the system is asked to end such connections.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Sequence

import psutil
from typing_extensions import Self

from nbtrain.engines.ps.servers import silent
from nbtrain.tasks.description import TaskAddress
from nbtrain.tasks.ports import split

# Seconds between two looks for parameter servers out of reach: two looks in a row decide, while no
# step is completed.
_LOOK_SECS = 1.0
# Looks from one for new connections to the next, which takes 8 ms.
_CONNECTION_LOOKS = 5
# The system ends a connection that has not been confirmed for eight seconds: idle for three, then
# asked five times; or, if something was sent, after eight thousand milliseconds.
_LIMITS = {
    "TCP_KEEPIDLE": 3,  # Linux
    "TCP_KEEPALIVE": 3,  # macOS
    "TCP_KEEPINTVL": 1,
    "TCP_KEEPCNT": 5,
    "TCP_USER_TIMEOUT": 8000,  # Linux
}
# IPv4 in an address of IPv6, as gRPC writes it.
_MAPPED = "::ffff:"


class Reach:
    """A thread that limits the silence of servers, inside a `with` block.

    Calls of TensorFlow that wait for a server out of reach then raise an UnavailableError.

    Args:
        servers: The parameter servers.
        workers: The workers.

    Attributes:
        heard: When a step was completed, by the clock of `time.monotonic`.
        cut_off: The parameter servers out of reach: a step waits for them in a worker.
    """

    def __init__(self, servers: Sequence[TaskAddress], workers: Sequence[TaskAddress]) -> None:
        self.heard = time.monotonic()
        self.cut_off: list[TaskAddress] = []
        self._servers, self._workers = servers, workers
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="nbtrain reach", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        missed: list[TaskAddress] = []
        for look in itertools.count():
            if self._stopped.wait(_LOOK_SECS):
                return
            if look % _CONNECTION_LOOKS == 0:
                self.limit_silence()
            idle = time.monotonic() - self.heard >= _LOOK_SECS
            before, missed = missed, silent(self._servers) if idle else []
            self.cut_off = [task for task in missed if task in before]

    def limit_silence(self) -> None:
        """Asks the system to end connections of this process that the servers do not confirm."""
        addresses = {
            found for task in (*self._servers, *self._workers) for found in _addresses(task)
        }
        for held in psutil.Process().net_connections("tcp"):
            if held.raddr and (held.raddr.ip.removeprefix(_MAPPED), held.raddr.port) in addresses:
                _limit(held.fd)


def _limit(descriptor: int) -> None:
    """Limits the silence of a connection."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, limit in _LIMITS.items():
            if option := getattr(socket, name, None):
                connection.setsockopt(socket.IPPROTO_TCP, option, limit)


def _addresses(task: TaskAddress) -> set[tuple[str, int]]:
    """Returns the numeric addresses of a task; none if its name is unknown at present."""
    host, port = split(task.address)
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return {(str(address[0]), port) for *_, address in found}
    return set()
