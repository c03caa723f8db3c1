"""What TensorFlow logs in a training thread: the lines of the run, not of a stray cell."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Iterator

# Lines that are kept, the newest.
MOST_LINES = 200


class Log(logging.Filter):
    """The last lines that TensorFlow's logger let pass in one thread.

    What the verbosity (`tf.compat.v1.logging.set_verbosity`) holds back does not come here;
    the verbosity itself is the user's. Information goes here instead of to the logger's
    handlers, which would print it under whichever cell ran last; warnings go to both.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._ident = 0  # of the thread that is listened to

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, the newest last; any thread."""
        while True:
            with contextlib.suppress(RuntimeError):  # one came while they were copied
                return tuple(self._lines)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what the calling thread logs inside the block."""
        logger = logging.getLogger("tensorflow")
        self._ident = threading.get_ident()
        logger.addFilter(self)
        try:
            yield
        finally:
            logger.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep a record of the thread; whether it goes on to the handlers."""
        if record.thread != self._ident:
            return True
        warns = record.levelno >= logging.WARNING
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001 - a line that is malformed ends no training
            text = str(record.msg)
        self._lines.append(f"{record.levelname}: {text}" if warns else text)
        return warns
