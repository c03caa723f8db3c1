"""The scalars of a logdir: what TensorBoard would draw, as columns, without a server.

log = nbtrain.scalars("runs")            # every run below the folder
log["adam", "loss"].values               # of one run and tag
log.filter(runs="adam|sgd", tags="val/") # regular expressions, found anywhere in a name
for log in log.follow(): ...             # again whenever something was written
"""

from __future__ import annotations

import csv
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from nbtrain.errors import ArgumentError, UnknownTagError
from nbtrain.events.reader import Reader
from nbtrain.events.series import Points

_COLUMNS = ("run", "tag", "step", "wall_time", "value")


class Scalars(Mapping[tuple[str, str], Points]):
    """Runs and tags, and the points of each: `scalars["run", "tag"].values`; any thread.

    What it holds is what had been written at the last `refresh`.

    Args:
        reader: Reads the event files.
        runs: A regular expression; runs in whose names it is found.
        tags: A regular expression; tags in which it is found.
    """

    def __init__(self, reader: Reader, runs: str | None = None, tags: str | None = None) -> None:
        self._reader = reader
        self._runs = [_pattern("runs", runs)]
        self._tags = [_pattern("tags", tags)]

    @property
    def runs(self) -> list[str]:
        """The names of the runs that have scalars, sorted: their folders below the logdir."""
        return list(dict.fromkeys(run for run, _ in self))

    @property
    def tags(self) -> list[str]:
        """The tags of all runs, sorted."""
        return sorted({tag for _, tag in self})

    def filter(self, runs: str | None = None, tags: str | None = None) -> Scalars:
        """Some runs and tags of the same logdir.

        Args:
            runs: A regular expression, found in the names of the runs; None for all there were.
            tags: A regular expression, found in the tags; None for all there were.

        Raises:
            ArgumentError: It is no regular expression.
        """
        fewer = Scalars(self._reader, runs, tags)
        fewer._runs += self._runs
        fewer._tags += self._tags
        return fewer

    @property
    def reader(self) -> Reader:
        """What reads the event files: of this and of every `filter` of it."""
        return self._reader

    def having(self, tag: str) -> list[str]:
        """The names of the runs that have a tag, sorted."""
        return [run for run in self._reader.runs if (run, tag) in self]

    def count(self, run: str, tag: str) -> int:
        """How many points a tag of a run has; 0 where there is no such tag."""
        return self._reader.count(run, tag) if self._chosen(run, tag) else 0

    def refresh(self) -> bool:
        """Read what was written since; whether there was something."""
        self._reader.look()
        return self._reader.read()

    def follow(self, secs: float = 1.0) -> Iterator[Scalars]:
        """The scalars now, and again whenever something was written; until it is left.

        Args:
            secs: Seconds between two looks at the files.
        """
        yield self
        while True:
            time.sleep(secs)
            if self.refresh():
                yield self

    def to_dataframe(self) -> Any:
        """A `pandas.DataFrame` of one row a point: run, tag, step, wall_time, value, abandoned.

        The wall time is in seconds since the epoch.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd

        keys, found = list(self), list(self.values())
        sizes = [len(points) for points in found]

        def joined(name: str) -> Any:
            return np.concatenate([getattr(points, name) for points in found] or [np.empty(0)])

        names = {
            name: pd.Categorical(np.repeat(np.array([key[i] for key in keys], object), sizes))
            for i, name in enumerate(("run", "tag"))
        }
        fields = ("steps", "wall_times", "values", "abandoned")
        columns = ("step", "wall_time", "value", "abandoned")
        return pd.DataFrame(names | dict(zip(columns, map(joined, fields), strict=True)))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line a point, without what was abandoned: run, tag, step, wall_time, value."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            for (run, tag), points in self.items():
                kept = ~points.abandoned
                columns = (points.steps[kept], points.wall_times[kept], points.values[kept])
                rows = zip(*(column.tolist() for column in columns), strict=True)
                writer.writerows((run, tag, *row) for row in rows)

    def __getitem__(self, key: tuple[str, str]) -> Points:
        """All points of a run and a tag, copied.

        Raises:
            UnknownTagError: There is no such run, or it has no such tag.
        """
        if key in self:
            return self._reader.points(*key)
        if not isinstance(key, tuple) or len(key) != 2:
            raise UnknownTagError(f"scalars[{key!r}]: give a run and a tag, scalars['run', 'tag'].")
        run, tag = key
        if run not in self.runs:
            raise UnknownTagError(f"There is no run {run!r}; there are: {_listed(self.runs)}.")
        tags = [each for other, each in self if other == run]
        raise UnknownTagError(f"The run {run!r} has no tag {tag!r}; it has: {_listed(tags)}.")

    def __contains__(self, key: object) -> bool:
        match key:
            case (str(run), str(tag)):
                return self.count(run, tag) > 0
        return False

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for run in self._reader.runs:
            if _found(self._runs, run):
                tags = self._reader.tags(run)
                yield from ((run, tag) for tag in tags if _found(self._tags, tag))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        where = f"in {self._reader.logdir!r}"
        if not self._reader.runs:
            return f"<no event files {where} yet>"
        if not len(self):
            runs = self._reader.runs
            if any(map(self._reader.tags, runs)):
                return f"<no scalars {where} that the chosen runs and tags leave>"
            return f"<no scalars {where}: {len(runs)} runs hold other things>"
        return f"<scalars of {len(self.runs)} runs and {len(self.tags)} tags {where}>"

    def _chosen(self, run: str, tag: str) -> bool:
        return _found(self._runs, run) and _found(self._tags, tag)


def scalars(
    logdir: str | os.PathLike[str], *, runs: str | None = None, tags: str | None = None
) -> Scalars:
    """The scalars of every run below a folder, from its event files alone.

    They are read as TensorBoard reads them, whoever wrote them; a file is never changed,
    locked or held open.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.
        runs: A regular expression; runs in whose names it is found.
        tags: A regular expression; tags in which it is found.

    Raises:
        ArgumentError: The folder cannot be read, or a pattern is no regular expression.
    """
    found = Scalars(Reader(os.fspath(logdir)), runs, tags)
    found.refresh()
    return found


def _pattern(name: str, given: str | None) -> re.Pattern[str]:
    try:
        return re.compile(given or "")
    except (re.error, TypeError) as error:
        raise ArgumentError(f"{name}={given!r} is no regular expression: {error}.") from None


def _found(patterns: list[re.Pattern[str]], name: str) -> bool:
    return all(pattern.search(name) for pattern in patterns)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "none yet"
