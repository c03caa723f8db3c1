"""Trials of several values: each from the same state; then the best goes on, or none."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from nbtrain.rundir.answers import results_in
from tests.fitted import BATCH, STEPS, X, Y, classifier, started
from tests.gate import SOON, Gate
from tests.models import Count, applied, reached, refused, ticked
from tests.training.tried import Tried, ended, paused
from tests.training.tuned import lines


def aside(run: Run) -> list[str]:
    """The folders beside the checkpoints."""
    folder = run.logdir / "checkpoints"
    return sorted(each.name for each in folder.iterdir() if each.is_dir())


def test_the_best_of_several_values_goes_on_from_where_it_ended(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=[0.25, 0.125, 0.75], steps=8, keep_if="val_loss")
    run.resume()
    outcome = applied(trial)
    assert outcome.kept is True
    assert outcome.text.startswith(
        "kept rate 0.125 val_loss 0.5 → 0.125 (the others: rate 0.25 val_loss 0.5 → 0.25; "
        "rate 0.75 val_loss 0.5 → 0.75)"
    )
    reached(run, lambda run: run.status.step > 12)
    ended(run)
    assert tried.used[:25] == [0.5, *[0.25] * 8, *[0.125] * 8, *[0.75] * 8]
    assert set(tried.used[25:]) == {0.125}
    assert int(tried.count.numpy()) == run.status.step
    assert aside(run) == []


def test_the_last_of_several_values_goes_on_without_a_restore(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=[0.25, 0.125], steps=8, keep_if="val_loss")
    run.resume()
    assert applied(trial).kept is True
    assert run.hyperparameters["rate"] == 0.125
    assert run.scalars["loss"].segments.max() == 1
    ended(run)
    assert aside(run) == []


def test_no_value_stays_that_is_worse_than_before(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=[0.75, 0.625], steps=8, keep_if="val_loss")
    run.resume()
    outcome = applied(trial)
    assert outcome.kept is False
    assert outcome.text.startswith(
        "back to step 1, rate 0.5 again: of 2 settings none was better: rate 0.625 val_loss 0.5 → "
        "0.625 (the others: rate 0.75 val_loss 0.5 → 0.75)"
    )
    ended(run)
    assert tried.used[17] == 0.5


def test_without_a_tag_the_run_goes_back_and_its_actions_are_the_choice(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=[0.25, 0.125], steps=8)
    run.resume()
    outcome = applied(trial)
    assert outcome.kept is False
    assert outcome.text.startswith(
        "back to step 1, rate 0.5 again: the choice is yours: rate 0.25 loss 0.5 → 0.25; rate 0.125"
    )
    first, second = run.actions()[:2]
    assert (str(first), str(second)) == ("Continue with rate 0.25", "Continue with rate 0.125")
    applied(run.do(second))
    assert run.hyperparameters["rate"] == 0.125
    ended(run)


def test_named_settings_set_what_they_name_and_nothing_else(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    settings = {"calm": {"rate": 0.125, "dropout": 0.75}, "bold": {"rate": 0.75}}
    trial = run.trial(settings=settings, steps=4, keep_if="val_loss")
    run.resume()
    assert applied(trial).kept is True
    assert run.hyperparameters == {"rate": 0.125, "dropout": 0.75}
    ended(run)


def test_each_value_has_a_mark_at_its_begin_and_end(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=[0.125, 0.25], steps=8, keep_if="val_loss")
    run.resume()
    applied(trial)
    marks = [(mark.step, mark.text, mark.abandoned) for mark in run.marks if mark.event == "try"]
    assert [mark[:2] for mark in marks[:4]] == [
        (1, "1 of 2: rate 0.125 for 8 steps"),
        (9, "1 of 2 ends: rate 0.125 val_loss 0.5 → 0.125"),
        (1, "2 of 2: rate 0.25 for 8 steps"),
        (9, "2 of 2 ends: rate 0.25 val_loss 0.5 → 0.25"),
    ]
    assert [mark[2] for mark in marks] == [False, False, True, True, False]
    tried_marks = [mark for mark in run.marks if mark.event == "try"]
    assert [mark.arm for mark in tried_marks if mark.arm] == [(0, "rate 0.125"), (1, "rate 0.25")]
    assert [arm.name for arm in tried_marks[-1].arms] == ["rate 0.125", "rate 0.25"]
    ended(run)


class Telling(Tried):
    """A training that reads what its run tells at each step."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(gate)
        self.told: list[str] = []

    def step(self) -> dict[str, Any]:
        message = nbtrain.runs()["tried"].status.message
        if message is not None and message not in self.told:
            self.told.append(message)
        return super().step()


