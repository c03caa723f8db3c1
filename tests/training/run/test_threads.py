"""Coordinator and LooperThread: in the graph, on a clock that never catches up."""

from __future__ import annotations

import threading

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.run.thread.threads import Coordinator, LooperThread, names_of_live, next_tick


def test_ticks_come_at_even_distances() -> None:
    assert next_tick(due=10.0, secs=2.0, now=10.1) == 12.0
    assert next_tick(due=12.0, secs=2.0, now=12.0) == 14.0


def test_missed_ticks_are_dropped_and_the_beat_is_kept() -> None:
    assert next_tick(due=10.0, secs=2.0, now=17.5) == 18.0
    assert next_tick(due=10.0, secs=2.0, now=3610.5) == 3612.0


def test_a_loop_without_a_pause_is_due_at_once() -> None:
    assert next_tick(due=10.0, secs=0.0, now=17.5) == 17.5


@given(due=st.integers(0, 10**6), secs=st.integers(1, 1000), late=st.integers(0, 10**6))
def test_the_next_tick_lies_ahead_by_at_most_one_beat(due: int, secs: int, late: int) -> None:
    now = due + late
    tick = next_tick(float(due), float(secs), float(now))
    assert now < tick <= now + secs or (tick == now and (now - due) % secs == 0)
    assert (tick - due) % secs == 0, "the beat is kept"


class Calls:
    """A target with memory: which thread called, and whether it ran eagerly in which graph."""

    def __init__(self, enough: int) -> None:
        self.threads: list[threading.Thread] = []
        self.graphs: list[object] = []
        self.eager: list[bool] = []
        self.arguments: list[tuple[object, object]] = []
        self.enough = threading.Event()
        self._wanted = enough

    def __call__(self, first: object = None, *, second: object = None) -> None:
        self.threads.append(threading.current_thread())
        self.graphs.append(tf.compat.v1.get_default_graph())
        self.eager.append(tf.executing_eagerly())
        self.arguments.append((first, second))
        if len(self.threads) >= self._wanted:
            self.enough.set()


def test_a_looper_calls_its_target_until_the_coordinator_stops() -> None:
    coord, calls = Coordinator(), Calls(enough=3)
    looper = LooperThread(coord, 0.001, calls, name="beat", args=(1,), kwargs={"second": 2})
    looper.start()
    assert calls.enough.wait(10)
    coord.request_stop()
    coord.join([looper], stop_grace_period_secs=10)
    assert not looper.is_alive()
    assert set(calls.arguments) == {(1, 2)}


def test_a_looper_is_a_named_daemon_thread() -> None:
    looper = LooperThread(Coordinator(), 1.0, Calls(1), name="nbtrain watch digits")
    assert looper.name == "nbtrain watch digits"
    assert looper.daemon


def test_an_error_of_a_looper_stops_the_coordinator_and_is_raised_by_join() -> None:
    coord, closed = Coordinator(), threading.Event()

    class Failing(LooperThread):
        def stop_loop(self) -> None:
            closed.set()

    def fail() -> None:
        raise ValueError("no such metric")

    looper = Failing(coord, 0.001, fail, name="failing")
    looper.start()
    assert coord.wait_for_stop(10)
    with pytest.raises(ValueError, match="no such metric"):
        coord.join([looper], stop_grace_period_secs=10)
    assert closed.is_set(), "stop_loop is called after an error too"


def test_a_looper_that_waits_for_its_tick_ends_at_once_when_asked() -> None:
    coord, calls = Coordinator(), Calls(enough=1)
    looper = LooperThread(coord, 3600.0, calls, name="hourly")
    looper.start()
    assert calls.enough.wait(10)
    coord.request_stop()
    looper.join(10)
    assert not looper.is_alive()
    assert len(calls.threads) == 1


def test_the_threads_of_a_graph_coordinator_run_in_the_graph() -> None:
    graph = tf.Graph()
    coord, calls = Coordinator(graph=graph), Calls(enough=1)
    looper = LooperThread(coord, 0.001, calls, name="beat")
    looper.start()
    assert calls.enough.wait(10)
    coord.request_stop()
    looper.join(10)
    assert set(calls.graphs) == {graph}
    assert set(calls.eager) == {False}
    assert tf.executing_eagerly(), "the calling thread stays eager"


def test_a_thread_registered_twice_runs_once() -> None:
    graph = tf.Graph()
    coord, calls = Coordinator(graph=graph), Calls(enough=1)
    thread = threading.Thread(target=calls)
    coord.register_thread(thread)
    coord.register_thread(thread)
    thread.start()
    thread.join(10)
    assert calls.graphs == [graph]


