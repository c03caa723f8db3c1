"""kill -9 of a run that has taken a command: the next start gives the one answer."""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from pathlib import Path

import nbtrain
from nbtrain.rundir.mailbox import answer_to, send
from tests.forked import Forked
from tests.gate import Gate, eventually
from tests.models import Counter
from tests.on_disk import journal

FOLDER = Path("runs/killed")


def train(pipe: Connection, passes: int, steps: int | None = None) -> None:
    """Train, with a step that stands still after some."""
    gate = Gate(passes)
    run = nbtrain.train(Counter(gate).step, steps=steps, name="killed")
    gate.wait_for_arrivals(passes + 1 if steps is None else 1)
    pipe.send("stands")
    if steps is not None:
        run.wait()
        pipe.send("ended")
    gate.wait_for_arrivals()


def test_a_command_that_was_taken_and_not_done_is_refused_by_the_next_start() -> None:
    with Forked(train, 3) as first:
        assert first.answer() == "stands"
        send(FOLDER, "a1", {"command": "pause"})
        eventually(lambda: (answer_to(FOLDER, "a1") or {}).get("state") == "requested")
        first.kill()
    with Forked(train, 10, 5) as second:
        assert [second.answer(), second.answer()] == ["stands", "ended"]
    told = answer_to(FOLDER, "a1")
    assert told is not None
    assert told["state"] == "refused"
    assert "ended before it answered" in told["text"]
    assert journal(FOLDER, "pause") == []
    assert list((FOLDER / "mailbox" / "taken").iterdir()) == []


def test_a_command_that_was_done_but_not_answered_is_answered_from_the_journal() -> None:
    with Forked(train, 10, 5) as first:
        assert [first.answer(), first.answer()] == ["stands", "ended"]
    # As a kill leaves it between the journal and the answer.
    line = {"event": "set", "step": 3, "applied": True, "text": "rate 1 → 2", "id": "a1"}
    line |= {"edits": {"rate": [1.0, 2.0]}, "by": "ada", "wall_time": 1.0}
    with open(FOLDER / "steering.jsonl", "a") as file:
        file.write(json.dumps(line) + "\n")
    (FOLDER / "mailbox" / "taken" / "a1.json").write_text('{"command": "set"}')
    with Forked(train, 10, 9) as second:
        assert [second.answer(), second.answer()] == ["stands", "ended"]
    told = answer_to(FOLDER, "a1")
    assert told == {
        "nbtrain": 1,
        "id": "a1",
        "state": "applied",
        "command": "set",
        "step": 3,
        "text": "rate 1 → 2",
        "edits": {"rate": [1.0, 2.0]},
    }