def test_the_run_tells_which_of_the_values_it_trains(gate: Gate) -> None:
    tried = Telling(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=[0.125, 0.25], steps=8, repeats=2)
    run.resume()
    applied(trial)
    assert tried.told == [
        f"Trying {turn} of 2: rate {rate} from step 1 to 9; a pause ends the trial."
        for turn, rate in (
            ("1 of 2, repeat 1", "0.125"),
            ("1 of 2, repeat 2", "0.125"),
            ("2 of 2, repeat 1", "0.25"),
            ("2 of 2, repeat 2", "0.25"),
        )
    ]
    assert run.status.message is None
    ended(run)


def test_a_value_whose_loss_becomes_nan_loses_and_the_next_begins(gate: Gate) -> None:
    tried = Tried(gate)

    def step() -> dict[str, Any]:
        values = tried.step()
        if tried.used[-1] != 0.75:
            return {**values, "loss": 0.5}
        if tried.used.count(0.75) > 1:
            ticked(run)  # what was recorded before has been looked at
        return {**values, "loss": math.nan}

    run = nbtrain.train(
        step, checkpoint=tried.checkpoint, hyperparameters={"rate": tried.rate}, name="tried"
    )
    gate.wait_for_arrivals()
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    gate.open()
    trial = run.trial(rate=[0.75, 0.25], steps=50, keep_if="loss")
    run.resume()
    outcome = applied(trial)
    assert outcome.text.startswith(
        "kept rate 0.25 loss 0.5 → 0.5 (the others: rate 0.75 loss was NaN at step 2)"
    )
    assert outcome.arms[0].note == "loss was NaN at step 2"
    assert run.status.phase is Phase.RUNNING
    ended(run)
    assert tried.used.count(0.75) < 50


class Slow(Tried):
    """A counter that waits at its gate in the second arm."""

    def __init__(self, gate: Gate) -> None:
        self.inner = Gate()
        super().__init__(gate)

    def step(self) -> dict[str, Any]:
        if self.rate.numpy() == 0.75:
            self.inner()
        return super().step()


def slow(gate: Gate, **options: Any) -> tuple[Run, Any, Slow]:
    """A run that waits in the second arm of a trial."""
    tried = Slow(gate)
    run = paused(gate, tried, **options)
    trial = run.trial(rate=[0.25, 0.75], steps=8, keep_if="loss")
    run.resume()
    tried.inner.wait_for_arrivals()
    return run, trial, tried


def test_a_pause_in_an_arm_goes_back_to_the_beginning(gate: Gate) -> None:
    run, trial, tried = slow(gate)
    pause = run.pause()
    tried.inner.open()
    assert applied(pause).text == "paused at step 1: a trial of several values was left"
    assert refused(trial).text == (
        "the run was paused before the trial was over; nothing was decided; back to step 1, "
        "rate 0.5 again"
    )
    assert (run.status.step, run.hyperparameters["rate"]) == (1, 0.5)
    assert run.status.notice == (
        "The run was paused before the trial was over; nothing was decided; back to step 1, "
        "rate 0.5 again."
    )
    run.resume()
    reached(run, lambda run: run.status.step > 3)
    assert tried.used[-1] == 0.5
    ended(run)
    assert aside(run) == []


def test_a_stop_in_an_arm_goes_back_to_the_beginning_and_saves_it(gate: Gate) -> None:
    run, trial, tried = slow(gate)
    run.request_stop()
    tried.inner.open()
    run.wait(SOON)
    refused(trial)
    assert (run.status.step, tried.rate.numpy(), int(tried.count.numpy())) == (1, 0.5, 1)
    assert [held.step for held in run.checkpoints] == [1]
    assert aside(run) == []
    run.start()
    reached(run, lambda run: run.status.step > 3)
    ended(run)
    assert tried.used[-1] == 0.5


def test_an_error_in_an_arm_goes_back_to_the_beginning(gate: Gate) -> None:
    tried = Tried(gate)

    def step() -> dict[str, Any]:
        if tried.rate.numpy() == 0.75:
            raise ValueError("too bold")
        return tried.step()

    run = nbtrain.train(
        step, checkpoint=tried.checkpoint, hyperparameters={"rate": tried.rate}, name="tried"
    )
    gate.wait_for_arrivals()
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    gate.open()
    trial = run.trial(rate=[0.25, 0.75], steps=8, keep_if="min:count")
    run.resume()
    with pytest.raises(ValueError, match="too bold"):
        run.wait(SOON)
    refused(trial)
    assert (run.status.step, tried.rate.numpy()) == (1, 0.5)


