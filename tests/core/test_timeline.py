"""What counts of what a run has saved: by the order of its journal's lines, and by no clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.states import Checkpoint
from nbtrain.rundir.timeline import Timeline


def held(step: int, folder: str = "checkpoints") -> Checkpoint:
    return Checkpoint(step, f"{folder}/ckpt-{step}", 0.0)


def saved(step: int) -> dict[str, Any]:
    return {"event": "save", "step": step}


def back(to: int, step: int = 99) -> dict[str, Any]:
    """As earlier versions write it."""
    return {"event": "restore", "step": step, "applied": True, "to": to}


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([saved(5), saved(9)], []),
        ([saved(5), saved(9), back(5)], [9]),
        ([saved(5), saved(9), back(5), saved(7)], [9]),
        ([saved(5), saved(9), back(5), saved(7), back(7), saved(8)], [9]),
        ([saved(5), saved(9), back(5), saved(7), back(9)], [7]),  # on again, where it was left
        ([saved(3), saved(5), saved(9), back(5), saved(6), back(3)], [5, 9, 6]),
        ([saved(9), back(5), saved(7)], [9]),  # what it went back to is not there any more
        ([saved(0), saved(9), back(0)], [9]),
        ([saved(5), saved(9), back(5) | {"applied": False}], []),
    ],
)
def test_what_counts_is_on_the_way_to_where_the_run_is(
    lines: list[dict[str, Any]], left: list[int]
) -> None:
    timeline = Timeline(Path(), lines)
    every = timeline.ordered([held(line["step"]) for line in lines if line["event"] == "save"])
    assert [each.step for each in every if each not in timeline.counting(every)] == left


def test_a_journal_that_names_the_checkpoint_tells_which_of_a_step_it_was() -> None:
    """The copy is of the abandoned course: to go back to it makes what led there count."""
    copy = {"event": "copy", "step": 9, "checkpoint": "checkpoints/last_good/ckpt-9"}
    lines = [saved(5), saved(8), copy, back(5), saved(9)]
    to_copy = {"event": "back", "step": 9, "checkpoint": "checkpoints/last_good/ckpt-9"}
    to_own = {"event": "back", "step": 9, "checkpoint": "checkpoints/ckpt-9"}
    folders = [held(5), held(8), held(9)], [held(9, "checkpoints/last_good")]
    for line, counted in ((to_copy, [5, 8, 9]), (to_own, [5, 9])):
        timeline = Timeline(Path(), [*lines, line])
        every = timeline.ordered(*folders)
        assert [each.step for each in timeline.counting(every)] == counted


def test_what_no_line_tells_of_is_the_newest_or_came_before_the_next_of_its_folder() -> None:
    timeline = Timeline(Path(), [saved(5), saved(9), back(5), saved(7)])
    every = timeline.ordered([held(5), held(9), held(6), held(7), held(8)])
    assert [each.step for each in every] == [5, 9, 6, 7, 8]
    assert [each.step for each in timeline.counting(every)] == [5, 6, 7, 8]


def test_without_a_journal_copies_stand_by_their_steps_and_the_rest_as_it_was_saved() -> None:
    copies = [held(step, "checkpoints/last_good") for step in (90, 160)]
    every = Timeline(Path()).ordered([held(100), held(200), held(150)], copies)
    assert [each.step for each in every] == [90, 100, 160, 200, 150]


def test_a_folder_without_a_journal_has_an_empty_timeline(tmp_path: Path) -> None:
    assert Timeline.of(tmp_path).ordered([held(5)]) == (held(5),)
    (tmp_path / "steering.jsonl").write_text(json.dumps(saved(5)) + "\n", encoding="utf-8")
    assert Timeline.of(tmp_path).knows(held(5))


ACTS = st.lists(st.one_of(st.just("step"), st.just("save"), st.integers(0, 9)), max_size=40)


@given(ACTS)
def test_it_is_the_plain_definition_what_led_here_copied_at_each_save(
    acts: list[str | int],
) -> None:
    lines: list[dict[str, Any]] = []
    step, past = 0, frozenset[int]()  # what led here, by the numbers of the lines
    kept: dict[int, tuple[int, frozenset[int]]] = {}  # by step: what was saved of it last
    for act in acts:
        if act == "step":
            step += 1
        elif act == "save":
            past |= {len(lines)}
            kept[step] = len(lines), past
            lines.append(saved(step))
        elif kept:
            step = sorted(kept)[int(act) % len(kept)]
            _, past = kept[step]
            path = f"checkpoints/ckpt-{step}"
            lines.append({"event": "back", "step": step, "checkpoint": path})
    timeline = Timeline(Path(), lines)
    every = timeline.ordered([held(at) for at in sorted(kept)])
    counted = {each.step for each in timeline.counting(every)}
    assert counted == {at for at, (number, _) in kept.items() if number in past}
