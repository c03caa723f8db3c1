"""A confirmed effect is on disk: a kill at any moment after its receipt loses nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.listing import latest
from nbtrain.core.commands import Pause, Replay, Save, Try
from nbtrain.core.receipts import Receipt
from nbtrain.run.run import Run
from nbtrain.rundir.timeline import side_folder
from tests.forked import Forked
from tests.gate import SOON
from tests.models import Counter, applied
from tests.on_disk import journal

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


def asked(pipe: Connection, kind: str, delay: float) -> None:
    """Ask a run for this, and be killed so many seconds after the answer."""
    run = begun(kind)
    outcome = ASKED[kind](run).wait(SOON)
    threading.Event().wait(delay)
    pipe.send(str(outcome))
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("kind", ASKED)
def test_a_kill_after_a_receipt_of_any_kind_loses_nothing_that_it_says(
    kind: str, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        children = []
        for number, milliseconds in enumerate((0, 100)):
            folder = tmp_path / str(number)
            folder.mkdir()
            child = Forked(asked, kind, milliseconds / 1000, folder=folder)
            children.append((folder, stack.enter_context(child)))
        for folder, child in children:
            outcome = child.answer()
            assert child.wait() == -signal.SIGKILL
            assert_on_disk(kind, folder / "runs" / kind, outcome)


def assert_on_disk(kind: str, folder: Path, outcome: str) -> None:
    """Checks that the answer is in the journal, and that the next start continues from it."""
    last = journal(folder, "try" if kind in ("kept", "gone back") else kind)[-1]
    assert f"applied at step {last['step']:,}: {last['text']}" == outcome
    found = latest(folder / "checkpoints")
    assert found is not None
    assert found.step == LATEST.get(kind, found.step)
    if kind == "gone back":  # from step 15, and from the checkpoint of step 12
        assert side_folder(found.path)
        assert found.step >= 10
    if kind == "kept":
        assert last["kept"] is True
    if kind == "set":
        assert last["edits"] == {"rate": [0.5, 0.25]}
    if kind == "evaluate":
        scalars = nbtrain.scalars(folder.parent)
        assert scalars[kind, "val_loss"].values.tolist() == [2.0]
