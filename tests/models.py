"""Small real trainings that the tests run: nothing of TensorFlow is replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.core.receipts import Outcome, Receipt
from tests.gate import SOON

v1 = tf.compat.v1


class Line:
    """A Keras model of a line, its optimizer, and a step that fits it."""

    def __init__(self, *, units: int = 1, build: bool = True, compiled: bool = False) -> None:
        self.model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(units)])
        self.optimizer = tf.keras.optimizers.Adam(0.05)
        if build:
            self.optimizer.build(self.model.trainable_variables)
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)
        self._x = tf.constant([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 5.0]])
        self.step: Callable[[], dict[str, Any]] = (
            tf.function(self._step) if compiled else self._step
        )

    def _step(self) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            error = self.model(self._x) - tf.reduce_sum(self._x, axis=1, keepdims=True)
            loss = tf.reduce_mean(error**2)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return {"loss": loss}

    def state(self) -> list[np.ndarray[Any, Any]]:
        """Every number that training changes."""
        return [v.numpy() for v in [*self.model.variables, *self.optimizer.variables]]


class Counter:
    """The smallest thing that can be trained: one variable, one more each step."""

    def __init__(self, at_step: Callable[[int], object] = lambda _count: None) -> None:
        self.count = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(count=self.count)
        self._at_step = at_step

    def step(self) -> dict[str, Any]:
        """Count; `at_step` may wait, raise, or ask the run for something."""
        self.count.assign_add(1)
        self._at_step(int(self.count.numpy()))
        return {"count": self.count.read_value()}


class Count:
    """A TF1 graph that counts: a global step, and a loss that is its half."""

    def __init__(self, *, name: str = "weight", counting: bool = True, size: int = 1) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.global_step = v1.train.get_or_create_global_step()
            self.weight = v1.get_variable(name, initializer=tf.zeros([size]))
            self.loss = tf.reduce_mean((self.weight - 1.0) ** 2, name="loss")
            self.vector = tf.identity(self.weight - 1.0, name="vector")
            self.train_op = v1.train.MomentumOptimizer(0.01, 0.9).minimize(
                self.loss, global_step=self.global_step if counting else None
            )


def applied(receipt: Receipt) -> Outcome:
    """The outcome of a command that must have been applied."""
    outcome = receipt.wait(SOON)
    assert outcome.applied, outcome
    return outcome


def refused(receipt: Receipt) -> Outcome:
    """The outcome of a command that must have been refused."""
    outcome = receipt.wait(SOON)
    assert not outcome.applied, outcome
    return outcome


def reached(run: nbtrain.Run, ready: Callable[[nbtrain.Run], bool]) -> None:
    """Until a condition holds; looked at whenever the run ticks."""
    seen = threading.Event()

    def look() -> None:
        if ready(run):
            seen.set()

    run.on_tick(look)
    look()
    assert seen.wait(SOON), f"still {run.status}"


def ticked(run: nbtrain.Run) -> None:
    """Waits for a tick of a run that has begun after the call."""
    ends = threading.Semaphore(0)
    forget = run.on_tick(ends.release)
    for _ in range(2):  # the first may be of a tick that had begun before
        assert ends.acquire(timeout=SOON)
    forget()
