"""A run of another process to attach."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.remote.attached import AttachedRun
from nbtrain.run.run import Run
from tests.models import Counter, reached

FOLDER = Path("runs/far")


Points = dict[str, list[tuple[int, float, bool]]]


def train(pipe: Connection, steps: int | None = None, save_steps: int = 50) -> None:
    """Train until the pipe says "stop" or is closed; answer questions about the run."""
    pace = threading.Event()
    counter, rate = Counter(lambda _count: pace.wait(0.001)), tf.Variable(0.5)
    run = nbtrain.train(
        lambda: {**counter.step(), "rate": rate.read_value()},
        steps=steps,
        checkpoint=counter.checkpoint,
        hyperparameters={"rate": rate},
        save_steps=save_steps,
        keep=None,
        name="far",
    )
    reached(run, lambda run: run.status.step > 0 or run.status.phase.ended)
    pipe.send(run.status.step)
    questions: dict[str, Callable[[], object]] = {
        "points": lambda: drained(run),
        "marks": lambda: marks(run),
        "start": lambda: run.start().status.phase.value,
        "wait": lambda: run.wait().status.phase.value,
    }
    try:
        while (asked := pipe.recv()) != "stop":
            pipe.send(questions[asked]())
    except EOFError:
        pass
    run.request_stop()
    run.wait()


def points(run: Run | AttachedRun) -> Points:
    """Step, value (as an event file holds it) and whether it was abandoned, by tag."""
    found = {}
    for tag in run.scalars:
        columns = run.scalars[tag]
        values = columns.values.astype(np.float32)
        rows = (columns.steps.tolist(), values.tolist(), columns.abandoned.tolist())
        found[tag] = list(zip(*rows, strict=True))
    return found


def drained(run: Run) -> Points:
    """All that the run has recorded by now."""
    run.attempt.context.recorder.drain()
    return points(run)


def marks(run: Run | AttachedRun) -> list[tuple[str, int, float, bool]]:
    return [(mark.event, mark.step, mark.order, mark.abandoned) for mark in run.marks]
