"""A fit that an earlier version has recorded, and a kill has ended, goes on as in that version.

The version of 2026-11-27 recorded it. Its learning rate was set at step 6, it went back from step
11 to 7, it was saved and paused at 14, got a note, and was killed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import keras
import numpy as np
import pytest

import nbtrain
from nbtrain.core.states import Phase
from tests.gate import SOON

RECORDED = Path(__file__).parent / "recorded_fit"

# The weights to which the version that has recorded it has trained on from there.
AT_END = [1.080047845840454, 1.0706301927566528, -0.3013681471347809]


def fitted(model: keras.Model) -> nbtrain.Run:
    x = np.arange(32, dtype="float32").reshape(16, 2) / 32
    y = x.sum(1, keepdims=True) - 0.25
    return nbtrain.fit(
        model,
        x,
        y,
        batch_size=4,
        epochs=10,
        name="recorded",
        keep_best="min:epoch_loss",
        tags=["fixture"],
        stage="first",
    )


def test_a_fit_that_an_earlier_version_has_recorded_goes_on_as_in_that() -> None:
    shutil.copytree(RECORDED, "runs/recorded")
    first = keras.initializers.Constant(0.5)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer=first)])
    model.compile(keras.optimizers.SGD(0.02, momentum=0.9), "mse")
    run = fitted(model).wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 40)
    assert run.hyperparameters == {"learning_rate": pytest.approx(0.05), "momentum": 0.9}
    weights = np.concatenate([each.ravel() for each in model.get_weights()])
    np.testing.assert_allclose(weights, AT_END, rtol=1e-5)
    loss = run.scalars["batch_loss"]
    assert loss.steps[~loss.abandoned].tolist() == [*range(1, 41)]
    assert loss.abandoned.sum() == 4
    events = [(mark.event, mark.step) for mark in run.marks if mark.step <= 16]
    assert events == [
        ("best", 4),
        ("set", 6),
        ("save", 7),
        ("best", 8),
        ("restore", 11),
        ("best", 12),
        ("save", 14),
        ("pause", 14),
        ("note", 14),
        ("resume", 14),
        ("best", 16),
    ]
    assert run.tags == ("fixture",)


def test_the_folder_that_an_earlier_version_has_recorded_is_read_as_in_that() -> None:
    found = nbtrain.scalars(RECORDED)
    assert found.tags == [
        "batch_loss",
        "epoch_loss",
        "hyperparameters/learning_rate",
        "hyperparameters/momentum",
    ]
    points = found[".", "batch_loss"]
    assert points.steps.tolist() == [*range(1, 12), *range(8, 15)]
    assert points.abandoned.tolist() == 7 * [False] + 4 * [True] + 7 * [False]
