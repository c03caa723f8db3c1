"""A clock that jumps by hours: nothing of a training, its checkpoints or its cadences heeds it."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import numpy as np
import pytest

import nbtrain
from nbtrain.run.run import Run
from nbtrain.rundir.entries import step_of
from tests.faults import SOAK_SECS, rounds
from tests.faults.kills import Weights, attempt, by_fit, by_graph, by_steps
from tests.fitted import classifier, dataset
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.models import Count, Counter
from tests.on_disk import journal

FOLDER = Path("runs/killed")
HOURS = 12 * 3600.0
# Kills of one training.
KILLS = 2


def jump(draw: Random) -> None:
    """Have the clock of this process jump at about every tenth look."""
    now, offset = time.time, 0.0

    def jumping() -> float:
        nonlocal offset
        if draw.random() < 0.1:
            offset = draw.uniform(-HOURS, HOURS)
        return now() + offset

    time.time = jumping


def steer(draw: Random) -> None:
    """Save and restore at random moments."""
    run = eventually(lambda: nbtrain.runs().get("killed"))
    for _ in range(8):
        receipt = run.save() if draw.random() < 0.5 else run.restore()
        receipt.wait(SOON)
        time.sleep(draw.uniform(0.0, 0.05))


def life_by_it(
    pipe: Connection, train: Callable[[], Weights], seed: float, secs: float | None
) -> None:
    """Train by a clock that jumps, and steer it, to the end or a kill after a checkpoint."""
    jump(Random(seed))
    threading.Thread(target=steer, args=[Random(seed)], daemon=True).start()
    attempt(pipe, train, secs, saved=True)


def touch(draw: Random) -> None:
    """Give every file of the run another time."""
    for path in FOLDER.rglob("*"):
        when = time.time() + draw.uniform(-HOURS, HOURS)
        os.utime(path, (when, when))


# The usual tests kill the others with a clock that goes on: see test_kills.py.
@pytest.mark.parametrize("train", [by_steps, by_fit, by_graph] if SOAK_SECS else [by_fit])
def test_a_training_ends_with_the_same_weights_by_a_clock_that_jumps(
    train: Callable[[], Weights], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whole").mkdir()
    with Forked(attempt, train, None, folder=tmp_path / "whole") as child:
        expected, secs = child.answer()
    for number, draw in enumerate(rounds(1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        for _ in range(KILLS):
            death = draw.uniform(0.0, 0.3) * secs
            with Forked(life_by_it, train, draw.random(), death) as child:
                assert child.wait() in (-signal.SIGKILL, 0), child.err
            touch(draw)
        with Forked(life_by_it, train, draw.random(), None) as child:
            weights, _ = child.answer()
        for ours, theirs in zip(weights, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert_gone_on_from_the_last()


def assert_gone_on_from_the_last() -> None:
    """Each life began where the one before had saved or gone back to last."""
    last = 0
    saved = ("checkpoint", "save", "copy", "found")  # found: killed before it was written down
    for entry in journal(FOLDER, *saved, "restore", "resume", "failed"):
        assert entry["event"] != "failed"
        if entry["event"] == "resume":
            assert entry["step"] == last
        elif entry.get("applied", True):
            last = step_of(entry)


# --- cadences -------------------------------------------------------------------------


def by_steps_and_secs() -> Run:
    """A step function."""
    counter = Counter(lambda _count: time.sleep(0.001))
    return nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        evaluate=lambda: {"twice": 2.0},
        save_secs=0.05,
        evaluate_secs=0.05,
        name="killed",
    )


def by_fit_and_secs() -> Run:
    """A Keras fit."""
    return nbtrain.fit(classifier(), dataset(), epochs=100_000, save_secs=0.05, name="killed")


def by_graph_and_secs() -> Run:
    """A graph under a Supervisor."""
    return nbtrain.supervise(Count().train_op, steps=None, save_secs=0.05, name="killed")


def kept_by_it(pipe: Connection, train: Callable[[], Run]) -> None:
    """Train by a clock that is set back by an hour at every look; tell what was saved."""
    now, hours = time.time, itertools.count(1)
    time.time = lambda: now() - 3600.0 * next(hours)
    run = train()
    eventually(lambda: len(journal(run, "checkpoint")) >= 5)
    if train is by_steps_and_secs:
        eventually(lambda: len(journal(run, "evaluated")) >= 5)
    run.request_stop()
    run.wait(SOON)
    pipe.send((run.status.message, str(run.status.phase)))


@pytest.mark.parametrize("train", [by_steps_and_secs, by_fit_and_secs, by_graph_and_secs])
def test_timed_actions_continue_after_the_clock_is_set_back(train: Callable[[], Run]) -> None:
    with Forked(kept_by_it, train) as child:
        assert child.answer() == (None, "stopped"), child.err
