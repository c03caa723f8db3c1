"""Checks that a checkpoint fits a graph's saver, and that the saver saves all trained variables.

Each error is both nbtrain's and TensorFlow's, because programs catch TensorFlow's.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import tensorflow as tf

from nbtrain.checkpoints.files import Restored, misfit, reading, step_in_name
from nbtrain.core.errors import CheckpointError
from nbtrain.core.text.text_table import some
from nbtrain.engines.trained import in_words
from nbtrain.inner.tensorflow import partitions_of, reshapes, slice_of, variables_of_saver
from nbtrain.inner.variables import assigning
from nbtrain.tf1.servers import LOST

v1 = tf.compat.v1

# The one key that only an object-based checkpoint has.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


class Bound(NamedTuple):
    """A variable, and the value in a checkpoint from which a saver restores it.

    Attributes:
        variable: The variable.
        key: The name of the value.
        part: The part of the value, as TensorFlow describes it; "" for all of it.
    """

    variable: Any
    key: str
    part: str


class NoCheckpointError(CheckpointError, ValueError):
    """No checkpoint has this path; TensorFlow's `Saver.restore` raises a ValueError."""


class _OpError(CheckpointError, tf.errors.OpError):
    """An error that a TensorFlow operation raises while restoring."""

    code: ClassVar[int]

    def __init__(self, message: str) -> None:
        tf.errors.OpError.__init__(self, None, None, message, self.code)
        self.args = (message,)


class MissingVariableError(_OpError, tf.errors.NotFoundError):
    """The checkpoint lacks a variable of the saver."""

    code = tf.errors.NOT_FOUND


class ShapeError(_OpError, tf.errors.InvalidArgumentError):
    """The checkpoint has a variable in another shape."""

    code = tf.errors.INVALID_ARGUMENT


class UnreadableError(_OpError, tf.errors.DataLossError):
    """The checkpoint cannot be read.

    For a truncated file TensorFlow raises an OutOfRangeError. A Supervisor would treat this error
    as the end of the input and end without an error, so this class is not an OutOfRangeError.
    """

    code = tf.errors.DATA_LOSS


def check_fit(saver: tf.compat.v1.train.Saver, path: str) -> Restored | None:
    """Checks that a checkpoint has a value of the right shape for every variable of a saver.

    Returns:
        The result of the restore to come. None for an object-based checkpoint, in which TensorFlow
        finds the variables by other names.

    Raises:
        MissingVariableError: The checkpoint lacks variables; the message names them.
        ShapeError: The checkpoint has variables in other shapes; the message names them.
        NoCheckpointError: No checkpoint has this path.
        UnreadableError: The checkpoint cannot be read.
    """
    held = _reader(path).get_variable_to_shape_map()
    if _OBJECTS in held:
        return None
    saved = dict(_saved(saver))
    misfits = list[str]()
    for name, shape in saved.items():
        if name not in held:
            misfits.append(f"{name} is not there")
        elif not shape.is_compatible_with(held[name]) and not reshapes(saver):
            misfits.append(f"{name} has the shape {tuple(held[name])} there and {shape} here")
    if misfits:
        kind = ShapeError if saved.keys() <= held.keys() else MissingVariableError
        raise kind(str(misfit(path, some(misfits))))
    return Restored(
        step=step_in_name(path) or 0,
        path=path,
        matched=tuple(saved),
        slots=None,
        missing=(),
        # For a saver imported with a meta graph, the saved variables are unknown.
        unused=tuple(sorted(set(held) - set(saved))) if saved else (),
    )


@contextlib.contextmanager
def restoring(path: str) -> Iterator[None]:
    """Translates an error of restoring a checkpoint inside the block.

    Raises:
        UnreadableError: The file is truncated; TensorFlow reports that the input is exhausted.
    """
    try:
        yield
    except LOST:
        raise
    except Exception:
        reader = _reader(path)
        with _reading(path):  # every tensor, to find out whether the file is damaged
            for name in reader.get_variable_to_shape_map():
                reader.get_tensor(name)
        raise


def _reader(path: str) -> Any:
    """Opens the checkpoint of this path, even if a folder has the same name."""
    # TensorFlow's old format has no index.
    if not path or not tf.io.gfile.glob([f"{path}.index", path]):
        raise NoCheckpointError(
            f"{path} is no checkpoint, and nothing was restored: there is no file {path}.index. "
            "Give the path that save() returned, or that of tf.train.latest_checkpoint(folder)."
        )
    with _reading(path):  # tf.train.load_checkpoint would read the folder
        return v1.train.NewCheckpointReader(path)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        with reading(path):
            yield
    except CheckpointError as error:
        raise UnreadableError(str(error)) from error.__cause__


def saved_variables(saver: Any) -> Iterator[tf.Variable]:
    """Yields the variables of real numbers that a saver saves, if these are known."""
    for _, part, _ in _keyed(variables_of_saver(saver) or ()):
        if isinstance(part, tf.Variable) and part.dtype.is_floating:
            yield part


def _saved(saver: Any) -> Iterator[tuple[str, tf.TensorShape]]:
    """Yields names in a checkpoint with shapes; a partitioned variable counts as a whole."""
    items = variables_of_saver(saver) or ()
    for key, part, slices in _keyed(items):
        yield key, part.shape if slices is None else tf.TensorShape(slices.full_shape)


def _keyed(items: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yields the name in a checkpoint, the variable, and its part of the value (None for all)."""
    pairs = items.items() if isinstance(items, dict) else ((None, item) for item in items)
    for name, item in pairs:
        parts = _parts(item)
        for part in parts:
            slices = None
            if name is None or not (len(parts) == 1 and parts[0] is item):
                slices = slice_of(part)
            if slices is not None:
                yield name or slices.full_name, part, slices
            elif _in_graph(part):
                yield name or part.op.name, part, None
            elif isinstance(part, tf.Variable):
                yield name or part.name.partition(":")[0], part, None


def bound(saver: Any, graph: tf.Graph) -> Iterator[Bound]:
    """Yields the variables that a saver restores.

    For a saver that was imported with a meta graph, yields all variables of the graph.
    """
    items = variables_of_saver(saver) or graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
    for key, part, slices in _keyed(items):
        if isinstance(part, tf.Variable) and _in_graph(part):
            yield Bound(part, key, "" if slices is None else slices.spec)


def trained_variables(graph: tf.Graph) -> list[Any]:
    """Returns the variables that an operation changes, other than initializers and savers.

    Counters (whole numbers) and metrics (local variables) are left out.
    """
    return [
        variable
        for variable in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        if variable.dtype.is_floating and any(assigning(variable))
    ]


def _parts(item: Any) -> list[Any]:
    """Returns the parts of a partitioned variable, or a single variable."""
    if isinstance(item, list | tuple):
        return [part for each in item for part in _parts(each)]
    return partitions_of(item)


def _in_graph(item: Any) -> bool:
    """Returns whether a variable belongs to a graph; an eager one has no operation."""
    return hasattr(item, "shape") and hasattr(item, "op")


def lacking(graph: tf.Graph, saver: Any) -> str:
    """Names trained variables that a saver does not save, by scope; "" if there are none."""
    items = variables_of_saver(saver)  # unknown for a saver imported with a meta graph
    if not items:
        return ""
    saved = {part.op for _, part, _ in _keyed(items) if hasattr(part, "op")}
    scopes: dict[str, list[bool]] = defaultdict(list)
    for variable in trained_variables(graph):
        if variable.op not in saved:
            scopes[variable.op.name.partition("/")[0]].append(False)
    return in_words(scopes)
