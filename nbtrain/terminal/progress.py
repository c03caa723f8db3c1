"""The line of a run in a script: step, speed, time left and the last values, as tqdm shows them.

Warnings are written above the line. Both are written to the standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from nbtrain.core.states import Phase, Status
from nbtrain.core.text.visible import on_one_line, visible
from nbtrain.core.values.side_tags import metrics
from nbtrain.terminal.warned import Warnings, Watched

# The last values that fit into a line.
_MOST_VALUES = 4

# For a terminal that reports no size, as in some containers: tqdm would show nothing there.
_UNKNOWN: dict[str, int | bool] = {"ncols": 80, "nrows": 24}


class _Bar(tqdm):
    """A tqdm line without tqdm's monitor thread: the run refreshes it."""

    monitor_interval = 0


class ProgressLine:
    """The line of one run; the run's looper calls `tick`."""

    def __init__(self, run: Watched, file: Any = None) -> None:
        status = run.status
        self._run = run
        self._warnings = Warnings()
        self._bar = _Bar(
            desc=on_one_line(run.name),
            total=status.total_steps,
            initial=status.step,
            unit=" steps",
            file=file,
            miniters=1,
            **_size(file or sys.stderr),
        )
        self._forget = run.on_tick(self.tick)

    def tick(self) -> None:
        """Shows the current status; closes the line when the run has ended."""
        status, bar = self._run.status, self._bar
        for text in self._warnings.new(status):
            bar.write(visible(f"{self._run.name}: {text}"), file=bar.fp)
        bar.total = status.total_steps
        if status.step < bar.n:  # the run went back
            bar.initial = bar.n = status.step
        bar.set_postfix_str(on_one_line(described(status)), refresh=False)
        bar.update(status.step - bar.n)
        if self._run.is_over:
            bar.refresh()
            bar.close()
            self._forget()


def _size(file: Any) -> dict[str, int | bool]:
    """Returns tqdm's arguments for the size of a terminal."""
    try:
        if not all(os.get_terminal_size(file.fileno())):
            return _UNKNOWN
    except OSError:  # no terminal
        pass
    return {"dynamic_ncols": True}


def described(status: Status) -> str:
    """Returns the last values, and the phase unless the run is running."""
    phase = [] if status.phase is Phase.RUNNING else [str(status.phase)]
    return ", ".join([*phase, *_metric_texts(status.values)])


def _metric_texts(values: Mapping[str, float]) -> list[str]:
    return [f"{tag} {values[tag]:.4g}" for tag in metrics(values)[:_MOST_VALUES]]
