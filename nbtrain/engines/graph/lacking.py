"""The variables of a graph that are trained and that its saver does not save."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import tensorflow as tf

from nbtrain.engines.graph.compatibility import slots_among
from nbtrain.engines.trained import in_words
from nbtrain.engines.variables import assigning

v1 = tf.compat.v1


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
        if variable.op not in saved and variable.dtype.is_floating and any(assigning(variable))
    ]
    slots = slots_among(ops)
    scopes: dict[str, list[bool]] = defaultdict(list)
    for op in ops:
        scopes[op.name.partition("/")[0]].append(op in slots)
    return in_words(scopes)
