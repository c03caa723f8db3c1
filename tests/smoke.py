"""A small run with the installed package alone: train, restore, show, list."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

import nbtrain
from nbtrain.panel.board.board import Board
from nbtrain.panel.live.panel import Panel

REPOSITORY = Path(__file__).parents[1]


def main() -> None:
    """Raises an error if something is missing in the installed package."""
    assert REPOSITORY not in Path(nbtrain.__file__).parents or "site-packages" in nbtrain.__file__
    value = tf.Variable(8.0)

    def step() -> dict[str, tf.Tensor]:
        value.assign(value * 0.9)
        return {"loss": value.read_value()}

    checkpoint = tf.train.Checkpoint(value=value)
    run = nbtrain.train(step, steps=20, checkpoint=checkpoint, name="smoke").wait(60)
    assert run.status.phase.value == "finished", run
    assert run.checkpoints[-1].step == 20, run.checkpoints
    model = nbtrain.train(step, steps=30, checkpoint=checkpoint, name="smoke").wait(60)
    assert model.status.step == 30, "it continues from its checkpoint"
    Panel(model)
    scalars = nbtrain.scalars("runs")
    assert len(scalars["smoke", "loss"].steps) == 30, scalars
    Board(scalars)
    listed = subprocess.run(
        [Path(sys.executable).with_name("nbtrain"), "ls", "runs"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "smoke" in listed.stdout, listed.stdout
    print(f"nbtrain {nbtrain.__version__} in {Path(nbtrain.__file__).parent}: trained and listed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
        os.chdir("/")
