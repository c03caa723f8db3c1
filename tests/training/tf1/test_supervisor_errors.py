"""Errors of a supervised training: which is raised, what is saved, and that the next works."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from tests.gate import SOON
from tests.supervised import (
    Counting,
    checkpoints,
    fail,
    held,
    in_background,
    kinds,
    services,
)

v1 = tf.compat.v1


class EndOfDataError(tf.errors.OutOfRangeError):
    """A program's own."""


def error_of(kind: type[BaseException]) -> BaseException:
    """An error of this kind."""
    return kind(None, None, "by hand") if issubclass(kind, tf.errors.OpError) else kind("by hand")


@contextlib.contextmanager
def all_ends_well(tmp_path: Path) -> Iterator[tuple[Counting, nbtrain.Supervisor, list[Any]]]:
    """Afterwards the session is closed, all is written, and the next session works."""
    count, sessions = Counting(), list[Any]()
    sv = count.supervisor(tmp_path, save_model_secs=600, save_summaries_secs=600)
    yield count, sv, sessions
    assert services() == []
    assert sv.should_stop()
    for sess in sessions:
        with pytest.raises(RuntimeError, match="closed Session"):
            sess.run(count.train_op)
    assert kinds(tmp_path)[-1] == "STOP"
    before = checkpoints(tmp_path)[-1]
    assert held(tmp_path, before) == before
    in_background(lambda: count.trained(sv, 3))
    assert checkpoints(tmp_path)[-1] == before + 3


# --- errors of the body ----------------------------------------------------------


