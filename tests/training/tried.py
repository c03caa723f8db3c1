"""Runs that try other values."""

from __future__ import annotations

from typing import Any

import nbtrain
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import applied
from tests.training.tuned import Tuned


class Tried(Tuned):
    """A counter whose loss is its rate: a higher one makes it worse."""

    def __init__(self, gate: Any = lambda _count: None, *, saved: bool = True) -> None:
        super().__init__(gate)
        if not saved:
            self.checkpoint = None

    def step(self) -> dict[str, Any]:
        return {**super().step(), "loss": self.rate.read_value()}

    def evaluate(self) -> dict[str, Any]:
        return {"loss": self.rate.read_value(), "accuracy": 1.0}


def paused(gate: Gate, tried: Tried, **options: Any) -> Run:
    """A run that is paused at step 1."""
    run = nbtrain.train(
        tried.step,
        checkpoint=tried.checkpoint,
        hyperparameters={"rate": tried.rate, "dropout": tried.share},
        name="tried",
        **options,
    )
    gate.wait_for_arrivals()
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    gate.open()
    return run


def ended(run: Run) -> Run:
    run.request_stop()
    return run.wait(SOON)
