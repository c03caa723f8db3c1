"""The config, tags, notes and duration of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbtrain.rundir.about import About
from nbtrain.rundir.entries import FILE


def about(folder: Path, *lines: tuple[str, float]) -> About:
    """Reads a journal that has these events at these times."""
    text = [json.dumps({"event": event, "step": 1, "wall_time": at}) for event, at in lines]
    (folder / FILE).write_text("\n".join(text))
    return About.read(folder)


def test_the_time_between_an_end_and_the_next_start_does_not_count(tmp_path: Path) -> None:
    lines = [("start", 10.0), ("stopped", 15.0), ("note", 500.0), ("start", 1000.0)]
    found = about(tmp_path, *lines, ("finished", 1020.0), ("tag", 5000.0))
    assert (found.began, found.secs) == (10.0, 25.0)


def test_a_run_without_an_end_lasts_to_its_last_line_or_sign_of_life(tmp_path: Path) -> None:
    lines = [("start", 10.0), ("set", 14.0), ("start", 100.0), ("set", 101.0)]
    found = about(tmp_path, *lines)
    assert found.secs == 4.0 + 1.0
    assert found.until(130.0).secs == 4.0 + 30.0
    assert found.until(130.0).until(131.0).secs == 4.0 + 31.0
    assert found.until(None) is found
    assert found.until(50.0).secs == 4.0 + 1.0, "a sign of life of an earlier start"
    assert about(tmp_path, *lines, ("failed", 102.0)).until(130.0).secs == 4.0 + 2.0


def test_a_clock_that_was_set_back_does_not_shorten_the_duration(tmp_path: Path) -> None:
    lines = [("start", 10.0), ("set", 15.0), ("stopped", 3.0), ("start", 9.0), ("finished", 8.0)]
    assert about(tmp_path, *lines).secs == 5.0
    assert about(tmp_path).secs == 0.0


def test_a_folder_without_a_journal_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        About.read(tmp_path)
