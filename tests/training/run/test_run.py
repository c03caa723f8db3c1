"""A run: its life, its commands, what it leaves behind, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import operator
import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import nbtrain
from nbtrain.core.commands import Pause, Stop
from nbtrain.core.errors import (
    ArgumentError,
    BusyError,
    CheckpointError,
    PhaseError,
    UnknownTagError,
    WaitError,
)
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Checkpoint, Phase
from nbtrain.engines.steps import StepEngine
from nbtrain.engines.trace import Trace
from nbtrain.panel.live.view import answers
from nbtrain.run.run import Run
from nbtrain.rundir.entries import Entry
from nbtrain.rundir.folder import Logdir
from nbtrain.steer import registry, surroundings
from nbtrain.steer.options import Settings
from nbtrain.steer.requests import INSTEAD
from nbtrain.terminal.script import Script
from tests.gate import SOON, Gate, eventually
from tests.models import Counter, Line, applied, reached, refused
from tests.on_disk import journal, saved


def held(gate: Gate, **options: Any) -> tuple[Run, Counter]:
    """A run whose every step waits at the gate; it stands at the first."""
    counter = Counter(gate)
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, name="held", **options)
    gate.wait_for_arrivals()
    return run, counter


def done(run: Run) -> list[Entry]:
    """Returns the journal lines, except those about copies of good states."""
    return [entry for entry in journal(run) if entry["event"] != "copy"]


def fail_at(step: int) -> Callable[[int], None]:
    """A fault in the user's code."""

    def at_step(count: int) -> None:
        if count == step:
            raise ValueError("the user's own mistake")

    return at_step


# --- life -----------------------------------------------------------------------


def test_a_run_finishes_after_its_steps() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=10)
    assert run.wait(SOON) is run
    assert run.status.phase is Phase.FINISHED
    assert run.status.step == int(counter.count.numpy()) == 10
    assert run.status.error is None


def test_every_step_is_recorded_when_a_run_has_ended() -> None:
    run = nbtrain.train(Counter().step, steps=500).wait(SOON)
    assert run.scalars["count"].steps.tolist() == list(range(1, 501))
    assert run.scalars["count"].values.tolist() == list(range(1, 501))


def test_a_run_that_is_not_started_waits_for_start() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=3, start=False)
    assert run.status.phase is Phase.CREATED
    with pytest.raises(PhaseError, match="was not started; call start"):
        run.wait(0)
    assert run.start() is run
    run.wait(SOON)
    assert int(counter.count.numpy()) == 3


def test_a_run_is_started_once(gate: Gate) -> None:
    run, counter = held(gate)
    with pytest.raises(PhaseError, match=r"Cannot start while running; possible now: pause, stop"):
        run.start()
    assert run.status.phase is Phase.RUNNING
    gate.open()
    applied(run.request_stop())
    run.wait(SOON)
    assert int(counter.count.numpy()) == run.status.step


def test_a_stop_ends_the_run_after_the_current_step(gate: Gate) -> None:
    run, counter = held(gate)
    receipt = run.request_stop()
    assert run.status.phase is Phase.STOPPING
    assert receipt.outcome is None
    gate.open()
    assert applied(receipt).step == 1
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert int(counter.count.numpy()) == 1


def test_a_stop_by_the_coordinator_is_a_stop(gate: Gate) -> None:
    run, _ = held(gate)
    run.coord.request_stop()
    gate.open()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED


def test_a_stop_during_preparation_ends_the_run_before_its_first_step() -> None:
    entered, go_on = threading.Event(), threading.Event()

    @nbtrain.background
    def slow(run: Run) -> None:
        entered.set()
        assert go_on.wait(SOON)
        while not run.should_stop():
            raise AssertionError("a step was begun")

    assert entered.wait(SOON)
    assert slow.status.phase is Phase.PREPARING
    receipt = slow.request_stop()
    assert slow.status.phase is Phase.STOPPING
    go_on.set()
    applied(receipt)
    slow.wait(SOON)
    assert slow.status.phase is Phase.STOPPED
    assert slow.status.step == 0


def test_an_own_loop_that_returns_finishes_the_run() -> None:
    @nbtrain.background
    def three(run: Run) -> None:
        for value in (3.0, 2.0, 1.0):
            assert not run.should_stop()
            run.record(loss=value)

    three.wait(SOON)
    assert three.status.phase is Phase.FINISHED
    assert three.scalars["loss"].values.tolist() == [3.0, 2.0, 1.0]
    assert three.scalars["loss"].steps.tolist() == [1, 2, 3]
    assert three.name == "three-1"


def test_an_own_loop_may_number_its_steps() -> None:
    @nbtrain.background(steps=30)
    def numbered(run: Run) -> None:
        step = 0
        while not run.should_stop():
            step += 10
            run.record({"loss": 1 / step}, step=step)

    numbered.wait(SOON)
    assert numbered.status.step == 30
    assert numbered.scalars["loss"].steps.tolist() == [10, 20, 30]


def test_a_step_that_records_only_media_has_the_number_that_it_was_given() -> None:
    @nbtrain.background
    def numbered(run: Run) -> None:
        step = 0
        while not run.should_stop():
            step += 10
            run.record(note="even" if step % 20 == 0 else "odd", step=step)
            if step == 30:
                break

    numbered.wait(SOON)
    assert numbered.status.step == 30
    assert [*map(int, numbered.media.history("text", "note").steps)] == [10, 20, 30]


def test_a_step_that_nbtrain_calls_may_record_more() -> None:
    runs: list[Run] = []

    def step() -> dict[str, float]:
        runs[0].record(extra=float(runs[0].status.step))
        return {"loss": 1.0}

    runs.append(nbtrain.train(step, steps=500, start=False))
    run = runs[0].start().wait(SOON)
    assert run.scalars["extra"].steps.tolist() == list(range(1, 501))
    assert run.scalars["extra"].values.tolist() == list(range(500))
    assert run.scalars["loss"].steps.tolist() == list(range(1, 501))


def test_asking_from_another_thread_whether_to_stop_is_no_step(gate: Gate) -> None:
    run, _ = held(gate)
    assert not run.should_stop()
    assert not run.should_stop()
    assert run.status.step == 0
    run.request_stop()
    assert run.should_stop()
    gate.open()
    run.wait(SOON)


@pytest.mark.parametrize(("name", "instead"), INSTEAD.items())
def test_a_near_miss_is_answered_with_what_a_run_has(name: str, instead: str) -> None:
    run = nbtrain.train(Counter().step, start=False)
    with pytest.raises(AttributeError) as raised:
        getattr(run, name)
    assert str(raised.value) == f"'Run' object has no attribute {name!r}: use {instead}"
    if found := re.match(r"run\.([\w.]+)", instead):
        operator.attrgetter(found[1])(run)


