"""Moves the summaries of `tf.summary` in the training thread to the run's own event file.

    tf.summary.image(...)  ──▶  a file in a temporary folder  ──▶  curves, event file

TensorFlow's writer makes a file of its own, and TensorBoard reads only one growing file of a
folder. So the thread that drains the recorder moves the records. Scalars become curves of the run.

A traced function keeps the writer that was the default when it was traced. So no writer is closed
before the process ends: a run that has ended leaves its writer to the next one.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.text.tracebacks import named
from nbtrain.inner.tensorflow import eagerly, is_closed, is_in_xla, summary_state
from nbtrain.recording.queue import RecordBatch
from nbtrain.recording.recorder import Recorder
from nbtrain.run.process import endings
from nbtrain.tfevents import messages
from nbtrain.tfevents.decode import Decoded, Decoder
from nbtrain.tfevents.tail import Tail

# The writer is flushed at every drain; TensorFlow itself need not flush it.
_QUEUED, _FLUSH_MILLIS = 1000, 600_000

_NOT_RECORDED = "Summaries of tf.summary are not recorded: {}"

_Event = tuple[float, int, bytes]  # wall time, step, serialized
Note = Callable[[str, str | None], object]  # shows a message under a topic; None clears it


class SummaryWriter:
    """A writer of TensorFlow, which one run after the other uses.

    Attributes:
        own: The writer.
        is_used: Whether a run uses it.
        step: Returns the current step of the run.

    Raises:
        OSError: Its folder cannot be made.
    """

    def __init__(self) -> None:
        self.is_used = False
        self.step: Callable[[], int] = lambda: 0
        self._folder = Path(tempfile.mkdtemp(prefix="nbtrain-"))
        with eagerly(), tf.device("cpu:0"):
            self.own = tf.summary.create_file_writer(
                str(self._folder), max_queue=_QUEUED, flush_millis=_FLUSH_MILLIS
            )
        (self._path,) = self._folder.iterdir()

    @property
    def is_there(self) -> bool:
        """True if its file exists; the system may delete old temporary files."""
        return self._path.exists()

    def tail(self, decoder: Decoder) -> Tail:
        """Returns a reader of the records that are written from now on."""
        self.free()
        tail = Tail(str(self._path), decoder)
        tail.scan()
        tail.offset = tail.size
        return tail

    def free(self) -> None:
        """Frees the disk space of the written records: the file continues after a sparse hole."""
        self.flush()
        size = self._path.stat().st_size
        for length in (0, size):
            os.truncate(self._path, length)

    def flush(self) -> None:
        """Writes the waiting records to the file."""
        with eagerly(), tf.device("cpu:0"):
            self.own.flush()

    def delete(self) -> None:
        """Deletes the file."""
        shutil.rmtree(self._folder, ignore_errors=True)


class RunStep:
    """The step of the run, as `tf.summary.experimental.get_step()` returns it.

    The step can be used like a tensor: compared, added, divided. A traced function reads the step
    at each call, at no cost for steps without a summary.
    """

    def __init__(self, writer: SummaryWriter) -> None:
        self._writer = writer

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        if tf.executing_eagerly():
            return tf.constant(self._writer.step(), dtype or tf.int64)
        step = tf.numpy_function(lambda: np.int64(self._writer.step()), [], tf.int64)
        step.set_shape(())
        return step if dtype in (None, tf.int64) else tf.cast(step, dtype)

    def __int__(self) -> int:
        return self._writer.step()

    __index__ = __int__
    __hash__ = object.__hash__


def _as_tensor(name: str) -> Callable[..., Any]:
    act = getattr(operator, name)
    return lambda self, *others: act(self.__tf_tensor__(), *others)


def _reflected(name: str) -> Callable[..., Any]:
    act = getattr(operator, name)
    return lambda self, other: act(other, self.__tf_tensor__())


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RunStep, f"__{_name}__", _as_tensor(_name))
for _name in ("add", "sub", "mul", "mod", "floordiv", "truediv"):
    setattr(RunStep, f"__{_name}__", _as_tensor(_name))
    setattr(RunStep, f"__r{_name}__", _reflected(_name))


_lock = threading.RLock()  # protects the list, and `is_used` of each writer
_writers: list[SummaryWriter] = []


def _free() -> SummaryWriter:
    """Returns the writer that the next run will use."""
    with _lock:
        for writer in _writers:
            if not writer.is_used and writer.is_there:
                return writer
        _writers.append(SummaryWriter())
        return _writers[-1]


def _use(step: Callable[[], int]) -> SummaryWriter:
    with _lock:
        writer = _free()
        writer.is_used, writer.step = True, step
        return writer


def _delete() -> None:
    for writer in _writers:
        writer.delete()


endings.afterwards(_delete)


class RecordedSummaries:
    """The summaries of one start of a run, on their way to its recorder; one thread at a time.

    Args:
        writer: The writer that the run uses.
        note: Shows a message, or clears it.
    """

    def __init__(self, writer: SummaryWriter, note: Note) -> None:
        self._writer, self._note = writer, note
        self._decoder = Decoder()
        self._tail = writer.tail(self._decoder)
        self._scalars: list[Decoded] = []
        self._events: list[_Event] = []

    def read_until(self, until: float) -> tuple[Sequence[RecordBatch], Sequence[tuple[int, bytes]]]:
        """Returns the scalars and other events that were written up to a wall time."""
        try:
            self._writer.flush()
            self._read()
            self._note("tf.summary", None)
        except Exception as error:  # noqa: BLE001 - no room, for example; the training continues
            self._note("tf.summary", _NOT_RECORDED.format(named(error)))
        scalars, self._scalars = _parted(self._scalars, until)
        events = [each for each in self._events if each[0] <= until]
        self._events = [each for each in self._events if each[0] > until]
        tags = self._decoder.tags
        batches = [
            RecordBatch(
                (tags[int(each.tags[0])],),
                each.steps.tolist(),
                each.wall_times.tolist(),
                [each.values.tolist()],
            )
            for each in scalars
        ]
        return batches, [(step, payload) for _, step, payload in events]

    def _read(self) -> None:
        self._tail.scan()
        while (piece := self._tail.poll()) is not None:
            self._scalars += piece.scalars
            for other in piece.others:
                self._add(other.payload)

    def _add(self, payload: bytes) -> None:
        """Adds a record that is not a plain scalar, but may be a scalar in another form."""
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


def theirs() -> Callable[[], contextlib.AbstractContextManager[object]]:
    """Returns a function that sets this thread's writer and step in another thread."""
    writer, step = summary_state.writer, summary_state.step
    if writer is None or _is_own(writer) or is_closed(writer):
        return contextlib.nullcontext
    return lambda: writer.as_default(step)


