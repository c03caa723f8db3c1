"""A logdir and its runs, read again and again as they grow.

Runs are TensorBoard's: folders that hold event files. What is written live, be it by this
kernel, another one or another machine, is seen at the next poll; nothing is ever written,
locked or held open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nbtrain.events.decode import Decoder, Scalars
from nbtrain.events.series import Points, Series
from nbtrain.events.tail import Other, Piece, Tail

_FILE = "tfevents"


class EventRun:
    """The events of one folder; one thread at a time may call.

    Args:
        folder: The folder.

    Attributes:
        series: The scalars by tag, in the order the tags first came.
        starts: Step and wall time of each restart of the program.
        skipped: Bytes of the files that could not be read, being damaged.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._reset()

    def _reset(self) -> None:
        self.series: dict[str, Series] = {}
        self.starts: list[tuple[int, float]] = []
        self.skipped = 0
        self._decoder = Decoder()
        self._tails: dict[str, Tail] = {}

    @property
    def left(self) -> int:
        """Bytes of its files that have not been read."""
        return sum(tail.size - tail.offset for tail in self._tails.values())

    def look(self, names: list[str]) -> None:
        """See what its files have to be read; `names` in the order of their making."""
        for name in names:
            if name not in self._tails:
                self._tails[name] = Tail(os.path.join(self.folder, name), self._decoder)
        if any(tail.look() for tail in self._tails.values()):
            self._reset()
            self.look(names)

    def read(self) -> Iterator[None]:
        """Read what is new, and pause after every piece."""
        for tail in self._tails.values():
            for piece in tail.poll():
                self._take(piece)
                yield

    def points(self, tag: str) -> Points:
        """All points of a tag."""
        return self.series[tag].points(self.starts)

    def _take(self, piece: Piece) -> None:
        self.skipped += piece.skipped
        found = [*piece.scalars, *self._usual(piece.others)]
        parts: dict[int, list[Scalars]] = {}
        for scalars in found:
            for tag, part in _by_tag(scalars):
                parts.setdefault(tag, []).append(part)
        for tag, several in parts.items():
            series = self.series.setdefault(self._decoder.tags[tag], Series())
            series.extend(*_in_order(several))

    def _usual(self, others: list[Other]) -> Iterator[Scalars]:
        """The scalars of records that hold other things too; takes note of restarts."""
        from tensorflow.compat.v1 import Event, SessionLog

        for other in others:
            event = Event.FromString(other.payload)
            if event.session_log.status == SessionLog.START:
                self.starts.append((event.step, event.wall_time))
            for value in event.summary.value:
                number = _number(value)
                if number is not None:
                    yield Scalars(
                        np.array([other.row]),
                        np.array([self._decoder.tag_id(value.tag)]),
                        np.array([event.step]),
                        np.array([event.wall_time]),
                        np.array([number], np.float64),
                    )


def _by_tag(scalars: Scalars) -> Iterator[tuple[int, Scalars]]:
    tags = scalars.tags
    if (tags == tags[0]).all():
        yield int(tags[0]), scalars
        return
    order = np.argsort(tags, kind="stable") if tags.max() > 0xFFFF else np.argsort(
        tags.astype(np.uint16), kind="stable"
    )
    bounds = np.flatnonzero(np.diff(tags[order], prepend=-1, append=-1))
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        part = order[low:high]
        yield int(tags[part[0]]), Scalars(
            scalars.rows[part], tags[part], scalars.steps[part],
            scalars.wall_times[part], scalars.values[part],
        )


def _in_order(several: list[Scalars]) -> tuple[Any, Any, Any]:
    if len(several) == 1:
        one = several[0]
        return one.steps, one.wall_times, one.values
    order = np.argsort(np.concatenate([each.rows for each in several]), kind="stable")
    steps = np.concatenate([each.steps for each in several])[order]
    wall_times = np.concatenate([each.wall_times for each in several])[order]
    return steps, wall_times, np.concatenate([each.values for each in several])[order]


def _number(value: Any) -> float | None:
    """The scalar that a `Summary.Value` holds; None for something else."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    plugin = value.metadata.plugin_data.plugin_name
    if kind != "tensor" or plugin not in ("", "scalars"):
        return None
    import tensorflow as tf

    array = tf.make_ndarray(value.tensor)
    return float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiub" else None
