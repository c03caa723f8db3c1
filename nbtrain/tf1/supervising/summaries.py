"""Event files of graphs: the summaries that a Supervisor computes, and its steps a second."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.dependencies import placeholders_below

# Seconds for the last summary, whose input may never come.
_LAST_SECS = 5.0
# Errors of a summary of queues that have ended, were closed by the stop, or are empty.
_NO_INPUT = (
    tf.errors.OutOfRangeError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)

_opened = itertools.count()


class SupervisorEventFile(tf.compat.v1.summary.FileWriter):
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
        """Continues in another file after `close`."""
        if self._closed:
            self.event_writer: Any = SupervisorEventFile(self._logdir).event_writer
        super().reopen()


class SupervisorSummaries:
    """The summaries of a Supervisor's session.

    Raises:
        ArgumentError: The summary op needs a feed, which services do not have.
    """

    def __init__(self, supervisor: Any, sess: tf.compat.v1.Session) -> None:
        self._supervisor = supervisor
        self._sess = sess
        self._step: int | None = None
        self._written: bytes | None = None
        for op in placeholders_below([supervisor.summary_op]):
            raise ArgumentError(
                f"The summary op depends on the placeholder {op.name!r}, and a service has "
                "nothing to feed it: pass summary_op=None, and write what you compute yourself "
                "with sv.summary_computed(sess, summary)."
            )

    def write(self) -> None:
        """Computes and writes a summary."""
        self._write(*self._computed())

    def write_last(self) -> None:
        """Computes and writes a summary unless it would be the same as the last one."""
        if self._step is not None and self._step == self._supervisor.step_of(self._sess):
            return
        limit = tf.compat.v1.RunOptions(timeout_in_ms=int(1000 * _LAST_SECS))
        with contextlib.suppress(*_NO_INPUT):
            summary, step = self._computed(limit)
            if step is not None or summary != self._written:
                self._write(summary, step)

    def _computed(self, options: Any = None) -> tuple[bytes, int | None]:
        supervisor = self._supervisor
        fetches = {"summary": supervisor.summary_op}
        if supervisor.global_step is not None:
            fetches["step"] = supervisor.global_step
        fetched = self._sess.run(fetches, options=options)
        step = int(fetched["step"].reshape(-1)[0]) if "step" in fetched else None
        return fetched["summary"], step

    def _write(self, summary: bytes, step: int | None) -> None:
        self._written, self._step = summary, step
        self._supervisor.write_summary(summary, step)


class StepRate:
    """The steps a second of a Supervisor's session."""

    def __init__(self, supervisor: Any, sess: tf.compat.v1.Session) -> None:
        self._supervisor = supervisor
        self._sess = sess
        self._before: tuple[float, int] | None = None

    def write(self) -> None:
        """Writes the steps a second since the last time; nothing the first time."""
        now, step = time.monotonic(), self._supervisor.step_of(self._sess) or 0
        before, self._before = self._before, (now, step)
        if before is None or now <= before[0]:
            return
        speed = (step - before[1]) / (now - before[0])
        tag = f"{self._supervisor.global_step.op.name}/sec"
        value = tf.compat.v1.Summary.Value(tag=tag, simple_value=speed)
        self._supervisor.write_summary(tf.compat.v1.Summary(value=[value]), step)
