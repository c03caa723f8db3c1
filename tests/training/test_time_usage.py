"""Where the time goes: what is counted as what, and what is never guessed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.engines.keras.input import InputWaits
from nbtrain.engines.keras.loss import BatchLoss
from nbtrain.run.resource_usage import ResourceUsage, gpu_memory, memory_limit
from nbtrain.run.run import Run
from nbtrain.run.time_usage import EVALUATE, LOOP, PAUSED, SAVE, Draws, TimeUsage
from tests.fitted import BATCH, COLUMNS, X, Y, classifier
from tests.gate import SOON
from tests.models import reached


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, secs: float) -> None:
        self.now += secs


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def time_usage(clock: Clock) -> TimeUsage:
    return TimeUsage(clock)


def test_what_is_done_besides_the_loop_is_counted_where_it_is_done(
    time_usage: TimeUsage, clock: Clock
) -> None:
    time_usage.begin()
    clock.pass_by(6)
    with time_usage.during(SAVE):
        clock.pass_by(3)
    clock.pass_by(1)
    time_usage.look()
    assert time_usage.seconds == {"step and input": 7, "save": 3}


def test_what_is_inside_another_is_counted_once(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    with time_usage.during(PAUSED):
        clock.pass_by(5)
        with time_usage.during(EVALUATE):
            clock.pass_by(2)
        clock.pass_by(1)
    time_usage.look()
    assert time_usage.seconds == {"paused": 6, "evaluate": 2}


def test_an_error_inside_ends_its_time_too(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    with contextlib.suppress(OSError), time_usage.during(SAVE):
        clock.pass_by(2)
        raise OSError("disk full")
    clock.pass_by(3)
    time_usage.look()
    assert time_usage.seconds == {"step and input": 3, "save": 2}


def test_what_lasts_is_seen_before_it_is_over(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    time_usage.look()
    assert time_usage.turn_to(EVALUATE) == LOOP
    clock.pass_by(4)
    time_usage.look()
    assert time_usage.seconds == {"evaluate": 4}
    assert time_usage.shares == {"evaluate": 1}


def test_nothing_counts_before_the_first_step_and_after_the_end(
    time_usage: TimeUsage, clock: Clock
) -> None:
    with time_usage.during(SAVE):
        clock.pass_by(50)
    time_usage.look()
    assert (time_usage.seconds, time_usage.shares) == ({}, {})
    time_usage.begin()
    clock.pass_by(1)
    time_usage.end()
    clock.pass_by(50)
    with time_usage.during(SAVE):
        clock.pass_by(50)
    time_usage.look(whole=True)
    assert time_usage.seconds == {"step and input": 1}


def test_shares_are_of_the_last_looks_and_at_the_end_of_all(
    time_usage: TimeUsage, clock: Clock
) -> None:
    time_usage.begin()
    with time_usage.during(SAVE):
        clock.pass_by(30)
    time_usage.look()
    assert time_usage.shares == {}  # one look tells of no time between two
    for _ in range(5):
        clock.pass_by(1)
        time_usage.look()
    assert time_usage.shares == {"step and input": 1}
    with time_usage.during(SAVE):
        clock.pass_by(5)
    time_usage.look()
    assert time_usage.shares == {"step and input": 0.5, "save": 0.5}
    time_usage.end()
    time_usage.look(whole=True)
    assert time_usage.shares == {"step and input": 5 / 40, "save": 35 / 40}


def test_input_is_told_from_the_step_where_it_was_measured(
    time_usage: TimeUsage, clock: Clock
) -> None:
    def slowly() -> Iterator[int]:
        for number in range(3):
            clock.pass_by(2)
            yield number

    time_usage.waits = draws = Draws(slowly(), clock)
    time_usage.begin()
    for _ in draws:
        clock.pass_by(1)
    time_usage.look()
    assert time_usage.seconds == {"step": 3, "input": 6}


def test_a_draw_that_lasts_is_input_before_it_is_over(time_usage: TimeUsage, clock: Clock) -> None:
    seen: dict[str, float] = {}

    def stalled() -> Iterator[int]:
        clock.pass_by(8)
        time_usage.look()
        seen.update(time_usage.seconds)
        yield 1

    time_usage.waits = draws = Draws(stalled(), clock)
    time_usage.begin()
    next(draws)
    time_usage.look()
    assert seen == time_usage.seconds == {"input": 8}


def test_a_draw_that_fails_is_counted_and_fails(clock: Clock) -> None:
    def torn() -> Iterator[int]:
        clock.pass_by(8)
        raise OSError("torn")
        yield 1

    draws = Draws(torn(), clock)
    with pytest.raises(OSError, match="torn"):
        next(draws)
    clock.pass_by(1)
    assert draws(9) == 8
    assert draws(0) == 0


def test_what_turns_out_later_to_be_input_is_taken_from_the_steps(
    time_usage: TimeUsage, clock: Clock
) -> None:
    told = [0.0, 3.0]
    time_usage.waits = lambda _secs: told.pop(0)
    time_usage.begin()
    clock.pass_by(2)
    time_usage.look()
    assert time_usage.seconds == {"step": 2}
    clock.pass_by(2)
    time_usage.look()
    assert time_usage.seconds == {"step": 1, "input": 3}
    assert time_usage.shares == {"input": 1}


def test_usage_is_of_a_core_and_looked_at_once_a_second(
    time_usage: TimeUsage, clock: Clock
) -> None:
    cpu = Clock()
    meter = ResourceUsage(time_usage, clock=clock, cpu_clock=cpu)
    time_usage.begin()
    meter.look(Phase.RUNNING)
    assert meter.usage is None
    meter.beside(0.02)
    cpu.pass_by(3)
    clock.pass_by(0.9)
    meter.look(Phase.RUNNING)
    assert meter.usage is None
    clock.pass_by(1.1)
    meter.look(Phase.RUNNING)
    usage = meter.usage
    assert usage is not None
    assert usage.shares == {"step and input": 1}
    assert usage.cpu == pytest.approx(1.5)
    assert usage.display == pytest.approx(0.01)
    assert 0 < usage.memory < usage.memory_limit == memory_limit()


def test_there_is_no_gpu_memory_without_a_gpu() -> None:
    tf.constant(1.0)  # from here on TensorFlow knows what there is
    if not tf.config.list_physical_devices("GPU"):
        assert gpu_memory() is None


# --- real runs --------------------------------------------------------------------------


def test_a_run_tells_what_its_thread_was_at(tmp_path: Path) -> None:
    run = nbtrain.train(
        lambda: {"loss": 0.5},
        steps=50,
        checkpoint=tf.train.Checkpoint(weight=tf.Variable(1.0)),
        evaluate=lambda: {"loss": 0.25},
        evaluate_steps=10,
        logdir=tmp_path / "run",
        start=False,
    )
    assert run.status.usage is None
    run.start().wait()
    usage = run.status.usage
    assert usage is not None
    assert set(usage.seconds) == {"step and input", "evaluate", "save"}
    assert sum(usage.shares.values()) == pytest.approx(1)


def test_a_pause_and_a_restore_are_told(tmp_path: Path) -> None:
    run = nbtrain.train(
        lambda: {"loss": 0.5},
        checkpoint=tf.train.Checkpoint(weight=tf.Variable(1.0)),
        logdir=tmp_path / "run",
    )
    run.save().wait(SOON)
    run.pause().wait(SOON)
    run.restore().wait(SOON)
    run.request_stop()
    usage = run.wait(SOON).status.usage
    assert usage is not None
    assert {"paused", "restore", "save"} <= set(usage.seconds)


def test_the_speed_of_a_run_that_has_ended_leaves_its_pauses_out(tmp_path: Path) -> None:
    run = nbtrain.train(lambda: {"loss": 0.5}, logdir=tmp_path / "run")
    reached(run, lambda run: run.status.step > 0)
    run.pause().wait(SOON)
    run.request_stop()
    status = run.wait(SOON).status
    assert status.usage is not None
    trained = status.elapsed_s - status.usage.seconds["paused"]
    assert status.steps_per_s == pytest.approx(status.step / trained)


def test_a_fit_tells_its_validation_from_its_steps_and_these_from_input(tmp_path: Path) -> None:
    run = nbtrain.fit(
        classifier(), X, Y, epochs=10_000, validation_data=(X, Y), logdir=tmp_path / "run"
    )
    known = threading.Event()
    untold: list[float] = []  # while the first step is traced

    def look() -> None:
        usage = run.status.usage
        if usage and {"step", "input", "evaluate"} <= set(usage.seconds):
            untold.append(usage.seconds.get("step and input", 0.0))
            known.set()

    run.on_tick(look)
    assert known.wait(SOON)
    run.request_stop()
    usage = run.wait(SOON).status.usage
    assert usage is not None
    assert usage.seconds.get("step and input", 0.0) == untold[0]


def test_a_validation_of_a_fit_of_ones_own_is_told(tmp_path: Path) -> None:
    model = classifier()

    @nbtrain.background(logdir=tmp_path / "run")
    def own(run: Run) -> None:
        callbacks = [nbtrain.RunCallback(run)]
        model.fit(X, Y, epochs=2, verbose=0, validation_data=(X, Y), callbacks=callbacks)

    usage = own.wait(SOON).status.usage
    assert "evaluate" in usage.seconds
    assert {"step", "step and input"} & set(usage.seconds)


# --- the input of a fit -----------------------------------------------------------------


def drawn(iterator: Any, waits: InputWaits, clock: Clock, secs: float, count: int) -> None:
    """So many executions, which begin so many seconds after each other."""
    for _ in range(count):
        waits.begin(iterator)
        next(iterator)
        clock.pass_by(secs)


def test_what_is_no_gap_between_two_draws_is_input(clock: Clock) -> None:
    iterator, waits = iter(tf.data.Dataset.range(1000)), InputWaits(1, clock)
    drawn(iterator, waits, clock, 5.0, 11)  # which have in truth no time between them
    waited = waits(60.0)
    assert waited is not None
    assert 40 < waited <= 50
    assert waits(5.0) == 0  # the last is not over


def test_tracing_the_step_is_no_input(clock: Clock) -> None:
    during: list[float | None] = []

    class Slow(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            clock.pass_by(20.0)  # which only tracing takes
            during.append(loss.waits(20.0))
            clock.pass_by(7.0)
            return super().train_step(data)

    model = Slow([keras.Input((COLUMNS,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    loss = BatchLoss(model)
    loss.waits = InputWaits(1, clock)
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    wrap = keras.callbacks.LambdaCallback(on_train_begin=lambda _logs: loss.wrap())
    model.fit(data, shuffle=False, verbose=0, callbacks=[wrap])
    waited = loss.waits(7.0)
    loss.remove()
    assert during
    assert {*during} == {None}
    assert waited == 0


def test_what_is_gap_between_two_draws_is_no_input(clock: Clock) -> None:
    iterator, waits = iter(tf.data.Dataset.range(1000)), InputWaits(1, clock)
    drawn(iterator, waits, clock, 1e-9, 11)
    assert waits(60.0) == 0


def test_of_many_batches_the_newest_stand_for_all(clock: Clock) -> None:
    iterator, waits = iter(tf.data.Dataset.range(1000)), InputWaits(1, clock)
    drawn(iterator, waits, clock, 5.0, 301)
    waited = waits(1500.0)
    assert waited is not None
    assert 1400 < waited <= 1500
    drawn(iterator, waits, clock, 5.0, 300)
    waited = waits(1500.0)
    assert waited is not None
    assert 1400 < waited <= 1500


def test_a_long_pause_is_no_input(clock: Clock) -> None:
    iterator, waits = iter(tf.data.Dataset.range(1000)), InputWaits(1, clock)
    drawn(iterator, waits, clock, 1e-9, 5)
    waits(1.0)
    clock.pass_by(3600)
    drawn(iterator, waits, clock, 1e-9, 5)
    assert waits(1.0) == 0


def test_the_input_of_an_execution_of_several_batches_is_told(clock: Clock) -> None:
    iterator, waits = iter(tf.data.Dataset.range(1000)), InputWaits(4, clock)
    for _ in range(11):
        waits.begin(iterator)
        for _ in range(4):
            next(iterator)
        clock.pass_by(5.0)
    waited = waits(60.0)
    assert waited is not None
    assert 40 < waited <= 50


def test_a_look_before_the_first_draw_of_an_epoch_changes_nothing(clock: Clock) -> None:
    waits = InputWaits(1, clock)
    for _ in range(2):
        iterator = iter(tf.data.Dataset.range(1000))
        waits.begin(iterator)
        assert waits(0.0) == 0
        next(iterator)
        clock.pass_by(5.0)
        drawn(iterator, waits, clock, 5.0, 10)
        waited = waits(60.0)
        assert waited is not None
        assert 40 < waited <= 55


def test_for_what_cannot_be_told_now_the_next_stands(clock: Clock) -> None:
    iterator, waits = iter(tf.data.Dataset.range(1000)), InputWaits(1, clock)
    next(iterator)
    for _ in range(10):
        waits.begin(iterator)  # and draws nothing: no gap is remembered
        clock.pass_by(5.0)
    assert waits(50.0) == 0
    drawn(iterator, waits, clock, 5.0, 11)
    waited = waits(50.0)
    assert waited is not None
    assert 80 < waited <= 100


def test_at_the_end_of_a_fit_what_was_measured_last_stands_for_the_rest(clock: Clock) -> None:
    waits = InputWaits(1, clock)
    drawn(iter(tf.data.Dataset.range(1000)), waits, clock, 5.0, 11)
    waited = waits(60.0)
    assert waited is not None
    share = waited / 50
    waits.let_go()
    assert waits(1.0) == pytest.approx(share)


def test_of_a_fit_that_ends_before_a_measurement_nothing_is_guessed(clock: Clock) -> None:
    waits = InputWaits(1, clock)
    drawn(iter(tf.data.Dataset.range(1000)), waits, clock, 5.0, 11)
    waits.let_go()
    assert waits(60.0) is None


def test_steps_of_which_no_gap_is_remembered_are_not_guessed(clock: Clock) -> None:
    waits = InputWaits(1, clock)
    once = iter(tf.data.Dataset.range(1000))
    next(once)
    for _ in range(5):
        waits.begin(once)  # and draws nothing
        clock.pass_by(11.0)
    assert waits(55.0) is None


def test_what_tf_data_does_not_measure_is_not_guessed(clock: Clock) -> None:
    options = tf.data.Options()
    options.autotune.enabled = False
    plain, waits = iter(tf.data.Dataset.range(9).with_options(options)), InputWaits(1, clock)
    drawn(plain, waits, clock, 1.0, 5)
    assert waits(5.0) is None
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    shared = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(2)))
    waits = InputWaits(1, clock)
    drawn(shared, waits, clock, 1.0, 3)
    assert waits(3.0) is None
