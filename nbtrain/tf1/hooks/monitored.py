"""Trains a TF1 graph in a MonitoredSession with the run's hooks."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.run.run import Run
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import RunOptions, Settings, folder_of, with_options
from nbtrain.tf1.arguments import Feed, GraphTraining, checked
from nbtrain.tf1.creators import ChiefSessionCreator
from nbtrain.tf1.graphs import BUILD_AGAIN, adding_to, adopt_global_step
from nbtrain.tf1.hooks.eval_hook import check_tags
from nbtrain.tf1.hooks.run_hook import RunHook
from nbtrain.tf1.supervising.summaries import SupervisorEventFile

if TYPE_CHECKING:
    from typing_extensions import Unpack

v1 = tf.compat.v1

# Makes a MonitoredSession with the hooks given as hooks=.
MakeSession = Callable[..., Any]
# Makes one with these hooks, and registers on the stack the objects to close after it.
_Make = Callable[[Sequence[Any], contextlib.ExitStack], Any]
# Steps between two summaries.
_SUMMARY_STEPS = 100


class MonitorEngine:
    """Trains a graph in a MonitoredSession.

    Args:
        training: The graph, and the operation to run at every step.
        hooks: The user's hooks.
        make: Makes the session from all hooks.
        scaffold: Provides the saver; None uses the graph's.
    """

    kind = "MonitoredSession"
    epoch = total_steps = None
    evaluate = None  # an EvalHook evaluates
    origin: str | None = None
    resumes = None  # its session restores from its own folder

    def __init__(
        self, training: GraphTraining, hooks: Sequence[Any], make: _Make, scaffold: Any = None
    ) -> None:
        self.coord = Coordinator(graph=training.graph)
        self.functions = (training.feed,)
        self.hyperparameters = training.hyperparameters
        self._training = training
        self._hooks = hooks
        self._make = make
        self._scaffold = scaffold

    def models(self) -> list[object]:
        """Returns the graph."""
        return [self._training.graph]

    def roots(self) -> list[object]:
        """Returns the graph and the operation that trains it."""
        return [self._training.graph, self._training.train_op]

    def branched(self, folder: Logdir) -> MonitorEngine:
        """Raises an error: the session and its hooks were made for their folder."""
        raise ArgumentError(
            f"A run of nbtrain.tf1.monitor cannot be branched, to {folder.name!r} or another name: "
            "its session and its hooks were made for its own folder. One of nbtrain.tf1.supervise "
            "can."
        )

    def session(self) -> contextlib.AbstractContextManager[None]:
        """Does nothing: the session is opened later, and attached by its hook."""
        return contextlib.nullcontext()

    def train(self, run: Run) -> None:
        """Opens the session, and runs the train op until the session or the run stops."""
        hook = RunHook(run, self._training.scalars, scaffold=self._scaffold)
        hook.train_op, hook.hyperparameters = self._training.train_op, self.hyperparameters
        with contextlib.ExitStack() as stack:
            # Opened and closed inside the graph; in between, a feed is eager like a cell.
            with self._training.graph.as_default():
                with adding_to(self._training.graph, "the session", BUILD_AGAIN):
                    made = self._make([hook, *self._hooks], stack)
                sess = made.__enter__()
            stack.push(functools.partial(self._exit, sess))
            try:
                self._loop(sess)
            finally:  # here, as no hook's end() is called after an error
                run.handle.host.release()

    def _exit(self, sess: Any, *error: Any) -> Any:
        with self._training.graph.as_default():
            return sess.__exit__(*error)

    def _loop(self, sess: Any) -> None:
        feed, train_op = self._training.feed, self._training.train_op
        try:
            if feed is None:
                with self._training.graph.as_default():
                    while not sess.should_stop():
                        sess.run(train_op)
            else:
                while not sess.should_stop():
                    fed = feed()
                    with self._training.graph.as_default():  # for hooks and recoveries
                        sess.run(train_op, fed)
        except (StopIteration, tf.errors.OutOfRangeError):
            pass  # the input is exhausted


@with_options(RunOptions)
def monitor(
    train_op: tf.Operation | tf.Tensor,
    *,
    scalars: Mapping[str, tf.Tensor | str] | None = None,
    hooks: Sequence[Any] = (),
    chief_only_hooks: Sequence[Any] = (),
    scaffold: Any = None,
    session: MakeSession | None = None,
    feed: Feed | None = None,
    steps: int | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    start: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """Trains a TF1 graph in the background in a MonitoredSession, and returns the run at once.

    Args:
        train_op: An operation or tensor of the graph, run once a step.
        scalars: The scalars recorded at every step: tag to tensor of shape (), or to its name.
        hooks: `SessionRunHook` objects, called in the training thread inside the graph.
        chief_only_hooks: More hooks, called before `hooks`; not with `session`.
        scaffold: A `tf.compat.v1.train.Scaffold`; None makes one.
        session: Makes the session when called with `hooks=`, in the training thread inside the
            graph: `tf.compat.v1.train.SingularMonitoredSession`, `MonitoredSession`,
            `functools.partial(MonitoredTrainingSession, scaffold=..., checkpoint_dir=...)` or a
            function. None makes a `MonitoredSession` that continues from the run's checkpoints and
            writes the graph's summaries to its folder every 100 steps.
        feed: Called before every step, eagerly like a cell; returns its feed_dict. StopIteration
            ends the run.
        steps: The global step at which the run finishes; None trains until a hook requests a stop,
            the input is exhausted, or the run is stopped.
        hyperparameters: The variables that `run.set` and the panel can change during training: name
            to a variable of the graph, such as the one given to the optimizer as learning rate.
        start: Whether to start at once; False leaves that to `run.start()`.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended uses the folder or the graph.

    Example:
        >>> stop = tf.compat.v1.train.StopAtStepHook(last_step=2_000)
        >>> run = nbtrain.tf1.monitor(train_op, scalars={"loss": loss}, hooks=[stop])
    """
    settings = Settings.of(options, steps=steps)
    training = checked(train_op, scalars, feed, hyperparameters)
    check_tags(training.scalars, (*hooks, *chief_only_hooks))
    if session is not None and (chief_only_hooks or not callable(session)):
        raise ArgumentError(
            f"session={session!r} with chief_only_hooks={chief_only_hooks!r}: give a function "
            "that makes a session with the hooks given as hooks=, and all hooks in hooks=."
        )
    folder = folder_of(options, kind="monitor")
    make = _training_session(
        training.graph, scaffold, chief_only_hooks, folder, settings.stop_grace_secs
    )
    if session is not None:
        make = functools.partial(_given, session)
    engine = MonitorEngine(training, tuple(hooks), make, scaffold)
    run = Run(engine, folder, settings)
    return run.start() if start else run


def _training_session(
    graph: tf.Graph,
    scaffold: Any,
    chief_only_hooks: Sequence[Any],
    folder: Logdir,
    grace_secs: float,
) -> _Make:
    """Makes a MonitoredSession that leaves saving and counting to the run."""

    def make(hooks: Sequence[Any], stack: contextlib.ExitStack) -> Any:
        filled = scaffold or v1.train.Scaffold()
        # A SummarySaverHook adds to the graph and needs a global step. At each step it costs as
        # much as all its other hooks together, even if there are no summaries.
        summarizes = _has_summaries(graph, scaffold) and not graph.finalized
        if summarizes and adopt_global_step(graph) is not None:
            # summary_dir is not used: its file and thread would stay open in TensorFlow's cache
            # until the kernel ends.
            writer = SupervisorEventFile(str(folder.path))
            stack.callback(writer.close)
            summary_hook = v1.train.SummarySaverHook(
                save_steps=_SUMMARY_STEPS, summary_writer=writer, scaffold=filled
            )
            hooks = [*hooks, summary_hook]
        # No checkpoint_dir: the run's hook restores, with its own saver.
        creator = ChiefSessionCreator(filled)
        return v1.train.MonitoredSession(creator, [*chief_only_hooks, *hooks], grace_secs)

    return make


def _given(session: MakeSession, hooks: Sequence[Any], _stack: contextlib.ExitStack) -> Any:
    return session(hooks=hooks)


def _has_summaries(graph: tf.Graph, scaffold: Any) -> bool:
    keys = v1.GraphKeys
    if scaffold is not None and scaffold.summary_op is not None:
        return True
    return bool(graph.get_collection(keys.SUMMARIES) or graph.get_collection(keys.SUMMARY_OP))
