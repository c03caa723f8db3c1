"""The wire: a page that follows it holds the same curves and fields as the kernel."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.commands import Restore, Set
from nbtrain.core.values.arms import ArmResult
from nbtrain.panel.live.wire import Wire
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import MOST_MARKS, Mark, Marks
from nbtrain.steer.actions import Action
from tests.front_end import FrontEnd, decoded, wall_times
from tests.stores import TAGS, add, rows
from tests.wires import assert_equal, send, size


def test_a_snapshot_holds_everything() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5, 0.25)
    add(store, "accuracy", 1, 0.75)
    store.open_segment(1)
    content, buffers = Wire(store, Marks()).snapshot({"phase": "running"})
    assert content == {
        "t": "snap",
        "seq": 1,
        "origin": 1001,
        "own": [0, 2],
        "status": {"phase": "running"},
        "series": [
            {"tag": "loss", "segment": 0, "stride": 1, "n": 1, "abandoned": False},
            {"tag": "accuracy", "segment": 0, "stride": 1, "n": 1, "abandoned": False},
            {"tag": "loss", "segment": 0, "stride": 1, "n": 1, "abandoned": True},
        ],
        "marks": [],
        "marked": 0,
        "abandoned": [],
        "actions": [],
    }
    np.testing.assert_array_equal(
        decoded(content, buffers),
        [[1, 0.5, 0.5, 0.5], [1, 0.75, 0.75, 0.75], [2, 0.25, 0.25, 0.25]],
    )
    assert wall_times(content, buffers).tolist() == [1001, 1001, 1002]


def test_the_end_of_a_trial_has_its_results_and_all_of_its_text() -> None:
    marks = Marks()
    marks.add(Mark("try", 9, 5.0, "1 of 25: a", arm=(0, "a")))
    few = [
        ArmResult("rate 0.1", {"rate": 0.1}, "loss", 2.0, (1.0, 1.5), ""),
        ArmResult("rate 0.2", {"rate": 0.2}, "loss", 2.0, (math.nan,), "the loss became NaN"),
    ]
    text = "back: " + "x " * 300 + "; not paired: the batches differed"
    marks.add(Mark("try", 9, 6.0, text, kept=False, arms=(*few, *few * 10)))
    content, _ = Wire(ScalarStore(), marks).snapshot({})
    begun, ended = cast("list[list[Any]]", json.loads(json.dumps(content))["marks"])
    assert begun[6] == {"arm": [0, "a"]}
    trial = ended[6]["trial"]
    assert (trial["tag"], len(trial["rows"]), trial["more"]) == ("loss", 20, 2)
    assert trial["rows"][:2] == [
        ["rate 0.1", "2", "1.25", "-0.75", "0.3536", ""],
        ["rate 0.2", "2", "NaN", "NaN", None, "the loss became NaN"],
    ]
    assert ended[3] == text


def test_wall_times_are_told_apart_within_a_message() -> None:
    store = ScalarStore()
    wire = Wire(store, Marks())
    times = 1.79e9 + np.array([np.nan, 0.25, 0.251, 3600.0])
    store.extend("loss", np.arange(4), times, np.zeros(4))
    content, buffers = wire.snapshot({})
    np.testing.assert_allclose(wall_times(content, buffers), times, rtol=0, atol=3e-4)
    month = times[-1:] + 30 * 86400.5
    store.extend("loss", np.array([4]), month, np.zeros(1))
    message = wire.update({})
    assert message is not None
    np.testing.assert_allclose(wall_times(*message), month, rtol=0, atol=1e-6)


def test_points_without_any_time_are_sent_all_the_same() -> None:
    store = ScalarStore()
    store.extend("loss", np.arange(2), np.array([np.nan, np.inf]), np.zeros(2))
    content, buffers = Wire(store, Marks()).snapshot({})
    json.dumps(content, allow_nan=False)
    assert len(decoded(content, buffers)) == 2
    assert not np.isfinite(wall_times(content, buffers)).any()


def test_a_snapshot_of_nothing_is_empty() -> None:
    content, buffers = Wire(ScalarStore(), Marks()).snapshot({})
    assert content["series"] == []
    assert buffers == [b"", b"", b"", b""]
    assert "origin" not in content


def test_a_store_that_was_cleared_can_only_be_sent_as_a_snapshot() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5, 0.25)
    wire = Wire(store, Marks())
    wire.snapshot({})
    assert not wire.is_outdated
    store.clear()
    add(store, "other", 1, 0.5)
    assert wire.is_outdated
    content, _ = wire.snapshot({})
    assert [series["tag"] for series in cast("list[dict[str, str]]", content["series"])] == [
        "other"
    ]
    assert not wire.is_outdated


def test_an_increment_holds_the_fields_that_changed_and_the_new_buckets() -> None:
    store = ScalarStore()
    wire = Wire(store, Marks())
    add(store, "loss", 1, 0.5)
    wire.snapshot({"phase": "running", "step": 1})
    add(store, "loss", 2, 0.25)
    add(store, "accuracy", 2, 0.75)
    message = wire.update({"phase": "running", "step": 2})
    assert message is not None
    assert message[0] == {
        "t": "pts",
        "seq": 2,
        "origin": 1002,
        "own": [0],
        "status": {"step": 2},
        "series": [[1, 1, 0, 1, "accuracy", 0, False], [0, 1, 1, 1]],
    }
    np.testing.assert_array_equal(decoded(*message)[:, 1], [0.75, 0.25])


def test_many_tags_are_sent_in_rotation() -> None:
    store = ScalarStore()
    wire, page = Wire(store, Marks()), FrontEnd()
    tags = [f"tag-{n}" for n in range(60)]
    for tag in tags:
        add(store, tag, 1, 0.0)
    page.receive(*wire.snapshot({"last": dict.fromkeys(tags, "0")}))
    add(store, "tag-7", 2, 0.5)
    slow = {"tag-7": "0.5"}
    for step in range(2, 200):
        for tag in tags:
            if tag not in slow:
                add(store, tag, step, float(step))
        send(wire, page, {"last": dict.fromkeys(tags, str(step)) | slow})
        if step > 6:
            late = [series.rows[-1, 0] for series in page.series if series.tag not in slow]
            assert step - min(late) <= 32, "the curves follow: they are folded where need be"
            assert min(int(page.status["last"][tag]) for tag in tags if tag not in slow) > step - 6
            assert page.series[7].rows[-1, 0] == 2, "one that seldom changes is not forgotten"
            assert page.status["last"]["tag-7"] == "0.5"


def test_nothing_is_sent_if_nothing_is_new() -> None:
    store = ScalarStore()
    wire = Wire(store, Marks())
    add(store, "loss", 1, 0.5)
    wire.snapshot({"step": 1})
    assert wire.update({"step": 1}) is None
    assert wire.seq == 1


def test_a_field_that_becomes_none_is_sent() -> None:
    wire = Wire(ScalarStore(), Marks())
    wire.snapshot({"message": "thinned"})
    message = wire.update({"message": None})
    assert message is not None
    assert message[0]["status"] == {"message": None}


def test_a_restore_removes_abandoned_points_from_the_curve() -> None:
    store = ScalarStore()
    wire, page = Wire(store, Marks()), FrontEnd()
    add(store, "loss", 1, 5.0, 4.0, 3.0)
    page.receive(*wire.snapshot({}))
    store.open_segment(1)
    message = wire.update({})
    assert message is not None
    assert message[0]["series"] == [[1, 1, 0, 2, "loss", 0, True], [0, 1, 1, 0]]
    page.receive(*message)
    assert [series.rows[:, 1].tolist() for series in page.series] == [[5.0], [4.0, 3.0]]


# --- marks ----------------------------------------------------------------------

EDITED = Mark("set", 40, 5.5, "rate 2 → 1", None, (("rate", 2.0, float("inf")),))


def test_a_mark_is_sent_with_its_hover_text() -> None:
    marks = Marks()
    wire = Wire(ScalarStore(), marks)
    marks.add(Mark("save", 20, 4.5, "saved ckpt-20"))
    marks.add(EDITED)
    marks.add(Mark("restore", 60, 6.5, "restored ckpt-20", 20))
    marks.add(Mark("try", 70, 7.5, "kept rate 1", kept=True))
    marks.add(Mark("nan", 80, 8.5, "loss was NaN at step 80", good=0))
    rows = [
        ["save", 20, 4.5, "saved ckpt-20", "●", 21],
        ["set", 40, 5.5, "rate 2 → 1", "◆", 11],
        ["restore", 60, 6.5, "restored ckpt-20", "◀", 4, {"to": 20}],
        ["try", 70, 7.5, "kept rate 1", "✓", 6],
        ["nan", 80, 8.5, "loss was NaN at step 80", "×", 0],
    ]
    assert wire.snapshot({})[0]["marks"] == rows
    assert wire.update({}) is None, "each travels once"
    marks.add(EDITED)
    message = wire.update({})
    assert message is not None
    assert message[0]["marks"] == [rows[1]]


def test_many_marks_are_sent_in_several_updates() -> None:
    marks, page = Marks(), FrontEnd()
    wire = Wire(ScalarStore(), marks)
    page.receive(*wire.snapshot({}))
    for step in range(3 * MOST_MARKS):
        marks.add(Mark("checkpoint", step, 1_790_000_000.125 + step, f"ckpt-{step}"))
        if step % 10 == 0:
            send(wire, page, {})
    while send(wire, page, {}):
        pass
    assert [mark[1] for mark in page.marks] == list(range(2 * MOST_MARKS, 3 * MOST_MARKS))
    assert page.hellos == 0


RESTORE = Action("Restore step 300 and halve rate", Restore("ckpt-300", "rate"), "it is gone")
UNDO = Action("Set rate back to 1", Set({"rate": 1.0, "loss": float("nan")}))


def test_the_actions_of_marks_are_sent_again_if_they_change() -> None:
    marks, page = Marks(), FrontEnd()
    wire = Wire(ScalarStore(), marks)
    marks.add(EDITED)
    marks.add(EDITED)
    by_mark = {0: (RESTORE, UNDO), 1: (UNDO,)}
    page.receive(*wire.snapshot({}, by_mark))
    named = {"checkpoint": "ckpt-300", "halve": "rate"}
    restore = ["Restore step 300 and halve rate", "restore", named, "it is gone"]
    undo = ["Set rate back to 1", "set", {"values": {"rate": 1.0, "loss": "NaN"}}, None]
    assert page.actions == {0: [restore, undo], 1: [undo]}
    assert wire.update({}, by_mark) is None
    message = wire.update({}, {0: (RESTORE,), 1: (UNDO,)})
    assert message is not None
    assert message[0]["actions"] == [[0, [restore]]]


def test_the_actions_of_many_marks_follow_the_marks_in_several_updates() -> None:
    marks, page = Marks(), FrontEnd()
    wire = Wire(ScalarStore(), marks)
    page.receive(*wire.snapshot({}))
    for _ in range(40):
        marks.add(EDITED)
    by_mark = dict.fromkeys(range(40), (RESTORE, UNDO))
    for _ in range(40):
        message = wire.update({}, by_mark)
        if message is None:
            break
        page.receive(json.loads(json.dumps(message[0])), message[1])
        assert max(page.actions) < page.marked
    assert set(page.actions) == set(range(40))


def test_each_mark_has_its_own_actions_though_others_were_dropped_before_it() -> None:
    marks, page = Marks(), FrontEnd()
    wire = Wire(ScalarStore(), marks)

    def by_mark() -> dict[int, tuple[Action, ...]]:
        held, count = marks.since()
        first = count - len(held)
        return {first + at: (Action(f"Undo {mark.step}", Set({})),) for at, mark in enumerate(held)}

    for step in range(10):
        marks.add(replace(EDITED, step=step))
    page.receive(*wire.snapshot({}, by_mark()))
    for step in range(10, 3 * MOST_MARKS):  # while the page is hidden
        marks.add(replace(EDITED, step=step))
    for _ in range(2):
        message = wire.update({}, by_mark())
        assert message is not None
        page.receive(*message)
    assert len(page.marks) > 10
    for number, mark in zip(page.numbers, page.marks, strict=True):
        told = page.actions.get(number)
        assert told is None or told[0][0] == f"Undo {mark[1]}"


def test_an_increment_stays_below_two_kilobytes_with_any_marks() -> None:
    store, marks = ScalarStore(), Marks()
    wire = Wire(store, marks)
    wire.snapshot({})
    by_mark = dict.fromkeys(range(MOST_MARKS), (RESTORE, UNDO))
    for step in range(MOST_MARKS):
        marks.add(Mark("restore", 10**9 + step, 1_790_000_000.125, "ckpt: " + 50 * "matched ", 7))
    for tag in TAGS:
        add(store, tag, 1, *[0.5] * 10_000)
    for step in range(9):
        message = wire.update({"step": step, "line": [["step", "1,240 of 10,000"]]}, by_mark)
        assert message is not None
        assert size(message) < 2000
    assert size(wire.snapshot({})) < 400_000


def test_the_advice_about_a_nan_loss_arrives_whole() -> None:
    marks, page = Marks(), FrontEnd()
    wire = Wire(ScalarStore(), marks)
    page.receive(*wire.snapshot({}))
    for step in range(5):
        text = f"Paused at step {step}: loss is NaN. Restore it: {40 * 'word '}run.resume()."
        marks.add(Mark("nan", step, 7.5, text))
    while send(wire, page, {}):
        pass
    assert [row[3] for row in page.marks] == [mark.text for mark in marks]


def test_a_page_that_is_late_or_misses_a_message_has_the_same_marks() -> None:
    marks, first, second = Marks(), FrontEnd(), FrontEnd()
    wire, other = Wire(ScalarStore(), marks), Wire(ScalarStore(), marks)
    first.receive(*wire.snapshot({}))
    marks.add(EDITED)
    assert wire.update({}) is not None  # and it is lost
    marks.add(Mark("save", 50, 7.5, "saved ckpt-50"))
    send(wire, first, {})
    assert first.hellos == 1
    first.receive(*wire.snapshot({}))
    second.receive(*other.snapshot({}))
    assert list(first.marks) == list(second.marks)
    assert len(first.marks) == 2


def test_a_page_that_misses_a_message_asks_again_and_is_whole_after_the_snapshot() -> None:
    store = ScalarStore()
    wire, page = Wire(store, Marks()), FrontEnd()
    page.receive(*wire.snapshot({}))
    add(store, "loss", 1, 5.0)
    lost = wire.update({})
    assert lost is not None
    add(store, "loss", 2, 4.0)
    send(wire, page, {})
    assert page.hellos == 1
    page.receive(*wire.snapshot({}))
    add(store, "loss", 3, 3.0)
    send(wire, page, {})
    assert_equal(page, store)


def test_nan_and_infinity_arrive_as_gaps_of_their_kind() -> None:
    store = ScalarStore()
    wire, page = Wire(store, Marks()), FrontEnd()
    page.receive(*wire.snapshot({}))
    add(store, "loss", 1, float("nan"), float("inf"), float("-inf"), 1e300)
    send(wire, page, {})
    rows = page.series[0].rows
    np.testing.assert_array_equal(rows[:, 1], [np.nan, np.nan, np.nan, np.inf])
    assert rows[:, 5:].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_a_page_folds_buckets_with_nan_and_infinity_as_the_kernel_does() -> None:
    store = ScalarStore()
    wire, page = Wire(store, Marks()), FrontEnd()
    page.receive(*wire.snapshot({}))
    for begin in range(0, 3000, 30):
        values = np.arange(begin, begin + 30) % 64.0
        for every, odd in ((7, np.nan), (11, np.inf), (13, -np.inf)):
            values[np.arange(begin, begin + 30) % every == 0] = odd
        values[:20] = np.nan if begin == 600 else values[:20]
        add(store, "loss", begin, *values)
        send(wire, page, {})
    while send(wire, page, {}):
        pass
    (series,) = page.series
    assert series.stride == 8
    np.testing.assert_allclose(series.rows, rows(store.curves()[0]), rtol=1e-6)


@pytest.mark.parametrize("odd", [0.5, float("nan")])
@pytest.mark.parametrize("length", [10, 1_000, 100_000, 1_000_000])
def test_an_increment_stays_below_two_kilobytes_at_any_length(length: int, odd: float) -> None:
    store = ScalarStore()
    wire = Wire(store, Marks())
    for tag in TAGS:
        add(store, tag, 1, *[0.5, odd] * (length // 2))
    assert size(wire.snapshot({"step": 0})) < 100_000
    for step in range(5):
        for tag in TAGS:
            add(store, tag, length + 1 + 10_000 * step, *[0.5, odd] * 5_000)
        message = wire.update({"step": step, "line": [["step", "1,240 of 10,000"]]})
        assert message is not None
        assert size(message) < 2000


ACTS = st.one_of(
    st.tuples(st.just("points"), st.integers(0, 2), st.integers(1, 900)),
    st.tuples(st.just("points"), st.integers(0, 2), st.integers(1, 40)),
    st.tuples(st.just("restore"), st.integers(0, 3000), st.just(0)),
    st.tuples(st.just("send"), st.just(0), st.just(0)),
    st.tuples(st.just("snapshot"), st.just(0), st.just(0)),
)


@given(acts=st.lists(ACTS, max_size=30))
def test_a_page_that_follows_the_wire_equals_the_store(acts: list[tuple[str, int, int]]) -> None:
    store, page, step = ScalarStore(), FrontEnd(), 0
    wire = Wire(store, Marks())
    fields: dict[str, Any] = {"step": 0, "phase": "running", "last": {}}
    page.receive(*wire.snapshot(dict(fields)))
    for act, number, count in acts:
        if act == "points":
            values = [float((step + k) * 7919 % 64) for k in range(count)]
            add(store, TAGS[number], step + 1, *values)
            step += count
        elif act == "restore":
            step = min(step, number)
            store.open_segment(step)
        elif act == "send":
            send(wire, page, dict(fields))
        else:
            page.receive(*wire.snapshot(dict(fields)))
        fields["step"] = step
        fields["last"] = {tag: str(value) for tag, value in store.last_values().items()}
    while send(wire, page, dict(fields)):
        pass
    assert page.hellos == 0
    assert page.status == fields
    assert_equal(page, store)
