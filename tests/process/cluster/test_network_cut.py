"""A cluster whose network is cut: kernel and tasks in two network namespaces."""

from __future__ import annotations

import json
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


def kernel_of(cable: Cable, ended: ExitStack, ps: End, workers: list[End]) -> Kernel:
    """Starts the tasks at the ends of the cable, and a kernel at the near one."""
    ends = {"ps": [ps], "worker": workers}
    ports = iter(range(2222, 2230))
    jobs = {job: [f"{end.address}:{next(ports)}" for end in of] for job, of in ends.items()}
    for job, of in ends.items():
        for index, end in enumerate(of):
            own = described(jobs).as_task(job, index)
            ended.callback(ForkedTask(own, Path("tasks"), env={NETWORK: end.name}).kill)
    return ended.enter_context(Kernel(json.dumps(jobs), cable.near.name))


def test_a_worker_that_is_cut_off_is_lost_until_the_network_is_back(
    cable: Cable, ended: ExitStack
) -> None:
    kernel = kernel_of(cable, ended, cable.near, [cable.near, cable.far])
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
    kernel = kernel_of(cable, ended, cable.far, [cable.near])
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
