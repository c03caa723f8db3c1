"""TensorFlow's session manager, saver and queue runner, usable outside their graph's scope.

Eager execution and the default graph are settings of a thread. Outside `with graph.as_default()`,
in a cell or a thread, TensorFlow's own classes raise errors or see an empty graph. These classes
enter the graph that their arguments belong to.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import tensorflow as tf

from nbtrain.checkpoints.files import state_of
from nbtrain.core.errors import ArgumentError
from nbtrain.run.thread.threads import Coordinator
from nbtrain.tf1.graphs import adding_to, graph_of, own_graph
from nbtrain.tf1.saving.compatibility import check_fit, restoring
from nbtrain.tf1.servers import ask_all, close_in_time, wait_for, wait_for_servers
from nbtrain.tf1.session_mutex import mutex_of
from nbtrain.tf1.signatures import bound, taking

v1 = tf.compat.v1

_Method = TypeVar("_Method", bound=Callable[..., Any])

_EARLIER = "make it before a Supervisor or a session that trains, or in a new graph."


def _documented_as(method: Callable[..., Any]) -> Callable[[_Method], _Method]:
    """Copies the signature and the docstring of TensorFlow's method to an override."""
    return cast("Callable[[_Method], _Method]", functools.wraps(method))


class SessionManager(tf.compat.v1.train.SessionManager):
    """A `tf.compat.v1.train.SessionManager` for any cell and thread.

    It has the same arguments and methods. Two things differ:

    - A wait ends when `coord` stops. TensorFlow's class ignores a stop while it waits.
    - A checkpoint of another model raises an error before anything is restored, as in `Saver`.

    Args:
        args, kwargs: TensorFlow's arguments. graph=None uses the graph of the operations given, or
            the default graph.
        coord: The coordinator whose stop ends a wait; None never ends one.

    Raises:
        ArgumentError: There is no graph: the default graph is empty, and was not entered.
    """

    @taking(v1.train.SessionManager.__init__)
    def __init__(
        self, *args: Any, coord: tf.train.Coordinator | None = None, **kwargs: Any
    ) -> None:
        given = bound(v1.train.SessionManager, *args, **kwargs)
        names = ("local_init_op", "ready_op", "ready_for_local_init_op")
        operations = [given.arguments[name] for name in names]
        if given.arguments["graph"] is None:
            given.arguments["graph"] = graph_of(operations, "SessionManager")
        super().__init__(*given.args, **given.kwargs)
        self._coord = coord or Coordinator()

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = float("inf")
    ) -> tf.compat.v1.Session:
        """Returns a session that another thread or process has prepared.

        Args:
            master: Address of the TensorFlow master.
            config: A `ConfigProto`, or None.
            max_wait_secs: Seconds to wait; None waits for as long as it takes.

        Raises:
            tf.errors.DeadlineExceededError: The session was not ready in time.
            tf.errors.CancelledError: The coordinator stopped.
        """
        wait_once, secs = super().wait_for_session, _unending(max_wait_secs)
        wait_for_servers(master, config, self._coord, secs)

        def attempt() -> tf.compat.v1.Session | None:
            if master:  # a server may have died since
                ask_all(master, config)
            with self._graph.as_default():
                try:
                    return wait_once(master, config=config, max_wait_secs=0)
                except tf.errors.DeadlineExceededError:
                    return None

        sess = wait_for(
            attempt,
            self._coord,
            every_secs=self._recovery_wait_secs,
            max_wait_secs=secs,
            discard=lambda sess: close_in_time(sess.close),
        )
        if sess is None:
            raise tf.errors.DeadlineExceededError(
                None,
                None,
                f"The chief has not made the session ready within {secs:g} s: see whether it runs, "
                "and uses the same master and the same variables.",
            )
        return sess

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
        """Does the first part of `prepare_session` and `recover_session`."""
        path = checkpoint_filename_with_path

        def latest() -> str | None:
            state = state_of(checkpoint_dir) if checkpoint_dir else None
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
            with restoring(path) if saver and path else contextlib.nullcontext():
                restored: tuple[tf.compat.v1.Session, bool] = super()._restore_checkpoint(
                    master, saver, checkpoint_dir, checkpoint_filename_with_path, config=config
                )
            return restored

    @_documented_as(v1.train.SessionManager.prepare_session)
    def prepare_session(self, *args: Any, **kwargs: Any) -> tf.compat.v1.Session:  # noqa: D102
        with self._graph.as_default():  # the user's init_fn runs here
            return super().prepare_session(*args, **kwargs)


