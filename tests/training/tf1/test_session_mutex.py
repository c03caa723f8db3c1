"""The mutex of a session: nothing is done during a call of the thread that trains."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import tensorflow as tf

from nbtrain.tf1.session_mutex import SessionMutex
from tests.gate import SOON, Gate, eventually
from tests.supervised import Background

v1 = tf.compat.v1


class Gated:
    """A session whose `step` waits at a gate, trained by a thread that owns its mutex."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.order = gate, list[str]()
        graph = tf.Graph()
        with graph.as_default():
            self.step = v1.py_func(self._step, [], [])
            self.other = tf.constant(7.0)
        self.sess = v1.Session(graph=graph)
        self.mutex: SessionMutex
        self._ready = threading.Event()

    def _step(self) -> None:
        self.gate()
        self.order.append("step")

    def trains(self, steps: int) -> Background:
        """Train so many steps in the background."""

        def use() -> None:
            self.mutex = SessionMutex(self.sess)
            self._ready.set()
            for _ in range(steps):
                self.sess.run(self.step)

        background = Background(use)
        assert self._ready.wait(SOON)
        return background

    def take(self, name: str = "taken") -> Background:
        """Take the mutex in another thread, and note it."""
        return Background(lambda: self.mutex.run_between(lambda: self.order.append(name)))

    def waits(self, count: int = 1) -> None:
        """Until so many wait."""
        eventually(lambda: len(self.mutex._waiting) >= count)


def test_a_waiting_function_runs_between_two_calls(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(2)
    gate.wait_for_arrivals()
    waiting = gated.take()
    gated.waits()
    gate.open()
    training.result()
    waiting.result()
    assert gated.order == ["step", "taken", "step"]


def test_all_that_wait_come_in_their_order(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(2)
    gate.wait_for_arrivals()
    for count, name in enumerate("abc", 1):
        gated.take(name)
        gated.waits(count)
    gate.open()
    training.result()
    assert gated.order == ["step", "a", "b", "c", "step"]


def test_a_function_runs_at_once_while_the_owner_is_busy_elsewhere(gate: Gate) -> None:
    gated = Gated(gate)
    gated.trains(0).result()
    gated.take().result()
    assert gated.order == ["taken"]


def test_the_owner_itself_takes_at_once(gate: Gate) -> None:
    gated = Gated(gate)
    mutex = SessionMutex(gated.sess)
    assert mutex.run_between(lambda: mutex.run_between(lambda: 5)) == 5


def test_calls_of_other_threads_pass_while_the_owner_is_in_a_call(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(1)
    gate.wait_for_arrivals()
    assert gated.sess.run(gated.other) == 7.0, "what the owner waits for may be that"
    gate.open()
    training.result()


def test_a_taken_function_may_use_the_session(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(2)
    gate.wait_for_arrivals()
    waiting = Background(lambda: gated.mutex.run_between(lambda: gated.sess.run(gated.other)))
    gated.waits()
    gate.open()
    training.result()
    assert waiting.result() == 7.0


def test_an_error_is_raised_where_the_mutex_was_asked_for(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(2)
    gate.wait_for_arrivals()

    def fail() -> None:
        raise ValueError("taken in vain")

    waiting = Background(lambda: gated.mutex.run_between(fail))
    gated.waits()
    gate.open()
    with pytest.raises(ValueError, match="taken in vain"):
        waiting.result()
    training.result()
    assert gated.order == ["step", "step"]


def test_a_wait_for_the_mutex_may_be_given_up(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(2)
    gate.wait_for_arrivals()
    assert gated.mutex.run_between(lambda: gated.order.append("late"), give_up=lambda: True) is None
    gate.open()
    training.result()
    assert gated.order == ["step", "step"]


def test_a_function_run_before_a_call_may_call_the_session_itself(gate: Gate) -> None:
    gated, looked = Gated(gate), list[float]()
    mutex = SessionMutex(gated.sess)
    mutex.before_run.append(lambda: looked.append(float(gated.sess.run(gated.other))))
    gated.sess.run(gated.other)
    gated.sess.run(gated.other)
    assert looked == [7.0, 7.0]


def test_a_callable_uses_the_mutex_too(gate: Gate) -> None:
    gated, looked = Gated(gate), list[int]()
    mutex = SessionMutex(gated.sess)
    mutex.before_run.append(lambda: looked.append(1))
    made = gated.sess.make_callable(gated.other)
    assert (made(), made()) == (7.0, 7.0)
    assert looked == [1, 1]


def test_a_call_that_fails_frees_the_mutex(gate: Gate) -> None:
    gated = Gated(gate)

    def use() -> Any:
        gated.mutex = SessionMutex(gated.sess)
        with pytest.raises(TypeError):
            gated.sess.run(object())

    Background(use).result()
    gated.take().result()
    assert gated.order == ["taken"]


def test_the_end_leaves_the_session_as_it_was(gate: Gate) -> None:
    gated = Gated(gate)
    before = dict(vars(gated.sess))
    mutex = SessionMutex(gated.sess)
    mutex.before_run.append(lambda: pytest.fail("after the end"))
    mutex.end()
    assert vars(gated.sess) == before
    assert gated.sess.run(gated.other) == 7.0


def test_functions_waiting_at_the_end_are_not_lost(gate: Gate) -> None:
    gated = Gated(gate)
    training = gated.trains(1)
    gate.wait_for_arrivals()
    waiting = gated.take()
    gated.waits()
    gated.mutex.end()
    gate.open()
    training.result()
    waiting.result()
    assert gated.order == ["step", "taken"]
