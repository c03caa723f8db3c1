"""Finds the operations that a fetch depends on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf


def ops_below(fetches: Iterable[Any], fed: Iterable[Any] = ()) -> dict[tf.Operation, None]:
    """Returns the operations that a session runs for some fetches, the fetches first.

    Args:
        fetches: Tensors or operations.
        fed: Tensors that are fed, or their names; their own inputs are not run.
    """
    names = {getattr(key, "name", key) for key in fed}
    found: dict[tf.Operation, None] = {}
    waiting = [item for item in fetches if getattr(item, "name", item) not in names]
    while waiting:
        item = waiting.pop()
        op = getattr(item, "op", item)
        if op not in found:
            found[op] = None
            waiting += [tensor for tensor in op.inputs if tensor.name not in names]
            waiting += op.control_inputs
    return found


def placeholders_below(fetches: Iterable[Any], fed: Iterable[Any] = ()) -> list[tf.Operation]:
    """Returns the other placeholders that must be fed before the session can run the fetches."""
    return [op for op in ops_below(fetches, fed) if op.type == "Placeholder"]
