"""What to say where a graph takes no further operation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from nbtrain.errors import ArgumentError


@contextlib.contextmanager
def adding_to(graph: tf.Graph, what: str, advice: str) -> Iterator[None]:
    """Add to a graph.

    Args:
        graph: The graph.
        what: What has to add to it.
        advice: What to do where it is finalized.

    Raises:
        ArgumentError: It is finalized; in the place of TensorFlow's error.
    """
    try:
        yield
    except RuntimeError as error:
        # Not the error of a step that trains: the graph may be finalized then.
        if not (graph.finalized and "finalized" in str(error)):
            raise
        raise ArgumentError(
            f"The graph is finalized, and {what} has to add to it ({error}): {advice}"
        ) from None
