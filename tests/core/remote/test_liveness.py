"""The signs of life of a run: silence, a process that is gone, a folder that is gone, a restart."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil
import pytest

from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.remote.liveness import OVERDUE_SECS, Liveness, has_ended
from nbtrain.rundir.status_file import SignOfLife, Writer

NOW = 1_790_000_000.0


def sign(
    step: int = 1240,
    *,
    attempt: str = "first",
    host: str = "lab-3",
    phase: Phase = Phase.RUNNING,
    alive: float = NOW,
) -> SignOfLife:
    saved = Checkpoint(1200, "runs/x/checkpoints/ckpt-1200", 1.0, 3.0)
    aside = Checkpoint(1230, "runs/x/checkpoints/last_good/ckpt-1230", 1.0, 4.0)
    gone = Checkpoint(1300, "runs/x/checkpoints/ckpt-1300", 1.0, 2.0, abandoned=True)
    held = (gone, saved, aside)
    status = Status("x", "step function", phase, step, 9000, 10.0, 5.0, checkpoints=held)
    return SignOfLife(Writer(attempt, host, 4711, NOW - 100), alive, status)


class Watched:
    """A liveness with clocks and a process that the test moves."""

    def __init__(self, first: SignOfLife) -> None:
        self.now, self.wall, self.gone = 50.0, NOW, False
        self.liveness = Liveness(
            Path("runs/x"),
            first,
            clock=lambda: self.now,
            wall=lambda: self.wall,
            gone=lambda _writer: self.gone,
        )

    def after(self, secs: float, *, there: bool = True) -> Liveness:
        """The liveness after a look some seconds later."""
        self.now += secs
        self.wall += secs
        self.liveness.update(there=there)
        return self.liveness


def test_a_killed_process_has_the_checkpoints_that_it_saved_after_its_last_sign() -> None:
    folder = Path("runs/x/checkpoints")
    folder.mkdir(parents=True)
    for step in (1190, 1200, 1240, 1300):  # deleted since, known, new, and abandoned
        (folder / f"ckpt-{step}.index").touch()
    (folder / "last_good").mkdir()
    for step in (1230, 1250):  # a start continues from a copy too
        (folder / "last_good" / f"ckpt-{step}.index").touch()
    watched = Watched(sign())
    assert [each.step for each in watched.liveness.status.checkpoints] == [1300, 1200, 1230]
    watched.gone = True
    status = watched.after(1.5).status
    assert status.phase is Phase.FAILED
    assert [each.step for each in status.checkpoints] == [1300, 1200, 1230, 1240, 1250]
    assert "from its latest checkpoint, step 1,250." in str(status.failure)


def test_a_run_that_gives_signs_lives() -> None:
    watched = Watched(sign())
    for step in range(5):
        watched.liveness.heard(sign(1240 + step))
        assert watched.after(1.0).message is None
    assert watched.liveness.status.step == 1244
    assert watched.liveness.refusal is None


def test_silence_is_said_within_two_seconds_and_no_longer_after_a_sign() -> None:
    watched = Watched(sign())
    assert watched.after(1.5).message is None
    said = watched.after(0.5).message
    assert said == ("No sign of life of process 4711 on lab-3 for 2 s; the last was at step 1,240.")
    assert watched.liveness.status.phase is Phase.RUNNING
    assert watched.liveness.refusal is None, "it may take a command later"
    watched.liveness.heard(sign(1250))
    assert watched.after(0.1).message is None


def test_a_sign_that_is_read_again_is_no_sign_of_life() -> None:
    watched = Watched(sign())
    watched.gone = True
    assert watched.after(1.5).status.phase is Phase.FAILED
    watched.liveness.heard(sign())
    assert watched.after(0.1).status.phase is Phase.FAILED


def test_an_old_sign_is_dated() -> None:
    watched = Watched(sign(alive=NOW - 86_400))
    said = watched.after(2.0).message
    assert said is not None
    assert ", dated 20" in said
    assert "by its clock" in said


def test_a_process_that_is_gone_has_failed_and_it_is_said_what_to_do() -> None:
    watched = Watched(sign())
    watched.gone = True
    liveness = watched.after(OVERDUE_SECS)
    assert liveness.status.phase is Phase.FAILED
    assert liveness.status.steps_per_s is None
    assert (
        liveness.status.failure
        == liveness.refusal
        == (
            "Process 4711 on lab-3 ended without a last status; its last sign of life was at step "
            "1,240. Start the run again with logdir='runs/x': it continues from its latest "
            "checkpoint, step 1,230."
        )
    )


def test_a_process_that_gives_signs_is_not_gone_though_its_number_is_unknown_here() -> None:
    watched = Watched(sign())
    watched.gone = True
    for step in range(5):
        watched.liveness.heard(sign(1240 + step))
        assert watched.after(1.0).failure is None
    watched.after(OVERDUE_SECS)
    assert watched.liveness.failure is not None
    watched.liveness.heard(sign(1300))
    assert watched.liveness.failure is None


def test_a_process_of_this_machine_that_died_long_ago_is_gone_at_the_first_look() -> None:
    watched = Watched(sign(host=socket.gethostname(), alive=NOW - 60))
    watched.gone = True
    assert watched.after(0.0).failure is not None


def test_a_folder_that_is_gone_is_said_at_once_and_until_it_is_back() -> None:
    watched = Watched(sign())
    assert watched.after(0.1, there=False).message == (
        "The folder runs/x is gone: it was deleted or renamed, or its share is unavailable. The "
        "data shown is from before."
    )
    assert watched.after(0.1).message is None


def test_a_run_that_was_started_again_is_said_for_a_while() -> None:
    watched = Watched(sign())
    watched.gone = True
    watched.after(OVERDUE_SECS)
    watched.liveness.heard(sign(1200, attempt="second", host="lab-4"))
    assert watched.liveness.status.phase is Phase.RUNNING
    assert watched.liveness.status.notice == (
        "The run was started again, by process 4711 on lab-4."
    )
    watched.now += 60
    assert watched.liveness.status.notice is None


@pytest.mark.parametrize("phase", [Phase.FINISHED, Phase.STOPPED, Phase.FAILED])
def test_a_run_that_has_ended_need_not_give_signs_and_takes_no_commands(phase: Phase) -> None:
    watched = Watched(sign(phase=phase))
    watched.gone = True
    liveness = watched.after(1000.0)
    assert liveness.message is None
    assert liveness.failure is None
    assert liveness.refusal is not None
    assert f"the run has ended ({phase} at step 1,240). Start the run again" in liveness.refusal
    assert ("more steps" in liveness.refusal) == (phase is Phase.FINISHED)


def test_a_process_is_known_by_its_number_and_its_start() -> None:
    here, started = socket.gethostname(), psutil.Process().create_time()

    def dead(process: int, start: float, alive: float, host: str = here) -> bool:
        status = Status("x", "step function", Phase.RUNNING, 0)
        return has_ended(SignOfLife(Writer("a", host, process, start), alive, status))

    assert not dead(os.getpid(), started, started)
    assert dead(os.getpid(), started - 60, started - 30), "the number is used again"
    assert not dead(os.getpid(), started - 3600, started + 1), "the clock of the system was set"
    assert dead(2**22 + 1, started, started)
    assert not dead(2**22 + 1, started, started, "another"), "nobody knows from here"
