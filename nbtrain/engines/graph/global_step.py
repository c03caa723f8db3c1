"""The global step of a graph: found where TensorFlow's look-up does not see it, and read."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def adopt_global_step(graph: tf.Graph) -> Any:
    """The graph's global step; one that is known by its name only is made known. Or None.

    A resource variable named `global_step` is not found by TensorFlow's own look-up.
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
    """The global step of a session at this moment; None where the graph has none."""
    return None if global_step is None else int(np.ravel(sess.run(global_step))[0])
