"""The loop's two calls, `should_stop` and `record`: quick, and the same as the long way."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.run.run import Run
from tests.gate import Gate
from tests.models import Counter, applied


def recorded(run: Run) -> dict[str, list[tuple[int, float]]]:
    """Step and value of every point, by tag."""
    run.wait()
    return {
        tag: list(zip(points.steps.tolist(), points.values.tolist(), strict=True))
        for tag, points in ((tag, run.scalars[tag]) for tag in run.scalars)
    }


def trained(steps: int, record: Any) -> dict[str, list[tuple[int, float]]]:
    """Returns the records of a loop that calls `record(run, step)` at each step."""

    def loop(run: Run) -> None:
        step = 0
        while not run.should_stop():
            step += 1
            record(run, step)

    run: Run = nbtrain.background(loop, name="own", steps=steps)
    return recorded(run)


def test_every_step_has_its_own_values_by_keyword_and_by_mapping() -> None:
    rows = [(step, float(step)) for step in range(1, 21)]
    assert trained(20, lambda run, step: run.record(loss=step)) == {"loss": rows}
    assert trained(20, lambda run, step: run.record({"loss": step})) == {"loss": rows}


def test_values_follow_their_tags_whatever_the_order_in_which_they_come() -> None:
    def record(run: Run, step: int) -> None:
        run.record({"a": step, "b": -step} if step % 2 else {"b": -step, "a": step})

    assert trained(6, record) == {
        "a": [(step, float(step)) for step in range(1, 7)],
        "b": [(step, float(-step)) for step in range(1, 7)],
    }


def test_a_mapping_that_is_used_again_is_recorded_as_it_was() -> None:
    logs: dict[str, float] = {}

    def record(run: Run, step: int) -> None:
        logs["loss"] = step
        run.record(logs)
        logs["loss"] = -1.0

    assert trained(5, record) == {"loss": [(step, float(step)) for step in range(1, 6)]}


def test_two_calls_in_a_step_are_one_record_and_the_later_value_counts() -> None:
    def record(run: Run, step: int) -> None:
        run.record(loss=-1.0, accuracy=0.5)
        run.record({"loss": step}, rate=0.1)

    assert trained(4, record) == {
        "loss": [(step, float(step)) for step in range(1, 5)],
        "accuracy": [(step, 0.5) for step in range(1, 5)],
        "rate": [(step, 0.1) for step in range(1, 5)],
    }


def test_a_step_that_records_nothing_is_counted() -> None:
    def record(run: Run, step: int) -> None:
        if step % 3 == 0:
            run.record(loss=step)

    assert trained(9, record) == {"loss": [(3, 3.0), (6, 6.0), (9, 9.0)]}


def test_a_variable_is_recorded_as_the_number_that_it_was() -> None:
    variable, array = tf.Variable(0.0), np.zeros(())

    def record(run: Run, step: int) -> None:
        variable.assign(float(step))
        array[()] = -step
        run.record(loss=variable, array=array)

    found = trained(5, record)
    assert found["loss"] == [(step, float(step)) for step in range(1, 6)]
    assert found["array"] == [(step, float(-step)) for step in range(1, 6)]


def test_a_new_tag_that_is_no_scalar_is_refused_in_the_line_that_records_it() -> None:
    def record(run: Run, step: int) -> None:
        if step < 3:
            run.record(loss=step)
        else:
            with pytest.raises(ArgumentError, match="'image' has the shape"):
                run.record(loss=step, image=tf.zeros([2, 2]))

    assert trained(4, record) == {"loss": [(1, 1.0), (2, 2.0)]}


def test_only_the_training_thread_records_and_others_only_ask() -> None:
    asked: list[object] = []

    def record(run: Run, step: int) -> None:
        def other() -> None:
            asked.append(run.should_stop())
            try:
                run.record(loss=-1.0)
            except ArgumentError as error:
                asked.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        run.record(loss=step)

    assert trained(2, record) == {"loss": [(1, 1.0), (2, 2.0)]}
    assert asked[0] is asked[2] is False
    assert "another thread than its training thread" in str(asked[1])


def test_a_loop_faster_than_its_records_are_taken_thins_them_and_counts_each_step() -> None:
    def loop(run: Run) -> None:
        # The queue of this run holds eight records.
        queue = run.attempt.context.recorder.queue
        run.attempt.boundary.steps.most_items = queue.most_items = 32
        with run.attempt.context.monitor._recorder._draining:
            for step in range(1, 101):
                assert not run.should_stop()
                run.record(loss=step)

    run: Run = nbtrain.background(loop, name="burst")
    points = recorded(run)["loss"]
    assert run.status.step == 100
    assert points[0] == (1, 1.0)
    assert points[-1] == (100, 100.0)
    assert all(step == value for step, value in points)
    assert len(points) < 100


def test_a_command_is_heard_at_the_very_next_boundary(gate: Gate) -> None:
    def loop(run: Run) -> None:
        while not run.should_stop():
            gate()
            run.record(loss=1.0)

    run: Run = nbtrain.background(loop, name="heard")
    gate.allow(5)
    gate.wait_for_arrivals(6)
    receipt = run.pause()
    gate.allow(1)
    assert applied(receipt).step == 6
    run.request_stop()
    gate.open()
    run.wait()


def test_a_step_that_the_end_of_the_data_interrupts_does_not_count() -> None:
    counter, batches = Counter(), iter(range(3))

    def step() -> dict[str, Any]:
        nbtrain.runs()["data"].record(rate=0.1)
        next(batches)
        return counter.step()

    run: Run = nbtrain.train(step, checkpoint=counter.checkpoint, name="data", start=False)
    assert recorded(run.start()) == {
        "rate": [(1, 0.1), (2, 0.1), (3, 0.1)],
        "count": [(1, 1.0), (2, 2.0), (3, 3.0)],
    }
    assert run.status.step == 3
    assert [held.step for held in run.checkpoints] == [3]


def test_a_step_function_that_asks_only_learns_if_a_stop_was_requested() -> None:
    counter, asked = Counter(), []

    def step() -> dict[str, Any]:
        run = nbtrain.runs()["asks"]
        values = counter.step()
        if counter.count == 2:
            run.save()
        asked.append(run.should_stop())
        if counter.count == 4:
            run.request_stop()
            asked.append(run.should_stop())
        return values

    run: Run = nbtrain.train(step, checkpoint=counter.checkpoint, name="asks", start=False)
    assert recorded(run.start()) == {"count": [(step, float(step)) for step in range(1, 5)]}
    assert asked == [False] * 4 + [True]
    assert run.status.step == 4
    assert [held.step for held in run.checkpoints] == [2, 4]