def test_a_near_miss_is_no_name_of_a_run() -> None:
    run = nbtrain.train(Counter().step, start=False)
    assert not INSTEAD.keys() & {*dir(run)}
    assert not any(hasattr(run, name) for name in INSTEAD)
    assert {"request_stop", "name", "status"} <= {*dir(run)}


@pytest.mark.parametrize("compiled", [False, True])
def test_an_exhausted_dataset_finishes_the_run(compiled: bool) -> None:
    batches = iter(tf.data.Dataset.range(7))

    def step() -> dict[str, Any]:
        return {"batch": next(batches)}

    run = nbtrain.train(tf.function(step) if compiled else step).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["batch"].values.tolist() == list(range(7))
    assert run.status.error is None


def test_waiting_gives_up_after_its_time_and_the_run_goes_on(gate: Gate) -> None:
    run, _ = held(gate)
    with pytest.raises(
        TimeoutError, match=r"After 0\.01 s of waiting the run has not ended \(.*running at step 0"
    ):
        run.wait(0.01)
    assert run.status.phase is Phase.RUNNING
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_wait_for_a_paused_run_that_gives_up_does_not_say_that_it_goes_on(gate: Gate) -> None:
    run, _ = held(gate)
    gate.open()
    step = applied(run.pause()).step
    with pytest.raises(WaitError, match=rf"the run has not ended \(.*paused at step {step}>\)"):
        run.wait(0.01)
    run.request_stop()
    run.wait(SOON)


SCRIPT = (
    "Resume it by `nbtrain resume runs/held` in another terminal. "
    "Ctrl-C here stops the run, with a last checkpoint."
)
NOTEBOOK = (
    "Resume it in its panel, or by run.resume(). Interrupting the wait does not affect the run."
)


@pytest.mark.parametrize(
    ("how", "where", "advice"),
    [
        ("wait", "script", SCRIPT),
        ("await", "script", SCRIPT),
        ("wait", "notebook", NOTEBOOK),
    ],
)
def test_waiting_for_a_paused_run_says_once_how_to_continue(
    gate: Gate,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    where: str,
    advice: str,
) -> None:
    here = Script() if where == "script" else surroundings.Surroundings()
    monkeypatch.setattr(surroundings, "current", here)
    run, _ = held(gate, steps=1000)
    gate.open()
    step = applied(run.pause()).step
    wait = run.wait if how == "wait" else lambda: asyncio.run(_awaited(run))
    waiting = threading.Thread(target=wait)
    waiting.start()
    said = [eventually(lambda: capsys.readouterr().err)]
    run.resume()
    waiting.join(SOON)
    assert run.status.phase is Phase.FINISHED
    assert "".join([*said, capsys.readouterr().err]) == (
        f"nbtrain: The run 'held' is paused at step {step}, and this waits for its end. {advice}\n"
    )


def test_waiting_for_a_run_that_pauses_by_itself_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = nbtrain.train(lambda: {"loss": float("nan")}, name="bad")
    waiting = threading.Thread(target=run.wait)
    waiting.start()
    got: list[str] = []

    def said() -> re.Match[str] | None:
        got.append(capsys.readouterr().err)
        return re.search(r"nbtrain: The run 'bad' is paused at step .*", "".join(got), re.DOTALL)

    told = eventually(said)
    assert "loss was NaN at step 1" in told[0]
    run.request_stop()
    waiting.join(SOON)


def test_a_run_can_be_awaited() -> None:
    async def cell() -> Run:
        return await nbtrain.train(Counter().step, steps=100)

    assert asyncio.run(cell()).status.phase is Phase.FINISHED


def test_other_tasks_run_while_a_run_is_awaited(gate: Gate) -> None:
    run, _ = held(gate, steps=3)

    async def cell() -> None:
        async def other() -> None:
            gate.open()

        await asyncio.gather(asyncio.create_task(other()), _awaited(run))

    asyncio.run(cell())
    assert run.status.phase is Phase.FINISHED


async def _awaited(run: Run) -> Run:
    return await run


def test_short_runs_are_awaited_to_their_end() -> None:
    async def cell() -> None:
        for number in range(30):
            run = nbtrain.train(Counter().step, steps=3, name=f"short-{number}")
            await asyncio.wait_for(_awaited(run), SOON)

    asyncio.run(cell())


def test_an_await_whose_loop_was_closed_leaves_no_listener(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, steps=2)
    loop = asyncio.new_event_loop()
    waiting = run.__await__()
    listeners = run.attempt.context.monitor.listeners
    before = len(listeners)

    async def begin() -> None:
        next(waiting)

    loop.run_until_complete(begin())
    assert len(listeners) == before + 1
    loop.close()
    reached(run, lambda _run: len(listeners) == before + 1)  # the one of `reached`
    gate.open()
    run.wait(SOON)
    assert run.status.message is None
    with contextlib.suppress(RuntimeError):  # its future belongs to the closed loop
        waiting.close()


def test_awaiting_raises_what_the_training_raised() -> None:
    async def cell() -> None:
        await nbtrain.train(Counter(fail_at(3)).step)

    with pytest.raises(ValueError, match="the user's own mistake"):
        asyncio.run(cell())


def test_a_run_that_was_not_started_cannot_be_awaited() -> None:
    run = nbtrain.train(Counter().step, start=False)
    with pytest.raises(PhaseError, match="was not started; call start"):
        asyncio.run(asyncio.wait_for(_awaited(run), 10))


def test_a_run_that_awaits_itself_is_told_so() -> None:
    @nbtrain.background
    def own(run: Run) -> None:
        asyncio.run(_awaited(run))

    with pytest.raises(WaitError, match="'own-1' cannot wait for its own end: leave the loop"):
        own.wait(SOON)


def test_an_await_of_an_earlier_start_leaves_nothing_behind() -> None:
    run = nbtrain.train(Counter().step, steps=3, start=False)
    for _ in range(3):
        run.start()
        asyncio.run(_awaited(run))
        assert run.status.message is None


# --- errors ---------------------------------------------------------------------


def test_an_error_in_the_step_fails_the_run_and_is_raised_by_wait() -> None:
    run = nbtrain.train(Counter(fail_at(5)).step)
    with pytest.raises(ValueError, match="the user's own mistake") as raised:
        run.wait(SOON)
    assert run.error is raised.value
    assert run.status.phase is Phase.FAILED
    assert run.status.step == 4


