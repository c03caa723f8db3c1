"""Trains a user's step on parameter servers and workers: `nbtrain.train(build, cluster=...)`.

build()                # the variables, on the parameter servers
run.drive(pipeline)    # every completed step is counted, whichever worker executed it
...                    # a parameter server is lost: the run waits for it
build()                # again: the training continues from the latest checkpoint
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.cluster import ports
from nbtrain.cluster.description import Description, TaskAddress, described
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.core.errors import ArgumentError
from nbtrain.core.tasks import Task, TaskState
from nbtrain.core.values.hyperparameters import NO_VARIABLES, Variable
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.engines.ps import servers
from nbtrain.engines.ps.connection import Connection, connecting, is_calling
from nbtrain.engines.ps.pipeline import Pipeline
from nbtrain.engines.ps.saver import ServerSaver
from nbtrain.engines.signatures import check_call
from nbtrain.engines.trained import Trained
from nbtrain.run.boundary.session_host import owner
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.run import Run
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import RunOptions, Settings, folder_of

# Seconds between two polls of lost or missing servers.
_POLL_SECS = 0.2


class ParameterServerEngine:
    """Trains on a cluster.

    Args:
        description: The cluster.
        build: Creates the variables; returns the step and more, see `Built`.
        data: Returns the dataset of a worker; None for none.
        directory: The folder of the checkpoints.
        keep: How many checkpoints to keep; None keeps all.
        evaluate: None if there is nothing to evaluate.
        launched: The cluster if this process has launched it: it knows more of its tasks.
    """

    kind = "parameter servers"
    epoch = total_steps = None
    origin: str | None = None
    hyperparameters: Mapping[str, Variable] = NO_VARIABLES  # known once the variables are built

    def __init__(
        self,
        description: Description,
        build: Callable[[], Any],
        data: Callable[[], tf.data.Dataset] | None,
        directory: Path,
        *,
        keep: int | None,
        evaluate: Evaluation | None,
        launched: LaunchedCluster | None,
    ) -> None:
        self.coord = Coordinator()
        self.functions = (build,)
        self.evaluate = evaluate
        self._description, self._launched, self._data = description, launched, data
        self._directory, self._keep = directory, keep
        self._connection: Connection | None = None
        self._lost: list[TaskAddress] = []
        self._saving: ServerSaver | None = None

    @property
    def resumes(self) -> Path:
        """The folder of its checkpoints."""
        return self._directory

    def models(self) -> list[object]:
        """Returns none: `build` makes its own variables."""
        return []

    def roots(self) -> Sequence[object]:
        """Returns none, as `models` does."""
        return []

    def branched(self, folder: Logdir) -> ParameterServerEngine:
        """Returns the same training for another folder."""
        engine = copy.copy(self)
        engine.coord, engine._directory = Coordinator(), folder.checkpoints
        return engine

    @contextlib.contextmanager
    def session(self) -> Iterator[ObjectSaver | None]:
        """Waits for the servers, connects to them and builds the variables."""
        host = owner.get()
        assert host is not None, "the run trains in this thread"
        with connecting(host.name):
            self._wait_for_servers(host.note, self.coord.should_stop)
            if self.coord.should_stop():
                raise tf.errors.CancelledError(None, None, "Stopped before the servers were there.")
            self._connect()
            try:
                yield self._saver()
            finally:
                self._connected.close()
                self._connection = None

    def train(self, run: Run) -> None:
        """Lets the workers execute steps until the run stops."""
        handle, connection = run.handle, self._connected
        pipeline = Pipeline(handle.remote, connection, handle.note)
        handle.remote.begin(pipeline.complete, held_by(connection.built.hyperparameters))
        launched = self._launched
        handle.remote.watch.source = self._shown if launched is None else launched.shown
        handle.remote.end_silent = list if launched is None else launched.end_silent
        while True:
            try:
                run.drive(pipeline)
                break
            except StopIteration:  # raised between two steps
                break
            except tf.errors.OpError as error:
                self._lost = servers.lost_servers(error, self._description.of("ps"))
                if not self._lost:
                    raise
                pipeline.lose()
                pipeline.reset(self._recover(run))
        pipeline.complete()

    @property
    def _connected(self) -> Connection:
        assert self._connection is not None, "the session is open"
        return self._connection

    def _recover(self, run: Run) -> Connection:
        """Waits for lost parameter servers, then continues from the latest checkpoint.

        Raises:
            StopIteration: A stop was requested meanwhile.
        """
        handle, step = run.handle, run.handle.step
        lost = servers.in_words(self._lost)
        why = f"{lost} was lost at step {step:,}"
        handle.note("save", None)
        handle.note("lost", f"{why} and is waited for: start it again. A stop ends the waiting.")
        handle.remote.lose(f"{why} and is waited for; nothing can be saved or changed until then.")
        while True:
            self._connected.close()
            self._wait_for_servers(handle.note, handle.remote.answer)
            if handle.remote.answer():
                raise StopIteration
            try:
                self._connect()
                saver = self._saver()
                held = held_by(self._connected.built.hyperparameters)
                now = handle.remote.resume(saver, held)
                break
            except tf.errors.UnavailableError:  # lost again
                self.coord.wait_for_stop(_POLL_SECS)
        self._lost = []
        handle.note("lost", None)
        goes_on = f"the training continues from step {now:,}"
        if saver is None:
            goes_on = "as nothing is saved, the training starts all over"
        text = f"{lost} was lost at step {step:,}; {goes_on}."
        handle.inform(text)
        handle.remote.log(text)
        return self._connected

    def _wait_for_servers(
        self, note: Callable[[str, str | None], None], should_end: Callable[[], bool]
    ) -> None:
        """Waits until this process can connect, or `should_end`; notes what it waits for."""
        tasks = [*self._description.of("ps"), *self._description.of("worker")]
        is_noted = False
        # To connect, TensorFlow would wait for a halted server with Python's lock held.
        while (missing := servers.silent(tasks, ports.answers)) or is_calling():
            if should_end():
                break
            if others := [task for task in missing if task not in self._lost]:
                is_noted = True
                note(
                    "servers",
                    f"{servers.in_words(others[:5])} {'do' if others[1:] else 'does'} not answer, "
                    "and the training waits: start what is missing; end the process of what is "
                    "halted first. A stop ends the waiting.",
                )
            self.coord.wait_for_stop(_POLL_SECS)
        if is_noted:
            note("servers", None)

    def _connect(self) -> None:
        (build,) = self.functions
        self._connection = Connection(self._description, build, self._data)
        servers.limit_silence(self._description.tasks)

    def _saver(self) -> ServerSaver | None:
        built = self._connected.built
        if built.checkpoint is None:
            return None
        trained = Trained(lambda: (built.step,), built.hyperparameters)
        # Kept until the next connection: TensorFlow would call lost servers to delete its trace.
        self._saving = ServerSaver(
            built.checkpoint, self._directory, keep=self._keep, origin=self.origin, trained=trained
        )
        return self._saving

    def _shown(self) -> list[Task]:
        """Returns the tasks as TensorFlow's coordinator sees them; any thread."""
        connection = self._connection
        workers = () if connection is None else connection.lost_workers()
        gone = {*self._lost, *(self._description.task("worker", index) for index in workers)}
        return [
            Task(
                task.job,
                task.index,
                TaskState.LOST if task in gone else TaskState.RUNNING,
                task.address,
            )
            for task in self._description.tasks
            if task.job in ("ps", "worker")
        ]


