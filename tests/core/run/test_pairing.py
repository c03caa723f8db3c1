"""Whether the arms of a trial had the same batches and draws, from their first steps."""

from __future__ import annotations

import math

import pytest

from nbtrain.run.trials.pairing import Pairing


def paired(*firsts: tuple[float, dict[str, float]]) -> str:
    """The words after arms whose first steps recorded these losses with these values."""
    pairing = Pairing()
    for loss, values in firsts:
        pairing.add(0, {"loss": loss}, values)
    return pairing.text


def test_arms_with_the_same_first_step_are_paired() -> None:
    assert paired((1.0, {"learning_rate": 0.1}), (1.0, {"learning_rate": 0.2})) == ""
    assert paired((math.nan, {}), (math.nan, {})) == ""


def test_arms_that_are_not_paired_are_described_by_the_first_scalar_that_differs() -> None:
    pairing = Pairing()
    for value in (1.0, 2.0):
        pairing.add(0, {f"loss_{number}": value for number in range(50)}, {})
    assert "the first step gave loss_0 1 and 2 from the same state" in pairing.text


@pytest.mark.parametrize(("last", "is_paired"), [(3.0, True), (4.0, False)])
def test_values_that_act_on_the_first_step_are_compared_with_the_same_values(
    last: float, *, is_paired: bool
) -> None:
    grid = [(0.1, 1.0), (0.1, 2.0), (0.5, 1.0), (0.5, 2.0)]
    losses = [2.0, 2.0, 3.0, last]
    text = paired(
        *(
            (loss, {"dropout": dropout, "learning_rate": rate})
            for loss, (dropout, rate) in zip(losses, grid, strict=True)
        )
    )
    assert (text == "") is is_paired


def test_repeats_are_not_compared_with_each_other() -> None:
    pairing = Pairing()
    pairing.add(0, {"loss": 1.0}, {})
    pairing.add(1, {"loss": 2.0}, {})
    assert pairing.text == ""
