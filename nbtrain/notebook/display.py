"""Shows a run in a cell: its panel while it is live, its picture afterwards.

This is the only module that knows both runs and panels.
"""

from __future__ import annotations

import html
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtrain.core.errors import BusyError, CheckpointError, NbtrainError
from nbtrain.core.states import Phase
from nbtrain.core.text.tracebacks import without_ours
from nbtrain.media.drawing import DRAWING
from nbtrain.notebook import bundles, clearing, still
from nbtrain.notebook.execution import Place, at_end, cell, note_shown, show_at_end
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

# Seconds for the curves of earlier starts, which may be long.
_RECORDS_SECS = 10.0


class Display:
    """The panel of one run and its outputs; closed when the run ends."""

    def __init__(self, run: AnyRun) -> None:
        self.panel = Panel(run)
        self.panel.unasked = not isinstance(run, AttachedRun) and run.in_foreground
        harden(self.panel)
        self._run = run
        self._still = still.Still(self.panel, TEXT, _again(run), self._picture, self._state)
        self._cells: set[str | None] = set()  # the cells that have shown the panel
        self._closing = threading.RLock()  # keeps the run's end from interfering with showing it
        self._closed = False
        self._forget = run.on_tick(self._tick)

    def is_of(self, run: AnyRun) -> bool:
        """Returns whether this display belongs to `run` and can be shown again."""
        return self._run is run and not self._closed

    def forgotten(self) -> bool:
        """Returns whether the run has ended and cannot be found, or is no longer followed."""
        if isinstance(self._run, AttachedRun):
            return not is_known(self._run)
        return self._run.status.phase.ended and runs().get(self._run.name) is not self._run

    def is_elsewhere(self) -> bool:
        """Returns whether other cells have shown the panel, but not the calling one."""
        return bool(self._cells) and cell() not in (None, *self._cells)

    def show(self) -> None:
        """Shows the panel, and a picture below it, in the calling cell."""
        with self._closing:
            if not self._closed:
                ended = self._run.status.phase.ended
                self._still.show(picture_of(self._run) if ended else bundles.bundle(None, TEXT))
                self._cells.add(cell())
                return
        show(self._run)

    def show_again(self, where: Place) -> None:
        """Shows the panel again if the training thread has cleared it."""
        run = self._run
        if isinstance(run, AttachedRun) or not run.trains_here():
            return
        if self._still.forget(where):
            run.attempt.context.monitor.guarded("display", self.show)

    def close(self) -> None:
        """Sends the last status to the pages, and replaces the panel with the last picture."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._forget()
            try:
                self.panel.tick()
                self._still.finish()
            finally:
                self.panel.close()
                if _displays.get(_key(self._run)) is self:
                    del _displays[_key(self._run)]

    def redraw(self) -> None:
        """Redraws the picture below the panel; see `redraw` below."""
        if self._run.status.phase is Phase.CREATED:
            return  # there is nothing new to show
        note = self._run.handle.note
        note("picture", None)  # first, because the picture contains the message
        try:
            self._still.redraw()
        except Exception as error:  # noqa: BLE001 - noted by its run: another cell may be ending
            note("picture", still.lack(error))

    def _tick(self) -> None:
        """Handles the run's tick; the last tick comes after its end."""
        if self._run.is_over:
            self.close()
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
    if shown is None or not shown.is_of(run):
        for other_key, other in list(_displays.items()):
            if other_key == key or other.forgotten():
                other.close()  # otherwise it would keep its run, and so a model, in memory
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
    """Shows a run in the calling cell: the live panel, or its picture once it has ended."""
    from IPython.display import display

    note_shown(run)
    if run.status.phase.ended:
        _await_records(run)
        picture = picture_of(run)
        traceback = picture.pop("text/html", None)
        display(picture, raw=True)
        if traceback is not None:
            display({"text/html": traceback, "text/plain": ""}, raw=True)
        return
    shown = display_of(run)
    shown.show()
    if run.status.phase.ended:  # it ended meanwhile, perhaps after its last tick
        _await_records(run)
        shown.close()


def _await_records(run: AnyRun) -> None:
    """Waits until an ended run has all its curves: its monitor may still read earlier ones.

    The caller must not hold a lock that the monitor needs.
    """
    if not isinstance(run, AttachedRun):
        run.attempt.monitor_threads.wait_for_records(_RECORDS_SECS)


def show_panel(run: AnyRun) -> None:
    """Shows the panel even if the run has ended, so that its chart can be explored."""
    note_shown(run)
    display_of(run).show()


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
    if run is not None and not display_of(run).is_elsewhere():
        show_at_end(run)


def picture_of(run: AnyRun) -> bundles.Bundle:
    """Returns a run's picture for the saved notebook; a failed run has its traceback as HTML."""
    status, curves, marks = run.status, run.scalars.curves(), list(run.marks)
    last = state_of(run, time.strftime("%Y-%m-%d %H:%M:%S"))
    with DRAWING:
        png = figure.png(status, curves, marks, last)
    picture = bundles.bundle(png, TEXT)
    if status.error:
        picture["text/html"] = f"<pre>{html.escape(status.error)}</pre>"
    return picture


def state_of(run: AnyRun, when: str) -> str:
    """Returns the last line of a picture: its time, and what to type to continue the run.

    Only the picture has this line, because the HTML below a live panel must not change later. If a
    run failed on a checkpoint, its cells would fail again; the error says what to do.
    """
    status = run.status
    failed_on = (status.failure or "").partition(":")[0]
    if status.phase is Phase.FINISHED or failed_on.endswith(CheckpointError.__name__):
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