def test_the_traceback_of_a_failed_run_shows_the_users_own_line() -> None:
    run = nbtrain.train(Counter(fail_at(5)).step)
    with pytest.raises(ValueError, match="the user's own mistake") as raised:
        run.wait(SOON)
    assert run.status.error is not None
    assert 'raise ValueError("the user\'s own mistake")' in run.status.error
    assert "nbtrain/run/" not in run.status.error, "it begins with the user's first line"
    assert run.status.error.endswith("ValueError: the user's own mistake\n")
    assert raised.traceback[-1].name == "at_step"


def test_waiting_twice_raises_the_same_error_with_the_same_traceback() -> None:
    run = nbtrain.train(Counter(fail_at(2)).step)
    lengths = []
    for _ in range(3):
        with pytest.raises(ValueError, match="own mistake") as raised:
            run.wait(SOON)
        lengths.append(len(raised.traceback))
    assert len(set(lengths)) == 1


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_any_error_of_the_step_ends_only_the_run(error: BaseException) -> None:
    def step() -> dict[str, float]:
        raise error

    run = nbtrain.train(step)
    with pytest.raises(type(error)):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert threading.main_thread().is_alive()


def test_an_error_after_the_request_to_stop_is_not_lost(gate: Gate) -> None:
    def at_step(count: int) -> None:
        gate(count)
        raise ValueError("too late")

    run = nbtrain.train(Counter(at_step).step)
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    with pytest.raises(ValueError, match="too late"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


def test_an_error_given_to_the_coordinator_fails_the_run(gate: Gate) -> None:
    run, _ = held(gate)
    with run.coord.stop_on_exception():
        raise ValueError("from another thread")
    gate.open()
    with pytest.raises(ValueError, match="from another thread"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


def test_an_error_of_a_looper_fails_the_run() -> None:
    def report() -> None:
        raise ValueError("no such metric")

    run = nbtrain.train(Counter().step)
    run.loop(0.001, report)
    with pytest.raises(ValueError, match="no such metric"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


def test_a_looper_of_a_run_ends_with_it() -> None:
    called = threading.Event()
    run = nbtrain.train(Counter().step)
    looper = run.loop(0.001, called.set)
    assert called.wait(SOON)
    run.request_stop()
    run.wait(SOON)
    looper.join(SOON)
    assert not looper.is_alive()
    assert looper.name == f"nbtrain {run.name}: set"


def test_a_display_that_raises_does_not_hurt_the_training(gate: Gate) -> None:
    run, _ = held(gate, steps=5)

    def draw() -> None:
        raise RuntimeError("no canvas")

    run.on_tick(draw)
    reached(run, lambda run: run.status.message is not None)
    assert run.status.message is not None
    assert run.status.message.startswith("The display failed; the training continues: ")
    assert "no canvas" in run.status.message
    gate.open()
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED


def test_a_stuck_step_is_found_by_its_stack_and_blocks_nothing(gate: Gate) -> None:
    counter = Counter(gate)
    folder = Logdir(None, "stuck", kind="train")
    settings = Settings(stop_grace_secs=0.01)
    run = Run(StepEngine(Trace(counter.step), None, folder, settings), folder, settings).start()
    gate.wait_for_arrivals()
    receipt = run.request_stop()
    reached(run, lambda run: "the training thread is still here" in (run.status.message or ""))
    message = run.status.message or ""
    assert "Asked to stop" in message
    assert "self._passes.acquire" in message, "the line where it stands"
    assert run.status.phase is Phase.STOPPING
    assert receipt.outcome is None
    gate.open()
    applied(receipt)
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert run.status.message is None, "what was late has come"


def test_a_step_that_is_late_without_a_stop_is_not_reported(gate: Gate) -> None:
    counter, ticks = Counter(gate), threading.Semaphore(0)
    folder = Logdir(None, "late", kind="train")
    settings = Settings(stop_grace_secs=0.0, steps=1)
    run = Run(StepEngine(Trace(counter.step), None, folder, settings), folder, settings).start()
    gate.wait_for_arrivals()
    run.on_tick(ticks.release)
    for _ in range(3):
        assert ticks.acquire(timeout=SOON)
    assert run.status.message is None
    gate.open()
    run.wait(SOON)


# --- commands -------------------------------------------------------------------


def test_a_pause_holds_the_step_and_a_resume_goes_on() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    step = applied(run.pause()).step
    assert run.status.phase is Phase.PAUSED
    # That the thread answers at the same step shows that it stands at the boundary.
    assert applied(run.save()).step == step == int(counter.count.numpy())
    assert applied(run.save()).step == step == int(counter.count.numpy())
    assert applied(run.resume()).step == step
    reached(run, lambda run: run.status.step > step)
    assert run.status.phase is Phase.RUNNING
    run.request_stop()
    run.wait(SOON)


def test_a_restore_goes_back_while_paused_and_while_running() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, keep=None)
    step = applied(run.save()).step
    reached(run, lambda run: run.status.step > step + 5)
    outcome = applied(run.restore())
    assert outcome.step > step, "the step that it was applied at"
    assert outcome.text == f"restored ckpt-{step}: 1 variable matched, 0 optimizer slots among them"
    applied(run.pause())
    applied(run.restore(step))
    assert run.status.step == step == int(counter.count.numpy())
    assert run.status.phase is Phase.PAUSED
    applied(run.resume())
    run.request_stop()
    run.wait(SOON)
    assert int(counter.count.numpy()) == run.status.step


def test_a_stop_cannot_be_planned(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, start=False)
    with pytest.raises(ArgumentError, match="for an end at step 5, give steps="):
        run.post(Stop(), at=5)


def test_a_checkpoint_is_restored_by_step_path_name_and_as_it_is_listed(gate: Gate) -> None:
    run, counter = held(gate)
    gate.open()
    applied(run.pause())
    first = applied(run.save()).step
    checkpoint = run.checkpoints[-1]
    assert isinstance(checkpoint, Checkpoint)
    for wanted in (first, checkpoint.path, f"ckpt-{first}", checkpoint, None):
        counter.count.assign(-1)
        assert applied(run.restore(wanted)).step == first
        assert int(counter.count.numpy()) == first
    run.request_stop()
    run.wait(SOON)


def test_an_unknown_checkpoint_is_refused_and_nothing_changes(gate: Gate) -> None:
    run, counter = held(gate)
    gate.open()
    applied(run.pause())
    step = applied(run.save()).step
    outcome = refused(run.restore(step + 1_000_000))
    assert outcome.text.startswith(f"There is no checkpoint {step + 1_000_000}; there are those of")
    unknown: Any = np.array([1, 2])
    assert refused(run.restore(unknown)).text.startswith("There is no checkpoint array([1, 2]); ")
    assert int(counter.count.numpy()) == run.status.step == step
    assert run.status.phase is Phase.PAUSED
    run.request_stop()
    run.wait(SOON)


def test_a_restore_before_the_first_save_is_refused_where_no_good_states_are_copied(
    gate: Gate,
) -> None:
    run, _ = held(gate, on_nan=None)
    receipt = run.restore()
    gate.open()
    assert "There is no checkpoint to restore yet" in refused(receipt).text
    run.request_stop()
    run.wait(SOON)


def test_a_run_without_a_checkpoint_refuses_to_save_and_to_restore() -> None:
    run = nbtrain.train(Counter().step)
    assert "nothing to save: start it with checkpoint=" in refused(run.save()).text
    assert "nothing to restore" in refused(run.restore()).text
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert run.checkpoints == ()


def test_a_refusal_is_never_an_exception_in_the_training_thread(gate: Gate) -> None:
    run, _ = held(gate, steps=3)
    for receipt in (run.restore("nowhere"), run.resume(), run.restore(-1)):
        assert receipt.outcome is None
    gate.open()
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED


def test_commands_left_in_the_queue_are_answered_at_the_end(gate: Gate) -> None:
    run, _ = held(gate, steps=1)
    receipts = [run.pause(), run.resume(), run.restore(), run.save()]
    gate.open()
    run.wait(SOON)
    outcomes = [receipt.wait(SOON) for receipt in receipts]
    assert [outcome.applied for outcome in outcomes] == [False, False, False, True]
    assert run.status.phase is Phase.FINISHED


class Clicked(deque[Receipt]):
    """Receipts to which clicks add others while one is removed."""

    def remove(self, receipt: Receipt) -> None:
        """Removes a receipt, after clicks have pushed it out."""
        self.extend(Receipt(Pause()) for _ in range(self.maxlen or 0))
        super().remove(receipt)


def test_clicks_during_a_start_do_not_hold_it_up() -> None:
    run = nbtrain.train(Counter().step, steps=2).wait(SOON)
    run.receipts = Clicked([Receipt(Pause())], maxlen=8)
    run.receipts[0].answer(Outcome(applied=False, step=2, text="the run has ended"))
    assert run.start().wait(SOON).status.phase is Phase.FINISHED


def test_the_latest_receipts_are_kept_with_their_outcomes() -> None:
    run = nbtrain.train(Counter().step)
    posted = [run.pause(), run.resume(), run.save()]
    for receipt in posted:
        receipt.wait(SOON)
    assert list(run.receipts) == posted
    run.request_stop()
    run.wait(SOON)


def test_a_step_may_itself_ask_for_something() -> None:
    counter = Counter(lambda count: run.request_stop() if count == 5 else None)
    run = nbtrain.train(counter.step, start=False)
    run.start().wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 5)


def test_many_threads_may_steer_at_once() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    outcomes: list[bool] = []

    def click(post: Callable[[], Any]) -> None:
        for _ in range(5):
            outcomes.append(post().wait(SOON) is not None)

    posts = (run.save, run.pause, run.resume, run.restore)
    threads = [threading.Thread(target=click, args=(post,)) for post in posts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert outcomes == [True] * 20
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert int(counter.count.numpy()) == run.status.step


def test_every_command_is_written_to_the_journal(gate: Gate) -> None:
    run, _ = held(gate)
    posted = [run.pause(), run.save(), run.restore(99), run.resume()]
    gate.open()
    for receipt in posted:
        receipt.wait(SOON)
    run.request_stop()
    run.wait(SOON)
    entries = [(entry["event"], entry.get("applied"), entry["step"]) for entry in done(run)]
    assert entries[:2] == [("start", None, 0), ("segment", None, 0)]
    assert entries[2:6] == [("pause", True, 1), ("save", True, 1), ("restore", False, 1), (
        "resume",
        True,
        1,
    )]  # fmt: skip
    assert entries[-1] == ("stopped", None, run.status.step)
    assert all(entry["wall_time"] > 0 for entry in journal(run))


def test_the_journal_has_every_start_of_a_run_of_any_name() -> None:
    faults = iter([ValueError("Größe 損")])

    def at_step(count: int) -> None:
        if count == 5:
            for fault in faults:
                raise fault

    counter = Counter(at_step)
    run = nbtrain.train(
        counter.step, steps=8, checkpoint=counter.checkpoint, save_steps=3, name="Größe 損"
    )
    with pytest.raises(ValueError, match="Größe"):
        run.wait(SOON)
    run.start().wait(SOON)
    entries = done(run)
    assert [(entry["event"], entry["step"]) for entry in entries] == [
        ("start", 0),
        ("segment", 0),
        ("checkpoint", 3),
        ("checkpoint", 4),
        ("failed", 4),
        ("start", 0),
        ("back", 4),
        ("resume", 4),
        ("segment", 4),
        ("checkpoint", 6),
        ("checkpoint", 8),
        ("finished", 8),
    ]
    assert {entry["name"] for entry in entries if entry["event"] == "start"} == {"Größe 損"}
    assert entries[4]["text"] == "ValueError: Größe 損"


# --- checkpoints ----------------------------------------------------------------


def test_a_checkpoint_is_saved_every_n_steps_and_the_newest_are_kept() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=25, checkpoint=counter.checkpoint, save_steps=10)
    run.wait(SOON)
    assert saved(run) == [10, 20, 25]
    assert [checkpoint.step for checkpoint in run.checkpoints] == [10, 20, 25]
    assert run.status.last_checkpoint == run.checkpoints[-1]
    other = Counter()
    run = nbtrain.train(
        other.step, steps=25, checkpoint=other.checkpoint, save_steps=10, keep=1, name="one"
    )
    run.wait(SOON)
    assert saved(run) == [25]


def test_a_checkpoint_is_saved_every_n_seconds() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, save_secs=0.01)
    reached(run, lambda run: len(run.checkpoints) >= 2)
    run.request_stop()
    run.wait(SOON)