class Saver(tf.compat.v1.train.Saver):
    """A `tf.compat.v1.train.Saver` for any cell and thread.

    It has the same arguments, and writes and reads the same files. Variables, tables and
    saveable objects of eager execution are saved and restored with None for the session, as in
    TensorFlow. Three things differ:

    - It saves and restores between two steps of a session made by an `nbtrain.tf1.Supervisor`,
      whichever thread calls it. TensorFlow's class would save a mixture of two steps.
    - A checkpoint that does not fit raises an error before anything is restored. TensorFlow's class
      silently restores a value of another shape, and a later step fails.
    - A restore that fails raises a CheckpointError that says what to do. It is also an instance of
      TensorFlow's error, except for a truncated file: that raises a `tf.errors.DataLossError`
      instead of OutOfRangeError, which a Supervisor would treat as the end of the input.

    Args:
        args, kwargs: TensorFlow's arguments. var_list=None saves all variables of the default
            graph.

    Raises:
        ArgumentError: There is no graph: the default graph is empty, and was not entered.
    """

    @taking(v1.train.Saver.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        var_list = bound(v1.train.Saver, *args, **kwargs).arguments["var_list"]
        items = list(var_list.values() if isinstance(var_list, dict) else var_list or ())
        self._is_eager = _are_eager(items)
        with _entered(items, eager=self._is_eager) as graph, adding_to(graph, "a Saver", _EARLIER):
            super().__init__(*args, **kwargs)

    @_documented_as(v1.train.Saver.save)
    def save(  # noqa: D102
        self, sess: tf.compat.v1.Session, save_path: str, *args: Any, **kwargs: Any
    ) -> str | None:
        if save_path is None:
            raise ArgumentError(
                "save_path is None, as that of a Supervisor without a logdir: give logdir= to "
                "nbtrain.tf1.Supervisor(...), or say under which path to save."
            )
        path: str | None = self._in_turn(sess, super().save, save_path, *args, **kwargs)
        return path

    def restore(self, sess: tf.compat.v1.Session | None, save_path: str) -> None:
        """Sets the variables from a checkpoint.

        Args:
            sess: The session; None for eager variables.
            save_path: The path that `save` returned.

        Raises:
            CheckpointError: Nothing was restored. The error is also a `ValueError` if no checkpoint
                has this path, a `tf.errors.NotFoundError` if variables are missing, a
                `tf.errors.InvalidArgumentError` if they have other shapes, and a
                `tf.errors.DataLossError` if the files cannot be read.
        """
        if self._is_empty:
            return
        check_fit(self, save_path)
        with restoring(save_path):
            self._in_turn(sess, super().restore, save_path)

    def _in_turn(self, sess: Any, act: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        def inside() -> Any:
            with _entered((sess,), eager=self._is_eager):
                return act(sess, *args, **kwargs)

        mutex = mutex_of(sess)
        return mutex.run_between(inside) if mutex else inside()

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Returns a saver for the default graph, as described by a `SaverDef`."""
        return Saver(saver_def=saver_def, name=import_scope)


class QueueRunner(tf.compat.v1.train.QueueRunner):
    """A `tf.compat.v1.train.QueueRunner` that can be made in any cell and thread.

    It has the same arguments. Supervisors and `tf.compat.v1.train.add_queue_runner` accept it.

    Args:
        args, kwargs: TensorFlow's arguments.

    Raises:
        ArgumentError: There is no graph: the default graph is empty, and was not entered.
    """

    @taking(v1.train.QueueRunner.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = bound(v1.train.QueueRunner, *args, **kwargs).arguments
        graph = graph_of(given["enqueue_ops"] or (), "QueueRunner")
        with graph.as_default(), adding_to(graph, "a QueueRunner", _EARLIER):
            super().__init__(*args, **kwargs)

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Returns a queue runner for the default graph, as described by a `QueueRunnerDef`."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _are_eager(items: list[Any]) -> bool:
    """Returns whether items are of eager execution: variables, tables and saveable objects."""
    if not items or any(own_graph(item) is not None for item in items):
        return False
    return tf.executing_eagerly() or all(isinstance(item, tf.Variable) for item in items)


@contextlib.contextmanager
def _entered(items: Iterable[Any], *, eager: bool) -> Iterator[tf.Graph]:
    """Enters the graph of some items; with `eager`, enters eager execution."""
    if eager:
        with tf.__internal__.eager_context.eager_mode():
            yield v1.get_default_graph()
    else:
        with graph_of(items, "Saver").as_default() as graph:
            yield graph


def _unending(secs: float | None) -> float:
    return float("inf") if secs is None else secs
