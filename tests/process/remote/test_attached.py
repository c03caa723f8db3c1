"""A run of another process, followed and steered through its folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest

import nbtrain
from nbtrain.core.commands import Pause, Sender, Set, Stop
from nbtrain.core.errors import ArgumentError, RunFailedError, WaitError
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase
from nbtrain.remote.attached import AttachedRun
from tests.forked import Forked
from tests.gate import SOON, Gate, eventually
from tests.models import Counter, applied, refused
from tests.on_disk import journal
from tests.process.attached import FOLDER, Points, marks, points, train


def stand(pipe: Connection, passes: int) -> None:
    """Train, with a step that stands still after some; the process does not end by itself."""
    gate = Gate(passes)
    nbtrain.train(Counter(gate).step, name="far")
    gate.wait_for_arrivals(passes + 1)
    pipe.send("stands")
    gate.wait_for_arrivals()


def fail(pipe: Connection) -> None:
    """Train until the step raises an error."""

    def raise_at_5(count: int) -> None:
        if count == 5:
            raise ValueError("the fifth is too much")

    run = nbtrain.train(Counter(raise_at_5).step, name="far")
    with pytest.raises(ValueError, match="fifth"):
        run.wait()
    pipe.send("failed")


@pytest.fixture
def child() -> Iterator[Forked]:
    """A process that trains in `runs/far`."""
    with Forked(train) as child:
        child.answer()
        yield child


@pytest.fixture
def run(child: Forked) -> Iterator[AttachedRun]:
    """Its run, attached here."""
    with attached() as run:
        eventually(lambda: run.status.phase is Phase.RUNNING)
        yield run


def attached(folder: Path = FOLDER) -> AttachedRun:
    run = nbtrain.attach(folder)
    assert isinstance(run, AttachedRun)
    return run


def said(run: AttachedRun, words: str) -> str:
    """The message of a run, once it says so."""
    return str(eventually(lambda: (text := run.status.message) and words in text and text))


def _beyond(run: AttachedRun, step: int) -> None:
    """Until the run has passed a step."""
    eventually(lambda: run.status.step > step)


# --- follow -----------------------------------------------------------------------


def test_an_attached_run_has_the_state_of_the_run(child: Forked, run: AttachedRun) -> None:
    assert (run.name, run.logdir) == ("far", FOLDER.absolute())
    assert run.status.phase is Phase.RUNNING
    assert run.hyperparameters == {"rate": 0.5}
    assert run.total_steps is None
    step = run.status.step
    eventually(lambda: run.status.step > step)
    eventually(lambda: run.checkpoints)
    assert repr(run).startswith(f"<nbtrain run 'far' of process {child.pid} on ")
    assert ": running at step " in repr(run)


def test_curves_and_marks_are_those_of_the_run_also_after_restores(
    child: Forked, run: AttachedRun
) -> None:
    for _ in range(2):
        saved = applied(run.save()).step
        _beyond(run, saved + 5)
        applied(run.restore(saved))
        applied(run.set(rate=0.25))
    applied(run.pause())
    child.send("points")
    own: Points = child.answer()
    eventually(lambda: points(run) == own)
    assert any(gone for _, _, gone in own["count"])
    child.send("marks")
    assert marks(run) == child.answer()
    with attached() as later:
        assert points(later) == own, "read in one go"
        assert marks(later) == marks(run)
        assert [str(each) for each in later.actions()] == [str(each) for each in run.actions()]


def test_a_run_that_goes_on_in_another_process_has_all_of_its_curve() -> None:
    for steps in (120, 260):
        with Forked(train, steps) as child:
            child.answer()
            child.send("wait")
            assert child.answer() == "finished"
            child.send("points")
            own: Points = child.answer()
            assert points(attached()) == own
    assert [step for step, _, _ in own["count"]] == list(range(1, 261))


def test_a_run_that_starts_over_has_its_own_curve_and_abandons_the_earlier() -> None:
    for steps in (120, 60):
        shutil.rmtree(FOLDER / "checkpoints", ignore_errors=True)
        with Forked(train, steps) as child:
            child.answer()
            child.send("wait")
            child.answer()
    found = points(attached())["count"]
    assert [step for step, _, abandoned in found if not abandoned] == list(range(1, 61))
    assert [step for step, _, abandoned in found if abandoned] == list(range(1, 121))


def test_two_attached_runs_work_independently(run: AttachedRun) -> None:
    with attached() as other:
        applied(other.pause())
        applied(run.resume())
        assert [each.name for each in run.receipts] == ["resume"]
        assert [each.name for each in other.receipts] == ["pause"]
        other.close()
        step = run.status.step
        eventually(lambda: run.status.step > step)


def test_a_listener_is_called_until_the_end_and_an_error_of_it_is_said(run: AttachedRun) -> None:
    phases: list[Phase] = []

    def look() -> None:
        phases.append(run.status.phase)
        raise ValueError("no display")

    forget = run.on_tick(look)
    said(run, "no display")
    run.request_stop()
    run.wait(SOON)
    eventually(lambda: phases[-1] is Phase.STOPPED)
    forget()
    forget()


# --- steer ------------------------------------------------------------------------


def test_a_command_is_answered_once_its_effect_can_be_seen(run: AttachedRun) -> None:
    paused = applied(run.pause())
    assert paused.text == "paused"
    assert (run.status.phase, run.status.step) == (Phase.PAUSED, paused.step)
    outcome = applied(run.set(rate=0.125))
    assert [(edit.name, edit.old, edit.new) for edit in outcome.edits] == [("rate", 0.5, 0.125)]
    assert run.hyperparameters == {"rate": 0.125}
    saved = applied(run.save())
    assert run.checkpoints[-1].step == saved.step
    applied(run.resume())
    assert run.status.phase is Phase.RUNNING
    applied(run.restore(run.checkpoints[-1]))
    assert run.hyperparameters["rate"] in (0.125, 0.5)
    (line,) = journal(FOLDER, "save")
    assert line["by"].endswith(f", process {os.getpid()}")


def test_a_stop_says_at_the_end_how_the_run_ended(run: AttachedRun) -> None:
    receipt = run.request_stop()
    assert run.wait(SOON) is run
    assert run.status.phase is Phase.STOPPED
    assert applied(receipt).text.startswith("stopped, saved as ckpt-")
    assert run.scalars["count"].steps[-1] == run.status.step


@pytest.mark.parametrize(
    ("post", "words"),
    [
        (lambda run: run.set(speed=3), "There is no hyperparameter 'speed'"),
        (lambda run: run.resume(), "Cannot resume while running"),
        (lambda run: run.restore(7), "There is no checkpoint 7"),
    ],
)
def test_a_refusal_comes_in_the_words_of_the_run(
    run: AttachedRun, post: Callable[[AttachedRun], Receipt], words: str
) -> None:
    assert words in refused(post(run)).text


def test_what_cannot_be_sent_is_an_error_at_once(run: AttachedRun) -> None:
    with pytest.raises(ArgumentError, match="cannot be sent to another process"):
        run.trial(rate=0.1, keep_if=lambda _before, _after: True)
    with pytest.raises(ArgumentError, match="cannot be planned"):
        run.post(Stop(), at=7)
    with pytest.raises(ArgumentError, match="give a command"):
        run.post("pause")  # type: ignore[arg-type]
    assert not list((FOLDER / "mailbox").glob("*.json"))


def test_a_command_at_a_step_is_done_there(run: AttachedRun) -> None:
    at = run.status.step + 500
    assert applied(run.post(Set({"rate": 0.25}), at=at)).step == at


def test_a_click_that_is_posted_twice_is_one_command(run: AttachedRun) -> None:
    first = run.post(Pause(), sender=Sender("click-1"))
    assert run.post(Pause(), sender=Sender("click-1")) is first
    applied(first)
    assert len(journal(FOLDER, "pause")) == 1


def test_many_commands_of_three_threads_are_each_answered_once(run: AttachedRun) -> None:
    found: list[list[Receipt]] = [[], [], []]

    def post(mine: list[Receipt]) -> None:
        mine += [run.set(rate=0.5) for _ in range(40)]

    threads = [threading.Thread(target=post, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for receipt in [receipt for mine in found for receipt in mine]:
        applied(receipt)
    assert len({line["id"] for line in journal(FOLDER, "set")}) == 120
    assert len(journal(FOLDER, "set")) == 120


def test_a_mailbox_that_is_away_refuses_in_words(run: AttachedRun) -> None:
    applied(run.pause())
    (FOLDER / "mailbox").rename(FOLDER / "aside")
    (FOLDER / "mailbox").write_text("no folder")
    assert "mailbox cannot be written: Not a directory" in refused(run.resume()).text
    (FOLDER / "mailbox").unlink()
    (FOLDER / "aside").rename(FOLDER / "mailbox")
    applied(run.resume())


# --- the end, and what goes wrong ---------------------------------------------------


def test_a_killed_process_is_said_with_what_to_do_and_its_next_start_followed() -> None:
    with Forked(train) as first:
        first.answer()
        run = attached()
        saved = applied(run.save()).step
        first.kill()
        with pytest.raises(RunFailedError, match="ended without a last status"):
            run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    why = str(run.status.failure)
    assert why.startswith(f"Process {first.pid} on ")
    assert "Start the run again with logdir='runs/far': it continues from its latest" in why
    assert refused(run.save()).text == why
    assert run.status.values_at is not None
    with Forked(train) as second:
        assert second.answer() >= saved
        eventually(lambda: run.status.phase is Phase.RUNNING)
        assert f"started again, by process {second.pid} on" in str(run.status.notice)
        applied(run.pause())

        def own() -> Points:  # it reads the records of the first process beside the training
            second.send("points")
            answer: Points = second.answer()
            return answer

        eventually(lambda: points(run) == own())
        run.close()


def test_a_command_that_was_not_taken_is_taken_back_if_the_process_dies() -> None:
    with Forked(stand, 3) as child:
        assert child.answer() == "stands"
        run = attached()
        child.signal(signal.SIGSTOP)
        eventually(lambda: psutil.Process(child.pid).status() == psutil.STATUS_STOPPED)
        receipt = run.pause()
        child.kill()
        outcome = refused(receipt)
    assert (outcome.state, outcome.answered) == ("refused", True)
    assert outcome.text.startswith("the command was not executed: Process ")
    assert list((FOLDER / "mailbox").glob("*.json")) == []
    run.close()


def test_a_command_that_was_taken_is_unanswered_if_the_process_dies() -> None:
    with Forked(stand, 3) as child:
        assert child.answer() == "stands"
        run = attached()
        receipt = run.pause()
        eventually(lambda: list((FOLDER / "mailbox" / "taken").iterdir()))
        child.kill()
        outcome = refused(receipt)
    assert (outcome.state, str(outcome).partition(" ")[0]) == ("unanswered", "unanswered")
    assert "the run has read the command, and did not answer" in outcome.text
    assert "The next start of the run writes to runs/far/mailbox/answers/" in outcome.text
    run.close()


def test_a_run_that_falls_silent_is_said_until_it_is_heard_again(
    child: Forked, run: AttachedRun
) -> None:
    child.signal(signal.SIGSTOP)
    text = said(run, "No sign of life")
    assert f"of process {child.pid} on " in text
    assert run.status.phase is Phase.RUNNING
    child.signal(signal.SIGCONT)
    eventually(lambda: run.status.message is None)


def test_a_folder_that_was_renamed_is_said_until_it_is_back(run: AttachedRun) -> None:
    eventually(lambda: "count" in run.scalars)
    FOLDER.rename("runs/elsewhere")
    assert "runs/far is gone: it was deleted or renamed" in said(run, "is gone")
    assert "the folder runs/far is gone" in refused(run.pause()).text
    assert len(run.scalars["count"]) > 0, "what was read stays"
    Path("runs/elsewhere").rename(FOLDER)
    eventually(lambda: "is gone" not in (run.status.message or ""))


def test_an_error_of_the_training_is_raised_by_wait_with_its_traceback() -> None:
    with Forked(fail) as child:
        assert child.answer() == "failed"
    run = attached()
    assert run.status.phase is Phase.FAILED
    with pytest.raises(RunFailedError, match=r"(?s)ValueError: the fifth.*Traceback"):
        run.wait()


def test_an_ended_run_can_be_looked_at_and_takes_no_commands() -> None:
    with Forked(train, 30) as child:
        child.answer()
        child.send("wait")
        child.answer()
    run = attached()
    assert run.wait() is run
    assert len(run.scalars["count"]) == 30
    assert [mark.event for mark in run.marks] == ["checkpoint"]
    text = refused(run.save()).text
    assert text == (
        "the run has ended (finished at step 30). Start the run again with more steps and "
        "logdir='runs/far': it continues from its latest checkpoint, step 30."
    )


def test_waiting_has_an_end_without_touching_the_run(run: AttachedRun) -> None:
    with pytest.raises(WaitError, match="has not ended"):
        run.wait(0.01)

    async def wait() -> None:
        await asyncio.wait_for(_of(run), 0.3)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(wait())
    run.close()
    with pytest.raises(WaitError, match="attach it again"):
        run.wait()
    assert "the run is no longer followed" in refused(run.pause()).text


async def _of(run: AttachedRun) -> AttachedRun:
    return await run


def test_a_wait_for_a_paused_run_says_once_how_to_resume_it(
    run: AttachedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    applied(run.pause())
    with pytest.raises(WaitError):
        run.wait(1.0)
    said = capsys.readouterr().err
    assert said.count("The run 'far' is paused at step ") == 1
    assert "Resume it by `nbtrain resume runs/far` in another terminal." in said
    assert "Ctrl-C here ends only the wait." in said


# --- what can be attached -----------------------------------------------------------


def test_a_live_run_of_this_process_is_itself() -> None:
    gate = Gate()
    own = nbtrain.train(Counter(gate).step, steps=3, name="far")
    assert nbtrain.attach(FOLDER) is own
    gate.open()
    own.wait(SOON)
    assert isinstance(nbtrain.attach(FOLDER), AttachedRun)


@pytest.mark.parametrize(
    ("make", "given", "words"),
    [
        (None, "runs/none", "There is no folder 'runs/none': give the folder of a run"),
        ("file", "runs/file", "'runs/file' is a file: give the folder of a run"),
        ("empty/", "runs/empty", "has no status.json, so no run has trained in it"),
        ("old/steering.jsonl", "runs/old", r"earlier version.*nbtrain.scalars\('runs/old'\)"),
        ("tb/events.out.tfevents.1", "runs/tb", r"another program.*nbtrain.scalars\('runs/tb'\)"),
        ("bad/status.json", "runs/bad", "cannot be read as the status of a run: it is not JSON"),
        ("a/b/status.json", "runs/a", "Give the folder of a run. Runs there: 'runs/a/b'"),
        (None, 7, "give the folder of a run on this machine"),
        (None, "gs://bucket/x", "give the folder of a run on this machine"),
    ],
)
def test_what_cannot_be_attached_is_said_with_what_to_do(
    make: str | None, given: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtrain.remote.attach._STARTING_SECS", 0.1)
    if make is not None:
        path = Path("runs", make)
        (path if make.endswith("/") else path.parent).mkdir(parents=True)
        if not make.endswith("/"):
            path.write_text("")
    with pytest.raises(ArgumentError, match=words):
        nbtrain.attach(given)
