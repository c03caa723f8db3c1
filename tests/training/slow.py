"""Pipelines and steps that are slow for a known reason."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.run.run import Run


def load(number: Any) -> Any:
    def read(_number: int) -> np.ndarray[Any, Any]:
        time.sleep(0.1)
        return np.ones(4, "f")

    return tf.ensure_shape(tf.numpy_function(read, [number], tf.float32), [4])


def by_python() -> tf.data.Dataset:
    return tf.data.Dataset.range(10**6).map(load)


class Small:
    """A training that takes well below a millisecond a step.

    Args:
        retraced: Whether each step is traced again.
        eager: Whether the operations are executed one by one.
    """

    def __init__(self, *, retraced: bool = False, eager: bool = False) -> None:
        self.weight = tf.Variable(1.0)
        self.checkpoint = tf.train.Checkpoint(weight=self.weight)
        self._retraced, self._eager, self._number = retraced, eager, 0

    def step(self, element: Any) -> dict[str, Any]:
        self._number += self._retraced
        if self._eager:
            value = element
            for _ in range(50):
                value = tf.tanh(value)
            return {"loss": self.weight.assign_add(tf.reduce_mean(value) * 1e-3)}
        return {"loss": self.traced_step(element, self._number)}

    @tf.function
    def traced_step(self, element: Any, number: int) -> Any:
        return self.weight.assign_add(tf.reduce_mean(element) * 1e-3 + 0.0 * number)

    def start(self, data: Any, **options: Any) -> Run:
        """A run of it."""
        return nbtrain.train(self.step, data=data, checkpoint=self.checkpoint, **options)
