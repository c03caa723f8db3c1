"""The lines that TensorFlow logs in a training thread.

A notebook prints these lines under whichever cell ran last. `Log` keeps them for the panel
instead; `hushed` drops lines that repeat what the panel shows.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator

# The number of lines that are kept, the newest.
MOST_LINES = 200


class Log(logging.Filter):
    """The last lines that TensorFlow's logger passed in one thread.

    Lines below the user's verbosity (`tf.compat.v1.logging.set_verbosity`) are not passed here.
    Information is stored here instead of going to the logger's handlers, which would print it under
    whichever cell ran last. Warnings go to both.

    Attributes:
        is_false: Returns whether a line is known to be wrong; such lines are dropped.
        keep: Called with each record that is not passed to the handlers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_false: Callable[[str], bool] = lambda _line: False
        self.keep: Callable[[logging.LogRecord], object] = lambda _record: None
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._ident = 0  # the identifier of the thread whose lines are kept

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, the newest last; any thread."""
        while True:
            with contextlib.suppress(RuntimeError):  # one came while they were copied
                return tuple(self._lines)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Keeps the lines that the calling thread logs inside the block."""
        logger = logging.getLogger("tensorflow")
        self._ident = threading.get_ident()
        logger.addFilter(self)
        try:
            yield
        finally:
            logger.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Keeps a record of the thread; returns whether it is passed to the handlers."""
        if record.thread != self._ident:
            return True
        if _is_internal(record):
            return False
        warns = record.levelno >= logging.WARNING
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001 - a malformed line must not end the training
            text = str(record.msg)
        if self.is_false(text):
            return False
        self._lines.append(f"{record.levelname}: {text}" if warns else text)
        if not warns:
            self.keep(record)
        return warns


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Hides the information logged by the calling thread, which the panel shows anyway.

    Lines of other threads, warnings and the user's log level do not change.
    """
    logger, ident = logging.getLogger("tensorflow"), threading.get_ident()

    def is_wanted(record: logging.LogRecord) -> bool:
        is_hushed = record.levelno <= logging.INFO or _is_internal(record)
        return record.thread != ident or not is_hushed

    logger.filters.insert(0, is_wanted)  # before a `Log`, which would keep the lines
    try:
        yield
    finally:
        logger.removeFilter(is_wanted)


def _is_internal(record: logging.LogRecord) -> bool:
    """Returns whether a record is a deprecation warning for TensorFlow's own Saver.

    TensorFlow logs one when it deletes its oldest checkpoint, for example, and only TensorFlow can
    fix this.
    """
    args = record.args
    caller = str(args[0]) if isinstance(args, tuple) and args else ""
    return "deprecated" in str(record.msg) and "tensorflow/python/training/saver.py" in caller
