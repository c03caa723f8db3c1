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
    return frame is not None and bool(_leaving(frame))


def left_by(then: Then) -> None:
    """Calls `then` with the error that leaves the loop over the calling generator, or None.

    This happens before the error is handled by the program, mostly at once. If a debugger traces
    the program and Python is older than 3.12, it is an `UnknownError`.
    """
    frame = _loop_of(sys._getframe(1).f_back)
    parts = [] if frame is None else _leaving(frame)
    if frame is None or not parts:
        then(None)
        return
    found = [each for each in gc.get_referrers(*parts) if isinstance(each, BaseException)]
    if found:
        then(found[-1])
    elif sys.gettrace() is not None:
        line = f"line {frame.f_lineno} of {frame.f_code.co_filename}"
        then(UnknownError(f"The program has left the loop by an error, in {line}."))
    else:
        _await_error(frame, parts[-1], then)


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


def _leaving(frame: FrameType) -> list[TracebackType]:
    """Returns the tracebacks of errors that the present instruction of a frame has raised."""
    if _instruction(frame) in _DROPS:
        return []  # soon known: the others are found among all objects of the process
    return [
        each
        for each in gc.get_referrers(frame)
        if isinstance(each, TracebackType)
        and each.tb_frame is frame
        and each.tb_lasti == frame.f_lasti
    ]


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
        if here is frame:
            error = sys.exc_info()[1]
            if error is not None and part in _parts(error.__traceback__):
                end(error)
        elif event == "exception":
            end(arg[1])
        return look

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
