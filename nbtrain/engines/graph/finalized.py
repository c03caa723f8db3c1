"""Errors for adding to a finalized graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from nbtrain.core.errors import ArgumentError

# Advice for a session that has to add to a finalized graph.
ANEW = (
    "build it anew, or give the session a Scaffold that was finalized with it; what a Supervisor "
    "of your own has trained stays finalized."
)


@contextlib.contextmanager
def adding_to(graph: tf.Graph, what: str, advice: str) -> Iterator[None]:
    """Adds to a graph inside the block, and translates the error if it is finalized.

    Args:
        graph: The graph.
        what: What has to add to it.
        advice: What to do if it is finalized.

    Raises:
        ArgumentError: It is finalized.
    """
    try:
        yield
    except RuntimeError as error:
        # Leaves errors of a training step alone, during which the graph may be finalized.
        if not (graph.finalized and "finalized" in str(error)):
            raise
        raise cannot_add(what, advice) from None


def cannot_add(what: str, advice: str) -> ArgumentError:
    """Returns the error for adding to a finalized graph; arguments as in `adding_to`."""
    return ArgumentError(f"The graph is finalized, and {what} has to add to it: {advice}")
