"""Whether a checkpoint fits a graph's saver: told by names, before anything is restored."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import Restored, misfit, reading, some, step_in_name
from nbtrain.core.errors import CheckpointError
from nbtrain.engines.graph.refusals import (
    MissingVariableError,
    NoCheckpointError,
    ShapeError,
    UnreadableError,
)
from nbtrain.engines.graph.servers import LOST

v1 = tf.compat.v1

# The one key that only a checkpoint of objects has.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"

_BETA_POWER = re.compile(r"beta[12]_power(_\d+)?")


def check_fit(saver: tf.compat.v1.train.Saver, path: str) -> Restored | None:
    """See that a checkpoint has a value of the right shape for every variable of a saver.

    Returns:
        The proof of what a restore will do. None for a checkpoint of objects, in which
        TensorFlow finds the variables by other names.

    Raises:
        MissingVariableError: It lacks variables; it names them.
        ShapeError: It has variables in other shapes; it names them.
        NoCheckpointError: No checkpoint has this path.
        UnreadableError: It cannot be read.
    """
    held = _reader(path).get_variable_to_shape_map()
    if _OBJECTS in held:
        return None
    saved = dict(_saved(saver))
    misfits = []
    for name, (_, shape) in saved.items():
        if name not in held:
            misfits.append(f"{name} is not there")
        elif not shape.is_compatible_with(held[name]) and not saver._reshape:
            misfits.append(f"{name} has the shape {tuple(held[name])} there and {shape} here")
    if misfits:
        kind = ShapeError if saved.keys() <= held.keys() else MissingVariableError
        raise kind(str(misfit(path, some(misfits))))
    return Restored(
        step=step_in_name(path) or 0,
        path=path,
        matched=tuple(saved),
        slots=len(slots_among(item.op for item, _ in saved.values() if _in_graph(item))),
        missing=(),
        # A saver that was imported with a meta graph does not tell what it saves.
        unused=tuple(sorted(set(held) - set(saved))) if saved else (),
    )


@contextlib.contextmanager
def restoring(path: str) -> Iterator[None]:
    """Restore a checkpoint.

    Raises:
        UnreadableError: It was cut short: TensorFlow says that the input is exhausted.
    """
    try:
        yield
    except LOST:
        raise
    except Exception:
        read_all(path)
        raise


def read_all(path: str) -> None:
    """Raise an UnreadableError unless every tensor of a checkpoint can be read."""
    reader = _reader(path)
    with _reading(path):
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)


def _reader(path: str) -> Any:
    """A reader of the checkpoint of this path, also where a folder has that name."""
    # TensorFlow's old format has no index.
    if not path or not tf.io.gfile.glob([f"{path}.index", path]):
        raise NoCheckpointError(
            f"{path} is no checkpoint, and nothing was restored: there is no file {path}.index. "
            "Give the path that save() returned, or that of tf.train.latest_checkpoint(folder)."
        )
    with _reading(path):  # tf.train.load_checkpoint would look inside the folder
        return v1.train.NewCheckpointReader(path)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        with reading(path):
            yield
    except CheckpointError as error:
        raise UnreadableError(str(error)) from error.__cause__


def saved_variables(saver: Any) -> Iterator[tf.Variable]:
    """The variables of real numbers that a saver saves, as far as it tells."""
    items = saver._var_list or ()  # named by nothing public
    for item in items.values() if isinstance(items, dict) else items:
        if isinstance(item, tf.Variable) and item.dtype.is_floating:
            yield item


def _saved(saver: Any) -> Iterator[tuple[str, tuple[Any, tf.TensorShape]]]:
    """What a saver saves, by the names in a checkpoint; the whole of a partitioned variable."""
    items = saver._var_list or ()  # named by nothing public
    pairs = items.items() if isinstance(items, dict) else ((None, item) for item in items)
    for name, item in pairs:
        slices = getattr(item, "_get_save_slice_info", lambda: None)()
        if slices is not None:  # a part of it
            yield slices.full_name, (item, tf.TensorShape(slices.full_shape))
        elif _in_graph(item):
            yield name or item.op.name, (item, item.shape)
        elif isinstance(item, tf.Variable):
            yield name or item.name.partition(":")[0], (item, item.shape)


def _in_graph(item: Any) -> bool:
    """Whether this is a variable of a graph; one of eager execution has no operation."""
    return hasattr(item, "shape") and hasattr(item, "op")


def slots_among(ops: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Those that are an optimizer's: named after a trainable variable, or powers of Adam's betas.

    Named so too, but no slots, are moving averages.
    """
    ops = tuple(ops)
    variables = ops[0].graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES) if ops else ()
    trained = {variable.op.name for variable in variables}

    def is_slot(name: str) -> bool:
        *scopes, last = name.split("/")
        if _BETA_POWER.fullmatch(last):
            return True
        # Made inside a variable scope, a slot has that before the variable's name.
        owners = ("/".join(scopes[start:]) for start in range(len(scopes)))
        return (
            name not in trained
            and "MovingAverage" not in last
            and any(owner in trained for owner in owners)
        )

    return {op for op in ops if is_slot(op.name)}
