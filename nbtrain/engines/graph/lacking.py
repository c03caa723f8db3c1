"""Finds the trained variables of a graph that its saver does not save."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import tensorflow as tf

from nbtrain.engines.graph.compatibility import slots_among
from nbtrain.engines.trained import in_words
from nbtrain.engines.variables import assigning

v1 = tf.compat.v1


def lacking(graph: tf.Graph, saver: Any) -> str:
    """Names these variables by scope, with counts; returns "" if there are none.

    A variable is trained if an operation changes it, other than its initializer and those of
    savers. Counters (whole numbers) and metrics (local variables) do not count.

    Args:
        graph: The graph.
        saver: Its saver; one imported with a meta graph does not tell what it saves.
    """
    items = getattr(saver, "_var_list", None)  # there is no public name for this
    if not items:
        return ""
    wholes = items.values() if isinstance(items, dict) else items
    # A partitioned variable is listed as a whole, or by its parts.
    parts = [part for item in wholes for part in getattr(item, "_variable_list", [item])]
    saved = {part.op for part in parts if hasattr(part, "op")}
    ops = [
        variable.op
        for variable in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        if variable.op not in saved and variable.dtype.is_floating and any(assigning(variable))
    ]
    slots = slots_among(ops)
    scopes: dict[str, list[bool]] = defaultdict(list)
    for op in ops:
        scopes[op.name.partition("/")[0]].append(op in slots)
    return in_words(scopes)
