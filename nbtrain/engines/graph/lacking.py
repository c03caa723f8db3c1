"""The variables of a graph that are trained and that its saver does not save."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import auto_control_deps_utils

from nbtrain.engines.graph.fitting import slots_among
from nbtrain.engines.trained import in_words

v1 = tf.compat.v1

# They take a variable, and only ask whether it has a value.
_ASKING = {"VarIsInitializedOp", "IsVariableInitialized"}

# Between reading from a checkpoint and assigning.
_BETWEEN = {"Identity", "Reshape"}


def lacking(graph: tf.Graph, saver: Any) -> str:
    """The variables, by scope and with counts, in words; empty where there are none.

    One is trained that an operation changes besides its initializer and those of savers. Counters,
    which are whole numbers, and metrics, which are local variables, are not.

    Args:
        graph: The graph.
        saver: Its saver; one that was imported with a meta graph does not tell what it saves.
    """
    items = getattr(saver, "_var_list", None)  # named by nothing public
    if not items:
        return ""
    wholes = items.values() if isinstance(items, dict) else items
    # A partitioned variable is listed as a whole, or by its parts.
    parts = [part for item in wholes for part in getattr(item, "_variable_list", [item])]
    saved = {part.op for part in parts if hasattr(part, "op")}
    ops = [
        variable.op
        for variable in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        if variable.op not in saved and variable.dtype.is_floating and _is_changed(variable)
    ]
    slots = slots_among(ops)
    scopes: dict[str, list[bool]] = defaultdict(list)
    for op in ops:
        scopes[op.name.partition("/")[0]].append(op in slots)
    return in_words(scopes)


def _is_changed(variable: tf.Variable) -> bool:
    op = variable.op
    return any(
        _changes(user, op)
        for output in op.outputs
        for user in output.consumers()
        if user is not variable.initializer and user.type not in _ASKING and not _restores(user)
    )


def _changes(user: tf.Operation, variable: tf.Operation) -> bool:
    """Whether an operation may write to a variable that is among its inputs."""
    _, written = auto_control_deps_utils.get_read_write_resource_inputs(user)
    if any(each.op is variable for each in written):
        return True
    inputs = zip(user.inputs, user._input_types, strict=True)  # named by nothing public
    return any(each.op is variable and kind._is_ref_dtype for each, kind in inputs)


def _restores(user: tf.Operation) -> bool:
    """Whether it is a saver's: it assigns what was read from a checkpoint."""
    values = [each.op for each in user.inputs[1:2]]
    while values and values[0].type in _BETWEEN:
        values = [each.op for each in values[0].inputs[:1]]
    return bool(values) and values[0].type == "RestoreV2"