def test_a_last_checkpoint_is_saved_when_the_steps_are_done() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=7, checkpoint=counter.checkpoint).wait(SOON)
    assert saved(run) == [7]


def test_the_receipt_of_a_stop_tells_in_the_end_what_was_saved(gate: Gate) -> None:
    counter = Counter(gate)
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    gate.wait_for_arrivals()
    stop = run.request_stop()
    gate.open()
    assert stop.wait(SOON).applied
    run.wait(SOON)
    assert str(stop.outcome) == "applied at step 1: stopped, saved as ckpt-1"
    assert answers(run.receipts)[-1]["text"] == "stopped, saved as ckpt-1 (step 1)"


def test_the_receipt_of_a_stop_names_no_checkpoint_where_none_was_saved(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step)
    stop = run.request_stop()
    gate.open()
    run.wait(SOON)
    assert stop.wait(SOON).text == "stopped"


def test_a_last_checkpoint_is_saved_after_a_stop(gate: Gate) -> None:
    run, _ = held(gate)
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert saved(run) == [1]


def test_a_last_checkpoint_is_saved_after_an_error() -> None:
    counter = Counter(fail_at(5))
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    with pytest.raises(ValueError, match="own mistake"):
        run.wait(SOON)
    assert saved(run) == [4]


def test_a_last_checkpoint_is_saved_when_the_input_is_exhausted() -> None:
    numbers = iter(range(6))
    counter = Counter(lambda _count: next(numbers))
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert saved(run) == [6]


