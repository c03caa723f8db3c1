"""A training that a person can follow: what the tests of the panel steer."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

import nbtrain


class Paced:
    """One layer's worth of weights, a Keras optimizer, and two hyperparameters."""

    def __init__(self) -> None:
        self.weights = tf.Variable(tf.linspace(1.0, 2.0, 8))
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.optimizer.build([self.weights])
        self.dropout = tf.Variable(0.25)
        self.checkpoint = tf.train.Checkpoint(weights=self.weights, optimizer=self.optimizer)

    def step(self) -> dict[str, Any]:
        """Take a step at the pace of a small model, and leave the processor to the browser."""
        time.sleep(0.006)
        loss: dict[str, Any] = self._update()
        return loss

    @tf.function
    def _update(self) -> dict[str, Any]:
        """Fit the weights to nothing."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.weights**2)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.weights), self.weights)])
        return {"loss": loss, "accuracy": 1 / (1 + loss)}

    def train(self, **options: Any) -> nbtrain.Run:
        """A run of it that goes on until it is stopped."""
        told = {"learning_rate": self.optimizer.learning_rate, "dropout": self.dropout}
        return nbtrain.train(
            self.step,
            steps=100_000,
            checkpoint=self.checkpoint,
            **{"name": "paced", "hyperparameters": told} | options,
        )

    def values(self) -> tuple[float, float]:
        """The two hyperparameters, as they are read."""
        rate = self.optimizer.learning_rate.numpy()
        return float(str(rate)), float(self.dropout.numpy())
