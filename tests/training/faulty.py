"""Trainings that become NaN or infinite in a known line, at a known step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.models import reached

BAD = 30  # the step whose batch has the bad row
ROW = 5  # its place in the batch
BATCH = 8


def log_of(p: Any, x: Any) -> Any:
    return -tf.reduce_mean(tf.math.log(x) * p)


def division_by(p: Any, x: Any) -> Any:
    return tf.reduce_mean(p / x)


def norm_of(p: Any, x: Any) -> Any:
    distance = tf.norm(p * x, axis=1)  # its derivative at 0
    return tf.reduce_mean(distance)


def exp_of(p: Any, x: Any) -> Any:
    return tf.reduce_mean(tf.exp(x) * p)


def half_of(p: Any, x: Any) -> Any:
    return tf.reduce_mean(tf.cast(tf.cast(x, tf.float16), tf.float32) * p)


def square_of(p: Any, x: Any) -> Any:
    return tf.reduce_mean((p - x) ** 2)


class Faulty:
    """A training of a network with dropout; one row of its shuffled data is bad.

    Args:
        loss: The loss of the predictions and of a column that the data have beside the inputs.
        value: The value of the column in the bad row.
        how: "graph", "XLA" or "eager".
        guarded: Whether the step leaves the weights as they are if the loss is not finite.
    """

    def __init__(
        self,
        loss: Callable[[Any, Any], Any],
        value: float,
        *,
        how: str = "graph",
        guarded: bool = False,
    ) -> None:
        keras.utils.set_random_seed(1)
        layers = keras.layers
        self.model = keras.Sequential(
            [
                keras.Input((3,)),
                layers.Dense(8, "relu", name="first"),
                layers.Dropout(0.25, seed=2),
                layers.Dense(1, name="last"),
            ]
        )
        self.optimizer = keras.optimizers.Adam(1e-3)
        self.optimizer.build(self.model.trainable_variables)
        self.mean = keras.metrics.Mean()  # no checkpoint of TensorFlow can contain it
        self._loss, self._guarded = loss, guarded
        random = np.random.default_rng(3)
        rows = BATCH * 2 * BAD
        x = random.normal(size=(rows, 3)).astype("f")
        column = random.uniform(0.5, 1.5, size=(rows, 1)).astype("f")
        plain = tf.data.Dataset.range(rows).shuffle(rows, seed=4, reshuffle_each_iteration=False)
        order = [int(at) for at in plain.as_numpy_iterator()]
        column[order[BATCH * (BAD - 1) + ROW]] = value
        data = tf.data.Dataset.from_tensor_slices((x, column))
        self.data = data.shuffle(rows, seed=4, reshuffle_each_iteration=False).batch(BATCH)
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)
        self._compiled = {
            "graph": tf.function(self._train),
            "XLA": tf.function(self._train, jit_compile=True),
            "eager": self._train,
        }[how]

    def _train(self, x: Any, column: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = self._loss(self.model(x, training=True), column)
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        if self._guarded:
            gradients = [tf.where(tf.math.is_finite(loss), each, 0.0) for each in gradients]
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        self.mean.update_state(tf.where(tf.math.is_finite(loss), loss, 0.0))
        return loss

    def step(self, batch: Any) -> dict[str, Any]:
        return {"loss": self._compiled(*batch)}

    def start(self, **options: Any) -> Run:
        """A run of it."""
        return nbtrain.train(
            self.step,
            data=self.data,
            epochs=20,
            checkpoint=self.checkpoint,
            hyperparameters={"learning_rate": self.optimizer.learning_rate},
            **options,
        )

    def at_nan(self, **options: Any) -> Run:
        """A run of it, paused because of the NaN."""
        run = self.start(**options)
        reached(run, lambda run: run.status.phase is Phase.PAUSED)
        return run

    def state(self) -> list[np.ndarray[Any, Any]]:
        """Every number that training changes, also the states of random generators."""
        owners = (self.model, self.optimizer, self.mean)
        return [each.numpy() for owner in owners for each in owner.variables]


def line_of(function: Callable[..., Any], code: str) -> int:
    """The number of the line of a function in its file that contains some code."""
    lines, first = inspect.getsourcelines(function)
    return next(first + at for at, line in enumerate(lines) if code in line)
