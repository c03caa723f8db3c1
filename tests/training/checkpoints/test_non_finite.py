"""A training that goes bad: paused before that is saved, gone on with from the last good state."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.checkpoints.listing import find, restorable
from nbtrain.core.commands import Save
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from nbtrain.rundir.names import LAST_GOOD
from nbtrain.rundir.timeline import RunTimeline, name_of
from tests.diverging import BAD, GOOD, GraphRegression, Regression, X, Y, assert_all_finite
from tests.gate import SOON
from tests.models import Counter, applied, reached, refused
from tests.on_disk import journal
from tests.room import no_room

NAN = float("nan")
v1 = tf.compat.v1


def by_train(rate: float, **options: Any) -> Run:
    line = Regression(rate)
    return nbtrain.train(
        line.step, checkpoint=line.checkpoint, hyperparameters=line.optimizer, **options
    )


def by_background(rate: float, **options: Any) -> Run:
    line = Regression(rate)

    @nbtrain.background(checkpoint=line.checkpoint, hyperparameters=line.optimizer, **options)
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record(line.step())

    assert isinstance(loop, Run)
    return loop


def by_fit(rate: float, *, steps: int, **options: Any) -> Run:
    model = Regression(rate).compiled()
    return nbtrain.fit(model, X, Y, batch_size=111, epochs=steps // 4, **options)


def by_supervise(rate: float, **options: Any) -> Run:
    line = GraphRegression(rate)
    held = {"learning_rate": line.rate}
    return nbtrain.supervise(
        line.train_op, scalars={"loss": line.loss}, hyperparameters=held, **options
    )


def by_monitor(rate: float, **options: Any) -> Run:
    line = GraphRegression(rate)
    held = {"learning_rate": line.rate}
    return nbtrain.monitor(
        line.train_op, scalars={"loss": line.loss}, hyperparameters=held, **options
    )


WAYS = pytest.mark.parametrize("start", [by_train, by_background, by_fit, by_supervise, by_monitor])


def paused(run: Run) -> str:
    """Returns the message of a run that has paused by itself."""
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    message = run.status.message
    assert message is not None
    return message


def stopped(run: Run) -> Run:
    """The run, once it has been stopped."""
    run.request_stop()
    return run.wait(SOON)


def folder(run: Run) -> Path:
    return run.logdir / "checkpoints"


def tag_of(run: Run) -> str:
    return "loss" if "loss" in run.scalars else "batch_loss"


# --- paused -----------------------------------------------------------------------


@WAYS
def test_a_run_that_diverges_is_paused_and_only_good_values_were_saved(
    start: Callable[..., Run],
) -> None:
    run = start(BAD, steps=4000, save_steps=1, keep=None, name="bad")
    message = paused(run)
    losses = run.scalars[tag_of(run)]
    first = int(losses.steps[np.isfinite(losses.values).argmin()])
    assert f"{tag_of(run)} was infinite at step {first}" in message
    kept = assert_all_finite(folder(run))
    assert kept[-1].step < first
    marked = [mark for mark in run.marks if mark.event == "nan"]
    assert [mark.step for mark in marked] == [first]
    assert f"Last good checkpoint: step {marked[0].good:,}." in message
    stopped(run)
    assert run.status.phase is Phase.STOPPED
    assert restorable(folder(run)) == kept, "no last checkpoint of bad values"
    assert f"No checkpoint at step {run.status.step}: " in str(run.status.message)
    assert "Paused" not in str(run.status.message)


# A fit and a Supervisor do so in test_a_run_that_diverges_at_its_end_is_paused_there.
@pytest.mark.parametrize("start", [by_train, by_background, by_monitor])
def test_a_run_that_diverged_goes_on_from_its_last_good_state_with_another_rate(
    start: Callable[..., Run],
) -> None:
    run = start(BAD, steps=400, name="bad")
    assert "Last good checkpoint: step 0. Restore it with a smaller learning rate: " in paused(run)
    applied(run.restore(0))
    assert run.status.message is None
    assert run.status.phase is Phase.PAUSED
    applied(run.set(learning_rate=GOOD))
    applied(run.resume())
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert np.isfinite(run.status.values[tag_of(run)])
    columns = run.scalars[tag_of(run)]
    assert np.isfinite(columns.values[columns.segments == 1]).all()
    assert not np.isfinite(columns.values[columns.segments == 0]).all(), "the curve is honest"
    assert assert_all_finite(folder(run))[-1].step == run.status.step


def test_a_paused_run_says_what_to_do() -> None:
    run = by_train(BAD, save_steps=2)
    message = paused(run)
    step, first = run.status.step, next(mark.step for mark in run.marks if mark.event == "nan")
    good = [checkpoint.step for checkpoint in run.checkpoints if checkpoint.step + 1 < first][-1]
    assert message == (
        f"Paused at step {step}: loss was infinite at step {first}. Last good checkpoint: step "
        f"{good}. Restore it with a smaller learning rate: run.restore({good}); "
        "run.set(learning_rate=...); run.resume()."
    )
    assert refused(run.save()).text == (
        f"loss was infinite at step {first}, and what has gone bad is not saved. Continue from a "
        f"checkpoint: the last good one is of step {good}."
    )
    assert_all_finite(folder(run))
    stopped(run)


def test_an_optimizer_that_its_first_step_has_built_goes_back_before_that() -> None:
    line = Regression(BAD)
    line.optimizer = tf.keras.optimizers.Adam(1e30)
    run = nbtrain.train(
        lambda: line.step(),
        checkpoint=tf.train.Checkpoint(model=line.model, optimizer=line.optimizer),
        hyperparameters=line.optimizer,
        steps=60,
    )
    assert "Last good checkpoint: step 0." in paused(run)
    assert applied(run.restore(0)).text.endswith(" optimizer slots as before the first step")
    applied(run.set(learning_rate=1e-3))
    applied(run.resume())
    run.wait(SOON)
    assert (run.status.phase, run.status.message) == (Phase.FINISHED, None)
    assert np.isfinite(run.status.values["loss"])


def test_a_run_without_checkpoints_is_paused_too() -> None:
    run = nbtrain.train(lambda: {"loss": NAN})
    assert "There is no good checkpoint to go back to" in paused(run)
    assert [(mark.event, mark.good) for mark in run.marks] == [("nan", None)]
    assert "nothing to save" in refused(run.save()).text
    stopped(run)


def test_a_run_resumed_after_an_anomaly_continues_without_saving() -> None:
    counter = Counter()
    losses = iter([0.5, *[NAN] * 50])

    def step() -> dict[str, Any]:
        counter.step()
        return {"loss": next(losses, NAN)}

    run = nbtrain.train(step, checkpoint=counter.checkpoint, save_steps=1, keep=None)
    paused(run)
    kept = restorable(folder(run))
    first = run.status.step
    applied(run.resume())
    reached(run, lambda run: run.status.step > first + 100)
    assert run.status.phase is Phase.RUNNING
    reached(run, lambda run: "The run continues although loss was NaN" in str(run.status.message))
    stopped(run)
    assert restorable(folder(run)) == kept
    assert [mark.step for mark in run.marks if mark.event == "nan"] == [2]


def test_once_a_good_loss_has_come_it_saves_again_and_pauses_again() -> None:
    losses = iter([0.5, NAN])
    after = [0.25]
    counter = Counter()

    def step() -> dict[str, Any]:
        counter.step()
        return {"loss": next(losses, after[0])}

    run = nbtrain.train(step, checkpoint=counter.checkpoint)
    paused(run)
    applied(run.resume())
    reached(run, lambda run: run.status.message is None)
    applied(run.save())
    after[0] = NAN
    assert "loss was NaN at" in paused(run)
    stopped(run)


def test_with_none_a_run_goes_on_and_saves_what_there_is() -> None:
    line = Regression(BAD)
    run = nbtrain.train(line.step, steps=100, checkpoint=line.checkpoint, on_nan=None)
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.message is None
    assert [checkpoint.step for checkpoint in run.checkpoints] == [100]
    assert not np.isfinite(line.model.weights[0].numpy()).all()
    assert not (folder(run) / LAST_GOOD).exists()


def test_validation_may_be_nan() -> None:
    run = nbtrain.train(lambda: {"loss": 1.0, "val_loss": NAN, "accuracy": NAN}, steps=300)
    assert run.wait(SOON).status.phase is Phase.FINISHED


def test_a_stop_is_a_stop_though_the_loss_is_bad() -> None:
    """Asked for before the alarm: it does not pause instead."""
    counter = Counter()

    def step() -> dict[str, Any]:
        counter.step()
        run.request_stop()
        return {"loss": NAN}

    run = nbtrain.train(step, checkpoint=counter.checkpoint, start=False)
    run.start().wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert [checkpoint.step for checkpoint in restorable(folder(run))] == [0]
    assert "No checkpoint at step 1: loss was NaN at step 1" in str(run.status.message)


@pytest.mark.parametrize("start", [by_train, by_fit, by_supervise])
def test_a_run_that_diverges_at_its_end_is_paused_there(start: Callable[..., Run]) -> None:
    """The last step: nothing would look at it any more."""
    gone = start(BAD, steps=40, on_nan=None).wait(SOON).scalars
    (losses,) = (gone[tag] for tag in ("loss", "batch_loss") if tag in gone)
    first = int(losses.steps[np.isfinite(losses.values).argmin()])
    run = start(BAD, steps=-(-first // 4) * 4)
    assert "loss was infinite at step" in paused(run)
    applied(run.restore(0))
    applied(run.set(learning_rate=GOOD))
    applied(run.resume())
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert np.isfinite(run.status.values[tag_of(run)])


# --- variables ----------------------------------------------------------------------


class Spoiled:
    """A training whose loss stays good, and whose variable does not."""

    def __init__(self, at_step: int, begins: float = 0.0) -> None:
        self.best = tf.Variable(begins, name="best")
        self.count = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(best=self.best, count=self.count)
        self._at_step = at_step

    def step(self) -> dict[str, Any]:
        if self.count.assign_add(1) == self._at_step:
            self.best.assign(NAN)
        return {"loss": 0.5}


def test_a_variable_that_is_bad_while_the_loss_is_good_is_not_saved() -> None:
    run = nbtrain.train((model := Spoiled(7)).step, checkpoint=model.checkpoint, save_steps=5)
    message = paused(run)
    assert message.startswith("Paused at step 10: best holds NaN or Inf after step 10. Last good")
    assert "Last good checkpoint: step 5. Restore it: run.restore(5); run.resume()." in message
    assert [checkpoint.step for checkpoint in assert_all_finite(folder(run))] == [0, 5]
    assert "best holds NaN" in refused(run.save()).text
    applied(run.resume())
    reached(run, lambda run: run.status.step > 30)
    assert [checkpoint.step for checkpoint in assert_all_finite(folder(run))] == [0, 5]
    applied(run.pause())
    model.best.assign(0.25)
    applied(run.save())
    stopped(run)
    assert run.status.phase is Phase.STOPPED
    assert assert_all_finite(folder(run))[-1].step == run.status.step


def test_a_variable_that_begins_with_infinity_is_saved_as_ever() -> None:
    model = Spoiled(0, begins=float("inf"))
    run = nbtrain.train(model.step, checkpoint=model.checkpoint, save_steps=5, steps=10)
    assert run.wait(SOON).status.message is None
    assert [checkpoint.step for checkpoint in run.checkpoints] == [5, 10]


def test_a_graphs_variable_that_is_bad_while_its_loss_is_good_is_not_saved() -> None:
    line = GraphRegression(GOOD)
    with line.graph.as_default():
        best = tf.compat.v1.get_variable("best", initializer=0.0, trainable=False)
        step = tf.compat.v1.train.get_global_step()
        with tf.control_dependencies([line.train_op]):
            spoil = best.assign(tf.where(step >= 7, NAN, 1.0))
    run = nbtrain.supervise(spoil, scalars={"loss": line.loss}, save_steps=5, hyperparameters={})
    assert paused(run).startswith("Paused at step 10: best holds NaN or Inf after step 10.")
    assert assert_all_finite(folder(run))[-1].step == 5
    stopped(run)


def test_a_bad_part_of_a_partitioned_variable_is_not_saved() -> None:
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        parts = v1.fixed_size_partitioner(2)
        wide = v1.get_variable("wide", [4], initializer=v1.ones_initializer(), partitioner=parts)
        with tf.control_dependencies([v1.assign_add(step, 1)]):
            train_op = v1.assign(list(wide)[1], tf.where(step >= 3, [1.0, NAN], [1.0, 1.0])).op
        saver = v1.train.Saver({"wide": wide, "step": step})
        supervisor = nbtrain.Supervisor(logdir="logs", saver=saver)
    run = nbtrain.supervise(train_op, supervisor=supervisor, save_steps=1, hyperparameters={})
    assert "wide/part_1 holds NaN or Inf after step" in paused(run)
    assert assert_all_finite(Path("logs"))[-1].step == 2
    stopped(run)


# --- jump ---------------------------------------------------------------------------


def test_a_jump_of_the_loss_pauses_the_run() -> None:
    losses = iter([*[0.5] * 100, 6.0])
    run = nbtrain.train(lambda: {"loss": next(losses, 0.5)}, jump=10.0)
    assert "loss jumped from about 0.5 to 6 at step 101." in paused(run)
    applied(run.resume())
    reached(run, lambda run: "loss" not in str(run.status.message))
    assert run.status.phase is Phase.RUNNING
    stopped(run)


def test_without_a_factor_no_loss_is_too_high() -> None:
    losses = iter([*[0.5] * 100, 1e30])
    run = nbtrain.train(lambda: {"loss": next(losses, 0.5)}, steps=200)
    assert run.wait(SOON).status.phase is Phase.FINISHED


# --- recover --------------------------------------------------------------------------


@WAYS
def test_a_run_that_may_recover_finishes_with_a_good_loss(
    start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "nbtrain.run.beside.notices.NOTICE_SECS", SOON
    )  # a busy machine takes longer
    run = start(BAD, steps=100, on_nan="recover", save_steps=50)
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.message is None
    assert run.status.values[tag_of(run)] < 10
    assert assert_all_finite(folder(run))[-1].step == run.status.step
    assert "Recovered: " in str(run.status.notice)
    told = journal(run, "nan", "restore", "set")
    assert [entry["event"] for entry in told[:3]] == ["nan", "restore", "set"]
    nan, restored, edit = told[:3]
    assert nan["good"] == restored["to"] == 0
    assert edit["edits"] == {"learning_rate": [1.0, 0.5]}
    rates = [entry["edits"]["learning_rate"][1] for entry in told if entry["event"] == "set"]
    assert rates == [0.5**n for n in range(1, len(rates) + 1)], "each time the half of the last"


def test_a_run_whose_rate_cannot_be_halved_pauses() -> None:
    line = Regression(BAD)
    run = nbtrain.train(line.step, checkpoint=line.checkpoint, on_nan="recover")
    message = paused(run)
    assert (
        "The run could not recover: the run has no hyperparameter learning_rate that could be"
        in message
    )
    assert message.endswith("Restore it: run.restore(0); run.resume().")
    stopped(run)
    assert_all_finite(folder(run))


def test_without_a_checkpoint_it_is_paused() -> None:
    rate = tf.Variable(1.0)
    run = nbtrain.train(
        lambda: {"loss": NAN}, hyperparameters={"learning_rate": rate}, on_nan="recover"
    )
    assert "The run could not recover: no good checkpoint is left to try." in paused(run)
    assert rate.numpy() == 1.0
    stopped(run)


def test_a_rate_that_is_far_too_high_is_halved_from_the_same_first_state_again() -> None:
    run = by_train(8 * BAD, steps=400, on_nan="recover")
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    told = journal(run, "restore", "set")
    assert [entry.get("to") for entry in told[::2]] == [0] * (len(told) // 2)
    rates = [entry["edits"]["learning_rate"][1] for entry in told[1::2]]
    assert len(rates) > 2
    assert rates == [8 * BAD * 0.5**n for n in range(1, len(rates) + 1)]
    assert np.isfinite(run.status.values[tag_of(run)])


@pytest.mark.parametrize("start", [by_train, by_supervise])
def test_the_action_offered_for_a_nan_is_done_in_one_command(
    start: Callable[..., Run],
) -> None:
    run = start(8 * BAD, steps=400)
    paused(run)
    halve, restore, *_ = run.actions()
    good = run.checkpoints[-1]
    assert halve.text == f"Restore step {good.step:,} and halve learning_rate"
    assert repr(restore) == f"run.restore({name_of(good.path)!r})"
    with pytest.raises(ArgumentError, match=r"do\(1\): give one of run.actions\(\)"):
        run.do(1)  # type: ignore[arg-type] # a number, as %nbtrain actions takes
    outcome = applied(run.do(halve))
    assert run.status.step == good.step
    assert f"learning_rate {8 * BAD:g} → {4 * BAD:g}" in outcome.text
    assert [entry["event"] for entry in journal(run, "restore", "set")] == ["restore", "set"]
    assert run.hyperparameters["learning_rate"] == 4 * BAD
    applied(run.set(learning_rate=BAD))
    text = applied(run.restore(good, halve="learning_rate")).text
    assert text.endswith(
        f"; learning_rate {BAD:g} → {8 * BAD:g}; learning_rate {8 * BAD:g} → {BAD / 2:g}"
    )
    assert run.hyperparameters["learning_rate"] == BAD / 2
    stopped(run)


def test_a_restore_that_cannot_halve_says_so() -> None:
    rate, counter = tf.Variable(NAN), Counter()
    run = nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, hyperparameters={"learning_rate": rate}
    )
    saved = applied(run.save()).step
    unknown = refused(run.restore(saved, halve="rate")).text
    assert "There is no hyperparameter 'rate'" in unknown
    run.pause()
    outcome = applied(run.restore(saved, halve="learning_rate"))
    assert "learning_rate was not halved: learning_rate=nan" in outcome.text
    assert run.status.step == saved
    stopped(run)


def test_a_restore_that_should_halve_what_cannot_be_read_is_refused() -> None:
    rate, counter = tf.Variable(0.5), Counter()
    rate.numpy = lambda: 1 / 0
    run = nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, hyperparameters={"learning_rate": rate}
    )
    saved = applied(run.save()).step
    step = applied(run.pause()).step
    assert refused(run.restore(saved, halve="learning_rate")).text == (
        "learning_rate cannot be read, so it cannot be halved. Nothing was restored: leave halve= "
        "out to restore the checkpoint alone."
    )
    assert run.status.step == step
    del rate.numpy
    outcome = applied(run.restore(saved, halve="learning_rate"))
    assert outcome.text.endswith("learning_rate 0.5 → 0.25"), "it can be read again"
    stopped(run)


def test_a_loss_that_goes_bad_again_is_retried_from_older_states_then_paused() -> None:
    rate, counter = tf.Variable(1.0), Counter()

    def step() -> dict[str, Any]:
        counter.step()
        return {"loss": NAN if counter.count.numpy() == 10 else 0.5}

    run = nbtrain.train(
        step,
        checkpoint=counter.checkpoint,
        hyperparameters={"learning_rate": rate},
        on_nan="recover",
        save_steps=3,
    )
    message = paused(run)
    assert "The run could not recover: it has already recovered 5 times." in message
    assert "Last good checkpoint: step 6, from which it went bad again. Restore it" in message
    went = [mark.to for mark in run.marks if mark.event == "restore"]
    assert went == [6, 3, 0, 0, 0], "what is oldest once more"
    assert run.status.notice is None, "of an earlier recovery"
    assert rate.numpy() == 1 / 32
    stopped(run)


def test_a_bad_variable_outside_the_checkpoint_is_named_without_a_promise() -> None:
    late, counter = tf.Module(), Counter()

    def step() -> dict[str, Any]:
        counter.step()
        if not hasattr(late, "scale"):  # as the layers of a model that is not built yet
            late.scale = tf.Variable(1.0, name="scale")
        late.scale.assign(NAN if counter.count.numpy() == 10 else late.scale)
        return {"loss": late.scale}

    run = nbtrain.train(
        step,
        checkpoint=tf.train.Checkpoint(counter=counter.checkpoint, late=late),
        hyperparameters={"learning_rate": tf.Variable(1.0)},
        on_nan="recover",
    )
    message = paused(run)
    assert "The run could not recover: scale has gone bad, and is in no checkpoint." in message
    assert "There is no good checkpoint to go back to: build the model again" in message
    assert "Last good" not in message
    stopped(run)


def test_a_run_recovers_five_times_at_most() -> None:
    rate, counter = tf.Variable(1.0), Counter()
    worse = iter(range(6, 1000, 6))
    bad = [next(worse)]

    def step() -> dict[str, Any]:
        counter.step()
        if counter.count.numpy() == bad[0]:
            bad[0] = next(worse)
            return {"loss": NAN}
        return {"loss": 0.5}

    run = nbtrain.train(
        step,
        checkpoint=counter.checkpoint,
        hyperparameters={"learning_rate": rate},
        on_nan="recover",
        save_steps=1,
    )
    assert "The run could not recover: it has already recovered 5 times." in paused(run)
    assert rate.numpy() == 1 / 32
    applied(run.restore())
    applied(run.resume())
    assert "The run could not recover: it has already recovered 5 times." in paused(run)
    assert rate.numpy() == 1 / 1024, "somebody has looked at it: five more"
    stopped(run)


def test_a_nan_rate_is_replaced_by_half_of_the_restored_one() -> None:
    line = Regression(GOOD)

    def step() -> dict[str, Any]:
        if line.optimizer.iterations == 10 and not run.marks:
            line.optimizer.learning_rate.assign(NAN)
        return dict(line.step())

    run = nbtrain.train(
        step,
        steps=20,
        checkpoint=line.checkpoint,
        hyperparameters=line.optimizer,
        on_nan="recover",
        start=False,
    )
    run.start().wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert float(line.optimizer.learning_rate) == pytest.approx(GOOD / 2)


def test_a_state_that_was_deleted_meanwhile_is_passed_over() -> None:
    rate, counter = tf.Variable(1.0), Counter()

    def step() -> dict[str, Any]:
        counter.step()
        if counter.count.numpy() == 10 and rate.numpy() == 1.0:
            for file in Path("runs/gone/checkpoints").glob("ckpt-6.data*"):
                file.write_bytes(b"")
            return {"loss": NAN}
        return {"loss": 0.5}

    run = nbtrain.train(
        step,
        steps=20,
        checkpoint=counter.checkpoint,
        hyperparameters={"learning_rate": rate},
        on_nan="recover",
        save_steps=3,
        name="gone",
    )
    run.wait(SOON)
    told = journal(run, "restore")
    assert [entry["applied"] for entry in told] == [False, True]
    assert told[-1]["to"] == 3
    assert rate.numpy() == 0.5


# --- last good states -------------------------------------------------------------------


def test_copies_do_not_count_as_checkpoints_and_are_deleted_when_all_is_well() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, keep=1, steps=10**9)
    reached(run, lambda run: [checkpoint.step for checkpoint in run.checkpoints] == [0])
    assert listed(folder(run)) == ()
    assert tf.train.latest_checkpoint(folder(run)) is None
    assert refused(run.restore()).text == (
        "No checkpoint was saved yet. There are copies of good states, from step 0: run.restore(0) "
        "restores the newest."
    )
    applied(run.restore(0))
    step = applied(run.save()).step
    reached(run, lambda run: run.status.step > step)
    assert applied(run.restore()).text.startswith(f"restored ckpt-{step}: ")
    stopped(run)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [run.status.step]
    assert not (folder(run) / LAST_GOOD).exists()


def test_other_files_in_the_folder_of_copies_stay() -> None:
    counter = Counter()
    kept = Path("runs/kept/checkpoints") / LAST_GOOD / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=3, name="kept").wait(SOON)
    assert [path.name for path in kept.parent.iterdir()] == ["notes.txt"]


def test_a_copy_that_cannot_be_written_is_a_message_and_the_training_goes_on() -> None:
    counter = Counter()
    whole = tf.train.Checkpoint(count=counter.count, ballast=tf.Variable(tf.zeros([512, 1024])))
    with no_room(1_000_000):
        run = nbtrain.train(counter.step, checkpoint=whole)
        reached(run, lambda run: run.status.step > 100)
        message = str(run.status.message)
    assert "No copy of step 0: " in message
    assert "last_good cannot be written: File too large. Make room" in message
    applied(run.save())
    assert "No copy" not in str(run.status.message)
    stopped(run)


def test_copies_that_were_deleted_meanwhile_are_not_offered() -> None:
    run = by_train(BAD)
    assert "run.restore(0)" in paused(run)
    shutil.rmtree(folder(run) / LAST_GOOD)
    assert "There is no checkpoint" in refused(run.restore(0)).text
    assert "not saved. No checkpoint is good: build the model again." in refused(run.save()).text
    stopped(run)
    assert restorable(folder(run)) == ()


def test_a_run_that_is_killed_then_leaves_only_good_values() -> None:
    line = Regression(BAD)
    run = nbtrain.train(line.step, checkpoint=line.checkpoint, save_steps=1, name="live")
    paused(run)
    shutil.copytree(run.logdir, "runs/killed")  # as a kill leaves it
    stopped(run)
    kept = assert_all_finite(Path("runs/killed/checkpoints"))
    line = Regression(GOOD)
    again = nbtrain.train(line.step, checkpoint=line.checkpoint, name="killed", start=False)
    again.start()
    paused(again)
    assert f"Continues from ckpt-{kept[-1].step}" in str(again.status.notice)
    stopped(again)


def test_a_run_continues_from_a_copy_that_is_newer_than_the_checkpoints() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=5, name="copy")
    run.wait(SOON)
    copies = tf.train.CheckpointManager(
        counter.checkpoint, str(folder(run) / LAST_GOOD), max_to_keep=3
    )
    counter.count.assign(8)
    copies.save(checkpoint_number=8)
    counter.count.assign(0)
    nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=8, name="copy").wait(SOON)
    assert [checkpoint.step for checkpoint in listed(folder(run))] == [5, 8]
    counter.count.assign(0)
    again = nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=10, name="copy")
    again.wait(SOON)
    assert "Continues from ckpt-8" in str(again.status.notice)
    assert int(counter.count.numpy()) == 10
    assert [checkpoint.step for checkpoint in again.checkpoints] == [5, 8, 10]


def test_a_checkpoint_of_an_abandoned_course_is_not_good() -> None:
    """Its step is below that of the trouble, and yet it is not what this course came from."""
    counter = Counter(lambda count: run.save() if count == 5 and not run.checkpoints[1:] else None)

    def step() -> dict[str, Any]:
        counter.step()
        return {"loss": NAN if counter.count.numpy() == 8 else 0.5}

    run = nbtrain.train(step, checkpoint=counter.checkpoint, start=False)
    run.start()
    assert "Last good checkpoint: step 5." in paused(run)
    applied(run.restore(0))
    applied(run.resume())
    assert "Last good checkpoint: step 0." in paused(run)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [0, 5]
    stopped(run)


def test_the_newer_of_a_copy_and_a_checkpoint_of_one_step_is_restored() -> None:
    """The other is of a course that was abandoned."""
    counter, timeline = Counter(), RunTimeline(Path())
    kept = Path("checkpoints")
    for folder in ("", LAST_GOOD):
        directory = kept / folder
        manager = tf.train.CheckpointManager(counter.checkpoint, str(directory), max_to_keep=3)
        manager.save(checkpoint_number=5)
        timeline.save(5, folder)
        assert Path(find(restorable(kept, timeline), 5).path).parent == directory


def test_a_branch_that_goes_bad_at_once_goes_back_to_where_it_begins() -> None:
    line = Regression(GOOD)
    run = nbtrain.train(
        line.step,
        checkpoint=line.checkpoint,
        hyperparameters=line.optimizer,
        steps=100,
        on_nan="recover",
        start=False,
    )
    run.post(Save(), at=20)
    run.start().wait(SOON)
    child = run.branch(20, learning_rate=BAD).wait(SOON)
    assert child.status.message is None
    first, second, *_ = journal(child, "restore", "set")
    assert (first["event"], first["step"]) == ("set", 20)
    assert (second["event"], second["to"]) == ("restore", 20)


# --- steps that are not Keras's own -----------------------------------------------------


def test_the_users_own_fit_under_a_run_is_paused_too() -> None:
    model = Regression(BAD).compiled()
    checkpoint = tf.train.Checkpoint(model=model)

    @nbtrain.background(checkpoint=checkpoint, save_steps=1)
    def loop(run: Run) -> None:
        callback = nbtrain.RunCallback(run)
        model.fit(X, Y, batch_size=111, epochs=100, verbose=0, callbacks=[callback])

    assert isinstance(loop, Run)
    assert "batch_loss was infinite at step" in paused(loop)
    assert_all_finite(folder(loop))
    stopped(loop)


def test_the_users_own_fit_leaves_a_bad_loss_out_of_its_epoch_after_a_recovery() -> None:
    model = Regression(GOOD).compiled()
    y = np.concatenate([Y[:120], Y[:20] * NAN, Y[140:400]])  # the seventh batch is bad

    @nbtrain.background(
        checkpoint=tf.train.Checkpoint(model=model),
        hyperparameters=model.optimizer,
        on_nan="recover",
        save_steps=5,
    )
    def loop(run: Run) -> None:
        callback = nbtrain.RunCallback(run)
        model.fit(X[:400], y, batch_size=20, shuffle=False, verbose=0, callbacks=[callback])

    assert isinstance(loop, Run)
    loop.wait(SOON)
    assert [entry["to"] for entry in journal(loop, "restore")] == [5]
    assert np.isfinite(loop.status.values["epoch_loss"])
    assert loop.status.message is None


def test_a_supervisor_in_the_users_own_loop_is_paused_too() -> None:
    line = GraphRegression(BAD)
    sv = nbtrain.Supervisor(line.graph, logdir="own", save_model_secs=0)

    @nbtrain.background
    def loop(run: Run) -> None:
        with sv.managed_session() as sess:
            while not sv.should_stop():
                _, loss = sess.run([line.train_op, line.loss])
                run.record(loss=loss)

    assert isinstance(loop, Run)
    assert "loss was infinite at step" in paused(loop)
    assert [checkpoint.step for checkpoint in loop.checkpoints] == [0]
    stopped(loop)
    assert assert_all_finite(Path("own"))[-1].step == 0