def test_a_checkpoint_of_the_last_step_is_not_saved_again(gate: Gate) -> None:
    run, _ = held(gate)
    receipts = [run.save(), run.request_stop()]
    gate.open()
    run.wait(SOON)
    first, _ = map(applied, receipts)
    assert first.text == "saved ckpt-1"
    assert saved(run) == [1]
    events = [entry["event"] for entry in done(run)]
    assert events == ["start", "segment", "save", "stop", "stopped"]


def test_a_checkpoint_that_cannot_be_written_is_told_and_the_training_goes_on(gate: Gate) -> None:
    run, _ = held(gate, save_steps=2)
    (run.logdir / "checkpoints").mkdir(exist_ok=True)
    (run.logdir / "checkpoints").rename(run.logdir / "gone")
    (run.logdir / "checkpoints").write_text("no folder", encoding="utf-8")
    gate.open()
    reached(run, lambda run: "No checkpoint at step 2" in (run.status.message or ""))
    reached(run, lambda run: run.status.step > 10)
    assert not run.save().wait(SOON).applied
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert "No checkpoint at step" in (run.status.message or "")


def test_a_run_started_again_goes_on_from_its_latest_checkpoint() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    reached(run, lambda run: run.status.step > 3)
    run.request_stop()
    run.wait(SOON)
    step = run.status.step
    counter.count.assign(-1)
    run.start()
    applied(run.pause())
    assert run.status.step == int(counter.count.numpy()) >= step
    assert f"Continues from ckpt-{step}: 1 variable matched" in (run.status.notice or "")
    assert run.status.message is None
    run.request_stop()
    run.wait(SOON)


def test_a_run_that_failed_can_be_started_again_and_goes_on() -> None:
    faults = iter([ValueError("own mistake")])

    def at_step(count: int) -> None:
        if count == 5:
            for fault in faults:
                raise fault

    counter = Counter(at_step)
    run = nbtrain.train(counter.step, steps=8, checkpoint=counter.checkpoint, save_steps=2)
    with pytest.raises(ValueError, match="own mistake"):
        run.wait(SOON)
    run.start().wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.step == 8
    assert run.status.error is None
    assert run.error is None


def test_a_new_run_in_the_folder_goes_on_from_its_latest_checkpoint() -> None:
    line = Line()
    nbtrain.train(line.step, steps=5, checkpoint=line.checkpoint, name="line").wait(SOON)
    after_5 = line.state()
    other = Line()
    run = nbtrain.train(other.step, steps=5, checkpoint=other.checkpoint, name="line").wait(SOON)
    assert run.status.step == 5, "steps are counted over all lives"
    assert run.scalars["loss"].segments.max() < 0, "there was no step left to do"
    assert run.status.steps_per_s is None
    for a, b in zip(other.state(), after_5, strict=True):
        np.testing.assert_array_equal(a, b)
    assert "4 optimizer slots" in (run.status.notice or "")
    assert run.status.message == (
        "Already at step 5 of 5: there is nothing left to train. Give more steps=, or another "
        "name= to start from scratch."
    )
    run = nbtrain.train(line.step, steps=9, checkpoint=line.checkpoint, name="line").wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


class Slow(tf.train.experimental.PythonState):
    """Something in a checkpoint whose restoring waits at a gate."""

    def __init__(self, gate: Callable[[], object]) -> None:
        self._gate = gate

    def serialize(self) -> str:
        """Nothing."""
        return ""

    def deserialize(self, _: str) -> None:
        """Wait."""
        self._gate()


def started_again(gate: Gate, restoring: Callable[[], object], **options: Any) -> Run:
    """A run that is about to go on from step 3, and restores when `restoring` returns."""
    counter = Counter()
    checkpoint = tf.train.Checkpoint(count=counter.count, slow=Slow(lambda: None))
    nbtrain.train(counter.step, steps=3, checkpoint=checkpoint, name="a").wait(SOON)
    counter = Counter()
    checkpoint = tf.train.Checkpoint(count=counter.count, slow=Slow(restoring))
    run = nbtrain.train(counter.step, steps=5, checkpoint=checkpoint, name="a", **options)
    gate.wait_for_arrivals()
    return run


def test_a_run_that_prepares_is_at_the_step_that_it_goes_on_from(gate: Gate) -> None:
    run = started_again(gate, gate)
    assert (run.status.phase, run.status.step) == (Phase.PREPARING, 3)
    assert repr(run) == "<nbtrain run 'a': preparing at step 3>"
    stop = run.request_stop()
    assert (run.status.phase, run.status.step) == (Phase.STOPPING, 3)
    gate.open()
    assert applied(stop).step == 3
    assert run.wait(SOON).status.step == 3


def test_a_run_that_cannot_be_restored_is_at_no_step_of_its_checkpoint(gate: Gate) -> None:
    def fail() -> None:
        gate()
        raise ValueError("a mistake")

    run = started_again(gate, fail)
    assert run.status.step == 3
    gate.open()
    with pytest.raises(CheckpointError, match="a mistake"):
        run.wait(SOON)
    assert run.status.step == 0


def test_a_run_that_saves_nothing_begins_at_no_step_of_its_folder(gate: Gate) -> None:
    counter = Counter()
    nbtrain.train(counter.step, steps=3, checkpoint=counter.checkpoint, name="a").wait(SOON)
    run = nbtrain.train(Counter(gate).step, name="a")
    assert run.status.step == 0
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    run.wait(SOON)


