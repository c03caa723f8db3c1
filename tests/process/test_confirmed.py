"""What a receipt has confirmed is on disk: a kill at any moment after it loses nothing of that."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.folder.entries import entries
from nbtrain.folder.timeline import aside
from nbtrain.run import Run
from nbtrain.saving.listing import latest
from nbtrain.steering.commands import Pause, Receipt, Replay, Save, Try
from tests.forked import Forked
from tests.models import Counter, applied

# Asked of a run that has saved at steps 5 and 9 and is paused at step 10; a trial has saved a
# checkpoint of its own before it ends.
ASKED: dict[str, Callable[[Run], Receipt]] = {
    "save": lambda run: run.save(),
    "restore": lambda run: run.restore(5),
    "set": lambda run: run.set(rate=0.25),
    "pause": lambda run: run.pause(),
    "resume": lambda run: run.resume(),
    "evaluate": lambda run: run.evaluate(),
    "replay": lambda run: run.post(Replay(((20, {"rate": 0.125}),), "1 edit")),
    "stop": lambda run: run.request_stop(),
    "kept": lambda run: tried(run, keep=True),
    "gone back": lambda run: tried(run, keep=False),
}
# The step of the checkpoint that a next start goes on from.
LATEST = {"save": 10, "restore": 5, "set": 9, "evaluate": 9, "replay": 9}


def tried(run: Run, *, keep: bool) -> Receipt:
    trial = run.post(Try({"rate": 0.25}, 5, lambda _before, _after: keep))
    run.post(Save(), at=12)
    run.resume()
    return trial


def begun(kind: str) -> Run:
    """A run that can be asked."""
    counter = Counter()
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        hyperparameters={"rate": tf.Variable(0.5)},
        evaluate=lambda: {"loss": 2.0},
        name=kind,
        start=False,
    )
    for step in (5, 9):
        run.post(Save(), at=step)
    at = run.post(Pause(), at=10)
    run.start()
    applied(at)
    if kind == "pause":
        applied(run.resume())
    return run


def asked(pipe: Connection, delay: float) -> None:
    """Ask one run for each, and be killed so many seconds after the last answer."""
    runs = {kind: begun(kind) for kind in ASKED}
    receipts = {kind: ask(runs[kind]) for kind, ask in ASKED.items()}
    outcomes = {kind: receipt.wait() for kind, receipt in receipts.items()}
    threading.Event().wait(delay)
    pipe.send({kind: str(outcome) for kind, outcome in outcomes.items()})
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("milliseconds", [0, 20, 50, 150])
def test_a_kill_after_receipts_of_every_kind_loses_nothing_that_they_say(
    milliseconds: int,
) -> None:
    with Forked(asked, milliseconds / 1000) as child:
        outcomes: dict[str, str] = child.answer()
        assert child.wait() == -signal.SIGKILL
    for kind, outcome in outcomes.items():
        folder = Path("runs") / kind
        event = "try" if kind in ("kept", "gone back") else kind
        lines = [each for each in entries(folder) if each["event"] == event]
        assert f"applied at step {lines[-1]['step']:,}: {lines[-1]['text']}" == outcome, kind
        found = latest(folder / "checkpoints")
        assert found is not None
        assert found.step == LATEST.get(kind, found.step), kind
        if kind == "gone back":  # from step 15, and from the checkpoint of step 12
            assert aside(found.path)
            assert found.step >= 10
    assert lines_of("kept", "try")[-1]["kept"] is True
    assert lines_of("set", "set")[-1]["edits"] == {"rate": [0.5, 0.25]}
    assert nbtrain.scalars("runs")["evaluate", "val_loss"].values.tolist() == [2.0]


def lines_of(kind: str, event: str) -> list[Any]:
    """What a run wrote down of one kind."""
    return [each for each in entries(Path("runs") / kind) if each["event"] == event]
