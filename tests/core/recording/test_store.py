"""The store: exact columns of every tag, segments, and increments for a viewer."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.errors import NbtrainError, UnknownTagError
from nbtrain.core.timeline import Timeline
from nbtrain.recording.parts import Cursor
from nbtrain.recording.store import ScalarStore
from tests.front_end import Series
from tests.stores import TAGS, add, rows


class Viewer:
    """A viewer that stores what `changes` returns, and its cursors."""

    def __init__(self) -> None:
        self.cursors: list[Cursor] = []
        self.series: list[Series] = []

    def look(self, store: ScalarStore, budget: int) -> int:
        """Takes what is new; returns the number of buckets."""
        count = 0
        for index, curve in store.changes(self.cursors, budget):
            if index == len(self.cursors):
                self.cursors.append(Cursor())
                self.series.append(Series(curve.tag, curve.segment, curve.abandoned))
            self.cursors[index] = Cursor.after(curve.buckets)
            self.series[index].take(curve.buckets.stride, curve.buckets.start, rows(curve))
            count += len(curve.buckets.steps)
        return count


def test_points_are_returned_as_recorded() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5, float("nan"), float("inf"))
    add(store, "loss", 4, 0.1)
    columns = store["loss"]
    assert columns.steps.tolist() == [1, 2, 3, 4]
    assert columns.wall_times.tolist() == [1001.0, 1002.0, 1003.0, 1004.0]
    np.testing.assert_array_equal(columns.values, [0.5, np.nan, np.inf, 0.1])
    assert columns.segments.tolist() == [0, 0, 0, 0]
    assert [str(column.dtype) for column in (columns.steps, columns.values)] == [
        "int64",
        "float64",
    ]
    assert len(columns) == 4


@given(sizes=st.lists(st.integers(1, 20_000), min_size=1, max_size=5))
def test_columns_are_exact_for_any_batch_size(sizes: list[int]) -> None:
    store, first = ScalarStore(), 1
    for size in sizes:
        steps = np.arange(first, first + size, dtype=np.int64)
        store.extend("loss", steps, steps / 4, steps / 8)
        first += size
    columns = store["loss"]
    np.testing.assert_array_equal(columns.steps, np.arange(1, first))
    np.testing.assert_array_equal(columns.wall_times, np.arange(1, first) / 4)
    np.testing.assert_array_equal(columns.values, np.arange(1, first) / 8)


def test_reading_returns_a_copy() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5)
    store["loss"].values[0] = 7.0
    assert store["loss"].values.tolist() == [0.5]


def test_an_unknown_tag_raises_with_the_known_ones() -> None:
    store = ScalarStore()
    with pytest.raises(UnknownTagError, match=r"^No scalar has the tag 'los'; .*: none yet\.$"):
        store["los"]
    add(store, "loss", 1, 0.5)
    add(store, "accuracy", 1, 0.5)
    with pytest.raises(UnknownTagError, match=r"recorded so far: 'loss', 'accuracy'\.$"):
        store["los"]
    assert list(store) == ["loss", "accuracy"], "asking makes no tag"


def test_an_unknown_tag_is_a_key_error_and_one_of_nbtrains() -> None:
    with pytest.raises(KeyError):
        ScalarStore()["loss"]
    with pytest.raises(NbtrainError):
        ScalarStore()["loss"]


def test_the_store_maps_tags_in_order_of_appearance() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5)
    add(store, "accuracy", 1, 0.25)
    add(store, "loss", 2, 0.125)
    assert list(store) == ["loss", "accuracy"]
    assert len(store) == 2
    assert "loss" in store
    assert "los" not in store
    assert store.get("los") is None
    assert store.last_values() == {"loss": 0.125, "accuracy": 0.25}


def test_a_restore_opens_a_segment_and_abandons_later_points() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 5.0, 4.0, 3.0, 2.0)
    store.open_segment(2)
    add(store, "loss", 3, 3.5, 2.5)
    columns = store["loss"]
    assert columns.steps.tolist() == [1, 2, 3, 4, 3, 4]
    assert columns.segments.tolist() == [0, 0, 0, 0, 1, 1]
    assert columns.abandoned.tolist() == [False, False, True, True, False, False]
    found = [(c.segment, c.abandoned, c.buckets.mean.tolist()) for c in store.curves()]
    assert found == [(0, False, [5, 4]), (0, True, [3, 2]), (1, False, [3.5, 2.5])]
    assert store.last_values() == {"loss": 2.5}


def test_a_restore_without_later_points_makes_no_part() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 5.0, 4.0, 3.0)
    add(store, "loss", 20, 2.0)
    for step in (30, 10, 5, 4):
        store.open_segment(step)
    assert [(c.abandoned, c.buckets.mean.tolist()) for c in store.curves()] == [
        (False, [5, 4, 3]),
        (True, [2]),
    ]


def test_no_bucket_mixes_kept_and_abandoned_points() -> None:
    store = ScalarStore()
    add(store, "loss", 1, *np.arange(3000.0), *np.full(3000, 1e9))
    store.open_segment(3001)
    kept, tail = store.curves()
    assert (kept.buckets.stride, kept.buckets.points, tail.buckets.points) == (16, 3001, 2999)
    assert kept.buckets.steps[-1] == 2993
    assert kept.buckets.mean[-2:].tolist() == [2983.5, (sum(range(2992, 3000)) + 1e9) / 9]
    assert (kept.buckets.lo[-1], kept.buckets.hi[-1]) == (2992, 1e9)
    assert (tail.buckets.steps[0], tail.buckets.lo.min()) == (3002, 1e9)
    store.open_segment(3000)
    kept = store.curves()[0]
    assert kept.buckets.hi.max() == 2999


def test_a_restore_further_back_abandons_more_and_one_nearer_no_less() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 5.0, 4.0, 3.0, 2.0)
    store.open_segment(3)
    add(store, "loss", 4, 2.0)
    store.open_segment(1)
    add(store, "loss", 2, 4.0)
    store.open_segment(2)
    assert [(c.segment, c.abandoned, c.buckets.mean.tolist()) for c in store.curves()] == [
        (0, False, [5]),
        (0, True, [2]),
        (1, False, []),
        (0, True, [4, 3]),
        (1, True, [2]),
        (2, False, [4]),
    ]
    assert store["loss"].abandoned.tolist() == [False, True, True, True, True, False]


def test_a_tail_counts_again_when_the_run_goes_back_to_it() -> None:
    store, viewer, on = ScalarStore(), Viewer(), float("inf")
    add(store, "loss", 1, 5.0, 4.0, 3.0, 2.0)
    store.open_segment(1, {0: 1, 1: on})
    add(store, "loss", 2, 4.5, 3.5)
    viewer.look(store, 100)
    store.open_segment(3, {0: 3, 2: on})
    add(store, "loss", 4, 2.5)
    viewer.look(store, 100)
    assert [(s.segment, s.abandoned, s.rows[:, 1].tolist()) for s in viewer.series] == [
        (0, False, [5, 4, 3]),
        (0, True, []),
        (1, False, []),
        (0, True, [2]),
        (1, True, [4.5, 3.5]),
        (2, False, [2.5]),
    ]
    assert store["loss"].abandoned.tolist() == [False] * 3 + [True] * 3 + [False]
    assert store.last_values() == {"loss": 2.5}


def test_a_viewer_that_has_seen_everything_gets_nothing() -> None:
    store, viewer = ScalarStore(), Viewer()
    add(store, "loss", 1, *[0.5] * 10)
    assert viewer.look(store, 100) == 10
    assert viewer.look(store, 100) == 0
    add(store, "loss", 11, 0.25)
    assert viewer.look(store, 100) == 1


def test_a_budget_is_shared_by_the_curves_that_changed() -> None:
    store, viewer = ScalarStore(), Viewer()
    for tag in TAGS:
        add(store, tag, 1, *[0.5] * 400)
    assert viewer.look(store, 30) == 30
    assert [len(series.rows) for series in viewer.series] == [10, 10, 10]
    assert viewer.look(store, 2) == 3, "at least one each, or a viewer could starve"


def test_the_cost_of_changes_does_not_grow_with_the_curve() -> None:
    store, viewer = ScalarStore(), Viewer()
    add(store, "loss", 1, *[0.5] * 100_000)
    while viewer.look(store, 50):
        pass
    add(store, "loss", 100_001, *[0.5] * 1000)
    assert viewer.look(store, 50) <= 1000 // 256 + 2


POINTS = st.tuples(st.just("points"), st.integers(0, 2), st.integers(1, 900))
RESTORE = st.tuples(st.just("restore"), st.integers(0, 3000), st.integers(0, 9))
LOOK = st.tuples(st.just("look"), st.integers(1, 200), st.just(0))


@given(acts=st.lists(st.one_of(POINTS, POINTS, LOOK, RESTORE), max_size=25))
def test_replayed_increments_equal_the_curves(acts: list[tuple[str, int, int]]) -> None:
    store, viewer, step, timeline = ScalarStore(), Viewer(), 0, Timeline()
    saved: list[tuple[int, int]] = []
    store.open_segment(0, timeline.limits)
    for act, number, size in acts:
        if act == "points":
            values = [float((step + k) * 7919 % 64) for k in range(size)]
            add(store, TAGS[number], step + 1, *values)
            step += size
            saved.append((step, timeline.add()))
        elif act == "restore" and size < len(saved):  # of a save, or to a step
            step, order = saved[size]
            timeline.open(step, order)
            store.open_segment(step, timeline.limits)
        elif act == "restore":
            step = min(step, number)
            timeline.open(step)
            store.open_segment(step, timeline.limits)
        else:
            viewer.look(store, number)
    while viewer.look(store, 60):
        pass
    curves = store.curves()
    assert [(s.tag, s.segment, s.abandoned, s.stride) for s in viewer.series] == [
        (c.tag, c.segment, c.abandoned, c.buckets.stride) for c in curves
    ]
    for series, curve in zip(viewer.series, curves, strict=True):
        np.testing.assert_array_equal(series.rows, rows(curve))
    for tag in store:
        counting = [c.buckets.points for c in curves if c.tag == tag and not c.abandoned]
        assert sum(counting) == len(store[tag]) - store[tag].abandoned.sum()
        assert sum(c.buckets.points for c in curves if c.tag == tag) == len(store[tag])
    assert len({(c.tag, c.buckets.stride) for c in curves}) == len({c.tag for c in curves})


def test_all_parts_of_a_curve_have_the_same_stride() -> None:
    store, viewer = ScalarStore(), Viewer()
    add(store, "loss", 1, *np.arange(100.0))
    add(store, "accuracy", 1, *np.arange(100.0))
    viewer.look(store, 1000)
    store.open_segment(60)
    add(store, "loss", 61, *np.arange(3000.0))
    viewer.look(store, 1000)
    store.open_segment(2000)
    add(store, "loss", 2001, 7.0)
    earlier = ScalarStore()
    add(earlier, "loss", 1, *np.arange(10_000.0))
    store.recall(earlier)
    viewer.look(store, 1000)
    found = [(s.tag, s.segment, s.abandoned, s.stride, len(s.rows)) for s in viewer.series]
    assert found == [
        ("loss", 0, False, 32, 2),
        ("accuracy", 0, False, 1, 60),
        ("loss", 0, True, 32, 2),
        ("accuracy", 0, True, 1, 40),
        ("loss", 1, False, 32, 61),
        ("loss", 1, True, 32, 34),
        ("loss", 2, False, 32, 1),
        ("loss", -1, False, 32, 2),
        ("loss", -1, True, 32, 311),
    ]
    for series, curve in zip(viewer.series, store.curves(), strict=True):
        np.testing.assert_array_equal(series.rows, rows(curve))


def test_a_reader_never_sees_columns_of_different_lengths() -> None:
    store, done = ScalarStore(), threading.Event()
    add(store, "loss", 1, 0.5)

    def write() -> None:
        for batch in range(300):
            add(store, "loss", 2 + 50 * batch, *[0.5] * 50)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        columns = store["loss"]
        assert len(columns.steps) == len(columns.values) == len(columns.wall_times)
        assert columns.steps[-1] == len(columns)
    thread.join(10)


def test_a_million_points_take_less_than_40_megabytes() -> None:
    tracemalloc.start()
    try:
        store = ScalarStore()
        for first in range(1, 1_000_001, 1000):
            steps = np.arange(first, first + 1000, dtype=np.int64)
            store.extend("loss", steps, steps / 4, steps / 8)
        assert len(store.curves()[0].buckets.steps) <= 512
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 40e6, f"{held / 1e6:.1f} MB"
    assert len(store["loss"]) == 1_000_000


def test_a_viewer_of_many_curves_sees_the_newest_points() -> None:
    store, seen = ScalarStore(), [Cursor() for _ in range(8)]
    budget, newest = 50, 0.0
    for turn in range(40):  # 16 new points of each curve each time: more than the budget
        steps = np.arange(16 * turn, 16 * (turn + 1))
        for tag in "abcdefgh":
            store.extend(tag, steps, steps.astype(np.float64), steps.astype(np.float64))
        for index, curve in store.changes(seen, budget):
            seen[index] = Cursor.after(curve.buckets)
            newest = float(curve.buckets.steps[-1])
    assert newest > 0.85 * 16 * 40


def test_the_last_value_was_not_abandoned() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5, 0.25, 0.125)
    add(store, "late", 3, 7.0)
    store.open_segment(2)
    assert store.last_values() == {"loss": 0.25, "late": 7.0}, "of late nothing else is known"
    add(store, "loss", 3, 0.75)
    store.open_segment(2)
    assert store.last_values()["loss"] == 0.25
    store.open_segment(1)
    assert store.last_values()["loss"] == 0.5


def test_an_outdated_last_value_has_its_step() -> None:
    earlier, store = ScalarStore(), ScalarStore()
    add(earlier, "loss", 1, 3.0, 2.0, 1.0)
    add(earlier, "val_loss", 2, 5.0)
    store.recall(earlier)
    assert store.earlier_steps() == {}, "all there is"
    store.open_segment(3)
    assert store.earlier_steps() == {}
    add(store, "loss", 4, 0.5)
    assert store.earlier_steps() == {"val_loss": 2}
    add(store, "val_loss", 4, 4.0)
    assert store.earlier_steps() == {}
    add(store, "loss", 5, 0.5, 0.5, 0.5)
    assert store.earlier_steps() == {}, "of this segment: an epoch may lie between two"
    store.open_segment(6)
    add(store, "loss", 7, 0.25)
    assert store.earlier_steps() == {"val_loss": 4}
    store.open_segment(3)
    add(store, "loss", 4, 0.25)
    assert store.earlier_steps() == {"val_loss": 2}, "of what was not abandoned"


def test_the_last_value_is_found_in_an_earlier_block() -> None:
    store = ScalarStore()
    add(store, "loss", 1, *np.arange(30_000.0))
    store.open_segment(5)
    assert store.last_values() == {"loss": 4.0}


def test_a_store_prints_each_tag_with_its_points_and_last_value() -> None:
    store = ScalarStore()
    assert repr(store) == "no scalars yet"
    add(store, "loss", 1, 2.0, 1.0)
    add(store, "accuracy", 2, 0.5)
    store.open_segment(1)
    add(store, "loss", 2, 1.25)
    assert repr(store) == "loss: 3 points, last 1.25\naccuracy: 1 point, last 0.5"


def test_a_cleared_store_begins_again() -> None:
    store = ScalarStore()
    add(store, "loss", 1, 0.5, 0.25)
    store.open_segment(1)
    store.clear()
    assert list(store) == []
    assert store.generation == 1
    add(store, "loss", 1, 2.0)
    assert store["loss"].segments.tolist() == [0]
    assert not store["loss"].abandoned.any()