def test_a_branch_that_prepares_is_at_the_step_of_its_checkpoint(gate: Gate) -> None:
    shut = threading.Event()
    counter = Counter()
    slow = Slow(lambda: gate() if shut.is_set() else None)
    checkpoint = tf.train.Checkpoint(count=counter.count, slow=slow)
    options: dict[str, Any] = {"save_steps": 3, "checkpoint": checkpoint}
    run = nbtrain.train(counter.step, steps=5, **options).wait(SOON)
    shut.set()
    branch = run.branch(3)
    assert branch.status.step == 3
    gate.open()
    assert branch.wait(SOON).status.step == 5


def test_variables_created_by_the_first_step_are_verified_after_it() -> None:
    line = Line()
    nbtrain.train(line.step, steps=5, checkpoint=line.checkpoint, name="line").wait(SOON)
    other = Line(build=False)
    run = nbtrain.train(other.step, checkpoint=other.checkpoint, name="line")
    reached(run, lambda run: "4 optimizer slots among them." in (run.status.notice or ""))
    assert run.status.message is None
    run.request_stop()
    run.wait(SOON)


def test_slots_that_a_checkpoint_lacks_pause_the_run_and_are_a_warning_once_it_goes_on() -> None:
    line = Line()
    part = tf.train.Checkpoint(model=line.model)
    nbtrain.train(line.step, steps=5, checkpoint=part, name="line").wait(SOON)
    other = Line()
    run = nbtrain.train(other.step, checkpoint=other.checkpoint, name="line")
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    assert "ckpt-5 has no value for " in str(run.status.message)
    applied(run.resume())
    reached(run, lambda run: "was restored in part" in str(run.status.message))
    assert "not in ckpt-5, so not restored" in str(run.status.message)
    run.request_stop()
    run.wait(SOON)


def test_training_in_two_starts_gives_the_numbers_of_one() -> None:
    tf.keras.utils.set_random_seed(3)
    whole, parts = Line(), Line()
    parts.model.set_weights(whole.model.get_weights())
    nbtrain.train(whole.step, steps=8, checkpoint=whole.checkpoint, name="whole").wait(SOON)
    first = nbtrain.train(parts.step, steps=5, checkpoint=parts.checkpoint, name="parts")
    first.wait(SOON)
    again = Line()
    nbtrain.train(again.step, steps=8, checkpoint=again.checkpoint, name="parts").wait(SOON)
    for a, b in zip(again.state(), whole.state(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_folder_with_another_models_checkpoints_fails_the_run_before_a_step() -> None:
    line, other = Line(), Line(units=3)
    nbtrain.train(line.step, steps=2, checkpoint=line.checkpoint, name="line").wait(SOON)
    before = other.state()
    run = nbtrain.train(other.step, steps=4, checkpoint=other.checkpoint, name="line")
    with pytest.raises(CheckpointError, match="does not fit what is trained here"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert saved(run) == [2], "the other model's checkpoint is kept"
    for a, b in zip(other.state(), before, strict=True):
        np.testing.assert_array_equal(a, b)


# --- records --------------------------------------------------------------------


def test_a_nan_is_recorded_and_shown() -> None:
    values = iter([0.5, float("nan"), float("inf")])
    run = nbtrain.train(lambda: {"loss": next(values)}, on_nan=None).wait(SOON)
    np.testing.assert_array_equal(run.scalars["loss"].values, [0.5, np.nan, np.inf])
    assert run.status.values == {"loss": np.inf}


def test_an_unknown_tag_is_refused() -> None:
    run = nbtrain.train(Counter().step, steps=3).wait(SOON)
    with pytest.raises(UnknownTagError, match=r"No scalar has the tag 'los'.*'count'"):
        run.scalars["los"]


def test_a_restore_opens_a_segment_of_the_record() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    step = applied(run.save()).step
    reached(run, lambda run: run.status.step > step + 3)
    applied(run.restore())
    reached(run, lambda run: len(run.scalars) > 0 and 1 in run.scalars["count"].segments)
    run.request_stop()
    run.wait(SOON)
    columns = run.scalars["count"]
    assert columns.steps[columns.segments == 1][0] == step + 1
    np.testing.assert_array_equal(columns.values, columns.steps)


def events(run: Run) -> list[tuple[int, float]]:
    """The curve of `count` as TensorBoard shows it."""
    board = EventAccumulator(str(run.logdir), size_guidance={"scalars": 0}).Reload()
    return [(point.step, point.value) for point in board.Scalars("count")]


def test_tensorboard_shows_the_run_and_drops_what_a_restore_abandoned() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    step = applied(run.save()).step
    reached(run, lambda run: run.status.step > step + 3)
    applied(run.restore())
    run.request_stop()
    run.wait(SOON)
    assert events(run) == [(n, float(n)) for n in range(1, run.status.step + 1)]


def test_tensorboard_drops_points_lost_between_two_starts() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=9, checkpoint=counter.checkpoint, save_steps=3)
    run.wait(SOON)
    (run.logdir / "checkpoints" / "ckpt-9.index").unlink()  # as if it was killed after step 9
    again = Counter()
    later = nbtrain.train(again.step, steps=11, checkpoint=again.checkpoint, name=run.name)
    later.wait(SOON)
    columns = later.scalars["count"]
    assert columns.steps[columns.segments == 0].tolist() == [7, 8, 9, 10, 11]
    assert columns.steps[~columns.abandoned].tolist() == [*range(1, 12)]
    shown = events(later)
    assert shown == [(n, float(n)) for n in range(1, 12)], "each step once"


def test_a_start_without_a_checkpoint_begins_a_new_segment() -> None:
    run = nbtrain.train(Counter().step, steps=3).wait(SOON)
    run.start().wait(SOON)
    columns = run.scalars["count"]
    assert columns.steps.tolist() == [1, 2, 3, 1, 2, 3]
    assert columns.segments.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"loss": [1.0, 2.0]}, r"'loss' is \[1\.0, 2\.0\], and a scalar was expected"),
        ({"loss": None}, r"'loss' is None, and a scalar was expected"),
        ({"loss": "0.5"}, r"'loss' is '0\.5', and a scalar was expected"),
        ({"loss": np.zeros(3)}, r"'loss' has the shape \(3,\), and a scalar was expected"),
        ({"loss": tf.zeros([2, 2])}, r"'loss' has the shape \(2, 2\), and a scalar was"),
        ({"root": 1 + 2j}, r"'root' is a complex number, and a curve is of real ones: record"),
        ({"root": np.complex64(1 + 2j)}, "'root' is a complex64 number, and a curve is of real"),
        ({"root": tf.constant(1 + 2j)}, r"'root' is a complex128 number.*: record its magnitude,"),
        ({3: 1.0}, r"The tag 3 is no name: give a string, such as 'loss'"),
        ({"": 1.0}, r"The tag '' is no name"),
        ([1.0], r"record\(\) was given a list: give a dict of scalars"),
        ("1.0", r"record\(\) was given a str: give a dict"),
    ],
)
def test_recording_a_value_that_is_not_a_scalar_raises(record: Any, message: str) -> None:
    refusals: list[str] = []

    @nbtrain.background
    def loop(run: Run) -> None:
        assert not run.should_stop()
        try:
            run.record(record)
        except ArgumentError as refusal:
            refusals.append(str(refusal))

    loop.wait(SOON)
    assert len(loop.scalars) == 0, "nothing was recorded"
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(*refusals)