def test_a_restore_in_an_arm_ends_the_trial_and_sets_all_values_back(gate: Gate) -> None:
    tried = Slow(gate)
    run = paused(gate, tried)
    trial = run.trial(rate=[0.25, 0.75], dropout=[0.5], steps=8, keep_if="loss")
    run.resume()
    tried.inner.wait_for_arrivals()
    restore = run.restore("trial/ckpt-1")
    tried.inner.open()
    applied(restore)
    refused(trial)
    assert run.hyperparameters == {"rate": 0.5, "dropout": 0.25}
    ended(run)
    assert aside(run) == []


def test_during_a_trial_nothing_is_saved_set_or_tried(gate: Gate) -> None:
    run, trial, tried = slow(gate, save_steps=2)
    receipts = [run.save(), run.set(dropout=0.5), run.trial(rate=0.1, keep_if="loss")]
    receipts += [run.trial(rate=[0.1], keep_if="loss"), run.restore("none")]
    tried.inner.open()
    save, edit, other, several, restore = map(refused, receipts)
    assert save.text.startswith("Nothing is saved while several values are tried")
    left = "run.restore('trial/ckpt-1')."
    assert edit.text == (
        "Cannot set dropout while 2 settings are tried from step 1: wait for the end of the "
        f"trial, or leave it by {left}"
    )
    assert other.text.startswith("Cannot try while 2 settings are tried from step 1")
    assert several.text == other.text
    assert "There is no checkpoint 'none'" in restore.text
    assert applied(trial).kept is True
    assert {held.step for held in run.checkpoints if held.step < 9} <= {0, 1}
    ended(run)


@pytest.mark.parametrize(
    ("values", "options", "says"),
    [
        ({"rate": []}, {}, "rate has no value to try: give at least one."),
        ({"rate": [0.1, "low"]}, {}, "rate='low' is no number"),
        ({"rate": [0.1]}, {"repeats": 0}, "repeats=0: give a whole number of at least 1."),
        ({"rate": [0.1]}, {"keep_if": lambda _b, _a: True}, "a function decides about one value"),
        ({}, {"settings": {"calm": {"rat": 1.0}}}, "There is no hyperparameter 'rat'"),
    ],
)
def test_an_impossible_trial_is_refused_and_changes_nothing(
    gate: Gate, values: dict[str, Any], options: dict[str, Any], says: str
) -> None:
    tried = Tried(gate)
    run = paused(gate, tried)
    assert says in refused(run.trial(values, **{"keep_if": "loss", **options})).text
    assert run.hyperparameters == {"rate": 0.5, "dropout": 0.25}
    assert applied(run.save()).step == 1
    ended(run)
    assert aside(run) == []


def test_settings_that_are_no_mapping_are_refused_at_once(gate: Gate) -> None:
    run = paused(gate, Tried(gate))
    with pytest.raises(nbtrain.NbtrainError, match=r"settings=.*by the name of each setting"):
        run.trial(settings={"calm": 3})  # type: ignore[dict-item]
    ended(run)


def test_a_run_without_a_checkpoint_cannot_try_several_values(gate: Gate) -> None:
    tried = Tried(gate, saved=False)
    run = paused(gate, tried)
    text = refused(run.trial(rate=[0.1, 0.2], keep_if="loss")).text
    assert text.startswith("Several values are tried from one saved state")
    ended(run)


class Drawn:
    """A step whose loss is the batch that it trains on, with noise and dropout."""

    def __init__(self) -> None:
        self.rate = tf.Variable(0.5)
        self.w = tf.Variable(tf.zeros([64]))
        self.noise = tf.random.Generator.from_seed(3)
        self.model = tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dropout(0.5)])
        self.checkpoint = tf.train.Checkpoint(
            w=self.w, rate=self.rate, noise=self.noise, model=self.model
        )
        self.drawn: list[tuple[float, ...]] = []

    @property
    def data(self) -> tf.data.Dataset:
        return tf.data.Dataset.range(1000).shuffle(1000).repeat()

    def step(self, number: Any) -> dict[str, Any]:
        dropped = self.model(tf.ones([1, 64]), training=True)
        seen = (
            float(number),
            float(self.noise.normal([])),
            float(tf.reduce_sum(dropped * tf.range(64.0))),
        )
        self.drawn.append(seen)
        self.w.assign_add(tf.fill([64], self.rate))
        return {"loss": sum(seen)}


