"""Launched clusters: processes, ports, logs and restarts. No task here imports TensorFlow."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

import nbtrain
from nbtrain.cluster import launched, task_display
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.cluster.task_file import State
from nbtrain.core.errors import ArgumentError, WaitError
from nbtrain.core.tasks import TaskState
from tests.forked import Forked
from tests.gate import SOON, eventually

SLEEP = "import signal\nprint('sleeps', flush=True)\nsignal.pause()\n"
TELL = """
import os, sys
print(sys.argv[1:], os.environ["TF_CONFIG"], os.environ["GRPC_FAIL_FAST"], os.environ["SEED"])
print("stdin", repr(sys.stdin.read()))
"""


@pytest.fixture
def ended() -> Iterator[ExitStack]:
    """Ends the clusters of a test."""
    with ExitStack() as stack:
        yield stack


def program(text: str) -> Path:
    """A script for the workers."""
    path = Path("program.py")
    path.write_text(text)
    return path


def sleepers(ended: ExitStack, *, restart: bool = False) -> LaunchedCluster:
    """Two workers that wait."""
    cluster = nbtrain.cluster.local(workers=2, program=program(SLEEP), restart=restart)
    ended.enter_context(cluster)
    return cluster.wait_until_ready(SOON)


def is_over(process: int) -> bool:
    """Returns whether a process has ended."""
    try:
        return bool(psutil.Process(process).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def port_of(address: str) -> int:
    """The port of an address."""
    return int(address.rpartition(":")[2])


def test_programs_run_as_the_tasks_of_the_cluster_and_print_to_their_logs(
    ended: ExitStack,
) -> None:
    cluster = nbtrain.cluster.local(
        workers=2, program=[program(TELL), "--fast"], folder="here", env={"SEED": "7"}
    )
    ended.enter_context(cluster)
    cluster.wait(SOON)
    assert [each.state for each in cluster.tasks] == [State.ENDED] * 2
    config = cluster.description.as_task("worker", 1).tf_config
    log = cluster.log("worker", 1)
    assert f"['--fast'] {config} true 7" in log
    assert "stdin ''" in log
    told = json.loads(Path("here/tasks/worker-1/task.json").read_text())
    assert (told["job"], told["index"], told["state"]) == ("worker", 1, "ended")
    assert re.search(r"worker 1\s+ended\s+127\.0\.0\.1:\d+\s+\d+", repr(cluster))


def test_a_program_that_fails_is_told_with_the_end_of_its_log(ended: ExitStack) -> None:
    cluster = nbtrain.cluster.local(program=program("print('begun')\n1 / 0\n"))
    ended.enter_context(cluster)
    with pytest.raises(WaitError, match=r"worker 0 has failed\. ZeroDivisionError: div") as told:
        cluster.wait(SOON)
    assert "begun" in str(told.value)
    assert cluster.tasks[0].state is State.FAILED


def test_a_task_that_was_killed_is_told_and_can_be_started_again(ended: ExitStack) -> None:
    cluster = sleepers(ended)
    before = cluster.tasks[1]
    assert [str(each) for each in cluster.shown()] == ["worker 0: running", "worker 1: running"]
    eventually(lambda: "sleeps" in cluster.log("worker", 1))  # it is ready before its program
    cluster.kill("worker", 1)
    assert cluster.tasks[1].state is State.FAILED
    assert cluster.tasks[1].reason == "It was ended by SIGKILL."
    assert cluster.shown()[1].state is TaskState.LOST
    cluster.restart("worker", 1)
    cluster.wait_until_ready(SOON)
    after = cluster.tasks[1]
    assert after.address == before.address
    assert after.process != before.process
    eventually(lambda: cluster.log("worker", 1).count("sleeps") == 2)
    with pytest.raises(ArgumentError, match=r"There is no task ps 0 .* it has: worker 0, worker 1"):
        cluster.restart("ps")


def test_a_task_that_is_halted_is_silent_and_can_be_ended(
    ended: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_display, "SILENT_SECS", 3.0)
    cluster = sleepers(ended)
    assert cluster.end_silent() == []
    os.kill(cluster.tasks[1].process, signal.SIGSTOP)
    eventually(lambda: cluster.end_silent() == ["worker 1"])
    assert cluster.tasks[1].reason == "It was ended by SIGKILL."
    assert cluster.end_silent() == []


def test_a_halted_task_ends_with_its_cluster_and_is_not_waited_for(
    ended: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launched, "_END_SECS", 10 * SOON)
    cluster = sleepers(ended)
    halted = psutil.Process(cluster.tasks[1].process)
    halted.suspend()
    eventually(lambda: halted.status() == psutil.STATUS_STOPPED)
    cluster.close()
    assert [task.state for task in cluster.tasks] == [State.ENDED] * 2
    assert is_over(halted.pid)


def test_with_restart_a_task_that_dies_is_started_again(ended: ExitStack) -> None:
    cluster = sleepers(ended, restart=True)
    before = [each.process for each in cluster.tasks]
    os.kill(before[0], signal.SIGKILL)
    eventually(lambda: cluster.tasks[0].process != before[0])
    cluster.wait_until_ready(SOON)
    assert cluster.tasks[1].process == before[1]


def test_the_end_of_the_block_ends_the_processes_and_frees_the_ports(ended: ExitStack) -> None:
    cluster = sleepers(ended)
    tasks = cluster.tasks
    for task in tasks:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port_of(task.address)))  # nobody else is given the port
    cluster.close()
    assert [each.state for each in cluster.tasks] == [State.ENDED] * 2
    assert all(is_over(task.process) for task in tasks)
    for task in tasks:
        with socket.socket() as other:
            other.bind(("127.0.0.1", port_of(task.address)))


def launch(pipe: Connection) -> None:
    """Launches a cluster, and stays until it is killed."""
    more = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n"
    cluster = nbtrain.cluster.local(ps=1, workers=1, program=program(more + SLEEP))
    eventually(lambda: "sleeps" in cluster.log("worker", 0))
    started = psutil.Process(cluster.tasks[1].process).children()
    pipe.send([*(each.process for each in cluster.tasks), *(each.pid for each in started)])
    pipe.recv()


def test_a_killed_kernel_leaves_no_process() -> None:
    with Forked(launch) as kernel:
        processes = kernel.answer()
        assert len(processes) == 3
        kernel.kill()
        eventually(lambda: all(map(is_over, processes)))


def worker(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a task to its end."""
    return subprocess.run(
        [sys.executable, "-m", "nbtrain.worker", *arguments],
        capture_output=True,
        text=True,
        timeout=SOON,
        env={**os.environ, **env},
        check=False,
    )


def test_a_task_whose_port_is_in_use_names_it_and_ends() -> None:
    with socket.socket() as taker:
        taker.bind(("", 0))
        taker.listen()
        port = taker.getsockname()[1]
        jobs = json.dumps({"ps": [f"127.0.0.1:{port}"]})
        done = worker("--cluster", jobs, "--job", "ps", "--folder", "here")
    assert done.returncode == 1
    told = json.loads(Path("here/tasks/ps-0/task.json").read_text())
    assert told["state"] == "failed"
    assert f"ps 0 cannot start: Port {port} of" in told["reason"]
    assert f"is in use by process {os.getpid()} (" in told["reason"]
    assert told["reason"] in Path("here/tasks/ps-0/log.txt").read_text()


def test_a_wrong_tf_config_ends_a_task_with_words() -> None:
    done = worker(TF_CONFIG='{"cluster": {"ps": ["a:1"]}}')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "nbtrain.worker: Which task is this? Give --job and --index, or a task in TF_CONFIG.\n"
    )
