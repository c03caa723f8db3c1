"""Compares runs: the hyperparameters in which they differ, and the results of their scalars.

both = nbtrain.compare("runs", runs="adam|sgd")
both.differing["learning_rate"]["adam"], both.metrics["val_loss"]["adam"].min
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbtrain.core.text.natural import natural
from nbtrain.core.text.text_table import Cell, on_a_line, text_table
from nbtrain.core.values.direction import Direction, common
from nbtrain.core.values.side_tags import SYSTEM
from nbtrain.logdir.folders import path_of
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.sessions import Sessions
from nbtrain.logdir.summary_stats import Extent, extent_of

Hyperparameter = float | str | bool


class Comparison:
    """A comparison of runs; any thread may use it.

    It contains the data written up to the last `refresh`.

    Attributes:
        runs: The names of the runs that have scalars, sorted.
        hparams: The hyperparameters of each run; runs without any are left out.
        differing: By name, the value in each run of a hyperparameter that is not the same in all
            runs with hyperparameters; runs without the hyperparameter are left out.
        same: By name, the value of each hyperparameter that is the same in all.
        durations: For each run, the seconds of its training: from its journal if there is one in
            its folder, otherwise from its first to its last value.
        tags: For each run, the words by which it can be found; runs without any are left out.
        notes: For each run, the texts of its notes; runs without any are left out.
        metrics: By tag and run, the results of the scalars.
        directions: By tag, whether the best value is the highest or the lowest; None if the
            direction is not known, or not the same in all runs.
    """

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars
        self._load()

    def _load(self) -> None:
        extents: dict[str, dict[str, Extent]] = {}
        spans: dict[str, tuple[float, float]] = {}
        for (run, tag), points in self.scalars.there():
            if tag.startswith(SYSTEM):
                continue  # the use of the machine is no result
            extents.setdefault(tag, {})[run] = extent_of(points)
            times = points.wall_times[np.isfinite(points.wall_times)]
            if len(times):
                begin, end = spans.get(run, (math.inf, -math.inf))
                spans[run] = min(begin, float(times.min())), max(end, float(times.max()))
        self.metrics = {tag: extents[tag] for tag in sorted(extents, key=natural)}
        known = {run: self.scalars.reader.directions(run) for run in self.scalars.runs}
        self.directions: dict[str, Direction | None] = {
            tag: common(known[run].of(tag) for run in self.metrics[tag]) for tag in self.metrics
        }
        runs = {run for extents in self.metrics.values() for run in extents}
        self.runs = sorted(runs, key=natural)
        about = {run: own for run in self.runs if (own := self.scalars.reader.about(run))}
        self.tags = {run: each.tags for run, each in about.items() if each.tags}
        self.notes = {run: each.notes for run, each in about.items() if each.notes}
        self.durations = dict.fromkeys(self.runs, 0.0)
        self.durations |= {run: end - begin for run, (begin, end) in spans.items()}
        self.durations |= {run: each.secs for run, each in about.items()}
        sessions = Sessions(self.scalars.reader)
        self.hparams = {run: found.hparams for run in self.runs if (found := sessions.of(run))}
        self.differing: dict[str, dict[str, Hyperparameter]] = {}
        self.same: dict[str, Hyperparameter] = {}
        for name in sorted({name for each in self.hparams.values() for name in each}):
            values = {run: each[name] for run, each in self.hparams.items() if name in each}
            if len(values) == len(self.hparams) and len(set(map(repr, values.values()))) == 1:
                self.same[name] = next(iter(values.values()))
            else:
                self.differing[name] = values

    def refresh(self) -> bool:
        """Reads what was written since the last call; returns whether anything was."""
        found = self.scalars.refresh()
        self._load()
        return found

    def to_dataframe(self) -> Any:
        """Returns a `pandas.DataFrame` with one row per run.

        Its columns are "run" with "duration", "tags" and "notes"; "hparams" and a name, for
        differing hyperparameters; and a tag with "last", "min", "max" and "best_step". Missing
        values are NaN, such as the best step of a scalar whose direction is not known.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd

        columns: dict[tuple[str, str], list[Any]] = {
            ("run", "duration"): [self.durations[run] for run in self.runs],
            ("run", "tags"): [self.tags.get(run, ()) for run in self.runs],
            ("run", "notes"): [self.notes.get(run, ()) for run in self.runs],
        }
        columns |= {
            ("hparams", name): [values.get(run) for run in self.runs]
            for name, values in self.differing.items()
        }
        columns |= {(tag, what): values for tag, what, values in self._results()}
        return pd.DataFrame(columns, index=pd.Index(self.runs, name="run"))

    def _results(self) -> Iterator[tuple[str, str, list[float | None]]]:
        """Yields each result of each tag, for every run; None for a run without the tag."""
        for tag, extents in self.metrics.items():
            found = [extents.get(run) for run in self.runs]
            for what in ("last", "min", "max"):
                yield tag, what, [None if each is None else getattr(each, what) for each in found]
            direction = self.directions[tag]
            steps = [
                None if each is None or direction is None else each.best_step(direction)
                for each in found
            ]
            yield tag, "best_step", steps

    def __repr__(self) -> str:
        if not self.runs:
            return repr(self.scalars)
        seconds = [round(self.durations[run], 1) for run in self.runs]
        rows: list[list[Cell]] = [["duration (s)", "", *seconds]]
        if self.tags:
            rows.append(["tags", "", *(", ".join(self.tags.get(run, ())) for run in self.runs)])
        if self.notes:
            rows.append(["last note", "", *(self.notes.get(run, ("",))[-1] for run in self.runs)])
        rows += [[name, "", *map(values.get, self.runs)] for name, values in self.differing.items()]
        for tag, what, values in self._results():
            if what == "best_step":
                direction = self.directions[tag]
                if direction is None:
                    continue
                what = f"{what} ({direction.end})"
            rows.append([tag if what == "last" else "", what, *values])
        same = ", ".join(
            f"{on_a_line(name)}={on_a_line(value)}" for name, value in self.same.items()
        )
        table = text_table(["", "", *self.runs], rows)
        return f"{table}\nthe same in all: {same}" if same else table


def compare(logdir: str | os.PathLike[str], *, runs: str | None = None) -> Comparison:
    """Compares the runs below a folder: differing hyperparameters, and their scalars.

    A run has the hyperparameters of the nearest run above it that wrote some. Runs without any are
    compared by their scalars alone.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.
        runs: A regular expression, found anywhere in the names of the runs.

    Raises:
        ArgumentError: The folder cannot be read, or the pattern is not a regular expression.
    """
    found = Scalars(Reader(path_of(logdir)), runs)
    found.refresh()
    return Comparison(found)
