"""Positions in the data that an earlier version has saved are those that a run goes on from.

The version of 2026-11-27 has saved them, with `steps=8`, and TensorFlow 2.21 the states in them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from tests.gate import SOON

RECORDED = Path(__file__).parent / "recorded_positions"
EPOCHS, BATCHES = 3, 6


def pipeline() -> Any:
    """Shuffled anew in every epoch, and drawn ahead."""
    return tf.data.Dataset.range(42).shuffle(12, seed=7).batch(8).prefetch(2)


def listed() -> list[Any]:
    """Batches that are no pipeline."""
    return [tf.range(8 * at, 8 * at + 8, dtype=tf.int64) for at in range(BATCHES)]


class Training:
    """A sum that tells every row and its step."""

    def __init__(self) -> None:
        self.sum = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(sum=self.sum)

    def step(self, batch: Any) -> dict[str, Any]:
        self.sum.assign(31 * self.sum % 1_000_003 + tf.reduce_sum(batch))
        return {"sum": self.sum.read_value()}

    def train(self, name: str, data: Any, **options: Any) -> nbtrain.Run:
        """Trains by a step function."""
        options = {"epochs": EPOCHS, "checkpoint": self.checkpoint, **options}
        return nbtrain.train(self.step, data=data, name=name, **options)

    def track(self, name: str, data: Any, **options: Any) -> nbtrain.Run:
        """Trains by tracked loops."""

        @nbtrain.background(name=name, checkpoint=self.checkpoint, **options)
        def loop(run: Any) -> None:
            for _ in run.track(range(EPOCHS)):
                for batch in run.track(data):
                    run.record(self.step(batch))

        return loop  # type: ignore[no-any-return]


WAYS: dict[str, Callable[..., nbtrain.Run]] = {"train": Training.train, "track": Training.track}
DATA: dict[str, Callable[[], Any]] = {"pipeline": pipeline, "list": listed}

# The sums to which that version has trained on from there, as without a break.
AT_END = {"pipeline": 577557, "list": 295721}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_goes_on_from_a_position_that_an_earlier_version_has_saved(
    way: str, data: str
) -> None:
    shutil.copytree(RECORDED / f"{way}_{data}", "runs/recorded/checkpoints")
    again = Training()
    run = WAYS[way](again, "recorded", DATA[data]()).wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, EPOCHS * BATCHES)
    assert run.scalars["sum"].steps.tolist() == [*range(9, EPOCHS * BATCHES + 1)]
    assert int(again.sum) == AT_END[data]
    assert run.status.message is None
