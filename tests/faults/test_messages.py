"""Hostile messages to a panel and a board: none harms the run, and the next is answered.

They are handed to the widget itself: ipywidgets would print what it raises, and raise nothing.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.panel.board.board import Board
from nbtrain.panel.live.panel import Panel
from tests.event_files import simple, written
from tests.faults import rounds
from tests.models import Counter, applied

# All that pages send, except the command that ends the run.
WORDS = ["alive", "hello", "cmd", "want", "csv", "history", "summary", "hparams", "compare"]
WORDS += ["layout", "options", "follow", "save", "restore", "set", "try", "evaluate", "pause"]
KEYS = ["t", "id", "seq", "command", "values", "steps", "keep_if", "checkpoint", "tag", "run"]
KEYS += ["kind", "at", "text", "on", "known", "runs", "x", "smooth", "rate", "__class__"]
TEXTS = ["", "</script><script>alert(1)</script>", "../../etc/passwd", "\0", "ä" * 3000, "nan"]
NUMBERS = [0, -1, 10**400, 2**63, 1e308, float("nan"), float("inf"), -0.0, True, None]


def hostile(draw: Random, depth: int = 3) -> Any:
    """Anything that a message can hold."""
    match draw.randint(0, 5 if depth else 2):
        case 0:
            return draw.choice(TEXTS)
        case 1:
            return draw.choice(NUMBERS)
        case 2:
            return draw.choice(WORDS)
        case 3:
            return [hostile(draw, depth - 1) for _ in range(draw.randint(0, 3))]
        case _:
            return message(draw, depth - 1)


def message(draw: Random, depth: int = 3) -> dict[str, Any]:
    """A message whose keys are mostly those that a page uses."""
    keys = draw.sample(KEYS, draw.randint(0, 6))
    return {key: hostile(draw, depth) for key in keys} | {"t": draw.choice([*WORDS, 3])}


def anything(draw: Random) -> Any:
    """A message, and now and then what is none."""
    return message(draw) if draw.random() < 0.9 else hostile(draw)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages of the widgets, in place of a comm."""
    sent: list[Any] = []
    for widget in (Panel, Board):
        monkeypatch.setattr(widget, "send", lambda _self, content, *_: sent.append(content))
    return sent


def test_hostile_messages_to_a_panel_harm_no_run(said: list[Any]) -> None:
    counter = Counter()
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        hyperparameters={"rate": tf.Variable(0.1)},
        evaluate=lambda: {"twice": 2.0},
    )
    panel = Panel(run)
    for draw in rounds(1):
        for _ in range(1500):
            panel._hear(panel, anything(draw), [])
            panel.tick()
        assert run.status.phase in (Phase.RUNNING, Phase.PAUSED)
        said.clear()
        panel._hear(panel, {"t": "hello"}, [])
        panel._hear(panel, {"t": "cmd", "command": "save", "id": "last"}, [])
        panel.tick()
        assert {"snap", "ack"} <= {content["t"] for content in said}
        applied(run.save())
    run.request_stop()
    assert run.wait().status.phase is Phase.STOPPED


def test_hostile_messages_to_a_board_are_refused_and_the_next_is_answered(
    said: list[Any], tmp_path: Path
) -> None:
    written(tmp_path / "events.out.tfevents.1", [simple("loss", n, float(n)) for n in range(20)])
    board = Board(nbtrain.scalars(tmp_path))
    for draw in rounds(1):
        for _ in range(1500):
            board._hear(board, anything(draw), [])
        said.clear()
        board._hear(board, {"t": "want", "id": 1, "tag": "loss", "runs": ["."]}, [])
        board._hear(board, {"t": "hello"}, [])
        assert said[-1]["t"] == "index"
        assert said[0]["id"] == 1
