"""The hook that puts a MonitoredSession under a run.

hook.begin()                        # the graph may still change: its saver, its global step
hook.after_create_session(...)      # takes the session's saver; called again after a recovery
    hook.before_run(...)            # fetches the scalars
    hook.after_run(...)             # the step boundary: record, save, commands, pause, stop
hook.end(...)                       # a last checkpoint
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import listed
from nbtrain.checkpoints.mending import mend_states
from nbtrain.core.errors import ArgumentError
from nbtrain.core.hyperparameters import NO_VARIABLES
from nbtrain.engines.graph.arguments import scalar_of
from nbtrain.engines.graph.compatibility import check_fit
from nbtrain.engines.graph.dependencies import placeholders_below
from nbtrain.engines.graph.graphs import (
    adding_to,
    adopt_global_step,
    is_nobodys,
    not_counted,
    step_of,
)
from nbtrain.engines.graph.saver import Saved, SessionSaver, session_saver
from nbtrain.engines.graph.savers import find_saver, own_saver
from nbtrain.engines.graph.servers import limit_closing
from nbtrain.engines.graph.session_retry import SessionRetry, wait_secs
from nbtrain.engines.hyperparameters import in_session
from nbtrain.run.loops import HookLoop
from nbtrain.run.run import Run
from nbtrain.run.session_host import owner

v1 = tf.compat.v1

# The most kinds of fetches whose step count is remembered.
_MOST_KINDS = 64


class RunHook(tf.compat.v1.train.SessionRunHook):
    """Puts the MonitoredSession of the user's own loop under its run.

    For `MonitoredSession`, `SingularMonitoredSession` and `MonitoredTrainingSession`, inside
    `@nbtrain.background` or `%%nbtrain`. The graph's global step counts: a `run` call that does not
    advance it, such as an evaluation, is not a step of the run. Put this hook first, so that the
    others see the session as restored.

    Args:
        run: The run; the session is made in its training thread.
        scalars: The scalars recorded at every step: tag to tensor of shape (), or to its name.
        scaffold: The session's scaffold, if it has a saver of its own.

    Example:
        >>> @nbtrain.background
        ... def digits(run):
        ...     with graph.as_default():
        ...         hook = nbtrain.RunHook(run, {"loss": loss})
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
        self._loop: HookLoop | None = None

    def begin(self) -> None:
        """Prepares the saver and the global step before the graph is finalized.

        Raises:
            ArgumentError: This is not the training thread of the run, or a scalar is invalid.
            CheckpointError: The folder holds checkpoints of another model.
        """
        if owner.get() is not self._run.handle.host:
            raise ArgumentError(
                f"A RunHook of {self._run!r} is used outside that run's training thread: make the "
                "session in the function that @nbtrain.background calls, or use nbtrain.monitor()."
            )
        self._graph = graph = v1.get_default_graph()
        if is_nobodys(graph):
            raise ArgumentError(
                "The default graph is empty: make the MonitoredSession inside `with "
                "graph.as_default():`."
            )
        self._was_finalized = graph.finalized
        tensors = {tag: scalar_of(graph, tag, given) for tag, given in self._scalars.items()}
        self._request = v1.train.SessionRunArgs(tensors) if tensors else None
        scalars = list(tensors.values())
        self._fed = scalars if placeholders_below(scalars) else []
        self._directory = self._run.logdir / "checkpoints"
        with adding_to(graph, "the RunHook", "make its session before the graph is finalized."):
            self._global_step = adopt_global_step(graph)
            saver = find_saver(graph, self._scaffold)
        self._mended = mend_states(self._directory)
        if isinstance(saver, v1.train.Saver) and (checkpoints := listed(self._directory)):
            check_fit(saver, checkpoints[-1].path)
        self._saved: Saved | None = None
        self._loop = None
        self._attempts = SessionRetry(
            graph, self._run.coord, self._run.handle.host.note, self._latest
        )
        self._lost = 0  # sessions in a row that were lost without completing a step
        self._told_to_stop = False
        self._steps: int | None = None  # advance of the step by the current fetches, once known
        self._known: dict[tuple[int, ...] | int, tuple[int, Any, Any]] = {}
        self._run.handle.log.is_false = self._is_false
        self._run.handle.host.at_end(self.close)

    def after_create_session(
        self, session: tf.compat.v1.Session, coord: tf.train.Coordinator
    ) -> None:
        """Restores the latest checkpoint; waits first if a session was lost."""
        again = self._loop is not None
        self._attempts.succeeded()
        # The set itself, as other hooks add their threads to it.
        limit_closing(session, self._run.handle.host.note, coord._registered_threads)
        self._close_session()  # a session lost while another hook prepared it
        self._opened = session, coord
        self._session = session
        in_session(self.hyperparameters, session, self.train_op)
        saver = self._session_saver(session)
        step = step_of(session, self._global_step) or 0
        self._loop = self._run.handle.host.attach(coord, saver, step, again=again)
        if again:
            self._wait()
        elif self._loop.arrive(0, None, lambda step: step):
            self._told_to_stop = True
            coord.request_stop()

    def before_run(self, run_context: Any) -> Any:
        """Fetches the scalars if the run trains."""
        fetches = run_context.original_args.fetches
        kind = type(fetches)
        if kind is list or kind is tuple:
            key: Any = tuple(map(id, fetches))
        elif kind is dict:
            key = tuple(map(id, fetches.values()))
        else:
            key = id(fetches)
        known = self._known.get(key)
        if known is None:
            self._steps = None
            self._before = step_of(self._session, self._global_step)
            self._key = key
            self._asked = self._what_to_ask(run_context.original_args)
            return self._asked
        self._steps = known[0]
        return known[1]

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Reaches the step boundary."""
        assert self._loop is not None, "a session has been made"
        steps = self._steps
        if steps is None:
            steps = self._steps = self._learn(run_context.original_args.fetches)
        self._lost = 0
        if self._loop.arrive(steps, run_values.results, self._recount):
            self._stop(run_context, steps)

    def end(self, session: tf.compat.v1.Session) -> None:  # noqa: ARG002 - TensorFlow's
        """Writes a last checkpoint while the session is open."""
        self._run.handle.host.release()
        self._attempts.end()

    def close(self) -> None:
        """Undoes what TensorFlow leaves behind if a hook raises while the session is made."""
        self._attempts.end()
        self._close_session()
        if self._graph.finalized and not self._was_finalized:
            self._graph._unsafe_unfinalize()  # as TensorFlow does when it closes a session

    def _close_session(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            session, coord = opened
            coord.request_stop()
            session.close()

    def _session_saver(self, session: tf.compat.v1.Session) -> SessionSaver | None:
        self._saved = self._saved or self._what_is_saved()
        if self._saved is None:
            return None
        saver = session_saver(self._saved, session, restored=self._attempts.restored)
        saver.mended, self._mended = self._mended, None
        return saver

    def _latest(self, saver: Any) -> str | None:
        """The latest checkpoint, if the saver can initialize all variables from it."""
        checkpoints = listed(self._directory)
        if not checkpoints or not isinstance(saver, v1.train.Saver):
            return None
        path = checkpoints[-1].path
        proof = check_fit(saver, path)
        variables = self._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        whole = proof and {variable.op.name for variable in variables} <= set(proof.matched)
        return path if whole else None

    def _what_is_saved(self) -> Saved | None:
        saver = find_saver(self._graph, self._scaffold)
        if saver is None or self._attempts.for_worker:
            return None
        saver = own_saver(saver, self._directory, self._run.keep)
        path = str(self._directory / "model.ckpt")
        ready_op = next(iter(self._graph.get_collection(v1.GraphKeys.READY_OP)), None)
        return Saved(self._graph, saver, path, self._global_step, ready_op)

    def _what_to_ask(self, args: Any) -> Any:
        """The scalars, unless they need a feed that these fetches do not need.

        Another hook may feed what the fetches need as well.
        """
        feed = args.feed_dict
        fed = feed if isinstance(feed, Mapping) else ()  # otherwise TensorFlow raises an error
        needed = placeholders_below(self._fed, fed)
        if needed and not set(needed) <= set(placeholders_below(self._elements(args.fetches))):
            return None
        return self._request

    def _elements(self, fetches: Any) -> Iterator[Any]:
        """Yields the tensors and operations of some fetches."""
        for item in tf.nest.flatten(fetches, expand_composites=True):
            with contextlib.suppress(KeyError, TypeError, ValueError):  # TensorFlow raises
                yield self._graph.as_graph_element(item)

    def _learn(self, fetches: Any) -> int:
        """Returns how far these fetches advance the step; each run is a step if there is none."""
        steps = 1
        if self._before is not None:
            steps = (step_of(self._session, self._global_step) or 0) - self._before
            if steps == 0 and fetches is self.train_op:
                raise not_counted(self._before)
        if len(self._known) >= _MOST_KINDS:
            self._known.clear()
        # Holds the fetches themselves: as long as they live, no others have their ids.
        self._known[self._key] = steps, self._asked if steps else None, fetches
        return steps

    def _stop(self, run_context: Any, steps: int) -> None:
        """Ends the loop at its next `should_stop`, or by force if it trains on without asking.

        After a stop by force, a second call in the same iteration would raise an error.
        """
        if not self._told_to_stop and self._opened is not None:
            self._told_to_stop = True
            self._opened[1].request_stop()
        elif steps:
            run_context.request_stop()

    def _is_false(self, line: str) -> bool:
        """Tells if TensorFlow's message that a step has not counted is known to be wrong.

        Its StepCounterHook reads the global step beside the train op, before or after it has
        counted. So two steps in a row may show the same number.
        """
        return line.startswith("It seems that global step") and bool(self._steps)

    def _recount(self, expected: int) -> int:
        """Returns the exact step. If it differs from `expected`, these fetches count unevenly."""
        step = step_of(self._session, self._global_step)
        if step is None or step == expected:
            return expected
        self._known.clear()
        return step

    def _wait(self) -> None:
        """Waits after a session was lost; a stop ends the wait and the training.

        Raises:
            StopIteration: The run was asked to stop.
        """
        secs = wait_secs(self._lost)
        self._lost += 1
        if self._run.coord.wait_for_stop(secs):
            raise StopIteration
