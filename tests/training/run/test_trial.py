"""Trial edits: other values for some steps; then kept, or back to where the trial began."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause, Save, Try
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.fitted import BATCH, X, Y, classifier, started
from tests.gate import SOON, Gate
from tests.models import applied, reached, refused
from tests.on_disk import copy_of
from tests.training.tried import Tried, ended, paused
from tests.training.tuned import curve, lines


def test_a_better_trial_is_kept(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=0.25, steps=20)
    run.resume()
    outcome = applied(trial)
    assert outcome.step == 21
    assert outcome.text == "kept rate 0.25: val_loss 0.5 → 0.25"
    assert outcome.kept is True
    ended(run)
    assert [mark.kept for mark in run.marks if mark.event == "try"] == [None, True]
    assert set(tried.used[:1]) == {0.5}
    assert set(tried.used[1:]) == {0.25}


def test_a_lower_accuracy_is_worse(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=lambda: {"accuracy": tried.rate.read_value()})
    trial = run.trial(rate=0.25, steps=8, keep_if="val_accuracy")
    run.resume()
    outcome = applied(trial)
    assert outcome.kept is False
    assert "val_accuracy 0.5 → 0.25" in outcome.text
    ended(run)


def test_a_worse_trial_goes_back_to_its_beginning(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=0.75, steps=20, keep_if="val_loss")
    run.resume()
    outcome = applied(trial)
    assert outcome.step == 21
    assert outcome.text == "back to step 1, rate 0.5 again: val_loss 0.5 → 0.75"
    assert [(edit.name, edit.old, edit.new) for edit in outcome.edits] == [("rate", 0.75, 0.5)]
    assert outcome.kept is False
    ended(run)
    assert [mark.kept for mark in run.marks if mark.event == "try"] == [None, False]
    assert tried.used[:22] == [0.5] + [0.75] * 20 + [0.5]
    assert int(tried.count.numpy()) == run.status.step
    begun, over = lines(run, "try")
    assert (begun["step"], begun["edits"]) == (1, {"rate": [0.5, 0.75]})
    assert (over["step"], over["to"], over["edits"]) == (21, 1, {"rate": [0.75, 0.5]})
    assert run.scalars["loss"].segments.max() == 1
    assert (1, 0.5) in curve(run)[2:]


@pytest.mark.parametrize("rates", [0.75, [0.75, 0.625]])
def test_a_trial_goes_back_to_what_the_evaluation_before_it_has_set(rates: Any, gate: Gate) -> None:
    tried = Tried(gate)

    def evaluate() -> dict[str, Any]:
        if len(tried.used) == 1:
            tried.rate.assign(0.375)
        return tried.evaluate()

    run = paused(gate, tried, evaluate=evaluate)
    trial = run.trial(rate=rates, steps=8, keep_if="val_loss")
    run.resume()
    assert applied(trial).kept is False
    ended(run)
    assert tried.used[-1] == 0.375


def test_a_recorded_scalar_decides_by_its_mean_over_the_last_quarter(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=0.25, steps=8, keep_if="max:count")
    run.resume()
    assert applied(trial).text == "kept rate 0.25: count 1 → 8.5"  # of steps 8 and 9
    ended(run)


def test_a_function_decides(gate: Gate) -> None:
    seen: list[dict[str, float]] = []

    def keep(before: Any, after: Any) -> bool:
        seen.extend((dict(before), dict(after)))
        return False

    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=0.25, steps=8, keep_if=keep)
    run.resume()
    assert applied(trial).kept is False
    before, after = seen
    assert (before["loss"], before["val_loss"], before["val_accuracy"]) == (0.5, 0.5, 1.0)
    assert (after["loss"], after["val_loss"]) == (0.25, 0.25)
    ended(run)


def test_a_function_that_raises_keeps_nothing(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=0.25, steps=8, keep_if=lambda before, _after: before["loess"] > 0)
    run.resume()
    text = "back to step 1, rate 0.5 again: the deciding scalars could not be measured: 'loess'"
    assert applied(trial).text == text
    assert ended(run).status.phase is Phase.STOPPED


def test_a_stop_in_the_evaluation_that_decides_throws_nothing_away(gate: Gate) -> None:
    tried = Tried(gate)
    asked: list[Run] = []

    def evaluate() -> dict[str, Any]:
        if tried.used[-1] == 0.75:
            asked[0].request_stop()
        return tried.evaluate()

    run = paused(gate, tried, evaluate=evaluate)
    asked.append(run)
    trial = run.trial(rate=0.75, steps=20)
    run.resume()
    run.wait(SOON)
    refused(trial)
    assert (run.status.step, tried.rate.numpy()) == (21, 0.75)


def test_a_stop_in_the_evaluation_before_a_trial_leaves_the_values_as_they_are(gate: Gate) -> None:
    tried = Tried(gate)

    def evaluate() -> dict[str, Any]:
        run.request_stop()
        return tried.evaluate()

    run = paused(gate, tried, evaluate=evaluate)
    trial = run.trial(rate=0.75, steps=20)
    run.wait(SOON)
    assert refused(trial).text == "The run was asked to stop before the trial began."
    assert tried.rate.numpy() == 0.5
    assert run.status.message is None


def test_a_loss_that_becomes_nan_ends_a_trial_at_once(gate: Gate) -> None:
    tried = Tried(gate)

    def step() -> dict[str, Any]:
        values = tried.step()
        return {**values, "loss": math.nan if tried.used[-1] == 0.75 else 0.5}

    run = nbtrain.train(
        step, checkpoint=tried.checkpoint, hyperparameters={"rate": tried.rate}, name="tried"
    )
    gate.wait_for_arrivals()
    trial = run.trial(rate=0.75, steps=10**9, keep_if="min:count")
    gate.open()
    outcome = applied(trial)
    assert re.fullmatch(
        r"back to step (\d+), rate 0.5 again: loss was NaN at step \d+", outcome.text
    )
    reached(run, lambda run: run.status.step > outcome.step)
    assert run.status.phase is Phase.RUNNING
    assert run.status.message is None
    ended(run)


def test_a_loss_that_becomes_nan_at_the_last_step_ends_a_trial_too(gate: Gate) -> None:
    tried = Tried(gate)

    def step() -> dict[str, Any]:
        values = tried.step()
        bad = tried.used[-1] == 0.75 and values["count"] == 5
        return {**values, "loss": math.nan if bad else 0.5}

    run = nbtrain.train(
        step, checkpoint=tried.checkpoint, hyperparameters={"rate": tried.rate}, steps=5
    )
    gate.wait_for_arrivals()
    trial = run.trial(rate=0.75, steps=4, keep_if="min:count")
    gate.open()
    run.wait(SOON)
    assert applied(trial).kept is False
    assert (run.status.step, run.status.message) == (5, None)


def test_a_trial_that_ends_with_the_run_is_decided(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, steps=5)
    trial = run.trial(rate=0.75, steps=4, keep_if="loss")
    run.resume()
    run.wait(SOON)
    assert applied(trial).kept is False
    assert tried.used == [0.5, *[0.75] * 4, *[0.5] * 4]


def test_without_checkpoints_the_values_alone_go_back(gate: Gate) -> None:
    tried = Tried(gate, saved=False)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=0.75, steps=8)
    run.resume()
    assert applied(trial).text == (
        "rate 0.5 again, the weights as they are (nothing saves them): val_loss 0.5 → 0.75"
    )
    assert run.scalars["loss"].segments.max() == 0
    ended(run)
    assert tried.used[:10] == [0.5] + [0.75] * 8 + [0.5]


def test_a_checkpoint_that_was_deleted_meanwhile_is_told(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=0.75, steps=8)
    run.post(Pause(), at=4)
    reached(run, lambda run: bool(run.checkpoints))
    run.resume()
    reached(run, lambda run: run.status.phase is Phase.PAUSED and run.status.step == 4)
    shutil.rmtree(run.logdir / "checkpoints")
    run.resume()
    text = applied(trial).text
    assert text.startswith("rate 0.5 again, the weights as they are (There is no checkpoint")
    ended(run)


@pytest.mark.parametrize(
    ("values", "options", "says"),
    [
        ({}, {}, "No value is given: hyperparameters are rate, dropout."),
        ({"rate": 0.5}, {}, "rate is 0.5 already: give another"),
        ({"rate": 0.1}, {"steps": 0}, "steps=0: give a whole number of at least 1."),
        ({"rate": 0.1}, {"keep_if": "los"}, "keep_if='los': nothing was recorded under this tag"),
        ({"rate": 0.1}, {"keep_if": 3}, "keep_if=3: give the tag of a scalar"),
        ({"rate": 0.1}, {"keep_if": None}, "keep_if=None: give the tag of a scalar"),
    ],
)
def test_an_impossible_trial_is_refused_and_changes_nothing(
    gate: Gate, values: dict[str, Any], options: dict[str, Any], says: str
) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    text = refused(run.trial(values, **{"keep_if": "loss", **options})).text
    assert says in text
    assert run.hyperparameters == {"rate": 0.5, "dropout": 0.25}
    assert applied(run.save()).step == 1  # and nothing was saved before
    ended(run)
    assert lines(run, "try")[0]["applied"] is False


def test_a_second_trial_waits_for_none(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    run.trial(rate=0.25, steps=8, keep_if="loss")
    assert (
        "another trial is under way, of rate 0.25 since step 1"
        in refused(run.trial(dropout=0.1, steps=8, keep_if="loss")).text
    )
    ended(run)


def test_a_restore_ends_a_trial_with_nothing_decided(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=0.25, steps=8, keep_if="loss")
    applied(run.restore())
    assert refused(trial).text == (
        "the run went back before the trial was over; nothing was decided of rate 0.25"
    )
    again = run.trial(rate=0.25, steps=8, keep_if="loss")
    run.resume()
    applied(again)
    ended(run)


def saved_in_a_trial(gate: Gate, tried: Tried) -> Run:
    """A run that tries the rate 0.25 since step 1, and has saved step 6 and is paused there."""
    run = paused(gate, tried)
    receipts = [run.post(each, at=6) for each in (Save(), Pause())]
    trial = run.trial(rate=0.25, steps=10**9, keep_if="loss")
    run.resume()
    for receipt in receipts:
        applied(receipt)
    applied(run.restore())
    refused(trial)
    return run


TRIED = (
    "The run went back to step 6 in a trial of rate 0.25, which stays as tried; "
    "run.restore('trial/ckpt-1') goes back before it."
)


@pytest.mark.parametrize("wanted", ["trial/ckpt-1", 1])
def test_after_a_restore_into_a_trial_its_begin_can_be_restored(
    gate: Gate, wanted: int | str
) -> None:
    tried = Tried(gate)
    run = saved_in_a_trial(gate, tried)
    assert (run.status.step, run.hyperparameters["rate"]) == (6, 0.25)
    assert run.status.message == TRIED
    applied(run.restore(6))
    assert run.status.message == TRIED
    assert applied(run.restore(wanted)).text.startswith("restored ckpt-1: ")
    assert run.status.message is None
    assert run.hyperparameters["rate"] == 0.5
    ended(run)
    assert not (run.logdir / "checkpoints" / "trial").exists()


def test_after_a_restore_into_a_trial_its_begin_outlives_the_run(gate: Gate) -> None:
    tried = Tried(gate)
    run = saved_in_a_trial(gate, tried)
    ended(run)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.RUNNING)
    assert run.status.message is not None
    applied(run.restore("trial/ckpt-1"))
    assert run.hyperparameters["rate"] == 0.5
    ended(run)


def test_after_a_restore_into_a_trial_another_one_takes_its_place(gate: Gate) -> None:
    tried = Tried(gate)
    run = saved_in_a_trial(gate, tried)
    another = run.trial(rate=0.125, steps=4, keep_if="loss")
    run.resume()
    assert applied(another).kept is True
    assert run.hyperparameters["rate"] == 0.125
    assert run.status.message is None
    ended(run)
    assert not (run.logdir / "checkpoints" / "trial").exists()


def test_a_checkpoint_saved_before_a_trial_at_a_later_step_is_not_part_of_it(
    gate: Gate,
) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    saved = [run.post(each, at=9) for each in (Save(), Pause())]
    applied(run.save())
    run.resume()
    for receipt in saved:
        applied(receipt)
    applied(run.restore(1))
    trial = run.trial(rate=0.25, steps=8, keep_if="loss")
    applied(run.restore(9))
    refused(trial)
    assert run.status.message is None
    ended(run)


def test_the_end_of_the_run_ends_a_trial_with_nothing_decided(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=0.25, steps=10**9, keep_if="loss")
    run.resume()
    reached(run, lambda run: run.hyperparameters["rate"] == 0.25)
    ended(run)
    assert refused(trial).text == (
        "the run ended before the trial was over; nothing was decided of rate 0.25"
    )


def test_a_trial_for_which_too_few_steps_are_left_is_refused(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, steps=5)
    assert refused(run.trial(rate=0.25, steps=5, keep_if="loss")).text == (
        "steps=5: of the run's 5 steps 4 are left; try fewer."
    )
    assert run.hyperparameters["rate"] == 0.5
    ended(run)


def test_a_trial_of_more_steps_than_the_epochs_have_is_refused() -> None:
    run = started(classifier(), "run", x=X, y=Y, batch_size=BATCH, epochs=500)
    applied(run.pause())
    left = (run.total_steps or 0) - run.status.step
    trial = run.trial(learning_rate=0.5, steps=10**6, keep_if="batch_loss")
    assert refused(trial).text.endswith(f"{left:,} are left; try fewer.")
    ended(run)


def test_restoring_the_latest_checkpoint_leaves_a_trial_and_none_of_its_copies(
    gate: Gate,
) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    applied(run.save())
    run.resume()
    reached(run, lambda run: run.status.step > 20)
    kept = run.trial(rate=0.25, steps=10, keep_if="loss")
    assert applied(kept).kept is True
    assert applied(run.restore()).text.startswith("restored ckpt-1: ")
    assert "trial" not in {Path(held.path).parent.name for held in run.checkpoints}
    ended(run)


def test_a_value_on_trial_cannot_be_set_but_others_can(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=0.25, steps=8, keep_if="loss")
    assert refused(run.set(rate=0.125)).text == (
        "Cannot set rate while it is on trial: wait for the end of the trial, or leave it by "
        "run.restore('trial/ckpt-1')."
    )
    applied(run.set(dropout=0.25))
    run.resume()
    assert applied(trial).kept is True
    applied(run.set(rate=0.125))
    ended(run)


def test_the_beginning_of_a_trial_outlives_later_checkpoints(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, save_steps=2, keep=1)
    trial = run.trial(rate=0.75, steps=20, keep_if="loss")
    run.resume()
    assert applied(trial).kept is False
    ended(run)
    assert tried.used[21] == 0.5
    assert [held.step for held in run.checkpoints] == [run.status.step]
    assert not (run.logdir / "checkpoints" / "trial").exists()


def test_a_run_that_is_stopped_in_a_trial_says_so_and_can_go_back(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    run.trial(rate=0.75, steps=10**9, keep_if="loss")
    run.resume()
    reached(run, lambda run: run.status.step > 5)
    ended(run)
    assert run.status.message == (
        "The run ended in a trial of rate 0.75, which stays as tried; started again, "
        "run.restore('trial/ckpt-1') goes back before it."
    )
    for _later in range(2):
        run.start()
        reached(run, lambda run: run.status.phase is Phase.RUNNING)
        assert run.status.message == (
            "The trial that began at step 1 was not decided: its values stay. "
            "run.restore('trial/ckpt-1') goes back before it."
        )
        ended(run)
    run.start()
    applied(run.restore("trial/ckpt-1"))
    assert run.status.message is None
    ended(run)
    assert tried.rate.numpy() == 0.5
    assert not (run.logdir / "checkpoints" / "trial").exists()
    run.start()
    assert ended(run).status.message is None


def test_another_trial_takes_the_place_of_one_that_was_never_decided(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    run.trial(rate=0.75, steps=10**9, keep_if="loss")
    run.resume()
    reached(run, lambda run: run.status.step > 5)
    ended(run)
    run.start()
    another = run.trial(rate=0.25, steps=4, keep_if="loss")
    assert applied(another).kept is True
    ended(run)
    assert not (run.logdir / "checkpoints" / "trial").exists()
    run.start()
    assert ended(run).status.message is None


def test_a_run_that_was_killed_in_a_trial_goes_on_from_where_that_began(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=0.75, steps=10**9, keep_if="loss")
    reached(run, lambda run: run.hyperparameters["rate"] == 0.75)
    copy_of(run.logdir, "runs/copy")
    ended(run)
    assert not refused(trial).applied
    again = Tried()
    copied = nbtrain.train(again.step, checkpoint=again.checkpoint, name="copy", steps=4)
    copied.wait(SOON)
    assert int(again.count.numpy()) == 4
    assert again.used == [0.5] * 3


def test_a_trial_whose_begin_cannot_be_saved_is_refused(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, on_nan=None)
    (run.logdir / "checkpoints").write_text("no folder")
    assert "cannot be written" in refused(run.trial(rate=0.25, keep_if="loss")).text
    assert run.hyperparameters["rate"] == 0.5
    ended(run)


def test_a_trial_that_its_variable_refuses_leaves_no_begin(gate: Gate) -> None:
    tried = Tried(gate)
    tried.share = tf.Variable(0.25, dtype=tf.float16)
    run = paused(gate, tried)
    small = refused(run.trial(dropout=1e-12, steps=8, keep_if="loss"))
    assert "its variable cannot hold that" in small.text
    assert "trial" not in {Path(held.path).parent.name for held in run.checkpoints}
    assert not (run.logdir / "checkpoints" / "trial").exists()
    ended(run)


@pytest.mark.parametrize("saved", [False, True])
def test_a_run_that_is_stopped_before_the_first_step_of_a_trial_stays_as_tried_and_can_go_back(
    gate: Gate, *, saved: bool
) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    if saved:
        applied(run.save())
    run.trial(rate=0.75, steps=8, keep_if="loss")
    reached(run, lambda run: run.hyperparameters["rate"] == 0.75)
    ended(run)
    assert "which stays as tried" in (run.status.message or "")
    run.start()
    applied(run.pause())
    assert run.hyperparameters["rate"] == 0.75
    assert "run.restore('trial/ckpt-1') goes back before it" in (run.status.message or "")
    applied(run.restore("trial/ckpt-1"))
    assert run.hyperparameters["rate"] == 0.5
    ended(run)


def test_a_trial_of_keras_goes_back_in_its_data(gate: Gate) -> None:
    model = classifier()
    run = started(model, "run", x=X, y=Y, batch_size=BATCH, epochs=500, validation_data=(X, Y))
    trial = run.trial(learning_rate=10.0, steps=15)
    outcome = applied(trial)
    assert outcome.kept is False
    assert "val_loss " in outcome.text
    ended(run)
    assert float(model.optimizer.learning_rate.numpy()) == pytest.approx(0.01)
    assert tf.math.is_finite(model.evaluate(X, Y, verbose=0)[0])


@pytest.mark.parametrize("rates", [0.75, [0.25, 0.75]])
def test_a_trial_on_a_paused_run_says_that_it_waits_and_begins_when_the_run_resumes(
    rates: Any, gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    run = paused(gate, Tried(gate))
    trial = run.trial(rate=rates, steps=20, keep_if="loss")
    waits = "; it takes its steps once the paused run is resumed."
    reached(run, lambda run: waits in (run.status.message or ""))
    held = "The run is paused at step 1, and a trial needs steps: the trial begins once the run is"
    assert repr(trial).startswith(f"<try: requested. {held}")
    with pytest.raises(nbtrain.NbtrainError, match=r"No answer to try within 1 s: The run is pau"):
        trial.wait(1)
    assert capsys.readouterr().err.count(f"nbtrain: {held}") == 1
    run.resume()
    applied(trial)
    assert "paused" not in repr(trial)
    ended(run)


def test_the_message_of_a_trial_tells_a_pause_and_its_end(gate: Gate) -> None:
    run = paused(gate, Tried(gate))
    run.trial(rate=0.75, steps=10**7, keep_if="loss")
    applied(run.resume())
    assert str(run.status.message).endswith("; a pause holds it up.")
    applied(run.pause())
    assert str(run.status.message).endswith("; it takes its steps once the paused run is resumed.")
    applied(run.resume())
    assert str(run.status.message).endswith("; a pause holds it up.")
    ended(run)


def test_one_value_goes_on_with_the_draws_that_its_evaluation_has_left() -> None:
    noise, rate = tf.random.Generator.from_seed(3), tf.Variable(1.0)
    drawn: list[float] = []

    def draw() -> dict[str, float]:
        drawn.append(float(noise.uniform([]).numpy()))
        return {"loss": drawn[-1]}

    run = nbtrain.train(
        draw,
        evaluate=draw,
        checkpoint=tf.train.Checkpoint(noise=noise, rate=rate),
        hyperparameters={"rate": rate},
        steps=20,
        start=False,
    )
    tried = run.post(Try({"rate": 0.5}, 3), at=4)
    run.start().wait(SOON)
    assert tried.outcome is not None
    again = tf.random.Generator.from_seed(3)
    # Four steps, an evaluation, three steps and another evaluation.
    assert drawn[:9] == [float(again.uniform([]).numpy()) for _ in range(9)]
