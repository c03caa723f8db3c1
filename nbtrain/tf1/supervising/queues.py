"""Closes the queues of a graph at a stop, so that waiting threads return."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import tensorflow as tf

from nbtrain.run.thread.threads import Coordinator

# The collection of the closing operations: none can be added to a finalized graph.
_CLOSING = "nbtrain_closing_queues"

_QUEUES = {"FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"}


def add_closing(graph: tf.Graph) -> None:
    """Adds operations that close the queues, if missing and the graph is not finalized."""
    if graph.finalized:
        return
    closed = {op.inputs[0].op for op in graph.get_collection(_CLOSING)}
    with graph.as_default(), tf.control_dependencies(None):
        for queue in graph.get_operations():
            if queue.type in _QUEUES and queue not in closed:
                op = tf.raw_ops.QueueCloseV2(handle=queue.outputs[0], cancel_pending_enqueues=True)
                graph.add_to_collection(_CLOSING, op)


def close_on_stop(sess: tf.compat.v1.Session, coord: Coordinator) -> None:
    """Closes the queues of a session's graph when its coordinator stops.

    TensorFlow closes queues that have a queue runner. A training step could wait forever at any
    other queue, such as one filled by a thread.
    """
    ops = sess.graph.get_collection(_CLOSING)
    if not ops:
        return
    thread = threading.Thread(
        target=_close, args=(sess, ops, coord), name="nbtrain queues-close_on_stop", daemon=True
    )
    coord.register_thread(thread)
    thread.start()


def _close(sess: tf.compat.v1.Session, ops: list[Any], coord: Coordinator) -> None:
    coord.wait_for_stop()
    with contextlib.suppress(tf.errors.OpError, RuntimeError):  # the session is already closed
        sess.run(ops)
