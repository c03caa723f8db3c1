"""The surroundings of the runs of this process: a notebook, marimo, a script, or none of these.

surroundings.current = Notebook(shell)   # nbtrain was imported in IPython
surroundings.current = Marimo()          # or in marimo
surroundings.current = Script()          # or another program has used it
"""

from __future__ import annotations

import contextvars
import enum
from pathlib import Path
from typing import Any


class Wait(enum.Enum):
    """What waits in the program while a run is paused."""

    LOOP = enum.auto()
    """The loop of the run itself, in the foreground."""
    OWN = enum.auto()
    """A wait for the end of a run of this process."""
    ATTACHED = enum.auto()
    """A wait for the end of a run of another process."""


class Surroundings:
    """Surroundings that show nothing; a notebook, marimo and a script each have a subclass."""

    def show_start(self, run: Any) -> None:
        """Shows a run that has started; called in the thread that has started it."""

    def show_attached(self, run: Any) -> None:
        """Shows a run of another process; called in the thread that has attached it."""

    def enter(self) -> None:
        """Prepares the training thread of a run; called there, at the beginning."""

    def context(self) -> contextvars.Context:
        """Returns the context for a new thread; called in the thread that starts it."""
        return contextvars.copy_context()

    def interrupted(self, _run: Any) -> bool:
        """Reacts to a Ctrl-C during the wait for a run; returns whether to continue waiting."""
        return False

    def note_awaited(self, run: Any) -> None:
        """Notes that the program has waited for the end of a run, in the thread that has waited."""

    def name_of_code(self, filename: str) -> str:
        """Returns the name of a file of code for a message: "model.py", "cell 4"."""
        return Path(filename).name

    def how_to_resume(self, _logdir: Path, wait: Wait) -> str:
        """Returns how to resume the paused run of a folder, and what an interrupt would do."""
        if wait is Wait.LOOP:
            return (
                "Resume it in its panel. Interrupting the cell stops the run, with a last "
                "checkpoint."
            )
        return (
            "Resume it in its panel, or by run.resume(). Interrupting the wait does not affect the "
            "run."
        )


current = Surroundings()
