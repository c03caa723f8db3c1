"""The temporary file of `tf.summary`: it takes no room, and is deleted with its process."""

from __future__ import annotations

import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import tensorflow as tf

import nbtrain
from tests.forked import Forked
from tests.gate import SOON


def train_twice(pipe: Connection, folder: str) -> None:
    """Train two runs with summaries; sends the length of their file and the room that it takes."""
    tempfile.tempdir = folder

    def step() -> dict[str, float]:
        tf.summary.text("note", 10_000 * "words")
        return {"loss": 1.0}

    for name in ("first", "second"):
        nbtrain.train(step, steps=9, name=name).wait(SOON)
    (file,) = Path(folder).glob("nbtrain-*/*tfevents*")
    pipe.send((file.stat().st_size, 512 * file.stat().st_blocks))


def test_summaries_of_runs_that_have_ended_take_no_room_and_no_file_stays(tmp_path: Path) -> None:
    with Forked(train_twice, str(tmp_path), finalize=True) as child:
        size, room = child.answer()
        assert child.wait() == 0
    assert size > 2 * 9 * 10_000
    assert room < 9 * 10_000
    assert not [*tmp_path.glob("nbtrain-*")]
