"""kill -9 at random moments of one training: it ends with the weights of an unbroken one."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from tests.faults import rounds
from tests.fitted import classifier, dataset
from tests.forked import Forked
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


def kill_once_saved(train: Callable[[], Weights], secs: float, draw: Random, folder: Path) -> None:
    """Kill its first life after a checkpoint; one that ends before begins again, to die sooner."""
    code: int | None = 0
    while code == 0:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        secs *= draw.random()
        with Forked(attempt, train, secs, True, folder=folder) as child:
            code = child.wait()
    assert code == -signal.SIGKILL, child.err
    assert listed(folder / CHECKPOINTS)


@pytest.mark.parametrize("train", [by_steps, by_fit, by_graph])
def test_a_training_that_is_killed_ends_with_the_weights_of_an_unbroken_one(
    train: Callable[[], Weights], tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    with Forked(attempt, train, None, folder=tmp_path / "whole") as child:
        expected, secs = child.answer()
    for number, draw in enumerate(rounds(1)):
        folder = tmp_path / str(number)
        kill_once_saved(train, secs, draw, folder)
        with Forked(attempt, train, draw.uniform(0.1, 0.7) * secs, folder=folder) as child:
            assert child.wait() in (-signal.SIGKILL, 0), child.err
        with Forked(attempt, train, None, folder=folder) as child:
            weights, _ = child.answer()
        for ours, theirs in zip(weights, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
