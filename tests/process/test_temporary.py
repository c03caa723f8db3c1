"""Temporary folders of killed processes: the next run deletes them, and none of a live one."""

from __future__ import annotations

import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import tensorflow as tf

import nbtrain
from tests.forked import Forked
from tests.gate import SOON


def train(pipe: Connection, folder: str, name: str) -> None:
    """Train with summaries, and wait in the midst of a step for the test's word."""
    tempfile.tempdir = folder

    def step() -> dict[str, float]:
        tf.summary.text("note", "words")
        pipe.send("trains")
        pipe.recv()
        return {"loss": 1.0}

    nbtrain.train(step, steps=1, name=name).wait(SOON)


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, here and in the children."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def left(folder: Path) -> set[Path]:
    """The entries that runs have made there; multiprocessing has a folder of its own."""
    return {*folder.glob("nbtrain-*")}


def test_the_next_run_deletes_what_a_killed_process_has_left(folder: Path) -> None:
    with Forked(train, str(folder), "killed") as child:
        assert child.answer() == "trains"
        child.kill()
    before = left(folder)
    assert any(path.is_dir() for path in before)
    nbtrain.train(lambda: {"loss": 1.0}, steps=1, name="next").wait(SOON)
    assert not left(folder) & before


def test_a_run_leaves_alone_what_a_live_process_uses(folder: Path) -> None:
    with Forked(train, str(folder), "live", finalize=True) as child:
        assert child.answer() == "trains"
        before = left(folder)
        assert before
        nbtrain.train(lambda: {"loss": 1.0}, steps=1, name="next").wait(SOON)
        assert left(folder) >= before
        child.send("go on")
        assert child.wait() == 0
    assert len(nbtrain.summaries("runs/live", "text")[".", "note"]) == 1
    assert not left(folder)


def test_summaries_of_runs_that_have_ended_take_no_room_and_no_file_stays(folder: Path) -> None:
    with Forked(train_twice, str(folder), finalize=True) as child:
        size, room = child.answer()
        assert child.wait() == 0
    assert size > 2 * 9 * 10_000
    assert room < 9 * 10_000
    assert not left(folder)


def test_a_folder_without_a_lock_and_a_link_are_left_alone(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "data").mkdir(parents=True)
    unlocked, link = (folder / f"nbtrain-{16 * digit}" for digit in "1f")
    unlocked.mkdir()
    link.symlink_to(mine)
    link.with_suffix(".lock").touch()
    nbtrain.train(lambda: {"loss": 1.0}, steps=1, name="next").wait(SOON)
    assert unlocked.is_dir()
    assert (mine / "data").is_dir()


def test_a_folder_of_the_user_is_left_alone_whose_name_begins_alike(folder: Path) -> None:
    mine = folder / "nbtrain-results"
    mine.mkdir()
    mine.with_suffix(".lock").touch()
    nbtrain.train(lambda: {"loss": 1.0}, steps=1, name="next").wait(SOON)
    assert mine.is_dir()
