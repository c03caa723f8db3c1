"""The default writer of `tf.summary` in the training thread of a run.

A traced function keeps the writer that was the default when it was traced. Another run may call it
later, or nobody's. So a trace holds no writer but a place for one, which is filled at each call
with that of the run that calls. The same holds for the step, where a call of `tf.summary` gives
none.

with as_default(Writes(...)):    # in the thread that trains
    step()                       # its calls of tf.summary write to the files of this run
with as_default():               # in a thread that only traces
    step.get_concrete_function()
"""

from __future__ import annotations

import atexit
import contextlib
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops import control_flow_util, gen_summary_ops, summary_ops_v2

from nbtrain.rundir.temporary import TemporaryFolder

# Graphs of branches and loops: what they capture must come from the function around them.
_INNER = ("CondBranchFuncGraph", "WhileCondFuncGraph", "WhileBodyFuncGraph")

_RESOURCE, _STEP = "nbtrain summary writer", "nbtrain summary step"

# Summaries are flushed at every look; TensorFlow itself need not.
_QUEUED, _FLUSH_MILLIS = 1000, 600_000

# Calls outside of any run that write to the same file, before that is deleted.
_CALLS = 100


class Writes:
    """The files that the calls of `tf.summary` of one start of a run write to.

    Args:
        step: Returns the step that is being taken.

    Attributes:
        is_closed: Whether the start has ended.
    """

    def __init__(self, step: Callable[[], int]) -> None:
        self.step = step
        self.is_closed = False
        self._folder: TemporaryFolder | None = None
        self._handle: Any = None
        self._lock = threading.Lock()  # protects the handle

    @property
    def files(self) -> Sequence[Path]:
        """The files that exist now."""
        folder = self._folder
        return sorted(folder.path.iterdir()) if folder is not None else ()

    def handle(self) -> Any:
        """Returns the resource of the writer, which is made at the first call."""
        with self._lock:
            if self._handle is None:
                self._folder = TemporaryFolder()
                with ops.init_scope(), tf.device("cpu:0"):
                    name = context.anonymous_name()
                    handle = gen_summary_ops.summary_writer(shared_name=name)
                    gen_summary_ops.create_summary_file_writer(
                        handle, str(self._folder.path), _QUEUED, _FLUSH_MILLIS, ".v2"
                    )
                self._handle = handle
            return self._handle

    def flush(self) -> bool:
        """Writes what waits to the file; tells if anything was ever written. Any thread."""
        with self._lock:
            if self._handle is not None:
                with tf.device("cpu:0"):
                    gen_summary_ops.flush_summary_writer(self._handle)
            return self._handle is not None

    def close(self) -> None:
        """Closes the file and deletes it."""
        self.is_closed = True
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                with tf.device("cpu:0"):
                    gen_summary_ops.close_summary_writer(handle)
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.delete()


class Writer(summary_ops_v2.SummaryWriter):
    """A writer that stands for that of the run whose thread calls.

    Args:
        writes: Those of the run, for threads that TensorFlow starts; None while it only traces.
    """

    def __init__(self, writes: Writes | None) -> None:
        self._writes = writes

    @property
    def _resource(self) -> Any:
        """The resource that TensorFlow's operations write to."""
        if tf.executing_eagerly():
            return _present(self._writes).handle()
        graph = _function_graph()
        if graph is None:  # a graph of TensorFlow 1: nobody runs its operations without a writer
            return gen_summary_ops.summary_writer()
        return graph.capture_call_time_value(
            lambda: _present().handle(), tf.TensorSpec((), tf.resource), key=_RESOURCE
        )

    @property
    def is_over(self) -> bool:
        """True once the run has ended: then nothing is recorded."""
        return self._writes is not None and self._writes.is_closed

    def can_record(self) -> bool:
        """Tells if the code at hand can record; XLA has no operation for that."""
        if self.is_over:
            return False
        return tf.executing_eagerly() or not control_flow_util.GraphOrParentsInXlaContext(
            ops.get_default_graph()
        )

    def as_default(self, step: Any = None) -> Any:
        """Makes it the default within a block."""
        return summary_ops_v2._SummaryContextManager(self, step)

    def init(self) -> None:
        """Does nothing: it is made at the first call."""

    def flush(self) -> None:
        """Does nothing: the run flushes it."""

    def close(self) -> None:
        """Does nothing: the run closes it."""


