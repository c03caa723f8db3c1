"""Hyperparameters that the program sets: recorded at their steps, and when they undo an edit."""

from __future__ import annotations

import threading
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import nbtrain
from nbtrain.core.commands import Restore, Set
from nbtrain.core.errors import BusyError
from nbtrain.core.values.hyperparameters import Hyperparameters
from nbtrain.engines.eager_variable import EagerVariable
from nbtrain.engines.hyperparameters import held_by
from nbtrain.panel.live.view import fields
from nbtrain.run.run import Run
from nbtrain.run.tuning.changes import Changes
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.tuning.rates import Rates
from tests.fitted import BATCH, STEPS, Late, SetAt, X, Y, started
from tests.gate import SOON, Gate
from tests.models import Counter, applied, reached
from tests.training.tuned import (
    Tuned,
    curve,
    lines,
    paused_and_saved,
    stopped,
)

v1 = tf.compat.v1

RATE = "hyperparameters/learning_rate"


class Program:
    """A step that assigns its rate itself: in its third step, or in each from there on."""

    def __init__(self, *, every: bool = False, compiled: bool = False) -> None:
        self.rate = tf.Variable(0.5)
        self.count = tf.Variable(0)
        self._every = every
        self.step: Any = tf.function(self._step) if compiled else self._step

    def _step(self) -> dict[str, Any]:
        count = self.count.assign_add(1)
        due = count >= 3 if self._every else count == 3
        if due:
            self.rate.assign(self.rate * 0.5)
        return {"rate": self.rate.read_value()}

    def run(self, steps: int, **options: Any) -> Run:
        return nbtrain.train(
            self.step, steps=steps, hyperparameters={"rate": self.rate}, **options
        ).wait(SOON)


# --- at the very step -------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_that_assigns_is_recorded_at_that_step(compiled: bool) -> None:
    run = Program(compiled=compiled).run(1000)
    assert curve(run) == [(0, 0.5), (3, 0.5), (3, 0.25), (1000, 0.25)]
    assert run.hyperparameters == {"rate": 0.25}
    events = EventAccumulator(str(run.logdir))
    events.Reload()
    tag = "hyperparameters/rate"
    assert [(event.step, event.value) for event in events.Scalars(tag)] == curve(run)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_that_assigns_each_time_has_each_value_in_its_curve(compiled: bool) -> None:
    run = Program(every=True, compiled=compiled).run(6)
    falling = [(3, 0.25), (4, 0.125), (5, 0.0625), (6, 0.03125)]
    assert curve(run) == [(0, 0.5), (3, 0.5), *falling, (6, 0.03125)]
    assert run.scalars["rate"].values.tolist()[2:] == [value for _, value in falling]


def test_a_step_that_was_traced_before_the_run_is_looked_into() -> None:
    program = Program(compiled=True)
    program.step()
    assert curve(program.run(4)) == [(0, 0.5), (2, 0.5), (2, 0.25), (4, 0.25)]


def test_assignments_in_the_users_loop_and_in_a_cell_are_recorded_too() -> None:
    rate = tf.Variable(0.5)

    @nbtrain.background(hyperparameters={"rate": rate}, steps=100)
    def loop(run: Run) -> None:
        while not run.should_stop():
            if run.status.step == 41:
                rate.assign_sub(0.25)
            run.record(loss=0.5)

    loop.wait(SOON)
    assert curve(loop) == [(0, 0.5), (42, 0.5), (42, 0.25), (100, 0.25)]


