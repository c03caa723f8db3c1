"""The edits that led to a run's present state, as its journal tells them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.rundir.lineage import Lineage

Lines = list[dict[str, Any]]
Edits = tuple[tuple[int, dict[str, float]], ...]

OWN, COPY = "checkpoints", "checkpoints/last_good"
SAVES = st.sampled_from([OWN, COPY])
ACTS = st.lists(st.one_of(st.sampled_from(["step", "edit"]), SAVES, st.integers(0, 9)), max_size=40)


def write(folder: Path, lines: Lines) -> None:
    """Write the journal of a run, in a new folder."""
    folder.mkdir(parents=True)
    text = "".join(json.dumps({"wall_time": 1.0, **line}) + "\n" for line in lines)
    (folder / "steering.jsonl").write_text(text, encoding="utf-8")


def edits(lineage: Lineage) -> Edits:
    return tuple((step, dict(values)) for _, step, values in lineage.state.edits)


def segment(step: int, rate: float) -> dict[str, Any]:
    return {"event": "segment", "step": step, "values": {"rate": rate}}


def edit(step: int, old: float, new: float) -> dict[str, Any]:
    return {"event": "set", "step": step, "applied": True, "edits": {"rate": [old, new]}}


def saved(step: int, folder: str = OWN) -> dict[str, Any]:
    path = f"{folder}/ckpt-{step}"
    return {"event": "save" if folder == OWN else "copy", "step": step, "checkpoint": path}


@given(ACTS)
def test_the_edits_are_those_of_the_past_that_each_save_has_copied(acts: list[str | int]) -> None:
    step, rate, led = 0, 1.0, Edits()
    saves: dict[str, tuple[int, float, Edits]] = {}  # by path: a later save replaces the file
    lines: Lines = [{"event": "start", "step": 0}, segment(0, rate)]
    for number, act in enumerate(acts, 2):
        if act == "step":
            step += 1
        elif act == "edit":
            lines.append(edit(step, rate, number))
            rate, led = float(number), (*led, (step, {"rate": float(number)}))
        elif isinstance(act, str):
            saves[f"{act}/ckpt-{step}"] = step, rate, led
            lines.append(saved(step, act))
        elif saves:
            path = sorted(saves)[act % len(saves)]
            step, rate, led = saves[path]
            lines += [{"event": "back", "step": step, "checkpoint": path}, segment(step, rate)]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "run", lines)
        assert edits(Lineage(Path(folder) / "run")) == led


# A copy of step 5, and a checkpoint of step 5 on a later branch with another edit before.
BRANCHES = [
    *[segment(0, 1.0), saved(2), edit(3, 1.0, 2.0), saved(5, COPY)],
    *[{"event": "back", "step": 2, "checkpoint": f"{OWN}/ckpt-2"}, segment(2, 1.0)],
    *[edit(4, 1.0, 3.0), saved(5)],
]


@pytest.mark.parametrize(
    ("checkpoint", "led"), [(f"{OWN}/ckpt-5", (4, 3.0)), (f"{COPY}/ckpt-5", (3, 2.0))]
)
def test_a_branch_has_the_edits_that_led_to_its_own_checkpoint_of_a_step(
    tmp_path: Path, checkpoint: str, led: tuple[int, float]
) -> None:
    step, rate = led
    write(tmp_path / "a", BRANCHES)
    origin = {"event": "origin", "step": 5, "checkpoint": f"../a/{checkpoint}"}
    write(tmp_path / "b", [{**origin, "lines": len(BRANCHES)}, segment(5, rate)])
    lineage = Lineage(tmp_path / "b")
    assert edits(lineage) == ((step, {"rate": rate}),)
    assert lineage.state.gap == ""


@pytest.mark.parametrize("lines", [0, 2])
def test_a_branch_of_a_checkpoint_that_its_journal_lacks_has_a_gap(
    tmp_path: Path, lines: int
) -> None:
    write(tmp_path / "a", BRANCHES)
    origin = {"event": "origin", "step": 5, "checkpoint": f"../a/{OWN}/ckpt-5", "lines": lines}
    write(tmp_path / "b", [origin, segment(5, 3.0)])
    assert "what led there is not written" in Lineage(tmp_path / "b").state.gap


def test_without_a_line_of_the_checkpoint_the_edits_before_its_step_count(tmp_path: Path) -> None:
    back = [{"event": "back", "step": 4}, segment(4, 2.0)]
    write(tmp_path / "a", [segment(0, 1.0), edit(3, 1.0, 2.0), edit(6, 2.0, 3.0), *back])
    assert edits(Lineage(tmp_path / "a")) == ((3, {"rate": 2.0}),)
