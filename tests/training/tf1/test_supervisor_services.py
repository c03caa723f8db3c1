"""The Supervisor's event file: its own events, and summaries."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from tests.gate import eventually
from tests.supervised import (
    Counting,
    checkpoints,
    events,
    in_background,
    kind_of,
    kinds,
    points,
    services,
    train_until,
)

v1 = tf.compat.v1


# --- events ----------------------------------------------------------------------


def test_the_event_file_tells_the_graph_the_start_and_the_stop_in_this_order(
    tmp_path: Path,
) -> None:
    count = Counting()
    count.trained(count.supervisor(tmp_path), 3)
    assert kinds(tmp_path) == ["file_version", "graph_def", "meta_graph_def", "START", "STOP"]
    assert (tmp_path / "graph.pbtxt").read_text().count("node {") > 5


def test_checkpoints_and_summaries_stand_between_start_and_stop(tmp_path: Path) -> None:
    count = Counting()
    in_background(
        lambda: count.trained(
            count.supervisor(tmp_path, save_model_secs=600, save_summaries_secs=600), 3
        )
    )
    told = kinds(tmp_path)
    assert told[:4] == ["file_version", "graph_def", "meta_graph_def", "START"]
    assert told[-1] == "STOP"
    assert set(told[4:-1]) == {"CHECKPOINT", "twice"}


def test_start_is_told_at_the_step_that_was_restored(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=600)
    in_background(lambda: count.trained(sv, 3))
    in_background(lambda: count.trained(sv, 2))
    starts = [event.step for event in events(tmp_path) if kind_of(event) == "START"]
    assert starts == [0, 3]


def test_every_session_has_its_graph_in_the_event_file(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path)
    for _ in range(2):
        in_background(lambda: count.trained(sv, 1))
    assert kinds(tmp_path).count("graph_def") == 2
    assert kinds(tmp_path).count("STOP") == 2


def test_a_checkpoint_event_has_the_step_and_the_path(tmp_path: Path) -> None:
    count = Counting()
    count.trained(count.supervisor(tmp_path, save_model_steps=1000), 3)
    (event,) = [event for event in events(tmp_path) if kind_of(event) == "CHECKPOINT"]
    assert event.step == 3
    assert event.session_log.checkpoint_path == str(tmp_path / "model.ckpt")


def test_the_writer_stays_open_if_asked(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path)
    with sv.managed_session(close_summary_writer=False):
        pass
    assert kinds(tmp_path)[-1] != "STOP"
    sv.summary_writer.add_summary(b"", 1)
    sv.summary_writer.close()
    assert kinds(tmp_path)[-1] != "STOP"
    assert len(events(tmp_path)) == 5


def test_the_users_writer_is_written_to(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        writer = v1.summary.FileWriter(str(tmp_path / "own"))
    sv = count.supervisor(tmp_path, summary_writer=writer, save_summaries_secs=600)
    in_background(lambda: count.trained(sv, 1))
    assert "twice" in kinds(tmp_path / "own")
    assert events(tmp_path) == []


def test_without_a_writer_there_are_checkpoints_and_no_events(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, summary_writer=None, save_model_secs=600)
    in_background(lambda: count.trained(sv, 2))
    assert checkpoints(tmp_path)[-1] == 2
    assert events(tmp_path) == []


# --- summaries -------------------------------------------------------------------


def test_a_summary_is_computed_at_once_and_at_the_end(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_summaries_secs=600)
    steps = train_until(count, sv, lambda: points(tmp_path, "twice"))
    first, last = points(tmp_path, "twice")
    assert first[0] <= steps
    assert last == (steps, 2.0 * steps)


@pytest.mark.parametrize("steps", [0, 1])
def test_without_a_global_step_an_equal_last_summary_is_left_out(
    steps: int, tmp_path: Path
) -> None:
    count = Counting("none")
    sv = count.supervisor(tmp_path, save_summaries_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            eventually(lambda: points(tmp_path, "twice"))
            for _ in range(steps):
                sess.run(count.train_op)

    in_background(use)
    assert points(tmp_path, "twice") == [(0, 2.0 * step) for step in range(steps + 1)]


def test_summaries_are_on_disk_while_it_trains(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_summaries_secs=0.02)
    train_until(count, sv, lambda: len(points(tmp_path, "twice")) >= 3)
    steps = [step for step, _ in points(tmp_path, "twice")]
    assert steps == sorted(steps)


def test_a_summary_of_the_programs_own_is_on_disk_without_another_one(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, summary_op=None)
    with count.graph.as_default():
        value = v1.Summary.Value(tag="own", simple_value=1.0)

    def use() -> None:
        with sv.managed_session() as sess:
            sv.summary_computed(sess, v1.Summary(value=[value]), 7)
            eventually(lambda: points(tmp_path, "own") == [(7, 1.0)])

    in_background(use)


def test_summaries_are_computed_by_steps(tmp_path: Path) -> None:
    count = Counting()
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_summaries_steps=4), 10))
    assert points(tmp_path, "twice") == [(4, 8.0), (8, 16.0), (10, 20.0)]


def test_a_training_that_goes_back_is_saved_by_steps_from_there(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        back = count.global_step.assign(0)
    with count.supervisor(tmp_path, save_model_steps=10).managed_session() as sess:
        for _ in range(25):
            sess.run(count.train_op)
        for path in tmp_path.glob("model.ckpt-*"):
            path.unlink()
        sess.run(back)
        for _ in range(28):
            sess.run(count.train_op)
    assert {10, 20, 28} <= set(checkpoints(tmp_path))


def test_no_speed_is_told_before_there_was_an_interval(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_summaries_secs=600)  # the first act comes at once
    train_until(count, sv, lambda: points(tmp_path, "twice"))
    assert points(tmp_path, "global_step/sec") == []


def test_a_speed_is_that_of_the_steps_of_its_interval(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_summaries_secs=0.05)

    def told() -> list[tuple[int, float]]:
        return points(tmp_path, "global_step/sec")

    train_until(count, sv, lambda: any(speed for _, speed in told()))
    for (before, _), (step, speed) in itertools.pairwise(told()):
        # There are none where the machine had other things to do.
        assert (speed > 0.0) is (step > before)
        assert speed < float("inf")


def test_a_summary_op_that_needs_a_feed_is_refused_and_the_session_closed(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        v1.summary.scalar("x", tf.sqrt(x))
    sessions: list[Any] = []
    sv = count.supervisor(tmp_path, save_summaries_secs=1, init_fn=sessions.append)
    with pytest.raises(ArgumentError, match=r"the placeholder 'x'.*pass summary_op=None"):
        in_background(lambda: count.trained(sv, 1))
    assert services() == []
    with pytest.raises(RuntimeError, match="closed Session"):
        sessions[0].run(count.train_op)
    again = count.supervisor(tmp_path, summary_op=None)
    count.trained(again, 1)


def test_a_summary_op_that_needs_a_feed_may_be_left_to_the_program(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        v1.summary.scalar("x", v1.placeholder(tf.float32, []))
    count.trained(count.supervisor(tmp_path, save_summaries_secs=0), 1)


def test_the_last_summary_of_an_exhausted_input_is_left_out(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        x = v1.data.make_one_shot_iterator(tf.data.Dataset.range(5)).get_next()
        v1.summary.scalar("x", x)
        with tf.control_dependencies([x]):
            train_op = count.global_step.assign_add(1)
    sv = count.supervisor(tmp_path, save_summaries_steps=1000, save_model_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            while True:
                sess.run(train_op)

    in_background(use)
    assert checkpoints(tmp_path)[-1] == 5
    assert "x" not in kinds(tmp_path)


def test_a_summary_waits_for_what_the_training_thread_enqueues(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        queue = tf.queue.FIFOQueue(10, tf.float32, shapes=[[]])
        enqueue, close = queue.enqueue(3.0), queue.close()
        v1.summary.scalar("queued", queue.dequeue())
    sv = count.supervisor(tmp_path, save_summaries_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            sess.run(count.train_op)
            sess.run(enqueue)
            eventually(lambda: points(tmp_path, "queued"))
            sess.run(close)

    in_background(use)
    assert [value for _, value in points(tmp_path, "queued")] == [3.0]
