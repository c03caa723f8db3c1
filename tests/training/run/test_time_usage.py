"""The time of a run by kind, without guesses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.run.beside.resource_usage import ResourceUsage, gpu_memory, memory_limit
from nbtrain.run.beside.time_usage import EVALUATE, LOOP, PAUSED, SAVE, DrawTimes, TimeUsage
from nbtrain.run.run import Run
from tests.fitted import X, Y, classifier
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


def test_time_spent_outside_the_loop_is_counted_by_its_kind(
    time_usage: TimeUsage, clock: Clock
) -> None:
    time_usage.begin()
    clock.pass_by(6)
    with time_usage.during(SAVE):
        clock.pass_by(3)
    clock.pass_by(1)
    time_usage.update()
    assert time_usage.seconds == {"step and input": 7, "save": 3}


def test_nested_times_are_counted_once(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    with time_usage.during(PAUSED):
        clock.pass_by(5)
        with time_usage.during(EVALUATE):
            clock.pass_by(2)
        clock.pass_by(1)
    time_usage.update()
    assert time_usage.seconds == {"paused": 6, "evaluate": 2}


def test_an_error_inside_ends_its_time_too(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    with contextlib.suppress(OSError), time_usage.during(SAVE):
        clock.pass_by(2)
        raise OSError("disk full")
    clock.pass_by(3)
    time_usage.update()
    assert time_usage.seconds == {"step and input": 3, "save": 2}


def test_a_long_wait_is_seen_before_it_is_over(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    time_usage.update()
    assert time_usage.switch_to(EVALUATE) == LOOP
    clock.pass_by(4)
    time_usage.update()
    assert time_usage.seconds == {"evaluate": 4}
    assert time_usage.shares == {"evaluate": 1}


def test_nothing_counts_before_the_first_step_and_after_the_end(
    time_usage: TimeUsage, clock: Clock
) -> None:
    with time_usage.during(SAVE):
        clock.pass_by(50)
    time_usage.update()
    assert (time_usage.seconds, time_usage.shares) == ({}, {})
    time_usage.begin()
    clock.pass_by(1)
    time_usage.end()
    clock.pass_by(50)
    with time_usage.during(SAVE):
        clock.pass_by(50)
    time_usage.update(whole=True)
    assert time_usage.seconds == {"step and input": 1}


def test_shares_are_of_the_last_looks_and_at_the_end_of_all(
    time_usage: TimeUsage, clock: Clock
) -> None:
    time_usage.begin()
    with time_usage.during(SAVE):
        clock.pass_by(30)
    time_usage.update()
    assert time_usage.shares == {}  # one look tells of no time between two
    for _ in range(5):
        clock.pass_by(1)
        time_usage.update()
    assert time_usage.shares == {"step and input": 1}
    with time_usage.during(SAVE):
        clock.pass_by(5)
    time_usage.update()
    assert time_usage.shares == {"step and input": 0.5, "save": 0.5}
    time_usage.end()
    time_usage.update(whole=True)
    assert time_usage.shares == {"step and input": 5 / 40, "save": 35 / 40}


def test_input_is_told_from_the_step_where_it_was_measured(
    time_usage: TimeUsage, clock: Clock
) -> None:
    def slowly() -> Iterator[int]:
        for number in range(3):
            clock.pass_by(2)
            yield number

    time_usage.waits = draws = DrawTimes(slowly(), clock)
    time_usage.begin()
    for _ in draws:
        clock.pass_by(1)
    time_usage.update()
    assert time_usage.seconds == {"step": 3, "input": 6}


def drawn(clock: Clock, secs: float) -> DrawTimes:
    """Draws that each take some seconds."""

    def slowly() -> Iterator[int]:
        while True:
            clock.pass_by(secs)
            yield 1

    return DrawTimes(slowly(), clock)


def test_the_input_of_each_loop_counts(time_usage: TimeUsage, clock: Clock) -> None:
    time_usage.begin()
    for _ in range(3):  # a tracked loop in another begins anew in each turn
        time_usage.waits = draws = drawn(clock, 2)
        next(draws)
        clock.pass_by(1)
    time_usage.update()
    assert time_usage.seconds == {"step": 3, "input": 6}


def test_a_question_and_what_it_draws_are_counted_apart(
    time_usage: TimeUsage, clock: Clock
) -> None:
    time_usage.begin()
    time_usage.waits = draws = drawn(clock, 2)
    next(draws)
    with time_usage.asked():
        next(draws)
        time_usage.update()
        assert time_usage.seconds == {"input": 2, "questions": 2}
    next(draws)
    time_usage.update()
    assert time_usage.seconds == {"input": 4, "questions": 2}


def test_a_draw_that_lasts_is_input_before_it_is_over(time_usage: TimeUsage, clock: Clock) -> None:
    seen: dict[str, float] = {}

    def stalled() -> Iterator[int]:
        clock.pass_by(8)
        time_usage.update()
        seen.update(time_usage.seconds)
        yield 1

    time_usage.waits = draws = DrawTimes(stalled(), clock)
    time_usage.begin()
    next(draws)
    time_usage.update()
    assert seen == time_usage.seconds == {"input": 8}


def test_a_draw_that_fails_is_counted_and_fails(clock: Clock) -> None:
    def torn() -> Iterator[int]:
        clock.pass_by(8)
        raise OSError("torn")
        yield 1

    draws = DrawTimes(torn(), clock)
    with pytest.raises(OSError, match="torn"):
        next(draws)
    clock.pass_by(1)
    assert draws() == 8


def test_usage_is_of_a_core_and_looked_at_once_a_second(
    time_usage: TimeUsage, clock: Clock
) -> None:
    cpu = Clock()
    meter = ResourceUsage(time_usage, clock=clock, cpu_clock=cpu)
    time_usage.begin()
    meter.measure(Phase.RUNNING)
    assert meter.usage is None
    meter.beside(0.02)
    cpu.pass_by(3)
    clock.pass_by(0.9)
    meter.measure(Phase.RUNNING)
    assert meter.usage is None
    clock.pass_by(1.1)
    meter.measure(Phase.RUNNING)
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


def test_a_fit_tells_its_validation_but_not_its_steps_from_input(tmp_path: Path) -> None:
    run = nbtrain.fit(classifier(), X, Y, epochs=1, validation_data=(X, Y), logdir=tmp_path / "run")
    usage = run.wait(SOON).status.usage
    assert usage is not None
    assert {"step and input", "evaluate"} <= set(usage.seconds)
    assert not {"step", "input"} & set(usage.seconds)


def test_a_validation_of_the_users_own_fit_is_reported(tmp_path: Path) -> None:
    model = classifier()

    @nbtrain.background(logdir=tmp_path / "run")
    def own(run: Run) -> None:
        callbacks = [nbtrain.RunCallback(run)]
        model.fit(X, Y, epochs=1, verbose=0, validation_data=(X, Y), callbacks=callbacks)

    usage = own.wait(SOON).status.usage
    assert "evaluate" in usage.seconds
    assert "step and input" in usage.seconds
