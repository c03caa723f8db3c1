"""The ways to leave a loop over a generator: its end, a break, or an error."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbtrain.core.leaving import UnknownError, left_by

Told = list[BaseException | None]


def turns(told: Told) -> Iterator[int]:
    try:
        yield from range(3)
    except GeneratorExit:
        left_by(told.append)
        raise


def through(iterable: Iterator[int]) -> Iterator[int]:
    """As tqdm does it."""
    try:
        for each in iterable:  # noqa: UP028 - a loop in a frame of its own
            yield each
    finally:
        pass


def handled(told: Told) -> None:
    try:
        for number in turns(told):
            raise ValueError(number)
    except ValueError:
        assert told, "it is told before the program handles it"
        raise


def within_with(told: Told) -> None:
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: None)
        for number in turns(told):
            int(f"x{number}")


def unhandled(told: Told) -> None:
    for _ in turns(told):
        int("x")


def nested(told: Told) -> None:
    for _ in turns(told):
        for _ in range(2):
            unhandled([])


def wrapped(told: Told) -> None:
    for _ in through(turns(told)):
        int("x")


def enumerated(told: Told) -> None:
    for number, _ in enumerate(turns(told)):
        1 / number


def raised_by_a_callee(told: Told) -> None:
    def deep() -> None:
        try:
            int("y")
        finally:
            told.copy()

    for _ in turns(told):
        deep()


def wrapper_raises(told: Told) -> None:
    def doubled() -> Iterator[int]:
        for each in turns(told):
            yield 2 * int("x" * each or "0")

    for _ in doubled():
        pass


def leaves(told: Told) -> None:
    for _ in turns(told):
        sys.exit(3)


@pytest.mark.parametrize(
    "loop",
    [
        handled,
        within_with,
        unhandled,
        nested,
        wrapped,
        enumerated,
        raised_by_a_callee,
        wrapper_raises,
        leaves,
    ],
)
def test_the_error_that_leaves_a_loop_is_told(loop: Callable[[Told], None]) -> None:
    told: Told = []
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - each has its own
        loop(told)
    assert told == [raised.value]
    assert sys.gettrace() is None


def broken(told: Told) -> None:
    for _ in turns(told):
        break


def returned(told: Told) -> int:
    for number in turns(told):
        return number
    return -1


def broken_through(told: Told) -> None:
    for _ in through(turns(told)):
        break


def broken_after_an_error(told: Told) -> list[Exception]:
    kept: list[Exception] = []
    for _ in turns(told):
        try:
            int("x")
        except ValueError as error:
            kept.append(error)
        break
    return kept


def dropped(told: Told) -> None:
    held = turns(told)
    next(held)
    del held


@pytest.mark.parametrize("loop", [broken, returned, broken_through, broken_after_an_error, dropped])
def test_a_loop_left_by_the_program_has_no_error(loop: Callable[[Told], Any]) -> None:
    told: Told = []
    loop(told)
    assert told == [None]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the error is found without tracing")
class Words(list[Any]):
    """Keeps the words of errors, and no error."""

    def append(self, error: object) -> None:
        super().append(str(error))


@pytest.mark.parametrize("told", [Words(), []], ids=["forgotten", "kept"])
def test_each_error_of_one_frame_is_told_in_its_turn(told: list[Any]) -> None:
    for number in range(3):
        with contextlib.suppress(ValueError):
            for _ in turns(told):
                raise ValueError(number)
    assert [str(each) for each in told] == ["0", "1", "2"]


def test_under_a_debugger_an_error_is_told_without_its_name() -> None:
    told: Told = []
    sys.settrace(lambda *_: None)
    try:
        with pytest.raises(ValueError, match="invalid literal"):
            unhandled(told)
        assert sys.gettrace() is not None
    finally:
        sys.settrace(None)
    assert isinstance(told[0], UnknownError)
    assert "left the loop by an error, in line" in str(told[0])


SCRIPT = """
import atexit, sys
from nbtrain.core.leaving import left_by, see_unhandled

told = []

def turns():
    try:
        yield from range(3)
    except GeneratorExit:
        left_by(told.append)
        raise

@atexit.register
def end():
    see_unhandled()
    print(*map(repr, told))

for number in turns():
    {turn}
"""


@pytest.mark.parametrize(
    ("turn", "error"), [("1 / number", "ZeroDivisionError"), ("sys.exit(3)", "SystemExit")]
)
def test_the_error_that_ends_a_script_is_told_at_the_end_of_the_process(
    turn: str, error: str
) -> None:
    """The module of a script has no frame around it, which could handle the error."""
    code = SCRIPT.format(turn=turn)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.stdout.startswith(error)