def drawn(steps: int = 6, **trial: Any) -> tuple[Run, Drawn, Any, int]:
    """A run after a trial, of two rates by default, its outcome, and the step at which it began."""
    model = Drawn()
    run = nbtrain.train(
        model.step,
        data=model.data,
        checkpoint=model.checkpoint,
        hyperparameters={"rate": model.rate},
        name="drawn",
    )
    reached(run, lambda run: run.status.step > 3)
    applied(run.pause())
    begun = len(model.drawn)
    trial.setdefault("rate", [0.25, 0.125])
    receipt = run.trial(steps=steps, **trial)
    run.resume()
    outcome = applied(receipt)
    applied(run.pause())
    return run, model, outcome, begun


def test_the_arms_have_the_same_batches_and_draws() -> None:
    run, model, outcome, begun = drawn(keep_if="loss")
    first, second = model.drawn[begun : begun + 6], model.drawn[begun + 6 : begun + 12]
    assert first == second
    assert "not paired" not in outcome.text
    ended(run)


def test_after_a_choice_the_run_draws_what_it_would_have_drawn() -> None:
    run, model, _outcome, begun = drawn()
    applied(run.resume())
    reached(run, lambda _run: len(model.drawn) >= begun + 18)
    assert model.drawn[begun + 12 : begun + 18] == model.drawn[begun : begun + 6]
    ended(run)


def test_after_one_value_was_not_kept_the_run_draws_what_it_would_have_drawn() -> None:
    run, model, outcome, begun = drawn(rate=0.25, keep_if=lambda _before, _after: False)
    assert outcome.kept is False
    applied(run.resume())
    reached(run, lambda _run: len(model.drawn) >= begun + 12)
    assert model.drawn[begun + 6 : begun + 12] == model.drawn[begun : begun + 6]
    ended(run)


def test_repeats_have_other_batches_and_draws_and_give_a_spread() -> None:
    run, model, outcome, begun = drawn(repeats=3)
    turns = [model.drawn[begun + 6 * at : begun + 6 * (at + 1)] for at in range(6)]
    assert turns[:3] == turns[3:]
    for part in range(3):
        assert len({tuple(seen[part] for seen in turn) for turn in turns[:3]}) == 3
    assert not {seen[0] for seen in turns[0]} & {seen[0] for seen in turns[2]}
    assert all(len(arm.after) == 3 for arm in outcome.arms)
    assert all(arm.spread > 0 for arm in outcome.arms)
    assert "spread" in outcome.table
    ended(run)


def test_draws_that_cannot_be_set_back_are_told(gate: Gate) -> None:
    numbers = iter(range(10**6))
    tried = Tried(gate)

    def step() -> dict[str, Any]:
        return {**tried.step(), "loss": float(next(numbers))}

    run = nbtrain.train(
        step, checkpoint=tried.checkpoint, hyperparameters={"rate": tried.rate}, name="tried"
    )
    gate.wait_for_arrivals()
    gate.open()
    reached(run, lambda run: run.status.step > 3)
    text = applied(run.trial(rate=[0.25, 0.125], steps=4)).text
    assert re.search(r"; not paired: the first step gave loss \d+ and \d+ from the same ", text)
    ended(run)


def test_the_journal_has_the_results(gate: Gate) -> None:
    tried = Tried(gate)
    run = paused(gate, tried, evaluate=tried.evaluate)
    trial = run.trial(rate=[0.25, 0.125], steps=8, keep_if="val_loss")
    run.resume()
    table = applied(trial).table
    ended(run)
    over = lines(run, "try")[-1]
    assert over["kept"] is True
    assert over["arms"][0] == {
        "name": "rate 0.25",
        "values": {"rate": 0.25},
        "tag": "val_loss",
        "before": 0.5,
        "after": [0.25],
    }
    best = [result for result in results_in(over) if result.kept]
    assert [result.name for result in best] == ["rate 0.125"]
    assert ["kept" in line for line in table.splitlines()] == [False, False, True]
    assert Path(run.logdir / "checkpoints").exists()


