"""Shows runs and boards in marimo, where the last expression of a cell is its output.

register()   # nbtrain was imported in a running marimo notebook

A click on a panel waits while cells run: marimo passes it on when they have ended.
"""

from __future__ import annotations

from typing import Any

import marimo

from nbtrain.logdir.comparison import Comparison
from nbtrain.logdir.hparams import HParams
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.summaries import Summaries
from nbtrain.notebook.boards import Following
from nbtrain.notebook.display import Display
from nbtrain.panel.board.board import Board
from nbtrain.panel.live.panel import Panel
from nbtrain.steer import surroundings
from nbtrain.steer.requests import Requests
from nbtrain.steer.surroundings import Surroundings


class Marimo(Surroundings):
    """Shows a loop in the foreground when it begins; a cell shows the other runs itself."""

    def show_start(self, run: Any) -> None:
        """Shows the panel of a run for whose loop the cell waits."""
        if run.in_foreground:
            marimo.output.append(_panel(run))


def register() -> None:
    """Makes marimo the surroundings of all runs of this process."""
    surroundings.current = Marimo()
    shown = {
        Requests: _panel,
        Scalars: lambda found: _board(found, "scalars"),
        HParams: lambda found: _board(found.scalars, "hparams", repr(found)),
        Comparison: lambda found: _board(found.scalars, "compare", repr(found)),
        Summaries: lambda found: _board(found.scalars, found.kind, repr(found)),
    }
    for kind, show in shown.items():
        # marimo shows what this method of an object returns.
        setattr(kind, "_display_", show)  # noqa: B010 - the classes do not declare it


def _panel(run: Any) -> Panel:
    """Returns a new panel: the execution of a cell closes those that it has shown before."""
    panel = Display(run).panel
    panel.unasked = True  # no message of the page arrives while cells run
    panel.opened = True  # a headless execution has one, too
    return panel


def _board(scalars: Scalars, tab: str, text: str | None = None) -> Board:
    """Returns a board of what is in the folder."""
    text = repr(scalars) if text is None else text
    following = Following(scalars, unread=True, text=text, tab=tab, x="step", smooth=0.0)
    following.start()
    return following.board
