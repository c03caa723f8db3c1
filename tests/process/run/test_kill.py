"""kill -9 in mid-run: the next process goes on from the latest checkpoint, whole."""

from __future__ import annotations

import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.engines.object_saver import ObjectSaver
from tests.forked import Forked
from tests.models import Line, applied
from tests.on_disk import journal


class Weighty:
    """A line with 2 MB beside it, so that a kill often comes while a checkpoint is written."""

    def __init__(self) -> None:
        self.line = Line()
        self.ballast = tf.Variable(tf.zeros([512, 1024]))
        self.count = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(
            line=self.line.checkpoint, ballast=self.ballast, count=self.count
        )

    def step(self) -> dict[str, Any]:
        """Train the line; every number of the ballast counts."""
        self.ballast.assign_add(tf.ones_like(self.ballast))
        self.count.assign_add(1)
        return self.line.step()


def train(pipe: Connection, steps: int | None = None) -> None:
    """Train; tell where it went on from, then each step that was saved."""
    weighty, told = Weighty(), set()
    run = nbtrain.train(
        weighty.step,
        steps=steps,
        checkpoint=weighty.checkpoint,
        save_steps=1,
        keep=3,
        name="killed",
    )

    def tell() -> None:
        for saved in run.checkpoints:
            if saved.step not in told:
                told.add(saved.step)
                pipe.send(saved.step)

    applied(run.pause())
    pipe.send((run.status.step, run.status.notice))
    if steps is None:
        run.on_tick(tell)
    run.resume()
    run.wait()
    pipe.send("ended")


def killed(process: Forked) -> int:
    """Kill a process after it has told of some checkpoints; the last step it told of."""
    told = [process.answer() for _ in range(8)]
    process.kill()
    assert process.exitcode == -signal.SIGKILL
    return int(told[-1])


def assert_whole(path: str, step: int) -> None:
    """A checkpoint holds one step."""
    reader = tf.train.load_checkpoint(path)
    ballast = reader.get_tensor("ballast/.ATTRIBUTES/VARIABLE_VALUE")
    assert {float(ballast.min()), float(ballast.max())} == {float(step)}
    assert reader.get_tensor("count/.ATTRIBUTES/VARIABLE_VALUE") == step


def test_a_killed_run_is_gone_on_with_by_the_next_process() -> None:
    folder = Path("runs/killed/checkpoints")
    with Forked(train) as first:
        _, notice = first.answer()
        assert notice is None
        told = killed(first)
    left = listed(folder)
    assert left[-1].step >= told, "what was told of is not lost"
    for checkpoint in left:
        assert_whole(checkpoint.path, checkpoint.step)

    with Forked(train) as second:
        step, notice = second.answer()
        killed(second)
    assert f"Continues from ckpt-{left[-1].step}: 10 variables matched" in notice
    assert "4 optimizer slots" in notice
    assert step >= left[-1].step
    again = listed(folder)[-1].step

    with Forked(train, again + 10) as third:
        third.answer()
        assert third.answer() == "ended"
    last = listed(folder)[-1]
    assert last.step == again + 10
    assert_whole(last.path, last.step)
    lives = journal(folder.parent, "start", "finished")
    assert [entry["event"] for entry in lives] == ["start", "start", "start", "finished"]


def test_momenta_go_on_as_if_nothing_had_happened() -> None:
    """Two processes, the first of them killed, give the numbers of one training."""
    tf.keras.utils.set_random_seed(1)
    weighty = Weighty()
    folder = Path("runs/killed/checkpoints")
    saver = ObjectSaver(weighty.checkpoint, folder, keep=3)
    saver.save(0)  # the first process begins from these weights
    with Forked(train) as process:
        process.answer()
        killed(process)
    step = listed(folder)[-1].step + 5
    with Forked(train, step) as process:
        process.answer()
        assert process.answer() == "ended"
    for _ in range(step):
        weighty.line.step()
    expected = weighty.line.state()
    ObjectSaver(weighty.checkpoint, folder, keep=3).resume()
    assert int(weighty.count.numpy()) == step
    for a, b in zip(weighty.line.state(), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
