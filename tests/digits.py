"""A softmax regression of scikit-learn's digits, as a TF1 graph, in the optimizer one likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from sklearn.datasets import load_digits

v1 = tf.compat.v1

# The first 400 of 1,797: read once, and enough to learn from.
_DIGITS = [part[:400] for part in load_digits(return_X_y=True)]


class Digits:
    """A graph that learns to read digits, all of them at each step.

    Args:
        optimizer: Makes the optimizer, given the global step.
        minimize: Adds the train op, given this graph, the optimizer and its loss.
    """

    def __init__(
        self,
        optimizer: Callable[[Any], Any] = lambda _step: v1.train.AdamOptimizer(0.01),
        minimize: Callable[[Digits, Any], Any] | None = None,
    ) -> None:
        images, labels = _DIGITS
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.global_step = v1.train.get_or_create_global_step()
            zeros = v1.zeros_initializer()
            self.weight = v1.get_variable("weight", [64, 10], initializer=zeros)
            self.bias = v1.get_variable("bias", [10], initializer=zeros)
            logits = (images / 16).astype("float32") @ self.weight + self.bias
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            self.loss = tf.reduce_mean(each, name="loss")
            hits = tf.equal(tf.argmax(logits, axis=1), labels)
            self.accuracy = tf.reduce_mean(tf.cast(hits, tf.float32), name="accuracy")
            self.optimizer = optimizer(self.global_step)
            minimize = minimize or Digits.minimized
            self.train_op = minimize(self, self.optimizer)

    def minimized(self, optimizer: Any) -> Any:
        """The train op of `minimize`."""
        return optimizer.minimize(self.loss, global_step=self.global_step)