def on_cluster(
    cluster: Any,
    build: Any,
    data: Any,
    settings: Settings,
    options: RunOptions,
    *,
    evaluate: Evaluation | None,
    refused: Mapping[str, object],
) -> Run:
    """Returns the run of `nbtrain.train(build, cluster=...)`, not started.

    Args:
        cluster: The cluster.
        build: Creates the variables; returns the step, the checkpoint and the hyperparameters.
        data: Returns the dataset of a worker; None for none.
        settings: How long to train and when to save.
        options: The options; the folder and the name are read here.
        evaluate: Evaluates the model; None if there is nothing to evaluate.
        refused: Arguments that must be None on a cluster, by name.

    Raises:
        ArgumentError: An argument cannot be used; nothing was created.
    """
    description = described(cluster)
    description.require("ps", "worker")
    advice = (
        "with cluster=, give a function without arguments that creates the variables and returns "
        "the step, the checkpoint and the hyperparameters, such as (step, checkpoint, {...})."
    )
    check_call("build", build, advice=advice)
    for argument, given in refused.items():
        if given is not None:
            more = "" if argument == "epochs" else ": return it from build()"
            raise ArgumentError(f"{argument}= cannot be given with cluster={more}.")
    if data is not None:
        advice = (
            "with cluster=, give a function without arguments that returns a tf.data.Dataset; "
            "each worker calls it."
        )
        check_call("data", data, advice=advice)
    folder = folder_of(options, kind="train")
    engine = ParameterServerEngine(
        description,
        build,
        data,
        folder.checkpoints,
        keep=settings.keep,
        evaluate=evaluate,
        launched=cluster if isinstance(cluster, LaunchedCluster) else None,
    )
    return Run(engine, folder, settings)
