"""A run in a cell: its panel while it lives, its picture afterwards.

The only room that knows both a run and a panel.
"""

from __future__ import annotations

import html
import itertools
from base64 import b64encode
from typing import Any

from nbtrain.errors import BusyError, NbtrainError
from nbtrain.frames import without_ours
from nbtrain.notebook.execution import cell, note_shown, show_at_end
from nbtrain.notebook.kernel import runs
from nbtrain.panel import figure
from nbtrain.panel.comm import harden
from nbtrain.panel.panel import Panel
from nbtrain.run import Run

# The same on every execution, so that a notebook can be compared with its stored outputs.
TEXT = "nbtrain run"

_numbers = itertools.count(1)


class Display:
    """The panel of one run, and the outputs that show it."""

    def __init__(self, run: Run) -> None:
        self.panel = Panel(run)
        harden(self.panel)
        self._run = run
        self._outputs: list[str] = []
        self._cells: set[str | None] = set()  # that have shown it
        run.on_tick(self._tick)

    def is_of(self, run: Run) -> bool:
        """Whether it shows this run."""
        return self._run is run

    def forgotten(self) -> bool:
        """Whether its run has ended and is not known by its name any more."""
        return self._run.status.phase.ended and runs().get(self._run.name) is not self._run

    def is_elsewhere(self) -> bool:
        """Whether another cell than the calling one has shown it, and that one has not."""
        return bool(self._cells) and cell() not in (None, *self._cells)

    def show(self) -> None:
        """Show the panel in the calling cell; at the end of the run a picture takes its place."""
        from IPython.display import display

        output = f"nbtrain-{id(self)}-{next(_numbers)}"
        display(_view_of(self.panel), raw=True, display_id=output)
        self._outputs.append(output)
        self._cells.add(cell())
        if self._run.status.phase.ended:
            self._tick()

    def settle(self) -> None:
        """Show the picture of now beside the panel; see `settle` below."""
        from IPython.display import display

        if self._outputs:
            drawn = picture_of(self._run) | _view_of(self.panel)
            for output in self._outputs:
                display(drawn, raw=True, display_id=output, update=True)

    def _tick(self) -> None:
        """The run's tick; the last one, after its end, leaves the picture."""
        self.panel.tick()
        if self._run.status.phase.ended and self._outputs:
            from IPython.display import display

            picture, outputs, self._outputs = picture_of(self._run), self._outputs, []
            for output in outputs:
                display(picture, raw=True, display_id=output, update=True)


_displays: dict[str, Display] = {}


def display_of(run: Run) -> Display:
    """The display of a run, made when first shown."""
    shown = _displays.get(run.name)
    if shown is None or not shown.is_of(run):
        for name, other in list(_displays.items()):
            if name == run.name or other.forgotten():
                del _displays[name]
                other.panel.close()  # or else it would hold its run, and so a model, for ever
        shown = _displays[run.name] = Display(run)
    return shown


def settle() -> None:
    """Draw the pictures of the runs that are shown, at the end of a cell.

    A client without pages, such as nbclient, takes no output once its last cell has ended.
    """
    for shown in list(_displays.values()):
        shown.settle()


def show(run: Run) -> None:
    """What a cell shows of a run: the live panel, or, once it has ended, the picture."""
    from IPython.display import display

    note_shown(run)
    if run.status.phase.ended:
        display(picture_of(run), raw=True)
    else:
        display_of(run).show()


def show_panel(run: Run) -> None:
    """Show the panel, also of a run that has ended: its chart can still be explored."""
    from IPython.display import display

    note_shown(run)
    if run.status.phase.ended:
        display(_view_of(display_of(run).panel), raw=True)
    else:
        display_of(run).show()


def traceback_of(error: NbtrainError) -> list[str]:
    """What IPython prints of an error of nbtrain's: the user's own lines, and the message.

    Below a refusal that is about a live run of this kernel, the run is shown, unless another cell
    shows it.
    """
    from IPython import get_ipython

    show_below(error)
    shell: Any = get_ipython()
    frames = without_ours(error.__traceback__)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, frames)
    return lines


def show_below(error: NbtrainError) -> None:
    """Show the run that an error is about, once the calling cell has shown the error.

    A start cell that is run again, and refused, has cleared the only view of its run; of another
    cell the error is enough.
    """
    run = runs().get(error.run or "") if isinstance(error, BusyError) else None
    if run is not None and not display_of(run).is_elsewhere():
        show_at_end(run)


def _view_of(panel: Panel) -> dict[str, Any]:
    view = {"model_id": panel.model_id, "version_major": 2, "version_minor": 0}
    return {"application/vnd.jupyter.widget-view+json": view, "text/plain": TEXT}


def picture_of(run: Run) -> dict[str, Any]:
    """The MIME bundle that stays in the saved notebook; a failed run's holds its traceback."""
    status = run.status
    picture = figure.png(status, run.scalars.curves(), list(run.marks))
    bundle: dict[str, Any] = {"image/png": b64encode(picture).decode(), "text/plain": TEXT}
    if status.error:
        bundle["text/html"] = (
            f'<img alt="{html.escape(str(run))}" src="data:image/png;base64,'
            f'{bundle["image/png"]}"><pre>{html.escape(status.error)}</pre>'
        )
    return bundle
