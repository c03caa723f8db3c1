"""Shows a logdir in a cell: a board, and the thread that reads for it.

The board shows at once what can be read quickly; a thread reads the rest. With `follow` the thread
continues to read, twice a second while a page is visible, until the board is closed. The picture
below the board is redrawn as data arrives.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.scalars import Scalars
from nbtrain.media.drawing import DRAWING
from nbtrain.notebook import bundles, still
from nbtrain.panel.board.board import Board
from nbtrain.panel.comm import harden
from nbtrain.steer import surroundings

POLL_SECS = 0.5
# The longest time that a cell waits before it shows a large logdir.
FIRST_SECS = 0.5
# A page that has requested nothing for this time has all its data. The picture is drawn after that:
# drawing takes as long as the answers for a large logdir, and both need the interpreter.
QUIET_SECS = 0.5
# The longest time that a cell waits for an open page, and the least number of runs for a wait.
ANSWER_SECS = 2.0
MANY = 300
# Time between two updates of the board while it is being read.
SLICE_SECS = 0.25
# The newest boards stay live, and keep the data that they read. Older ones keep only their picture.
# A board whose cell was executed again is dropped.
_KEPT = 32
_DRAWN = ("scalars", "compare")  # the tabs whose picture is kept in a saved notebook
_AGAIN = "To see the live board, run the cell again."

_boards: deque[Following] = deque()
# Running a cell again reuses its reader, so a million events are not read twice.
_readers: WeakValueDictionary[str, Reader] = WeakValueDictionary()


class _Poll(threading.Thread):
    """Calls a function every `POLL_SECS` until it returns False, or the process ends.

    A `LooperThread` would load TensorFlow only to show event files. The output of the function
    appears below the cell that starts the thread.
    """

    def __init__(self, look: Callable[[], bool]) -> None:
        run = surroundings.current.context().run
        super().__init__(target=run, args=(self._loop,), name="nbtrain board", daemon=True)
        self._look = look
        self._stopping = threading.Event()

    def request_stop(self) -> None:
        """Asks the thread to end after the current call; any thread."""
        self._stopping.set()

    def _loop(self) -> None:
        while self._look() and not self._stopping.wait(POLL_SECS):
            pass


class Following:
    """Reads for one board, in a thread that exists only while there is something to read.

    Args:
        unread: Whether more can be read now.
        follow: Whether the board follows files that are being written.
        text: The text shown where widgets are unavailable.
    """

    def __init__(
        self,
        scalars: Scalars,
        *,
        unread: bool = False,
        follow: bool = False,
        text: str = "",
        **options: Any,
    ) -> None:
        self.board = Board(scalars, on_look=self.start, follow=follow, **options)
        self.board.reading = unread
        picture = functools.partial(_picture, scalars, text, **options)
        state = functools.partial(_state, scalars, options.get("tab", "scalars"))
        self.still = still.Still(self.board, text, _AGAIN, picture, state)
        self._reader = scalars.reader
        self._unread = unread
        self._notified = self._reader.version  # the version of which the pages know
        self._lock = threading.Lock()  # protects the thread and whether it is needed
        self._thread: _Poll | None = None

    def start(self) -> None:
        """Starts the thread if there is something to read. Any thread may call it."""
        with self._lock:
            if self._thread is None and self._needed():
                thread = _Poll(self._tick)
                try:
                    thread.start()
                except RuntimeError as error:  # no thread available; the next call may succeed
                    self.board.note(f"Reading has not begun: {error}")
                else:
                    self._thread = thread

    def let_pages_ask(self) -> None:
        """Waits until an open page has the curves of a large logdir; at most `ANSWER_SECS`."""
        end = time.monotonic() + ANSWER_SECS
        if len(self._reader.runs) >= MANY:
            while self.board.quiet_secs < QUIET_SECS and time.monotonic() < end:
                time.sleep(0.02)

    def close(self) -> None:
        """Replaces the board with its picture and frees the data."""
        try:
            self.still.finish()
        finally:
            self.board.close()

    def _needed(self) -> bool:
        return (self._unread or self.board.follow) and not self.board.closed

    def _tick(self) -> bool:
        """Reads new data, and returns whether the thread must continue."""
        try:
            if self._needed():
                self._read()
        except OSError as error:  # a file may just have been deleted; the next tick may succeed
            self.board.note(str(error))
        except Exception as error:  # noqa: BLE001 - shown: there is no cell to raise it in
            self.board.note(f"Reading has ended: {type(error).__name__}: {error}")
            self.board.follow = self._unread = False
        waits = self.board.watched and self.board.quiet_secs < QUIET_SECS
        try:
            if self._needed():
                self.still.draw_if_due()
            elif not waits:
                self.still.redraw()
        except Exception as error:  # noqa: BLE001 - shown: there is no cell to raise it in
            self.board.note(still.lack(error))
        with self._lock:
            needed = self._needed() or (waits and not self.board.closed)
            if not needed:
                self._thread = None
        return needed

    def _read(self) -> None:
        unread, self._unread = self._unread, False
        if not unread and self.board.watched:
            self._reader.scan()
        elif not unread:
            return
        before = self._notified
        while self._reader.read(SLICE_SECS) and not self.board.closed:
            self.board.notify(reading=True)
        self._notified = self._reader.version  # the reader may be shared with another board or user
        if unread or self._notified != before:
            self.board.notify()


def opened(logdir: str, runs: str | None = None, tags: str | None = None) -> tuple[Scalars, bool]:
    """Reads the scalars of a logdir for a short time.

    Returns:
        The scalars, and whether there is more to read.

    Raises:
        ArgumentError: The folder cannot be read, or a pattern is not a regular expression.
    """
    place = logdir if "://" in logdir else os.path.realpath(logdir)
    reader = _readers.get(place)
    if reader is None or reader.has_lost_files():
        reader = Reader(logdir)
    scalars = Scalars(reader, runs, tags)
    _readers[place] = reader
    reader.scan()
    until = time.monotonic() + FIRST_SECS
    reader.read(FIRST_SECS)
    # A half-written last record is no reason to continue reading.
    return scalars, reader.progress() < 1 and time.monotonic() >= until


def show(
    scalars: Scalars,
    *,
    unread: bool = False,
    tab: str = "scalars",
    x: str = "step",
    smooth: float = 0.0,
    follow: bool = False,
    text: str | None = None,
) -> None:
    """Shows a board in the calling cell.

    Args:
        text: The text shown where widgets are unavailable; None for a summary of the scalars.
    """
    if not 0 <= smooth < 1:
        raise ArgumentError(f"smooth={smooth!r} is not a weight: give 0 or more, below 1.")
    text = repr(scalars) if text is None else text
    options: dict[str, Any] = {"tab": tab, "x": x, "smooth": smooth}
    following = Following(scalars, unread=unread, follow=follow, text=text, **options)
    harden(following.board)
    for other in [other for other in _boards if other.still.is_cleared()]:
        _boards.remove(other)
        other.close()
    _boards.append(following)
    while len(_boards) > _KEPT:
        _boards.popleft().close()
    first = bundles.bundle(None, text) if unread else None
    following.still.show(first, before=following.let_pages_ask)
    following.start()


def _state(scalars: Scalars, tab: str) -> tuple[object, ...]:
    """Returns the state that a picture shows: whether there is something to draw, the version."""
    if tab not in _DRAWN:
        return ()
    return any(True for _ in scalars), scalars.reader.version


def _picture(
    scalars: Scalars, text: str, *, tab: str = "scalars", x: str = "step", smooth: float = 0.0
) -> bundles.Bundle:
    """Returns the board for a saved notebook: a picture of its curves, or its text."""
    if tab not in _DRAWN:
        return {"text/plain": text}
    # Loaded with the first picture: a board is shown before its picture is drawn.
    from nbtrain.panel.board import picture

    with DRAWING:
        png = picture.png(scalars, x=x, smooth=smooth)
    return bundles.bundle(png, text) if png is not None else {"text/plain": text}
