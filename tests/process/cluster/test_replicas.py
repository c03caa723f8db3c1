"""Chief, worker and parameter server in processes of their own, some of them killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.gate import eventually
from tests.replicas import SAVE_STEPS, Cluster, Member, Status

PROGRAMS = ["supervised", "hooked", "monitored"]
LOST = "the server /job:ps/replica:0/task:0"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster without members; killed when the test is over."""
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.kill()


def when(member: Member, ready: Callable[[Status], object]) -> Status:
    """Until a replica is so far; its status then."""
    looks = [member.status()]

    def look() -> object:
        looks.append(member.status())
        return ready(looks[-1])

    try:
        eventually(look)
    except AssertionError as error:
        raise AssertionError(f"it stays {looks[-1]}") from error
    return looks[-1]


def saves(chief: Member) -> int:
    """Until a chief has a checkpoint; the step of its latest."""
    return int(eventually(lambda: chief.ask("checkpoints"))[-1])


def trains(member: Member, beyond: int = SAVE_STEPS) -> Status:
    """Until a replica has trained beyond a step."""
    return when(member, lambda status: status.phase == "running" and status.step > beyond)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_chief_and_a_worker_train_one_model_until_each_is_stopped(
    cluster: Cluster, program: str
) -> None:
    cluster.server()
    worker, chief = cluster.worker(program), cluster.chief(program)
    trains(worker)
    trains(chief)
    assert worker.ask("stop") == "stopped"
    trains(chief, beyond=chief.status().step)
    assert chief.ask("stop") == "stopped"
    last, done = chief.ask("checkpoints")[-1], [worker.status().done, chief.status().done]
    if program != "monitored":
        assert last == sum(done), chief.status()
    assert worker.ask("checkpoints") == []
    assert [worker.leave(), chief.leave()] == [0, 0]


def test_a_supervised_run_whose_server_is_killed_fails_in_words(cluster: Cluster) -> None:
    server = cluster.server()
    chief, worker = cluster.chief("supervised"), cluster.worker("supervised")
    saves(chief)
    trains(worker)
    server.kill()
    for member in (chief, worker):
        status = when(member, lambda status: status.ended)
        assert status.phase == "failed"
        assert status.error.startswith("UnavailableError")
        assert f"{LOST} of grpc://" in status.message
    held = chief.ask("checkpoints")[-1]
    assert held >= SAVE_STEPS
    for member in (chief, worker):  # once more in the same process: there is no server
        member.ask("start")
        when(member, lambda status: "and is waited for: start it" in status.message)
        assert member.ask("stop") == "stopped"
    cluster.server()
    for member in (chief, worker):
        member.ask("start")
    when(chief, lambda status: f"Continues from model.ckpt-{held}:" in status.notice)
    trains(worker)
    trains(chief, beyond=held)
    assert [chief.ask("stop"), worker.ask("stop")] == ["stopped", "stopped"]
    assert [chief.leave(), worker.leave()] == [0, 0]


@pytest.mark.parametrize("program", ["hooked", "monitored"])
def test_a_session_whose_server_is_killed_and_started_again_goes_on_from_the_checkpoint(
    cluster: Cluster, program: str
) -> None:
    server = cluster.server()
    chief, worker = cluster.chief(program), cluster.worker(program)
    saves(chief)
    trains(worker)
    server.kill()
    waits = [
        when(member, lambda status: "and is waited for: start it" in status.message)
        for member in (chief, worker)
    ]
    held = chief.ask("checkpoints")[-1]
    cluster.server()
    when(chief, lambda status: f"Continues from model.ckpt-{held}:" in status.notice)
    # The worker may count on as soon as the session is made, before the chief has told of it.
    goes_on = "and made again; the training continues from step"
    again = when(chief, lambda status: goes_on in status.message)
    assert "is waited for" not in again.message
    trains(chief, beyond=max(waits[0].step, held))
    assert "STARTS ALL OVER" not in trains(worker, beyond=waits[1].step).message
    assert [chief.ask("stop"), worker.ask("stop")] == ["stopped", "stopped"]
    assert chief.ask("checkpoints")[-1] > held


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_stop_ends_the_wait_for_a_server_that_is_not_there(
    cluster: Cluster, program: str
) -> None:
    chief = cluster.chief(program)
    when(chief, lambda status: "and is waited for: start it" in status.message)
    assert chief.ask("stop") == "stopped"
    assert "stopped without a session" in chief.status().message
    cluster.server()
    chief.ask("start")
    trains(chief)
    assert chief.ask("stop") == "stopped"
    assert chief.leave() == 0


def test_a_supervisor_whose_calls_fail_fast_waits_for_its_server_as_well(cluster: Cluster) -> None:
    chief = cluster.chief("supervised", GRPC_FAIL_FAST="true")  # as an nbtrain.tf1.Replica sets it
    when(chief, lambda status: "and is waited for: start it" in status.message)
    cluster.server()
    trains(chief)
    assert chief.ask("stop") == "stopped"
    assert chief.status().message == ""


@pytest.mark.parametrize("program", ["hooked", "monitored"])
def test_a_stop_ends_the_wait_for_a_server_that_was_killed(cluster: Cluster, program: str) -> None:
    server = cluster.server()
    chief = cluster.chief(program)
    trains(chief)
    server.kill()
    when(chief, lambda status: "and is waited for: start it" in status.message)
    assert chief.ask("stop") == "stopped"
    assert "The steps since the latest checkpoint are lost." in chief.status().message
    assert chief.leave() == 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_stop_ends_a_workers_wait_for_its_chief(cluster: Cluster, program: str) -> None:
    cluster.server()
    worker = cluster.worker(program)
    when(worker, lambda status: status.phase == "preparing")
    assert worker.ask("stop") == "stopped"
    worker.ask("start")
    chief = cluster.chief(program)
    trains(worker)
    assert [chief.ask("stop"), worker.ask("stop")] == ["stopped", "stopped"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_chief_that_was_killed_takes_up_the_training_again(
    cluster: Cluster, program: str
) -> None:
    cluster.server()
    chief, worker = cluster.chief(program), cluster.worker(program)
    saves(chief)
    chief.kill()
    trains(worker, beyond=worker.status().step + SAVE_STEPS)
    chief = cluster.chief(program)
    when(chief, lambda status: "Continues from model.ckpt-" in status.notice)
    trains(chief)
    trains(worker)
    assert [chief.ask("stop"), worker.ask("stop")] == ["stopped", "stopped"]


@pytest.mark.parametrize("program", ["hooked", "monitored"])
def test_while_its_server_is_dead_a_run_saves_and_restores_nothing_and_says_why(
    cluster: Cluster, program: str
) -> None:
    server = cluster.server()
    chief = cluster.chief(program)
    trains(chief)
    assert chief.ask("receipt", "pause")[0]
    assert chief.ask("receipt", "save")[0]
    server.kill()
    for command in ("save", "restore"):
        applied, text = chief.ask("receipt", command)
        assert not applied
        assert LOST in text
        assert text.endswith(
            "is lost. Once it has been started again, the training can continue "
            "from the latest checkpoint."
        )
    held = chief.ask("checkpoints")
    cluster.server()
    assert chief.ask("receipt", "resume")[0]
    assert f"made again; the training continues from step {held[-1]:,}." in (
        trains(chief, beyond=held[-1]).message
    )
    assert chief.ask("stop") == "stopped"
