"""Training a TF1 graph under a Supervisor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.engines.graph_saver import GraphSaver
from nbtrain.engines.supervisor import Supervisor, adopt_global_step
from nbtrain.errors import ArgumentError
from nbtrain.logdir import Logdir
from nbtrain.run import Run
from nbtrain.settings import Settings

v1 = tf.compat.v1

Feed = Callable[[], Mapping[Any, Any]]


class GraphEngine:
    """Runs a train op in a Supervisor's managed session.

    Args:
        supervisor: The Supervisor.
        train_op: What is run at every step.
        scalars: Tag to tensor of shape (), fetched together with it.
        feed: Gives the feed_dict of each step; None feeds nothing.
        directory: Folder of the checkpoints; None saves nothing.
    """

    kind = "Supervisor"

    def __init__(
        self,
        supervisor: Supervisor,
        train_op: Any,
        scalars: Mapping[str, Any],
        feed: Feed | None,
        directory: Path | None,
    ) -> None:
        self.coord = supervisor.coord
        self._supervisor = supervisor
        self._tags = tuple(scalars)
        self._fetches = [train_op, *scalars.values()]
        self._feed = feed
        self.functions = (feed,)
        self._directory = directory
        self._sess: tf.compat.v1.Session | None = None

    def models(self) -> list[object]:
        """The graph."""
        return [self._supervisor.graph]

    @contextlib.contextmanager
    def session(self) -> Iterator[GraphSaver | None]:
        """The Supervisor's managed session, its timed saves left to the run."""
        supervisor = self._supervisor
        supervisor.timed_saves = False
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
        try:
            with supervisor.managed_session() as sess:
                self._sess = sess
                if self._directory is None or supervisor.saver is None:
                    yield None
                else:
                    yield GraphSaver(supervisor, sess, self._directory)
        finally:
            supervisor.timed_saves = True

    def train(self, run: Run) -> None:
        """Run the train op until the run stops.

        Raises:
            ArgumentError: The train op leaves the graph's global step as it was.
        """
        assert self._sess is not None, "the run opens the session first"
        step, tags = self._stepper(self._sess), self._tags
        checked = self._supervisor.global_step is None

        def values() -> dict[str, Any]:
            nonlocal checked
            before = None if checked else self._global_step()
            _, *scalars = step()
            if before is not None:
                checked = True
                self._check_counting(before)
            return dict(zip(tags, scalars, strict=True))

        run.drive(values)

    def _stepper(self, sess: tf.compat.v1.Session) -> Callable[[], Sequence[Any]]:
        """One step; without a feed at a third of what `Session.run` adds to it."""
        fetches, feed = self._fetches, self._feed
        if feed is None:
            made: Callable[[], Sequence[Any]] = sess.make_callable(fetches)
            return made
        return lambda: sess.run(fetches, feed())

    def _global_step(self) -> int:
        assert self._sess is not None, "the run opens the session first"
        return int(np.ravel(self._sess.run(self._supervisor.global_step))[0])

    def _check_counting(self, before: int) -> None:
        if self._global_step() == before:
            raise ArgumentError(
                f"One run of the train op left global_step at {before}: pass global_step= to "
                "minimize() or apply_gradients(), or build the graph without a global step."
            )


