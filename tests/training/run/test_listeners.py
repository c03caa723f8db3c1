"""Functions that are called when something happens to a run."""

from __future__ import annotations

import ast
import contextvars
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import WITHOUT_ARGUMENTS
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from nbtrain.rundir.entries import EVENTS
from nbtrain.rundir.journal import Mark
from tests.gate import SOON, Gate


@pytest.fixture
def gate() -> Gate:
    """Closed at first."""
    return Gate()


@pytest.fixture
def run(tmp_path: Path, gate: Gate) -> Iterator[Run]:
    """A run that has not been started, whose steps the gate lets pass."""

    def step() -> dict[str, float]:
        gate()
        return {"loss": 0.5}

    checkpoint = tf.train.Checkpoint(weight=tf.Variable(1.0))
    made = nbtrain.train(
        step, steps=3, checkpoint=checkpoint, logdir=tmp_path / "run", save_steps=2, start=False
    )
    yield made
    gate.open()
    if made.status.phase is not Phase.CREATED:
        made.request_stop()
        assert made.attempt.ended.wait(SOON)


class Told:
    """Keeps what it is called with."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.called = threading.Semaphore(0)

    def __call__(self, mark: Mark) -> None:
        self.marks.append(mark)
        self.called.release()

    @property
    def events(self) -> list[str]:
        """In words."""
        return [mark.event for mark in self.marks]


def test_the_end_is_told_once_and_when_it_has_come(run: Run, gate: Gate) -> None:
    seen = []
    gate.open()
    run.on("finished", lambda mark: seen.append((mark.event, mark.step, run.status.phase)))
    run.start().wait(SOON)
    assert seen == [("finished", 3, Phase.FINISHED)]


def test_actions_on_a_run_are_reported_in_order(run: Run, gate: Gate) -> None:
    told = Told()
    for event in ("start", "checkpoint", "save", "stopped", "finished"):
        run.on(event, told)
    run.start()
    gate.allow(2)
    gate.wait_for_arrivals(3)
    receipt = run.save()
    gate.allow()
    receipt.wait(SOON)
    run.wait(SOON)
    assert told.events == ["start", "checkpoint", "save", "finished"]
    assert [mark.step for mark in told.marks] == [0, 2, 3, 3]


def test_a_checkpoint_is_reported_while_the_run_is_live(run: Run, gate: Gate) -> None:
    told = Told()
    run.on("checkpoint", told)
    run.start()
    gate.allow(2)
    assert told.called.acquire(timeout=SOON)
    assert run.status.phase is Phase.RUNNING


def test_a_function_is_not_called_in_the_training_thread(run: Run, gate: Gate) -> None:
    threads = []
    run.on("checkpoint", lambda _mark: threads.append(threading.get_ident()))
    run.start()
    gate.wait_for_arrivals()
    training = run.attempt.ident
    gate.open()
    run.wait(SOON)
    assert threads
    assert training
    assert threads[0] not in (training, threading.get_ident())


def test_a_refused_command_calls_no_listener(run: Run, gate: Gate) -> None:
    told = Told()
    run.on("restore", told)
    run.start()
    gate.wait_for_arrivals()
    receipt = run.restore("nowhere")
    gate.open()
    assert not receipt.wait(SOON).applied
    run.wait(SOON)
    assert told.marks == []


def test_a_failure_is_told_with_its_error() -> None:
    told = Told()

    def torn() -> dict[str, float]:
        raise OSError("torn")

    run = nbtrain.train(torn, name="torn", start=False)
    run.on("failed", told)
    run.start()
    with pytest.raises(OSError, match="torn"):
        run.wait(SOON)
    assert "torn" in told.marks[0].text


def test_several_are_called_each_once_in_their_order(run: Run, gate: Gate) -> None:
    called = []

    def first(_mark: Mark) -> None:
        called.append("first")

    gate.open()
    run.on("finished", first)
    run.on("finished", lambda _mark: called.append("second"))
    run.on("finished", first)
    run.start().wait(SOON)
    assert called == ["first", "second"]


def test_the_decorator_leaves_the_function_unchanged(run: Run) -> None:
    @run.on("finished")
    def steps(mark: Mark) -> int:
        return mark.step

    assert steps(Mark("finished", 7, 0.0)) == 7


@pytest.mark.parametrize("error", [ValueError("no mail"), SystemExit(1)])
def test_an_error_is_shown_and_harms_nothing(run: Run, gate: Gate, error: BaseException) -> None:
    told = Told()

    def fails(_mark: Mark) -> None:
        raise error

    run.on("checkpoint", fails)
    run.on("checkpoint", told)
    run.start()
    gate.allow(2)
    assert told.called.acquire(timeout=SOON)
    gate.open()
    run.wait(SOON)
    assert len(run.scalars["loss"].values) == 3
    assert 'The function of run.on("checkpoint") failed' in str(run.status.message)
    assert type(error).__name__ in str(run.status.message)


def test_an_unknown_event_is_refused_with_those_there_are(run: Run) -> None:
    with pytest.raises(ArgumentError, match=r"no such event; there are start, .*finished, stopped"):
        run.on("zzz", print)
    with pytest.raises(ArgumentError, match=r"no such event \(was 'finished' meant\?\); there are"):
        run.on("finishd", print)
    with pytest.raises(ArgumentError, match="no such event"):
        run.on("done")


def test_an_argument_that_is_not_callable_raises(run: Run) -> None:
    with pytest.raises(ArgumentError, match=r"on\('failed', 'mail'\): give a function"):
        run.on("failed", "mail")  # type: ignore[arg-type]


def test_earlier_events_are_not_reported(run: Run, gate: Gate) -> None:
    told = Told()
    gate.open()
    run.start().wait(SOON)
    run.on("finished", told)
    run.attempt.monitor_threads.join(SOON)
    assert told.marks == []


def test_a_later_start_of_the_run_is_reported_too(run: Run, gate: Gate) -> None:
    told = Told()
    gate.open()
    run.on("finished", told)
    run.start().wait(SOON)
    run.start().wait(SOON)
    assert told.events == ["finished", "finished"]


def test_a_run_can_be_started_again_by_a_function_that_is_told_of_its_failure() -> None:
    broken, told = [True], Told()

    def step() -> dict[str, float]:
        if broken and broken.pop():
            raise OSError("torn")
        return {"loss": 0.5}

    run = nbtrain.train(step, name="again", steps=2, start=False)
    run.on("failed", lambda _mark: run.start())
    run.on("finished", told)
    run.start()
    assert told.called.acquire(timeout=SOON)
    assert run.wait(SOON).status.phase is Phase.FINISHED


def test_a_function_cannot_wait_for_the_end_that_comes_after_it(run: Run, gate: Gate) -> None:
    gate.open()
    run.on("checkpoint", lambda _mark: run.wait())
    run.start().wait(SOON)
    assert "cannot wait for its end" in str(run.status.message)


def test_a_function_can_steer_and_wait_for_the_answer(run: Run, gate: Gate) -> None:
    answers = []
    run.on("pause", lambda _mark: answers.append(run.resume().wait(SOON).text))
    run.start()
    gate.wait_for_arrivals()
    run.pause()
    gate.open()
    run.wait(SOON)
    assert answers == ["running again"]


def test_a_function_that_takes_long_holds_up_no_record_and_no_display(run: Run, gate: Gate) -> None:
    slow, ticked = Gate(), threading.Event()
    run.on("start", lambda _mark: slow())

    def look() -> None:
        if "loss" in run.scalars and run.scalars["loss"].steps.tolist() == [1, 2]:
            ticked.set()

    run.on_tick(look)
    run.start()
    slow.wait_for_arrivals()
    gate.allow(2)
    assert ticked.wait(SOON)
    slow.open()
    gate.open()
    run.wait(SOON)


def test_late_messages_of_an_ended_start_do_not_block_those_of_the_next(
    run: Run, gate: Gate
) -> None:
    slow, told, lives = Gate(), Told(), []

    def tell(mark: Mark) -> None:
        lives.append(mark)
        if len(lives) == 1:
            slow()
        told(mark)

    gate.open()
    run.on("finished", tell)
    run.start()
    slow.wait_for_arrivals()
    run.start()
    assert told.called.acquire(timeout=SOON)
    slow.open()
    run.wait(SOON)
    assert len(lives) == 2
    assert "failed" not in str(run.status.message)


def test_a_function_runs_in_the_context_of_the_cell_that_registered_it(
    run: Run, gate: Gate
) -> None:
    cell = contextvars.ContextVar("cell", default=0)
    seen = []
    gate.open()
    token = cell.set(7)
    run.on("finished", lambda _mark: seen.append(cell.get()))
    cell.reset(token)
    run.start().wait(SOON)
    assert seen == [7]


def test_all_that_is_logged_is_an_event() -> None:
    house = Path(str(sys.modules["nbtrain"].__file__)).parent
    logged = {
        word.value.value
        for path in house.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)
        if (node.func.id if isinstance(node.func, ast.Name) else node.func.attr).endswith("log")
        for word in node.keywords
        if word.arg == "event" and isinstance(word.value, ast.Constant)
    }
    assert logged | {*WITHOUT_ARGUMENTS, "set", "try"} <= {*EVENTS}
