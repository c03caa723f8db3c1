"""Ports of this machine for the servers of tasks."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys

import psutil

# Seconds for a connection to a server that listens.
_CONNECT_SECS = 1.0
# The first message of a client of HTTP/2, which gRPC uses: its greeting, and settings without any.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


class HeldPort:
    """A free port that is reserved until `release`.

    The socket is bound and does not listen. On Linux a server can still bind to the port, because
    both sockets set SO_REUSEADDR, and a program that asks for any free port never gets this one. So
    no other program can use the port before the server starts, or while the server is restarted.
    Other systems have no such rule: there the port is free from the first start of the server on.

    Args:
        host: The address to listen at.
    """

    def __init__(self, host: str) -> None:
        self._socket: socket.socket | None = socket.socket()
        self._socket.bind((host, 0))
        self.number = int(self._socket.getsockname()[1])
        if sys.platform == "linux":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def lend(self) -> None:
        """Lets the server of a task bind to the port."""
        if sys.platform != "linux":
            self.release()

    def release(self) -> None:
        """Frees the port."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def listens(address: str, secs: float = _CONNECT_SECS) -> bool:
    """Returns whether a server listens at an address, such as "10.0.0.3:2222"."""
    with contextlib.suppress(OSError), socket.create_connection(split(address), secs):
        return True
    return False


def answers(address: str, secs: float = _CONNECT_SECS) -> bool:
    """Returns whether a gRPC server answers at an address; one that is halted only listens."""
    with contextlib.suppress(OSError), socket.create_connection(split(address), secs) as connection:
        connection.sendall(_GREETING)
        return bool(connection.recv(1))
    return False


def check_free(address: str) -> None:
    """Checks that a server can listen at the port of an address on this machine.

    Raises:
        OSError: A server cannot listen there. The message names the port, and the process that
            listens there if the system reports it.
    """
    port = split(address)[1]
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OSError(error.errno, _in_use(port)) from None
            raise OSError(error.errno, f"Port {port} cannot be used: {error.strerror}.") from None


def _in_use(port: int) -> str:
    taker = "another process"
    with contextlib.suppress(psutil.Error):
        for found in psutil.net_connections("tcp"):
            listening = found.status == psutil.CONN_LISTEN
            if listening and found.laddr.port == port and found.pid is not None:
                taker = f"process {found.pid} ({psutil.Process(found.pid).name()})"
                break
    return (
        f"Port {port} of {socket.gethostname()} is in use by {taker}: end that, or give the task "
        "another port."
    )


def split(address: str) -> tuple[str, int]:
    """Returns the host and the port of an address."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