def supervise(
    train_op: tf.Operation | tf.Tensor,
    *,
    scalars: Mapping[str, tf.Tensor | str] | None = None,
    supervisor: Supervisor | None = None,
    feed: Feed | None = None,
    steps: int | None = None,
    logdir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    save_secs: float | None = 600.0,
    save_steps: int | None = None,
    keep: int | None = 5,
    start: bool = True,
) -> Run:
    """Train a TF1 graph in the background under a Supervisor, and return the run at once.

    Args:
        train_op: An operation or tensor of the graph, run once a step.
        scalars: What to record of every step: tag to tensor of shape (), or to its name.
        supervisor: An `nbtrain.Supervisor` of the graph, whose saver, init ops and logdir
            are used; None makes one.
        feed: Called before every step; gives its feed_dict. It ends the run by raising
            StopIteration.
        steps: Global step at which the run finishes; None trains until stopped, or until
            an input queue is exhausted.
        logdir: Folder of the run; None takes the Supervisor's, else `runs/<name>`.
        name: The run's name; None takes the folder's, or a new numbered one. A run in a
            folder that has checkpoints goes on from the latest.
        save_secs: Seconds between two checkpoints; None or 0 saves none by time.
        save_steps: Steps between two checkpoints; None saves none by steps.
        keep: Checkpoints that stay, where no supervisor is given; None keeps all.
        start: Whether to start at once; False leaves that to `run.start()`.

    Raises:
        ArgumentError: An argument that cannot be used; nothing was started.
        BusyError: A run that has not ended holds the folder or the graph.

    Example:
        >>> run = nbtrain.supervise(train_op, scalars={"loss": loss}, steps=2_000)
        >>> run
    """
    settings = Settings(steps, save_secs, save_steps, keep)
    graph = graph_of(train_op, supervisor)
    tensors = {tag: scalar_of(graph, tag, given) for tag, given in (scalars or {}).items()}
    if feed is not None and not callable(feed):
        raise ArgumentError(
            f"feed={feed!r} cannot be called: give a function that returns the feed_dict of a "
            "step, such as lambda: {x: next(batches)}."
        )
    if supervisor is not None and supervisor.save_path and logdir is None:
        logdir = Path(supervisor.save_path).parent
    folder = Logdir(logdir, name, kind="supervise")
    if supervisor is None:
        try:
            supervisor = _supervisor(graph, folder.checkpoints, keep)
        except BaseException:
            folder.discard()
            raise
    directory = Path(supervisor.save_path).parent if supervisor.save_path else None
    engine = GraphEngine(supervisor, train_op, tensors, feed, directory)
    run = Run(engine, folder, settings)
    return run.start() if start else run


def graph_of(train_op: Any, supervisor: Any) -> tf.Graph:
    """The graph to train, once everything given belongs to it."""
    if supervisor is not None and not isinstance(supervisor, Supervisor):
        raise ArgumentError(
            f"supervisor={type(supervisor).__name__} object: make it with nbtrain.Supervisor(...), "
            "which takes the same arguments and works with eager execution on."
        )
    if tf.is_tensor(train_op) and not hasattr(train_op, "graph"):
        train_op = "an eager tensor"
    graph = getattr(train_op, "graph", None) if not isinstance(train_op, str) else None
    if not isinstance(graph, tf.Graph):
        raise ArgumentError(
            f"train_op is {train_op!r}: give an operation of a graph, such as "
            "optimizer.minimize(loss, global_step=step) built inside `with graph.as_default():`."
        )
    if supervisor is not None and supervisor.graph is not graph:
        raise ArgumentError(
            "train_op and supervisor belong to two graphs: build both inside the same "
            "`with graph.as_default():`."
        )
    return graph


def scalar_of(graph: tf.Graph, tag: str, given: Any) -> Any:
    """The tensor of shape () that was given under a tag, itself or by its name."""
    try:
        tensor = graph.as_graph_element(given, allow_operation=False)
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"scalars[{tag!r}]={given!r} is no tensor of the graph ({error}): give a tensor, or a "
            "name such as 'loss:0'."
        ) from error
    if not isinstance(tag, str) or not tag:
        raise ArgumentError(f"The tag {tag!r} is no name: give a string, such as 'loss'.")
    if tensor.shape.rank not in (0, None):
        raise ArgumentError(
            f"scalars[{tag!r}] has the shape {tensor.shape}, and a scalar was expected: reduce it, "
            "as tf.reduce_mean(...) does."
        )
    return tensor


def _supervisor(graph: tf.Graph, directory: Path, keep: int | None) -> Supervisor:
    """A Supervisor that leaves saving and summaries to the run."""
    adopt_global_step(graph)
    if not graph.finalized and not graph.get_collection(v1.GraphKeys.SAVERS):
        with graph.as_default():
            # Kept in the graph's collection: a cell that is run again finds it there.
            saver = v1.train.Saver(max_to_keep=keep or 0, save_relative_paths=True)
            graph.add_to_collection(v1.GraphKeys.SAVERS, saver)
    return Supervisor(
        graph,
        logdir=str(directory),
        summary_op=None,
        summary_writer=None,
        save_summaries_secs=0,
        save_model_secs=0,
    )