@contextlib.contextmanager
def for_tracing() -> Iterator[None]:
    """Makes the writer of the next run the default in a thread that only traces."""
    with contextlib.ExitStack() as entered:
        if summary_state.writer is None:
            with contextlib.suppress(OSError, tf.errors.OpError):  # the run reports it
                entered.enter_context(_as_default(_free()))
        yield


@contextlib.contextmanager
def recording_summaries(recorder: Recorder, step: Callable[[], int], note: Note) -> Iterator[None]:
    """Records the summaries of `tf.summary` in the calling thread within the block.

    A thread with a default writer keeps it: the writer is the user's, or that of the run around
    this one.

    Args:
        step: Returns the current step.
    """
    default = summary_state.writer
    if default is not None and not _is_left_over(default):
        yield
        return
    try:
        writer = _use(step)
        recorder.drain_also(RecordedSummaries(writer, note).read_until)
    except (OSError, tf.errors.OpError) as error:  # no room for temporary files
        note("tf.summary", _NOT_RECORDED.format(named(error)))
        yield
        return
    try:
        with _as_default(writer):
            yield
    finally:
        recorder.drain()
        recorder.drain_also(None)
        with contextlib.suppress(OSError, tf.errors.OpError):
            writer.free()
        writer.is_used = False


@contextlib.contextmanager
def _as_default(writer: SummaryWriter) -> Iterator[None]:
    """Makes a writer the default of the calling thread, with the step of its run."""
    state, thread = summary_state, threading.get_ident()
    if state.writer is not None:  # it is left over
        state.is_recording = state.step = None
    before = state.is_recording, state.step
    state.writer = writer.own
    state.is_recording = _can_record if before[0] is None else before[0]
    state.step = RunStep(writer) if before[1] is None else before[1]
    try:
        yield
    finally:
        # The garbage collector may end a loop of the foreground in another thread.
        if threading.get_ident() == thread and state.writer is writer.own:
            state.writer = None
            state.is_recording, state.step = before


def _is_own(writer: Any) -> bool:
    return any(writer is each.own for each in _writers)


def _is_left_over(writer: Any) -> bool:
    """Returns whether a run that has ended in another thread has left its writer as the default."""
    return any(writer is each.own and not each.is_used for each in _writers)


def _can_record() -> bool:
    """Returns whether the current code can record: XLA and TensorFlow 1's graphs cannot."""
    graph = tf.compat.v1.get_default_graph()
    return tf.executing_eagerly() or (graph.building_function and not is_in_xla(graph))


def _parted(scalars: Sequence[Decoded], until: float) -> tuple[list[Decoded], list[Decoded]]:
    """Splits scalars into those up to a wall time and those after it."""
    if until == math.inf:
        return [*scalars], []
    early = [each.take(each.wall_times <= until) for each in scalars]
    late = [each.take(each.wall_times > until) for each in scalars]
    return [each for each in early if len(each.rows)], [each for each in late if len(each.rows)]
