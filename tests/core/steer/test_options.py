"""Settings: an unusable value raises an error before anything starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.steer.options import Settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": -1}, r"steps=-1: give a whole number of at least 1, or None to train until"),
        ({"steps": 0}, r"steps=0: give a whole number"),
        ({"steps": 1.5}, r"steps=1\.5: give a whole number"),
        ({"steps": "10"}, r"steps='10': give a whole number"),
        ({"steps": True}, r"steps=True: give a whole number"),
        ({"keep": 0}, r"keep=0: give a whole number of at least 1, or None to keep all"),
        ({"keep": 2.0}, r"keep=2\.0: give a whole number"),
        ({"save_secs": -1}, r"save_secs=-1: give a number above 0, or None for never"),
        ({"save_secs": "often"}, r"save_secs='often': give a number"),
        ({"save_secs": float("nan")}, r"save_secs=nan: give a number"),
        ({"save_steps": 0}, r"save_steps=0: give a whole number of at least 1, or None for never"),
        ({"save_steps": 1.5}, r"save_steps=1\.5: give a whole number"),
        ({"save_steps": "x"}, r"save_steps='x': give a whole number"),
        ({"save_steps": [10]}, r"save_steps=\[10\]: give a whole number"),
        ({"save_steps": float("inf")}, r"save_steps=inf: give a whole number"),
        ({"save_steps": float("nan")}, r"save_steps=nan: give a whole number"),
        (
            {"on_nan": "stop"},
            r'on_nan=.stop.: give "pause", "recover" to .* or None to continue',
        ),
        ({"on_nan": False}, r"on_nan=False: give"),
        ({"jump": 1.0}, r"jump=1\.0: give a factor above 1, such as 10\.0, or None for never"),
        ({"jump": float("nan")}, r"jump=nan: give a factor"),
        ({"jump": float("inf")}, r"jump=inf: give a factor"),
        ({"jump": True}, r"jump=True: give a factor"),
        ({"jump": "high"}, r"jump='high': give a factor"),
        ({"grace": 0}, r"grace=0: give a number of seconds above 0, such as 10\.0"),
        ({"grace": None}, r"grace=None: give a number"),
        ({"grace": True}, r"grace=True: give a number"),
        ({"grace": float("inf")}, r"grace=inf: give a number"),
        (
            {"grace": 1e10},
            r"give a number of seconds above 0, such as 10\.0, and at most 1,000,000",
        ),
        ({"grace": float("nan")}, r"grace=nan: give a number"),
        ({"grace": "long"}, r"grace='long': give a number"),
        ({"jump": 10.0, "on_nan": None}, r"jump=10\.0 has no effect with on_nan=None"),
    ],
)
def test_a_wrong_value_raises_with_its_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Settings(**given)


def test_the_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="steps=-1"):
        Settings(steps=-1)


def test_none_means_no_end_and_no_saves() -> None:
    settings = Settings(steps=None, save_secs=None, save_steps=None, keep=None)
    due = settings.save_cadence()
    due.start(0, 0.0)
    assert not due(10**9, 1e12)


def test_the_cadence_saves_by_steps_and_by_seconds() -> None:
    due = Settings(save_secs=60.0, save_steps=100).save_cadence()
    due.start(0, 0.0)
    assert not due(99, 59.0)
    assert due(100, 59.0)
    assert due(101, 120.0)


def test_a_checkpoint_every_ten_minutes_is_the_default() -> None:
    due = Settings().save_cadence()
    due.start(0, 0.0)
    assert not due(10**6, 599.0)
    assert due(10**6, 600.0)


def test_numpy_integers_are_accepted() -> None:
    settings = Settings(steps=np.int64(10), save_steps=np.int32(5), keep=np.int64(2))  # type: ignore[arg-type]
    assert (settings.steps, settings.keep) == (10, 2)
    assert type(settings.steps) is type(settings.keep) is int, "JSON knows no other"
