"""The current standard streams, whose texts are recorded before they are written.

streams = Streams(written)  # written(stream, write, text) is called for each text
streams.watch_current()     # watches the current sys.stdout and sys.stderr, and no others
streams.clear()             # restores them

Others replace the `write` of a stream too. IPython does so during each cell, and then restores the
`write` that it found at the beginning of the cell, which may be older than the run. So the `write`
of a class of streams becomes a data descriptor, which comes before an attribute of the stream. A
stream of a class that is written in C gets an attribute, again at the next `watch_current` if it
was replaced.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

Write = Callable[[str], int]
Written = Callable[[Any, Write, str], int]

_here = threading.local()  # stream: the stream to which the thread writes


class Streams:
    """Watches the standard streams; one thread at a time.

    Args:
        written: Called with a stream, its own `write`, and a text.
    """

    def __init__(self, written: Written) -> None:
        self._written = written
        self._watched: list[Any] = []
        self._fronts: dict[type, _Front] = {}

    def watch_current(self) -> None:
        """Watches the current streams: `%%capture` and others replace them for a while."""
        before = self._watched
        self._watched = [each for each in (sys.stdout, sys.stderr) if hasattr(each, "__dict__")]
        for stream in before:
            if not self._watches(stream):
                _release(stream)
        for stream in self._watched:
            if type(stream) not in self._fronts and not self._replace_write(type(stream)):
                write = stream.write
                if not isinstance(write, _LoggedWrite):
                    stream.write = _LoggedWrite(stream, write, self._written)

    def clear(self) -> None:
        """Stops watching all streams."""
        watched, self._watched = self._watched, []
        while self._fronts:
            self._fronts.popitem()[1].remove()
        for stream in watched:
            _release(stream)

    def _watches(self, stream: Any) -> bool:
        return any(stream is each for each in self._watched)

    def _replace_write(self, kind: Any) -> bool:
        """Replaces the `write` of a class; returns whether that is possible."""
        if _write_of(kind) is None:  # its streams pass on what others have, by `__getattr__`
            return False
        front = _Front(kind, self._logging_write)
        try:
            kind.write = front
        except TypeError:  # it is written in C
            return False
        self._fronts[kind] = front
        return True

    def _logging_write(self, stream: Any, write: Write) -> Write:
        return _LoggedWrite(stream, write, self._written) if self._watches(stream) else write


class _LoggedWrite:
    """The `write` of a stream, whose texts are recorded first.

    Attributes:
        write: The stream's own `write`. It may call another `_LoggedWrite` of the stream.
    """

    def __init__(self, stream: Any, write: Write, written: Written) -> None:
        self._stream, self.write, self._written = stream, write, written

    def __call__(self, text: str) -> int:
        before = getattr(_here, "stream", None)
        if before is self._stream:
            return self.write(text)
        _here.stream = self._stream
        try:
            return self._written(self._stream, self.write, text)
        finally:
            _here.stream = before


class _Front:
    """The `write` of a class of streams, which has priority over an attribute of a stream."""

    def __init__(self, kind: Any, taken: Callable[[Any, Write], Write]) -> None:
        self._kind, self._taken = kind, taken
        self.before = _write_of(kind)
        self._is_own = "write" in vars(kind)

    def __get__(self, stream: Any, kind: type | None = None) -> Any:
        bind = getattr(type(self.before), "__get__", None)
        before = self.before if bind is None else bind(self.before, stream, kind)
        if stream is None or self._is_super(type(stream)):
            return before
        return self._taken(stream, _unwrapped(vars(stream).get("write") or before))

    def _is_super(self, kind: type) -> bool:
        """Returns whether a stream of this class calls this `write` by `super().write`."""
        return kind is not self._kind and _found(kind) is not self

    def __set__(self, stream: Any, write: Write) -> None:
        vars(stream)["write"] = _unwrapped(write)

    def __delete__(self, stream: Any) -> None:
        if vars(stream).pop("write", None) is None:
            raise AttributeError("write")

    def remove(self) -> None:
        """Restores the class's own `write`, unless others have replaced it."""
        if vars(self._kind).get("write") is not self:
            return
        if self._is_own:
            self._kind.write = self.before
        else:
            del self._kind.write


def _found(kind: type) -> Any:
    """The `write` of a class, not bound to it; None if it has none."""
    entries = (vars(each).get("write") for each in kind.__mro__)
    return next((each for each in entries if each is not None), None)


def _write_of(kind: type) -> Any:
    """The class's own `write`."""
    found = _found(kind)
    return found.before if isinstance(found, _Front) else found


def _unwrapped(write: Write) -> Write:
    return write.write if isinstance(write, _LoggedWrite) else write


def _release(stream: Any) -> None:
    """Restores the `write` attribute of a stream."""
    write = vars(stream).get("write")
    if isinstance(write, _LoggedWrite):
        del stream.write
        if stream.write != write.write:  # it had an attribute
            stream.write = write.write
