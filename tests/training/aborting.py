"""A session that is lost."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class Aborting(tf.compat.v1.train.SessionRunHook):
    """Raises a preemption error in before_run, at some calls of it."""

    def __init__(self, at: set[int], error: type[tf.errors.OpError] = tf.errors.AbortedError):
        self._at = at
        self._error = error
        self.calls = 0

    def before_run(self, run_context: Any) -> None:
        self.calls += 1
        if self.calls in self._at:
            raise self._error(None, None, "preempted")
