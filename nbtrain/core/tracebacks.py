"""Tracebacks and stacks, cut to the lines of the user's own program."""

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
from types import FrameType, TracebackType

from nbtrain.core.errors import NbtrainError

_PACKAGE = str(Path(__file__).parent.parent) + os.sep

# Where Python itself waits, and what led to the program: no line of the user's.
_AROUND = (_PACKAGE, threading.__file__, contextlib.__file__)

# Where libraries are, and Python's own modules.
_LIBRARIES = tuple(sysconfig.get_paths()[key] + os.sep for key in ("purelib", "platlib", "stdlib"))

# Calls of a stack that are shown: the newest say where it stands.
_NEWEST = 8

# Where a message of many lines says what has happened: Keras writes it in bold, TensorFlow above
# the node of a graph, and AutoGraph at the end.
_MATTER = (
    re.compile(r"\x1b\[1m(.+?)\x1b\[0m", re.DOTALL),
    re.compile(r"^(.+)\n\s*\[\[\{\{node ", re.MULTILINE),
    re.compile(r"\Ain user code:\n.*\n\s+(?:\w+: )?(\w.*)", re.DOTALL),
)

# What a terminal shows as bold or coloured, and nothing else does.
_CODE = re.compile(r"\x1b\[[\d;]*m")


def of_the_user(frames: TracebackType | None) -> TracebackType | None:
    """The traceback from the user's first line on; whole where no line is the user's."""
    first = frames
    while first is not None and _is_ours(first.tb_frame):
        first = first.tb_next
    return first or frames


def is_of_the_user(filename: str) -> bool:
    """Whether code is the user's own: of a cell or a program, and of no library."""
    return not filename.startswith((_PACKAGE, "<frozen", *_LIBRARIES))


def without_ours(frames: TracebackType | None) -> TracebackType | None:
    """The traceback without the lines of nbtrain itself, and of the libraries that these call.

    Whole where there are no others.
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
    """Whether it runs code of nbtrain, or what Python has made for that: a dataclass's `__init__`.

    Such code has no file, and the names of the module that it was made for.
    """
    return str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]


def _parts(frames: TracebackType | None) -> Iterator[TracebackType]:
    while frames is not None:
        yield frames
        frames = frames.tb_next


def names_of_caller() -> Mapping[str, object]:
    """The names of the module or notebook whose line has called nbtrain, in this thread."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_AROUND):
        frame = frame.f_back
    return {} if frame is None else frame.f_globals


def named(error: BaseException) -> str:
    """An error in one line: its type, and what its words say first, if it can say them."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the user's own __str__
        text = ""
    matter = next((found[1] for each in _MATTER if (found := each.search(text))), text)
    lines = _CODE.sub("", matter).strip().splitlines()
    return ": ".join([type(error).__name__, *lines[:1]])


def told(error: BaseException) -> str:
    """What an error says; one that is not nbtrain's with its type: its words may be few."""
    return str(error) if isinstance(error, NbtrainError) else named(error)


def formatted(error: BaseException, frames: TracebackType | None) -> str:
    """An error with its traceback, as Python prints it; without codes for a terminal."""
    return _CODE.sub("", "".join(traceback.format_exception(type(error), error, frames)))


def stack_of(thread: threading.Thread | None) -> str | None:
    """Where a thread stands at this moment, the newest call last; None if it does not run."""
    frame = sys._current_frames().get(thread.ident or 0) if thread else None
    if frame is None:
        return None
    stack = traceback.extract_stack(frame)
    calls = [call for call in stack if not call.filename.startswith(_AROUND)]
    return "".join(traceback.format_list(calls[-_NEWEST:] or stack))
