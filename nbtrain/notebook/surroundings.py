"""Shows the runs of a notebook in its cells.

run = nbtrain.fit(...)      # the cell shows the run at its end
run                         # unless the cell does so itself, or ends with a semicolon
"""

from __future__ import annotations

import contextvars
import tokenize
from typing import TYPE_CHECKING, Any

from IPython.core.displaypub import CapturingDisplayPublisher

from nbtrain.notebook import execution
from nbtrain.steer.surroundings import Surroundings

if TYPE_CHECKING:
    from nbtrain.remote.attached import AttachedRun
    from nbtrain.run.run import Run

# Variables by which ipykernel assigns output to a cell.
_OF_THE_CELL = ("parent_header", "shell_parent", "shell_parent_ident")


class Notebook(Surroundings):
    """Shows runs in cells. What only a run needs is loaded with the first run.

    Args:
        shell: The running IPython.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        shell.events.register("post_run_cell", self._end_cell)

    def show_start(self, run: Run) -> None:
        """Shows a run at the end of the calling cell if the cell has started no other.

        A run in the foreground is shown at once.
        """
        from nbtrain.notebook.alive import keep_alive

        keep_alive(run)
        here = execution.current()
        if here is None:
            return
        if run.in_foreground:
            here.in_foreground.add(run)
            run.attempt.context.monitor.guarded("display", lambda: _show(run))
        else:
            here.started.add(run)

    def show_attached(self, run: AttachedRun) -> None:
        """Shows a run of another process, as a start shows one of this kernel."""
        if (here := execution.current()) is not None:
            here.started.add(run)

    def enter(self) -> None:
        """Shows the panel again whenever the training thread clears the outputs of its cell."""
        from nbtrain.notebook import clearing

        clearing.follow()

    def name_of_code(self, filename: str) -> str:
        """Returns the number of the cell's execution, as the notebook shows it: "cell 4"."""
        found = self._shell.compile.format_code_name(filename)  # "Cell", "In[4]"
        number = "" if found is None else found[1].partition("[")[2].rstrip("]")
        return f"cell {number}" if number else super().name_of_code(filename)

    def context(self) -> contextvars.Context:
        """Returns the context for a thread started by the calling cell, so its prints appear there.

        A client without pages, such as nbclient, does not name cells and ignores outputs of a cell
        that has ended. With such a client, the prints appear below the cell that is being executed.
        """
        here = super().context()
        if execution.cell() is not None or not execution.request():
            return here
        free = contextvars.Context()
        for variable, value in here.items():
            if variable.name not in _OF_THE_CELL:
                free.run(variable.set, value)
        return free

    def note_awaited(self, run: Run | AttachedRun) -> None:
        """Notes that the cell has waited for a run, so that it need not show the run again."""
        execution.note_awaited(run)

    def _end_cell(self, result: Any) -> None:
        """Handles the end of a cell (IPython's `post_run_cell`)."""
        here = execution.current()
        if here is not None:
            try:
                _abandon_loops(here, result)
                if not self._is_quiet(result):
                    only = [*here.started] if len(here.started) == 1 else []
                    wanted = {*only, *here.due}.difference(here.shown)
                    for run in sorted(wanted, key=lambda run: run.name):
                        _show(run)
            finally:
                execution.end()
        if execution.cell() is None and not isinstance(
            self._shell.display_pub, CapturingDisplayPublisher
        ):
            for act in execution.at_end:
                act()

    def _is_quiet(self, result: Any) -> bool:
        """Returns whether the cell ends with a semicolon; False if interrupted in an `await`.

        IPython's own `quiet()` reads the last cell in its history, which may be another one, and
        does not find a cell within `%%time`.
        """
        if result is None:
            return False
        try:
            hook = self._shell.displayhook
            return bool(hook.semicolon_at_end_of_expression(result.info.raw_cell))
        except (tokenize.TokenError, SyntaxError):  # some lines are not Python
            return False


def _abandon_loops(here: execution.Execution, result: Any) -> None:
    """Ends the runs whose loops a cell has left by an error; its traceback keeps them alive."""
    error = result.error_in_exec if result is not None else None
    for run in here.in_foreground if error is not None else ():
        if not run.status.phase.ended:
            run.attempt.abandon(error)


def _show(run: Run | AttachedRun) -> None:
    from nbtrain.notebook.display import show

    show(run)
