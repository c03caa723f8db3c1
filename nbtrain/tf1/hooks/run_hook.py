"""The hook that makes a MonitoredSession the training of a run.

hook.begin()                        # the graph may still change: its saver, its global step
hook.after_create_session(...)      # makes the session's saver; called again after a recovery
    hook.before_run(...)            # fetches the scalars
    hook.after_run(...)             # the step boundary: record, save, commands, pause, stop
hook.end(...)                       # a last checkpoint
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import NO_VARIABLES
from nbtrain.engines.hyperparameters import in_session
from nbtrain.inner.tensorflow import reopen
from nbtrain.run.boundary.loop import Loop
from nbtrain.run.run import Run
from nbtrain.tf1.arguments import scalar_of
from nbtrain.tf1.creators import WorkerSessionCreator, creator_of
from nbtrain.tf1.graph_event import graph_event
from nbtrain.tf1.graphs import adding_to, adopt_global_step, is_nobodys
from nbtrain.tf1.hooks.fetches import Fetches
from nbtrain.tf1.replica import show_tasks
from nbtrain.tf1.saving.session_savers import SessionSavers
from nbtrain.tf1.servers import limit_closing, wait_secs

v1 = tf.compat.v1


class RunHook(tf.compat.v1.train.SessionRunHook):
    """Makes the MonitoredSession of the user's own loop the training of its run.

    For `MonitoredSession`, `SingularMonitoredSession` and `MonitoredTrainingSession`, inside
    `@nbtrain.background` or `%%nbtrain`. The graph's global step counts: a `run` call that does not
    advance it, such as an evaluation, is not a step of the run. Put this hook first, so that the
    others see the restored session.

    On a cluster, the session needs a `ChiefSessionCreator` or `WorkerSessionCreator` of
    `nbtrain.tf1`. A run refuses TensorFlow's own creators there, because they ignore a stop until
    they have made a session.

    Args:
        run: The run; the session is made in its training thread.
        scalars: The scalars recorded at every step: tag to tensor of shape (), or to its name.
        scaffold: The session's scaffold, if it has a saver of its own.

    Example:
        >>> @nbtrain.background
        ... def digits(run):
        ...     with graph.as_default():
        ...         hook = nbtrain.tf1.RunHook(run, {"loss": loss})
        ...         with tf.compat.v1.train.MonitoredTrainingSession(hooks=[hook]) as sess:
        ...             while not sess.should_stop():
        ...                 sess.run(train_op)
    """

    def __init__(
        self, run: Run, scalars: Mapping[str, Any] | None = None, *, scaffold: Any = None
    ) -> None:
        if not isinstance(run, Run):
            raise ArgumentError(
                f"run={type(run).__name__} object: give the run that the loop of "
                "@nbtrain.background is called with."
            )
        self._run = run
        self._scalars = dict(scalars or {})
        self._scaffold = scaffold
        self._opened: tuple[tf.compat.v1.Session, tf.train.Coordinator] | None = None
        self.train_op: Any = None  # fetches that must advance the global step, if it is known
        self.hyperparameters = NO_VARIABLES  # those of this session
        self._loop: Loop | None = None
        self._end_first_call: Callable[[], object] = lambda: None
        self._lost = 0  # sessions in a row that were lost without completing a step

    def begin(self) -> None:
        """Prepares the saver and the global step before the graph is finalized.

        Raises:
            ArgumentError: This is not the training thread of the run, or a scalar is invalid.
            CheckpointError: The folder contains checkpoints of another model.
        """
        if not self._run.trains_here():
            raise ArgumentError(
                f"A RunHook of {self._run!r} is used outside that run's training thread: make the "
                "session in the function that @nbtrain.background calls, or use "
                "nbtrain.tf1.monitor()."
            )
        graph = v1.get_default_graph()
        if is_nobodys(graph):
            raise ArgumentError(
                "The default graph is empty: make the MonitoredSession inside `with "
                "graph.as_default():`."
            )
        tensors = {tag: scalar_of(graph, tag, given) for tag, given in self._scalars.items()}
        with adding_to(graph, "the RunHook", "make its session before the graph is finalized."):
            self._fetches = Fetches(adopt_global_step(graph), tensors, self.train_op)
            self._savers = SessionSavers(graph, self._scaffold, self._run.logdir, self._run.keep)
        self._graph, self._was_finalized = graph, graph.finalized
        self._run.handle.host.initial = self._savers.latest
        self._loop = None
        self._has_stopped = False
        self._run.attempt.model_graph.set(functools.partial(graph_event, graph))
        self._run.handle.log.is_false = self._is_false
        self._run.handle.host.at_end(self.close)

    def after_create_session(
        self, session: tf.compat.v1.Session, coord: tf.train.Coordinator
    ) -> None:
        """Restores the latest checkpoint; waits first if a session was lost.

        Raises:
            ArgumentError: TensorFlow's own creator has made the session of a cluster.
            StopIteration: A stop was requested during the wait.
        """
        again = self._loop is not None
        limit_closing(session, self._run.handle.host.note)
        show_tasks(session)
        self._close_session()  # a session lost while another hook prepared it
        self._opened = session, coord
        creator = creator_of(session)
        if session.sess_str and creator is None:
            raise ArgumentError(
                f"The session at {tf.compat.as_str(session.sess_str)} was made by TensorFlow's own "
                "creator, which ignores a stop while it waits for a server: give MonitoredSession "
                "an nbtrain.tf1.ChiefSessionCreator(master=..., config=...), for a worker a "
                "WorkerSessionCreator; or use the session of an nbtrain.tf1.Replica."
            )
        in_session(self.hyperparameters, session, self.train_op)
        saver = None
        if not isinstance(creator, WorkerSessionCreator):
            restored = creator.restored if creator else None
            saver = self._savers.of(session, self._fetches.global_step, restored)
        step = self._fetches.step_of(session) or 0
        self._loop = self._run.handle.host.attach(coord, saver, step, again=again)
        if again:
            self._lost += 1
            if self._run.coord.wait_for_stop(wait_secs(self._lost - 1)):
                raise StopIteration
        elif self._loop.after_call(0, None, lambda step: step):
            self._has_stopped = True
            coord.request_stop()

    def before_run(self, run_context: Any) -> Any:
        """Fetches the scalars if the run trains."""
        request = self._fetches.ask(run_context.session, run_context.original_args)
        if self._fetches.steps is None:  # the first step: the next hooks may wait before it
            asked_to_stop = self._run.handle.host.asked_to_stop
            self._end_first_call = _stoppable(run_context.session, asked_to_stop)
        return request

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Acts at the step boundary."""
        assert self._loop is not None, "a session has been made"
        steps = self._fetches.steps
        if steps is None:
            self._end_first_call()
            steps = self._fetches.learn(run_context.session, run_context.original_args.fetches)
        self._lost = 0
        if self._loop.after_call(steps, run_values.results, self._recount):
            self._stop(run_context, steps)

    def end(self, session: tf.compat.v1.Session) -> None:  # noqa: ARG002 - TensorFlow's
        """Writes a last checkpoint while the session is open."""
        self._run.handle.host.release()

    def close(self) -> None:
        """Closes the session and reopens the graph, if a hook raises while the session is made."""
        self._close_session()
        if self._graph.finalized and not self._was_finalized:
            reopen(self._graph)

    def _close_session(self) -> None:
        self._end_first_call()
        opened, self._opened = self._opened, None
        if opened is not None:
            session, coord = opened
            coord.request_stop()
            session.close()

    def _stop(self, run_context: Any, steps: int) -> None:
        """Ends the loop at its next `should_stop`, or by force if it trains without calling that.

        After a stop by force, a second call in the same iteration would raise an error.
        """
        if not self._has_stopped and self._opened is not None:
            self._has_stopped = True
            self._opened[1].request_stop()
        elif steps:
            run_context.request_stop()

    def _is_false(self, line: str) -> bool:
        """Returns whether TensorFlow's message that a step has not counted is known to be wrong.

        TensorFlow's StepCounterHook reads the global step together with the train op, before or
        after its increment. So two steps in a row may show the same number.
        """
        return line.startswith("It seems that global step") and bool(self._fetches.steps)

    def _recount(self, expected: int) -> int:
        """Returns the exact step; if it differs from `expected`, forgets the counts of fetches."""
        assert self._opened is not None, "its session is open"
        step = self._fetches.step_of(self._opened[0])
        if step is None or step == expected:
            return expected
        self._fetches.forget()
        return step


def _stoppable(session: Any, asked_to_stop: Callable[[], bool]) -> Callable[[], None]:
    """Lets calls of a session raise StopIteration once a stop was requested; only in this thread.

    A hook that waits before the first step, such as a GlobalStepWaiterHook, calls the session until
    a step is reached, and does not check for a stop. A MonitoredSession treats StopIteration as the
    end of its input.

    Returns:
        A function that restores the session's method. The first error restores it too.
    """
    run, thread = session.run, threading.get_ident()

    def end() -> None:
        session.run = run

    def stoppable(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread:  # such as one that closes a queue
            return run(*args, **kwargs)
        try:
            if asked_to_stop():
                raise StopIteration
            return run(*args, **kwargs)
        except BaseException:
            end()
            raise

    session.run = stoppable
    return end
