"""The life of a run: one at a time, ended whole, and stopped whoever asks at whatever moment."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Command
from nbtrain.core.errors import ArgumentError, BusyError, PhaseError
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase
from nbtrain.engines.loops import LoopEngine
from nbtrain.engines.trained import Trained
from nbtrain.notebook.display import display_of
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import Settings
from tests.gate import SOON, Gate, eventually
from tests.models import Count, Counter, Line, applied, reached
from tests.on_disk import journal


def running(run: Run) -> None:
    """Until it takes steps."""
    reached(run, lambda run: run.status.step > 1)


def test_a_start_that_is_refused_leaves_the_live_run_its_stop() -> None:
    count = Count()
    with count.graph.as_default():
        sv = nbtrain.Supervisor(logdir=None, summary_op=None)
    run = nbtrain.supervise(count.train_op, supervisor=sv)
    running(run)
    with pytest.raises(BusyError):
        nbtrain.supervise(count.train_op, supervisor=sv)
    applied(run.request_stop())
    assert run.wait(SOON).status.phase is Phase.STOPPED


def test_a_stop_taken_before_its_poster_looks_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = nbtrain.train(Counter().step)
    running(run)
    post = run.attempt.context.commands.post

    def late(command: Command, **where: Any) -> Receipt:
        receipt = post(command, **where)
        applied(receipt)
        return receipt

    monkeypatch.setattr(run.attempt.context.commands, "post", late)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED


def test_a_checkpoint_is_not_given_beside_a_supervisor_that_saves() -> None:
    count, counter = Count(), Counter()

    @nbtrain.background(checkpoint=counter.checkpoint)
    def both(_run: Run) -> None:
        with count.graph.as_default(), nbtrain.Supervisor(logdir="sv").managed_session():
            pass

    with pytest.raises(ArgumentError, match="leave checkpoint= out"):
        both.wait(SOON)


def test_when_it_has_ended_no_thread_is_its_training_thread() -> None:
    run = nbtrain.train(Counter().step, steps=2).wait(SOON)
    assert run.attempt.ident == 0, "the system gives the number to the next thread"
    with pytest.raises(ArgumentError, match="by another thread"):
        run.record(loss=1.0)


def test_a_start_waits_for_the_end_of_the_previous_one() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, start=False)
    busy, release = threading.Event(), threading.Event()

    def slow() -> None:
        if not release.is_set() and counter.count.numpy() > 1:
            busy.set()
            release.wait(SOON)

    run.on_tick(slow)
    run.start()
    assert busy.wait(SOON)
    run.request_stop()
    first = run.attempt
    assert first.ended.wait(SOON)
    again = threading.Thread(target=run.start)
    again.start()
    release.set()
    again.join(SOON)
    running(run)
    run.request_stop()
    run.wait(SOON)
    assert run.attempt is not first
    events = [entry["event"] for entry in journal(run)]
    told = [event for event in events if event in ("start", "stopped")]
    assert told == ["start", "stopped"] * 2


def test_a_run_that_ends_in_the_midst_of_a_tick_is_over_with_the_next_one(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, steps=3, start=False)
    ticks = threading.Event()
    seen: list[tuple[bool, bool]] = []

    def look() -> None:
        ticks.set()
        eventually(lambda: run.status.phase.ended)
        seen.append((run.status.phase.ended, run.is_over))

    run.on_tick(look)
    run.start()
    assert ticks.wait(SOON)
    gate.open()
    run.wait(SOON)
    assert seen[0] == (True, False)
    assert {*seen[1:]} == {(True, True)}


def test_an_error_of_a_loop_that_ends_after_the_training_is_the_runs() -> None:
    left, fail = threading.Event(), threading.Event()

    def target() -> None:
        left.set()
        fail.wait(SOON)
        raise ValueError("of the looper")

    @nbtrain.background
    def short(run: Run) -> None:
        run.should_stop()
        run.loop(None, target)
        assert left.wait(SOON)

    reached(short, lambda run: run.status.phase not in (Phase.PREPARING, Phase.RUNNING))
    fail.set()
    with pytest.raises(ValueError, match="of the looper"):
        short.wait(SOON)
    assert short.status.phase is Phase.FAILED


def test_a_loop_that_does_not_end_is_told_and_keeps_the_run_from_starting_again() -> None:
    inside, release = threading.Event(), threading.Event()

    def stuck() -> None:
        inside.set()
        release.wait(SOON)

    def loop(run: Run) -> None:
        if not release.is_set():
            run.loop(3600, stuck)
            assert inside.wait(SOON)

    folder = Logdir(None, "stuck", kind="loop")
    settings = Settings(stop_grace_secs=0.01)
    run = Run(
        LoopEngine(Trained(lambda: (loop,)), None, folder.checkpoints, keep=None), folder, settings
    ).start()
    run.wait(SOON)
    assert run.status.message == "Threads that have not ended: nbtrain stuck: stuck."
    with pytest.raises(PhaseError, match="threads of an earlier training have not ended: nbtrain"):
        run.start()
    release.set()
    looper = next(thread for thread in threading.enumerate() if "stuck" in thread.name)
    looper.join(SOON)
    assert run.start().wait(SOON).status.phase is Phase.FINISHED


def test_after_a_restore_the_same_step_is_saved_again(gate: Gate) -> None:
    course = tf.Variable(0)
    counter = Counter(gate)
    checkpoint = tf.train.Checkpoint(count=counter.count, course=course)
    run = nbtrain.train(counter.step, checkpoint=checkpoint)
    gate.wait_for_arrivals()
    saved = run.save()
    gate.allow()
    assert applied(saved).step == 1
    gate.wait_for_arrivals()
    asked = [run.save(), run.pause(), run.restore(1)]
    gate.allow()
    assert [applied(receipt).step for receipt in asked] == [2, 2, 2]
    course.assign(7)
    applied(run.resume())
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert int(counter.count) == run.status.step == 2
    held = tf.train.load_checkpoint(run.checkpoints[-1].path)
    assert held.get_tensor("course/.ATTRIBUTES/VARIABLE_VALUE") == 7


def test_a_loop_left_after_a_saved_boundary_has_its_last_step_saved() -> None:
    counter = Counter()

    @nbtrain.background(checkpoint=counter.checkpoint, save_steps=2)
    def broken_off(run: Run) -> None:
        while not run.should_stop():
            counter.step()
            if int(counter.count) == 3:
                break

    broken_off.wait(SOON)
    held = tf.train.load_checkpoint(broken_off.checkpoints[-1].path)
    assert held.get_tensor("count/.ATTRIBUTES/VARIABLE_VALUE") == 3


def test_a_loop_that_never_asks_to_stop_is_saved_at_each_end() -> None:
    counter = Counter()

    @nbtrain.background(checkpoint=counter.checkpoint)
    def loop(run: Run) -> None:
        counter.step()

    for attempt in (1, 2):
        loop.wait(SOON)
        held = tf.train.load_checkpoint(loop.checkpoints[-1].path)
        assert held.get_tensor("count/.ATTRIBUTES/VARIABLE_VALUE") == attempt
        loop.start()
    loop.wait(SOON)


def test_a_run_without_an_available_thread_fails_and_can_be_started_again() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=3, checkpoint=counter.checkpoint, start=False)
    usual = threading.stack_size(1 << 62)  # more than can be addressed: no thread gets it
    try:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            run.start()
    finally:
        threading.stack_size(usual)
    assert run.status.phase is Phase.FAILED
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run.wait(SOON)
    assert run.start().wait(SOON).status.phase is Phase.FINISHED


def test_an_error_at_any_place_of_a_start_leaves_a_run_that_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=3, checkpoint=counter.checkpoint, start=False)
    with monkeypatch.context() as patch:
        patch.setattr("nbtrain.run.run.Mail", lambda *_args, **_kwargs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.start()
    assert run.status.phase is Phase.FAILED
    assert run.start().wait(SOON).status.phase is Phase.FINISHED


def test_a_program_that_counts_on_from_before_has_not_taken_those_steps_now() -> None:
    @nbtrain.background
    def going_on(run: Run) -> None:
        run.should_stop()
        for number in (5_000, 5_001, 5_002):
            run.record(loss=1.0, step=number)
            run.should_stop()

    going_on.wait(SOON)
    assert going_on.status.step == 5_002
    assert going_on.attempt.boundary.steps.steps_done == 3


def test_a_run_that_another_of_its_name_has_replaced_is_freed_with_its_model() -> None:
    def shown(steps: int) -> tuple[weakref.ref[Any], ...]:
        line = Line()
        run = nbtrain.train(line.step, name="again", steps=steps, checkpoint=line.checkpoint)
        display_of(run)
        run.wait(SOON)
        return weakref.ref(run), weakref.ref(line.model)

    first, second = shown(steps=2), shown(steps=4)
    gc.collect()
    assert [held() for held in first] == [None, None]
    assert None not in [held() for held in second]


def test_runs_that_ended_long_ago_are_forgotten_and_freed_with_their_variables() -> None:
    def shown() -> weakref.ref[Any]:
        counter = Counter()
        run = nbtrain.train(counter.step, steps=2, checkpoint=counter.checkpoint)
        display_of(run)
        run.wait(SOON)
        return weakref.ref(counter.count)

    variables = [shown() for _ in range(10)]
    assert len(nbtrain.runs()) == 9  # the one started last, and eight that had ended before it
    gc.collect()
    assert [variable() is None for variable in variables] == [True] + 9 * [False]


def test_a_run_that_lives_is_never_forgotten(gate: Gate) -> None:
    counter = Counter(gate)
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    gate.wait_for_arrivals()
    for _ in range(10):
        nbtrain.train(Counter().step, steps=1).wait(SOON)
    assert nbtrain.runs()[run.name] is run
    gate.open()
    run.request_stop()
    run.wait(SOON)
