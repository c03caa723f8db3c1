"""A kernel that trains on a cluster, and the tasks of the cluster, in forked processes.

The tasks are those of `nbtrain.cluster.local`, but forked off a process that has imported
TensorFlow, which takes seconds in each new one.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import nbtrain
from nbtrain import worker
from nbtrain.cluster import this_machine as local
from nbtrain.cluster.description import Description
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.core.tasks import Task
from nbtrain.engines.ps import pipeline, servers
from tests.forked import SERVER, Forked
from tests.gate import SOON, eventually
from tests.networks import enter

# Steps between two checkpoints.
SAVE_STEPS = 20
# The environment variable of a task with the network namespace of its process.
NETWORK = "NBTRAIN_TEST_NETWORK"


class ForkedTask:
    """The process of a task, instead of a `TaskProcess`.

    Args:
        description: The cluster, as the task.
        folder: Of the cluster.
        program: A script and its arguments; none for a server.
        env: Environment variables of the task.
    """

    def __init__(
        self,
        description: Description,
        folder: Path,
        program: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        given = {"TF_CONFIG": description.tf_config, **(env or {})}
        words = ["--folder", str(folder), *program]
        self._process = SERVER.Process(target=serve, args=(Path.cwd(), given, words), daemon=True)
        self._process.start()
        self._lock = threading.Lock()  # the exit code is read from a pipe, once

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        with self._lock:
            return self._process.exitcode

    def terminate(self) -> None:
        """Asks the process to end."""
        if self.code is None:
            self._process.terminate()

    def kill(self) -> None:
        """Ends the process at once."""
        if self.code is None:
            self._process.kill()
        self.join(SOON)

    def join(self, secs: float) -> bool:
        """Waits until the process has ended."""
        wait([self._process.sentinel], max(0.0, secs))
        return self.code is not None


def serve(folder: Path, env: Mapping[str, str], words: list[str]) -> None:
    """Runs a task, in its process."""
    if NETWORK in env:
        enter(env[NETWORK])
    os.chdir(folder)
    os.environ.update(env)
    sys.exit(worker.main(words))


@contextlib.contextmanager
def forked_cluster(**arguments: Any) -> Iterator[LaunchedCluster]:
    """Starts a cluster of forked tasks, as `nbtrain.cluster.local` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "TaskProcess", ForkedTask)
        with nbtrain.cluster.local(**arguments) as cluster:
            yield cluster


class Status(NamedTuple):
    """How a run stands.

    Attributes:
        phase: The phase's word.
        step: Completed steps.
        message: The warnings.
        notice: The message that is no warning.
        failure: The error that ended it.
        marks: The events of the run, and their texts.
    """

    phase: str
    step: int
    message: str
    notice: str
    failure: str
    marks: list[tuple[str, str]]


