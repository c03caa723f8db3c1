"""The scalars of a logdir as columns: the data that TensorBoard would draw, without a server.

log = nbtrain.scalars("runs")            # every run below the folder
log["adam", "loss"].values               # of one run and tag
log.filter(runs="adam|sgd", tags="val/") # regular expressions, found anywhere in a name
for log in log.follow(): ...             # again whenever something was written
"""

from __future__ import annotations

import csv
import os
import warnings
from typing import Any

import numpy as np

from nbtrain.logdir.folders import path_of
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.selection import Selection
from nbtrain.logdir.series import Points

_COLUMNS = ("run", "tag", "step", "wall_time", "value")


class Scalars(Selection[Points]):
    """Runs and tags with their points: `scalars["run", "tag"].values`; any thread may use it.

    It contains the data written up to the last `refresh`.

    Args:
        reader: Reads the event files.
        runs: A regular expression, found anywhere in the names of the runs.
        tags: A regular expression, found anywhere in the tags.
    """

    def __init__(self, reader: Reader, runs: str | None = None, tags: str | None = None) -> None:
        super().__init__(reader, "scalars", runs, tags)

    def _of(self, run: str, tag: str) -> Points:
        return self._reader.points(run, tag)

    def to_dataframe(self) -> Any:
        """Returns a `pandas.DataFrame` with one row per point.

        Its columns are run, tag, step, wall_time (seconds since the epoch), value and abandoned.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd

        items = list(self.there())
        sizes = [len(points) for _, points in items]

        def joined(name: str) -> Any:
            return np.concatenate([getattr(points, name) for _, points in items] or [np.empty(0)])

        names = {
            name: pd.Categorical(np.repeat(np.array([key[i] for key, _ in items], object), sizes))
            for i, name in enumerate(("run", "tag"))
        }
        fields = ("steps", "wall_times", "values", "abandoned")
        columns = ("step", "wall_time", "value", "abandoned")
        return pd.DataFrame(names | dict(zip(columns, map(joined, fields), strict=True)))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes one line per point that was not abandoned: run, tag, step, wall_time, value."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            for (run, tag), points in self.there():
                kept = ~points.abandoned
                columns = (points.steps[kept], points.wall_times[kept], points.values[kept])
                rows = zip(*(column.tolist() for column in columns), strict=True)
                writer.writerows((run, tag, *row) for row in rows)


def scalars(
    logdir: str | os.PathLike[str],
    *,
    runs: str | None = None,
    tags: str | None = None,
    verify: bool = True,
) -> Scalars:
    """Reads the scalars of every run below a folder from its event files.

    Scalars of all writers are read as in TensorBoard. Files are never changed, locked or kept open.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.
        runs: A regular expression, found anywhere in the names of the runs.
        tags: A regular expression, found anywhere in the tags.
        verify: Whether to skip records with wrong checksums. False reads them too, with a warning,
            for files in which only the checksums are damaged.

    Raises:
        ArgumentError: The folder cannot be read, or a pattern is not a regular expression.
    """
    reader = Reader(path_of(logdir), verify=verify)
    found = Scalars(reader, runs, tags)
    found.refresh()
    if doubtful := reader.doubtful():
        counts = ", ".join(
            f"{count:,} of the run {reader.title(run)!r}" for run, count in doubtful.items()
        )
        warnings.warn(
            f"Records with wrong checksums were read because of verify=False: {counts}. Their "
            "values may be damaged too.",
            stacklevel=3,
        )
    return found
