"""The graph of a training: its global step, and additions to it before it is finalized."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.errors import ArgumentError

v1 = tf.compat.v1

# Advice for a session that has to add to a finalized graph.
BUILD_AGAIN = (
    "build it again, or give the session a Scaffold that was finalized with it; what a Supervisor "
    "of your own has trained stays finalized."
)


def graph_of(items: Iterable[Any], owner: str) -> tf.Graph:
    """Returns the graph of the first item that has one, or else the default graph.

    Raises:
        ArgumentError: The default graph is empty, and was not entered; the message names `owner`.
    """
    for item in items:
        if (found := own_graph(item)) is not None:
            return found
    graph = v1.get_default_graph()
    if is_nobodys(graph):
        raise ArgumentError(
            f"{owner}: the default graph of this thread is empty. Make it inside `with "
            "graph.as_default():`, or of variables and operations of a graph."
        )
    return graph


def own_graph(item: Any) -> tf.Graph | None:
    """Returns the graph of a tensor, an operation, a variable, a table or a saveable object.

    Returns None if the item has no graph, as items of eager execution.
    """
    for part in (item, getattr(item, "op", None), getattr(item, "resource_handle", None)):
        graph = getattr(part, "graph", None)
        if isinstance(graph, tf.Graph):
            return graph
    return None


def is_nobodys(graph: tf.Graph) -> bool:
    """Returns whether a default graph is the empty graph of a thread, which nobody entered."""
    return tf.executing_eagerly() and not graph.get_operations()


@contextlib.contextmanager
def adding_to(graph: tf.Graph, what: str, advice: str) -> Iterator[None]:
    """Adds `what` to a graph inside the block, and translates the error if it is finalized.

    Raises:
        ArgumentError: The graph is finalized; the message ends with `advice`.
    """
    try:
        yield
    except RuntimeError as error:
        # Passes on errors of a training step, during which the graph may be finalized.
        if not (graph.finalized and "finalized" in str(error)):
            raise
        raise ArgumentError(
            f"The graph is finalized, and {what} has to add to it: {advice}"
        ) from None


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