def test_the_state_that_goes_on_is_the_one_that_was_measured() -> None:
    model = classifier(dropout=0.5)
    run = started(model, "fitted", x=X, y=Y, batch_size=BATCH, epochs=500, validation_data=(X, Y))
    applied(run.pause())
    begun = run.status.step
    trial = run.trial(learning_rate=[0.02, 1e-5, 10.0], steps=10, keep_if="val_loss")
    pause = run.post(Pause(), at=begun + 10)
    run.resume()
    outcome = applied(trial)
    applied(pause)
    first, *others = outcome.arms
    assert outcome.kept is True
    assert "not paired" not in outcome.text
    assert all(first.mean < other.mean for other in others)
    assert run.status.step == begun + 10
    assert float(model.optimizer.learning_rate.numpy()) == pytest.approx(0.02)
    assert f"val_loss {first.mean:.4g}" in applied(run.evaluate()).text
    ended(run)


def test_a_fit_that_is_stopped_in_an_arm_has_the_weights_of_the_beginning() -> None:
    model = classifier(dropout=0.5)
    run = started(model, "fitted", x=X, y=Y, batch_size=BATCH, epochs=500)
    reached(run, lambda run: run.status.step > 3)
    applied(run.pause())
    before, step = model.get_weights(), run.status.step
    trial = run.trial(learning_rate=[0.02, 0.03], steps=5000, keep_if="batch_loss")
    run.resume()
    reached(run, lambda run: run.status.step > step + 20)
    ended(run)
    refused(trial)
    assert run.status.step == step
    for now, then in zip(model.get_weights(), before, strict=True):
        assert (now == then).all()


def test_a_graph_of_tensorflow_1_tries_several_values(tmp_path: Path) -> None:
    count = Count()
    with count.graph.as_default():
        rate = tf.compat.v1.get_variable("rate", initializer=1.0)
    run = nbtrain.supervise(
        count.train_op,
        scalars={"loss": rate},
        supervisor=nbtrain.Supervisor(graph=count.graph, logdir=str(tmp_path)),
        hyperparameters={"rate": rate},
    )
    reached(run, lambda run: run.status.step > 3)
    outcome = applied(run.trial(rate=[0.5, 0.25, 2.0], steps=4, keep_if="loss"))
    assert outcome.kept is True
    reached(run, lambda run: run.status.step > outcome.step + 3)
    assert run.hyperparameters["rate"] == 0.25
    ended(run)


def test_the_tracked_loop_of_a_program_tries_several_values_on_the_same_batches() -> None:
    model = Drawn()
    data = model.data

    @nbtrain.background(
        checkpoint=model.checkpoint, hyperparameters={"rate": model.rate}, name="tracked"
    )
    def run(run: Any) -> None:
        for number in run.track(data):
            run.record(**model.step(number))

    reached(run, lambda run: run.status.step > 3)
    applied(run.pause())
    begun = len(model.drawn)
    receipt = run.trial(rate=[0.25, 0.125], steps=6, keep_if="loss")
    run.resume()
    outcome = applied(receipt)
    first, second = model.drawn[begun : begun + 6], model.drawn[begun + 6 : begun + 12]
    assert first == second
    assert "not paired" not in outcome.text
    ended(run)


def test_the_repeats_of_a_fit_have_other_orders_and_draws_which_are_the_same_in_each_arm() -> None:
    run = started(
        classifier(dropout=0.5),
        "fitted",
        x=X,
        y=Y,
        batch_size=BATCH,
        epochs=500,
        validation_data=(X, Y),
    )
    reached(run, lambda run: run.status.step > 3)
    trial = run.trial(learning_rate=[0.02, 0.01], steps=6, repeats=3)
    outcome = applied(trial)
    assert all(len(set(arm.after)) == 3 for arm in outcome.arms)
    assert "not paired" not in outcome.text
    assert "same batches" not in outcome.text
    ended(run)


def test_a_validation_that_ends_the_first_step_says_nothing_about_the_batches() -> None:
    fit: Any = {"x": X, "y": Y, "batch_size": BATCH, "epochs": 500, "validation_data": (X, Y)}
    run = started(classifier(dropout=0.5), "fitted", **fit)
    applied(run.pause())
    last = (run.status.step // STEPS + 1) * STEPS - 1  # the next step ends an epoch
    paused = run.post(Pause(), at=last) if last > run.status.step else None
    run.resume()
    if paused is not None:
        applied(paused)
    trial = run.trial(learning_rate=[0.02, 0.01], steps=4)
    run.resume()
    outcome = applied(trial)
    assert (outcome.step - 4) % STEPS == STEPS - 1
    assert "not paired" not in outcome.text
    ended(run)
