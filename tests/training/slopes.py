"""A loss that depends on the learning rate."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.run.run import Run
from tests.models import applied, reached


class Slope:
    """A loss that falls with the rate, and becomes NaN above a limit of it."""

    def __init__(self, limit: float = math.inf) -> None:
        self.w, self.rate = tf.Variable(4.0), tf.Variable(1e-3)
        self.checkpoint = tf.train.Checkpoint(w=self.w, rate=self.rate)
        self.rates: list[float] = []
        self._limit = limit

    def step(self) -> dict[str, Any]:
        loss = self.w**2
        self.rates.append(rate := float(self.rate.numpy()))
        self.w.assign_sub(rate * 2 * self.w)
        return {"loss": loss if rate < self._limit else math.nan}

    def run(self) -> Run:
        """A run of it, paused after a few steps."""
        run = nbtrain.train(
            self.step,
            checkpoint=self.checkpoint,
            hyperparameters={"learning_rate": self.rate},
            name="slope",
        )
        reached(run, lambda run: run.status.step > 3)
        applied(run.pause())
        return run