def test_an_assignment_by_a_cell_during_a_pause_comes_before_an_edit(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    tuned.rate.assign(0.25)
    applied(run.set(rate=4.0))
    stopped(run, gate)
    *points, (_, last) = curve(run)
    assert points == [(0, 0.5), (1, 0.25), (1, 0.25), (1, 4.0)]
    assert last == 4.0


def test_an_assignment_by_a_cell_during_a_pause_has_the_step_of_the_pause(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    tuned.rate.assign(0.25)
    applied(run.resume())
    stopped(run, gate)
    assert curve(run)[:2] == [(0, 0.5), (1, 0.25)]


def test_an_assignment_undone_by_a_restore_is_not_recorded_after_it(gate: Gate) -> None:
    run, tuned = paused_and_saved(gate)
    tuned.rate.assign(0.25)
    applied(run.restore())
    stopped(run, gate)
    assert {value for _, value in curve(run)} == {0.5}


def test_an_assignment_by_an_evaluation_has_its_step() -> None:
    rate = tf.Variable(0.5)

    def evaluate() -> dict[str, float]:
        rate.assign(0.25)
        return {"loss": 1.0}

    run = nbtrain.train(
        lambda: {"loss": 1.0},
        steps=99,
        hyperparameters={"rate": rate},
        evaluate=evaluate,
        evaluate_steps=50,
    ).wait(SOON)
    assert curve(run) == [(0, 0.5), (50, 0.5), (50, 0.25), (99, 0.25)]


def test_an_assignment_by_a_thread_during_a_boundary_has_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rate, next_step = tf.Variable(0.5), HyperparameterControl.next_step
    threads: list[threading.Thread] = []

    def looking(control: HyperparameterControl) -> int:
        if control._steps.step == 1 and not threads:
            threads.append(threading.Thread(target=rate.assign, args=(0.25,)))
            threads[0].start()
            threads[0].join()
        return next_step(control)

    monkeypatch.setattr(HyperparameterControl, "next_step", looking)
    held = {"rate": rate}
    run = nbtrain.train(lambda: {"loss": 1.0}, steps=9, hyperparameters=held).wait(SOON)
    assert curve(run) == [(0, 0.5), (2, 0.5), (2, 0.25), (9, 0.25)]


@pytest.mark.parametrize("again", ["started again", "not started"])
def test_a_second_run_of_its_variable_leaves_a_run_listening(again: str, gate: Gate) -> None:
    tuned = Tuned(gate)
    held = {"rate": tuned.rate}

    def step() -> dict[str, Any]:
        values = tuned.step()
        if tuned.count == 7:
            tuned.rate.assign(0.25)
        return values

    options: Any = {"hyperparameters": held, "checkpoint": tuned.checkpoint, "steps": 12}
    run = nbtrain.train(step, name="one", **options)
    gate.wait_for_arrivals()
    if again == "not started":
        nbtrain.train(step, name="two", start=False, **options)
    else:
        with pytest.raises(BusyError):
            nbtrain.train(step, name="one", **options)
    gate.open()
    run.wait(SOON)
    assert curve(run) == [(0, 0.5), (7, 0.5), (7, 0.25), (12, 0.25)]


def test_two_runs_of_one_variable_both_listen(gate: Gate) -> None:
    rate, first = tf.Variable(0.5), Counter(gate)
    held = {"rate": rate}
    one = nbtrain.train(first.step, hyperparameters=held, name="one", steps=9)
    gate.wait_for_arrivals()
    second = Counter(lambda count: count == 3 and rate.assign(0.25))
    two = nbtrain.train(second.step, hyperparameters=held, name="two", steps=5).wait(SOON)
    assert curve(two) == [(0, 0.5), (3, 0.5), (3, 0.25), (5, 0.25)]
    gate.open()
    one.wait(SOON)
    assert curve(one) == [(0, 0.5), (1, 0.25), (9, 0.25)]
    assert "assign" not in vars(rate)


class Asked:
    """A lock that lets a test know when it is asked for a second time."""

    def __init__(self, going_on: threading.Event) -> None:
        self._lock, self._going_on, self._times = threading.RLock(), going_on, 0

    def __enter__(self) -> None:
        self._times += 1
        if self._times == 2:
            self._going_on.set()
        self._lock.acquire()

    def __exit__(self, *_error: object) -> None:
        self._lock.release()


@pytest.mark.parametrize("kind", [Changes, Rates])
def test_a_flush_returns_once_what_another_thread_has_taken_is_recorded(kind: Any) -> None:
    optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5))
    hyperparameters = Hyperparameters(held_by(optimizer))
    hyperparameters.read()
    going_on, done = threading.Event(), list[str]()

    def flush() -> None:
        flushed.flush()
        done.append("flushed")
        going_on.set()

    def record(step: int, _wall: float, _values: Any) -> None:
        threads.append(threading.Thread(target=flush))
        threads[-1].start()
        assert going_on.wait(SOON)
        done.append(f"recorded {step}")

    threads: list[threading.Thread] = []
    flushed = kind(hyperparameters, None, record)
    flushed._flushing = Asked(going_on)
    if kind is Changes:
        flushed._recorded["learning_rate_factor"] = 6, 1.0
        flushed._waiting.append((7, "learning_rate_factor", 0.0, 0.5))
    else:
        flushed.mark(7)
    flush()
    threads[0].join(SOON)
    assert done[0] == "recorded 7"


