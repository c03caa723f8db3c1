"""TensorFlow's session manager, saver and queue runner, inside their graph wherever they are used.

Eager execution and the default graph are settings of a thread: outside
`with graph.as_default()`, in a cell or a thread, TensorFlow's own classes refuse to work
or look into an empty graph. These enter the graph that their arguments belong to.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import tensorflow as tf

from nbtrain.engines.graph.finalized import adding_to
from nbtrain.engines.graph.fitting import check_fit, read_all
from nbtrain.engines.graph.servers import LOST
from nbtrain.engines.graph.turns import turns_at
from nbtrain.engines.graph.waiting import ready_session, wait_for, wait_for_servers
from nbtrain.errors import ArgumentError
from nbtrain.threads import Coordinator

v1 = tf.compat.v1

_Method = TypeVar("_Method", bound=Callable[..., Any])

# Seconds between two attempts where TensorFlow waits: its own default.
_RECOVERY_WAIT_SECS = 30.0


_EARLIER = "make it before a Supervisor or a session that trains, or in a graph built anew."


def _told_as(method: Callable[..., Any]) -> Callable[[_Method], _Method]:
    """Give an override the signature and the docstring of TensorFlow's method."""
    return cast("Callable[[_Method], _Method]", functools.wraps(method))


class SessionManager(tf.compat.v1.train.SessionManager):
    """A `tf.compat.v1.train.SessionManager` for any cell and thread.

    It takes the same arguments and has the same methods. In addition a wait ends when
    `coord` stops, and a checkpoint of another model is refused before anything is restored.

    Args:
        local_init_op: Run in every new session, if it is ready for it; or None.
        ready_op: Names of what is not initialized: empty when a session is ready; or None.
        ready_for_local_init_op: The same, for being ready for `local_init_op`; or None.
        graph: The graph; None takes that of the operations given, or the default graph.
        recovery_wait_secs: Seconds between two attempts, of a wait.
        coord: Its stop ends a wait; None waits on.
        kwargs: TensorFlow's further arguments.

    Raises:
        ArgumentError: There is no graph with operations.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: tf.Graph | None = None,
        recovery_wait_secs: float = _RECOVERY_WAIT_SECS,
        *,
        coord: tf.train.Coordinator | None = None,
        **kwargs: Any,
    ) -> None:
        operations = (local_init_op, ready_op, ready_for_local_init_op)
        _check_arguments(v1.train.SessionManager, **kwargs)
        graph = graph or graph_of(operations, "SessionManager")
        super().__init__(
            local_init_op, ready_op, ready_for_local_init_op, graph, recovery_wait_secs, **kwargs
        )
        self._coord = coord or Coordinator()

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = None
    ) -> tf.compat.v1.Session:
        """A session that another thread or process has made ready.

        Args:
            master: Address of the TensorFlow master.
            config: A `ConfigProto`, or None.
            max_wait_secs: Seconds to wait; None waits for as long as it takes.

        Raises:
            tf.errors.DeadlineExceededError: It was not ready in time.
            tf.errors.CancelledError: The coordinator stopped.
        """
        wait_once = super().wait_for_session
        return ready_session(
            lambda: wait_once(master, config=config, max_wait_secs=0),
            self._graph,
            self._coord,
            master=master,
            config=config,
            every_secs=self._recovery_wait_secs,
            max_wait_secs=_unending(max_wait_secs),
        )

    def _restore_checkpoint(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float | None = 7200,
        config: Any = None,
    ) -> tuple[tf.compat.v1.Session, bool]:
        """What `prepare_session` and `recover_session` begin with."""
        path = checkpoint_filename_with_path

        def latest() -> str | None:
            state = tf.train.get_checkpoint_state(checkpoint_dir)
            return state.model_checkpoint_path or None if state else None

        with self._graph.as_default():
            if saver and checkpoint_dir and not path:
                path = latest()
                if wait_for_checkpoint and path is None:
                    path = wait_for(
                        latest,
                        self._coord,
                        every_secs=self._recovery_wait_secs,
                        max_wait_secs=_unending(max_wait_secs),
                    )
            if saver and path:
                check_fit(saver, path)
            wait_for_servers(master, config, self._coord)
            try:
                restored: tuple[tf.compat.v1.Session, bool] = super()._restore_checkpoint(
                    master, saver, checkpoint_dir, checkpoint_filename_with_path, config=config
                )
            except Exception as error:
                if saver and path and not isinstance(error, LOST):
                    read_all(path)  # of one that was cut short TensorFlow says: no more input
                raise
            return restored

    @_told_as(v1.train.SessionManager.prepare_session)
    def prepare_session(self, *args: Any, **kwargs: Any) -> tf.compat.v1.Session:  # noqa: D102
        with self._graph.as_default():  # the user's init_fn runs here
            return super().prepare_session(*args, **kwargs)


class Saver(tf.compat.v1.train.Saver):
    """A `tf.compat.v1.train.Saver` for any cell and thread.

    It takes the same arguments. In addition it saves and restores between two steps of a
    session that an `nbtrain.Supervisor` has made, whichever thread asks for it, and refuses
    a checkpoint that does not fit before anything is restored.

    Args:
        var_list: What to save: variables, or a dict of them by their names in a checkpoint;
            None saves all variables of the default graph.
        args, kwargs: TensorFlow's further arguments.

    Raises:
        ArgumentError: There is no graph with operations.
    """

    def __init__(self, var_list: Any = None, *args: Any, **kwargs: Any) -> None:
        _check_arguments(v1.train.Saver, var_list, *args, **kwargs)
        items = var_list.values() if isinstance(var_list, dict) else var_list or ()
        graph = graph_of(items, "Saver")
        with graph.as_default(), adding_to(graph, "a Saver", _EARLIER):
            super().__init__(var_list, *args, **kwargs)

    @_told_as(v1.train.Saver.save)
    def save(  # noqa: D102
        self, sess: tf.compat.v1.Session, save_path: str, *args: Any, **kwargs: Any
    ) -> str | None:
        if save_path is None:
            raise ArgumentError(
                "save_path is None, as that of a Supervisor without a logdir: give logdir= to "
                "nbtrain.Supervisor(...), or say under which path to save."
            )
        path: str | None = self._in_turn(sess, super().save, save_path, *args, **kwargs)
        return path

    def restore(self, sess: tf.compat.v1.Session, save_path: str) -> None:
        """Set the variables from a checkpoint.

        Raises:
            CheckpointError: It cannot be read, lacks variables, or has them in other shapes;
                it names them, and nothing was restored.
        """
        check_fit(self, save_path)
        self._in_turn(sess, super().restore, save_path)

    def _in_turn(self, sess: Any, act: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        def inside() -> Any:
            with graph_of((sess,), "Saver").as_default():
                return act(sess, *args, **kwargs)

        turns = turns_at(sess)
        return turns.take(inside) if turns else inside()


class QueueRunner(tf.compat.v1.train.QueueRunner):
    """A `tf.compat.v1.train.QueueRunner` that can be made in any cell and thread.

    It takes the same arguments (queue, enqueue_ops, close_op, cancel_op,
    queue_closed_exception_types, queue_runner_def, import_scope). Supervisors and
    `tf.compat.v1.train.add_queue_runner` take it.

    Raises:
        ArgumentError: There is no graph with operations.
    """

    def __init__(self, queue: Any = None, enqueue_ops: Any = None, **kwargs: Any) -> None:
        _check_arguments(v1.train.QueueRunner, queue, enqueue_ops, **kwargs)
        graph = graph_of(enqueue_ops or (), "QueueRunner")
        with graph.as_default(), adding_to(graph, "a QueueRunner", _EARLIER):
            super().__init__(queue, enqueue_ops, **kwargs)


def _check_arguments(kind: type, *args: Any, **kwargs: Any) -> None:
    """Raise the TypeError for arguments that a class does not take, before any other error."""
    try:
        inspect.signature(kind).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{kind.__name__}() {error}") from None


def graph_of(items: Iterable[Any], of: str) -> tf.Graph:
    """The graph of the first item that has one, or else the default graph.

    Raises:
        ArgumentError: That graph is empty.
    """
    for item in items:
        graph = getattr(item, "graph", None)
        if isinstance(graph, tf.Graph):
            return graph
    graph = v1.get_default_graph()
    if not graph.get_operations():
        raise ArgumentError(
            f"{of}: the default graph of this thread is empty. Make it inside `with "
            "graph.as_default():`, or of variables and operations of a graph."
        )
    return graph


def _unending(secs: float | None) -> float:
    return float("inf") if secs is None else secs
