"""TensorFlow's Supervisor, working beside eager execution.

Eager execution and the default graph are settings of a thread. A Supervisor's
service threads, and every cell outside `with graph.as_default()`, run eagerly, where
its savers and counters fail. Here each of its threads and methods enters its graph.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from nbtrain.errors import ArgumentError
from nbtrain.threads import Coordinator

v1 = tf.compat.v1


def _in_graph(name: str) -> Callable[..., Any]:
    method = getattr(v1.train.Supervisor, name)

    @functools.wraps(method)
    def entered(self: Supervisor, *args: Any, **kwargs: Any) -> Any:
        with self.graph.as_default():
            return method(self, *args, **kwargs)

    return entered


class Supervisor(tf.compat.v1.train.Supervisor):
    """A `tf.compat.v1.train.Supervisor` for programs in which eager execution stays on.

    Takes the same arguments. Under `nbtrain.supervise` the checkpoints that its timer
    would write from another thread are written by the run, between two steps.

    Args:
        graph: The graph; None takes the default graph of the calling thread.
        kwargs: TensorFlow's other arguments.

    Raises:
        ArgumentError: The graph is empty, or finalized without what a Supervisor needs.
    """

    def __init__(self, graph: tf.Graph | None = None, **kwargs: Any) -> None:
        if graph is None:
            graph = v1.get_default_graph()
        if not isinstance(graph, tf.Graph) or not graph.get_operations():
            raise ArgumentError(
                f"The graph {graph!r} is empty: pass graph=, or build the Supervisor inside "
                "`with graph.as_default():`."
            )
        adopt_global_step(graph)
        try:
            with graph.as_default():
                # Unwrapped: without the advice, in every notebook, to use something else.
                inspect.unwrap(v1.train.Supervisor.__init__)(self, graph=graph, **kwargs)
        except RuntimeError as error:
            if not graph.finalized:
                raise
            raise ArgumentError(
                "The graph was finalized before its Supervisor was made, which has to add "
                "operations to it: leave graph.finalize() out, training does it."
            ) from error
        self._coord = Coordinator(graph)
        self.timed_saves = True

    start_queue_runners = _in_graph("start_queue_runners")
    prepare_or_wait_for_session = _in_graph("prepare_or_wait_for_session")
    stop = _in_graph("stop")
    summary_computed = _in_graph("summary_computed")

    def start_standard_services(self, sess: tf.compat.v1.Session) -> Any:
        """Start the service threads, each in the graph; without the timed saver under a run."""
        secs: float = self.save_model_secs
        self._save_model_secs = secs if self.timed_saves else 0
        try:
            with self.graph.as_default():
                return super().start_standard_services(sess)
        finally:
            self._save_model_secs = secs

    @contextlib.contextmanager
    def managed_session(self, *args: Any, **kwargs: Any) -> Iterator[tf.compat.v1.Session]:
        """TensorFlow's managed session, its body inside the graph."""
        with self.graph.as_default(), super().managed_session(*args, **kwargs) as sess:
            yield sess

    @property
    def graph(self) -> tf.Graph:
        """The graph that it supervises."""
        return self._graph


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


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Let the calling thread do what the panel tells of without TensorFlow telling it too.

    A notebook prints TensorFlow's INFO lines under the cell. Other threads' lines, warnings,
    and the level that the user has set stay as they are.
    """
    logger, thread = tf.get_logger(), threading.get_ident()

    def wanted(record: logging.LogRecord) -> bool:
        # TensorFlow's Saver calls what TensorFlow deprecates: nobody can mend that here.
        own = isinstance(record.args, tuple) and "get_checkpoint_mtimes" in record.args
        return record.thread != thread or not (record.levelno <= logging.INFO or own)

    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)
