"""The words in and below the picture of a run."""

from __future__ import annotations

import os
from pathlib import Path

import nbtrain
from nbtrain.notebook.display import state_of
from tests.gate import SOON, Gate
from tests.models import Counter

WHEN = "2026-11-23 16:17:51"


def test_the_picture_of_a_run_that_can_go_on_says_how(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, name="night", steps=9)
    go_on = f"As of {WHEN}. To go on with it, run its cells again with name='night'."
    assert state_of(run, WHEN) == go_on
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert state_of(run, WHEN) == go_on


def test_the_line_for_a_run_in_another_folder_names_the_folder(tmp_path: Path) -> None:
    run = nbtrain.train(dict, logdir=tmp_path / "own", start=False)
    folder = os.path.relpath(tmp_path / "own")
    assert f"run its cells again with logdir={folder!r}." in state_of(run, WHEN)


def test_a_run_that_has_finished_has_nothing_to_go_on_with() -> None:
    run = nbtrain.train(dict, steps=3, name="done").wait(SOON)
    assert state_of(run, WHEN) == f"As of {WHEN}."
