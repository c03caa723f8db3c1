"""TensorFlow's own words about what the panel tells already."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

import tensorflow as tf


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Let the calling thread do what the panel tells of without TensorFlow telling it too.

    A notebook prints TensorFlow's INFO lines under the cell. Other threads' lines, warnings,
    and the level that the user has set stay as they are.
    """
    logger, thread = tf.get_logger(), threading.get_ident()

    def wanted(record: logging.LogRecord) -> bool:
        # TensorFlow's Saver calls what TensorFlow deprecates: nobody can mend that here.
        own = isinstance(record.args, tuple) and "get_checkpoint_mtimes" in record.args
        return record.thread != thread or not (record.levelno <= logging.INFO or own)

    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)
