"""Servers of tests: their ports, and the wait until they answer."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def free_ports(count: int) -> list[int]:
    """Ports of this machine on which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def wait_until_up(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until a server answers; if it does not, the error has its log."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        if server.poll() is not None:
            raise RuntimeError(f"The server ended: {log.read_text()}")
        time.sleep(0.1)  # a server that is coming up tells nobody
    raise RuntimeError(f"{url} did not answer within a minute: {log.read_text()}")


@contextlib.contextmanager
def served(words: Sequence[str], env: Mapping[str, str], folder: Path, url: str) -> Iterator[None]:
    """A server while the block runs, in a folder that gets its log."""
    log = folder / "server.log"
    with log.open("wb") as file:
        server = subprocess.Popen(words, cwd=folder, env=env, stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_until_up(server, url, log)
        yield
    finally:
        server.terminate()
        server.wait(60)
