"""A run in a script: its line in the terminal, and Ctrl-C.

Ctrl-C during `run.wait()` asks the run to stop after the current step, with a last checkpoint. A
second Ctrl-C ends the wait, and with it usually the script.
"""

from __future__ import annotations

import functools
import shlex
import sys
from pathlib import Path
from typing import Any

from nbtrain.core.text.visible import say
from nbtrain.rundir.folder import shown
from nbtrain.steer import surroundings
from nbtrain.steer.surroundings import Surroundings, Wait
from nbtrain.terminal.warned import Lines


class Script(Surroundings):
    """Shows runs on the standard error of a script."""

    def show_start(self, run: Any) -> None:
        """Shows the line of a run; without a terminal, only its warnings."""
        if sys.stderr is not None and sys.stderr.isatty():
            from nbtrain.terminal.progress import ProgressLine

            ProgressLine(run)
        else:
            Lines(run)

    def interrupted(self, run: Any) -> bool:
        """Asks the run to stop, says so, and continues waiting."""
        run.request_stop()
        say(
            f"\nnbtrain: {run.name} stops after the current step and saves a last checkpoint. "
            "Ctrl-C again ends the wait."
        )
        return True

    def how_to_resume(self, logdir: Path, wait: Wait) -> str:
        """Returns the command for another terminal, and the effect of Ctrl-C in this one."""
        folder = shlex.quote(shown(logdir))
        effect = "stops the run, with a last checkpoint"
        if wait is Wait.ATTACHED:
            effect = "ends only the wait"
        return f"Resume it by `nbtrain resume {folder}` in another terminal. Ctrl-C here {effect}."


@functools.cache
def register() -> None:
    """Makes a script the surroundings of all runs of this process; once."""
    surroundings.current = Script()
