"""Handles of TensorFlow and Keras variables, and the graphs that assign to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from nbtrain.inner.keras import storage_of
from nbtrain.inner.tensorflow import may_write, read_only_inputs

# Operations with a variable among their inputs that only check that it has a value.
_ASKING = {"VarIsInitializedOp", "IsVariableInitialized"}

# Operations that pass a variable on, into a branch or a loop of TensorFlow 1.
_PASSING = {"Switch", "RefSwitch", "Enter", "RefEnter"}

# Operations between reading from a checkpoint and assigning.
_BETWEEN = {"Identity", "Reshape"}


def is_variable(item: object) -> bool:
    """Returns whether an object is a variable of TensorFlow or Keras."""
    return isinstance(item, (tf.Variable, keras.Variable))


def is_distributed(item: Any) -> bool:
    """Returns whether a variable has a value for each replica of a strategy."""
    within = storage_of(item) if isinstance(item, keras.Variable) else item
    return isinstance(within, tf.distribute.DistributedValues)


def is_of_metric(item: Any) -> bool:
    """Returns whether a variable belongs to a metric: its copies are summed when it is read."""
    within = storage_of(item) if isinstance(item, keras.Variable) else item
    on_read = tf.VariableSynchronization.ON_READ
    return getattr(within, "synchronization", None) is on_read


def as_written(value: Any) -> float:
    """Returns the shortest number that is stored as this value: 0.0001, not 9.999999747e-05."""
    return float(str(value))


def handles(item: Any) -> list[int]:
    """Returns the identities of a variable's storage: several on several devices, else one."""
    if isinstance(item, keras.Variable):
        item = storage_of(item)
    if isinstance(item, tf.distribute.DistributedValues):
        return [id(part.handle) for part in item.values]
    return [id(item.handle)] if isinstance(item, tf.Variable) else []


def assigned_by(graph: Any) -> set[int]:
    """Returns the handles, by identity, that the function of a `FuncGraph` assigns to.

    Assignments of functions that it calls are included.
    """
    read = read_only_inputs(graph)
    written = {id(tensor) for number, tensor in enumerate(graph.inputs) if number not in read}
    captures = zip(graph.external_captures, graph.internal_captures, strict=True)
    return {id(outer) for outer, inner in captures if id(inner) in written}


def assigning(variable: Any) -> Iterator[tf.Operation]:
    """Yields the operations of a TensorFlow 1 graph that may change a variable.

    Leaves out its initializer and the operations by which savers restore it.
    """
    waiting = [*variable.op.outputs]
    while waiting:
        held = waiting.pop()
        for user in held.consumers():
            if user.type in _PASSING:
                waiting += user.outputs
            elif (
                user is not variable.initializer
                and user.type not in _ASKING
                and may_write(user, held)
                and not _restores(user)
            ):
                yield user


def _restores(user: tf.Operation) -> bool:
    """Returns whether an operation is a saver's: it assigns values read from a checkpoint."""
    values = [each.op for each in user.inputs[1:2]]
    while values and values[0].type in _BETWEEN:
        values = [each.op for each in values[0].inputs[:1]]
    return bool(values) and values[0].type == "RestoreV2"
