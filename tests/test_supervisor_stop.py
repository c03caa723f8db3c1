"""Stops of a supervised training: before it, while it is prepared, in it, and twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from tests.gate import SOON
from tests.supervised import (
    Background,
    Counting,
    checkpoints,
    eventually,
    fail,
    held,
    in_background,
    kinds,
)

v1 = tf.compat.v1


def test_a_stop_before_the_session_is_heard(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path)
    sv.request_stop()
    with sv.managed_session():
        assert sv.should_stop()
    with sv.managed_session():
        assert not sv.should_stop(), "one request stops one session"


def test_an_error_given_before_the_session_is_raised() -> None:
    sv = Counting().supervisor(None)
    try:
        fail()
    except ValueError as error:
        sv.request_stop(error)
    with pytest.raises(ValueError, match="of the thread"), sv.managed_session():
        pass


def test_a_stop_between_two_sessions_is_heard() -> None:
    sv = Counting().supervisor(None)
    with sv.managed_session():
        pass
    sv.request_stop()
    with sv.managed_session():
        assert sv.should_stop()


def test_a_stop_while_the_session_is_prepared_is_heard() -> None:
    def init(_sess: Any) -> None:
        sv.request_stop()

    sv: nbtrain.Supervisor = Counting().supervisor(None, init_fn=init)
    with sv.managed_session():
        assert sv.should_stop()


def test_a_stop_that_was_joined_does_not_stop_the_next_session() -> None:
    sv = Counting().supervisor(None)
    with sv.prepare_or_wait_for_session():
        sv.request_stop()
        sv.coord.join()
    with sv.prepare_or_wait_for_session():
        assert not sv.should_stop()
    sv.stop()


def test_an_error_after_a_stop_is_raised_and_does_not_stop_the_next_session() -> None:
    sv = Counting().supervisor(None)

    def use() -> None:
        with sv.managed_session():
            sv.stop()
            fail()

    with pytest.raises(ValueError, match="of the thread"):
        in_background(use)
    with sv.managed_session():
        assert not sv.should_stop()


def test_a_session_may_be_prepared_anew_after_an_error_of_a_service() -> None:
    sv = Counting().supervisor(None)
    with sv.prepare_or_wait_for_session():
        sv.loop(600, fail)
        sv.wait_for_stop()
    with sv.prepare_or_wait_for_session():
        assert not sv.should_stop()
        sv.stop()


def test_a_stop_from_another_thread_ends_the_loop() -> None:
    count, training = Counting(), threading.Event()
    sv = count.supervisor(None)

    def use() -> None:
        with sv.managed_session() as sess:
            while not sv.should_stop():
                sess.run(count.train_op)
                training.set()

    background = Background(use)
    assert training.wait(SOON)
    sv.request_stop()
    background.result()


def test_a_stop_by_another_thread_saves_between_two_calls(tmp_path: Path) -> None:
    count, training = Counting(), threading.Event()
    sv = count.supervisor(tmp_path, save_model_steps=10**9)

    def use() -> None:
        with sv.prepare_or_wait_for_session() as sess:
            while not sv.should_stop():
                sess.run(count.train_op)
                training.set()
            eventually(lambda: checkpoints(tmp_path))

    background = Background(use)
    assert training.wait(SOON)
    sv.stop()
    background.result()
    (step,) = checkpoints(tmp_path)
    assert (held(tmp_path, step), held(tmp_path, step, "weight")) == (step, 2.0 * step)


def test_a_stop_does_not_wait_for_ever_for_a_training_thread_that_is_blocked(
    tmp_path: Path,
) -> None:
    count, held = Counting(), threading.Event()
    with count.graph.as_default():
        blocked = tf.compat.v1.py_func(held.wait, [], tf.bool)
    sv = count.supervisor(tmp_path, save_model_secs=0.02, stop_grace_secs=0.2)
    prepared: list[Any] = []

    def use() -> None:
        prepared.append(sv.prepare_or_wait_for_session())
        prepared[0].run(blocked)

    background = Background(use)
    # What waits for its turn tells that the training thread is in its call.
    eventually(lambda: sv._turns is not None and sv._turns._waiting)
    sv.stop()
    assert kinds(tmp_path)[-1] == "STOP"
    held.set()
    background.result()
    prepared[0].close()


def test_a_session_that_the_program_closed_first_is_stopped_in_peace(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=1000)
    sess = sv.prepare_or_wait_for_session()
    sess.run(count.train_op)
    sess.close()
    sv.stop()
    assert kinds(tmp_path)[-1] == "STOP"


def test_it_may_be_stopped_twice(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=1000)
    with sv.managed_session() as sess:
        sess.run(count.train_op)
        sv.stop()
        assert checkpoints(tmp_path) == [1]
        assert sess.run(count.global_step) == 1, "a stop closes no session"
    assert kinds(tmp_path).count("STOP") == 1


def test_a_session_that_does_not_close_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtrain.engines.turns.SERVER_SECS", 0.05)
    count, closed = Counting(), threading.Event()
    sv = count.supervisor(tmp_path, save_model_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            close = sess.close
            sess.close = lambda: closed.wait(SOON) and close()
            sess.run(count.train_op)

    in_background(use)
    assert not closed.is_set()
    closed.set()
    assert checkpoints(tmp_path)[-1] == 1
