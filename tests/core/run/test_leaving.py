"""The ways to leave a loop over a generator: its end, a break, or an error."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbtrain.run.program.leaving import UnknownError, left_by
from tests.leaving import IS_KNOWN

Told = list[BaseException | None]


def is_unknown(error: BaseException | None) -> bool:
    """Returns whether it stands for an error of which Python says no more."""
    return isinstance(error, UnknownError) and not IS_KNOWN


def turns(told: Told) -> Iterator[int]:
    try:
        yield from range(3)
    except GeneratorExit:
        told.append(left_by())
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


def through_finally(told: Told) -> None:
    for _ in turns(told):
        try:
            int("x")
        finally:
            told.copy()


def through_another_except(told: Told) -> None:
    for _ in turns(told):
        try:
            int("x")
        except KeyError:
            told.clear()


def raised_again(told: Told) -> None:
    for number in turns(told):
        try:
            int("x")
        except ValueError:
            with contextlib.suppress(ZeroDivisionError):
                1 / number
            raise


def raised_from_another(told: Told) -> None:
    for _ in turns(told):
        try:
            int("x")
        except ValueError as error:
            raise OSError from error


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
        through_finally,
        through_another_except,
        raised_again,
        raised_from_another,
        wrapper_raises,
        leaves,
    ],
)
def test_the_error_that_leaves_a_loop_is_found(loop: Callable[[Told], None]) -> None:
    told: Told = []
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - each has its own
        loop(told)
    assert len(told) == 1
    assert told[0] is raised.value or is_unknown(told[0])


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


def broken_within_finally(told: Told) -> None:
    for _ in turns(told):
        try:
            break
        finally:
            told.copy()


def returned_by_except(told: Told) -> BaseException | None:
    for _ in turns(told):
        try:
            int("x")
        except ValueError as error:
            return error
    return None


def dropped(told: Told) -> None:
    held = turns(told)
    next(held)
    del held


@pytest.mark.parametrize(
    "loop",
    [
        broken,
        returned,
        broken_through,
        broken_after_an_error,
        broken_within_finally,
        returned_by_except,
        dropped,
    ],
)
def test_a_loop_left_by_the_program_has_no_error(loop: Callable[[Told], Any]) -> None:
    told: Told = []
    loop(told)
    assert told == [None]


@pytest.mark.parametrize("keeps", [False, True], ids=["forgotten", "kept"])
def test_each_error_of_one_line_is_found_in_its_turn(keeps: bool) -> None:
    told: Told = []
    found = []
    for number in range(3):
        try:
            for _ in turns(told):
                raise ValueError(number)
        except ValueError as error:
            found.append(told[-1] is error or is_unknown(told[-1]))
        if not keeps:
            told.clear()
    assert found == [True] * 3


@pytest.mark.skipif(IS_KNOWN, reason="the error is known")
def test_an_unknown_error_names_its_line_and_has_the_traceback_of_the_error() -> None:
    told: Told = []
    with pytest.raises(ValueError, match="invalid literal") as raised:
        raised_by_a_callee(told)
    (error,) = told
    assert error is not None
    assert str(error) == (
        f"An error left the loop in line {raised.traceback[1].lineno + 1} of {__file__}, "
        "`deep()`. Python before 3.12 does not tell which error it was."
    )
    parts = traceback.extract_tb(error.__traceback__)
    assert [part.name for part in parts] == ["raised_by_a_callee", "deep"]


def raises_the_second_again(told: Told, kept: list[Exception]) -> None:
    for number in turns(told):
        try:
            int(f"x{number}")
        except ValueError as error:
            try:
                float("y")
            except ValueError as other:
                kept.append(other)
            kept.append(error)
            if number:
                raise


def test_an_error_that_is_raised_again_is_told_from_those_handled_meanwhile() -> None:
    told: Told = []
    kept: list[Exception] = []
    with pytest.raises(ValueError, match="x1"):
        raises_the_second_again(told, kept)
    assert told[0] is kept[-1]


MODULE = """
for number in turns(told):
    1 / number
"""


def test_an_error_that_leaves_a_loop_of_a_module_is_found() -> None:
    told: Told = []
    with pytest.raises(ZeroDivisionError) as raised:
        exec(compile(MODULE, "script.py", "exec"), {"turns": turns, "told": told})
    assert told[0] is raised.value or is_unknown(told[0])
