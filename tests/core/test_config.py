"""The config of a run as one table: what people give, and what cannot be stored."""

from __future__ import annotations

import argparse
import math
import types
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.config import MOST_CHARS, MOST_ENTRIES, flat, merged, word_of


class Kind(Enum):
    """A choice."""

    SMALL = "small"


class Layer:
    """An object that says only where it is in memory."""


class Broken:
    """An object that cannot say what it is."""

    def __repr__(self) -> str:
        raise ValueError


@dataclass
class Data:
    """A nested part."""

    name: str = "digits"
    crop: tuple[int, int] = (24, 24)


@dataclass
class Options:
    """The options of a program."""

    units: int = 64
    data: Data = field(default_factory=Data)
    more: dict[str, object] = field(default_factory=lambda: {"rates": [0.1, 0.2]})


NESTED = {"units": 64, "data.name": "digits", "data.crop": "(24, 24)", "more.rates": "[0.1, 0.2]"}


@pytest.mark.parametrize(
    "given",
    [
        Options(),
        argparse.Namespace(**vars(Options())),
        types.SimpleNamespace(**vars(Options())),
        {"units": 64, "data": vars(Data()), "more": types.MappingProxyType(Options().more)},
    ],
)
def test_a_nested_config_becomes_one_table(given: object) -> None:
    assert flat(given) == NESTED


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (True, True),
        (np.bool_(True), True),
        (np.int32(3), 3),
        (np.float32(0.5), 0.5),
        (np.array(2.0), 2.0),
        (np.str_("word"), "word"),
        (np.arange(3), "[0 1 2]"),
        (None, "None"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (2**70, str(2**70)),
        (Kind.SMALL, "small"),
        (Path("a/b"), str(Path("a/b"))),
        (Layer, "Layer"),
        (Layer(), "Layer"),
        (Broken(), "Broken"),
        (flat, "flat"),
        (len, "len"),
        ({}, "{}"),
        ({"b", "a"}, "{a, b}"),
        (("a", 1), "(a, 1)"),
        ([Layer(), np.int8(1)], "[Layer, 1]"),
        ("\x1b[31mred\0\udc80", "red��"),
        ("x" * 300, "x" * (MOST_CHARS - 1) + "…"),
    ],
)
def test_a_value_is_stored_as_json_and_tensorboard_can(given: object, stored: object) -> None:
    (value,) = flat({"name": given}).values()
    assert value == stored
    assert type(value) is type(stored)


def itself() -> dict[str, object]:
    found: dict[str, object] = {}
    found["again"] = found
    return found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, r"config=5: give a dict of what the run is made with"),
        (None, r"config=None: give a dict"),
        ("units=64", r"config='units=64': give a dict"),
        (Options, r"config=<class .*Options'>: give a dict"),
        ({"": 1}, r"an entry with the name '': give names of 1 to 100"),
        ({"x" * 300: 1}, r"an entry with the name 'x+…': give names of 1 to 100"),
        ({"a.b": 1, "a": {"b": 2}}, r"two entries with the name 'a\.b'"),
        (itself(), r"nested more than 20 times at 'again\..*or contains itself"),
        (dict.fromkeys(map(str, range(MOST_ENTRIES + 1)), 1), r"more than 500 entries"),
    ],
)
def test_a_config_that_cannot_be_stored_is_refused(given: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        flat(given)


def test_keys_of_any_kind_become_names() -> None:
    assert flat({1: "one", "two\nlines": 2}) == {"1": "one", "two lines": 2}


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({"b": 2}, {"a": 1, "b": 2}),
        ({"a": 3, "bad": None}, {"a": 3}),
        ({"a": 10**400, "x" * 300: 1}, {"a": f"1{'0' * 198}…"}),
        (["no mapping"], {"a": 1}),
        (None, {"a": 1}),
    ],
)
def test_a_later_start_replaces_the_entries_that_it_gives(given: Any, after: object) -> None:
    assert merged({"a": 1}, given) == after


def test_numbers_are_shown_in_six_digits() -> None:
    assert [word_of(value) for value in (0.1 + 0.2, 1e-7, 64, True, "adam")] == [
        "0.3",
        "1e-07",
        "64",
        "True",
        "adam",
    ]
