"""Two network namespaces with a cable between them, which a test cuts.

with Cable() as cable:              # the ends are removed with the block
    Forked(answer, cable.near)      # in the child, first of all: enter(cable.near)
    cable.cut()
    cable.mend()
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from typing_extensions import Self

_CLONE_NEWNET = 0x40000000
# The folder where `ip netns` keeps the namespaces.
_FOLDER = Path("/run/netns")


class End(NamedTuple):
    """One end of a cable: a network namespace.

    Attributes:
        name: Its name.
        address: Its address.
    """

    name: str
    address: str


def ip(*words: str) -> None:
    """Runs `ip` of iproute2."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def enter(name: str) -> None:
    """Moves this process, which has one thread, into a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with (_FOLDER / name).open() as namespace:
        done = libc.setns(namespace.fileno(), _CLONE_NEWNET)
    assert done == 0, os.strerror(ctypes.get_errno())


class Cable:
    """A cable between two network namespaces, from which no other network is reached."""

    def __init__(self) -> None:
        self.near = End(f"nbt-near-{os.getpid()}", "10.99.0.1")
        self.far = End(f"nbt-far-{os.getpid()}", "10.99.0.2")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            for end in (self.near, self.far):
                ip("netns", "add", end.name)
                self._stack.callback(ip, "netns", "del", end.name)
                ip("-n", end.name, "link", "set", "lo", "up")
            veth = ["type", "veth", "peer", "name", "cable", "netns", self.far.name]
            ip("-n", self.near.name, "link", "add", "cable", *veth)
            for end in (self.near, self.far):
                ip("-n", end.name, "address", "add", f"{end.address}/24", "dev", "cable")
                ip("-n", end.name, "link", "set", "cable", "up")
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def cut(self) -> None:
        """Lets nothing through; neither end is told."""
        ip("-n", self.far.name, "link", "set", "cable", "down")

    def mend(self) -> None:
        """Lets everything through again."""
        ip("-n", self.far.name, "link", "set", "cable", "up")


def need_namespaces() -> None:
    """Skips the test where no namespace can be made, except where CI is set."""
    try:
        with Cable():
            return
    except (OSError, AssertionError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no network namespace can be made: {error}")
