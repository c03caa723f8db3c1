"""Setting the hyperparameters of a run: in every phase, and what is written down of it."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.hparams.api_pb2 import STATUS_FAILURE, STATUS_SUCCESS

import nbtrain
from nbtrain.core.commands import Command, Note, Save, Set, Tag
from nbtrain.core.states import Phase
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import Counter, applied, reached, refused
from tests.training.tuned import TAG, Tuned, curve, held, lines, paused_and_saved, stopped

v1 = tf.compat.v1


# --- setting --------------------------------------------------------------------


def test_the_next_step_uses_what_was_set(gate: Gate) -> None:
    run, tuned = held(gate)
    receipt = run.set(rate=0.125)
    assert receipt.outcome is None  # the step at hand is still running
    gate.allow(1)
    outcome = applied(receipt)
    assert str(outcome) == "applied at step 1: rate 0.5 → 0.125"
    assert outcome.edits == (Edit("rate", 0.5, 0.125),)
    gate.allow(1)
    gate.wait_for_arrivals(2)
    assert tuned.used == [0.5, 0.125]
    assert run.hyperparameters == {"rate": 0.125, "dropout": 0.25}
    assert [(each.name, each.value) for each in run.status.hyperparameters] == [
        ("rate", 0.125),
        ("dropout", 0.25),
    ]
    stopped(run, gate)


def test_several_at_once_are_one_act(gate: Gate) -> None:
    run, tuned = held(gate)
    receipt = run.set(rate=0.125, dropout=0.5)
    gate.allow(1)
    assert applied(receipt).text == "rate 0.5 → 0.125, dropout 0.25 → 0.5"
    wrong = run.set(rate=4.0, dropout=4.0)
    gate.allow(1)
    assert refused(wrong).text == "dropout=4: give 0 or more, and less than 1."
    assert float(tuned.rate.numpy()) == 0.125
    assert run.hyperparameters == {"rate": 0.125, "dropout": 0.5}
    stopped(run, gate)


def test_a_command_keeps_what_was_asked() -> None:
    asked = {"rate": 0.5}
    command = Set(asked)
    asked["rate"] = 1.0
    assert command.values == {"rate": 0.5}
    assert command == Set({"rate": 0.5})


def test_setting_nothing_is_refused(gate: Gate) -> None:
    run, _ = held(gate)
    receipt = run.set()
    gate.allow(1)
    outcome = refused(receipt)
    stopped(run, gate)
    assert outcome.text == "No value is given: hyperparameters are rate, dropout."


def test_a_hyperparameter_can_be_set_while_paused(gate: Gate) -> None:
    run, tuned = held(gate)
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    outcome = applied(run.set(rate=0.125))
    assert (outcome.step, run.status.phase) == (1, Phase.PAUSED)
    assert float(tuned.rate.numpy()) == 0.125
    refused(run.set(rate=float("nan")))
    stopped(run, gate)


def test_while_preparing_it_waits_for_the_first_boundary() -> None:
    tuned, begin, asked = Tuned(), threading.Event(), threading.Event()

    @nbtrain.background(hyperparameters={"rate": tuned.rate}, steps=2)
    def loop(run: Run) -> None:
        asked.set()
        assert begin.wait(SOON)
        while not run.should_stop():
            run.record(tuned.step())

    assert asked.wait(SOON)
    assert (loop.status.phase, loop.hyperparameters) == (Phase.PREPARING, {})
    receipt = loop.set(rate=0.125)
    begin.set()
    assert applied(receipt).step == 0
    loop.wait(SOON)
    assert tuned.used == [0.125, 0.125]


def test_while_stopping_nothing_is_set(gate: Gate) -> None:
    run, tuned = held(gate)
    run.request_stop()
    receipt = run.set(rate=0.125)
    stopped(run, gate)
    assert refused(receipt).text == "Cannot set while stopping; start the run again to continue."
    assert float(tuned.rate.numpy()) == 0.5


def test_before_the_start_and_after_the_end_nothing_is_set(gate: Gate) -> None:
    tuned = Tuned()
    run = nbtrain.train(tuned.step, steps=1, hyperparameters={"rate": tuned.rate}, start=False)
    refused(run.set(rate=1.0))
    run.start().wait(SOON)
    refused(run.set(rate=1.0))
    assert tuned.used == [0.5]


def test_a_name_that_the_run_lacks_is_refused_at_once_and_written_down(gate: Gate) -> None:
    run, tuned = held(gate)
    for receipt in (run.set(rat=0.125), run.trial(rate=0.125, rat=0.125)):
        assert receipt.outcome is not None, "while the step at hand is still running"
        assert not receipt.outcome.applied
        assert receipt.outcome.text == (
            "There is no hyperparameter 'rat' in this run; it has: rate, dropout."
        )
    stopped(run, gate)
    for event in ("set", "try"):
        assert [entry["applied"] for entry in lines(run, event)] == [False]
    assert float(tuned.rate.numpy()) == 0.5


def test_a_run_without_hyperparameters_says_so(gate: Gate) -> None:
    counter = Counter(gate)
    run = nbtrain.train(counter.step)
    receipt = run.set(rate=1.0)
    gate.open()
    assert refused(receipt).text == (
        "There is no hyperparameter 'rate' in this run; it has none; give hyperparameters= when it "
        "is started."
    )
    run.request_stop()
    run.wait(SOON)
    assert not any(tag.startswith("hyperparameters/") for tag in run.scalars)


def test_a_variable_that_cannot_be_written_is_told_and_the_training_goes_on(gate: Gate) -> None:
    run, tuned = held(gate)
    share = tuned.share

    def fail(_value: float) -> None:
        raise tf.errors.UnavailableError(None, None, "the server is gone")

    share.assign = fail  # as a lost server does
    receipt = run.set(rate=0.125, dropout=0.5)
    gate.allow(1)
    assert "the server is gone" in refused(receipt).text
    assert float(tuned.rate.numpy()) == 0.5
    stopped(run, gate)
    assert run.status.phase is Phase.STOPPED


def test_a_variable_that_cannot_be_read_is_told_and_the_training_goes_on() -> None:
    rate = tf.Variable(0.5)
    rate.numpy = lambda: 1 / 0
    run = nbtrain.train(Counter().step, steps=3, hyperparameters={"rate": rate}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.message is not None
    assert "Hyperparameters could not be read: division by zero" in run.status.message


# --- restoring ------------------------------------------------------------------


def test_a_restore_brings_back_the_value_of_the_checkpoint(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    applied(run.set(rate=0.125, dropout=0.5))
    assert applied(run.restore()).text.endswith("; rate 0.125 → 0.5"), "nor is it silent"
    assert run.hyperparameters == {"rate": 0.5, "dropout": 0.5}, "dropout is in no checkpoint"
    assert run.status.hyperparameters[0].value == float(tuned.rate.numpy()) == 0.5
    stopped(run, gate)


def test_a_restore_says_what_it_has_set_back_of_what_the_program_had_set(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    tuned.rate.assign(0.25)
    assert applied(run.restore()).text.endswith("; rate 0.25 → 0.5")
    stopped(run, gate)


def test_an_edit_asked_for_during_a_restore_comes_after_it(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    applied(run.set(rate=0.125))
    receipts = [run.restore(), run.set(rate=0.25)]
    assert applied(receipts[0]).step == 1
    assert applied(receipts[1]).edits == (Edit("rate", 0.5, 0.25),)
    assert float(tuned.rate.numpy()) == 0.25
    stopped(run, gate)


def test_after_a_restore_that_failed_it_can_still_be_set(gate: Gate) -> None:
    run, _ = paused_and_saved(gate)
    for file in (run.logdir / "checkpoints").glob("ckpt-1.data*"):
        file.unlink()
    refused(run.restore())
    assert applied(run.set(rate=0.125)).text == "rate 0.5 → 0.125"
    stopped(run, gate)


def test_a_run_started_again_has_the_value_of_its_checkpoint(gate: Gate) -> None:
    run, tuned = held(gate)
    receipt = run.set(rate=0.125)
    gate.allow(1)
    applied(receipt)
    stopped(run, gate)
    tuned.rate.assign(9.0)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.RUNNING)
    assert run.hyperparameters["rate"] == 0.125
    stopped(run, gate)


def test_an_edit_after_a_checkpoint_of_the_same_step_is_in_the_last_checkpoint(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    applied(run.set(rate=0.125))
    stopped(run, gate)
    tuned.rate.assign(9.0)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.RUNNING)
    assert run.hyperparameters["rate"] == 0.125
    stopped(run, gate)


def test_a_session_that_was_lost_and_made_again_shows_its_own_value() -> None:
    graph, lost = tf.Graph(), threading.Event()
    with graph.as_default():
        global_step = v1.train.get_or_create_global_step()
        rate = v1.get_variable("rate", initializer=0.5, trainable=False)
        weight = v1.get_variable("weight", initializer=1.0)
        optimizer = v1.train.GradientDescentOptimizer(rate)
        train_op = optimizer.minimize(weight**2, global_step=global_step)

    class Preempted(tf.compat.v1.train.SessionRunHook):
        """Loses the session once, after the rate was set."""

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if run.hyperparameters.get("rate") == 0.125 and not lost.is_set():
                lost.set()
                raise tf.errors.AbortedError(None, None, "preempted")

    run = nbtrain.monitor(
        train_op, hyperparameters={"rate": rate}, hooks=[Preempted()], start=False
    )
    run.start()
    applied(run.set(rate=0.125))
    reached(run, lambda run: run.hyperparameters.get("rate") == 0.5)
    assert lost.is_set()
    applied(run.set(rate=0.25))
    run.request_stop()
    run.wait(SOON)
    assert "The session was lost" in (run.status.message or "")


# --- what is written down -------------------------------------------------------


def test_the_journal_holds_the_edit_for_a_replay(gate: Gate) -> None:
    run, _ = held(gate)
    run.set(rate=0.1)
    last = run.set(rate=-1.0, dropout=7)
    gate.allow(1)
    refused(last)
    stopped(run, gate)
    done, not_done = lines(run, "set")
    assert done == {
        "step": 1,
        "applied": True,
        "text": "rate 0.5 → 0.1",
        "edits": {"rate": [0.5, 0.1]},
    }
    assert (not_done["applied"], "edits" in not_done) == (False, False)


def test_the_curve_of_a_value_is_a_step_from_beginning_to_end(gate: Gate) -> None:
    run, _ = held(gate, steps=3)
    run.set(rate=0.125)
    gate.open()
    run.wait(SOON)
    assert curve(run) == [(0, 0.5), (1, 0.5), (1, 0.125), (3, 0.125)]
    assert curve(run, "hyperparameters/dropout") == [(0, 0.25), (3, 0.25)]


def test_a_restore_begins_a_segment_of_each_curve(gate: Gate) -> None:
    run, _ = paused_and_saved(gate)
    applied(run.set(rate=0.125))
    applied(run.restore())
    stopped(run, gate)
    kept = [curve for curve in run.scalars.curves() if curve.tag == TAG][-1]
    assert kept.segment == 1
    assert kept.buckets.mean.tolist()[0] == 0.5


def test_the_event_file_holds_the_values_as_tensorboard_reads_them(gate: Gate) -> None:
    run, _ = held(gate, steps=2)
    run.set(rate=0.125)
    gate.open()
    run.wait(SOON)
    events = EventAccumulator(str(run.logdir))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars(TAG)] == curve(run)
    content = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
    begun = metadata.parse_session_start_info_plugin_data(content)
    assert {name: value.number_value for name, value in begun.hparams.items()} == {
        "rate": 0.5,
        "dropout": 0.25,
    }


@pytest.mark.parametrize("fails", [True, False])
def test_the_event_file_tells_how_the_run_has_ended(fails: bool) -> None:
    tuned = Tuned(lambda _count: 1 / 0 if fails else None)
    run = nbtrain.train(tuned.step, steps=1, hyperparameters={"rate": tuned.rate})
    with pytest.raises(ZeroDivisionError) if fails else contextlib.nullcontext():
        run.wait(SOON)
    events = EventAccumulator(str(run.logdir))
    events.Reload()
    content = events.SummaryMetadata(metadata.SESSION_END_INFO_TAG).plugin_data.content
    ended = metadata.parse_session_end_info_plugin_data(content)
    assert ended.status == (STATUS_FAILURE if fails else STATUS_SUCCESS)


def test_values_set_by_the_program_are_shown_and_recorded() -> None:
    tuned = Tuned()
    gate = Gate()

    def step() -> dict[str, Any]:
        gate()
        values = tuned.step()
        if len(tuned.used) == 2:
            tuned.rate.assign(0.25)
        return values

    run = nbtrain.train(step, hyperparameters={"rate": tuned.rate})
    gate.open()
    reached(run, lambda run: run.hyperparameters.get("rate") == 0.25)
    run.request_stop()
    run.wait(SOON)
    assert curve(run)[:-1] == [(0, 0.5), (2, 0.5), (2, 0.25)], "at its step"


def test_a_board_reads_the_curves_and_no_more(gate: Gate) -> None:
    run, _ = held(gate, steps=2)
    gate.open()
    run.wait(SOON)
    assert nbtrain.scalars(run.logdir).tags == sorted(run.scalars)


def test_a_planned_command_is_executed_between_its_step_and_the_next(gate: Gate) -> None:
    run, tuned = held(gate, steps=200)
    receipt = run.post(Set({"rate": 0.125}), at=150)
    gate.open()
    run.wait(SOON)
    assert receipt.wait(SOON).step == 150
    assert tuned.used[149:151] == [0.5, 0.125]


@pytest.mark.parametrize("command", [Save(), Note("late"), Tag(("late",)), Set({"rate": 0.125})])
def test_a_planned_command_whose_step_never_comes_is_refused(command: Command, gate: Gate) -> None:
    run, _ = held(gate, steps=20)
    planned = run.post(command, at=150)
    gate.open()
    run.wait(SOON)
    assert not planned.wait(SOON).applied
    assert run.tags == ()
