"""Scripts in a terminal."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
import threading

from tests.gate import eventually


class Terminal:
    """A terminal, as the standard error of this process.

    It is read all the time: one that is full would hold up whoever prints.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        sys.stderr = open(theirs, "w")  # noqa: SIM115 - as long as the process lives
        self._got: list[bytes] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            self._got.append(os.read(self._ours, 1 << 16))

    def shown(self) -> str:
        """Returns what was printed so far."""
        sys.stderr.write("\0")
        sys.stderr.flush()
        eventually(lambda: "\0" in self._text())
        return self._text()

    def _text(self) -> str:
        return b"".join(self._got).decode(errors="replace")
