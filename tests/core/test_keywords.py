"""Arguments that a public function does not take: what to type instead."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from nbtrain.core.errors import ArgumentError, UnknownArgumentError
from nbtrain.core.keywords import refusing

called: list[dict[str, Any]] = []


def train(step: Any, *, data: Any = None, logdir: Any = None, save_steps: Any = None) -> str:
    """Trains."""
    called.append({"step": step, "data": data, "logdir": logdir, "save_steps": save_steps})
    return "a run"


def track(iterable: Any, /, *, save_secs: Any = None, checkpoint: Any = None) -> None:
    """Tracks."""


def runs() -> None:
    """Lists."""


@pytest.fixture(autouse=True)
def _uncalled() -> None:
    called.clear()


def test_a_call_that_fits_is_passed_on() -> None:
    assert refusing(train, "nbtrain")(3, data=4) == "a run"
    assert called == [{"step": 3, "data": 4, "logdir": None, "save_steps": None}]


def test_signature_and_documentation_stay() -> None:
    found = refusing(train, "nbtrain")
    assert inspect.signature(found) == inspect.signature(train)
    assert (found.__doc__, found.__name__, found.__module__) == ("Trains.", "train", "nbtrain")


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (train, "log_dir", "Did you mean logdir=?"),
        (train, "save_step", "Did you mean save_steps=?"),
        (train, "colour", "It takes step, data, logdir, save_steps by name."),
        (runs, "logdir", "It takes no arguments by name."),
    ],
)
def test_an_unknown_argument_is_refused_with_what_to_type(
    function: Any, given: str, words: str
) -> None:
    with pytest.raises(UnknownArgumentError) as refusal:
        refusing(function, "nbtrain")(**{given: 1})
    assert str(refusal.value) == f"nbtrain.{function.__name__}() does not take {given}=. {words}"
    assert all(isinstance(refusal.value, kind) for kind in (ArgumentError, TypeError))
    assert not called


def test_every_unknown_argument_is_told() -> None:
    with pytest.raises(UnknownArgumentError) as refusal:
        refusing(train, "nbtrain")(1, log_dir="a", dat=2)  # type: ignore[call-arg]
    assert str(refusal.value).splitlines() == [
        "nbtrain.train() does not take log_dir=. Did you mean logdir=?",
        "nbtrain.train() does not take dat=. Did you mean data=?",
    ]


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "words"),
    [
        (train, (), {}, "missing 1 required positional argument: 'step'"),
        (train, (1, 2), {}, "takes 1 positional argument but 2"),
        (track, (), {"iterable": 1}, "positional-only arguments passed as keyword arguments"),
    ],
)
def test_another_mistake_is_told_by_python(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        refusing(function, "nbtrain")(*args, **kwargs)
