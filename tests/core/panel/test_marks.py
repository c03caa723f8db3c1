"""Marks in the picture: their positions, their signs, and their descriptions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from nbtrain.panel.live.marks import GLYPHS, beginning, glyph, kind_of, legend, rank, signs
from nbtrain.panel.live.wire import Wire
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Journal, Mark, Marks
from tests.front_end import FrontEnd


def mark(event: str, step: int, to: int | None = None) -> Mark:
    return Mark(event, step, 0.0, to=to)


def test_a_mark_stands_at_its_step_and_a_restore_at_its_target() -> None:
    found = signs([mark("save", 100), mark("set", 200), mark("restore", 300, 250)], 0, 300, 10)
    assert [(sign.place, sign.text) for sign in found] == [(100, "●"), (200, "◆"), (250, "◀")]


def test_abandoned_marks_stand_for_none_that_count() -> None:
    marks = [mark("save", 100), mark("set", 200), mark("restore", 300, 100)]
    found = signs([marks[0], replace(marks[1], abandoned=True), marks[2]], 0, 300, 10)
    assert [(sign.place, sign.abandoned) for sign in found] == [(100, False), (200, True)]
    assert found[0].text == "◀2"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([("save", 300), ("set", 400), ("save", 500), ("restore", 600, 300)], [400, 500]),
        ([("save", 300), ("set", 300), ("restore", 400, 300)], [300]),  # it was set after the save
        ([("set", 300), ("save", 300), ("restore", 400, 300)], []),
        ([("checkpoint", 300), ("failed", 300), ("restore", 300, 300)], []),  # nothing is lost
        (
            [("save", 3), ("save", 5), ("restore", 6, 3), ("set", 4), ("restore", 4, 5)],
            [3, 4],  # and what it had left counts again
        ),
        ([("save", 300), ("failed", 400), ("segment", 300), ("resume", 300)], [400]),
        ([("save", 300), ("set", 310), ("pause", 400), ("segment", 350)], [400]),  # by itself
    ],
)
def test_marks_that_did_not_lead_to_the_present_state_are_abandoned(
    lines: list[tuple[Any, ...]], left: list[int]
) -> None:
    marks, page = Marks(), FrontEnd()
    wire, journal = Wire(ScalarStore(), marks), Journal(Logdir(None, "kept", kind="train"), marks)
    page.receive(*wire.snapshot({}))
    for event, step, *to in lines:
        if to:
            journal.log(event="back", step=to[0], checkpoint=f"checkpoints/ckpt-{to[0]}")
        more = {"to": to[0]} if to else {"edits": {"rate": [1, 2]}} if event == "set" else {}
        journal.log(event=event, step=step, **more)
        while message := wire.update({}):
            page.receive(*message)
    assert [each.place for each in marks if each.abandoned] == left
    again = FrontEnd()
    again.receive(*wire.snapshot({}))
    assert page.left == again.left == [each.step for each in marks if each.abandoned]


def test_overlapping_marks_become_one_with_a_count() -> None:
    (sign,) = signs([mark(event, 5 * k) for k, event in enumerate(("set", "nan", "save"))], 0, 9, 9)
    assert (sign.text, sign.first, sign.last) == ("×2", 0, 5)
    found = signs([mark("checkpoint", step) for step in range(0, 3000, 10)], 0, 3000, 200)
    assert all(b.place - a.place >= 200 for a, b in itertools.pairwise(found))
    assert sum(len(sign.kinds) for sign in found) == 300
    assert len(found) < 16


def test_periodic_checkpoints_do_not_move_a_nearby_mark() -> None:
    marks = [mark("set" if step == 150 else "checkpoint", step) for step in range(0, 301, 10)]
    found = signs(marks, 0, 300, 40)
    (edit,) = [sign for sign in found if sign.text.startswith("◆")]
    assert (edit.text, edit.place, edit.first, edit.last) == ("◆", 150, 150, 150)
    assert sum(len(sign.kinds) for sign in found) == len(marks)


def test_marks_outside_the_chart_are_left_out() -> None:
    assert signs([mark("save", 5), mark("save", 500)], 10, 400, 9) == []


def test_the_legend_lists_each_kind_once_by_importance() -> None:
    marks = [mark("save", 1), mark("odd", 2), mark("set", 3), mark("save", 4)]
    told = legend(marks).replace("\N{NO-BREAK SPACE}", "_")
    assert told == "Marks: ◆_set_· ●_save_(2)_· ▪_odd"


def test_the_legend_says_that_signs_count_no_checkpoints_near_other_marks() -> None:
    saved, edits = [mark("checkpoint", step) for step in range(6)], [mark("set", 3), mark("set", 4)]
    words = "The number at a sign leaves out checkpoints beside it."
    assert [sign.text for sign in signs(saved + edits, 0, 9, 9)] == ["◆2"]
    assert legend(saved + edits).endswith(f"(6). {words}")
    assert [sign.text for sign in signs(saved, 0, 9, 9)] == ["○6"]
    assert words not in legend(saved) + legend(edits)


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (mark("try", 9), "try"),
        (Mark("try", 9, 0.0, kept=True), "kept"),
        (Mark("try", 9, 0.0, to=4, kept=False), "reverted"),
    ],
)
def test_the_sign_of_a_trials_end_shows_its_result(ended: Mark, kind: str) -> None:
    assert kind_of(ended) == kind
    assert len({glyph(each) for each in ("try", "kept", "reverted", "odd")}) == 4


def test_each_kind_has_a_sign_of_its_own_and_what_is_not_known_a_plain_one() -> None:
    assert len({*GLYPHS.values(), glyph("odd")}) == len(GLYPHS) + 1
    assert max(map(rank, GLYPHS)) < rank("odd")


def test_an_axis_includes_a_mark_within_one_range_before_the_points() -> None:
    marks = [mark("restore", 150, 0), mark("save", 290), mark("set", 900)]
    assert beginning(marks, 100, 200) == 0
    assert beginning(marks, 110, 190) == 110
    assert beginning([mark("restore", 2, 0)], 1, 1) == 0, "of a single point"
    assert beginning([], 1, 5) == 1


def test_marks_print_as_lines() -> None:
    marks = Marks()
    assert repr(marks) == "no marks yet"
    marks.add(Mark("set", 1200, 0.0, "learning_rate 0.001 → 0.01"))
    marks.add(Mark("restore", 1300, 0.0, "restored ckpt-1000", 1000))
    marks.add(Mark("stopped", 1400, 0.0))
    assert repr(marks).splitlines() == [
        "step 1,200  set  learning_rate 0.001 → 0.01",
        "step 1,300 → 1,000  restore  restored ckpt-1000",
        "step 1,400  stopped",
    ]
