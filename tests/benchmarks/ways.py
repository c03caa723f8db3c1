"""Ways to take the same steps: bare, under a run, with a peer of nbtrain's.

Every way calls the same clocked step as often as it is told.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.values.arrays import FloatArray
from nbtrain.engines.loops import LoopRun
from nbtrain.run.run import Run
from nbtrain.run.thread.threads import Coordinator
from nbtrain.tf1.arguments import GraphTraining
from nbtrain.tf1.engine import GraphEngine
from nbtrain.tf1.hooks.monitored import MonitorEngine, _training_session
from nbtrain.tf1.hooks.run_hook import RunHook
from nbtrain.tf1.session_mutex import SessionMutex
from tests.benchmarks.steps import GraphStep, Step


class Way:
    """Bare steps.

    Args:
        step: The step function.
        after: Done after each step with its values; None does nothing.
    """

    # False keeps the run's looper from ticking in blocks of this way.
    ticks = False

    def __init__(self, step: Step, after: Callable[[dict[str, Any]], object] | None = None) -> None:
        self._step = step
        self._after = after
        self.taken = 0

    def take(self, count: int) -> FloatArray:
        """Take so many steps; returns the seconds of each."""
        stamps: list[float] = []
        self.loop(self._clocked(self._step, count, stamps), count)
        self.taken += count
        return np.diff([*stamps, time.perf_counter()])

    def loop(self, clocked: Step, count: int) -> None:
        """The loop to measure."""
        after = self._after
        if after is None:
            for _ in range(count):
                clocked()
        else:
            for _ in range(count):
                after(clocked())

    @staticmethod
    def _clocked(step: Callable[[], Any], count: int, stamps: list[float]) -> Callable[..., Any]:
        """The step, noting when it begins; after so many, the end of its input."""
        now, stamp = time.perf_counter, stamps.append

        def clocked(*_fetches: Any) -> Any:
            if len(stamps) == count:
                raise StopIteration
            stamp(now())
            return step()

        return clocked


class OwnLoop(Way):
    """Steps in a loop of the user's own under a run."""

    ticks = True

    def __init__(self, step: Step, run: Run) -> None:
        super().__init__(step)
        self._run = run

    def loop(self, clocked: Step, count: int) -> None:
        """As a cell of `%%nbtrain` has it."""
        should_stop, record = self._run.should_stop, self._run.record
        for _ in range(count):
            should_stop()
            record(clocked())


class TrackedLoop(OwnLoop):
    """Steps in a tracked loop of the user's own."""

    _run: LoopRun

    def loop(self, clocked: Step, count: int) -> None:
        """As a tutorial has it."""
        self._run.attempt.loop.end_counting()  # the other ways count the steps
        record = self._run.record
        for _ in self._turns(count):
            record(clocked())

    def _turns(self, count: int) -> Iterable[int]:
        return self._run.track(range(count))


class ForegroundLoop(TrackedLoop):
    """The same through the generator of a loop in the foreground, that of `nbtrain.track`."""

    def _turns(self, count: int) -> Iterator[int]:
        yield from super()._turns(count)


class Driven(OwnLoop):
    """Steps in the loop of `nbtrain.train`."""

    def loop(self, clocked: Step, count: int) -> None:
        """As its engine has it."""
        with contextlib.suppress(StopIteration):
            self._run.drive(clocked)


class Supervised(OwnLoop):
    """Steps of a graph by the engine's own loop, that of `nbtrain.supervise`.

    Args:
        step: The graph.
        run: The run that takes the records.
        feed: Gives the feed_dict of each step, as there.
    """

    def __init__(
        self, step: GraphStep, run: Run, feed: Callable[[], Mapping[Any, Any]] | None
    ) -> None:
        super().__init__(step, run)
        supervisor: Any = _NoSupervisor(step.graph)
        training = GraphTraining(step.graph, step.train_op, {"loss": step.loss}, feed, {})
        self._engine = GraphEngine(training, supervisor, None)
        self._engine._sess = step.session
        self._stepper = self._engine._stepper(step.session)

    def take(self, count: int) -> FloatArray:
        """Take so many steps; returns the seconds of each."""
        stamps: list[float] = []
        clocked: Callable[[], Sequence[Any]] = self._clocked(self._stepper, count, stamps)
        self._engine._stepper = lambda sess: clocked  # type: ignore[method-assign]
        with contextlib.suppress(StopIteration):
            self._engine.train(self._run)
        self.taken += count
        return np.diff([*stamps, time.perf_counter()])


class _NoSupervisor:
    """The part of an open Supervisor that the engine's loop uses."""

    global_step = None
    summary_writer = True  # the engine writes no graph

    def __init__(self, graph: tf.Graph) -> None:
        self.coord = Coordinator()
        self.graph = graph


