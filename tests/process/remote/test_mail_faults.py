"""The door of a run under load and faults: many senders at once, and a full disk."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import tensorflow as tf

import nbtrain
from nbtrain.rundir.mailbox import answer_to, send
from tests.forked import Forked
from tests.gate import eventually
from tests.models import Counter
from tests.on_disk import journal
from tests.room import no_room

FOLDER = Path("runs/far")

SENDERS, COMMANDS = 3, 167


def train(pipe: Connection) -> None:
    """Train, and do what the pipe says, until it says "end" or is closed."""
    pace = threading.Event()
    counter, rate = Counter(lambda _count: pace.wait(0.001)), tf.Variable(0.5)
    run = nbtrain.train(counter.step, hyperparameters={"rate": rate}, name="far")
    full = contextlib.ExitStack()
    acts: dict[str, Callable[[], object]] = {
        "fill the disk": lambda: full.enter_context(no_room()),
        "make room": full.close,
        "message": lambda: run.status.message,
        "step": lambda: run.status.step,
        "stop": lambda: run.request_stop() and run.wait().status.phase.value,
        "start": lambda: run.start().status.phase.value,
        "pause and resume": lambda: (run.pause().wait(), run.resume().wait()),
    }
    pipe.send("trains")
    with contextlib.suppress(EOFError):
        while (asked := pipe.recv()) != "end":
            pipe.send(acts[asked]())
    run.request_stop()
    run.wait()


def ask(child: Forked, words: str) -> Any:
    child.send(words)
    return child.answer()


def last_answer(key: str) -> dict[str, Any] | None:
    """The last answer to a command; None before it."""
    found = answer_to(FOLDER, key)
    return dict(found) if found is not None and found["state"] != "requested" else None


def answered(key: str) -> dict[str, Any]:
    """The last answer to a command, once it is there."""
    found: dict[str, Any] = eventually(lambda: last_answer(key))
    return found


def send_many(pipe: Connection, number: int) -> None:
    """Send commands at once, and tell the states of their answers."""
    keys = [f"{number}-{count}" for count in range(COMMANDS)]
    pipe.recv()
    for count, key in enumerate(keys):
        values = {"rate": (1 + number * COMMANDS + count) / 1000}
        send(FOLDER, key, {"command": "set", "values": values, "by": f"sender {number}"})
    pipe.send({key: answered(key)["state"] for key in keys})


def test_each_command_of_several_processes_is_done_and_answered_once() -> None:
    with contextlib.ExitStack() as stack:
        child = stack.enter_context(Forked(train))
        assert child.answer() == "trains"
        eventually((FOLDER / "mailbox" / "answers").is_dir)
        senders = [stack.enter_context(Forked(send_many, number)) for number in range(SENDERS)]
        for sender in senders:
            sender.send("go")
        states: dict[str, str] = {}
        for sender in senders:
            states |= sender.answer()
        assert set(states.values()) == {"applied"}
        lines = journal(FOLDER, "set")
        assert sorted(line["id"] for line in lines) == sorted(states)
        assert len(states) == SENDERS * COMMANDS
        # Each edit begins where the one before it has ended: none was lost, none done twice.
        edits = [line["edits"]["rate"] for line in lines]
        assert [old for old, _ in edits[1:]] == [new for _, new in edits[:-1]]
        assert not list((FOLDER / "mailbox").glob("*.json"))
        eventually(lambda: not list((FOLDER / "mailbox" / "taken").iterdir()))


def test_on_a_full_disk_commands_are_done_and_answered_once_there_is_room() -> None:
    with Forked(train) as child:
        assert child.answer() == "trains"
        eventually((FOLDER / "mailbox" / "answers").is_dir)
        ask(child, "fill the disk")
        commands: dict[str, dict[str, Any]] = {
            "a": {"command": "set", "values": {"rate": 0.25}},
            "b": {"command": "pause"},
            "c": {"command": "explode"},
            "d": {"command": "resume"},
        }
        for key, fields in commands.items():
            send(FOLDER, key, fields)
        eventually(lambda: not list((FOLDER / "mailbox").glob("*.json")))
        words = "Other processes may see an old state of this run, or wait for an answer"
        door = f" cannot be written: File too large. {words}"
        lines = "steering.jsonl cannot be written: File too large. Its lines wait in memory"
        eventually(lambda: all(each in str(ask(child, "message")) for each in (door, lines)))
        step = ask(child, "step")
        eventually(lambda: ask(child, "step") > step)
        assert [last_answer(key) for key in commands] == [None] * 4
        ask(child, "make room")
        told = {key: answered(key) for key in commands}
        assert {key: each["state"] for key, each in told.items()} == {
            **dict.fromkeys("abd", "applied"),
            "c": "refused",
        }
        assert "There is no command 'explode'" in told["c"]["text"]
        eventually(lambda: [line["id"] for line in journal(FOLDER) if "id" in line] == [*"abd"])


def test_journal_lines_that_wait_for_room_are_written_by_the_next_start() -> None:
    with Forked(train) as child:
        assert child.answer() == "trains"
        eventually(lambda: journal(FOLDER, "start"))
        ask(child, "fill the disk")
        ask(child, "pause and resume")
        assert ask(child, "stop") == "stopped"
        assert {line["event"] for line in journal(FOLDER)} <= {"start", "segment"}
        ask(child, "make room")
        ask(child, "start")
        eventually(lambda: len(journal(FOLDER, "start")) == 2)  # written with its first step
        events = [line["event"] for line in journal(FOLDER)]
        assert [each for each in events if each not in ("back", "segment", "stop")] == [
            *("start", "pause", "resume", "stopped", "start")
        ]
