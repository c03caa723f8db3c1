"""The actions of a run about its marks: carried out, or refused with the reason."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

import nbtrain
from nbtrain.core.commands import Pause, Restore, Set
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.rundir.entries import entries
from nbtrain.steer.actions import Action
from tests.gate import SOON, Gate
from tests.models import Counter, applied, refused
from tests.training.hooked import Loop


@pytest.fixture
def run() -> Iterator[nbtrain.Run]:
    """A run that is paused after its first step."""
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, name="a", start=False)
    paused = run.post(Pause(), at=1)
    run.start()
    applied(paused)
    yield run
    run.request_stop()
    run.wait(SOON)


def action_named(run: nbtrain.Run, text: str) -> Action:
    """The action with this text."""
    (found,) = (action for action in run.actions() if action.text == text)
    return found


def last_line(run: nbtrain.Run) -> tuple[str, bool, str]:
    """Event, outcome and text of the newest line of the journal."""
    run.attempt.context.monitor.write_journal()
    *_, line = entries(run.logdir)
    return line["event"], line.get("applied", True), line["text"]


def delete(run: nbtrain.Run, step: int) -> None:
    """Deletes a checkpoint, and lists them again."""
    for file in (run.logdir / "checkpoints").glob(f"ckpt-{step}.*"):
        file.unlink()
    run.attempt.boundary.policy.list_again()


def test_an_action_that_cannot_be_done_is_refused_with_its_reason(run: nbtrain.Run) -> None:
    applied(run.save())
    delete(run, 1)
    action = action_named(run, "Restore step 1")
    assert action.reason == "its checkpoint was deleted"
    receipt = run.do(action)
    text = "Cannot do 'Restore step 1': its checkpoint was deleted"
    assert refused(receipt).text == text
    assert last_line(run) == ("restore", False, text)
    assert run.receipts[-1] is receipt


def test_an_action_whose_checkpoint_is_gone_does_not_restore_a_copy_of_the_step(
    run: nbtrain.Run,
) -> None:
    applied(run.save())
    held = run.logdir / "checkpoints"
    shutil.rmtree(held / "last_good", ignore_errors=True)
    shutil.copytree(held, held / "last_good", dirs_exist_ok=False)
    action = action_named(run, "Restore step 1")
    assert action.reason is None
    for file in held.glob("ckpt-1.*"):
        file.unlink()
    assert "There is no checkpoint 'checkpoints/ckpt-1'" in refused(run.do(action)).text
    delete(run, 1)
    assert [checkpoint.path for checkpoint in run.checkpoints] == [str(held / "last_good/ckpt-1")]
    assert "call run.actions() again" in refused(run.do(action)).text


def test_an_action_for_a_checkpoint_that_was_saved_again_is_refused(run: nbtrain.Run) -> None:
    applied(run.save())
    action = action_named(run, "Restore step 1")
    applied(run.save())
    text = (
        "Cannot do 'Restore step 1': it is no longer one of its actions: call run.actions() again"
    )
    assert refused(run.do(action)).text == text
    later, replaced = run.actions()
    assert replaced.reason == "a later save of this step has replaced it"
    assert replaced.reason in refused(run.do(replaced)).text
    applied(run.do(later))


def test_an_action_of_another_run_is_refused(run: nbtrain.Run) -> None:
    applied(run.save())
    strange = Action("Restore step 1", Restore("checkpoints/ckpt-1"))
    assert "call run.actions() again" in refused(run.do(strange)).text
    with pytest.raises(ArgumentError, match=r"do\(Set\("):
        run.do(Set({"learning_rate": 1.0}))  # type: ignore[arg-type]


def test_an_action_after_the_end_is_refused_and_not_logged(run: nbtrain.Run) -> None:
    applied(run.save())
    action = action_named(run, "Restore step 1")
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert "the run has ended: start it again to continue" in refused(run.do(action)).text
    assert last_line(run)[0] == "stopped"


def test_old_checkpoints_are_listed_while_a_second_start_opens_its_session(gate: Gate) -> None:
    loop = Loop()

    def train(run: nbtrain.Run) -> None:
        gate()
        loop(run)

    run = nbtrain.background(train, steps=3, save_steps=1, start=False)
    gate.allow()
    run.start().wait(SOON)
    gate.wait_for_arrivals()
    held = run.checkpoints
    run.start()
    gate.wait_for_arrivals()
    assert run.status.phase is Phase.PREPARING
    assert run.status.checkpoints == held
    assert [str(action) for action in run.actions()] == [
        f"Restore step {step}" for step in (3, 2, 1)
    ]
    gate.open()
    run.wait(SOON)