# --- one run at a time ----------------------------------------------------------


def folders() -> list[str]:
    """The folders of runs."""
    return sorted(path.name for path in Path("runs").iterdir())


def test_a_second_run_of_the_name_is_refused_and_the_first_goes_on(gate: Gate) -> None:
    run, _ = held(gate)
    other = Counter()
    with pytest.raises(BusyError, match="held by the run 'held' in this kernel"):
        nbtrain.train(other.step, checkpoint=other.checkpoint, name="held")
    assert int(other.count.numpy()) == 0
    assert nbtrain.runs() == {"held": run}
    assert run.status.phase is Phase.RUNNING
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_second_run_in_the_folder_is_refused(gate: Gate) -> None:
    run, _ = held(gate)
    with pytest.raises(BusyError, match="held by the run 'held' in this kernel"):
        nbtrain.train(Counter().step, logdir="runs/held", name="other")
    gate.open()
    run.request_stop()
    run.wait(SOON)
    nbtrain.train(Counter().step, logdir="runs/held", name="other", steps=1).wait(SOON)


def test_the_same_name_in_another_folder_is_refused(gate: Gate) -> None:
    run, _ = held(gate)
    with pytest.raises(BusyError, match=r"The run 'held' has this name \(.*running at step 0"):
        nbtrain.train(Counter().step, logdir="elsewhere", name="held")
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_model_in_training_is_refused_to_a_second_run(gate: Gate) -> None:
    run, counter = held(gate)
    with pytest.raises(
        BusyError,
        match=r"'held' is still training this model \(.*running at step 0>\)\. Stop it first: "
        r"run = nbtrain\.runs\(\)\['held'\]; run\.request_stop\(\); run\.wait\(\)\. "
        r"nbtrain\.runs\(\)\['held'\] at the end of a cell shows it\.",
    ):
        nbtrain.train(counter.step, checkpoint=tf.train.Checkpoint(again=counter.count))
    assert list(nbtrain.runs()) == ["held"]
    gate.open()
    run.request_stop()
    run.wait(SOON)
    nbtrain.train(counter.step, steps=1, checkpoint=counter.checkpoint).wait(SOON)


def test_a_model_inside_a_compiled_step_is_refused_to_a_second_run(gate: Gate) -> None:
    line = Line(compiled=True)
    run = nbtrain.train(line.step, name="first")
    with pytest.raises(BusyError, match="'first' is still training this model"):
        nbtrain.train(line.step, checkpoint=line.checkpoint)
    run.request_stop()
    run.wait(SOON)


def test_an_error_from_inspecting_a_training_model_is_not_reported_elsewhere(
    gate: Gate,
) -> None:
    class Shy(tf.train.Checkpoint):
        """Cannot be looked through while it is trained."""

        looked_at = False

        def _trackable_children(self, *args: Any, **kwargs: Any) -> Any:
            if self.looked_at:
                raise RuntimeError("not while I train")
            return super()._trackable_children(*args, **kwargs)

    counter = Counter(gate)
    shy = Shy(count=counter.count)
    run = nbtrain.train(lambda: counter.step(), checkpoint=shy, name="shy", save_secs=None)
    gate.wait_for_arrivals()
    shy.looked_at = True
    nbtrain.train(Counter().step, steps=1, checkpoint=Counter().checkpoint).wait(SOON)
    with pytest.raises(BusyError, match="'shy' is still training this model"):
        nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    shy.looked_at = False
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_running_the_start_cell_again_leaves_no_empty_folder(gate: Gate) -> None:
    counter = Counter(gate)
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    for _ in range(2):
        with pytest.raises(BusyError):
            nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    assert folders() == [run.name]
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_refused_run_can_be_started_once_the_other_has_ended(gate: Gate) -> None:
    run, _ = held(gate)
    other = Counter()
    second = nbtrain.train(other.step, logdir="runs/held", name="second", steps=2, start=False)
    with pytest.raises(BusyError):
        second.start()
    assert second.status.phase is Phase.CREATED
    gate.open()
    run.request_stop()
    run.wait(SOON)
    second.start().wait(SOON)
    assert second.status.phase is Phase.FINISHED


def test_two_models_train_at_the_same_time() -> None:
    one, two = Counter(), Counter()
    first = nbtrain.train(one.step, checkpoint=one.checkpoint)
    second = nbtrain.train(two.step, checkpoint=two.checkpoint)
    for run in (first, second):
        reached(run, lambda run: run.status.step > 3)
        run.request_stop()
    assert [run.wait(SOON).status.phase for run in (first, second)] == [Phase.STOPPED] * 2
    assert list(nbtrain.runs()) == ["train-1", "train-2"]


# --- what it says of itself -----------------------------------------------------


def test_the_status_tells_how_the_run_stands(gate: Gate) -> None:
    run, _ = held(gate, steps=4)
    status = run.status
    assert (status.name, status.engine) == ("held", "step function")
    assert (status.step, status.total_steps) == (0, 4)
    assert (status.steps_per_s, status.eta_s) == (None, None)
    gate.open()
    run.wait(SOON)
    status = run.status
    assert (status.step, status.values) == (4, {"count": 4.0})
    assert status.steps_per_s is not None
    assert status.steps_per_s > 0
    assert status.eta_s is None
    assert status.elapsed_s > 0
    assert run.status.elapsed_s == status.elapsed_s, "it has ended"


def test_a_run_says_its_name_phase_and_step() -> None:
    run = nbtrain.train(Counter().step, steps=1240, name="digits").wait(SOON)
    assert repr(run) == "<nbtrain run 'digits': finished at step 1,240>"


def test_threads_are_daemons_with_names(gate: Gate) -> None:
    run, _ = held(gate)
    threads = {thread.name: thread for thread in threading.enumerate()}
    assert threads["nbtrain train held"].daemon
    assert threads["nbtrain watch held"].daemon
    gate.open()
    run.request_stop()
    run.wait(SOON)
    for name in ("nbtrain train held", "nbtrain watch held"):
        threads[name].join(SOON)
        assert not threads[name].is_alive()


