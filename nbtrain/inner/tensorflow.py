"""The private names of TensorFlow (seen in 2.18 to 2.21) that nbtrain uses, each with its purpose.

No other module uses a private name, except that a subclass of a class of TensorFlow uses the
attributes that it inherits. A new version of TensorFlow is checked here.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.core.protobuf.saver_pb2 import SaverDef as SaverDef
from tensorflow.core.protobuf.trackable_object_graph_pb2 import (
    TrackableObjectGraph as TrackableObjectGraph,
)
from tensorflow.python.debug.lib.check_numerics_callback import IGNORE_OP_OUTPUTS
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.framework import auto_control_deps_utils, op_callbacks
from tensorflow.python.ops import control_flow_util, summary_ops_v2
from tensorflow.python.util import tf_decorator
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace as XSpace

from nbtrain.inner.methods import ThreadMethod

# --- functions and graphs -----------------------------------------------------------------


def function_of(compiled: Any) -> Any:
    """Returns the function in a `tf.function`, below all decorators."""
    _, function = tf_decorator.unwrap(compiled.python_function)
    return function


def traces_of(compiled: Any) -> list[Any]:
    """Returns the concrete functions of a `tf.function` that were traced so far."""
    return list(compiled._list_all_concrete_functions())


def read_only_inputs(graph: Any) -> set[int]:
    """Returns the numbers of inputs that a `FuncGraph` and the functions it calls only read."""
    return set(auto_control_deps_utils.get_read_only_resource_input_indices_graph(graph))


def may_write(operation: tf.Operation, held: tf.Tensor) -> bool:
    """Returns whether an operation may write to a variable among its inputs."""
    _, written = auto_control_deps_utils.get_read_write_resource_inputs(operation)
    if held in written:
        return True
    inputs = zip(operation.inputs, operation._input_types, strict=True)
    return any(each is held and kind._is_ref_dtype for each, kind in inputs)


def reopen(graph: tf.Graph) -> None:
    """Makes a finalized graph accept operations again, as TensorFlow's MonitoredSession does."""
    graph._unsafe_unfinalize()


def is_in_xla(graph: Any) -> bool:
    """Returns whether XLA compiles a graph, which records no summaries."""
    return bool(control_flow_util.GraphOrParentsInXlaContext(graph))


# --- checkpoints --------------------------------------------------------------------------


def drop_deferred(item: Any) -> None:
    """Drops the values that TensorFlow keeps for variables that an object creates later.

    While a step is traced, TensorFlow 2.21 would assign them to the wrong variables of Keras's
    lists. Does nothing if TensorFlow lacks the name.
    """
    waiting = getattr(item, "_deferred_dependencies", None)
    if isinstance(waiting, dict):
        waiting.clear()


def variables_of_saver(saver: Any) -> Any:
    """Returns a saver's variables, as a list or by name; None if it was imported or is no Saver."""
    return getattr(saver, "_var_list", None)


def reshapes(saver: Any) -> bool:
    """Returns whether a saver restores values of other shapes."""
    return bool(saver._reshape)


def is_empty(saver: Any) -> bool:
    """Returns whether a saver was made of no variables, by `allow_empty=True`."""
    return bool(getattr(saver, "_is_empty", False))


def forget_deletions(saver: Any) -> None:
    """Forgets which checkpoints a copy of a saver would delete: they belong to the original."""
    saver._checkpoints_to_be_deleted = []


def slice_of(part: Any) -> Any:
    """Returns the place of a part in its partitioned variable, for a saver; None for a whole."""
    return getattr(part, "_get_save_slice_info", lambda: None)()


def partitions_of(variable: Any) -> list[Any]:
    """Returns the parts of a partitioned variable, or the variable."""
    return list(getattr(variable, "_variable_list", [variable]))


# --- pipelines of tf.data -----------------------------------------------------------------


def inputs_of(dataset: Any) -> list[Any]:
    """Returns the datasets that a dataset draws from."""
    return list(dataset._inputs())


def mapped_by(dataset: Any) -> tuple[Any, tf.Graph] | None:
    """Returns the function of `map` and its like, with its graph; None for another dataset."""
    mapped: Any = getattr(dataset, "_map_func", None)
    return None if mapped is None else (mapped._func, mapped.function.graph)


