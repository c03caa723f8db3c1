"""kill -9 in mid-run: the next process goes on from the latest checkpoint, whole."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.saving.checkpoints import listed
from tests import ROOT
from tests.models import Line

# Trains a model of 2 MB beside the line, so that a kill often comes while a checkpoint is
# written; says what it went on from, then each step that was saved.
TRAIN = """
import json, sys
import tensorflow as tf
import nbtrain
from tests.models import Line

line = Line()
ballast = tf.Variable(tf.zeros([512, 1024]))
count = tf.Variable(0, dtype=tf.int64)

def step():
    ballast.assign_add(tf.ones_like(ballast))
    count.assign_add(1)
    return line.step()

checkpoint = tf.train.Checkpoint(line=line.checkpoint, ballast=ballast, count=count)
steps = int(sys.argv[1]) or None
run = nbtrain.train(step, steps=steps, checkpoint=checkpoint, save_steps=1, keep=3, name="killed")
told = set()

def tell():
    for saved in run.checkpoints:
        if saved.step not in told:
            told.add(saved.step)
            print(saved.step, flush=True)

run.pause().wait()
print(json.dumps({"step": run.status.step, "notice": run.status.notice}), flush=True)
run.on_tick(tell)
run.resume()
run.wait()
print("ended", flush=True)
"""


@contextlib.contextmanager
def train(steps: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process that trains in this folder; with 0 steps until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(steps)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def gone_on(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a process says of its beginning."""
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def killed(process: subprocess.Popen[str]) -> int:
    """Kill a process after it has told of some checkpoints; the last step it told of."""
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(8)]
    process.send_signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    return told[-1]


def assert_whole(path: str, step: int) -> None:
    """A checkpoint holds one step."""
    reader = tf.train.load_checkpoint(path)
    ballast = reader.get_tensor("ballast/.ATTRIBUTES/VARIABLE_VALUE")
    assert {float(ballast.min()), float(ballast.max())} == {float(step)}
    assert reader.get_tensor("count/.ATTRIBUTES/VARIABLE_VALUE") == step


def test_a_killed_run_is_gone_on_with_by_the_next_process() -> None:
    folder = Path("runs/killed/checkpoints")
    with train() as first:
        assert gone_on(first)["notice"] is None
        told = killed(first)
    left = listed(folder)
    assert left[-1].step >= told, "what was told of is not lost"
    for checkpoint in left:
        assert_whole(checkpoint.path, checkpoint.step)

    with train() as second:
        begun = gone_on(second)
        killed(second)
    assert f"Goes on from ckpt-{left[-1].step}: 10 variables matched" in begun["notice"]
    assert "4 optimizer slots" in begun["notice"]
    assert begun["step"] >= left[-1].step
    again = listed(folder)[-1].step

    with train(steps=again + 10) as third:
        gone_on(third)
        out, _ = third.communicate(timeout=120)
    assert out.splitlines()[-1] == "ended"
    last = listed(folder)[-1]
    assert last.step == again + 10
    assert_whole(last.path, last.step)
    lines = (folder.parent / "steering.jsonl").read_text(encoding="utf-8").splitlines()
    lives = [entry for entry in map(json.loads, lines) if entry["event"] in {"start", "finished"}]
    assert [entry["event"] for entry in lives] == ["start", "start", "start", "finished"]


def test_momenta_go_on_as_if_nothing_had_happened() -> None:
    """Two processes, the first of them killed, give the numbers of one training."""
    tf.keras.utils.set_random_seed(1)
    line = Line()
    folder = Path("runs/killed/checkpoints")
    ballast, count = tf.Variable(tf.zeros([512, 1024])), tf.Variable(0, dtype=tf.int64)
    whole = tf.train.Checkpoint(line=line.checkpoint, ballast=ballast, count=count)
    ObjectSaver(whole, folder, keep=3).save(0)  # the first process begins from these weights
    with train() as process:
        gone_on(process)
        killed(process)
    step = listed(folder)[-1].step + 5
    with train(steps=step) as process:
        gone_on(process)
        process.communicate(timeout=120)
    for _ in range(step):
        line.step()
    expected = line.state()
    ObjectSaver(whole, folder, keep=3).resume()
    assert int(count.numpy()) == step
    for a, b in zip(line.state(), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
