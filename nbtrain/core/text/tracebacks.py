"""Tracebacks and stacks, reduced to the lines of the user's own program."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from nbtrain.core.errors import NbtrainError

_PACKAGE = str(Path(__file__).parents[2]) + os.sep

# Python's own waiting code, and the code that led to the program: not the user's.
_AROUND = (_PACKAGE, threading.__file__, contextlib.__file__)

# The folders of libraries and of Python's own modules.
_LIBRARIES = tuple(sysconfig.get_paths()[key] + os.sep for key in ("purelib", "platlib", "stdlib"))

# The newest calls of a stack that are shown.
_NEWEST = 8

# Patterns of what has happened in a long message: Keras writes it in bold, TensorFlow above the
# node of a graph, and AutoGraph at the end.
_MATTER = (
    re.compile(r"\x1b\[1m(.+?)\x1b\[0m", re.DOTALL),
    re.compile(r"^(.+)\n\s*\[\[\{\{node ", re.MULTILINE),
    re.compile(r"\Ain user code:\n.*\n\s+(?:\w+: )?(\w.*)", re.DOTALL),
)

# Escape codes for bold or colour in a terminal.
_CODE = re.compile(r"\x1b\[[\d;]*m")


def of_the_user(frames: TracebackType | None) -> TracebackType | None:
    """Returns the traceback from the user's first line on; all of it if no line is the user's."""
    first = frames
    while first is not None and _is_ours(first.tb_frame):
        first = first.tb_next
    return first or frames


def is_of_the_user(filename: str) -> bool:
    """Returns whether code is the user's own: from a cell or a program, not from a library."""
    return not filename.startswith((_PACKAGE, "<frozen", *_LIBRARIES))


def without_ours(frames: TracebackType | None) -> TracebackType | None:
    """Returns the traceback without the lines of nbtrain and the libraries that it calls.

    Returns all of it if there are no other lines.
    """
    kept, inside = [], False
    for part in _parts(frames):
        ours = _is_ours(part.tb_frame)
        inside = ours or (inside and not is_of_the_user(part.tb_frame.f_code.co_filename))
        if not inside:
            kept.append(part)
    found = None
    for part in reversed(kept):
        found = TracebackType(found, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return found or frames


def _is_ours(frame: FrameType) -> bool:
    """Returns whether a frame runs nbtrain's code, or code made for it by a dataclass.

    Generated code has no file, but the globals of the module that it was made for.
    """
    return str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]


def _parts(frames: TracebackType | None) -> Iterator[TracebackType]:
    while frames is not None:
        yield frames
        frames = frames.tb_next


def callers() -> list[tuple[CodeType, int]]:
    """Returns the user's code objects that run in this thread, with their current lines.

    The innermost comes first. If none is the user's, returns the outermost one.
    """
    frame: FrameType | None = sys._getframe(1)  # a list of its own frame would be a cycle
    stack = []
    while frame is not None:
        stack.append(frame)
        frame = frame.f_back
    theirs = [each for each in stack if is_of_the_user(each.f_code.co_filename)]
    return [(each.f_code, each.f_lineno) for each in theirs or stack[-1:]]


def names_of_caller() -> Mapping[str, object]:
    """Returns the globals of the module or notebook that called nbtrain, in this thread."""
    frame = _caller()
    return {} if frame is None else frame.f_globals


def bound_by_caller(value: object) -> str | None:
    """Returns a value's name in the code that called nbtrain; None unless it has exactly one."""
    frame = _caller()
    if frame is None:
        return None
    known = {**frame.f_globals, **frame.f_locals}
    names = [name for name, each in known.items() if each is value and not name.startswith("_")]
    return names[0] if len(names) == 1 else None


def _caller() -> FrameType | None:
    """Returns the frame that called nbtrain in this thread; None if nbtrain's own thread runs."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_AROUND):
        frame = frame.f_back
    return frame


def named(error: BaseException) -> str:
    """Formats an error in one line: its type, and the first part of its message."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the user's own __str__
        text = ""
    matter = next((found[1] for each in _MATTER if (found := each.search(text))), text)
    lines = _CODE.sub("", matter).strip().splitlines()
    return ": ".join([type(error).__name__, *lines[:1]])


def error_text(error: BaseException) -> str:
    """Returns an error's message, with its type unless it is nbtrain's: messages may be terse."""
    return str(error) if isinstance(error, NbtrainError) else named(error)


def formatted(error: BaseException, frames: TracebackType | None) -> str:
    """Formats an error with its traceback as Python does, without terminal codes."""
    return _CODE.sub("", "".join(traceback.format_exception(type(error), error, frames)))


def all_stacks(first: threading.Thread | None) -> str:
    """Returns the current stacks of all threads of this process, each with its name.

    Args:
        first: The thread whose stack comes first, if it runs.
    """
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    ident_of_first = first and first.ident
    frames = sorted(sys._current_frames().items(), key=lambda each: each[0] != ident_of_first)
    return "".join(
        f"Thread {names.get(ident, ident)}, newest call last:\n"
        + "".join(traceback.format_stack(frame))
        for ident, frame in frames
    )


def stack_of(thread: threading.Thread | None) -> str | None:
    """Returns the current stack of a thread, the newest call last; None if it is not running."""
    frame = sys._current_frames().get(thread.ident or 0) if thread else None
    if frame is None:
        return None
    stack = traceback.extract_stack(frame)
    calls = [call for call in stack if not call.filename.startswith(_AROUND)]
    return "".join(traceback.format_list(calls[-_NEWEST:] or stack))