def size_of_buffer(dataset: Any) -> int:
    """Returns the elements that a dataset prepares in advance; 0 for none, -1 if it decides."""
    if not hasattr(dataset, "_buffer_size") or "Prefetch" not in type(dataset).__name__:
        return 0
    return int(dataset._buffer_size)


def size_of_batch(dataset: Any) -> int:
    """Returns the elements that a dataset makes a batch of; 0 for another dataset."""
    return int(getattr(dataset, "_batch_size", 0))


def cache_file_of(dataset: Any) -> str:
    """Returns the file of a `cache` in a file; "" for another dataset."""
    filename: Any = getattr(dataset, "_filename", None)
    return filename.numpy().decode() if tf.is_tensor(filename) and filename.shape.rank == 0 else ""


# --- iterators and random numbers ---------------------------------------------------------


def resource_of(iterator: Any) -> Any:
    """Returns the resource of an iterator of `tf.data`; None for another iterator."""
    return getattr(iterator, "_iterator_resource", None)


def global_generator() -> Any:
    """Returns the state of the generator of `tf.random.get_global_generator`; None before it."""
    module = sys.modules.get("tensorflow.python.ops.stateful_random_ops")
    generator = getattr(module, "global_generator", None)
    return None if generator is None else generator.state


# --- the state of a thread ----------------------------------------------------------------


def has_runtime() -> bool:
    """Returns whether the eager runtime exists: asking for devices would create it."""
    return getattr(context.context(), "_context_handle", None) is not None


_operated = threading.local()  # whether a thread can execute operations
_RANDOM = "/dev/urandom"


def eagerly() -> AbstractContextManager[None]:
    """Enters eager execution for a block, whatever graph is the default.

    Raises:
        OSError: No file can be opened. The first operation of a thread opens the device of random
            numbers, and TensorFlow ends the process with a segmentation fault if it cannot.
    """
    if not getattr(_operated, "before", False):
        with contextlib.suppress(FileNotFoundError):  # Windows has no such file
            os.close(os.open(_RANDOM, os.O_RDONLY))
        _operated.before = True
    entered: AbstractContextManager[None] = context.eager_mode()
    return entered


def device_name() -> str:
    """Returns the device of a `with tf.device(...)` in the calling thread; empty for none."""
    return str(context.context().device_name or "")


def callbacks() -> list[Any]:
    """Returns the callbacks of operations in the calling thread (`enable_check_numerics`)."""
    return list(context.context().op_callbacks)


def add_callback(callback: Any) -> None:
    """Adds a callback of operations in the calling thread."""
    op_callbacks.add_op_callback(callback)


def remove_callback(callback: Any) -> None:
    """Removes a callback of operations in the calling thread."""
    op_callbacks.remove_op_callback(callback)


def is_meant(kind: str, output: int) -> bool:
    """Returns whether the values of an operation's output have a meaning: some are left unset."""
    return (kind.encode(), output) not in IGNORE_OP_OUTPUTS


def variable_read_by(operation: tf.Operation) -> str:
    """Returns the name of the variable that an operation of a function reads; "" if unknown.

    Args:
        operation: An operation whose first input is the handle of a variable.
    """
    handle, graph = operation.inputs[0], operation.graph
    while (outer := next((o for o, own in graph.captures if own is handle), None)) is not None:
        handle = outer
        if not hasattr(handle, "graph") or not hasattr(handle.graph, "captures"):
            break
        graph = handle.graph
    held = {id(each.handle): each.name for each in operation.graph.variables}
    return str(held.get(id(handle), ""))


_CALL = ThreadMethod(Function, "__call__")


@contextlib.contextmanager
def seeing_traces(traced: Callable[[Any], object]) -> Iterator[None]:
    """Calls a function with each `tf.function` that the calling thread traces within a block."""

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        before = function.experimental_get_tracing_count()
        result = _CALL.original(function, *args, **kwargs)
        if function.experimental_get_tracing_count() > before:
            traced(function)
        return result

    with _CALL.replaced(call):
        yield


