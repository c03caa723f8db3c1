"""Passes printed text, logged records and warnings to the logs of the live runs.

While a run listens, these are watched: the `write` of sys.stdout and sys.stderr, the handlers of
Python's `logging`, and `warnings.showwarning`. All of them work as before, and a line that one of
them prints is recorded once. After the last run they are restored.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from nbtrain.run.output.streams import Streams


class Sink(Protocol):
    """The log of one run. It never raises an error."""

    def is_own(self) -> bool:
        """Returns whether the calling thread is one of the run's."""

    def prints(self, stream: Any, text: str) -> bool:
        """Records a printed text of the calling thread; returns whether the stream shows it."""

    def hides(self, stream: Any) -> bool:
        """Returns whether the stream shows no text of the run, because the log has it."""

    def record(self, record: logging.LogRecord) -> None:
        """Records a record of `logging`."""

    def warning(self, text: str) -> None:
        """Records a warning."""

    def native(self, text: str) -> None:
        """Records text that the process wrote to its output outside of Python."""


_sinks: list[Sink] = []
_lock = threading.Lock()  # protects the hooks
_here = threading.local()  # inside: whether the thread calls handlers, whose prints are known
_call_handlers = logging.Logger.callHandlers
_show_warning: Callable[..., None] = warnings.showwarning


def listen(sink: Sink) -> None:
    """Passes to a sink what its threads print, log and warn of."""
    with _lock:
        _sinks.append(sink)
        logging.Logger.callHandlers = _handled  # type: ignore[method-assign, assignment]
        _hook_warnings()
    watch_current()


def forget(sink: Sink) -> None:
    """Stops passing lines to a sink."""
    with _lock:
        if sink in _sinks:
            _sinks.remove(sink)
        if _sinks:
            return
        if logging.Logger.callHandlers is _handled:
            logging.Logger.callHandlers = _call_handlers  # type: ignore[method-assign]
        if warnings.showwarning is _shown:
            warnings.showwarning = _show_warning
        _streams.clear()


def watch_current() -> None:
    """Watches the current `sys.stdout` and `sys.stderr`."""
    with _lock:
        if _sinks:
            _streams.watch_current()


def _hook_warnings() -> None:
    global _show_warning
    if warnings.showwarning is not _shown:
        _show_warning = warnings.showwarning
        warnings.showwarning = _shown


def _own() -> list[Sink]:
    """The sinks to which the calling thread belongs."""
    return [sink for sink in _sinks if sink.is_own()]


def _written(stream: Any, write: Callable[[str], int], text: str) -> int:
    """Records a text, then writes it to a stream."""
    if not isinstance(text, str):
        return write(text)  # raises
    inside, shown = getattr(_here, "inside", False), True
    for sink in _own():
        shows = not sink.hides(stream) if inside else sink.prints(stream, text)
        shown = shown and shows
    if _is_native(stream):
        for sink in list(_sinks):
            sink.native(text)
    return write(text) if shown else len(text)


def _is_native(stream: Any) -> bool:
    """Returns whether the calling thread passes on what was printed outside of Python.

    ipykernel reads the file descriptors of the process in a thread of the stream. In IPython,
    `tf.print` writes to sys.stdout from a thread of TensorFlow's, which Python does not know.
    """
    thread = threading.current_thread()
    known = getattr(stream, "watch_fd_thread", None)
    return thread is known or isinstance(thread, threading._DummyThread)


_streams = Streams(_written)


def _handled(logger: logging.Logger, record: logging.LogRecord) -> None:
    """Passes a record to the sinks, then calls the handlers of its logger."""
    sinks = _own()
    if not sinks:
        return _call_handlers(logger, record)
    for sink in sinks:
        sink.record(record)
    before, _here.inside = getattr(_here, "inside", False), True
    try:
        return _call_handlers(logger, record)
    finally:
        _here.inside = before


def _shown(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Passes a warning to the sinks, then shows it."""
    sinks = _own()
    for sink in sinks:
        place = f"{os.path.basename(filename)}:{lineno}"  # noqa: PTH119 - it may be "<string>"
        sink.warning(f"{category.__name__}: {message} ({place})")
    before, _here.inside = getattr(_here, "inside", False), bool(sinks)
    try:
        _show_warning(message, category, filename, lineno, file, line)
    finally:
        _here.inside = before


def _forget() -> None:
    """Clears the state in a forked process, which has no thread of a run.

    A thread of the parent may have held the lock, and cannot release it there.
    """
    global _lock
    _sinks.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
