"""Finds the error that leaves a `for` loop over a generator.

Python closes the generator of a loop that a `break` or an error leaves, and does not pass the
reason to the generator.

    def turns():
        try:
            yield ...
        except GeneratorExit:
            left_by()  # None after a break, otherwise the error
            raise

A traceback shows that an error leaves a frame at its present instruction. From Python 3.12 on, the
error refers to this traceback. Before 3.12, most errors do not refer to it yet, and only the
traceback is known.
"""

from __future__ import annotations

import dis
import gc
import inspect
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

# The instructions at which the frame of a generator waits, such as that of `tqdm`.
_YIELDS = frozenset({"YIELD_VALUE", "YIELD_FROM", "SEND", "RESUME"})

# The instructions by which a `break` or a `return` drops the iterator; they raise no errors.
_DROPS = frozenset({"POP_TOP", "POP_ITER"})

# The instructions that raise an error again: its traceback keeps the instruction that raised it.
_RAISES = frozenset({"RERAISE", "RAISE_VARARGS"})


class UnknownError(RuntimeError):
    """An error of the program whose traceback alone is known."""


def left_by() -> BaseException | None:
    """Returns the error that leaves the loop over the calling generator; None if none does.

    Before Python 3.12 it is mostly an `UnknownError` with the traceback of the error.
    """
    frame = _loop_of(sys._getframe(1).f_back)
    if frame is None or (instruction := _instruction(frame)) in _DROPS:
        return None  # the quick case: otherwise all objects of the process are searched
    part: TracebackType | None = _newest(
        lambda each: (
            type(each) is TracebackType
            and each.tb_frame is frame
            and each.tb_lasti == frame.f_lasti
        )
    )
    if part is None and instruction in _RAISES:
        return _raised_again(frame) or _unknown(frame, None)
    if part is None:
        return None
    error: BaseException | None = _newest(
        lambda each: issubclass(type(each), BaseException) and each.__traceback__ is part
    )
    if error is not None:
        return error
    return _unknown(frame, part)


def _unknown(frame: FrameType, part: TracebackType | None) -> UnknownError:
    """Returns an error that names the present line of a frame, with the traceback if known."""
    filename, number = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(filename, number).strip()
    where = f"line {number} of {filename}" if Path(filename).exists() else f"line {number}"
    line = f"{where}, `{source}`" if source else where
    text = f"An error left the loop in {line}. Python before 3.12 does not tell which error it was."
    return UnknownError(text).with_traceback(part)


def _loop_of(frame: FrameType | None) -> FrameType | None:
    """Returns the frame of the loop: the generator's caller, behind generators that wait."""
    while frame is not None and frame.f_code.co_flags & inspect.CO_GENERATOR:
        if _instruction(frame) not in _YIELDS:
            break
        frame = frame.f_back
    return frame


def _instruction(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def _raised_again(frame: FrameType) -> BaseException | None:
    """Returns the error that a frame raises again; None if nothing refers to it.

    The program may keep errors that it has handled in the meantime. They came after the error that
    is raised again, and have that error as their context. Errors of earlier turns are older.
    """
    found = [
        each
        for generation in range(3)
        for each in reversed(gc.get_objects(generation))
        if issubclass(type(each), BaseException)
        and each.__traceback__ is not None
        and each.__traceback__.tb_frame is frame
    ]
    known = {id(each) for each in found}
    return next((each for each in found if id(each.__context__) not in known), None)


def _newest(fits: Callable[[Any], bool]) -> Any:
    """Returns the newest object that fits; None if none does.

    An earlier error of the same instruction may still exist, because the program may keep it. The
    collector has the youngest objects in its first generation, with the newest at the end.
    `gc.get_referrers` would find them too, but it can crash the process: some objects of TensorFlow
    make others while it visits them, and a collection that then begins changes the lists that it
    visits.
    """
    for generation in range(3):
        found = [each for each in gc.get_objects(generation) if fits(each)]
        if found:
            return found[-1]
    return None
