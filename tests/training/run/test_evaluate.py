"""Evaluation between two steps: now, by steps, by time, also while paused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Restore, Save
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.run.evaluator import parted
from nbtrain.run.run import Run
from tests.fitted import BATCH, STEPS, Late, X, Y, assert_same, classifier, ended, started
from tests.gate import SOON, Gate
from tests.models import Count, Counter, Line, applied, reached, refused


def points(run: Run, tag: str) -> list[tuple[int, float]]:
    found = run.scalars[tag]
    return list(zip(found.steps.tolist(), found.values.tolist(), strict=True))


def paused(gate: Gate, counter: Counter, **options: Any) -> Run:
    """A run that has done one step, and is paused."""
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, **options)
    gate.wait_for_arrivals()
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    return run


def test_a_run_evaluates_when_asked_while_paused(gate: Gate) -> None:
    counter = Counter(gate)
    run = paused(gate, counter, evaluate=lambda: {"loss": 10 + counter.count})
    outcome = applied(run.evaluate())
    assert (outcome.step, outcome.text) == (1, "val_loss 11")
    assert run.status.phase is Phase.PAUSED
    reached(run, lambda run: "val_loss" in run.scalars)
    assert points(run, "val_loss") == [(1, 11.0)]
    assert [mark.event for mark in run.marks] == ["pause", "evaluate"]
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_run_evaluates_every_so_many_steps() -> None:
    counter = Counter()
    run = nbtrain.train(
        counter.step,
        steps=30,
        evaluate=lambda: {"val_loss": counter.count},
        evaluate_steps=10,
    ).wait(SOON)
    assert points(run, "val_loss") == [(10, 10.0), (20, 20.0), (30, 30.0)]


def test_a_run_that_went_back_evaluates_at_the_same_steps_again() -> None:
    counter = Counter()
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        steps=40,
        evaluate=lambda: {"val_loss": counter.count},
        evaluate_steps=10,
        start=False,
    )
    run.post(Save(), at=5)
    run.post(Restore(5), at=34)
    run.start().wait(SOON)
    steps = run.scalars["val_loss"].steps.tolist()
    assert steps == [10, 20, 30, 10, 20, 30, 40]


def test_a_run_evaluates_every_so_many_seconds(gate: Gate) -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, evaluate=lambda: {"loss": counter.count}, evaluate_secs=0.05)
    reached(run, lambda run: "val_loss" in run.scalars and len(run.scalars["val_loss"]) >= 3)
    run.request_stop()
    steps = run.wait(SOON).scalars["val_loss"].steps
    assert (np.diff(steps) > 0).all()


def test_an_evaluation_that_raises_refuses_the_command_and_the_training_goes_on(
    gate: Gate,
) -> None:
    run = paused(gate, Counter(gate), evaluate=lambda: {"loss": 1 / 0}, steps=3)
    assert refused(run.evaluate()).text == "ZeroDivisionError: division by zero"
    run.resume()
    gate.open()
    assert run.wait(SOON).status.phase is Phase.FINISHED


def test_an_evaluation_by_cadence_that_raises_is_told_and_tried_again() -> None:
    counter = Counter()
    failing = itertools.chain([True], itertools.repeat(False))

    def evaluate() -> dict[str, float]:
        if next(failing):
            raise ValueError("no data today")
        return {"loss": 1.0}

    gate = Gate(10)
    counter = Counter(gate)
    run = nbtrain.train(counter.step, steps=12, evaluate=evaluate, evaluate_steps=5)
    reached(run, lambda run: "val_loss" in run.scalars)
    assert points(run, "val_loss") == [(10, 1.0)]
    assert run.status.message is None
    gate.open()
    run.wait(SOON)


def test_an_evaluation_that_fails_is_named_with_its_step() -> None:
    gate = Gate(5)
    run = nbtrain.train(Counter(gate).step, evaluate=lambda: {"loss": 1 / 0}, evaluate_steps=5)
    reached(run, lambda run: bool(run.status.message))
    assert run.status.message == "No evaluation at step 5: ZeroDivisionError: division by zero"
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_should_stop_in_an_evaluation_is_no_step(gate: Gate) -> None:
    run: Run
    asked: list[bool] = []

    def evaluate() -> dict[str, float]:
        asked.extend(run.should_stop() for _ in range(3))
        return {"loss": 1.0}

    run = paused(gate, Counter(gate), evaluate=evaluate)
    assert applied(run.evaluate()).step == 1
    assert (asked, run.status.step) == ([False] * 3, 1)
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_an_evaluation_cannot_wait_for_the_end_of_its_run(gate: Gate) -> None:
    run: Run

    def evaluate() -> dict[str, float]:
        run.wait(SOON)
        return {"loss": 1.0}

    run = paused(gate, Counter(gate), evaluate=evaluate)
    assert "cannot wait for its own end" in refused(run.evaluate()).text
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_long_evaluation_is_reported(gate: Gate) -> None:
    inner = Gate()

    def evaluate() -> dict[str, float]:
        inner()
        return {"loss": 1.0}

    run = paused(gate, Counter(gate), evaluate=evaluate)
    receipt = run.evaluate()
    reached(run, lambda run: bool(run.status.message))
    assert (run.status.message or "").startswith("Evaluating at step 1, for ")
    inner.open()
    applied(receipt)
    reached(run, lambda run: run.status.message is None)
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_run_with_nothing_to_evaluate_says_what_to_give(gate: Gate) -> None:
    run = paused(gate, Counter(gate))
    assert "start it with evaluate=" in refused(run.evaluate()).text
    gate.open()
    run.request_stop()
    run.wait(SOON)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "evaluate() returns NoneType: return a dict"),
        ({}, "evaluate() returns {}: return a dict"),
        (0.5, "evaluate() returns float"),
        ({"loss": tf.constant([1.0, 2.0])}, "'loss' has the shape (2,)"),
        ({3: 1.0}, "The tag 3 is no name"),
        ({"loss": "low"}, "'loss' is 'low'"),
    ],
)
def test_a_step_result_that_is_not_a_dict_of_scalars_raises(given: Any, says: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        parted(given)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"evaluate_steps": 10}, "evaluate_steps=10 without evaluate=: give a function that"),
        ({"evaluate_secs": 1.0}, "evaluate_secs=1.0 without evaluate="),
        ({"evaluate": 3}, "evaluate=3 cannot be called"),
        ({"evaluate": lambda x: x}, "takes arguments"),
        ({"evaluate": dict, "evaluate_steps": 0}, "evaluate_steps=0: give a whole number"),
        ({"evaluate": dict, "evaluate_secs": "soon"}, "evaluate_secs='soon': give a number"),
    ],
)
def test_a_bad_argument_starts_nothing(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        nbtrain.train(Counter().step, **options)
    assert says in str(raised.value)


def test_the_users_own_loop_is_evaluated() -> None:
    line = Line()

    @nbtrain.background(steps=6, evaluate=lambda: line.step(), evaluate_steps=3)
    def run(run: Run) -> None:
        while not run.should_stop():
            run.record(line.step())

    assert run.wait(SOON).scalars["val_loss"].steps.tolist() == [3, 6]


def test_a_graph_is_evaluated_in_its_session() -> None:
    count = Count()
    run = nbtrain.supervise(
        count.train_op,
        scalars={"loss": count.loss},
        steps=20,
        evaluate=lambda sess: {"loss": sess.run(count.loss)},
        evaluate_steps=10,
    ).wait(SOON)
    assert run.scalars["val_loss"].steps.tolist() == [10, 20]
    wrong: Any = lambda: {"loss": 1.0}  # noqa: E731
    with pytest.raises(ArgumentError, match="takes other arguments"):
        nbtrain.supervise(Count().train_op, evaluate=wrong)


# --- Keras --------------------------------------------------------------------------------


def test_evaluating_in_the_middle_of_an_epoch_changes_nothing_of_the_training() -> None:
    plain, evaluated = classifier(), classifier()
    arguments = {"x": X, "y": Y, "batch_size": BATCH, "epochs": 2, "validation_data": (X, Y)}
    one = ended(plain, "plain", **arguments)
    other = ended(evaluated, "evaluated", evaluate_steps=5, **arguments)
    assert_same(plain, evaluated)
    assert one.history == other.history
    assert other.scalars["val_loss"].steps.tolist() == [5, 10, 12, 15, 20, 24]


def test_an_evaluation_of_a_fit_equals_that_of_keras() -> None:
    class Pausing(Late):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 4:
                self.run.pause()

    model = classifier()
    pausing = Pausing()
    run = started(model, "run", pausing, x=X, y=Y, batch_size=BATCH, validation_data=(X, Y))
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    outcome = applied(run.evaluate())
    run.request_stop()
    run.wait(SOON)
    expected = model.evaluate(X, Y, verbose=0, return_dict=True, batch_size=BATCH)
    assert outcome.step == 5 < STEPS
    for name, value in expected.items():
        assert run.scalars[f"val_{name}"].values.tolist() == [pytest.approx(value, rel=1e-5)]


def test_a_stop_ends_an_evaluation_of_keras(gate: Gate) -> None:
    def slow(x: Any, y: Any) -> Any:
        tf.py_function(gate, [], [])
        return x, y

    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(1).map(slow)
    model = classifier()
    run = started(model, "run", x=X, y=Y, validation_data=data, evaluate_steps=1)
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert "val_loss" not in run.scalars


@pytest.mark.parametrize("kind", ["none", "generator"])
def test_a_fit_that_cannot_evaluate_says_why(kind: str) -> None:
    class Pausing(Late):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.run.pause()

    more: dict[str, Any] = {}
    if kind == "generator":
        more = {"validation_data": itertools.repeat((X, Y)), "validation_steps": 1}
    run = started(classifier(), "run", Pausing(), x=X, y=Y, **more)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    says = "with validation_data=" if kind == "none" else "it can be drawn but once"
    assert says in refused(run.evaluate()).text
    run.request_stop()
    run.wait(SOON)


def test_a_fit_without_validation_data_takes_no_cadence() -> None:
    with pytest.raises(ArgumentError, match="evaluate_steps=5 without validation_data="):
        nbtrain.fit(classifier(), X, Y, evaluate_steps=5)
