"""Commands from eight threads at once: each is answered once, and the answer is true."""

from __future__ import annotations

import threading
from collections import Counter as Bag
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.rundir.entries import Entry
from tests.faults import rounds
from tests.gate import SOON
from tests.models import Counter
from tests.on_disk import journal

THREADS = 8
# Commands that a thread gives before it waits for their answers: together more than may wait.
BURST = 12
BURSTS = 20
KINDS = ["pause", "resume", "set", "evaluate", "save", "restore"]
WEIGHTS = [2, 6, 5, 3, 1, 1]
FULL = "64 commands wait already"

Answered = list[tuple[Receipt, Outcome]]


def ask(run: nbtrain.Run, kind: str, draw: Random) -> Receipt:
    """Post a command; what it is given may be nonsense."""
    if kind == "set":
        return run.set(rate=draw.choice([draw.random(), draw.random(), float("nan")]))
    if kind == "restore":
        return run.restore(draw.choice([None, draw.randint(0, 300), "nowhere"]))
    receipt: Receipt = getattr(run, kind)()
    return receipt


def commanded(run: nbtrain.Run, draw: Random) -> Answered:
    """Eight threads at once; every receipt with its answer."""
    answered: Answered = []

    def command(own: Random) -> None:
        for _ in range(BURSTS):
            kinds = own.choices(KINDS, WEIGHTS, k=BURST)
            receipts = [ask(run, kind, own) for kind in kinds]
            answered.extend((receipt, receipt.wait(SOON)) for receipt in receipts)

    threads = [
        threading.Thread(target=command, args=(Random(draw.random()),)) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert len(answered) == THREADS * BURSTS * BURST
    return answered


def test_each_command_of_eight_threads_is_answered_once_and_truly() -> None:
    for number, draw in enumerate(rounds(1)):
        counter, rate = Counter(), tf.Variable(0.0)
        run = nbtrain.train(
            counter.step,
            checkpoint=counter.checkpoint,
            hyperparameters={"rate": rate},
            evaluate=lambda: {"twice": 2.0},
            keep=None,
            name=f"commanded-{number}",
        )
        answered = commanded(run, draw)
        run.request_stop()
        run.wait(SOON)
        entries = journal(run, *KINDS)
        assert_each_is_in_the_journal(answered, entries)
        assert_true(run, entries, float(rate))


def assert_each_is_in_the_journal(answered: Answered, entries: list[Entry]) -> None:
    """No answer is lost or given twice, and none was given of what was not executed."""
    assert len({receipt.number for receipt, _ in answered}) == len(answered)
    assert all(receipt.outcome is outcome for receipt, outcome in answered)
    refused = [outcome for _, outcome in answered if outcome.text.startswith(FULL)]
    assert not any(outcome.applied for outcome in refused)
    executed = Bag(
        (receipt.name, outcome.step, outcome.text, outcome.applied)
        for receipt, outcome in answered
        if not outcome.text.startswith(FULL)
    )
    assert executed == Bag(
        (entry["event"], entry["step"], entry["text"], entry["applied"]) for entry in entries
    )


def assert_true(run: nbtrain.Run, entries: list[Entry], rate: float) -> None:
    """Checks that everything answered was done, in the order of the journal."""
    applied = [entry for entry in entries if entry["applied"]]
    switches = [entry["event"] for entry in applied if entry["event"] in ("pause", "resume")]
    assert all(first != second for first, second in pairwise(["resume", *switches]))
    edits = [entry["edits"]["rate"] for entry in applied if entry.get("edits")]
    assert all(first[1] == second[0] for first, second in pairwise(edits))
    assert np.float32(edits[-1][1]) == np.float32(rate)
    on_disk = {Path(held.path).name for held in run.checkpoints}
    for entry in applied:
        if entry["event"] == "save":
            assert entry["text"] == f"saved ckpt-{entry['step']}"
            assert f"ckpt-{entry['step']}" in on_disk
        if entry["event"] == "restore":
            assert entry["text"].startswith(f"restored ckpt-{entry.get('to', entry['step'])}:")
    for held in run.checkpoints:
        reader = tf.train.load_checkpoint(held.path)
        assert reader.get_tensor("count/.ATTRIBUTES/VARIABLE_VALUE") == held.step
