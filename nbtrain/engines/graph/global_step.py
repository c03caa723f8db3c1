"""Finds the global step of a graph, even if TensorFlow's look-up does not, and reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.errors import ArgumentError

v1 = tf.compat.v1


def adopt_global_step(graph: tf.Graph) -> Any:
    """Returns the graph's global step, or None. Registers one that is known only by name.

    TensorFlow's own look-up does not find a resource variable named `global_step`.
    """
    known = graph.get_collection(v1.GraphKeys.GLOBAL_STEP)
    if known:
        return known[0]
    for variable in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES):
        if variable.op.name == "global_step" and variable.dtype.base_dtype.is_integer:
            graph.add_to_collection(v1.GraphKeys.GLOBAL_STEP, variable)
            return variable
    return None


def step_of(sess: tf.compat.v1.Session, global_step: Any) -> int | None:
    """Returns the current global step of a session; None if the graph has none."""
    return None if global_step is None else int(np.ravel(sess.run(global_step))[0])


def not_counted(step: int) -> ArgumentError:
    """Returns the error for a train op that leaves the global step at `step`."""
    return ArgumentError(
        f"One run of the train op left global_step at {step}: pass global_step= to minimize() or "
        "apply_gradients(), or build the graph without a global step."
    )
