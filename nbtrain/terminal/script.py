"""A run in a script: its line in the terminal, and Ctrl-C.

Ctrl-C during `run.wait()` asks the run to stop after the current step, with a last checkpoint. A
second Ctrl-C ends the wait, and with it usually the script.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from nbtrain.core.text.visible import say
from nbtrain.rundir.folder import shown
from nbtrain.steer import registry
from nbtrain.terminal.warned import Lines


def register() -> None:
    """Registers how a script shows a run and reacts to Ctrl-C; a second call does nothing."""
    if show not in registry.listeners:
        registry.listeners.append(show)
        registry.interrupted = interrupted
        registry.how_to_resume = how_to_resume


def show(run: Any) -> None:
    """Shows the line of a run that has started; without a terminal, only its warnings."""
    if sys.stderr is not None and sys.stderr.isatty():
        from nbtrain.terminal.progress import ProgressLine

        ProgressLine(run)
    else:
        Lines(run)


def how_to_resume(logdir: Path, *, in_foreground: bool) -> str:
    """Returns a text that says how to resume a paused run; the same in the foreground."""
    del in_foreground
    folder = shlex.quote(shown(logdir))
    return (
        f"`nbtrain resume {folder}` in another terminal lets it go on; Ctrl-C here stops it, with "
        "a last checkpoint."
    )


def interrupted(run: Any) -> bool:
    """Asks the run to stop after Ctrl-C, and says so; returns True: the wait continues."""
    run.request_stop()
    say(
        f"\nnbtrain: {run.name} stops after the step at hand and saves a last checkpoint. Ctrl-C "
        "again ends the wait."
    )
    return True