def test_without_a_graph_threads_stay_eager() -> None:
    coord, calls = Coordinator(), Calls(enough=1)
    thread = threading.Thread(target=calls)
    coord.register_thread(thread)
    thread.start()
    thread.join(10)
    assert calls.eager == [True]


def test_a_stop_is_told_with_or_without_an_error() -> None:
    told: list[bool] = []
    coord = Coordinator()
    coord.on_stop = lambda: told.append(bool(coord.should_stop()))
    coord.request_stop()
    coord.request_stop(ValueError("late"))
    assert told == [True, True]


def test_a_looper_takes_tensorflows_arguments_by_position() -> None:
    calls = Calls(enough=2)
    coord = Coordinator()
    looper = LooperThread(coord, None, calls, (1,), {"second": 2})
    looper.start()
    assert calls.enough.wait(10)
    coord.request_stop()
    looper.join(10)
    assert set(calls.arguments) == {(1, 2)}


def test_loop_starts_a_looper_on_a_clock_that_never_catches_up() -> None:
    coord, calls = Coordinator(), Calls(enough=2)
    looper = LooperThread.loop(coord, 0.001, calls, args=(1,))
    assert isinstance(looper, LooperThread), "and none of TensorFlow's"
    assert calls.enough.wait(10)
    coord.request_stop()
    looper.join(10)


def test_a_subclass_that_overrides_the_loop_needs_no_target() -> None:
    coord, seen, enough = Coordinator(), [], threading.Event()

    class Own(LooperThread):
        def start_loop(self) -> None:
            seen.append("start")

        def run_loop(self) -> None:
            seen.append("run")
            if len(seen) > 3:
                enough.set()

        def stop_loop(self) -> None:
            seen.append("stop")

    looper = Own(coord, 0.001)
    looper.start()
    assert enough.wait(10)
    coord.request_stop()
    looper.join(10)
    assert (seen[0], seen[1], seen[-1]) == ("start", "run", "stop")


def test_a_looper_works_under_tensorflows_coordinator() -> None:
    coord, calls = tf.train.Coordinator(), Calls(enough=2)
    looper = LooperThread(coord, 0.001, calls)
    looper.start()
    assert calls.enough.wait(10)
    coord.request_stop()
    coord.join([looper], stop_grace_period_secs=10)


def test_arguments_without_a_target_are_refused_as_by_tensorflow() -> None:
    with pytest.raises(ValueError, match="require that you also pass 'target'"):
        LooperThread(Coordinator(), 1.0, args=(1,))


def test_an_error_that_was_named_clean_stops_without_being_raised() -> None:
    coord = Coordinator((tf.errors.OutOfRangeError, StopIteration))
    with coord.stop_on_exception():
        raise StopIteration
    assert coord.should_stop()
    coord.join()
    assert coord.exhausted


def test_an_error_is_kept_that_a_stop_of_another_thread_overtakes() -> None:
    class Overtaken(Coordinator):
        def should_stop(self) -> bool:
            asked = super().should_stop()
            other = threading.Thread(target=tf.train.Coordinator.request_stop, args=(self,))
            other.start()
            other.join()
            return bool(asked)

    coord = Overtaken()
    coord.request_stop(ValueError("the first"))
    with pytest.raises(ValueError, match="the first"):
        coord.join()


@pytest.mark.parametrize("late", [False, True])
def test_a_stop_that_was_asked_for_is_no_end_of_an_input(late: bool) -> None:
    coord = Coordinator()
    coord.request_stop()
    if late:  # the queue that the stop has closed
        coord.request_stop(tf.errors.OutOfRangeError(None, None, "closed"))
    assert not coord.exhausted


def test_a_coordinator_that_is_used_again_has_forgotten_the_end_of_its_input() -> None:
    coord = Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "over"))
    coord.clear_stop()
    assert not coord.exhausted


def test_the_live_threads_of_a_coordinator_are_named() -> None:
    coord, calls = Coordinator(), Calls(enough=1)
    loopers = [LooperThread(coord, 3600.0, calls, name=name) for name in ("two", "one")]
    assert names_of_live(coord) == [], "none was started"
    for looper in loopers:
        looper.start()
    assert names_of_live(coord) == ["one", "two"]
    coord.request_stop()
    coord.join(stop_grace_period_secs=10)
    assert names_of_live(coord) == []