class Step:
    """The step of the run whose thread calls, as `tf.summary.experimental.get_step()` gives it.

    It can be used like a tensor: compared, added, divided.
    """

    def __init__(self, writes: Writes | None) -> None:
        self._writes = writes

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        if tf.executing_eagerly():
            return tf.constant(_present(self._writes).step(), dtype or tf.int64)
        graph = _function_graph()
        if graph is None:
            return tf.constant(0, dtype or tf.int64)
        step = graph.capture_call_time_value(
            lambda: tf.constant(_present().step(), tf.int64),
            tf.TensorSpec((), tf.int64),
            key=_STEP,
        )
        return step if dtype in (None, tf.int64) else tf.cast(step, dtype)

    def __int__(self) -> int:
        return int(self.__tf_tensor__())

    __index__ = __int__
    __hash__ = object.__hash__


def _as_tensor(name: str) -> Callable[..., Any]:
    act = getattr(operator, name)
    return lambda self, *others: act(self.__tf_tensor__(), *others)


def _reflected(name: str) -> Callable[..., Any]:
    act = getattr(operator, name)
    return lambda self, other: act(other, self.__tf_tensor__())


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Step, f"__{_name}__", _as_tensor(_name))
for _name in ("add", "sub", "mul", "mod", "floordiv", "truediv"):
    setattr(Step, f"__{_name}__", _as_tensor(_name))
    setattr(Step, f"__r{_name}__", _reflected(_name))


class _Present(threading.local):
    """The writes of the run that the calling thread trains."""

    writes: Writes | None = None


_here = _Present()


@contextlib.contextmanager
def as_default(writes: Writes | None = None) -> Iterator[None]:
    """Makes the writer of a run the default of the calling thread, unless it has one.

    Nothing is recorded in functions that XLA compiles: it has no operation for that.

    Args:
        writes: Those of the run; None while functions are only traced.
    """
    state = summary_ops_v2._summary_state
    if isinstance(state.writer, Writer) and state.writer.is_over:
        _here.writes = state.writer = state.is_recording = state.step = None
    if state.writer is not None:  # the user's own, or that of the run around it
        yield
        return
    thread, before = threading.get_ident(), (_here.writes, state.is_recording, state.step)
    state.writer = writer = Writer(writes)
    _here.writes = writes
    if state.is_recording is None:
        state.is_recording = writer.can_record
    if state.step is None:
        state.step = Step(writes)
    try:
        yield
    finally:
        if threading.get_ident() == thread:  # another one may end a loop in the foreground
            state.writer = None
            _here.writes, state.is_recording, state.step = before


def theirs() -> Callable[[], contextlib.AbstractContextManager[object]]:
    """Returns what enters, in another thread, the writer and step that the calling one has set."""
    state = summary_ops_v2._summary_state
    writer, step = state.writer, state.step
    if writer is None or isinstance(writer, Writer) or getattr(writer, "_closed", False):
        return contextlib.nullcontext
    return lambda: writer.as_default(step)


def _function_graph() -> Any:
    """The graph of the function that is being traced; None in a graph of TensorFlow 1."""
    graph = ops.get_default_graph()
    while type(graph).__name__ in _INNER:
        graph = graph.outer_graph
    return graph if isinstance(graph, FuncGraph) else None


_lock = threading.Lock()  # protects the two below
_outside: list[Writes] = []  # at most one
_calls = 0


def _present(known: Writes | None = None) -> Writes:
    """The writes of the run that the thread trains; outside of any, some that are deleted."""
    writes = _here.writes or known
    if writes is not None and not writes.is_closed:
        return writes
    global _calls
    with _lock:
        _calls += 1
        if _calls % _CALLS == 0 and _outside:
            _outside.pop().close()
        if not _outside:
            _outside.append(Writes(lambda: 0))
        return _outside[0]


@atexit.register
def _leave() -> None:
    while _outside:
        _outside.pop().close()
