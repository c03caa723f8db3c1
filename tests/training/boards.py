"""Boards without a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nbtrain
from nbtrain.logdir.scalars import Scalars
from nbtrain.panel.board.board import Board
from tests.event_files import NAME, simple, written


class ShownBoard(Board):
    """A board whose messages are remembered."""

    def __init__(self, scalars: Scalars, **options: Any) -> None:
        self.sent: list[tuple[dict[str, Any], Sequence[bytes]]] = []
        super().__init__(scalars, **options)

    def send(self, content: Any, buffers: Any = None) -> None:
        wire = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
        self.sent.append((json.loads(wire), buffers or []))

    def hear(self, **content: Any) -> tuple[dict[str, Any], Sequence[bytes]]:
        """A message of the front end, the way ipywidgets hands it over; the last answer."""
        data = {"method": "custom", "content": content}
        self._handle_msg({"content": {"data": data}, "buffers": []})
        return self.sent[-1]

    def curves(self, tag: str = "loss", **more: Any) -> dict[str, Curve]:
        """Returns the data of a tag that a page gets, by run."""
        content, (buffer,) = self.hear(t="want", id=1, tag=tag, **more)
        assert content["t"] == "curves"
        return decoded(content, buffer)


class Curve:
    """One run's part of an answer."""

    def __init__(self, entry: dict[str, Any], take: Any) -> None:
        self.stride = entry["stride"]
        self.numbers: list[float] = take(7).tolist()
        self.rows: Any = take(5 * entry["n"]).reshape(-1, 5)
        self.unseen: list[list[float]] = take(4 * entry["unseen"]).reshape(-1, 4).tolist()
        self.tails = [take(5 * n).reshape(-1, 5) for n in entry["tails"]]


def decoded(content: dict[str, Any], buffer: bytes) -> dict[str, Curve]:
    values, at = np.frombuffer(buffer, "<f8"), 0

    def take(count: int) -> Any:
        nonlocal at
        at += count
        return values[at - count : at]

    found = {entry["run"]: Curve(entry, take) for entry in content["runs"]}
    assert at == len(values), "numbers that belong to no run"
    return found


def board_of(logdir: Path, **options: Any) -> ShownBoard:
    return ShownBoard(nbtrain.scalars(logdir), **options)


def run_of(path: Path, values: Sequence[float], tag: str = "loss") -> None:
    """A run that has written these values at steps 0, 1, ..., a second apart."""
    events = [simple(tag, step, value, 100.0 + step) for step, value in enumerate(values)]
    written(path / NAME, events)


def hear(board: Board, **content: Any) -> None:
    data = {"method": "custom", "content": content}
    board._handle_msg({"content": {"data": data}, "buffers": []})
