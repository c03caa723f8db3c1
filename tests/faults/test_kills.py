"""kill -9 at random moments of one training: it ends with the weights of an unbroken one."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from nbtrain.checkpoints.files import listed
from tests.faults import SOAK_SECS, rounds
from tests.faults.kills import (
    CHECKPOINTS,
    Weights,
    attempt,
    by_fit,
    by_graph,
    by_steps,
)
from tests.forked import Forked


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


# The usual tests kill a fit under a clock that jumps: see test_clocks.py.
@pytest.mark.parametrize(
    "train", [by_steps, by_fit, by_graph] if SOAK_SECS else [by_steps, by_graph]
)
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
