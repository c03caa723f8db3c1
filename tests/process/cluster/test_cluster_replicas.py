"""A chief in a notebook and a worker as a task train one graph on a parameter server."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest

import nbtrain
from nbtrain.cluster import LaunchedCluster
from nbtrain.cluster.description import described
from nbtrain.cluster.own_cluster import TasksOnDisk
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.remote.attached import AttachedRun
from tests.clustered import forked_cluster
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.models import applied

GRAPH = """
import tensorflow as tf
import nbtrain

v1 = tf.compat.v1

def run_of(replica, name, hooks=()):
    with tf.Graph().as_default(), replica.device():
        step = v1.train.get_or_create_global_step()
        weight = v1.get_variable("weight", initializer=5.0)
        loss = tf.square(weight - 1.0, name="loss")
        train_op = v1.train.GradientDescentOptimizer(1e-4).minimize(loss, global_step=step)
        assert weight.device == "/job:ps/task:0", weight.device
        return nbtrain.tf1.monitor(
            train_op,
            scalars={"loss": loss},
            session=replica.session,
            save_steps=50,
            name=name,
            hooks=hooks,
        )
"""
WORKER = """
import nbtrain
from graph import run_of

run_of(nbtrain.tf1.Replica(), "worker").wait()
"""

WAITING = """
import nbtrain
import tensorflow as tf
from graph import run_of

hook = tf.compat.v1.train.GlobalStepWaiterHook({at})
run_of(nbtrain.tf1.Replica(), "worker", [hook]).wait()
"""


class Launched:
    """A launched cluster, whose processes are those of the test."""

    def __init__(self, config: str) -> None:
        self.description = described(config)
        self.shown = TasksOnDisk(self.description, Path("runs/cluster-1"))


def notebook(pipe: Connection, config: str) -> None:
    """A notebook with the chief, which does what the pipe says."""
    sys.path.insert(0, str(Path.cwd()))
    from graph import run_of  # type: ignore[import-not-found]

    replica = nbtrain.tf1.Replica(Launched(config))
    run = run_of(replica, "chief")
    acts: dict[str, Callable[[], Any]] = {
        "is chief": lambda: (replica.is_chief, repr(nbtrain.tf1.Replica(config).target)),
        "step": lambda: run.status.step,
        "phase": lambda: run.status.phase.value,
        "tasks": lambda: [str(task) for task in run.status.tasks],
        "marks": lambda: [mark.text for mark in run.marks if mark.event in ("lost", "returned")],
        "checkpoints": lambda: len(run.checkpoints),
        "stop": lambda: run.request_stop() and run.wait().status.phase.value,
    }
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(acts[pipe.recv()]())


@contextlib.contextmanager
def launched(program: str) -> Iterator[LaunchedCluster]:
    """A parameter server and a worker with a program; the chief belongs to a notebook."""
    Path("graph.py").write_text(GRAPH)
    Path("worker.py").write_text(program)
    with forked_cluster(ps=1, workers=1, chief=True, program="worker.py") as cluster:
        yield cluster


@pytest.fixture
def cluster() -> Iterator[LaunchedCluster]:
    """A cluster whose worker trains."""
    with launched(WORKER) as cluster:
        yield cluster


@pytest.fixture
def chief(cluster: LaunchedCluster) -> Iterator[Forked]:
    """The process of the notebook."""
    with Forked(notebook, cluster.tf_config) as child:
        yield child


def ask(chief: Forked, words: str) -> Any:
    chief.send(words)
    return chief.answer()


def worker() -> AttachedRun:
    """The run of the worker, attached."""
    eventually(lambda: Path("runs/worker/status.json").exists())
    run = nbtrain.attach("runs/worker")
    assert isinstance(run, AttachedRun)
    eventually(lambda: run.status.phase is Phase.RUNNING)
    return run


def test_a_worker_that_is_lost_and_started_again_joins_its_chief(
    cluster: LaunchedCluster, chief: Forked
) -> None:
    assert ask(chief, "is chief")[0]
    with worker() as run:
        eventually(lambda: run.status.step > 50 and ask(chief, "checkpoints"))
        cluster.kill("worker")
        eventually(lambda: run.status.phase is Phase.FAILED)
        eventually(lambda: ask(chief, "marks") == ["worker 0 is lost"])
        assert ask(chief, "tasks")[0] == "ps 0: running"
        assert ask(chief, "tasks")[1].startswith("worker 0: lost")
        step = ask(chief, "step")
        eventually(lambda: ask(chief, "step") > step + 50)
        cluster.restart("worker")
        eventually(lambda: run.status.phase is Phase.RUNNING and run.status.step > step + 50)
        assert run.checkpoints == ()
        eventually(lambda: ask(chief, "marks") == ["worker 0 is lost", "worker 0 is back"])
        assert [task.name for task in run.status.tasks] == ["ps 0", "worker 0"]
        applied(run.request_stop())
        assert run.wait(SOON).status.phase is Phase.STOPPED
    assert ask(chief, "phase") == "running"
    assert ask(chief, "stop") == "stopped"
    processes = [task.process for task in cluster.tasks]
    cluster.close()
    assert not [process for process in processes if psutil.pid_exists(process)]


def test_a_worker_with_a_global_step_waiter_begins_at_its_step() -> None:
    with launched(WAITING.format(at=300)) as cluster, Forked(notebook, cluster.tf_config) as chief:
        with worker() as run:
            eventually(lambda: "loss" in run.scalars)
            assert run.scalars["loss"].steps[0] >= 300
        assert ask(chief, "stop") == "stopped"


def test_a_worker_that_waits_for_a_global_step_can_be_stopped() -> None:
    with (
        launched(WAITING.format(at=10**9)) as cluster,
        Forked(notebook, cluster.tf_config) as chief,
    ):
        with worker() as run:
            eventually(lambda: ask(chief, "step") > 20)
            stop = run.request_stop()
            assert applied(stop)
            assert run.wait(SOON).status.phase is Phase.STOPPED
            assert not run.scalars, "it took no step"
        assert ask(chief, "stop") == "stopped"


def test_a_replica_whose_port_is_in_use_names_its_process() -> None:
    with socket.socket() as taker:
        taker.bind(("", 0))
        taker.listen()
        port = taker.getsockname()[1]
        jobs = {"chief": [f"127.0.0.1:{port}"], "ps": ["127.0.0.1:1"]}
        words = rf"chief 0 cannot start: Port {port} of .* is in use by process {os.getpid()} \("
        with pytest.raises(ArgumentError, match=words):
            nbtrain.tf1.Replica(jobs)
