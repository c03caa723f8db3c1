"""Workers of a MultiWorkerMirroredStrategy: if one is lost, all start again from the checkpoint."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import nbtrain
from nbtrain.cluster import LaunchedCluster
from nbtrain.core.states import Phase
from nbtrain.remote.attached import AttachedRun
from tests.clustered import forked_cluster
from tests.gate import SOON, eventually
from tests.models import applied

FOLDER = Path("runs/mirrored")
BOTH = ["worker 0: running", "worker 1: running"]

TRAIN = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before any other operation
import nbtrain

is_chief = strategy.cluster_resolver.task_id == 0
with strategy.scope():
    w = tf.Variable(5.0, aggregation=tf.VariableAggregation.MEAN)
rate = tf.Variable(1e-5)
checkpoint = tf.train.Checkpoint(w=w, rate=rate)

@tf.function
def step():
    def of_one_replica():
        replica = tf.distribute.get_replica_context()
        of_chief = replica.all_reduce("SUM", rate.read_value() if is_chief else tf.zeros([]))
        w.assign_sub(of_chief * 2 * w)  # the mean of all replicas
        return w**2

    return {"loss": strategy.reduce("MEAN", strategy.run(of_one_replica), axis=None)}

if is_chief:
    run = nbtrain.train(step, checkpoint=checkpoint, hyperparameters={"rate": rate},
                        save_steps=20, name="mirrored")
    run.wait()
else:
    if latest := tf.train.latest_checkpoint("runs/mirrored/checkpoints"):
        checkpoint.restore(latest).expect_partial()
    while True:
        step()
"""


@pytest.fixture
def cluster() -> Iterator[LaunchedCluster]:
    """Two workers that train together."""
    Path("train.py").write_text(TRAIN)
    with forked_cluster(workers=2, program="train.py", restart="all") as cluster:
        yield cluster


@pytest.fixture
def run(cluster: LaunchedCluster) -> Iterator[AttachedRun]:
    """The run of their chief, attached."""
    eventually((FOLDER / "status.json").exists)
    run = nbtrain.attach(FOLDER)
    assert isinstance(run, AttachedRun)
    with run:
        yield run


def processes(cluster: LaunchedCluster) -> list[int]:
    return [task.process for task in cluster.tasks]


def test_all_workers_start_again_from_the_checkpoint_if_one_is_lost(
    cluster: LaunchedCluster, run: AttachedRun
) -> None:
    eventually(lambda: run.status.phase is Phase.RUNNING and run.checkpoints)
    applied(run.set(rate=2e-5))
    assert applied(run.pause()).text == "paused"
    saved = applied(run.save()).step
    applied(run.resume())
    eventually(lambda: [str(task) for task in run.status.tasks] == BOTH)
    before = processes(cluster)
    os.kill(before[1], signal.SIGKILL)
    eventually(lambda: "The run was started again" in (run.status.notice or ""))
    eventually(lambda: run.status.phase is Phase.RUNNING and run.status.step > saved + 20)
    assert not set(processes(cluster)) & set(before)
    assert run.hyperparameters["rate"] == pytest.approx(2e-5), "it is in the checkpoint"
    loss = run.scalars["loss"]
    steps = loss.steps[~loss.abandoned].tolist()
    assert steps == sorted(set(steps)), "none counts twice"
    applied(run.request_stop())
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert [str(task.state) for task in cluster.wait(SOON).tasks] == ["ended", "ended"]
    eventually(lambda: not any(map(psutil.pid_exists, processes(cluster))))
