"""The end of the process: every run saves before it, and the exit status is the program's own."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import types
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.media.drawing import DRAWING
from nbtrain.run.process import endings
from tests.forked import Forked
from tests.gate import SOON
from tests.on_disk import journal

REACHED = 20
FOLDER = Path("runs/ended")


def trained(pipe: Connection, **settings: Any) -> nbtrain.Run:
    """Start a run, wait until it has done some steps, and tell that."""
    weight = tf.Variable(0.0)
    reached = threading.Event()

    def step() -> dict[str, Any]:
        weight.assign_add(1.0)
        tf.summary.scalar("seen", weight.value())
        if weight.numpy() >= REACHED:
            reached.set()
        return {"weight": weight.value()}

    checkpoint = tf.train.Checkpoint(weight=weight)
    run = nbtrain.train(step, checkpoint=checkpoint, name="ended", save_secs=None, **settings)
    assert reached.wait(SOON)
    pipe.send("trains")
    return run


def assert_saved() -> None:
    """The last checkpoint is of the step at which the run stopped; its event file is complete."""
    (checkpoint,) = listed(FOLDER / "checkpoints")
    ends = journal(FOLDER, "stopped")
    assert [entry["step"] for entry in ends] == [checkpoint.step]
    assert checkpoint.step >= REACHED
    scalars = nbtrain.scalars("runs")
    for tag in ("weight", "seen"):
        assert scalars["ended", tag].steps[-1] == checkpoint.step, tag


# --- a script that ends by itself -----------------------------------------------------


def ends(pipe: Connection, status: int) -> None:
    trained(pipe)
    if status:
        sys.exit(status)


@pytest.mark.parametrize("status", [0, 3])
def test_the_end_of_a_script_stops_its_run_and_saves(status: int) -> None:
    with Forked(ends, status, finalize=True) as child:
        assert child.answer() == "trains"
        assert child.wait() == status, child.err
    assert_saved()


def fails(pipe: Connection) -> None:
    trained(pipe)
    raise ValueError("my own")


def test_a_script_that_fails_has_its_own_error_and_saves() -> None:
    with Forked(fails, finalize=True) as child:
        assert child.answer() == "trains"
        assert child.wait() == 1, child.err
        assert "ValueError: my own" in child.err
    assert_saved()


# --- signals ----------------------------------------------------------------------------


def waits(pipe: Connection) -> None:
    trained(pipe).wait()
    print("went on")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_run_and_ends_the_process_as_it_would_have(number: int) -> None:
    with Forked(waits) as child:
        assert child.answer() == "trains"
        child.signal(number)
        assert child.wait() == -number, child.err
        assert child.out == "", "the program after run.wait() was not executed"
    assert_saved()


def held() -> list[int]:
    """The steps of the checkpoints."""
    return [checkpoint.step for checkpoint in listed(FOLDER / "checkpoints")]


def has_its_own(pipe: Connection, leaves: bool) -> None:
    def mine(number: int, _frame: object) -> None:
        pipe.send((number, len(held())))
        if leaves:
            os._exit(7)
        raise SystemExit(7)

    signal.signal(signal.SIGTERM, mine)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run = trained(pipe)
    signal.raise_signal(signal.SIGHUP)
    run.wait()


def test_a_handler_of_the_program_that_ends_it_is_called_after_a_checkpoint() -> None:
    with Forked(has_its_own, False, finalize=True) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGTERM)
        assert child.answer() == (signal.SIGTERM, 1)
        assert child.wait() == 7, child.err
    (end,) = journal(FOLDER, "stopped")
    assert held()[-1] == end["step"]


def test_one_that_leaves_at_once_has_the_work_saved() -> None:
    with Forked(has_its_own, True) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGTERM)
        assert child.answer() == (signal.SIGTERM, 1)
        assert child.wait() == 7, child.err
    assert held()[-1] >= REACHED


def reloads(pipe: Connection) -> None:
    signal.signal(signal.SIGHUP, lambda *_: pipe.send("reloaded"))
    run = trained(pipe)
    assert pipe.recv() == "go on"
    at, later = run.status.step, threading.Event()
    run.loop(0.01, lambda: later.set() if run.status.step > at else None)
    pipe.send(later.wait(SOON))


def test_the_training_continues_if_the_programs_handler_returns() -> None:
    with Forked(reloads, finalize=True) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGHUP)
        assert child.answer() == "reloaded"
        (saved,) = held()
        child.send("go on")
        assert child.answer(), "it takes steps"
        assert child.wait() == 0, child.err
    assert held()[0] == saved >= REACHED
    assert len(journal(FOLDER, "stopped")) == 1


def sets_one_later(pipe: Connection, chains: bool) -> None:
    run = trained(pipe)
    ours = signal.getsignal(signal.SIGTERM)

    def mine(number: int, frame: Any) -> None:
        pipe.send(len(held()))
        if chains:
            assert callable(ours)
            ours(number, frame)

    signal.signal(signal.SIGTERM, mine)
    if not chains:
        pipe.send(signal.getsignal(signal.SIGTERM) is mine)
    nbtrain.train(dict, steps=1, name="later").wait()
    signal.raise_signal(signal.SIGTERM)
    run.request_stop()
    run.wait()


def test_a_handler_that_is_set_later_is_called_after_the_save_once_a_run_was_started() -> None:
    with Forked(sets_one_later, False) as child:
        assert [child.answer() for _ in range(3)] == ["trains", True, 1]
        assert child.wait() == 0, child.err
    assert len(held()) == 2


def test_a_handler_that_calls_the_one_before_ends_the_process_as_that_would_have() -> None:
    with Forked(sets_one_later, True) as child:
        assert [child.answer() for _ in range(2)] == ["trains", 1]
        assert child.wait() == -signal.SIGTERM, child.err
    assert len(journal(FOLDER, "stopped")) == 1


def forks(pipe: Connection) -> None:
    run = trained(pipe)
    ours = signal.getsignal(signal.SIGTERM)
    assert callable(ours)
    signal.signal(signal.SIGTERM, lambda number, frame: ours(number, frame))
    here, there = os.pipe()
    if not (child := os.fork()):
        os.write(there, b".")
        while True:
            signal.pause()
    os.read(here, 1)
    os.kill(child, signal.SIGTERM)
    pipe.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    run.request_stop()
    run.wait()


def test_a_process_that_it_forks_is_terminated_by_a_handler_that_calls_ours() -> None:
    with Forked(forks) as child:
        assert [child.answer() for _ in range(2)] == ["trains", -signal.SIGTERM]
        assert child.wait() == 0, child.err


def starts_in_a_thread(pipe: Connection) -> None:
    def start() -> None:
        run = trained(pipe)
        pipe.send(run.status.message)
        run.request_stop()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    pipe.send(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    run = nbtrain.train(dict, steps=1, name="main").wait()
    pipe.send((signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, run.status.message))


def test_a_run_that_no_signal_saves_says_so() -> None:
    with Forked(starts_in_a_thread) as child:
        assert child.answer() == "trains"
        assert "started in another thread than the main one" in child.answer()
        assert child.answer(), "only the main thread sets a handler"
        assert child.answer() == (False, None)
        assert child.wait() == 0


# --- a step that takes too long -----------------------------------------------------------


def is_late(pipe: Connection) -> None:
    """Do not end the fourth step before the process has said that it is not saved."""
    endings._SAY_SECS = 0.5
    weight = tf.Variable(0.0)
    here, pause = threading.Event(), threading.Event()

    def step() -> dict[str, Any]:
        if weight.numpy() == 3.0:
            here.set()
            while not journal(FOLDER, "unsaved"):
                pause.wait(0.05)
        weight.assign_add(1.0)
        return {"weight": weight.value()}

    checkpoint = tf.train.Checkpoint(weight=weight)
    nbtrain.train(step, checkpoint=checkpoint, name="ended", grace=SOON)
    assert here.wait(SOON)


def test_a_late_save_is_reported_when_it_is_done() -> None:
    with Forked(is_late, finalize=True) as child:
        assert child.wait() == 0, child.err
        unsaved, saved = journal(FOLDER, "unsaved", "saved")
        assert "has not saved step 3 yet. " in unsaved["text"]
        assert saved["text"] == "The run 'ended' has saved step 4."
        said = [line for line in child.err.splitlines() if line.startswith("nbtrain: ")]
        assert said == [f"nbtrain: {unsaved['text']}", f"nbtrain: {saved['text']}"]
    assert held() == [4]


def hangs(pipe: Connection, waits: bool, exits: bool = False) -> None:
    if exits:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    weight = tf.Variable(0.0)
    never, here = threading.Event(), threading.Event()

    def step() -> dict[str, Any]:
        if weight.numpy() == 3.0:
            here.set()
            never.wait()
        weight.assign_add(1.0)
        return {"weight": weight.value()}

    checkpoint = tf.train.Checkpoint(weight=weight)
    run = nbtrain.train(step, checkpoint=checkpoint, name="ended", save_steps=2, grace=0.5)
    assert here.wait(SOON)
    pipe.send("hangs")
    if waits:
        run.wait()


def assert_told(err: str) -> None:
    """Which run was not saved, and since when, on the standard error and in the journal."""
    (entry,) = journal(FOLDER, "unsaved")
    assert entry["text"] in err
    assert "the run 'ended' has not saved step 3. Its last checkpoint is step 2: " in entry["text"]


@pytest.mark.parametrize("number", [signal.SIGTERM, 0])
def test_after_the_grace_the_process_ends_and_names_what_was_not_saved(number: int) -> None:
    """By a signal, and by the end of the script."""
    with Forked(hangs, bool(number), finalize=True) as child:
        assert child.answer() == "hangs"
        child.signal(number)
        assert child.wait() == -number, child.err
        assert_told(child.err)
    assert held() == [2]


def test_the_grace_is_waited_for_once_where_a_handler_exits() -> None:
    with Forked(hangs, True, True, finalize=True) as child:
        assert child.answer() == "hangs"
        child.signal(signal.SIGTERM)
        assert child.wait() == 0, child.err
        assert_told(child.err)
        assert child.err.count("nbtrain: ") == 1


class SlowEnd:
    """An object whose destruction, at the end of Python, lets other threads run for a while."""

    def __init__(self) -> None:
        self._wait = threading.Event().wait

    def __del__(self) -> None:
        self._wait(7.0)  # six seconds are as long as sleep(SIGABRT), which is no end


def multiplies(pipe: Connection) -> None:
    """Take a step that never returns from TensorFlow, whose threads are at work."""

    def multiply(number: Any, product: Any) -> Any:
        return number + 1, tf.matmul(product, matrix) / 300.0

    with tf.Graph().as_default() as graph:
        matrix = tf.random.uniform((300, 300))
        _, product = tf.while_loop(lambda number, _: number < 10**6, multiply, (0, matrix))
        session = tf.compat.v1.Session(graph=graph)
    calls(pipe, partial(session.run, product))


def extends(pipe: Connection) -> None:
    """Take a step that makes the call which begins each `Session.run`, while Python ends slowly.

    Its frames of C++ abort the process if the call returns to a Python that ends.
    """
    sys.modules["slow_end"] = module = types.ModuleType("slow_end")
    module.held = SlowEnd()  # type: ignore[attr-defined]
    calls(pipe, tf.compat.v1.Session(graph=tf.Graph())._extend_graph)


def calls(pipe: Connection, call: Callable[[], object]) -> None:
    """Train with one step that never ends, and end the process as it is told to."""
    here = threading.Event()

    def step() -> dict[str, Any]:
        while True:
            here.set()
            call()

    run = nbtrain.train(step, name="ended", grace=0.5)
    assert here.wait(SOON)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    pipe.send("calls")
    end = pipe.recv()
    if end == "exit":
        sys.exit(3)
    if end == "fail":
        raise ValueError("my own")
    run.wait()


@pytest.mark.parametrize(
    ("end", "status", "target"), [("exit", 3, extends), ("SIGTERM", 5, multiplies)]
)
def test_a_step_that_stays_in_tensorflow_does_not_change_the_status(
    end: str, status: int, target: Callable[[Connection], None]
) -> None:
    """The step comes back to Python while the interpreter ends, or never."""
    with Forked(target, finalize=True) as child:
        assert child.answer() == "calls"
        child.send(end)
        if end == "SIGTERM":
            child.signal(signal.SIGTERM)
        assert child.wait() == status, child.err
        assert "has not saved step 0" in child.err


def test_nor_does_it_where_the_program_fails() -> None:
    with Forked(multiplies, finalize=True) as child:
        assert child.answer() == "calls"
        child.send("fail")
        assert child.wait() == 1, child.err
        assert "ValueError: my own" in child.err


# --- other threads ------------------------------------------------------------------------


def leaves_threads(_pipe: Connection) -> None:
    """Tell which threads are left once nbtrain has ended its own."""
    from nbtrain.notebook.boards import Following

    def left() -> list[str]:
        return [each.name for each in threading.enumerate() if each is not threading.main_thread()]

    atexit.unregister(endings._at_exit)
    atexit.register(lambda: print(left()))
    atexit.register(endings._at_exit)  # the latest is called first
    nbtrain.train(dict, steps=1, name="ended").wait()
    Following(nbtrain.scalars("runs"), follow=True).start()
    nbtrain.LooperThread.loop(nbtrain.Coordinator(), 0.01, lambda: None)
    assert left()


def test_no_thread_of_nbtrain_outlives_the_end() -> None:
    with Forked(leaves_threads, finalize=True) as child:
        assert child.wait() == 0, child.err
        assert child.out == "[]\n"


def draws(pipe: Connection) -> None:
    run = trained(pipe)
    drawing = threading.Event()

    def draw() -> None:
        with DRAWING:
            drawing.set()
            pipe.send(run.coord.wait_for_stop(2.0))

    threading.Thread(target=draw, name="nbtrain picture", daemon=True).start()
    assert drawing.wait(SOON)


def test_the_runs_are_asked_to_stop_before_a_drawing_is_waited_for() -> None:
    with Forked(draws, finalize=True) as child:
        assert child.answer() == "trains"
        assert child.answer() is True
        assert child.wait() == 0, child.err
    assert_saved()
