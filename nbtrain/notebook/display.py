"""Shows a run in a cell: its panel, and below it a picture for the saved notebook.

The panel stays live after the end of its run, as long as the kernel lives and the cell is not
executed again. This is the only module that knows both runs and panels.
"""

from __future__ import annotations

import html
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython.display import display

from nbtrain.core.errors import BusyError, CheckpointError, NbtrainError
from nbtrain.core.states import Phase
from nbtrain.core.text.tracebacks import without_ours
from nbtrain.media.drawing import DRAWING
from nbtrain.notebook import bundles, clearing, still
from nbtrain.notebook.ended_run import EndedRun
from nbtrain.notebook.execution import (
    Place,
    at_end,
    cell,
    is_awaited,
    is_shown_elsewhere,
    note_named,
    note_shown,
    show_at_end,
)
from nbtrain.notebook.kernel import runs
from nbtrain.panel import figure
from nbtrain.panel.comm import harden
from nbtrain.panel.live.panel import Panel
from nbtrain.remote.attached import AttachedRun, is_known

if TYPE_CHECKING:
    from nbtrain.run.run import Run

# A run of this kernel, or one of another process.
AnyRun: TypeAlias = "Run | AttachedRun"

# The same on every execution, so that a notebook can be compared with its saved outputs.
TEXT = "nbtrain run"
EARLIER = "nbtrain run: shown in an earlier cell"

# Seconds for the curves of earlier starts, which may be long.
_RECORDS_SECS = 10.0

# The panels of the newest ended runs stay live, and keep their curves. Older ones keep only their
# picture. A panel whose cell was executed again is dropped.
_KEPT = 32


class Display:
    """The panel of one run and its outputs; the panel stays live after the end of the run."""

    def __init__(self, run: AnyRun) -> None:
        self._run = shown = _without_model(run)
        self.panel = Panel(shown)
        self.panel.unasked = not isinstance(run, AttachedRun) and run.in_foreground
        harden(self.panel)
        self._still = still.Still(self.panel, TEXT, _again(run), self._picture, self._state)
        self._has_cell = False  # whether its client names cells
        self._closing = threading.RLock()  # keeps the run's end from interfering with showing it
        self._closed = False
        self._forget = _nothing if isinstance(shown, EndedRun) else shown.on_tick(self._tick)

    @property
    def has_ended(self) -> bool:
        """True if the run has ended: only its panel is left."""
        return self._run.status.phase.ended

    def is_of(self, run: AnyRun) -> bool:
        """Returns whether this display belongs to `run` and can be shown again."""
        shown = self._run
        return (shown.run if isinstance(shown, EndedRun) else shown) is run and not self._closed

    def is_forgotten(self) -> bool:
        """Returns whether its cell was executed again, or the run is no longer followed."""
        run = self._run
        if isinstance(run, AttachedRun) and not (run.status.phase.ended or is_known(run)):
            return True
        return self.has_ended and self._still.is_cleared()

    def show(self) -> None:
        """Shows the panel, and a picture below it, in the calling cell."""
        with self._closing:
            if not self._closed:
                self._has_cell |= cell() is not None
                self._still.show(None if self.has_ended else bundles.bundle(None, TEXT))

    def show_again(self, where: Place) -> None:
        """Shows the panel again if the training thread has cleared it."""
        run = self._run
        if isinstance(run, AttachedRun | EndedRun) or not run.trains_here():
            return
        if self._still.forget(where):
            run.attempt.context.monitor.guarded("display", self.show)

    def resume(self, run: AnyRun) -> None:
        """Follows the run again if it has started again, or shows how a later start has ended."""
        with self._closing:
            if self._run is run:
                return
            if run.status.phase.ended:
                self.panel.tick()
            else:
                self._run = self.panel.source = run
                self._forget = run.on_tick(self._tick)

    def end(self) -> None:
        """Sends the last status to the pages, and draws the last picture.

        The panel stays, unless there is no page: then only the picture is left.
        """
        with self._closing:
            if self._closed:
                return
            self._forget()
            try:
                self.panel.tick()
            finally:
                if not (self._has_cell or self.panel.opened):
                    self.close()
                else:
                    self._still.settle()
                    self._run = self.panel.source = _without_model(self._run)

    def close(self) -> None:
        """Replaces the panel with its last picture."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._forget()
            try:
                self._still.finish()
            finally:
                self.panel.close()
                for key in [key for key, shown in _displays.items() if shown is self]:
                    del _displays[key]

    def redraw(self) -> None:
        """Redraws the picture below the panel; see `redraw` below."""
        run = self._run
        if isinstance(run, EndedRun) or run.status.phase is Phase.CREATED:
            return  # there is nothing new to show
        note = run.handle.note
        note("picture", None)  # first, because the picture contains the message
        try:
            self._still.redraw()
        except Exception as error:  # noqa: BLE001 - noted by its run: another cell may be ending
            note("picture", still.lack(error))

    def _tick(self) -> None:
        """Handles the run's tick; the last tick comes after its end."""
        if isinstance(self._run, EndedRun):
            return
        if self._run.is_over:
            self.end()
        else:
            self.panel.tick()
            self._still.draw_if_due()

    def _picture(self) -> bundles.Bundle:
        """Returns the picture, without the traceback if the cell of the loop shows it anyway."""
        picture = picture_of(self._run)
        if self.panel.unasked:
            picture.pop("text/html", None)
        return picture

    def _state(self) -> tuple[object, ...]:
        """Returns the state that a picture shows; a new phase or a first curve is drawn sooner."""
        status = self._run.status
        marks = self._run.marks.since()[1]
        return (status.phase, bool(status.values)), status.step, marks, status.message


