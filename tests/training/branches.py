"""Runs to branch."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Save
from nbtrain.run.run import Run
from tests.gate import SOON
from tests.models import Counter


class Paced(Counter):
    """Counts by a pace, which no checkpoint holds."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.pace = tf.Variable(1, dtype=tf.int64)

    def step(self) -> dict[str, Any]:
        self.count.assign_add(self.pace)
        self._at_step(int(self.count.numpy()))
        return {"count": self.count.read_value()}


def parent(*, steps: int = 20, at: int = 10, **options: Any) -> tuple[Run, Paced]:
    """A run that has ended, with a checkpoint of a step before."""
    paced = Paced()
    options = {"checkpoint": paced.checkpoint, "hyperparameters": {"pace": paced.pace}} | options
    run = nbtrain.train(paced.step, steps=steps, name="a", start=False, **options)
    run.post(Save(), at=at)
    return run.start().wait(SOON), paced
