"""Finds the error that leaves a `for` loop over a generator.

Python closes the generator of a loop that a `break` or an error leaves, and does not tell the
generator which of them it was.

    def turns():
        try:
            yield ...
        except GeneratorExit:
            is_left_by_error()  # False after a break
            left_by(then)       # then(None) after a break; then(error) once the error is known
            raise

A traceback tells that an error leaves a frame at its present instruction. From Python 3.12 on, the
error refers to this traceback. Before, nothing refers to the error until it is handled or enters
the next frame, so a trace function waits for that. Around the module of a script there is no next
frame: `see_unhandled` finds its error at the end of the process.
"""

from __future__ import annotations

import dis
import gc
import inspect
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

# The instructions at which the frame of a generator waits, such as that of `tqdm`.
_YIELDS = frozenset({"YIELD_VALUE", "YIELD_FROM", "SEND", "RESUME"})

# The instructions by which a `break` or a `return` drops the iterator; they raise no errors.
_DROPS = frozenset({"POP_TOP", "POP_ITER"})

Then = Callable[[BaseException | None], object]

# End the waits for errors of frames that no other frame has called.
_outermost: list[Callable[[], None]] = []


class UnknownError(RuntimeError):
    """An error of the program that could not be seen."""


def is_left_by_error() -> bool:
    """Tells if an error leaves the loop over the calling generator."""
    frame = _loop_of(sys._getframe(1).f_back)
    return frame is not None and _leaving(frame) is not None


def left_by(then: Then) -> None:
    """Calls `then` with the error that leaves the loop over the calling generator, or None.

    This happens before the error is handled by the program, mostly at once. If a debugger traces
    the program and Python is older than 3.12, it is an `UnknownError`.
    """
    frame = _loop_of(sys._getframe(1).f_back)
    part = None if frame is None else _leaving(frame)
    if frame is None or part is None:
        then(None)
        return
    error = _newest(
        lambda each: issubclass(type(each), BaseException) and each.__traceback__ is part
    )
    if error is not None:
        then(error)
    elif sys.gettrace() is not None:
        line = f"line {frame.f_lineno} of {frame.f_code.co_filename}"
        then(UnknownError(f"The program has left the loop by an error, in {line}."))
    else:
        _await_error(frame, part, then)


def see_unhandled() -> None:
    """Tells the errors that have ended the program, which have entered no further frame.

    Called at the end of the process, in the thread that the error has left. Python keeps the error
    that it has printed. `SystemExit` alone is not printed.
    """
    for tell in list(_outermost):
        tell()


def _loop_of(frame: FrameType | None) -> FrameType | None:
    """Returns the frame of the loop: that of the generator's user, or of the user of this user."""
    while frame is not None and frame.f_code.co_flags & inspect.CO_GENERATOR:
        if _instruction(frame) not in _YIELDS:
            break
        frame = frame.f_back
    return frame


def _instruction(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def _leaving(frame: FrameType) -> TracebackType | None:
    """Returns the traceback of the error that the present instruction of a frame has raised."""
    if _instruction(frame) in _DROPS:
        return None  # soon known: the others are found among the objects of the process
    found: TracebackType | None = _newest(
        lambda each: (
            type(each) is TracebackType
            and each.tb_frame is frame
            and each.tb_lasti == frame.f_lasti
        )
    )
    return found


def _newest(fits: Callable[[Any], bool]) -> Any:
    """Returns the object that was made last of those that fit; None if none does.

    An earlier error of the same instruction may still be there: the program may keep it. The
    collector has the youngest objects in its first generation, the newest at its end.
    `gc.get_referrers` would find them too, but it can crash the process: some objects of
    TensorFlow make others while it visits them, and a collection that then begins changes the
    lists on which it is.
    """
    for generation in range(3):
        found = [each for each in gc.get_objects(generation) if fits(each)]
        if found:
            return found[-1]
    return None


def _await_error(frame: FrameType, part: TracebackType, then: Then) -> None:
    """Calls `then` when the error is handled in the frame, or has come to the next one."""
    traced: list[FrameType] = []

    def end(error: BaseException) -> None:
        sys.settrace(None)
        if end_unhandled in _outermost:
            _outermost.remove(end_unhandled)
        for each in traced:
            each.f_trace = None
        frame.f_trace_opcodes = False
        then(error.with_traceback(part))

    def look(here: FrameType, event: str, arg: Any) -> Any:
        if here is not frame:
            if event != "exception":
                return look
            end(arg[1])
            return None
        error = sys.exc_info()[1]
        if error is None or part not in _parts(error.__traceback__):
            return look
        end(error)
        return None

    def end_unhandled() -> None:
        last = getattr(sys, "last_value", None)
        is_printed = last is not None and part in _parts(last.__traceback__)
        end(last if last is not None and is_printed else SystemExit())

    if frame.f_back is None:
        _outermost.append(end_unhandled)
    each: FrameType | None = frame
    while each is not None:
        each.f_trace = look
        traced.append(each)
        each = each.f_back
    frame.f_trace_opcodes = True
    sys.settrace(lambda *_: None)


def _parts(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found
