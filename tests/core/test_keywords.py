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


def launch(script: Any, *arguments: Any) -> tuple[Any, ...]:
    """Launches."""
    return script, *arguments


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
        (track, "iterable", "Give it first, without a name."),
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


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (train, (1, [2], 500), "It takes data, logdir, save_steps by name."),
        (track, (1, True), "It takes save_secs, checkpoint by name."),
        (runs, (1,), "It takes no arguments by name."),
    ],
)
def test_too_many_arguments_without_names_are_refused_with_what_to_type(
    function: Any, given: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(UnknownArgumentError) as refusal:
        refusing(function, "nbtrain")(*given)
    first = next(iter(inspect.signature(function).parameters), "no argument")
    count = f"{len(given)} arguments have" if len(given) > 1 else "1 argument has"
    assert str(refusal.value) == (
        f"nbtrain.{function.__name__}() takes {first} without a name, but {count} none. {words}"
    )


def test_a_function_that_takes_any_number_of_arguments_gets_them() -> None:
    assert refusing(launch, "nbtrain")("a.py", 1, 2) == ("a.py", 1, 2)


def test_every_unknown_argument_is_told() -> None:
    with pytest.raises(UnknownArgumentError) as refusal:
        refusing(train, "nbtrain")(1, log_dir="a", dat=2)  # type: ignore[call-arg]
    assert str(refusal.value).splitlines() == [
        "nbtrain.train() does not take log_dir=. Did you mean logdir=?",
        "nbtrain.train() does not take dat=. Did you mean data=?",
    ]


def test_another_mistake_is_told_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'step'"):
        refusing(train, "nbtrain")()  # type: ignore[call-arg]
