"""Trainings that are killed, each by one way to own the loop."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from tests.fitted import classifier, dataset
from tests.gate import SOON, eventually
from tests.models import Count

STEPS = 120


CHECKPOINTS = Path("runs/killed/checkpoints")


Weights = list[Any]


def by_steps() -> Weights:
    """A step function with momenta, which draws shuffled batches."""
    weight, momentum = tf.Variable(tf.ones([4])), tf.Variable(tf.zeros([4]))
    data = tf.data.Dataset.range(50).shuffle(20, seed=3).batch(4, drop_remainder=True)

    def step(batch: Any) -> dict[str, Any]:
        momentum.assign(0.9 * momentum + tf.cast(batch, tf.float32) / 50.0)
        weight.assign_sub(0.01 * momentum * weight)
        return {"loss": tf.reduce_sum(weight)}

    held = tf.train.Checkpoint(weight=weight, momentum=momentum)
    nbtrain.train(
        step, data=data.repeat(), steps=STEPS, checkpoint=held, save_steps=7, name="killed"
    ).wait(SOON)
    return [weight.numpy(), momentum.numpy()]


def by_fit() -> Weights:
    """A Keras fit with dropout."""
    model = classifier()
    nbtrain.fit(model, dataset(), epochs=STEPS // 12, save_steps=7, name="killed").wait(SOON)
    return [variable.numpy() for variable in [*model.variables, *model.optimizer.variables]]


def by_graph() -> Weights:
    """A graph with momenta under a Supervisor."""
    run = nbtrain.supervise(Count(size=5).train_op, steps=STEPS, save_steps=7, name="killed")
    reader = tf.train.load_checkpoint(run.wait(SOON).checkpoints[-1].path)
    return [reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())]


def kill(secs: float, saved: bool) -> None:
    """Kill this process after some seconds, counted from its first checkpoint or from now."""
    if saved:
        eventually(lambda: listed(CHECKPOINTS))
    time.sleep(secs)
    os.kill(os.getpid(), signal.SIGKILL)


def attempt(
    pipe: Connection, train: Callable[[], Weights], secs: float | None, saved: bool = False
) -> None:
    """Train until the end, or until it kills itself; tell what came of it."""
    if secs is not None:
        threading.Thread(target=kill, args=(secs, saved), daemon=True).start()
    begun = time.monotonic()
    pipe.send((train(), time.monotonic() - begun))
