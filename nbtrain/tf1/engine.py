"""Trains a TF1 graph under a Supervisor."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.hyperparameters import in_session
from nbtrain.engines.signatures import check_evaluation
from nbtrain.inner.tensorflow import reopen
from nbtrain.run.boundary.session_host import owner
from nbtrain.run.output.tensorflow_log import hushed
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import RunOptions, Settings, folder_of, with_options
from nbtrain.tf1.arguments import Feed, GraphTraining, check_saving, checked
from nbtrain.tf1.graph_event import graph_event
from nbtrain.tf1.graphs import adopt_global_step, not_counted, step_of
from nbtrain.tf1.saving.saver import GraphSaver, Saved
from nbtrain.tf1.saving.savers import find_saver, own_saver, saves
from nbtrain.tf1.saving.writing import SupervisorSaver
from nbtrain.tf1.supervising.supervisor import Supervisor

if TYPE_CHECKING:
    from typing_extensions import Unpack

v1 = tf.compat.v1

SessionEvaluation = Callable[[Any], Mapping[str, SupportsFloat]]


class GraphEngine:
    """Trains a graph in a Supervisor's managed session.

    Args:
        training: The graph, and the operation to run at every step.
        supervisor: Opens the session.
        directory: The folder of the checkpoints; None saves nothing.
        evaluate: Evaluates the model, given the session; None if there is nothing to evaluate.
        reopen: Whether the graph, finalized while it trains, can be added to afterwards.
        supervised: Makes a Supervisor that saves into another folder; None if the user made this
            one.
    """

    kind = "Supervisor"
    epoch = total_steps = None
    origin: str | None = None

    def __init__(
        self,
        training: GraphTraining,
        supervisor: Supervisor,
        directory: Path | None,
        *,
        evaluate: SessionEvaluation | None = None,
        reopen: bool = False,
        supervised: Callable[[Path], Supervisor] | None = None,
    ) -> None:
        self.coord = supervisor.coord
        self.functions = (training.feed,)
        self.hyperparameters = training.hyperparameters
        self.evaluate = None if evaluate is None else lambda: evaluate(self._sess)
        self._training, self._evaluate = training, evaluate
        self._supervisor, self._directory = supervisor, directory
        self._reopen = reopen
        self._supervised = supervised
        self._sess: tf.compat.v1.Session | None = None

    @property
    def resumes(self) -> Path | None:
        """The folder of its checkpoints; None if it saves nothing."""
        return self._directory if saves(self._supervisor.saver) else None

    def models(self) -> list[object]:
        """Returns the graph."""
        return [self._training.graph]

    def roots(self) -> list[object]:
        """Returns the graph and the objects that train it."""
        return [self._supervisor, self._training.graph, self._training.train_op]

    def branched(self, folder: Logdir) -> GraphEngine:
        """Returns the same graph under another Supervisor, which saves into another folder.

        Raises:
            ArgumentError: The Supervisor was given by the user.
        """
        if self._supervised is None:
            raise ArgumentError(
                "This run's Supervisor was made for its own folder. To branch, leave supervisor= "
                "out when you start it; or make another nbtrain.tf1.Supervisor(logdir=...), and "
                "copy the checkpoint into that folder."
            )
        return GraphEngine(
            self._training,
            self._supervised(folder.checkpoints),
            folder.checkpoints,
            evaluate=self._evaluate,
            reopen=self._reopen,
            supervised=self._supervised,
        )

    @contextlib.contextmanager
    def session(self) -> Iterator[GraphSaver | None]:
        """Opens the Supervisor's managed session and leaves its timed saves to the run.

        Raises:
            CheckpointError: The latest checkpoint of the folder cannot be restored.
        """
        supervisor = self._supervisor
        saver: GraphSaver | None = None
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
            if saves(supervisor.saver) and self._supervised is None:
                saver = SupervisorSaver(supervisor, self._directory, self.origin)
            elif saves(supervisor.saver):
                saver = GraphSaver(Saved.by(supervisor), self._directory, self.origin)
        run = owner.get()
        assert run is not None, "this is the training thread"
        run.own_tags = frozenset(self._training.scalars)
        supervisor.graph.finalize()
        try:
            with contextlib.ExitStack() as stack:
                # TensorFlow's own method, whose body is eager like the cells: a feed may read a
                # dataset.
                managed = v1.train.Supervisor.managed_session(supervisor)
                with hushed(), saver.opening() if saver else contextlib.nullcontext():
                    self._sess = stack.enter_context(managed)
                in_session(self.hyperparameters, self._sess, self._training.train_op)
                if saver is not None:
                    saver.sess = self._sess
                yield saver
        finally:
            run.own_tags = None
            if self._reopen:
                reopen(supervisor.graph)

    def train(self, run: Run) -> None:
        """Runs the train op until the run stops.

        Raises:
            ArgumentError: The train op does not advance the graph's global step.
        """
        sess, global_step = self._sess, self._supervisor.global_step
        assert sess is not None, "the run opens the session first"
        if not self._supervisor.summary_writer:  # its own has written the graph
            run.attempt.model_graph.set(functools.partial(graph_event, self._training.graph))
        tags = tuple(self._training.scalars)
        step = every = self._stepper(sess)

        def first() -> Sequence[Any]:
            nonlocal step
            step = every
            before = step_of(sess, global_step)
            results = every()
            if before is not None and step_of(sess, global_step) == before:
                raise not_counted(before)
            return results

        step = first

        def values() -> dict[str, Any]:
            _, *scalars = step()
            return dict(zip(tags, scalars, strict=True))

        run.drive(values)

    def _stepper(self, sess: tf.compat.v1.Session) -> Callable[[], Sequence[Any]]:
        """Returns a function that runs a step, with a third of the overhead if there is no feed."""
        fetches = [self._training.train_op, *self._training.scalars.values()]
        feed = self._training.feed
        if feed is None:
            made: Callable[[], Sequence[Any]] = sess.make_callable(fetches)
            return made
        return lambda: sess.run(fetches, feed())


@with_options(RunOptions)
def supervise(
    train_op: tf.Operation | tf.Tensor,
    *,
    scalars: Mapping[str, tf.Tensor | str] | None = None,
    supervisor: Supervisor | None = None,
    feed: Feed | None = None,
    steps: int | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    evaluate: SessionEvaluation | None = None,
    evaluate_secs: float | None = None,
    evaluate_steps: int | None = None,
    start: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """Trains a TF1 graph in the background under a Supervisor, and returns the run at once.

    Args:
        train_op: An operation or tensor of the graph, run once a step.
        scalars: The scalars recorded at every step: tag to tensor of shape (), or to its name.
        supervisor: An `nbtrain.tf1.Supervisor` of the graph; None makes one.
        feed: Called before every step; returns its feed_dict. StopIteration ends the run.
        steps: The global step at which the run finishes; None trains until its input ends.
        hyperparameters: The variables that `run.set` and the panel can change: name to a variable
            of the graph.
        evaluate: Called with the session between two steps; returns scalars by name, as in `train`.
        evaluate_secs: Seconds between two evaluations; None or 0 disables this.
        evaluate_steps: Steps between two evaluations; None disables this.
        start: Whether to start at once; False leaves that to `run.start()`.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended uses the folder or the graph.

    Example:
        >>> run = nbtrain.tf1.supervise(train_op, scalars={"loss": loss}, steps=2_000)
    """
    settings = Settings.of(
        options, steps=steps, evaluate_secs=evaluate_secs, evaluate_steps=evaluate_steps
    )
    check_evaluation(evaluate, settings, None)
    training = checked(train_op, scalars, feed, hyperparameters, supervisor)
    graph = training.graph
    if supervisor is not None:
        check_saving(supervisor, settings)
    if supervisor is not None and supervisor.save_path and options.get("logdir") is None:
        options["logdir"] = Path(supervisor.save_path).parent
    folder = folder_of(options, kind="supervise")
    reopen = supervisor is None and not graph.finalized
    supervised = None
    if supervisor is None:
        supervised = functools.partial(_supervisor, graph, settings.keep)
        try:
            supervisor = supervised(folder.checkpoints)
        except BaseException:
            folder.discard()
            raise
    if directory := Path(supervisor.save_path).parent if supervisor.save_path else None:
        folder.include(directory)
    engine = GraphEngine(
        training,
        supervisor,
        directory,
        evaluate=evaluate,
        reopen=reopen,
        supervised=supervised,
    )
    run = Run(engine, folder, settings)
    return run.start() if start else run


def _supervisor(graph: tf.Graph, keep: int | None, directory: Path) -> Supervisor:
    """Makes a Supervisor that leaves saving and summaries to the run."""
    adopt_global_step(graph)
    with graph.as_default():
        found = find_saver(graph, None)
        saver = own_saver(found, directory, keep) if found else Supervisor.USE_DEFAULT
    return Supervisor(
        graph,
        logdir=str(directory),
        saver=saver,
        summary_op=None,
        summary_writer=None,
        save_summaries_secs=0,
        save_model_secs=0,
    )
