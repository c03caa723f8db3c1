"""Runs with their hyperparameters and metrics: TensorBoard's table, in the kernel.

table = nbtrain.hparams("runs")
table.rows[0].hparams["learning_rate"], table.rows[0].metrics["validation/epoch_loss"]
table.to_dataframe()
"""

from __future__ import annotations

import os
from typing import Any

from nbtrain.core.text.text_table import text_table
from nbtrain.logdir.folders import path_of
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.sessions import Session, Sessions


class HParams:
    """The runs that have hyperparameters, one per row; any thread may use it.

    It contains the data written up to the last `refresh`.
    """

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars
        self._sessions = Sessions(scalars.reader)

    @property
    def rows(self) -> list[Session]:
        """The runs, sorted by name."""
        sessions = self._sessions.by_run.items()
        return [session for run, session in sessions if self.scalars.chooses(run)]

    @property
    def hparams(self) -> list[str]:
        """The names of the hyperparameters, sorted; those by which runs differ come first."""
        rows = [row.hparams for row in self.rows]
        names = sorted({name for row in rows for name in row})
        return sorted(names, key=lambda name: len({repr(row.get(name)) for row in rows}) < 2)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order in which they appear in the rows."""
        return list(dict.fromkeys(name for row in self.rows for name in row.metrics))

    @property
    def unreadable(self) -> dict[str, str]:
        """Runs whose hyperparameters cannot be read, and why."""
        return self._sessions.unreadable

    def refresh(self) -> bool:
        """Reads what was written since the last call; returns whether anything was."""
        found = self.scalars.refresh()
        self._sessions = Sessions(self.scalars.reader)
        return found

    def to_dataframe(self) -> Any:
        """Returns a `pandas.DataFrame` with one row per run: "hparams", "metrics" and "session".

        Times are in seconds since the epoch; missing values are NaN.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd

        rows = self.rows
        columns: dict[tuple[str, str], list[Any]] = {
            **{("hparams", name): [row.hparams.get(name) for row in rows] for name in self.hparams},
            **{("metrics", name): [row.metrics.get(name) for row in rows] for name in self.metrics},
        }
        for name in ("status", "start_time", "end_time", "group"):
            columns["session", name] = [getattr(row, name) for row in rows]
        index = pd.Index([row.run for row in rows], name="run")
        return pd.DataFrame(columns, index=index)

    def __repr__(self) -> str:
        rows = self.rows
        if not rows:
            return f"<no run in {self.scalars.reader.logdir!r} has hyperparameters>"
        names, metrics = self.hparams, self.metrics
        cells = [
            [row.run, *map(row.hparams.get, names), *map(row.metrics.get, metrics), row.status]
            for row in rows
        ]
        return text_table(["run", *names, *metrics, "status"], cells)


def hparams(logdir: str | os.PathLike[str], *, runs: str | None = None) -> HParams:
    """Returns the hyperparameters and metrics of every run below a folder.

    As in TensorBoard, they are found if they were written by `tensorboard.plugins.hparams.api`,
    `hp.KerasCallback`, or `add_hparams` of PyTorch or tensorboardX.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.
        runs: A regular expression, found anywhere in the names of the runs.

    Raises:
        ArgumentError: The folder cannot be read, or the pattern is not a regular expression.
    """
    found = Scalars(Reader(path_of(logdir)), runs)
    found.refresh()
    return HParams(found)
