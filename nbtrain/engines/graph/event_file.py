"""A `FileWriter` whose file no other writer uses."""

from __future__ import annotations

import itertools
import os
from typing import Any

import tensorflow as tf

_opened = itertools.count()


class EventFile(tf.compat.v1.summary.FileWriter):
    """A `tf.compat.v1.summary.FileWriter` with a file of its own, flushed within a second.

    TensorFlow names a file by the second in which it is opened, so a second file in the same second
    would overwrite the first.
    """

    def __init__(self, logdir: str) -> None:
        # Padded, because files are read in the order of their names.
        suffix = f".{os.getpid()}.{next(_opened):06}"
        super().__init__(logdir, flush_secs=1, filename_suffix=suffix)
        self._logdir = logdir

    def reopen(self) -> None:
        """Continues after `close` in another file."""
        if self._closed:
            self.event_writer: Any = EventFile(self._logdir).event_writer
        super().reopen()
