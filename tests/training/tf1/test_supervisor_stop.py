"""Stops of a supervised training: before it, while it is prepared, in it, and twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from tests.gate import SOON, eventually
from tests.supervised import (
    Background,
    Counting,
    checkpoints,
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


def test_a_session_can_be_prepared_again_after_an_error_of_a_service() -> None:
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
    count, training, stopped = Counting(), threading.Event(), threading.Event()
    sv = count.supervisor(tmp_path, save_model_steps=10**9)

    def use() -> None:
        with sv.prepare_or_wait_for_session() as sess:
            while not sv.should_stop():
                sess.run(count.train_op)
                training.set()
            assert stopped.wait(SOON)  # the stop saves in this session

    background = Background(use)
    assert training.wait(SOON)
    sv.stop()
    stopped.set()
    background.result()
    (step,) = checkpoints(tmp_path)
    assert (held(tmp_path, step), held(tmp_path, step, "weight")) == (step, 2.0 * step)


def test_a_stop_does_not_wait_for_ever_for_a_training_thread_that_is_blocked_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
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
    # A waiter for its turn tells that the training thread is in its call.
    eventually(lambda: sv._mutex is not None and sv._mutex._waiting)
    sv.stop()
    assert kinds(tmp_path)[-1] == "STOP"
    assert "The last checkpoint and summary were not written: the training thread" in caplog.text
    held.set()
    background.result()
    prepared[0].close()


@pytest.mark.parametrize("every", [1000, None], ids=["saves", "saves nothing"])
def test_a_session_that_the_program_closed_first_is_stopped_and_what_is_lost_is_told(
    every: int | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=every)
    with sv.managed_session() as sess:
        sess.run(count.train_op)
        sess.close()
    assert kinds(tmp_path)[-1] == "STOP"
    told = "The last checkpoint was not saved: the session was closed before" in caplog.text
    assert told is bool(every)


def test_a_supervisor_can_be_stopped_twice(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=1000)
    with sv.managed_session() as sess:
        sess.run(count.train_op)
        sv.stop()
        assert checkpoints(tmp_path) == [1]
        assert sess.run(count.global_step) == 1, "a stop closes no session"
    assert kinds(tmp_path).count("STOP") == 1


def test_a_stop_of_the_run_ends_the_wait_for_the_chief() -> None:
    count = Counting.__new__(Counting)
    count.graph = tf.Graph()
    with count.graph.as_default(), v1.device("/cpu:0"):
        v1.train.get_or_create_global_step()
    sv = count.supervisor(None, is_chief=False, recovery_wait_secs=3600)
    asked = threading.Event()
    wait_once = v1.train.SessionManager.wait_for_session

    def wait(*args: Any, **kwargs: Any) -> Any:
        asked.set()
        return wait_once(*args, **kwargs)

    def loop(_run: nbtrain.Run) -> None:
        with sv.managed_session():
            raise AssertionError("there is no session")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(v1.train.SessionManager, "wait_for_session", wait)
        run = nbtrain.background(loop)
        assert asked.wait(SOON)
        run.request_stop()
        assert run.wait(SOON).status.phase is Phase.STOPPED


def test_a_stop_of_the_run_is_heard_in_a_loop_over_a_prepared_session() -> None:
    count = Counting()
    sv, trains = count.supervisor(None), threading.Event()

    def loop(_run: nbtrain.Run) -> None:
        sess = sv.prepare_or_wait_for_session()
        while not sv.should_stop():
            sess.run(count.train_op)
            trains.set()
        sv.stop()
        sess.close()

    run = nbtrain.background(loop)
    assert trains.wait(SOON)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED


def test_a_run_that_was_stopped_leaves_a_supervisor_that_stopped_before_alone() -> None:
    count = Counting()
    sv, stopped = count.supervisor(None), threading.Event()

    def loop(run: nbtrain.Run) -> None:
        sv.prepare_or_wait_for_session().close()
        sv.stop()
        stopped.set()
        while not run.should_stop():
            pass

    run = nbtrain.background(loop)
    assert stopped.wait(SOON)
    run.request_stop()
    run.wait(SOON)
    with sv.managed_session() as sess:
        assert not sv.should_stop()
        assert sess.run(count.global_step) == 0


def test_a_second_session_in_the_loop_of_a_run_is_told_to_wait(tmp_path: Path) -> None:
    both = [Counting().supervisor(tmp_path / name) for name in ("first", "second")]

    def loop(_run: nbtrain.Run) -> None:
        with both[0].managed_session(), both[1].managed_session():
            raise AssertionError("a run saves one session")

    with pytest.raises(ArgumentError, match="another session that its loop has open"):
        nbtrain.background(loop).wait(SOON)