@pytest.mark.parametrize("kind", [tf.errors.OutOfRangeError, EndOfDataError])
def test_the_end_of_the_input_is_a_clean_end(kind: type[BaseException], tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (count, sv, sessions):

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sess.run(count.train_op)
                raise error_of(kind)

        in_background(use)
    assert 1 in checkpoints(tmp_path)


@pytest.mark.parametrize(
    "kind",
    [ValueError, StopIteration, tf.errors.CancelledError, tf.errors.InvalidArgumentError],
)
def test_an_error_of_the_body_is_raised_after_a_last_checkpoint(
    kind: type[BaseException], tmp_path: Path
) -> None:
    with all_ends_well(tmp_path) as (count, sv, sessions):
        error = error_of(kind)

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sess.run(count.train_op)
                raise error

        with pytest.raises(kind) as raised:
            in_background(use)
        assert raised.value is error
        assert checkpoints(tmp_path)[-1] == 1


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_server_is_told_and_nothing_more_is_asked_of_it(
    kind: type[BaseException], tmp_path: Path
) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=1000)

    def use() -> None:
        with sv.managed_session() as sess:
            sess.run(count.train_op)
            raise error_of(kind)

    with pytest.raises(kind, match="by hand"):
        in_background(use)
    assert checkpoints(tmp_path) == []
    assert kinds(tmp_path)[-1] == "STOP"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_it_as_an_error_does(kind: type[BaseException], tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (count, sv, sessions):

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sess.run(count.train_op)
                raise kind

        with pytest.raises(kind):
            in_background(use)
        assert checkpoints(tmp_path)[-1] == 1


def test_an_error_after_a_request_to_stop_is_not_lost(tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (_, sv, sessions):

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sv.request_stop()
                raise ValueError("after the stop")

        with pytest.raises(ValueError, match="after the stop"):
            in_background(use)


class Full(tf.compat.v1.train.Saver):
    """Finds no room on disk."""

    def save(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError("no space left")


def supervisor_without_room(count: Counting, logdir: Path) -> nbtrain.Supervisor:
    """A Supervisor that cannot save its last checkpoint."""
    with count.graph.as_default():
        return count.supervisor(logdir, saver=Full(), save_model_steps=1000)


def test_an_error_of_the_last_checkpoint_is_raised(tmp_path: Path) -> None:
    count = Counting()
    sv = supervisor_without_room(count, tmp_path)
    with pytest.raises(OSError, match="no space left"):
        in_background(lambda: count.trained(sv, 1))
    assert kinds(tmp_path)[-1] == "STOP"


def test_an_error_of_the_last_checkpoint_does_not_hide_the_first(tmp_path: Path) -> None:
    sv = supervisor_without_room(Counting(), tmp_path)

    def use() -> None:
        with sv.managed_session():
            raise ValueError("the first")

    with pytest.raises(ValueError, match="the first"):
        in_background(use)
    assert kinds(tmp_path)[-1] == "STOP"


# --- errors of threads -----------------------------------------------------------


def test_an_error_of_a_looper_stops_the_training_and_is_raised(tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (count, sv, sessions):

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sv.loop(600, fail)
                while not sv.should_stop():
                    sess.run(count.train_op)

        with pytest.raises(ValueError, match="of the thread"):
            in_background(use)


def test_the_first_of_two_errors_is_raised(tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (_, sv, sessions):

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sv.loop(600, fail)
                sv.wait_for_stop()
                raise TypeError("of the body")

        with pytest.raises(ValueError, match="of the thread"):
            in_background(use)


def test_an_error_of_a_service_stops_the_training_and_is_raised(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        v1.summary.scalar("bad", v1.py_func(fail, [], tf.float32))
    sv = count.supervisor(tmp_path, save_summaries_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            while not sv.should_stop():
                sess.run(count.train_op)

    with pytest.raises(tf.errors.InvalidArgumentError, match="of the thread"):
        in_background(use)
    assert services() == []
    assert kinds(tmp_path)[-1] == "STOP"


def test_the_end_of_the_input_in_a_thread_is_a_clean_end(tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (count, sv, sessions):

        def end() -> None:
            raise tf.errors.OutOfRangeError(None, None, "no more")

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                sv.loop(600, end)
                while not sv.should_stop():
                    sess.run(count.train_op)

        in_background(use)


def test_an_exhausted_input_queue_ends_it_cleanly(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        x = v1.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
        with tf.control_dependencies([x]):
            train_op = count.global_step.assign_add(1)
    sv = count.supervisor(tmp_path, save_model_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            while not sv.should_stop():
                sess.run(train_op)

    in_background(use)
    assert checkpoints(tmp_path)[-1] == 6


def test_stop_on_exception_reports_what_its_block_raises(tmp_path: Path) -> None:
    with all_ends_well(tmp_path) as (_, sv, sessions):

        def use() -> None:
            with sv.managed_session() as sess:
                sessions.append(sess)
                with sv.stop_on_exception():
                    fail()
                assert sv.should_stop()

        with pytest.raises(ValueError, match="of the thread"):
            in_background(use)


def test_a_thread_that_does_not_end_is_named(tmp_path: Path) -> None:
    count, never = Counting(), threading.Event()
    sv = count.supervisor(tmp_path, stop_grace_secs=0.1, save_model_steps=1000)
    straggler = threading.Thread(target=never.wait, args=(SOON,), name="the straggler")

    def use() -> None:
        with sv.managed_session() as sess:
            sess.run(count.train_op)
            straggler.start()
            sv.coord.register_thread(straggler)

    with pytest.raises(RuntimeError, match="threads still running: the straggler"):
        in_background(use)
    never.set()
    assert checkpoints(tmp_path) == [1]
    assert kinds(tmp_path)[-1] == "STOP"


def test_a_thread_that_does_not_end_may_be_ignored(tmp_path: Path) -> None:
    count, never = Counting(), threading.Event()
    sv = count.supervisor(tmp_path, stop_grace_secs=0.1)
    straggler = threading.Thread(target=never.wait, args=(SOON,))
    straggler.start()
    with sv.prepare_or_wait_for_session():
        sv.stop([straggler], ignore_live_threads=True)
    never.set()
    assert kinds(tmp_path)[-1] == "STOP"


# --- errors of the preparation ---------------------------------------------------


@pytest.mark.parametrize("kind", [ValueError, tf.errors.OutOfRangeError, KeyboardInterrupt])
def test_an_error_of_the_preparation_is_raised_and_the_writer_closed(
    kind: type[BaseException], tmp_path: Path
) -> None:
    count, errors = Counting(), [error_of(kind)]

    def init(_sess: Any) -> None:
        if errors:
            raise errors.pop()

    sv = count.supervisor(tmp_path, init_fn=init)
    with pytest.raises(kind, match="by hand"):
        in_background(lambda: count.trained(sv, 1))
    assert services() == []
    assert kinds(tmp_path)[-1] == "STOP"
    in_background(lambda: count.trained(sv, 1))
