"""The verb `watch`: a run, live in the terminal."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nbtrain.core.states import Phase, Status
from nbtrain.core.text.visible import on_one_line, say, visible
from nbtrain.core.values.side_tags import SYSTEM
from nbtrain.panel.live.view import line
from nbtrain.remote.attached import AttachedRun
from nbtrain.rundir import status_file
from nbtrain.terminal.exits import DONE, REFUSED, run_in

# Seconds between two pictures.
_SECS = 0.5

# The newest marks, and the most columns of a curve.
_MARKS = 5
_COLUMNS = 60

_BARS = "▁▂▃▄▅▆▇█"
_COLOURS = {
    Phase.RUNNING: "green",
    Phase.PAUSED: "yellow",
    Phase.FAILED: "red",
    Phase.STOPPED: "cyan",
    Phase.FINISHED: "cyan",
}


def watch(options: argparse.Namespace) -> int:
    """Shows a run until it has ended; with `--json`, prints its status at each sign of life."""
    with run_in(options.folder) as run:
        if options.json:
            _lines(run)
        else:
            _pictures(run)
        return REFUSED if run.status.phase is Phase.FAILED else DONE


def _pictures(run: AttachedRun) -> None:
    console = Console()
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            ended = run.status.phase.ended
            if ended:
                run.read(_SECS)
            live.update(picture(run, console.width), refresh=True)
            if ended:
                return
            time.sleep(_SECS)


def _lines(run: AttachedRun) -> None:
    last = None
    while True:
        sign = run.sign
        ended = run.status.phase.ended
        if sign is not last or ended:
            last = sign
            current = status_file.SignOfLife(sign.writer, sign.alive, run.status)
            say(json.dumps(status_file.fields_of(current, run.logdir)), sys.stdout, flush=True)
        if ended:
            return
        time.sleep(_SECS / 5)


def picture(run: AttachedRun, width: int) -> RenderableType:
    """Returns the picture of a run: its numbers, curves, hyperparameters, marks and messages.

    Args:
        run: The run.
        width: The columns of the terminal.
    """
    status = run.status
    head = Text.assemble(
        (f"{on_one_line(status.name)} ", "bold"),
        (str(status.phase), f"bold {_COLOURS.get(status.phase, 'white')}"),
        on_one_line("".join(f" · {label} {text}" for label, text in line(status))),
    )
    parts: list[RenderableType] = [head]
    if status.total_steps:
        bar = Table.grid(expand=True)  # a bar outside a table ends no line, and hides the next one
        bar.add_row(ProgressBar(total=status.total_steps, completed=status.step))
        parts.append(bar)
    parts.append(_values(run, status, width))
    if marks := list(run.marks)[-_MARKS:]:
        parts.append(Text(visible("\n".join(map(str, marks))), style="dim"))
    said = [text for text in (status.failure, status.message, status.notice) if text]
    parts += [
        Text(visible(text), style="red" if text is status.failure else "yellow") for text in said
    ]
    return Group(*parts)


def _values(run: AttachedRun, status: Status, width: int) -> Table:
    table = Table(box=None, padding=(0, 1), show_header=False)
    curves = run.scalars.curves()
    values = {tag: each for tag, each in status.values.items() if not tag.startswith(SYSTEM)}
    shown = {tag: (on_one_line(tag), f"{value:.4g}") for tag, value in values.items()}
    # Each of the three columns has a blank on both sides.
    used = sum(max(map(len, column)) for column in zip(*shown.values(), strict=True)) + 6
    columns = max(1, min(_COLUMNS, width - used))
    for tag, (name, value) in shown.items():
        means = [
            curve.buckets.mean[curve.buckets.whole]
            for curve in curves
            if curve.tag == tag and not curve.abandoned
        ]
        table.add_row(Text(name), value, sparkline(np.concatenate(means) if means else (), columns))
    return table


def sparkline(
    values: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]],
    columns: int = _COLUMNS,
) -> str:
    """Draws a curve in one line of at most `columns` blocks; ignores values that are not finite."""
    found = np.asarray(values, np.float64)
    if not len(found):
        return ""
    parts = np.array_split(found, min(columns, len(found)))
    heights = [
        float(part[np.isfinite(part)].mean()) if np.isfinite(part).any() else math.nan
        for part in parts
    ]
    finite = [height for height in heights if math.isfinite(height)]
    if not finite:
        return " " * len(heights)
    low, span = min(finite), max(finite) - min(finite)
    return "".join(
        " " if math.isnan(height) else _BARS[round((height - low) / span * 7) if span else 0]
        for height in heights
    )
