"""What another process wrote has the types of its fields, or is refused with the field's name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from nbtrain.core.states import Phase
from nbtrain.rundir.schema import Misfit, made


@dataclass(frozen=True)
class Part:
    number: float


@dataclass(frozen=True)
class Whole:
    name: str
    phase: Phase
    step: int = 0
    end: int | None = None
    told: bool = False
    parts: tuple[Part, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)


LEAST = {"name": "a", "phase": "running"}


def test_each_field_has_its_type() -> None:
    told = {
        **LEAST,
        "step": 3,
        "end": None,
        "told": True,
        "parts": [{"number": 1}, {"number": "Infinity"}],
        "values": {"loss": "NaN", "acc": 1},
        "of_a_later_version": [1],
    }
    found = made(Whole, told)
    assert (found.phase, found.step, found.end, found.told) == (Phase.RUNNING, 3, None, True)
    assert found.parts == (Part(1.0), Part(math.inf))
    assert found.values["acc"] == 1.0
    assert math.isnan(found.values["loss"])


def test_what_is_missing_has_its_default() -> None:
    assert made(Whole, LEAST) == Whole("a", Phase.RUNNING)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": 7}, "name: 7 is no text"),
        ({"phase": "asleep"}, "phase: 'asleep' is none of created, preparing"),
        ({"phase": ["running"]}, "phase: list is none of"),
        ({"step": "x"}, "step: 'x' is no whole number"),
        ({"step": True}, "step: True is no whole number"),
        ({"step": 1.5}, "step: 1.5 is no whole number"),
        ({"step": 2**63}, "is no whole number"),
        ({"step": None}, "step: None is no whole number"),
        ({"end": "x"}, "end: 'x' is no whole number"),
        ({"told": 1}, "told: 1 is neither true nor false"),
        ({"parts": {}}, "parts: dict is no list"),
        ({"parts": [{"number": 1}, 3]}, "parts: 1: 3 is no Part"),
        ({"parts": [{}]}, "parts: 0: number is missing"),
        ({"parts": [{"number": 10**400}]}, "parts: 0: number: 1000"),
        ({"parts": [{"number": True}]}, "number: True is no number"),
        ({"values": []}, "values: list is no object"),
        ({"values": {"loss": "much"}}, "values: loss: 'much' is no number"),
    ],
)
def test_another_type_is_refused_by_the_name_of_the_field(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(Misfit) as caught:
        made(Whole, {**LEAST, **fields})
    assert said in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(Misfit, match="is no Whole"):
        made(Whole, value)