class SupervisorLoop(Way):
    """Steps as a program of TensorFlow's documentation takes them, outside any run."""

    def __init__(self, step: GraphStep) -> None:
        own = step.session  # the other ways keep theirs
        sess: Any = types.SimpleNamespace(run=own.run, make_callable=own.make_callable)
        self._mutex = SessionMutex(sess)
        self._coord = Coordinator()
        super().__init__(lambda: {"loss": sess.run(step.fetches)[1]})

    def loop(self, clocked: Step, count: int) -> None:
        """Ask whether to stop, then run."""
        for _ in range(count):
            self._coord.should_stop()
            clocked()


class Monitored(Way):
    """Steps as the documented loop of a MonitoredSession takes them.

    Args:
        sess: The session.
        fetches: What it runs.
        ticks: Whether it is under the run.
    """

    def __init__(self, sess: Any, fetches: Any, *, ticks: bool) -> None:
        super().__init__(lambda: sess.run(fetches))
        self._sess = sess
        self.ticks = ticks

    def loop(self, clocked: Step, count: int) -> None:
        """Ask whether to stop, then run."""
        should_stop = self._sess.should_stop
        for _ in range(count):
            if not should_stop():
                clocked()


class MonitorLoop(Monitored):
    """Steps of a MonitoredSession by the engine's own loop, that of `nbtrain.monitor`."""

    def __init__(self, sess: Any, engine: MonitorEngine) -> None:
        super().__init__(sess, engine._training.train_op, ticks=True)
        self._engine = engine

    def loop(self, clocked: Step, count: int) -> None:
        """As its engine has it."""
        sess = types.SimpleNamespace(should_stop=self._sess.should_stop, run=clocked)
        self._engine._loop(sess)


def monitored(step: GraphStep, run: Run, kind: str, stack: contextlib.ExitStack) -> dict[str, Way]:
    """A plain MonitoredSession, and one under the run; training thread.

    Args:
        step: The graph; each session has variables of its own.
        run: The run: it takes one session.
        kind: "RunHook" or "monitor".
        stack: Closes the sessions.
    """
    stack.enter_context(step.graph.as_default())
    hook = RunHook(run, {"loss": step.loss})
    folder: Any = types.SimpleNamespace(path=run.logdir)
    make = _training_session(step.graph, None, (), folder, 5.0)
    if kind == "RunHook":
        under: Way = Monitored(_plain(stack, [hook]), step.train_op, ticks=True)
    else:
        hook.train_op = step.train_op
        training = GraphTraining(step.graph, step.train_op, {}, None, {})
        engine = MonitorEngine(training, (), make)
        under = MonitorLoop(stack.enter_context(make([hook], stack)), engine)
    return {
        "MonitoredSession": Monitored(_plain(stack, []), step.fetches, ticks=False),
        kind: under,
    }


def _plain(stack: contextlib.ExitStack, hooks: list[Any]) -> Any:
    """A session as the documentation makes it."""
    training = tf.compat.v1.train.MonitoredTrainingSession
    return stack.enter_context(training(hooks=hooks, log_step_count_steps=None))


def _file_writer(step: Step, logdir: str) -> Way:
    v1 = tf.compat.v1
    with tf.Graph().as_default():  # a FileWriter refuses eager execution
        writer = v1.summary.FileWriter(logdir)
    steps = itertools.count()

    def add(values: dict[str, Any]) -> None:
        value = v1.Summary.Value(tag="loss", simple_value=float(values["loss"]))
        writer.add_summary(v1.Summary(value=[value]), next(steps))

    return Way(step, add)


def _summary(step: Step, logdir: str) -> Way:
    writer, steps = tf.summary.create_file_writer(logdir), itertools.count()

    def add(values: dict[str, Any]) -> None:
        with writer.as_default():
            tf.summary.scalar("loss", values["loss"], next(steps))

    return Way(step, add)


def _bar(step: Step, _logdir: str) -> Way:
    bar = importlib.import_module("tqdm.notebook").tqdm()
    return Way(step, lambda _: bar.update())


def _postfix(step: Step, _logdir: str) -> Way:
    bar = importlib.import_module("tqdm.notebook").tqdm()

    def add(values: dict[str, Any]) -> None:
        bar.set_postfix(loss=float(values["loss"]), refresh=False)
        bar.update()

    return Way(step, add)


def _trackio(step: Step, logdir: str) -> Way:
    os.environ["TRACKIO_DIR"] = logdir  # read at its import
    trackio = importlib.import_module("trackio")
    trackio.init(project="bench", embed=False)
    return Way(step, lambda values: trackio.log({"loss": float(values["loss"])}))


def _wandb(step: Step, logdir: str) -> Way:
    wandb = importlib.import_module("wandb")
    logged = wandb.init(mode="offline", dir=logdir)
    return Way(step, lambda values: logged.log({"loss": float(values["loss"])}))


# Other tools for the same purpose; they are no dependencies. To be made in a cell.
PEERS: dict[str, Callable[[Step, str], Way]] = {
    "tqdm.notebook": _bar,
    "tqdm.notebook, with the loss": _postfix,
    "FileWriter": _file_writer,
    "tf.summary.scalar": _summary,
    "trackio.log": _trackio,
    "wandb.log, offline": _wandb,
}
