"""Training steps to measure with: a graph's of about 120 µs, a function's of about 1 ms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Step = Callable[[], dict[str, Any]]


class GraphStep:
    """A step of a graph: `session.run` of a train op and its loss."""

    def __init__(self) -> None:
        v1 = tf.compat.v1
        self.graph = tf.Graph()
        with self.graph.as_default():
            x = tf.constant(np.random.default_rng(0).random((100, 100)), tf.float32)
            w = v1.get_variable("w", [100, 100], initializer=v1.glorot_uniform_initializer(seed=1))
            self.loss = tf.reduce_mean(tf.square(x @ w - 1.0))
            step = v1.train.get_or_create_global_step()
            self.train_op = v1.train.AdamOptimizer(1e-4).minimize(self.loss, global_step=step)
            config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
            self.session = v1.Session(graph=self.graph, config=config)
            self.session.run(v1.global_variables_initializer())
        self.fetches = [self.train_op, self.loss]

    def __call__(self) -> dict[str, Any]:
        """One step, as a user writes it."""
        return {"loss": self.session.run(self.fetches)[1]}


def function_step() -> Step:
    """A step of a `tf.function`."""
    x = tf.constant(np.random.default_rng(0).random((192, 192)), tf.float32)
    layers = [tf.keras.layers.Dense(192, "relu") for _ in range(2)]
    model = tf.keras.Sequential([tf.keras.Input((192,)), *layers])
    optimizer = tf.keras.optimizers.Adam(1e-4)

    @tf.function
    def update() -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - 1.0))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}

    return lambda: dict(update())
