"""What to say where a graph takes no further operation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from nbtrain.core.errors import ArgumentError

# What to do where a session has to add to a finalized graph.
ANEW = (
    "build it anew, or give the session a Scaffold that was finalized with it; what a Supervisor "
    "of your own has trained stays finalized."
)


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
        raise cannot_add(what, advice) from None


def cannot_add(what: str, advice: str) -> ArgumentError:
    """What to say where something has to add to a finalized graph; arguments as `adding_to`."""
    return ArgumentError(f"The graph is finalized, and {what} has to add to it: {advice}")
