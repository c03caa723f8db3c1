"""The runs below a folder, sorted by the best value of a metric."""

from __future__ import annotations

import math
from typing import Any

import pytest

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.notebook.run_tree import tree
from tests.gate import SOON


def recorded(name: str, tag: str, values: list[float]) -> None:
    """A run that records these values of a metric."""
    left = iter(values)
    options: dict[str, Any] = {"steps": len(values), "name": name, "on_nan": None}
    nbtrain.train(lambda: {tag: next(left)}, **options).wait(SOON)


def ranked(by: str) -> list[list[str]]:
    """The names, the best and the last values of the runs, without the durations."""
    head, *lines = tree(by=by).splitlines()
    at = head.index("branch") + len("branch")
    return [[line.split()[0], *line[at:].split()[:-1]] for line in lines]


def test_the_run_with_the_best_value_comes_first_and_one_without_last() -> None:
    recorded("a", "loss", [3.0, 0.5, 2.0])
    recorded("b", "loss", [1.0, 0.25])
    recorded("none", "other", [1.0])
    recorded("nan", "loss", [math.nan])
    assert tree(by="loss").splitlines()[0].split() == [
        *["run", "phase", "step", "branch", "lowest", "loss", "last", "duration"]
    ]
    assert ranked("loss") == [
        ["b", "0.25", "at", "2", "0.25"],
        ["a", "0.5", "at", "2", "2"],
        ["nan", "none", "nan"],
        ["none"],
    ]
    assert [row[0] for row in ranked("max:loss")] == ["a", "b", "nan", "none"]


def test_a_metric_of_a_fit_needs_no_epoch_before_its_name() -> None:
    recorded("fitted", "epoch_val_accuracy", [0.5, 0.75])
    recorded("looped", "val_accuracy", [0.875])
    assert ranked("val_accuracy") == [
        ["looped", "0.875", "at", "1", "0.875"],
        ["fitted", "0.75", "at", "2", "0.75"],
    ]


def test_a_direction_may_be_given_also_for_a_metric_of_that_name() -> None:
    recorded("a", "epoch_max", [1.0, 3.0])
    recorded("b", "epoch_max", [2.0])
    assert [row[0] for row in ranked("max:max")] == ["a", "b"]
    assert [row[0] for row in ranked("min:max")] == ["a", "b"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("speed", r"--by speed: no run has recorded 'speed'\. There are elbo\."),
        ("elbo", r"--by='elbo': nothing tells whether a higher .* Give --by=\"max:elbo\" if"),
    ],
)
def test_a_metric_that_cannot_rank_is_refused(by: str, message: str) -> None:
    recorded("a", "elbo", [1.0])
    with pytest.raises(ArgumentError, match=message):
        tree(by=by)
