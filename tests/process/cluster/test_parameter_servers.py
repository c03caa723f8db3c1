"""Runs on parameter servers, with a kernel, servers and workers in processes of their own."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.cluster.task_file import State
from tests import ROOT
from tests.clustered import SAVE_STEPS, Kernel, forked_cluster
from tests.forked import Forked, printed
from tests.gate import SOON
from tests.ports import free_ports
from tests.zoo import BATCHES, ZOO, Made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedCluster]:
    """A parameter server and two workers, for all tests of this module."""
    folder = tmp_path_factory.mktemp("cluster")
    with forked_cluster(ps=1, workers=2, folder=folder) as launched:
        yield launched
    assert [each.state for each in launched.tasks[1:]] == [State.ENDED] * 2
    assert "Traceback" not in launched.log("worker")


@pytest.fixture
def kernel(cluster: LaunchedCluster) -> Iterator[Kernel]:
    """A kernel that trains on the cluster; tasks that the test has ended are started again."""
    cluster.wait_until_ready(SOON)
    with Kernel(cluster.tf_config) as kernel:
        yield kernel
    for task in cluster.tasks:
        if task.state is State.FAILED:
            cluster.restart(task.job, task.index)


def test_commands_are_applied_while_no_step_is_under_way(kernel: Kernel) -> None:
    kernel.ask("start")
    kernel.when(lambda status: "checkpoint" in dict(status.marks))
    for command, more in (("save", {}), ("set", {"rate": 0.01}), ("pause", {})):
        applied, text = kernel.ask("do", command, **more)
        assert applied, text
    step = kernel.status().step
    assert kernel.ask("taken") == step
    first = min(step for step in kernel.ask("saved") if step)
    assert kernel.ask("do", "restore", first)[0]
    assert kernel.status().step == kernel.ask("taken") == first
    assert kernel.ask("do", "resume")[0]
    kernel.trains(beyond=first + SAVE_STEPS)
    assert kernel.ask("stop") == "stopped"
    saved = kernel.ask("saved")
    assert kernel.status().step in saved
    assert all(step == taken for step, taken in saved.items()), saved
    losses = kernel.ask("scalars", "loss")
    assert losses[-1] < losses[0]


def test_a_run_takes_exactly_its_steps_and_goes_on_from_them(kernel: Kernel) -> None:
    kernel.ask("start", steps=50, name="exact", data=7)
    assert kernel.when(lambda status: status.phase == "finished").step == 50
    assert kernel.ask("saved")[50] == 50
    assert sorted(set(kernel.ask("scalars", "element"))) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    kernel.ask("start", steps=60, name="exact")
    status = kernel.when(lambda status: status.phase == "finished")
    assert "Continues from ckpt-50" in status.notice
    assert kernel.ask("saved")[60] == 60
    assert len(kernel.ask("scalars", "loss")) == 60


# Models on the servers; there the variables are created before the steps.
KINDS = ["layers in a list", "tf.Module"]


def train_kinds(pipe: Connection, config: str) -> None:
    """Trains models of the zoo, or goes on with them; sends what the servers hold."""
    for kind in KINDS:
        built: list[Made] = []

        def build(kind: str = kind, built: list[Made] = built) -> Any:
            made = ZOO[kind]()
            built.append(made)
            made.build()
            checkpoint = tf.train.Checkpoint(**made.objects)
            return functools.partial(made.eager_step, BATCHES[0]), checkpoint, {}

        run = nbtrain.train(build, cluster=config, steps=4, name=kind.replace(" ", "-"))
        run.wait(SOON)
        pipe.send((run.status.step, str(run.status.notice), built[-1].numbers()))


def test_models_with_layers_in_lists_go_on_in_another_process(cluster: LaunchedCluster) -> None:
    cluster.wait_until_ready(SOON)
    with Forked(train_kinds, cluster.tf_config) as first:
        before = [first.answer() for _ in KINDS]
        assert first.wait() == 0
    with Forked(train_kinds, cluster.tf_config) as second:
        after = [second.answer() for _ in KINDS]
    for (step, _, numbers), (step_after, notice, numbers_after) in zip(before, after, strict=True):
        assert step == step_after == 4
        assert "Continues from ckpt-4: 14 variables matched, 8 optimizer slots" in notice
        assert numbers.keys() == numbers_after.keys()
        for name, value in numbers.items():
            np.testing.assert_array_equal(value, numbers_after[name], name)


def test_the_error_of_a_step_fails_the_run_and_leaves_the_kernel_free(kernel: Kernel) -> None:
    kernel.ask("start", fails_at=30)
    status = kernel.when(lambda status: status.phase == "failed")
    assert "too many" in status.failure
    kernel.ask("start", steps=10)
    kernel.when(lambda status: status.phase == "finished")


def test_one_run_at_a_time_is_connected_to_a_cluster(kernel: Kernel) -> None:
    kernel.ask("start", name="first")
    kernel.trains()
    kernel.ask("start", name="second")
    status = kernel.when(lambda status: status.phase == "failed")
    assert "BusyError: The run first of this kernel has not ended" in status.failure


def test_a_lost_worker_is_told_and_used_again_when_it_is_back(
    cluster: LaunchedCluster, kernel: Kernel
) -> None:
    kernel.ask("start")
    kernel.trains()
    cluster.kill("worker", 1)
    lost = kernel.when(lambda status: ("lost", "worker 1 is lost") in status.marks)
    kernel.trains(beyond=lost.step + SAVE_STEPS)
    cluster.restart("worker", 1)
    back = kernel.when(lambda status: ("returned", "worker 1 is back") in status.marks)
    kernel.trains(beyond=back.step + SAVE_STEPS)
    assert kernel.ask("do", "pause")[0]
    assert kernel.ask("taken") >= kernel.status().step
    assert kernel.ask("stop") == "stopped"


def test_a_command_waits_for_a_halted_worker_in_words_and_the_kernel_is_free(
    cluster: LaunchedCluster, kernel: Kernel
) -> None:
    kernel.ask("start")
    kernel.trains()
    assert kernel.ask("do", "pause")[0]
    os.kill(cluster.tasks[2].process, signal.SIGSTOP)
    kernel.ask("post", "save")
    kernel.when(lambda status: "for the workers, and worker 1 gives no answer" in status.message)
    cluster.kill("worker", 1)
    step = kernel.when(lambda status: "save" in dict(status.marks)).step
    assert kernel.ask("saved")[step] == step
    assert "gives no answer" not in kernel.status().message
    assert kernel.ask("stop") == "stopped"


@pytest.mark.parametrize("halted", [[2], [1, 2]], ids=["one", "all"])
def test_a_pause_waits_for_halted_workers_in_words(
    cluster: LaunchedCluster, kernel: Kernel, halted: list[int]
) -> None:
    kernel.ask("start", save_steps=None)
    kernel.trains()
    for _ in range(2):
        for task in halted:
            os.kill(cluster.tasks[task].process, signal.SIGSTOP)
        kernel.ask("post", "pause")
        kernel.when(lambda status: "gives no answer" in status.message)
        for task in halted:
            os.kill(cluster.tasks[task].process, signal.SIGCONT)
        kernel.when(lambda status: status.phase == "paused")
        assert "gives no answer" not in kernel.status().message
        assert kernel.ask("taken") == kernel.status().step
        assert kernel.ask("do", "resume")[0]
    assert kernel.ask("stop") == "stopped"


def test_further_checkpoints_make_no_function(kernel: Kernel) -> None:
    kernel.ask("start", save_steps=None)
    kernel.trains()
    assert kernel.ask("do", "pause")[0]
    assert kernel.ask("do", "save")[0]
    before = kernel.ask("functions")
    for rate in (0.1, 0.2):
        assert kernel.ask("do", "set", rate=rate)[0]
        assert kernel.ask("do", "save")[0]
        assert kernel.ask("saved_rate") == pytest.approx(rate)
    assert kernel.ask("functions") == before
    assert kernel.ask("stop") == "stopped"


def test_a_lost_parameter_server_is_waited_for_and_the_run_goes_on_from_its_checkpoint(
    cluster: LaunchedCluster, kernel: Kernel
) -> None:
    kernel.ask("start")
    kernel.when(lambda status: "checkpoint" in dict(status.marks))
    cluster.kill("ps")
    lost = kernel.when(lambda status: "and is waited for: start it again" in status.message)
    assert f"ps 0 ({cluster.tasks[0].address}) was lost at step {lost.step:,}" in lost.message
    for command in ("save", "restore"):
        applied, text = kernel.ask("do", command)
        assert not applied
        assert "is waited for; nothing can be saved or changed until then" in text
    assert not kernel.ask("do", "set", rate=0.1)[0]
    assert kernel.ask("do", "pause")[0]
    assert kernel.status().phase == "paused"
    assert kernel.ask("do", "resume")[0]
    cluster.restart("ps")
    back = kernel.when(lambda status: "the training continues from step" in status.notice)
    assert 0 < int(back.notice.rpartition(" ")[2].rstrip(".").replace(",", "")) <= lost.step
    assert "waited for" not in back.message
    kernel.trains(beyond=lost.step)
    assert kernel.ask("do", "pause")[0]
    assert kernel.ask("taken") == kernel.status().step
    assert kernel.ask("stop") == "stopped"


def test_a_stop_ends_the_wait_for_servers_that_are_not_there() -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with Kernel(json.dumps({"ps": addresses[:1], "worker": addresses[1:]})) as kernel:
        kernel.ask("start")
        words = f"ps 0 ({addresses[0]}), worker 0 ({addresses[1]}) do not answer"
        kernel.when(lambda status: words in status.message)
        assert kernel.ask("stop") == "stopped"
        assert kernel.leave() == 0


def run_program(_pipe: Connection, program: str) -> None:
    """Runs the text of a program."""
    exec(program, {"__name__": "__main__"})


def test_the_program_of_the_documentation_trains() -> None:
    page = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    (program,) = re.findall(r"^```python\n%%writefile train\.py\n(.*?)^```", page, re.M | re.S)
    assert "finished 300\n" in printed(run_program, program.replace("workers=2", "workers=1"))


def test_a_stop_ends_the_wait_for_a_lost_parameter_server(
    cluster: LaunchedCluster, kernel: Kernel
) -> None:
    kernel.ask("start")
    kernel.trains()
    cluster.kill("ps")
    kernel.when(lambda status: "and is waited for: start it again" in status.message)
    assert kernel.ask("stop") == "stopped"
