"""Encodes the graph of a training for the boards, as a FileWriter of TensorFlow 1 does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

# The most bytes of the constants of a graph. They would be copied, and no board shows them.
MOST_BYTES = 16 << 20

# The random name of the folder for a checkpoint's parts, by TensorFlow's Saver, and one as long.
_DRAWN, _NOT_DRAWN = re.compile(rb"_temp_[0-9a-f]{32}"), b"_temp_" + 32 * b"0"


def graph_event(graph: tf.Graph) -> Event:
    """Returns an event with the graph and the shapes of its tensors; any thread.

    Raises:
        ValueError: Its constants are too large.
    """
    from tensorboard.compat.proto.event_pb2 import Event

    size = sum(map(_size, graph.get_operations()))
    if size > MOST_BYTES:
        raise ValueError(
            f"its constants have {size:,} bytes, and at most {MOST_BYTES:,} are written"
        )
    definition = graph.as_graph_def(add_shapes=True)
    # The same bytes at each start, so that the same graph is recognized.
    serialized = definition.SerializeToString(deterministic=True)
    return Event(graph_def=_DRAWN.sub(_NOT_DRAWN, serialized))


def _size(op: tf.Operation) -> int:
    """Returns the bytes of a constant; 0 for another operation."""
    if op.type != "Const":
        return 0
    (output,) = op.outputs
    return int((output.shape.num_elements() or 0) * output.dtype.size)