def test_the_variable_is_left_as_it_was() -> None:
    program = Program()
    before = {*vars(program.rate)}
    program.run(2)
    assert {*vars(program.rate)} == before


def test_a_step_that_assigns_nothing_has_nothing_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    rate = tf.Variable(0.5)
    monkeypatch.setattr(EagerVariable, "_unread", lambda _: reads.append(1))
    step = tf.function(lambda: {"loss": rate * 2.0})
    nbtrain.train(step, steps=500, hyperparameters={"rate": rate}).wait(SOON)
    inner = tf.function(lambda: rate * 2.0, autograph=False)
    nested = tf.function(lambda: {"loss": inner()})
    nbtrain.train(nested, steps=500, hyperparameters={"rate": rate}).wait(SOON)
    assert not reads


@pytest.mark.parametrize("way", [nbtrain.supervise, nbtrain.monitor])
def test_a_graph_whose_train_op_assigns_nothing_has_nothing_read(
    way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        rate = v1.get_variable("rate", initializer=0.5, trainable=False)
        v1.assign(rate, v1.placeholder(tf.float32, []))  # by which the program may set it
        v1.train.Saver(reshape=True)
        train_op = v1.assign_add(step, 1).op
        reads, run = [], v1.Session.run

        def reading(session: Any, fetches: Any, *args: Any, **kwargs: Any) -> Any:
            reads.extend([fetches] if fetches is rate else [])
            return run(session, fetches, *args, **kwargs)

        monkeypatch.setattr(v1.Session, "run", reading)
    way(train_op, hyperparameters={"rate": rate}, steps=2_000).wait(SOON)
    assert 0 < len(reads) < 1_000, "once a second"


def test_an_assignment_by_an_operation_beside_the_train_op_is_seen() -> None:
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        rate = v1.get_variable("rate", initializer=0.5, trainable=False)
        more = v1.assign_add(rate, 0.5)
        train_op = v1.assign_add(step, 1).op

    class Adding(tf.compat.v1.train.SessionRunHook):
        """Adds to the rate after each step, by a run of its own."""

        def after_run(self, context: Any, _values: Any) -> None:
            context.session.run(more)

    held = {"rate": rate}
    run = nbtrain.monitor(train_op, hyperparameters=held, hooks=[Adding()], start=False)
    reached_it: list[Any] = []
    run.on_tick(lambda: reached_it.append(len(run.scalars["hyperparameters/rate"].steps) > 50))
    run.start()
    reached(run, lambda _: any(reached_it))
    run.request_stop()
    run.wait(SOON)
    steps = [step for step, _ in curve(run)]
    assert {*range(steps[-1] - 20, steps[-1])} <= {*steps}, "after each step, once it was seen"


def model(rate: Any = 0.1) -> Any:
    """Compiled, and trained eagerly: nothing of this is about the traced step."""
    made = keras.Sequential([keras.Input((X.shape[1],)), keras.layers.Dense(3)])
    made.compile(keras.optimizers.SGD(rate), "mse", run_eagerly=True)
    return made


def fitted(epochs: int, *callbacks: Any, name: str = "f", **options: Any) -> Any:
    """A run of the model that has not ended."""
    given = {"x": X, "y": keras.utils.to_categorical(Y), "batch_size": BATCH, "epochs": epochs}
    return started(options.pop("trained", None) or model(), name, *callbacks, **given, **options)


def falling(epoch: int) -> float:
    return [0.1, 0.05, 0.025, 0.0125][epoch]


def scheduler(schedule: Any = falling) -> Any:
    return Named(schedule)


class Named(keras.callbacks.LearningRateScheduler):
    """One that comes to know its run, as those of `started` do."""

    run: Any


class Plateau(keras.callbacks.ReduceLROnPlateau):
    """The same; nothing is ever better."""

    run: Any

    def __init__(self) -> None:
        super().__init__(monitor="loss", factor=0.5, patience=1, min_delta=1e9)


class Warm(Late):
    """Sets the rate before each of the first batches."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.model.optimizer.iterations < 4:
            self.model.optimizer.learning_rate = 0.01 * (batch + 1)


def test_a_scheduler_of_keras_is_recorded_where_its_epoch_begins() -> None:
    run = fitted(3, scheduler()).wait(SOON)
    first, second = STEPS, 2 * STEPS
    assert curve(run, RATE) == [
        *[(0, 0.1), (first, 0.1), (first, 0.05), (second, 0.05), (second, 0.025)],
        (3 * STEPS, 0.025),
    ]


def test_a_plateau_and_a_warm_up_are_recorded_at_their_steps() -> None:
    run = fitted(3, Plateau(), Warm(), name="w").wait(SOON)
    points = curve(run, RATE)
    assert points[:6] == [(0, 0.1), (0, 0.01), (1, 0.02), (2, 0.03), (3, 0.04), (24, 0.04)]
    assert points[6:] == [(24, 0.02), (36, 0.02), (36, 0.01), (36, 0.01)]


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("way", [nbtrain.supervise, nbtrain.monitor])
def test_an_assignment_by_a_graph_operation_is_recorded_at_its_step(
    way: Any, resource: bool
) -> None:
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        rate = v1.get_variable("rate", initializer=0.5, trainable=False, use_resource=resource)
        due = tf.equal(v1.assign_add(step, 1), 30)
        train_op = v1.assign(rate, tf.where(due, rate * 0.5, rate)).op
    run = way(train_op, hyperparameters={"rate": rate}, steps=40).wait(SOON)
    assert curve(run) == [(0, 0.5), (30, 0.5), (30, 0.25), (40, 0.25)]


# --- an edit that is undone -------------------------------------------------------


def undone(run: Run) -> Any:
    """The one mark of an edit that was undone."""
    (mark,) = [mark for mark in run.marks if mark.event == "undone"]
    return mark


def test_an_edit_that_a_callback_undoes_is_a_mark_and_a_sentence() -> None:
    edit = SetAt(5, learning_rate=0.02)
    run = fitted(3, scheduler(), edit).wait(SOON)
    outcome = applied(edit.receipts[0])
    assert outcome.text == "learning_rate 0.1 → 0.02"
    mark = undone(run)
    what = "the program has set learning_rate 0.02 → 0.05, after the edit of step 5"
    assert (mark.step, mark.text) == (STEPS, f"{what}.")
    assert run.status.message == (
        f"At step 12 {what} (learning_rate 0.1 → 0.02). To keep an edit, set the factor on what "
        "it sets, run.set(learning_rate_factor=0.2)."
    )
    assert [line["step"] for line in lines(run, "undone")] == [STEPS]
    assert (STEPS, 0.05) in curve(run, RATE)


def test_an_edit_under_a_plateau_stays_in_effect_and_its_next_value_is_told() -> None:
    edit = SetAt(5, learning_rate=0.02)
    run = fitted(3, Plateau(), edit).wait(SOON)
    assert applied(edit.receipts[0]).text == "learning_rate 0.1 → 0.02"
    assert run.hyperparameters["learning_rate"] == 0.005
    assert undone(run).text == (
        "the program has set learning_rate 0.02 → 0.01, after the edit of step 5."
    )


def test_an_edit_that_a_step_undoes_is_told_at_its_step() -> None:
    rate = tf.Variable(0.5)

    def step() -> dict[str, Any]:
        if run.status.step == 7:
            rate.assign(0.25)
        return {"loss": 1.0}

    run = nbtrain.train(step, steps=12, hyperparameters={"rate": rate}, start=False)
    receipt = run.post(Set({"rate": 4.0}), at=3)
    told: list[Any] = []
    run.on("undone", told.append)
    run.start().wait(SOON)
    assert applied(receipt).text == "rate 0.5 → 4"
    assert undone(run).step == 8
    assert undone(run).text == "the program has set rate 4 → 0.25, after the edit of step 3."
    assert (
        "have the program multiply its value by a variable that is given in hyperparameters="
        in str(run.status.message)
    )
    reached(run, lambda _: bool(told))


def test_an_edit_that_a_traced_step_undoes_is_told_at_its_step() -> None:
    program = Program(compiled=True)
    held = {"rate": program.rate}
    run = nbtrain.train(program.step, steps=200, hyperparameters=held, start=False)
    run.post(Set({"rate": 4.0}), at=1)
    run.start().wait(SOON)
    assert undone(run).step == 3
    assert undone(run).text == "the program has set rate 4 → 2, after the edit of step 1."


def test_after_a_restore_or_a_new_edit_the_sentence_is_gone() -> None:
    rate = tf.Variable(0.5)
    undo, count = tf.Variable(False), tf.Variable(0)
    checkpoint = tf.train.Checkpoint(rate=rate, count=count)

    def step() -> dict[str, Any]:
        count.assign_add(1)
        if undo:
            rate.assign(0.5)
            undo.assign(False)
        return {"loss": 1.0}

    run = nbtrain.train(step, hyperparameters={"rate": rate}, checkpoint=checkpoint)
    applied(run.save())
    for command in (Set({"rate": 2.0}), Restore()):
        applied(run.set(rate=4.0))
        undo.assign(True)
        reached(run, lambda run: "after the edit" in str(run.status.message))
        applied(run.post(command))
        assert run.status.message is None
    run.request_stop()
    run.wait(SOON)


# --- the factor on what a callback sets -------------------------------------------


@pytest.mark.parametrize("schedule", [falling, lambda _epoch, rate: rate / 2])
def test_a_factor_lasts_over_the_epochs_of_a_scheduler(schedule: Any) -> None:
    edit = SetAt(STEPS + 5, learning_rate_factor=0.5)
    trained = model(0.2 if schedule is not falling else 0.1)
    run = fitted(4, scheduler(schedule), edit, trained=trained).wait(SOON)
    assert applied(edit.receipts[0]).text == "learning_rate_factor 1 → 0.5"
    points = curve(run, RATE)
    assert {(17, 0.05), (17, 0.025)} <= {*points}
    assert [value for step, value in points if step == 2 * STEPS][-1] == 0.0125
    assert run.hyperparameters["learning_rate"] == pytest.approx(0.1 / 16)
    assert run.hyperparameters["learning_rate_factor"] == 0.5
    assert run.status.message is None
    assert not lines(run, "undone")


def test_a_factor_is_saved_and_restored_with_the_rate() -> None:
    edit = SetAt(2, learning_rate_factor=0.5)
    fitted(1, scheduler(), edit, name="kept").wait(SOON)
    run = fitted(2, scheduler(), name="kept").wait(SOON)
    assert run.hyperparameters["learning_rate_factor"] == 0.5
    assert run.hyperparameters["learning_rate"] == 0.025


def test_under_a_factor_the_curve_has_the_rates_that_were_used() -> None:
    edit = SetAt(5, learning_rate_factor=0.5)
    run = fitted(3, scheduler(lambda _epoch: 0.1), edit).wait(SOON)
    assert curve(run, RATE) == [(0, 0.1), (5, 0.1), (5, 0.05), (3 * STEPS, 0.05)]


def test_an_edit_that_is_undone_under_a_factor_is_told() -> None:
    factor, edit = SetAt(3, learning_rate_factor=0.5), SetAt(5, learning_rate=0.02)
    run = fitted(2, scheduler(), factor, edit).wait(SOON)
    assert undone(run).text == (
        "the program has set learning_rate 0.02 → 0.025, after the edit of step 5."
    )


def test_rate_and_factor_are_set_together_and_the_rate_is_as_given() -> None:
    edit = SetAt(5, learning_rate=0.01, learning_rate_factor=0.5)
    run = fitted(2, scheduler(lambda _epoch: 0.1), edit).wait(SOON)
    assert applied(edit.receipts[0]).text.startswith(
        "learning_rate 0.1 → 0.01, learning_rate_factor 1 → 0.5"
    )
    assert curve(run, RATE) == [
        *[(0, 0.1), (5, 0.1), (5, 0.01), (STEPS, 0.01), (STEPS, 0.05), (2 * STEPS, 0.05)]
    ]


def test_without_a_scheduler_there_is_no_factor() -> None:
    run = fitted(1).wait(SOON)
    assert "learning_rate_factor" not in run.hyperparameters


# --- the rate under a schedule ----------------------------------------------------


def scheduled(steps: int, **options: Any) -> Run:
    """A step whose optimizer has a schedule, that halves the rate of 0.5 at each."""
    optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5))
    weight = keras.Variable(0.0)
    optimizer.build([weight])

    def step() -> dict[str, Any]:
        optimizer.apply_gradients([(tf.constant(1.0), weight)])
        return {"weight": float(weight.value)}

    return nbtrain.train(step, steps=steps, hyperparameters=optimizer, **options)


def test_under_a_schedule_the_rate_itself_is_recorded_and_shown_beside_its_factor() -> None:
    run = scheduled(6, start=False)
    receipt = run.post(Set({"learning_rate_factor": 4.0}), at=2)
    run.start().wait(SOON)
    assert applied(receipt).text == "learning_rate_factor 1 → 4"
    points = curve(run, RATE)
    assert points[0] == (0, 0.5)
    assert points[-1] == (6, 4 * 0.5**7)
    assert {(2, 0.125), (2, 0.5), (3, 0.25), (5, 0.0625)} <= {*points}
    (factor,) = run.status.hyperparameters
    assert str(factor) == "learning_rate_factor 4 (rate 0.0312)"
    assert fields(run.status)["rates"] == ["0.03125"]
    used = run.scalars["weight"].values
    assert used[1] - used[2] == 0.5, "as the step after the edit was done"


def test_the_curve_of_a_rate_leads_over_no_step_that_a_restore_has_left_out() -> None:
    calls: list[int] = []
    marked = threading.Event()
    optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5))
    weight = keras.Variable(0.0)
    optimizer.build([weight])

    def step() -> dict[str, Any]:
        calls.append(run.status.step)
        optimizer.apply_gradients([(tf.constant(1.0), weight)])
        if len(calls) in (20, 22):
            run.post(Restore(10 if len(calls) == 20 else 20))
        if len(calls) == 24:
            marked.set()
        return {"weight": float(weight.value)}

    run = nbtrain.train(
        step,
        steps=25,
        hyperparameters=optimizer,
        checkpoint=tf.train.Checkpoint(optimizer=optimizer, weight=weight),
        save_steps=10,
        keep=None,
        start=False,
    )
    run.on_tick(lambda: marked.wait(SOON))  # the marks wait for the monitor
    run.start().wait(SOON)
    assert calls == [*range(20), 10, 11, *range(20, 25)]
    curves = [each for each in run.scalars.curves() if each.tag == RATE and each.segment]
    assert [each.buckets.steps.tolist() for each in curves if len(each.buckets.steps)] == [
        [10],
        [20, 21, 22, 23, 24, 25],
    ]


def test_a_schedule_that_cannot_be_computed_is_told_and_the_training_goes_on() -> None:
    class Odd(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            if not isinstance(step, (keras.Variable, tf.Variable)):
                raise TypeError("give the variable")
            return 0.5

    optimizer = keras.optimizers.SGD(Odd())
    run = nbtrain.train(lambda: {"loss": 1.0}, steps=3, hyperparameters=optimizer).wait(SOON)
    assert run.status.step == 3
    assert run.status.message == (
        "The rate under learning_rate_factor cannot be computed: give the variable"
    )
    assert RATE not in run.scalars
