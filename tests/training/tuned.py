"""A run with a rate that can be set."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import Counter, applied
from tests.on_disk import journal

TAG = "hyperparameters/rate"


class Tuned(Counter):
    """A counter with a rate that each step uses, and remembers."""

    def __init__(self, gate: Any = lambda _count: None) -> None:
        super().__init__(gate)
        self.rate = tf.Variable(0.5)
        self.share = tf.Variable(0.25)
        self.checkpoint = tf.train.Checkpoint(count=self.count, rate=self.rate)
        self.used: list[float] = []

    def step(self) -> dict[str, Any]:
        values = super().step()
        self.used.append(float(self.rate.numpy()))
        return values


def held(gate: Gate, **options: Any) -> tuple[Run, Tuned]:
    """A run whose every step waits at the gate; it stands in the first."""
    tuned = Tuned(gate)
    run = nbtrain.train(
        tuned.step,
        checkpoint=tuned.checkpoint,
        hyperparameters={"rate": tuned.rate, "dropout": tuned.share},
        name="held",
        **options,
    )
    gate.wait_for_arrivals()
    return run, tuned


def paused_and_saved(gate: Gate) -> tuple[nbtrain.Run, Tuned]:
    """The same, paused at step 1 with a checkpoint of it."""
    run, tuned = held(gate)
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    applied(run.save())
    return run, tuned


def lines(run: Run, event: str) -> list[dict[str, Any]]:
    """Returns the journal lines of one kind, without the time."""
    return [
        {key: entry[key] for key in entry if key not in ("wall_time", "event")}
        for entry in journal(run, event)
    ]


def curve(run: Run, tag: str = TAG) -> list[tuple[int, float]]:
    points = run.scalars[tag]
    return list(zip(points.steps.tolist(), points.values.tolist(), strict=True))


def stopped(run: Run, gate: Gate) -> Run:
    gate.open()
    run.request_stop()
    return run.wait(SOON)
