"""The path that led to a run's present state: by order, not by a clock."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.states import Checkpoint
from nbtrain.core.timeline import Timeline
from nbtrain.rundir.timeline import RunTimeline


def held(step: int, folder: str = "checkpoints") -> Checkpoint:
    return Checkpoint(step, f"{folder}/ckpt-{step}", 0.0)


def saved(step: int) -> dict[str, Any]:
    return {"event": "save", "step": step}


def back(to: int, step: int = 99) -> dict[str, Any]:
    """An entry as earlier versions write it."""
    return {"event": "restore", "step": step, "applied": True, "to": to}


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([saved(5), saved(9)], []),
        ([saved(5), saved(9), back(5)], [9]),
        ([saved(5), saved(9), back(5), saved(7)], [9]),
        ([saved(5), saved(9), back(5), saved(7), back(7), saved(8)], [9]),
        ([saved(5), saved(9), back(5), saved(7), back(9)], [7]),  # continued from where it was left
        ([saved(3), saved(5), saved(9), back(5), saved(6), back(3)], [5, 9, 6]),
        ([saved(9), back(5), saved(7)], [9]),  # the restored checkpoint no longer exists
        ([saved(0), saved(9), back(0)], [9]),
        ([saved(5), saved(9), back(5) | {"applied": False}], []),
    ],
)
def test_only_entries_that_led_to_the_present_state_count(
    lines: list[dict[str, Any]], left: list[int]
) -> None:
    timeline = RunTimeline(Path(), lines)
    every = timeline.ordered([held(line["step"]) for line in lines if line["event"] == "save"])
    assert [each.step for each in every if each.abandoned] == left


def test_a_journal_with_names_identifies_the_checkpoint_of_a_step() -> None:
    """The copy belongs to the abandoned past: going back to it makes that past count."""
    copy = {"event": "copy", "step": 9, "checkpoint": "checkpoints/last_good/ckpt-9"}
    lines = [saved(5), saved(8), copy, back(5), saved(9)]
    to_copy = {"event": "back", "step": 9, "checkpoint": "checkpoints/last_good/ckpt-9"}
    to_own = {"event": "back", "step": 9, "checkpoint": "checkpoints/ckpt-9"}
    folders = [held(5), held(8), held(9)], [held(9, "checkpoints/last_good")]
    for line, counted in ((to_copy, [5, 8, 9]), (to_own, [5, 9])):
        timeline = RunTimeline(Path(), [*lines, line])
        every = timeline.ordered(*folders)
        assert [each.step for each in every if not each.abandoned] == counted


def test_a_file_without_a_line_is_the_newest_or_precedes_the_next() -> None:
    timeline = RunTimeline(Path(), [saved(5), saved(9), back(5), saved(7)])
    every = timeline.ordered([held(5), held(9), held(6), held(7), held(8)])
    assert [each.step for each in every] == [5, 9, 6, 7, 8]
    assert [each.step for each in every if not each.abandoned] == [5, 6, 7, 8]


def test_without_a_journal_copies_are_ordered_by_step() -> None:
    copies = [held(step, "checkpoints/last_good") for step in (90, 160)]
    every = RunTimeline(Path()).ordered([held(100), held(200), held(150)], copies)
    assert [each.step for each in every] == [90, 100, 160, 200, 150]


def test_a_copy_that_a_journal_lacks_does_not_outrank_what_the_journal_knows() -> None:
    """The journal was deleted in mid-run, and goes on with later lines."""
    copies = [held(step, "checkpoints/last_good") for step in (0, 20)]
    own = [held(10), held(30), held(40)]
    every = RunTimeline(Path(), [saved(30), saved(40)]).ordered(own, copies)
    assert [each.step for each in every][-1] == 40
    assert not any(each.abandoned for each in every)


def test_a_copy_of_a_run_that_has_gone_back_is_the_newest_though_its_line_is_missing() -> None:
    timeline = RunTimeline(Path(), [saved(5), saved(9), back(5)])
    every = timeline.ordered([held(5), held(9)], [held(7, "checkpoints/last_good")])
    assert [each.step for each in every if not each.abandoned] == [5, 7]


def test_a_folder_without_a_journal_has_an_empty_timeline(tmp_path: Path) -> None:
    assert RunTimeline.of(tmp_path).ordered([held(5)]) == (held(5),)
    (tmp_path / "steering.jsonl").write_text(json.dumps(saved(5)) + "\n", encoding="utf-8")
    assert RunTimeline.of(tmp_path).knows(held(5))


# --- against the plain definition -----------------------------------------------------

ACTS = st.lists(st.one_of(st.just("step"), st.just("save"), st.integers(0, 9)), max_size=40)


Past = frozenset[tuple[int, int]]


@given(ACTS)
def test_counting_equals_copying_the_past_at_each_save(acts: list[str | int]) -> None:
    timeline, step = Timeline(), 0
    entries, points = Past(), Past()  # what led here: (step, order), and (segment, step)
    every_entry, every_point = set[tuple[int, int]](), set[tuple[int, int]]()
    saves: list[tuple[int, int, Past, Past]] = []
    for act in acts:
        if act == "step":
            step += 1
            points |= {(timeline.segment, step)}
            every_point |= points
        elif act == "save":
            order = timeline.add()
            entries |= {(step, order)}
            every_entry |= entries
            saves.append((step, order, entries, points))
        elif saves:
            step, order, entries, points = saves[int(act) % len(saves)]
            timeline.open(step, order)
            assert timeline.has_begun(step)
    limits = timeline.limits
    assert {each for each in every_entry if timeline.counts(*each)} == entries
    assert {each for each in every_point if each[1] <= limits.get(each[0], -1)} == points


BACKS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=10)


@given(BACKS)
def test_an_unknown_restore_abandons_everything_beyond_its_step(
    backs: list[tuple[int, int]],
) -> None:
    timeline, step = Timeline(), 0
    points: list[tuple[int, int]] = []
    left: set[int] = set()
    for trained, to in backs:
        for _ in range(trained):
            step += 1
            points.append((timeline.segment, step))
        step = min(step, to)
        timeline.open(step)
        left |= {at for at, (_, beyond) in enumerate(points) if beyond > step}
    limits = timeline.limits
    assert {at for at, (segment, beyond) in enumerate(points) if beyond > limits[segment]} == left


def test_the_newest_entry_counts_and_a_segment_that_has_just_begun_is_known() -> None:
    timeline = Timeline()
    assert timeline.has_begun(0)
    saved = timeline.add()
    assert not timeline.has_begun(0)
    timeline.open(7, saved)
    assert timeline.has_begun(7)
    assert not timeline.has_begun(8)
    assert timeline.counts(99, float("inf"))
    assert timeline.limits == {0: 7, 1: float("inf")}


@given(ACTS)
def test_a_journal_agrees_about_the_checkpoints_that_it_names(acts: list[str | int]) -> None:
    lines: list[dict[str, Any]] = []
    step, past = 0, frozenset[int]()  # the past, as numbers of lines
    kept: dict[int, tuple[int, frozenset[int]]] = {}  # by step: what was last saved of it
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
    timeline = RunTimeline(Path(), lines)
    every = timeline.ordered([held(at) for at in sorted(kept)])
    counted = {each.step for each in every if not each.abandoned}
    assert counted == {at for at, (number, _) in kept.items() if number in past}


def test_a_thread_that_reads_while_a_segment_opens_finds_the_newest_entry_to_count() -> None:
    """Reads after every line of `open`, as another thread may."""
    timeline = Timeline()
    saved = timeline.add()
    read: list[tuple[bool, bool]] = []

    def look(frame: FrameType, _event: str, _argument: object) -> Any:
        if Path(frame.f_code.co_filename).name != "timeline.py":
            return None
        sys.settrace(None)
        read.append((timeline.counts(100, math.inf), timeline.segment in timeline.limits))
        sys.settrace(look)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        timeline.open(100, saved)
    finally:
        sys.settrace(before)
    assert len(read) > 3
    assert set(read) == {(True, True)}


def test_a_step_saved_edited_and_saved_again_has_two_orders() -> None:
    timeline = RunTimeline(Path(), [saved(5)])
    edit = timeline.add_entry({"event": "set", "step": 5, "edits": {"rate": [1, 2]}})
    assert timeline.add_entry(saved(5)) > edit, "the second save holds the edit"
    assert timeline.add_entry(saved(5)) == timeline.add_entry(saved(5)), (
        "nothing lies between these"
    )
    timeline.add_entry({"event": "back", "step": 5, "checkpoint": "checkpoints/ckpt-5"})
    assert timeline.counts(5, edit)


def test_a_refused_edit_lies_between_no_saves() -> None:
    timeline = RunTimeline(Path(), [saved(5)])
    refused = {"event": "set", "step": 5, "applied": False, "edits": {"rate": [1, 2]}}
    assert timeline.add_entry(saved(5)) < timeline.add_entry(refused)
    assert timeline.add_entry(saved(5)) == 1


# --- the marks of event files ----------------------------------------------------------


def marked(*openings: tuple[int, float]) -> Timeline:
    """A timeline whose segments were opened at these steps and times."""
    timeline = Timeline()
    for step, wall_time in openings:
        timeline.open(step, None, wall_time)
    return timeline


def test_a_mark_is_known_by_the_time_of_its_segment_whichever_marks_were_lost() -> None:
    timeline = marked((5, 10.25), (9, 11.5), (5, 12.125), (5, 13.0))
    everything = [(5, 10.25), (9, 11.5), (5, 12.125), (5, 13.0)]
    assert timeline.opened_by(everything) == [1, 2, 3, 4]
    assert timeline.opened_by([(5, 10.25), (5, 13.00004)]) == [1, 4]
    assert timeline.opened_by([(9, 11.5), (5, 12.125)]) == [2, 3]


def test_marks_with_other_times_are_known_by_their_order() -> None:
    timeline = marked((5, 10.25), (9, 11.5))
    assert timeline.opened_by([(5, 10.5), (9, 11.75)]) == [1, 2]
    assert timeline.opened_by([(5, 10.5)]) == [1], "the next has no mark yet"


def test_without_its_segment_a_mark_is_unknown() -> None:
    timeline = marked((5, 10.25), (9, 11.5))
    assert timeline.opened_by([(9, 11.75)]) is None
    assert timeline.opened_by([(5, 10.25), (9, 11.5), (5, 12.0)]) is None