def _without_model(run: AnyRun | EndedRun) -> AnyRun | EndedRun:
    """Returns what the panel of a run refers to: an ended run must not keep its model."""
    if isinstance(run, AttachedRun | EndedRun) or not run.status.phase.ended:
        return run
    return EndedRun(run)


def _nothing() -> None:
    """Does nothing."""


_displays: dict[object, Display] = {}


def _key(run: AnyRun) -> object:
    """Returns the key of a run: its name, or an id for a run of another process.

    A run of another process may have the same name as one of this kernel.
    """
    return id(run) if isinstance(run, AttachedRun) else run.name


def display_of(run: AnyRun) -> Display:
    """Returns the display of a run, and creates it on first use."""
    key = _key(run)
    shown = _displays.get(key)
    if shown is not None and shown.is_of(run):
        shown.resume(run)
        return shown
    others = list(_displays.values())  # the end of a run may close one of them meanwhile
    old = [other for other in others if other is shown or other.is_forgotten()]
    ended = [other for other in others if other.has_ended and other not in old]
    for other in [*old, *ended[: 1 - _KEPT]]:
        other.close()
    shown = _displays[key] = Display(run)
    return shown


def redraw() -> None:
    """Redraws the pictures of all shown runs at the end of a cell.

    A client without pages, such as nbclient, ignores outputs once its last cell has ended.
    """
    for shown in list(_displays.values()):
        shown.redraw()


at_end.append(redraw)


def _show_again(where: Place) -> None:
    """Shows the panels again that a training thread has cleared."""
    for shown in list(_displays.values()):
        shown.show_again(where)


clearing.listeners.append(_show_again)


def show(run: AnyRun) -> None:
    """Shows a run in the calling cell: its panel, also once it has ended.

    A client without pages gets the picture of an ended run. A cell that has waited for a run that
    an earlier cell shows gets one line.
    """
    ended = run.status.phase.ended
    if ended and is_awaited(run) and is_shown_elsewhere(run):
        note_named(run)
        display({"text/plain": EARLIER}, raw=True)
    elif ended and cell() is None and not _is_live(run):
        note_shown(run)
        _await_records(run)
        _show_picture(run)
    else:
        show_panel(run)


