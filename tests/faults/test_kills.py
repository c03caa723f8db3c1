"""kill -9 at random moments of one training: it ends with the weights of an unbroken one."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from tests.faults import rounds
from tests.fitted import classifier, dataset
from tests.forked import Forked
from tests.gate import SOON
from tests.models import Count

STEPS = 120
# Kills of one training, each of which goes on from where the one before was killed.
KILLS = 2
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


def life(pipe: Connection, train: Callable[[], Weights], secs: float | None) -> None:
    """Train until the end, or until it kills itself after some seconds; tell what came of it."""
    if secs is not None:
        threading.Timer(secs, os.kill, (os.getpid(), signal.SIGKILL)).start()
    begun = time.monotonic()
    pipe.send((train(), time.monotonic() - begun))


@pytest.mark.parametrize("train", [by_steps, by_fit, by_graph])
def test_a_training_that_is_killed_ends_with_the_weights_of_an_unbroken_one(
    train: Callable[[], Weights], tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    with Forked(life, train, None, folder=tmp_path / "whole") as child:
        expected, secs = child.answer()
    for number, draw in enumerate(rounds(1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for _ in range(KILLS):
            with Forked(life, train, draw.uniform(0.1, 0.7) * secs, folder=folder) as child:
                assert child.wait() in (-signal.SIGKILL, 0), child.err
        with Forked(life, train, None, folder=folder) as child:
            weights, _ = child.answer()
        for ours, theirs in zip(weights, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