@contextlib.contextmanager
def tracing_anew(
    around: Callable[[Any, Any], AbstractContextManager[object]] | None = None,
    *,
    compiled: bool = True,
) -> Iterator[None]:
    """Makes the calling thread trace each `tf.function` anew within a block, and without XLA.

    The traces, which contain what callbacks of operations have added, end with the block. Other
    threads call their functions as before.

    Args:
        around: Gets each function with its arguments before the call, and returns the context of
            the call.
        compiled: Whether functions that XLA compiles are traced anew too.
    """
    copies: dict[int, tuple[Any, Any]] = {}  # each with its function, whose id stays its own

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        with around(function, (args, kwargs)) if around else contextlib.nullcontext():
            if is_compiled(function) and not compiled:
                return _CALL.original(function, *args, **kwargs)
            if id(function) not in copies:
                copies[id(function)] = function, _without_xla(function)
            return _CALL.original(copies[id(function)][1], *args, **kwargs)

    with _CALL.replaced(call):
        yield


def is_compiled(function: Any) -> bool:
    """Returns whether XLA compiles a `tf.function` (`jit_compile=True`)."""
    return bool(function._jit_compile)


def _without_xla(function: Any) -> Any:
    """Returns a copy of a `tf.function` without traces."""
    copy = function._clone(None)
    copy._jit_compile = None
    copy._omit_frequent_tracing_warning = True
    return copy


# --- profiles -----------------------------------------------------------------------------


class Span(NamedTuple):
    """A time in which an operation was executed.

    Attributes:
        name: The name of the operation in its graph, perhaps after those of calls around it.
        kind: The type of the operation, or of the faster one that was executed in its place.
        thread: The number of the thread or of the stream of a GPU.
        began, ended: Picoseconds since the profile began.
    """

    name: str
    kind: str
    thread: int
    began: int
    ended: int


_OPERATION = re.compile(r"([^:]+):(\w+)")


def spans_in(trace: str | os.PathLike[str]) -> Iterator[Span]:
    """Yields the operations in a file of TensorFlow's profiler: those of GPUs if there are any."""
    space = XSpace()
    with open(trace, "rb") as file:
        space.ParseFromString(file.read())
    devices = [plane for plane in space.planes if plane.name.startswith("/device:GPU")]
    for plane in devices or space.planes:
        texts = {number: each.name for number, each in plane.stat_metadata.items()}
        operation = next((number for number, name in texts.items() if name == "tf_op"), None)
        for line in plane.lines:
            for event in line.events:
                text = plane.event_metadata[event.metadata_id].name
                if devices:
                    stats = {each.metadata_id: each for each in event.stats}
                    stat = stats.get(operation)
                    text = "" if stat is None else stat.str_value or texts[stat.ref_value]
                if found := _OPERATION.fullmatch(text):
                    began = event.offset_ps + 1000 * line.timestamp_ns
                    yield Span(found[1], found[2], line.id, began, began + event.duration_ps)


# The default writer of `tf.summary`, its step, and whether it records: one set for each thread.
summary_state = summary_ops_v2._summary_state


def is_closed(item: Any) -> bool:
    """Returns whether a session or a writer was closed; False if that is unknown."""
    return bool(getattr(item, "_closed", False))


# --- coordinators -------------------------------------------------------------------------


def threads_of(coord: tf.train.Coordinator) -> set[threading.Thread]:
    """Returns the set to which a coordinator adds each thread that is registered with it."""
    found: set[threading.Thread] = coord._registered_threads
    return found


def registered_with(coord: tf.train.Coordinator) -> list[threading.Thread]:
    """Returns the threads that are registered with a coordinator of any class; any thread."""
    with coord._lock:
        return list(threads_of(coord))


# The beginnings of the names of a ClusterCoordinator's threads, which call servers.
COORDINATOR_THREADS = ("WorkerClosureProcessingLoop", "WorkerPreemptionHandler")


def dead_workers(coordinator: Any) -> Iterator[int]:
    """Yields the numbers of a ClusterCoordinator's workers that are lost; none if unknown."""
    workers: Iterable[Any] = getattr(getattr(coordinator, "_cluster", None), "workers", ())
    for number, worker in enumerate(workers):
        if getattr(worker, "_is_dead_with_error", None):
            yield number


def stop_of(coordinator: Any) -> Callable[[], object] | None:
    """Returns the function that ends a ClusterCoordinator's threads; None if there is none."""
    found: Callable[[], object] | None = getattr(
        getattr(coordinator, "_cluster", None), "stop", None
    )
    return found


def is_fetched(remote: Any) -> bool:
    """Returns whether the thread of a worker has fetched a remote value.

    Returns True if TensorFlow lacks the name: then the caller waits for the oldest value, even if
    another is done.
    """
    return bool(getattr(remote, "_has_fetched_to_local", True))
