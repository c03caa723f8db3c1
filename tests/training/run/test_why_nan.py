"""`run.why_nan`: the operation and the line from which a NaN comes; the run stays as it is."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import WhyNan
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import Counter, Line, applied, reached, refused
from tests.training import faulty
from tests.training.faulty import BAD, BATCH, ROW, Faulty, line_of
from tests.training.slopes import Slope


def ended(run: Run) -> None:
    run.request_stop()
    run.wait(SOON)


FAULTS = [
    (faulty.log_of, 0.0, "log of 0", f"1 of {BATCH} values is 0", "tf.math.log"),
    (faulty.log_of, -1.0, "log of a negative number", "is negative", "tf.math.log"),
    (faulty.division_by, 0.0, "division by 0", f"1 of {BATCH} divisors is 0", "p / x"),
    (faulty.norm_of, 0.0, "derivative of sqrt at 0", f"1 of {BATCH} values is 0", "tf.norm"),
    (faulty.exp_of, 1e3, "overflow of exp(1000) in float32", "", "tf.exp"),
    (faulty.half_of, 1e5, "overflow in float16", "as large as 1e+05", "tf.cast(x"),
    (faulty.square_of, 1e30, "overflow of Pow in float32", "as large as 1e+30", "** 2"),
]


@pytest.mark.parametrize(("loss", "value", "fault", "share", "code"), FAULTS)
def test_the_operation_and_its_line_are_found(
    loss: Callable[..., Any], value: float, fault: str, share: str, code: str
) -> None:
    training = Faulty(loss, value)
    run = training.at_nan()
    before, step = training.state(), run.status.step
    outcome = applied(run.why_nan())
    answer, name = outcome.answer, loss.__name__
    assert outcome.text.startswith(fault)
    place = f"in {name} (faulty.py, line {line_of(loss, code)}) at step {BAD}"
    assert place in outcome.text
    assert (share or fault) in answer["share" if share else "fault"]
    assert (answer["step"], answer["function"]) == (BAD, name)
    assert (answer["file"], answer["line"]) == (faulty.__file__, line_of(loss, code))
    assert code in answer["code"]
    assert outcome.step == run.status.step == step
    assert run.status.phase is Phase.PAUSED
    for was, now in zip(before, training.state(), strict=True):
        np.testing.assert_array_equal(was, now)
    ended(run)


@pytest.mark.parametrize("how", ["XLA", "eager"])
def test_the_line_is_found_however_the_step_is_executed(how: str) -> None:
    run = Faulty(faulty.log_of, 0.0, how=how).at_nan()
    outcome = applied(run.why_nan())
    line = line_of(faulty.log_of, "log(")
    assert outcome.text.startswith(f"log of 0 in log_of (faulty.py, line {line}) at step {BAD}")
    ended(run)


def test_a_bad_value_of_the_data_is_named_with_its_row() -> None:
    run = Faulty(faulty.square_of, math.nan).at_nan()
    outcome = applied(run.why_nan())
    assert outcome.text == (
        f"NaN in the data at step {BAD}: 1 of {BATCH} values is not finite, first in row {ROW}"
    )
    assert outcome.answer["rows"] == [ROW]
    ended(run)


def test_a_run_that_was_asked_ends_as_one_that_was_not() -> None:
    """Weights, slots, metrics, position in the data and random draws are as before."""
    states: list[Any] = []
    scalars: list[Any] = []
    last = 3 * BAD - 1  # then the bad batch comes again, at which the run might pause
    for asks in (False, True):
        training = Faulty(faulty.log_of, 0.0, guarded=True)
        run = training.at_nan(steps=last, name=f"asks-{asks}")
        if asks:
            assert applied(run.why_nan()).text.startswith("log of 0 in log_of")
        applied(run.resume())
        run.wait(SOON)
        assert run.status.step == last
        states.append(training.state())
        scalars.append(run.scalars["loss"].values)
    for was, now in zip(*states, strict=True):
        np.testing.assert_array_equal(was, now)
    np.testing.assert_array_equal(*scalars)


def test_an_edit_since_the_good_state_is_made_again_at_its_step() -> None:
    training = Faulty(faulty.square_of, 1.0)
    run = training.start(start=False)
    run.post(nbtrain.core.commands.Set({"learning_rate": 1e25}), at=20)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    rate = run.hyperparameters["learning_rate"]
    outcome = applied(run.why_nan())
    assert 20 < outcome.answer["step"] <= 23
    assert "overflow of" in outcome.text
    assert "; the largest weight, of " in outcome.text
    assert max(outcome.answer["growth"]["values"]) > 1e9
    assert run.hyperparameters["learning_rate"] == rate
    assert float(training.optimizer.learning_rate.numpy()) == pytest.approx(1e25)
    ended(run)


def test_an_edit_just_before_the_bad_step_of_a_value_that_no_checkpoint_has() -> None:
    scale, weight = tf.Variable(1.0), tf.Variable(1.0)

    def step() -> dict[str, Any]:
        weight.assign_add(0.01)
        return {"loss": tf.math.log(scale) * weight}

    run = nbtrain.train(
        step,
        checkpoint=tf.train.Checkpoint(weight=weight),
        hyperparameters={"scale": scale},
        start=False,
    )
    run.post(nbtrain.core.commands.Set({"scale": 0.0}), at=20)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("log of 0 in step (test_why_nan.py, line ")
    assert outcome.answer["step"] == 21
    assert run.hyperparameters["scale"] == float(scale.numpy()) == 0.0
    ended(run)


def test_a_score_that_is_nan_is_no_loss() -> None:
    training = Faulty(faulty.log_of, 0.0)
    step = training.step
    training.step = lambda batch: {**step(batch), "score": math.nan}  # type: ignore[method-assign]
    run = training.at_nan()
    assert applied(run.why_nan()).answer["step"] == BAD
    ended(run)


def test_the_question_is_in_the_journal_and_on_the_curve_and_nothing_else_is_recorded() -> None:
    training = Faulty(faulty.division_by, 0.0)
    step = training.step

    def recording(batch: Any) -> dict[str, Any]:
        run.record(extra=1.0)
        tf.summary.scalar("mine", 1.0, step=run.status.step)
        return step(batch)

    training.step = recording  # type: ignore[method-assign]
    run = training.start(start=False)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    refused(run.save())  # all is recorded then
    counts = {tag: len(run.scalars[tag].steps) for tag in ("loss", "extra", "mine")}
    count = len(run.marks)
    outcome = applied(run.why_nan())
    assert {tag: len(run.scalars[tag].steps) for tag in counts} == counts
    assert [(mark.event, mark.step) for mark in run.marks][count:] == [("why_nan", outcome.step)]
    lines = (run.logdir / "steering.jsonl").read_text().splitlines()
    line = json.loads(lines[-1])
    assert (line["event"], line["text"]) == ("why_nan", outcome.text)
    assert line["answer"] == outcome.answer
    assert not (run.logdir / "checkpoints" / "present").exists()
    ended(run)


def test_the_question_is_an_action_of_a_nan_until_the_run_goes_on() -> None:
    run = Faulty(faulty.log_of, 0.0).at_nan()
    action = next(each for each in run.actions() if each.command == WhyNan())
    assert (str(action), repr(action)) == ("Find the cause", "run.why_nan()")
    assert applied(run.do(action)).text.startswith("log of 0")
    assert applied(run.do(action)).text.startswith("log of 0"), "asked again"
    applied(run.do(run.actions()[0]))
    assert all(each.command != WhyNan() for each in run.actions())
    ended(run)


def test_a_nan_that_does_not_come_again_is_said() -> None:
    variable, left = tf.Variable(1.0), [40]

    def step() -> dict[str, Any]:
        left[0] -= 1
        variable.assign_add(1.0)
        return {"loss": variable / (left[0] != 0)}

    run = nbtrain.train(step, checkpoint=tf.train.Checkpoint(variable=variable))
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    outcome = applied(run.why_nan())
    last = run.status.step
    assert outcome.text == (
        f"no cause found: the steps 1 to {last:,} were taken again, and differed from step 40 on: "
        "they had other data, random draws or settings, or something else has changed the model"
    )
    assert float(variable.numpy()) == 1.0 + last
    ended(run)


def test_a_step_that_fails_when_taken_again_leaves_the_run_as_it_was() -> None:
    training = Faulty(faulty.log_of, 0.0)
    asked: list[bool] = []
    step = training.step

    def failing(batch: Any) -> dict[str, Any]:
        if asked:
            raise RuntimeError("no disk")
        return step(batch)

    training.step = failing  # type: ignore[method-assign]
    run = training.at_nan()
    before = training.state()
    asked.append(True)
    outcome = refused(run.why_nan())
    assert "failed when taken again: RuntimeError: no disk" in outcome.text
    for was, now in zip(before, training.state(), strict=True):
        np.testing.assert_array_equal(was, now)
    ended(run)


def test_a_question_without_an_answer_is_refused_in_words() -> None:
    line = Line()
    healthy = nbtrain.train(line.step, checkpoint=line.checkpoint, name="healthy")
    assert "there is no cause to find" in refused(healthy.why_nan()).text
    ended(healthy)
    unchecked = Faulty(faulty.log_of, 0.0).start(on_nan=None, name="unchecked")
    assert "start it without on_nan=None" in refused(unchecked.why_nan()).text
    ended(unchecked)
    jumping = Faulty(faulty.square_of, 1e6).at_nan(jump=100, name="jumping")
    assert "it is finite, so no operation" in refused(jumping.why_nan()).text
    ended(jumping)
    bare = Faulty(faulty.log_of, 0.0)
    bare.checkpoint = None
    unsaved = bare.at_nan(name="unsaved")
    assert "start it with checkpoint=" in refused(unsaved.why_nan()).text
    ended(unsaved)

    @nbtrain.background(name="loop")
    def loop(run: Run) -> None:
        while not run.should_stop():
            Counter().step()

    reached(loop, lambda run: run.status.phase is Phase.RUNNING)
    assert "why_nan needs a step function" in refused(loop.why_nan()).text
    ended(loop)
    assert "the run has ended" in refused(loop.why_nan()).text


def test_a_step_under_a_strategy_is_watched_without_lines_that_nobody_wrote() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        weight = tf.Variable(1.0)
    count = tf.Variable(0.0)

    def replica() -> Any:
        if count < BAD:  # AutoGraph makes another function of this one
            return weight * 1.0
        return tf.math.log(-weight)

    @tf.function
    def step() -> dict[str, Any]:
        count.assign_add(1.0)
        return {"loss": strategy.reduce("SUM", strategy.run(replica), axis=None)}

    run = nbtrain.train(step, checkpoint=tf.train.Checkpoint(weight=weight, count=count))
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("log of a negative number")
    assert "autograph" not in str(outcome.answer)
    ended(run)


def test_a_trial_comes_before_a_question() -> None:
    trying = Slope().run()
    for values, words in (
        (2e-3, "a trial is under way, of learning_rate"),
        ([2e-3, 3e-3], "2 settings are"),
    ):
        receipt = trying.trial(learning_rate=values, steps=10**6, keep_if="loss")
        trying.resume().wait(SOON)  # only the first trial finds it paused
        reached(trying, lambda run: bool(run.status.message))
        assert f"Cannot answer questions while {words}" in refused(trying.why_nan()).text
        applied(trying.restore())
        assert not receipt.wait(SOON).applied
    ended(trying)


def test_a_good_state_without_the_variables_of_later_is_refused() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

    def step() -> dict[str, Any]:
        value = model(tf.ones((1, 2)))
        model.layers[0].kernel.assign_add(tf.fill((2, 1), math.inf))
        return {"loss": value[0, 0]}

    run = nbtrain.train(step, checkpoint=tf.train.Checkpoint(model=model))
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    kernel = model.layers[0].kernel.numpy()
    assert "ckpt-0 does not fit" in refused(run.why_nan()).text
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), kernel)
    assert not (run.logdir / "checkpoints" / "present").exists()
    ended(run)


def test_a_stop_ends_the_question_and_the_present_state_is_saved() -> None:
    training, gate = Faulty(faulty.log_of, 0.0, guarded=True), Gate()
    step = training.step

    def slow(batch: Any) -> dict[str, Any]:
        if asked:
            gate()
        return step(batch)

    asked: list[bool] = []
    training.step = slow  # type: ignore[method-assign]
    run = training.at_nan()
    before, at = training.state(), run.status.step
    asked.append(True)
    receipt = run.why_nan()
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    assert "asked to stop before the answer was found" in refused(receipt).text
    run.wait(SOON)
    assert run.status.step == at
    for was, now in zip(before, training.state(), strict=True):
        np.testing.assert_array_equal(was, now)
