"""The end of the process: every run saves before it, and the exit status is the program's own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain import endings
from nbtrain.saving.checkpoints import listed
from tests.forked import Forked
from tests.gate import SOON

REACHED = 20


def trained(pipe: Connection, **settings: Any) -> nbtrain.Run:
    """Start a run, wait until it has done some steps, and tell that."""
    weight = tf.Variable(0.0)
    reached = threading.Event()

    def step() -> dict[str, Any]:
        weight.assign_add(1.0)
        if weight.numpy() >= REACHED:
            reached.set()
        return {"weight": weight.value()}

    checkpoint = tf.train.Checkpoint(weight=weight)
    run = nbtrain.train(step, checkpoint=checkpoint, name="ended", save_secs=None, **settings)
    assert reached.wait(SOON)
    pipe.send("trains")
    return run


def journal() -> list[dict[str, Any]]:
    """The entries of the run's journal."""
    lines = Path("runs/ended/steering.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def assert_saved() -> None:
    """The last checkpoint is of the step at which the run stopped; its event file is complete."""
    (checkpoint,) = listed(Path("runs/ended/checkpoints"))
    ends = [entry for entry in journal() if entry["event"] == "stopped"]
    assert [entry["step"] for entry in ends] == [checkpoint.step]
    assert checkpoint.step >= REACHED
    weights = nbtrain.scalars("runs")["ended", "weight"]
    assert weights.steps[-1] == checkpoint.step


# --- a script that ends by itself -----------------------------------------------------


def ends(pipe: Connection) -> None:
    trained(pipe)


def test_the_end_of_a_script_stops_its_run_and_saves() -> None:
    with Forked(ends, finalize=True) as child:
        assert child.answer() == "trains"
        assert child.wait() == 0, child.err
    assert_saved()


SCRIPT = """\
import sys
from tests.process.test_endings import trained
class Pipe:
    def send(self, value): pass
trained(Pipe())
{end}
"""


@pytest.mark.parametrize(("end", "status"), [("sys.exit(3)", 3), ("raise ValueError('my own')", 1)])
def test_the_status_is_that_of_the_program(end: str, status: int, tmp_path: Path) -> None:
    code = SCRIPT.format(end=end)
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=SOON, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert ("ValueError: my own" in done.stderr) == (status == 1)
    assert_saved()


# --- signals ----------------------------------------------------------------------------


def waits(pipe: Connection) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # the tests may be run by nohup
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


def has_its_own(pipe: Connection) -> None:
    seen: list[int] = []

    def mine(number: int, _frame: object) -> None:
        seen.append(number)
        pipe.send((number, str(nbtrain.runs()["ended"].status.phase)))
        raise SystemExit(7)

    signal.signal(signal.SIGTERM, mine)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run = trained(pipe)
    signal.raise_signal(signal.SIGHUP)
    run.wait()


def test_a_handler_of_the_program_is_called_after_the_last_checkpoint() -> None:
    with Forked(has_its_own) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGTERM)
        assert child.answer() == (signal.SIGTERM, "stopped")
        assert child.wait() == 7, child.err
    assert_saved()


def leaves_alone(pipe: Connection) -> None:
    """Set a handler after the start, start another run, and start the first in a thread."""
    thread = threading.Thread(target=lambda: trained(pipe).request_stop())
    thread.start()
    thread.join()
    pipe.send(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    nbtrain.train(dict, steps=1, name="main").wait()
    pipe.send(signal.getsignal(signal.SIGTERM) is endings._on_signal)
    signal.signal(signal.SIGTERM, mine := lambda *_: None)
    nbtrain.train(dict, steps=1, name="later").wait()
    pipe.send(signal.getsignal(signal.SIGTERM) is mine)


def test_only_the_main_thread_sets_a_handler_and_a_later_one_stays() -> None:
    with Forked(leaves_alone) as child:
        assert [child.answer() for _ in range(4)] == ["trains", True, True, True]
        assert child.wait() == 0


# --- a step that takes too long -----------------------------------------------------------


def hangs(pipe: Connection, waits: bool) -> None:
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
    (entry,) = [entry for entry in journal() if entry["event"] == "unsaved"]
    assert entry["text"] in err
    assert "the run 'ended' has not saved step 3. Its last checkpoint is step 2: " in entry["text"]


@pytest.mark.parametrize("number", [signal.SIGTERM, 0])
def test_where_the_grace_is_over_the_process_ends_and_says_what_was_not_saved(number: int) -> None:
    """By a signal, and by the end of the script."""
    with Forked(hangs, bool(number), finalize=True) as child:
        assert child.answer() == "hangs"
        child.signal(number)
        assert child.wait() == -number, child.err
        assert_told(child.err)
    assert [held.step for held in listed(Path("runs/ended/checkpoints"))] == [2]
