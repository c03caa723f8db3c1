"""Names in the order of the numbers in them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.text.natural import natural


@pytest.mark.parametrize(
    "names",
    [
        ["layer-2", "layer-10", "layer-10/kernel", "layer-11"],
        ["8-units-rate-0.01", "32-units-rate-0.0003", "32-units-rate-0.01"],
        ["lr=1e-4", "lr=0.002", "lr=1.5e-02", "lr=3"],
        [".", "a", "a/x", "b", "b/y"],
        ["2026-09-30", "2026-10-01"],
        ["", "9" * 400, "a"],
    ],
)
def test_numbers_in_names_are_compared_as_numbers(names: list[str]) -> None:
    shuffled = random.Random(1).sample(names, len(names))
    assert sorted(shuffled, key=natural) == names


@given(st.lists(st.text("0.1e+-a/9٣", max_size=9), max_size=9, unique=True))
def test_any_names_have_one_order(names: list[str]) -> None:
    other = names[::-1]
    assert sorted(other, key=natural) == sorted(names, key=natural)
