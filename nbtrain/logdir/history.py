"""The values of one tag in one run, each read from its file on request."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import FloatArray, IntArray
from nbtrain.logdir.series import EVENT, Places
from nbtrain.tfevents import messages
from nbtrain.tfevents.crc import checksum
from nbtrain.tfevents.framing import FOOTER
from nbtrain.tfevents.messages import GRAPHS
from nbtrain.tfevents.tail import read_at
from nbtrain.tfevents.values import Value, value_of


class StaleError(OSError):
    """A file has gone or changed since it was scanned.

    Args:
        fact: The sentence about it, without its full stop.
    """

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}: refresh().")
        self.fact = fact


class GoneError(StaleError, FileNotFoundError):
    """A file has gone since it was scanned."""


def fact_of(error: Exception) -> str:
    """Returns the text of an error for a page, without the advice to type `refresh()`."""
    return f"{error.fact}." if isinstance(error, StaleError) else str(error)


class History:
    """The values of one tag, in the order in which they were written; any thread may use it.

    Attributes:
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        abandoned: bool of shape (n,), as in `Points`.
    """

    def __init__(self, kind: str, tag: str, places: Places) -> None:
        self.steps: IntArray = places.steps
        self.wall_times: FloatArray = places.wall_times
        self.abandoned: npt.NDArray[np.bool_] = places.abandoned
        self._kind, self._tag, self._places = kind, tag, places

    def __len__(self) -> int:
        """The number of values."""
        return len(self.steps)

    def __getitem__(self, index: SupportsIndex) -> Value:
        """Reads a value from its file.

        Raises:
            IndexError: There is no value with this index.
            StaleError: The file is gone or was changed.
            ArgumentError: The value does not have the format of its kind.
        """
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"history[{number}]: there are {len(self)} values.")
        return value_of(self._kind, summary_value(self._places, number, self._tag), self._tag)

    def __iter__(self) -> Iterator[Value]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        steps = f", steps {self.steps.min()} to {self.steps.max()}" if len(self) else ""
        return f"<{self._kind} {self._tag!r}: {len(self)} values{steps}>"


def summary_value(places: Places, index: int, tag: str) -> Any:
    """Reads the `Summary.Value` at one of the positions of a tag, or the `Event` of a graph.

    Raises:
        StaleError: The file is gone or was changed.
    """
    file, offset, length, which = places.records[index].tolist()
    path = places.paths[file]
    try:
        data = read_at(path, offset, length + FOOTER)
    except FileNotFoundError as error:
        raise GoneError(f"{path} has gone since it was looked at") from error
    payload, footer = data[:length], data[length:]
    if checksum(payload) == footer:
        event = messages.event(payload)
        values, wall_time = event.summary.value, np.float64(event.wall_time)
        if (
            event.step == places.steps[index]
            and wall_time.tobytes() == places.wall_times[index].tobytes()  # also equal for NaN
        ):
            if which == EVENT and event.WhichOneof("what") in GRAPHS:
                return event
            if 0 <= which < len(values) and values[which].tag == tag:
                return values[which]
    raise StaleError(f"{path} is no longer what it was at byte {offset}")