class Kernel(Forked):
    """A process that trains on a cluster."""

    def __init__(self, config: str, network: str | None = None) -> None:
        super().__init__(answer, config, network)

    def ask(self, question: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of its `Training`; returns the result."""
        self.send((question, args, kwargs))
        return self.answer()

    def status(self) -> Status:
        """How its run stands."""
        status: Status = self.ask("status")
        return status

    def when(self, ready: Any) -> Status:
        """Waits until the run stands so; returns its status then."""
        looks = [self.status()]

        def look() -> bool:
            looks.append(self.status())
            return bool(ready(looks[-1]))

        try:
            eventually(look)
        except AssertionError as error:
            raise AssertionError(f"it stays {looks[-1]}") from error
        return looks[-1]

    def trains(self, beyond: int = 0) -> Status:
        """Waits until the run has trained beyond a step."""
        return self.when(lambda status: status.phase == "running" and status.step > beyond)

    def stands_still(self) -> None:
        """Waits until the run has completed no step for a second."""
        last = [-1]

        def look() -> bool:
            last.append(self.status().step)
            time.sleep(1)  # a worker that waits tells nobody
            return last[-1] == last[-2]

        eventually(look)


def answer(pipe: Connection, config: str, network: str | None = None) -> None:
    """Answers questions until the pipe is closed."""
    if network is not None:
        enter(network)
        servers._LIMITS |= {"TCP_KEEPIDLE": 1, "TCP_KEEPCNT": 2, "TCP_USER_TIMEOUT": 3000}
    pipeline._PATIENCE_SECS = 1.0
    training = Training(config)
    while True:
        try:
            question, args, kwargs = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(training, question)(*args, **kwargs))
        except Exception as error:
            pipe.send(error)


class Training:
    """A run on a cluster, in the process of the kernel."""

    run: nbtrain.Run

    def __init__(self, config: str) -> None:
        self._config = config
        self._taken: Any = None

    def start(
        self,
        fails_at: int | None = None,
        data: Any = None,
        save_steps: int | None = SAVE_STEPS,
        **more: Any,
    ) -> None:
        """Starts a run."""

        def build() -> Any:
            weight, rate = tf.Variable(5.0), tf.Variable(0.001)
            self._taken = taken = tf.Variable(0, dtype=tf.int64)

            def step(*elements: Any) -> dict[str, Any]:
                count = taken.assign_add(1)
                if fails_at is not None:
                    tf.debugging.assert_less(count, tf.constant(fails_at, tf.int64), "too many")
                loss = (weight - 1.0) ** 2
                weight.assign_sub(rate * 2.0 * (weight - 1.0))
                values = {"loss": loss}
                if elements:
                    values["element"] = tf.cast(elements[0], tf.float32)
                return values

            checkpoint = tf.train.Checkpoint(weight=weight, iterations=taken, rate=rate)
            return step, checkpoint, {"rate": rate}

        made = None if data is None else lambda: tf.data.Dataset.range(data)
        self.run = nbtrain.train(
            build, cluster=self._config, data=made, save_steps=save_steps, keep=None, **more
        )

    def status(self) -> Status:
        """How the run stands."""
        now = self.run.status
        marks = [(mark.event, mark.text) for mark in self.run.marks]
        texts = now.message or "", now.notice or "", now.failure or ""
        return Status(str(now.phase), now.step, *texts, marks)

    def tasks(self) -> tuple[Task, ...]:
        """The tasks of the cluster."""
        return self.run.status.tasks

    def taken(self) -> int:
        """The steps that the workers have taken."""
        return int(self._taken.numpy())

    def do(self, command: str, *args: Any, **kwargs: Any) -> tuple[bool, str]:
        """Returns whether a command was applied, and returns the text of its receipt."""
        outcome = getattr(self.run, command)(*args, **kwargs).wait(SOON)
        return outcome.applied, outcome.text

    def post(self, command: str) -> None:
        """Sends a command without waiting for its answer."""
        getattr(self.run, command)()

    def stop(self) -> str:
        """Stops the run; returns its last phase."""
        self.run.request_stop()
        assert self.run.attempt.ended.wait(SOON), self.run.status
        return str(self.run.status.phase)

    def scalars(self, tag: str) -> list[float]:
        """The recorded values of a tag."""
        return [float(value) for value in self.run.scalars[tag].values]

    def functions(self) -> set[str]:
        """The names of TensorFlow's functions in this process."""
        return set(context.context().list_function_names())

    def saved_rate(self) -> float:
        """The rate in the latest checkpoint."""
        path = self.run.checkpoints[-1].path
        return float(tf.train.load_variable(path, "rate/.ATTRIBUTES/VARIABLE_VALUE"))

    def saved(self) -> dict[int, int]:
        """The count of the workers' steps in each checkpoint, by the step in its name."""
        name = "iterations/.ATTRIBUTES/VARIABLE_VALUE"
        return {
            held.step: int(tf.train.load_variable(held.path, name)) for held in self.run.checkpoints
        }