def test_the_training_runs_in_the_context_of_the_starting_cell() -> None:
    cell: contextvars.ContextVar[int] = contextvars.ContextVar("cell", default=0)
    cell.set(7)
    run = nbtrain.train(lambda: {"cell": cell.get()}, steps=1).wait(SOON)
    assert run.scalars["cell"].values.tolist() == [7.0]


def test_a_listener_hears_of_the_end() -> None:
    phases: list[Phase] = []
    run = nbtrain.train(Counter().step, steps=3, start=False)
    run.on_tick(lambda: phases.append(run.status.phase))
    run.start().wait(SOON)
    assert phases[-1] is Phase.FINISHED


@pytest.mark.parametrize("step", [0, -1, 1.5, "3", 2**63, float("nan"), [1]])
def test_an_invalid_step_number_raises(step: Any) -> None:
    @nbtrain.background
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record(loss=1.0, step=step)

    with pytest.raises(ArgumentError) as refusal:
        loop.wait(SOON)
    assert f"step={step!r}: the number of a step that was done is a whole" in str(refusal.value)


def test_a_step_may_be_numbered_by_a_variable() -> None:
    count = tf.Variable(0, dtype=tf.int64)

    @nbtrain.background(steps=3)
    def loop(run: Run) -> None:
        while not run.should_stop():
            count.assign_add(1)
            run.record(loss=1.0, step=count)

    loop.wait(SOON)
    assert loop.scalars["loss"].steps.tolist() == [1, 2, 3]
    assert type(loop.status.step) is int


def test_a_variable_is_recorded_as_it_was_at_its_step() -> None:
    variable, array = tf.Variable(0.0), np.zeros(())

    def step() -> dict[str, Any]:
        variable.assign_add(1.0)
        array[...] += 1.0
        return {"variable": variable, "array": array, "read": variable.read_value()}

    run = nbtrain.train(step, steps=300).wait(SOON)
    for tag in ("variable", "array", "read"):
        assert run.scalars[tag].values.tolist() == list(range(1, 301))


def test_a_record_of_nothing_is_no_further_step() -> None:
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record({})

    assert nbtrain.background(loop, steps=5).wait(SOON).status.step == 5


@pytest.mark.parametrize("value", [None, "none", np.zeros([2]), np.array(1 + 2j)])
@pytest.mark.parametrize("first", [1.0, np.array(1.0)], ids=["number", "array"])
def test_a_value_that_is_not_a_scalar_under_a_known_tag_becomes_nan_with_a_message(
    first: Any, value: Any
) -> None:
    values = iter([first, value, first])
    run = nbtrain.train(lambda: {"loss": next(values)}, on_nan=None).wait(SOON)
    np.testing.assert_array_equal(run.scalars["loss"].values, [1.0, np.nan, 1.0])
    assert "'loss' at step 2 is no scalar, kept as NaN: " in str(run.status.message)


def test_no_later_thread_passes_for_the_training_thread_of_a_run_that_has_ended(gate: Gate) -> None:
    trained_in: list[int] = []

    def step() -> dict[str, float]:
        trained_in.append(threading.get_ident())
        gate()
        return {"loss": 1.0}

    run = nbtrain.train(step)
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    run.wait(SOON)
    asked: list[tuple[int, bool]] = []
    for _ in range(100):  # until the system has given one the identity of the training thread
        thread = threading.Thread(
            target=lambda: asked.append((threading.get_ident(), run.should_stop()))
        )
        thread.start()
        thread.join()
        if asked[-1][0] == trained_in[0]:
            break
    assert all(stop for _, stop in asked)
    assert run.status.step == 1


@pytest.mark.timeout(SOON)
def test_a_loop_is_told_that_it_cannot_wait_for_itself() -> None:
    errors: list[str] = []

    @nbtrain.background(steps=2)
    def loop(run: Run) -> None:
        while not run.should_stop():
            for wait in (run.save().wait, run.wait):
                with pytest.raises(WaitError) as caught:
                    wait()
                errors.append(str(caught.value))

    loop.wait(SOON)
    assert errors[0].startswith("The training thread cannot wait for save")
    assert errors[1].endswith("leave the loop, or call request_stop() without wait().")
    assert loop.receipts[0].wait(SOON).step == 1


def test_an_error_that_cannot_say_what_it_is_ends_the_run_like_any_other() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def step() -> dict[str, float]:
        raise MuteError

    run = nbtrain.train(step)
    with pytest.raises(MuteError):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert "MuteError" in (run.status.error or "")
    assert journal(run)[-1]["event"] == "failed"
    assert journal(run)[-1]["text"] == "MuteError"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_no_runs(gate: Gate) -> None:
    run, _ = held(gate)
    child = os.fork()
    if child == 0:
        os._exit(len(nbtrain.runs()))
    assert os.waitpid(child, 0)[1] == 0
    assert nbtrain.runs() == {"held": run}
    run.request_stop()
    gate.open()
    run.wait(SOON)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_forked_while_a_run_starts_may_start_one() -> None:
    with registry._lock:  # as another thread that starts a run
        child = os.fork()
        if child == 0:
            signal.alarm(10)  # ends it if it waits for ever
            try:
                registry.claim("a", list, str)
                os._exit(0)
            finally:
                os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_run_that_is_started_again_has_no_earlier_receipts(gate: Gate) -> None:
    run, _ = held(gate)
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert [receipt.name for receipt in run.receipts] == ["stop"]
    run.start()
    assert list(run.receipts) == []
    run.request_stop()
    run.wait(SOON)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda run: run.post(3), r"post\(3\): give a command"),
        (lambda run: run.post(Pause(), at="x"), "at='x': give the number of a step"),
        (lambda run: run.post(Pause(), at=-1), "at=-1: give the number of a step"),
        (lambda run: run.post(Pause(), at=np.array([1, 2])), r"at=array.*: give the number of a"),
        (lambda run: run.set(3), "3 names no hyperparameter: give numbers by name"),
        (lambda run: run.trial([1]), r"\[1\] names no hyperparameter"),
    ],
)
def test_an_invalid_command_is_refused_and_the_training_continues(
    ask: Callable[[Run], object], why: str
) -> None:
    run = nbtrain.train(Counter().step, start=False)
    paused = run.post(Pause(), at=3)
    run.start()
    applied(paused)
    with pytest.raises(ArgumentError, match=why):
        ask(run)
    applied(run.resume())
    applied(run.request_stop())
    assert run.wait(SOON).status.error is None
