"""The queues of a graph, closed by a stop: whoever waits at one then gets an answer."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import tensorflow as tf

from nbtrain.run.threads import Coordinator

# Where a graph keeps the operations: a finalized one takes no more of them.
_CLOSING = "nbtrain_closing_queues"

_QUEUES = {"FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"}


def add_closing(graph: tf.Graph) -> None:
    """Add to a graph what closes its queues, where that is missing; not to a finalized one."""
    if graph.finalized:
        return
    closed = {op.inputs[0].op for op in graph.get_collection(_CLOSING)}
    with graph.as_default(), tf.control_dependencies(None):
        for queue in graph.get_operations():
            if queue.type in _QUEUES and queue not in closed:
                op = tf.raw_ops.QueueCloseV2(handle=queue.outputs[0], cancel_pending_enqueues=True)
                graph.add_to_collection(_CLOSING, op)


def close_on_stop(sess: tf.compat.v1.Session, coord: Coordinator) -> None:
    """Close the queues of a session's graph when its coordinator stops.

    TensorFlow closes those that have a queue runner. One that is filled in another way (a
    thread that feeds it) would let a training step wait at it for ever.
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
    with contextlib.suppress(tf.errors.OpError, RuntimeError):  # the session is closed already
        sess.run(ops)
