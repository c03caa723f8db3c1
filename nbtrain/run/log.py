"""What TensorFlow logs in a training thread: the lines of the run, not of a stray cell.

A notebook prints what TensorFlow logs under whichever cell ran last. `Log` keeps it for
the panel instead; `hushed` drops what the panel tells already.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator

# Lines that are kept, the newest.
MOST_LINES = 200

# The threads that are hushed; each adds and removes only itself.
_hushed: set[int] = set()


class Log(logging.Filter):
    """The last lines that TensorFlow's logger let pass in one thread.

    What the verbosity (`tf.compat.v1.logging.set_verbosity`) holds back does not come here;
    the verbosity itself is the user's. Information goes here instead of to the logger's
    handlers, which would print it under whichever cell ran last; warnings go to both.

    Attributes:
        is_false: Tells of a line whether it is known to be wrong: it is dropped.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_false: Callable[[str], bool] = lambda _line: False
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
        if _is_told(record) or _is_internal(record):
            return False
        warns = record.levelno >= logging.WARNING
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001 - a line that is malformed ends no training
            text = str(record.msg)
        if self.is_false(text):
            return False
        self._lines.append(f"{record.levelname}: {text}" if warns else text)
        return warns


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Let the calling thread do what the panel tells of without TensorFlow telling it too.

    Other threads' lines, warnings, and the level that the user has set stay as they are.
    """
    logger = logging.getLogger("tensorflow")

    def is_wanted(record: logging.LogRecord) -> bool:
        return not (_is_told(record) or (record.thread in _hushed and _is_internal(record)))

    logger.addFilter(is_wanted)
    ident = threading.get_ident()
    within = ident in _hushed
    _hushed.add(ident)
    try:
        yield
    finally:
        if not within:
            _hushed.remove(ident)
        logger.removeFilter(is_wanted)


def _is_told(record: logging.LogRecord) -> bool:
    """Whether the thread that logs a record is hushed, and the record is no warning."""
    return record.thread in _hushed and record.levelno <= logging.INFO


def _is_internal(record: logging.LogRecord) -> bool:
    """Whether TensorFlow's Saver is told not to call what TensorFlow deprecates.

    As when it deletes the oldest of its checkpoints: nobody but TensorFlow can mend that.
    """
    args = record.args
    caller = str(args[0]) if isinstance(args, tuple) and args else ""
    return "deprecated" in str(record.msg) and "tensorflow/python/training/saver.py" in caller
