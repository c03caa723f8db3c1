"""Records on their way out of the training thread.

    training thread ── append ──▶ RecordQueue ── drain ──▶ ScalarStore, event file

Appending costs the training thread about a microsecond. Converting tensors, storing
and writing happen in `drain`, on a LooperThread, for all waiting records at once.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from nbtrain.core.timeline import Timeline
from nbtrain.core.values.arrays import FloatArray
from nbtrain.core.values.config import Config
from nbtrain.media.samples import Sample
from nbtrain.recording.best_monitor import BestMonitor
from nbtrain.recording.earlier import Earlier
from nbtrain.recording.event_file import EventFile, words
from nbtrain.recording.loss_monitor import LossMonitor
from nbtrain.recording.queue import LIMIT, RecordBatch, RecordQueue, SegmentMark, by_tag
from nbtrain.recording.sample_queue import SampleQueue
from nbtrain.recording.store import ScalarStore
from nbtrain.recording.tags import changes

# NumPy converts these to floats by dropping the imaginary part.
_COMPLEX = {np.complex64, np.complex128, np.clongdouble}

_NUMBER = 8  # bytes

# Scalars, and serialized events with their steps, up to a wall time.
Beside = Callable[[float], tuple[Sequence[RecordBatch], Sequence[tuple[int, bytes]]]]


class Recorder:
    """The records of one run, from the training thread to the store and the event file.

    Args:
        logdir: Folder of the event file; None writes no file.
        limit: Records that may wait; see `RecordQueue`.
        loss_monitor: Checks the records as they are drained; None for no checks.
        best_monitor: Judges one of the scalars; None if no scalar is judged.

    Attributes:
        queue: The queue that the training thread fills.
        samples: The queue of pictures and media.
    """

    def __init__(
        self,
        store: ScalarStore,
        logdir: Path | None,
        *,
        limit: int = LIMIT,
        loss_monitor: LossMonitor | None = None,
        best_monitor: BestMonitor | None = None,
    ) -> None:
        self.loss_monitor, self.best_monitor = loss_monitor, best_monitor
        self._errors: dict[str, str] = {}
        self._store = store
        known = bool(store)  # recorded by earlier starts
        self._earlier = None if logdir is None or known else Earlier(store, logdir)
        self._file = EventFile(logdir, self._errors)
        self.queue = RecordQueue(self._number, limit=limit)
        self.samples = SampleQueue(self._write_sample)
        self._beside: Beside | None = None
        self._openings: list[int] = []  # the steps at which segments began
        self._draining = threading.RLock()  # one drain at a time, so records stay in order

    @property
    def error(self) -> str | None:
        """A message about data that could not be recorded; None without an error."""
        return "\n".join([*self._errors.values()]) or None

    @property
    def event_file(self) -> Path | None:
        """The current event file; None if there is none."""
        return self._file.path

    @property
    def in_place(self) -> bool:
        """True unless the event file was deleted or renamed."""
        return self._file.in_place

    @property
    def thinned_steps(self) -> int:
        """The number of steps whose records were thinned, because they came too fast."""
        return self.queue.thinned

    def open_segment(
        self,
        step: int,
        limits: Mapping[int, float] | None = None,
        *,
        wall_time: float = 0.0,
        marked: bool = True,
    ) -> None:
        """Queues the mark that the run continues from `step`; training thread only.

        Args:
            wall_time: The time at which the timeline opened the segment, which identifies the mark;
                0 uses the present time.
        """
        if marked:
            self._openings.append(step)
        self.queue.mark(SegmentMark(step, wall_time or time.time(), limits, marked))

    def add_sample(self, tag: str, step: int, wall_time: float, value: Any, of: int) -> None:
        """Queues a value of `samples.kept_copy` to be encoded; training thread only."""
        self.samples.append(Sample(tag, step, wall_time, value, of, len(self._openings)))

    def describe(self, step: int, hyperparameters: Config) -> None:
        """Records the values with which the run begins; training thread only."""
        self._file.describe(step, hyperparameters)

    def means(self, first: int, last: int) -> dict[str, float]:
        """Returns the means of the scalars recorded after step `first` up to `last`, by tag.

        Abandoned points do not count. Any thread may call it.
        """
        self.drain()
        found = {}
        for tag in self._store:
            points = self._store[tag]
            within = (points.steps > first) & (points.steps <= last) & ~points.abandoned
            if within.any():
                found[tag] = float(np.mean(points.values[within]))
        return found

    def read_earlier(self, timeline: Timeline) -> None:
        """Starts reading the records of earlier starts into the store. Any thread may call it."""
        if self._earlier is not None:
            self._earlier.begin(timeline)

    def recall(self, secs: float) -> None:
        """Continues to read earlier records, for about `secs` seconds; for one thread."""
        if self._earlier is not None:
            self._earlier.read(secs)
            if self._earlier.error is not None:
                self._errors["earlier"] = self._earlier.error

    def drain(self) -> None:
        """Converts, stores and writes waiting records. Any thread may call it."""
        with self._draining:
            self._drain()

    def add_event(self, step: int, event: bytes) -> None:
        """Writes a serialized event of a step. Any thread may call it."""
        with self._draining:
            size = len(event) // _NUMBER
            self._file.write([step], lambda writer: writer.event(event), size=size)

    def drain_also(self, source: Beside | None) -> None:
        """Drains a further source of events from now on, none if None. Any thread may call it."""
        with self._draining:
            self._beside = source

    def aside(self, values: Mapping[str, float], step: Callable[[], int]) -> None:
        """Records scalars from another thread than the training thread, at the present step.

        If the run goes back to another step meanwhile, the scalars are dropped.

        Args:
            step: Returns the completed steps.
        """
        with self._draining:
            self._drain()
            at, now = step(), time.time()
            if not self._drain():
                self._keep(
                    [RecordBatch(tuple(values), [at], [now], [[each] for each in values.values()])]
                )

    def _drain(self) -> bool:
        """Drains the queue; returns whether a segment was opened."""
        self._file.write_on()
        opened, batches = False, list[RecordBatch]()
        for entry in self.queue.get_all():
            if isinstance(entry, RecordBatch):
                batches.append(entry)
            else:
                self._keep(batches)
                self._drain_beside(entry.wall_time)
                self._segment(entry)
                opened, batches = True, []
        self._keep(batches)
        self._drain_beside(math.inf)
        return opened

    def _drain_beside(self, until: float) -> None:
        """Drains the records that calls of `tf.summary` have written up to a wall time."""
        if self._beside is None:
            return
        batches, events = self._beside(until)
        own = self.queue.tags if batches else frozenset()
        for batch in batches:
            if own.isdisjoint(batch.tags):
                self._keep([batch])
            else:
                self._errors["twice"] = (
                    f"tf.summary.scalar({batch.tags[0]!r}, ...) is left out: the step records "
                    f"{batch.tags[0]!r} itself. Give it another name to see both."
                )
        for step, event in events:
            self.add_event(step, event)

    def _write_sample(self, sample: Sample, summary: bytes) -> None:
        """Writes an encoded sample, unless the run has gone back to an earlier step since."""
        step, wall_time = sample.step, sample.wall_time
        with self._draining:
            if all(opened >= step for opened in self._openings[sample.segment :]):
                self._file.write(
                    [step],
                    lambda writer: writer.summary(summary, step, wall_time),
                    size=len(summary) // _NUMBER,
                )

    def close(self, *, failed: bool = False) -> None:
        """Drains the last records and closes the event file; `failed` after an error of the run."""
        self.drain()
        with self._draining:
            self._file.end(failed=failed)
        self.stop_writing()

    def delete_event_file(self) -> None:
        """Closes and deletes the event file of a start without a step. Any thread may call it."""
        path = self._file.path
        self.stop_writing()
        if path is not None:
            with contextlib.suppress(OSError):  # the folder is gone or read-only: it stays
                path.unlink()

    def stop_writing(self) -> None:
        """Closes the event file; later records are only stored. Any thread may call it."""
        with self._draining:
            self._file.close()

    def _segment(self, segment: SegmentMark) -> None:
        self._store.open_segment(segment.step, segment.limits)
        if not segment.marked:
            return
        if self.loss_monitor is not None:
            self.loss_monitor.rewind(segment.step)
        if self.best_monitor is not None:
            self.best_monitor.rewind()
        self._file.write(
            [segment.step], lambda writer: writer.session_start(segment.step, segment.wall_time)
        )

    def _keep(self, batches: Sequence[RecordBatch]) -> None:
        """Stores and writes records; if their tags differ, tag by tag, each in order."""
        if len({batch.tags for batch in batches}) > 1:
            batches = by_tag(batches)
        for batch in batches:
            try:
                self._keep_one(batch)
            except Exception as error:  # noqa: BLE001 - the records after it are kept
                first, last = batch.steps[0], batch.steps[-1]
                self._errors["steps"] = (
                    f"Scalars of steps {first:,} to {last:,} could not be kept: {words(error)}"
                )

    def _keep_one(self, batch: RecordBatch) -> None:
        steps = np.array(batch.steps, dtype=np.int64)
        walls = np.array(batch.wall_times)
        columns = {
            tag: self._column(tag, batch.steps, values)
            for tag, values in zip(batch.tags, batch.columns, strict=True)
        }
        for tag, column in columns.items():
            self._store.extend(tag, steps, walls, column)
            if self.loss_monitor is not None:
                self.loss_monitor.observe(tag, steps, column)
            if self.best_monitor is not None:
                self.best_monitor.observe(tag, steps, column)
        if columns:
            self._file.write(
                batch.steps,
                lambda writer: writer.scalars(steps, walls, columns),
                size=len(steps) * (len(columns) + 2),
            )

    def _column(
        self, tag: str, steps: Sequence[int], values: Sequence[SupportsFloat]
    ) -> FloatArray:
        kinds = set(map(type, values))
        if any(map(changes, kinds)):  # not of this type when the tag was new
            self._errors["changing"] = (
                f"{tag!r} is a variable or an array at step {steps[-1]:,}, and was not read at "
                "once: its curve may show what that held later. Record float(...) of it."
            )
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            if _COMPLEX.isdisjoint(kinds):
                return np.array([float(value) for value in values])
        pairs = zip(steps, values, strict=True)
        return np.array([self._number(tag, step, value) for step, value in pairs])

    def _number(self, tag: str, step: int, value: SupportsFloat) -> float:
        """Converts a value to a float; NaN, with a message in `error`, if it is not a number."""
        try:
            if type(value) in _COMPLEX:
                raise TypeError(f"{value} is complex")
            return float(value)
        except (TypeError, ValueError, OverflowError) as error:
            self._errors["value"] = f"{tag!r} at step {step:,} is no scalar, kept as NaN: {error}"
            return float("nan")
