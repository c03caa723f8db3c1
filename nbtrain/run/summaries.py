"""Takes what the calls of `tf.summary` in a step write to the run's own event file.

    tf.summary.image(...)  ──▶  a file in a temporary folder  ──▶  curves, event file

TensorFlow writes a file of its own, and TensorBoard reads only one growing file of a folder. So the
records are moved, by the thread that drains the recorder. Scalars become curves of the run.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nbtrain.core.tracebacks import named
from nbtrain.recording.queue import Batch
from nbtrain.recording.recorder import Recorder
from nbtrain.run.summary_writer import Writes, as_default
from nbtrain.rundir.temporary import delete_left
from nbtrain.tfevents import messages
from nbtrain.tfevents.decode import Decoded, Decoder
from nbtrain.tfevents.tail import Tail

_Event = tuple[float, int, bytes]  # wall time, step, serialized


class Summaries:
    """The summaries of one start of a run, on their way to its recorder; one thread at a time.

    Args:
        writes: The files that they are written to.
        note: Shows a message, or clears it.
    """

    def __init__(self, writes: Writes, note: Callable[[str, str | None], object]) -> None:
        self._writes, self._note = writes, note
        self._decoder = Decoder()
        self._tails: dict[str, Tail] = {}
        self._scalars: list[Decoded] = []
        self._events: list[_Event] = []
        self._begun = False

    def take(self, until: float) -> tuple[Sequence[Batch], Sequence[tuple[int, bytes]]]:
        """Returns the scalars and other events that were written up to a wall time."""
        if not self._begun:
            self._begun = True
            delete_left()
        try:
            if self._writes.flush():
                self._read()
            self._note("tf.summary", None)
        except Exception as error:  # noqa: BLE001 - no room, for example; the training goes on
            text = f"Summaries of tf.summary are not recorded: {named(error)}"
            self._note("tf.summary", text)
        scalars, self._scalars = _parted(self._scalars, until)
        events = [each for each in self._events if each[0] <= until]
        self._events = [each for each in self._events if each[0] > until]
        tags = self._decoder.tags
        batches = [
            Batch(
                (tags[int(each.tags[0])],),
                each.steps.tolist(),
                each.wall_times.tolist(),
                [each.values.tolist()],
            )
            for each in scalars
        ]
        return batches, [(step, payload) for _, step, payload in events]

    def _read(self) -> None:
        for path in map(str, self._writes.files):
            if path not in self._tails:
                self._tails[path] = Tail(path, self._decoder)
        for tail in self._tails.values():
            tail.look()
            while (piece := tail.poll()) is not None:
                self._scalars += piece.scalars
                for other in piece.others:
                    if not messages.is_file_version(other.payload):
                        self._take_one(other.payload)

    def _take_one(self, payload: bytes) -> None:
        """Takes a record that is no plain scalar, though it may be one in another form."""
        plain = self._decoder.decode_one(0, payload)
        if plain is not None:
            self._scalars += plain
            return
        event = messages.event(payload)
        if not event.HasField("summary"):
            self._events.append((event.wall_time, event.step, payload))
        for value in event.summary.value:
            kind = value.metadata.plugin_data.plugin_name
            number = messages.number_of(value) if kind in ("", "scalars") else None
            if number is None:
                self._events.append((event.wall_time, event.step, payload))
                return
            self._scalars.append(
                Decoded(
                    np.array([0]),
                    np.array([self._decoder.tag_id(value.tag)]),
                    np.array([event.step]),
                    np.array([event.wall_time]),
                    np.array([number], np.float64),
                )
            )


@contextlib.contextmanager
def taken(
    recorder: Recorder,
    step: Callable[[], int],
    note: Callable[[str, str | None], object],
) -> Iterator[None]:
    """Records what `tf.summary` is given by the calling thread within the block.

    Args:
        step: Returns the step that is being taken.
    """
    writes = Writes(step)
    recorder.take_beside(Summaries(writes, note).take)
    try:
        with as_default(writes):
            yield
    finally:
        recorder.drain()
        recorder.take_beside(None)
        writes.close()


def _parted(scalars: Sequence[Decoded], until: float) -> tuple[list[Decoded], list[Decoded]]:
    """Parts scalars into those up to a wall time and those after it."""
    if until == math.inf:
        return [*scalars], []
    early = [each.take(each.wall_times <= until) for each in scalars]
    late = [each.take(each.wall_times > until) for each in scalars]
    return [each for each in early if len(each.rows)], [each for each in late if len(each.rows)]
