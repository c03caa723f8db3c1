"""Regressions of scikit-learn's diabetes data, which a high learning rate makes diverge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes

from nbtrain.checkpoints.listing import restorable
from nbtrain.core.states import Checkpoint

v1 = tf.compat.v1

_x, _y = load_diabetes(return_X_y=True)
X = (_x * 20).astype("float32")
Y = (_y[:, None] / 100).astype("float32")

# Learning rates with which it does not diverge, and does within some steps.
GOOD, BAD = 0.01, 1.0


class Regression:
    """A Keras model of two layers, its optimizer, and a step that trains it on all the data."""

    def __init__(self, rate: float) -> None:
        keras.utils.set_random_seed(1)
        layers = [keras.layers.Dense(16, "relu"), keras.layers.Dense(1)]
        self.model = keras.Sequential([keras.Input((X.shape[1],)), *layers])
        self.optimizer = keras.optimizers.SGD(rate)
        self.optimizer.build(self.model.trainable_variables)
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)
        self.step = tf.function(self._step)

    def _step(self) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(X) - Y) ** 2)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return {"loss": loss}

    def compiled(self) -> Any:
        """The model, for `fit`."""
        self.model.compile(self.optimizer, "mse", jit_compile=False)
        return self.model


class GraphRegression:
    """The same as a graph, of one layer, its learning rate in a variable."""

    def __init__(self, rate: float) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            step = v1.train.get_or_create_global_step()
            self.rate = v1.get_variable("rate", initializer=rate, trainable=False)
            self.weight = v1.get_variable("weight", initializer=tf.zeros([X.shape[1], 1]))
            self.loss = tf.reduce_mean((X @ self.weight - Y) ** 2)
            optimizer = v1.train.GradientDescentOptimizer(self.rate)
            self.train_op = optimizer.minimize(self.loss, global_step=step)


def numbers(path: str) -> dict[str, Any]:
    """Every variable of real numbers in a checkpoint."""
    reader = tf.train.load_checkpoint(path)
    kinds = reader.get_variable_to_dtype_map()
    return {name: reader.get_tensor(name) for name, kind in kinds.items() if kind.is_floating}


def assert_all_finite(folder: Path) -> Sequence[Checkpoint]:
    """All checkpoints of a folder, the last good ones too; there are some."""
    found = restorable(folder)
    assert found
    for checkpoint in found:
        for name, value in numbers(checkpoint.path).items():
            assert np.isfinite(value).all(), f"{name} in {checkpoint.path}"
    return found
