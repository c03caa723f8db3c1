"""A run of another process, for the command line."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.rundir import status_file
from tests.models import Line

FOLDER = "runs/far"


def train(pipe: Connection, steps: int | None = None) -> None:
    """Trains until asked to stop, with a scalar that no trial makes worse."""
    line = Line(compiled=True)
    run = nbtrain.train(
        lambda: {**line.step(), "error": 0.0},
        steps=steps,
        checkpoint=line.checkpoint,
        hyperparameters={"learning_rate": line.optimizer.learning_rate},
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
