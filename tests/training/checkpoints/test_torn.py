"""Never a torn checkpoint: each holds one step of every variable, and is named by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from tests.gate import SOON
from tests.models import applied
from tests.training.torn import ROWS, lockstep_graph, steps_in

SAVES = 30


class Lockstep:
    """Large variables that are all equal to the number of steps, and a counter."""

    def __init__(self) -> None:
        self.parts = [tf.Variable(tf.zeros([rows, 1024])) for rows in ROWS]
        self.count = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(parts=self.parts, count=self.count)

    @tf.function
    def step(self) -> dict[str, Any]:
        """One more, everywhere."""
        for part in self.parts:
            part.assign_add(tf.ones_like(part))
        return {"count": self.count.assign_add(1)}


def assert_never_torn(run: nbtrain.Run) -> None:
    """Ask for many checkpoints while it trains at speed, and look into each."""
    steps = []
    for _ in range(SAVES):
        step = applied(run.save()).step
        assert steps_in(run.checkpoints[-1].path) == {step}
        steps.append(step)
    assert steps == sorted(set(steps)), "it trained on between the saves"
    run.request_stop()
    run.wait(SOON)
    assert steps_in(run.checkpoints[-1].path) == {run.status.step}


def test_no_checkpoint_of_a_tf2_training_at_speed_is_torn() -> None:
    model = Lockstep()
    assert_never_torn(nbtrain.train(model.step, checkpoint=model.checkpoint, keep=2))


def test_no_checkpoint_of_a_graph_training_at_speed_is_torn() -> None:
    assert_never_torn(nbtrain.supervise(lockstep_graph(), keep=2))


def test_no_checkpoint_saved_by_a_cadence_is_torn() -> None:
    model = Lockstep()
    run = nbtrain.train(
        model.step, steps=100, checkpoint=model.checkpoint, save_steps=10, keep=None
    ).wait(SOON)
    paths = [checkpoint.path for checkpoint in run.checkpoints]
    assert len(paths) == 10
    assert [steps_in(path) for path in paths] == [{c.step} for c in run.checkpoints]


def test_a_restore_of_a_training_at_speed_is_one_step_too() -> None:
    model = Lockstep()
    run = nbtrain.train(model.step, checkpoint=model.checkpoint, keep=2)
    applied(run.save())
    for _ in range(20):
        applied(run.restore())
        applied(run.save())
        assert steps_in(run.checkpoints[-1].path) == {run.checkpoints[-1].step}
    run.request_stop()
    run.wait(SOON)


@pytest.mark.parametrize("torn", ["between variables", "within a variable", "in its name"])
def test_these_tests_see_a_torn_checkpoint(torn: str, tmp_path: Path) -> None:
    model = Lockstep()
    model.step()
    if torn == "between variables":
        model.parts[2].assign_add(tf.ones_like(model.parts[2]))
    elif torn == "within a variable":
        model.parts[0][0, 0].assign(np.float32(0.0))
    manager = tf.train.CheckpointManager(model.checkpoint, str(tmp_path), None)
    manager.save(checkpoint_number=2 if torn == "in its name" else 1)
    assert len(steps_in(listed(tmp_path)[-1].path)) == 2
