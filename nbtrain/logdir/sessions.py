"""The runs of a logdir that have hyperparameters, as read by TensorBoard's HParams plugin.

Such a run is a session. Its metrics are the scalars of the runs below it, such as Keras's `train`
and `validation` (tensorboard/plugins/hparams/backend_context.py and list_session_groups.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from nbtrain.core.text.natural import natural
from nbtrain.core.values.hyperparameters import PREFIX
from nbtrain.core.values.side_tags import SYSTEM
from nbtrain.logdir.history import fact_of, summary_value
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.summary_stats import extent_of

START = "_hparams_/session_start_info"  # marks a run as a session

# A metric: the run below the session's own ("" for itself), and the tag.
_Metric = tuple[str, str]

_STATUSES = {1: "success", 2: "failure", 3: "running"}  # from tensorboard/plugins/hparams/api.proto


@dataclass(frozen=True, slots=True)
class Session:
    """A run that has hyperparameters.

    Attributes:
        run: The name of the run.
        hparams: The hyperparameters, by name.
        metrics: The last value of each metric: by its tag, or "run/tag" for a run below. The
            metrics are those that an experiment names; if none has a value, the scalars of all
            sessions.
        status: "running", "success", "failure" or "unknown".
        start_time: Seconds since the epoch; None if it was not written.
        end_time: Seconds since the epoch; None if it was not written.
        group: The common name of sessions with the same hyperparameters; often the run's name.
    """

    run: str
    hparams: dict[str, float | str | bool]
    metrics: dict[str, float]
    status: str
    start_time: float | None
    end_time: float | None
    group: str


class Sessions:
    """The sessions of a logdir at the time of this object's creation.

    Attributes:
        by_run: The sessions, by the sorted names of their runs.
        unreadable: Runs whose hyperparameters cannot be read, and why.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader, self._scalars = reader, Scalars(reader)
        self.unreadable: dict[str, str] = {}
        starts = dict(self._infos(START))
        ends = dict(self._infos("_hparams_/session_end_info"))
        named, found = self._named(), self._found(starts)
        self.by_run = {}
        for run, start in starts.items():
            metrics = self._values(run, named) or self._values(run, found)
            self.by_run[run] = _session(run, start, ends.get(run), metrics)

    def of(self, run: str) -> Session | None:
        """Returns the session of a run or of the nearest run above; None if there is none."""
        above = _nearest(self.by_run, run)
        return None if above is None else self.by_run[above]

    def _infos(self, tag: str) -> Iterator[tuple[str, Any]]:
        """Yields the runs that have one of the plugin's tags, with its first content."""
        from tensorboard.plugins.hparams import metadata
        from tensorboard.plugins.hparams.error import HParamsError

        what = tag.rpartition("/")[2]
        parse: Callable[[bytes], Any] = getattr(metadata, f"parse_{what}_plugin_data")
        for run in self._reader.runs:
            if tag not in self._reader.tags(run, "hparams"):
                continue
            try:
                value = summary_value(self._reader.places(run, tag, "hparams"), 0, tag)
                yield run, parse(value.metadata.plugin_data.content)
            except (OSError, KeyError, DecodeError, HParamsError) as error:
                self.unreadable[run] = fact_of(error)

    def _named(self) -> list[_Metric]:
        """Returns the metrics that the experiments name."""
        infos = [
            info for _, each in self._infos("_hparams_/experiment") for info in each.metric_infos
        ]
        return list(dict.fromkeys((info.name.group, info.name.tag) for info in infos))

    def _found(self, sessions: Collection[str]) -> list[_Metric]:
        """Returns the scalars of all sessions, and of runs below them that are no sessions."""
        found: dict[_Metric, None] = {}
        for run in self._reader.runs:
            above = _nearest(sessions, run)
            if above is not None:
                group = "" if run == above else run.removeprefix(f"{above}/")
                found |= dict.fromkeys(
                    (group, tag)
                    for tag in sorted(self._reader.tags(run), key=natural)
                    if not tag.startswith((SYSTEM, PREFIX))
                )
        return list(found)

    def _values(self, run: str, metrics: list[_Metric]) -> dict[str, float]:
        """Returns the last value of each metric of a session."""
        values = {}
        for group, tag in metrics:
            below = f"{run}/{group.strip('/')}".removeprefix("./") if group else run
            points = self._scalars.get((below, tag))
            if points is not None:
                values[_name(group, tag)] = extent_of(points).last
        return values


def _session(run: str, start: Any, end: Any, metrics: dict[str, float]) -> Session:
    return Session(
        run,
        {name: number for name, value in start.hparams.items() for number in _plain(value)},
        metrics,
        _STATUSES.get(end.status if end else 0, "unknown"),
        start.start_time_secs or None,
        (end.end_time_secs or None) if end else None,
        start.group_name or run,
    )


def _nearest(sessions: Collection[str], run: str) -> str | None:
    """Returns the run itself or the nearest run above that is a session; None without one."""
    while run not in sessions:
        if run == ".":
            return None
        run = run.rpartition("/")[0] or "."
    return run


def _name(group: str, tag: str) -> str:
    group = group.strip("/")
    return f"{group}/{tag}" if group else tag


def _plain(value: Any) -> Iterator[float | str | bool]:
    """Yields the number, string or bool in a `google.protobuf.Value`, if it has one."""
    kind = value.WhichOneof("kind")
    if kind in ("number_value", "string_value", "bool_value"):
        yield getattr(value, kind)
