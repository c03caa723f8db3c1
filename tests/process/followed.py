"""A run of another process, for the command line."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.rundir import status_file

FOLDER = "runs/far"


def train(pipe: Connection, steps: int | None = None) -> None:
    """Trains until asked to stop, with a scalar that no trial makes worse."""
    weight, rate = tf.Variable(5.0), tf.Variable(0.05)

    def step() -> dict[str, tf.Tensor | float]:
        loss = (weight - 1.0) ** 2
        weight.assign_sub(rate * 2.0 * (weight - 1.0))
        return {"loss": loss, "error": 0.0}

    run = nbtrain.train(
        step,
        steps=steps,
        checkpoint=tf.train.Checkpoint(weight=weight, learning_rate=rate),
        hyperparameters={"learning_rate": rate},
        name="far",
    )
    pipe.send("trains")
    run.wait()
    pipe.send("ended")


def phase() -> Phase | None:
    """The phase in the run's folder."""
    try:
        return status_file.read(Path(FOLDER)).status.phase
    except FileNotFoundError:
        return None
