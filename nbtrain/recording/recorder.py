"""Records on their way out of the training thread.

    training thread ── append ──▶ RecordQueue ── drain ──▶ ScalarStore, event file

Appending costs the training thread about a microsecond. Converting tensors, storing
and writing happen in `drain`, on a LooperThread, for all waiting records at once.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import SupportsFloat

import numpy as np

from nbtrain.core.arrays import FloatArray
from nbtrain.recording.backlog import MOST, Backlog, Write
from nbtrain.recording.best_monitor import BestMonitor
from nbtrain.recording.earlier import Earlier
from nbtrain.recording.loss_monitor import LossMonitor
from nbtrain.recording.queue import LIMIT, Batch, RecordQueue, Segment, by_tag
from nbtrain.recording.store import ScalarStore
from nbtrain.recording.tags import changes
from nbtrain.tfevents.writer import EventWriter

# NumPy converts these to floats by dropping the imaginary part.
_COMPLEX = {np.complex64, np.complex128, np.clongdouble}


class Recorder:
    """The records of one run, from the training thread to the store and the event file.

    Args:
        logdir: Folder of the event file; None writes none.
        limit: Records that may wait; see `RecordQueue`.
        unwritten: Numbers that may wait for space in the event file; see `Backlog`.
        loss_monitor: Checks the records as they are drained; None for no checks.
        best_monitor: Judges one of the scalars; None if no scalar is judged.

    Attributes:
        queue: The queue that the training thread fills.
    """

    def __init__(
        self,
        store: ScalarStore,
        logdir: Path | None,
        *,
        limit: int = LIMIT,
        unwritten: int = MOST,
        loss_monitor: LossMonitor | None = None,
        best_monitor: BestMonitor | None = None,
    ) -> None:
        self.loss_monitor, self.best_monitor = loss_monitor, best_monitor
        self._errors: dict[str, str] = {}
        self._backlog = Backlog(unwritten)
        self._store = store
        known = bool(store)  # recorded by earlier starts
        self._earlier = None if logdir is None or known else Earlier(store, logdir)
        self._goes_on = False
        self._writer = EventWriter(logdir) if logdir is not None else None
        self.queue = RecordQueue(self._number, limit=limit)
        self._begun: tuple[int, Mapping[str, float]] | None = None  # step, hyperparameters
        self._described = True  # whether they are in the event file
        self._draining = threading.Lock()  # one drain at a time, so records stay in order

    @property
    def error(self) -> str | None:
        """The data that could not be recorded, in words; None if all is well."""
        return "\n".join([*self._errors.values()]) or None

    @property
    def event_file(self) -> Path | None:
        """The current event file; None if there is none."""
        return self._writer.path if self._writer is not None else None

    @property
    def in_place(self) -> bool:
        """True unless the event file was deleted or renamed."""
        writer = self._writer
        return writer is None or writer.in_place

    @property
    def thinned_steps(self) -> int:
        """The number of steps of which not everything was kept, because they came too fast."""
        return self.queue.thinned

    def open_segment(
        self, step: int, limits: Mapping[int, float] | None = None, *, marked: bool = True
    ) -> None:
        """Queues the mark that the run continues from `step`; training thread only."""
        self.queue.mark(Segment(step, time.time(), limits, marked))

    def describe(self, step: int, hyperparameters: Mapping[str, float]) -> None:
        """Records the values that the run begins with; training thread only."""
        self._begun, self._described = (step, hyperparameters), False

    def means(self, first: int, last: int) -> dict[str, float]:
        """Means of the scalars recorded after step `first` up to `last`, by tag.

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

    def go_on(self, begins: Sequence[int] = ()) -> None:
        """Starts reading the records of earlier starts into the store. Any thread may call it."""
        if self._earlier is not None and not self._goes_on:
            self._earlier.begins = begins
        self._goes_on = True

    def recall(self, secs: float) -> None:
        """Continues reading them, for about `secs` seconds; for one thread."""
        if self._goes_on and self._earlier is not None:
            self._earlier.read(secs)
            if self._earlier.error is not None:
                self._errors["earlier"] = self._earlier.error

    def drain(self) -> None:
        """Converts, stores and writes waiting records. Any thread may call it."""
        with self._draining:
            self._drain()

    def aside(self, values: Mapping[str, float], step: Callable[[], int]) -> None:
        """Records scalars that come from another thread than the training, at its present step.

        If the run goes back to another step meanwhile, they are dropped.

        Args:
            step: Returns the completed steps.
        """
        with self._draining:
            self._drain()
            at, now = step(), time.time()
            if not self._drain():
                self._keep(
                    [Batch(tuple(values), [at], [now], [[each] for each in values.values()])]
                )

    def _drain(self) -> bool:
        """Drains the queue; tells if a segment was opened."""
        self._write_on()
        if self._begun and not self._described:
            self._described = True
            step, values = self._begun
            self._write([step], lambda writer: writer.hyperparameters(values, time.time()))
        opened, batches = False, list[Batch]()
        for entry in self.queue.take():
            if isinstance(entry, Batch):
                batches.append(entry)
            else:
                self._keep(batches)
                self._segment(entry)
                opened, batches = True, []
        self._keep(batches)
        return opened

    def close(self, *, failed: bool = False) -> None:
        """Drains what is left and closes the event file; `failed`: the run ended with an error."""
        self.drain()
        with self._draining:
            if self._begun:
                end, now = [self._begun[0]], time.time()
                self._write(end, lambda writer: writer.session_end(failed=failed, wall_time=now))
        self.give_up()

    def give_up(self) -> None:
        """Writes to no event file any more, only to the store. Any thread may call it."""
        with self._draining:
            writer, self._writer = self._writer, None
            if self._backlog:
                self._errors["event file"] = f"{self._lacks()}."
                self._backlog.clear()
            if writer is not None:
                writer.close()

    def _segment(self, segment: Segment) -> None:
        self._store.open_segment(segment.step, segment.limits)
        if not segment.marked:
            return
        if self.loss_monitor is not None:
            self.loss_monitor.turn_back(segment.step)
        if self.best_monitor is not None:
            self.best_monitor.turn_back()
        self._write(
            [segment.step], lambda writer: writer.session_start(segment.step, segment.wall_time)
        )

    def _keep(self, batches: Sequence[Batch]) -> None:
        """Stores and writes records; if their tags differ, tag by tag, each in order."""
        if len({batch.tags for batch in batches}) > 1:
            batches = by_tag(batches)
        for batch in batches:
            try:
                self._keep_one(batch)
            except Exception as error:  # noqa: BLE001 - the records after it are kept
                first, last = batch.steps[0], batch.steps[-1]
                self._errors["steps"] = (
                    f"Scalars of steps {first:,} to {last:,} could not be kept: {_words(error)}"
                )

    def _keep_one(self, batch: Batch) -> None:
        steps = np.array(batch.steps, dtype=np.int64)
        walls = np.array(batch.wall_times)
        columns = {
            tag: self._column(tag, batch.steps, values)
            for tag, values in zip(batch.tags, batch.columns, strict=True)
        }
        for tag, column in columns.items():
            self._store.extend(tag, steps, walls, column)
            if self.loss_monitor is not None:
                self.loss_monitor.look(tag, steps, column)
            if self.best_monitor is not None:
                self.best_monitor.look(tag, steps, column)
        if columns:
            self._write(
                batch.steps,
                lambda writer: writer.scalars(steps, walls, columns),
                size=len(steps) * (len(columns) + 2),
            )

    def _write(self, steps: Sequence[int], write: Write, *, size: int = 0) -> None:
        """Writes to the event file, after earlier writes that wait for space."""
        if self._writer is not None:
            self._backlog.add(steps, write, size=size)
            self._write_on()

    def _write_on(self) -> None:
        """Does waiting writes while there is space; reports a failure, and the store goes on."""
        while self._writer is not None and self._backlog:
            try:
                self._backlog.write_next(self._writer)
            except OSError as error:
                self._tell_dropped()
                why = f"{self._lacks()}: {_words(error)}. They are written once there is room."
                self._errors["event file"] = why
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, what is in memory stays
                self._errors["unwritable"] = f"{self._lacks()}: {_words(error)}."
            if self._writer.doubt is not None:
                self._errors["checksums"] = self._writer.doubt
            self._errors.pop("event file", None)

    def _tell_dropped(self) -> None:
        if self._backlog.dropped is not None:
            first, last = self._backlog.dropped
            self._errors["dropped"] = (
                f"Scalars of steps {first:,} to {last:,} are never written to the event file, "
                "which had no room for too long. They are in memory (run.scalars)."
            )

    def _lacks(self) -> str:
        first, last = self._backlog.span
        return (
            f"The event file lacks scalars of steps {first:,} to {last:,}, which are in memory "
            "(run.scalars)"
        )

    def _column(
        self, tag: str, steps: Sequence[int], values: Sequence[SupportsFloat]
    ) -> FloatArray:
        kinds = set(map(type, values))
        if any(map(changes, kinds)):  # its type may change later, so it is read at once
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


def _words(error: Exception) -> str:
    """Describes an error: the system's message, or its type and message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
