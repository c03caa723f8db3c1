"""Commands of three senders to a run that is killed again and again: each has one true answer."""

from __future__ import annotations

import contextlib
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.rundir.answers import outcome_of
from nbtrain.rundir.mailbox import answer_to, send
from tests.faults import rounds
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.models import Counter
from tests.on_disk import journal

FOLDER = Path("runs/far")
MAILBOX = FOLDER / "mailbox"
SENDERS = 3


def train(pipe: Connection) -> None:
    """Train until this process is killed."""
    pace = threading.Event()
    counter, rate = Counter(lambda _count: pace.wait(0.002)), tf.Variable(0.5)
    run = nbtrain.train(
        counter.step, hyperparameters={"rate": rate}, checkpoint=counter.checkpoint, name="far"
    )
    pipe.send("trains")
    run.wait()


def put(key: str, draw: Random) -> None:
    """Send a command, perhaps one that must be refused."""
    if draw.random() < 0.2:
        (MAILBOX / f"{key}.json").write_text("[1]")
    else:
        values = {"rate": draw.random()}
        send(FOLDER, key, {"command": draw.choice(["set", "save", "explode"]), "values": values})


class Senders:
    """Threads that send commands, and one that sees each answer."""

    def __init__(self, draw: Random) -> None:
        self.answers: dict[str, Any] = {}  # by the ids of what was sent; None before the last
        self.changed: list[str] = []  # ids with another last answer than before
        self._end = threading.Event()
        seeds = [draw.random() for _ in range(SENDERS)]
        self._threads = [
            *(threading.Thread(target=self._send, args=(Random(seed), seed)) for seed in seeds),
            threading.Thread(target=self._watch),
        ]
        for thread in self._threads:
            thread.start()

    def _send(self, draw: Random, name: float) -> None:
        number = 0
        while not self._end.wait(draw.uniform(0.0, 0.05)):
            number += 1
            key = f"{name:.6f}-{number}".replace(".", "_")
            put(key, draw)
            self.answers[key] = None

    def _watch(self) -> None:
        while not self._end.wait(0.01):
            self.look()

    def look(self) -> bool:
        """Reads the answers; returns whether all have come."""
        for key, known in list(self.answers.items()):
            found = answer_to(FOLDER, key)
            if found is not None and outcome_of(found) is not None:
                self.changed += [key] if known not in (None, found) else []
                self.answers[key] = found
        return all(self.answers.values())

    def stop(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(SOON)


def test_each_command_to_a_run_that_is_killed_has_one_true_answer() -> None:
    with contextlib.ExitStack() as stack:
        senders: Senders | None = None
        for draw in rounds(4):
            with Forked(train) as child:
                assert child.answer() == "trains"
                eventually((MAILBOX / "answers").is_dir)
                if senders is None:
                    senders = Senders(draw)
                    stack.callback(senders.stop)
                threading.Event().wait(draw.uniform(0.0, 1.0))
                child.kill()
        assert senders is not None
        senders.stop()
        with Forked(train) as child:
            assert child.answer() == "trains"
            eventually(senders.look)
            child.kill()
    assert senders.changed == []
    done = [line["id"] for line in journal(FOLDER) if "id" in line and line["applied"]]
    applied = [key for key, told in senders.answers.items() if told["state"] == "applied"]
    assert sorted(done) == sorted(applied)
    left = [path for path in MAILBOX.rglob("*") if path.is_file() and path.parent.name != "answers"]
    assert left == []
