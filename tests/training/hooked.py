"""A loop under a RunHook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.run.run import Run
from tests.gate import Gate
from tests.models import Count

v1 = tf.compat.v1


Open = Callable[[list[Any]], Any]


def in_training_session(hooks: list[Any]) -> Any:
    """The session of TensorFlow's documentation."""
    return v1.train.MonitoredTrainingSession(hooks=hooks, log_step_count_steps=None)


class Loop:
    """The documented loop around a graph that counts."""

    def __init__(self, open_session: Open = in_training_session, gate: Gate | None = None) -> None:
        self.count = Count()
        self._open = open_session
        self._gate = gate
        self.hooks: list[Any] = []

    def __call__(self, run: Run) -> None:
        count = self.count
        with count.graph.as_default():
            hook = nbtrain.RunHook(run, {"loss": count.loss})
            with self._open([hook, *self.hooks]) as sess:
                while not sess.should_stop():
                    if self._gate is not None:
                        self._gate()
                    self.step(sess)

    def step(self, sess: Any) -> None:
        """One turn of the loop."""
        sess.run(self.count.train_op)