def _is_live(run: AnyRun) -> bool:
    """Returns whether a page shows the panel of a run."""
    shown = _displays.get(_key(run))
    return shown is not None and shown.is_of(run) and shown.panel.opened


def _show_picture(run: AnyRun) -> None:
    picture = picture_of(run)
    traceback = picture.pop("text/html", None)
    display(picture, raw=True)
    if traceback is not None:
        display({"text/html": traceback, "text/plain": ""}, raw=True)


def show_panel(run: AnyRun) -> None:
    """Shows the panel, also in a client that may have no pages."""
    note_shown(run)
    ended = run.status.phase.ended
    if ended:
        _await_records(run)
    shown = display_of(run)
    shown.show()
    if not ended and run.status.phase.ended:  # it has ended meanwhile, perhaps after its last tick
        _await_records(run)
        shown.end()


def _await_records(run: AnyRun) -> None:
    """Waits until an ended run has all its curves: its monitor may still read earlier ones.

    The caller must not hold a lock that the monitor needs.
    """
    if not isinstance(run, AttachedRun):
        run.attempt.monitor_threads.wait_for_records(_RECORDS_SECS)


def traceback_of(error: NbtrainError) -> list[str]:
    """Returns IPython's traceback of an nbtrain error: the user's own lines and the message.

    If the error is about a live run that no other cell shows, the run is shown below the error.
    """
    from IPython import get_ipython

    show_below(error)
    shell: Any = get_ipython()
    frames = without_ours(error.__traceback__)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, frames)
    return lines


def show_below(error: NbtrainError) -> None:
    """Shows the run that an error is about, below the error in the calling cell.

    Executing a start cell again clears the only view of its run. In any other cell the error is
    enough.
    """
    run = runs().get(error.run or "") if isinstance(error, BusyError) else None
    if run is not None and not is_shown_elsewhere(run):
        show_at_end(run)


def picture_of(run: AnyRun | EndedRun) -> bundles.Bundle:
    """Returns a run's picture for the saved notebook; a failed run has its traceback as HTML."""
    status, curves, marks = run.status, run.scalars.curves(), list(run.marks)
    last = state_of(run, time.strftime("%Y-%m-%d %H:%M:%S"))
    with DRAWING:
        png = figure.png(status, curves, marks, last)
    picture = bundles.bundle(png, TEXT)
    if status.error:
        picture["text/html"] = f"<pre>{html.escape(status.error)}</pre>"
    return picture


def state_of(run: AnyRun | EndedRun, when: str) -> str:
    """Returns the last line of a picture: its time, and what to type to continue the run.

    Only the picture has this line, because the HTML below a live panel must not change later. If a
    run failed before its first step or on a checkpoint, its cells would fail again.
    """
    status = run.status
    failed_on = (status.failure or "").partition(":")[0]
    is_new = status.phase is Phase.FAILED and not status.step
    if status.phase is Phase.FINISHED or is_new or failed_on.endswith(CheckpointError.__name__):
        return f"As of {when}."
    if isinstance(run, AttachedRun):
        logdir = os.path.relpath(run.logdir)
        if status.phase.ended:
            return f"As of {when}. To continue the run, start it again with logdir={logdir!r}."
        return f"As of {when}. To see the run again: nbtrain.attach({logdir!r})."
    folder = Path(os.path.relpath(run.logdir))
    given = f"name={folder.name!r}" if folder.parent == Path("runs") else f"logdir={str(folder)!r}"
    return f"As of {when}. To continue the run, run its cells again with {given}."


def _again(run: AnyRun) -> str:
    """Returns HTML with the code that shows the recorded data; the same on every execution.

    The HTML also appears below the picture of a run that has recorded no metrics.
    """
    code = f"nbtrain.scalars({os.path.relpath(run.logdir)!r})"
    return f"To see the recorded data: <code>{html.escape(code)}</code>"
