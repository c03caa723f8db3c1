"""A cluster whose network is cut: kernel and tasks in two network namespaces."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nbtrain.cluster.description import described
from tests.clustered import NETWORK, SAVE_STEPS, ForkedTask, Kernel
from tests.networks import Cable, End, need_namespaces


@pytest.fixture
def cable() -> Iterator[Cable]:
    """The cable between the two."""
    need_namespaces()
    with Cable() as cable:
        yield cable


@pytest.fixture
def ended() -> Iterator[ExitStack]:
    """Ends the processes of a test."""
    with ExitStack() as stack:
        yield stack


class Network:
    """A cluster whose tasks are at the ends of a cable, and a kernel at the near one.

    Attributes:
        ps: The process of the parameter server.
        workers: Those of the workers.
        kernel: The kernel.
    """

    def __init__(self, cable: Cable, ended: ExitStack, ps: End, workers: list[End]) -> None:
        self._ended, self._ps = ended, ps
        ends = {"ps": [ps], "worker": workers}
        ports = iter(range(2222, 2230))
        self._jobs = {
            job: [f"{end.address}:{next(ports)}" for end in of] for job, of in ends.items()
        }
        self.ps = self._task("ps", 0, ps)
        self.workers = [self._task("worker", index, end) for index, end in enumerate(workers)]
        self.kernel = ended.enter_context(Kernel(json.dumps(self._jobs), cable.near.name))

    def replace_ps(self) -> None:
        """Ends the process of the parameter server, and starts another one in its place."""
        self.ps.kill()
        self.ps = self._task("ps", 0, self._ps)

    def _task(self, job: str, index: int, end: End) -> ForkedTask:
        own = described(self._jobs).as_task(job, index)
        task = ForkedTask(own, Path("tasks"), env={NETWORK: end.name})
        self._ended.callback(task.kill)
        return task


def test_a_worker_that_is_cut_off_is_lost_until_the_network_is_back(
    cable: Cable, ended: ExitStack
) -> None:
    kernel = Network(cable, ended, cable.near, [cable.near, cable.far]).kernel
    kernel.ask("start")
    kernel.trains(beyond=SAVE_STEPS)
    cable.cut()
    lost = kernel.when(lambda status: ("lost", "worker 1 is lost") in status.marks)
    kernel.trains(beyond=lost.step + 2 * SAVE_STEPS)
    assert kernel.ask("do", "pause")[0]
    assert kernel.ask("do", "resume")[0]
    cable.mend()
    back = kernel.when(lambda status: ("returned", "worker 1 is back") in status.marks)
    kernel.trains(beyond=back.step + SAVE_STEPS)
    assert kernel.ask("stop") == "stopped"


def test_a_parameter_server_that_is_cut_off_is_waited_for(cable: Cable, ended: ExitStack) -> None:
    kernel = Network(cable, ended, cable.far, [cable.near]).kernel
    kernel.ask("start")
    kernel.when(lambda status: "checkpoint" in dict(status.marks))
    cable.cut()
    lost = kernel.when(lambda status: "and is waited for: start it again" in status.message)
    assert "ps 0 (10.99.0.2:2222) was lost at step" in lost.message
    assert kernel.ask("do", "pause")[0]
    assert kernel.ask("do", "resume")[0]
    cable.mend()
    kernel.when(lambda status: "the training continues from step" in status.notice)
    kernel.trains(beyond=lost.step)
    assert kernel.ask("stop") == "stopped"


@pytest.mark.parametrize("halted", [False, True], ids=["waits", "is halted"])
def test_a_worker_with_a_step_of_before_is_waited_for(
    cable: Cable, ended: ExitStack, halted: bool
) -> None:
    network = Network(cable, ended, cable.far, [cable.near])
    kernel, worker = network.kernel, network.workers[0]
    kernel.ask("start")
    kernel.when(lambda status: "checkpoint" in dict(status.marks))
    os.kill(network.ps.pid, signal.SIGSTOP)  # it confirms what the worker sends, and never answers
    kernel.stands_still()
    if halted:
        os.kill(worker.pid, signal.SIGSTOP)
    cable.cut()
    lost = kernel.when(lambda status: "and is waited for: start it again" in status.message)
    network.replace_ps()  # the worker is not told that the old one is gone
    cable.mend()
    if halted:
        kernel.when(lambda status: "worker 0 (10.99.0.1:2223) does not answer" in status.message)
        assert kernel.ask("do", "pause")[0]
        assert kernel.ask("do", "resume")[0]
        os.kill(worker.pid, signal.SIGCONT)
    kernel.when(lambda status: "the training continues from step" in status.notice)
    kernel.trains(beyond=lost.step)
    assert not kernel.status().message
    assert kernel.ask("stop") == "stopped"
