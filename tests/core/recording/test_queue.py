"""Waiting records: in order, whole, in bounded memory, and no work for the collector."""

from __future__ import annotations

import gc
import math
import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nbtrain.recording.queue import RecordBatch, RecordQueue, SegmentMark

TAGS = st.sets(st.sampled_from(["loss", "accuracy", "rate"]))
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), TAGS),
        st.tuples(st.just("mark"), st.just(set())),
        st.tuples(st.just("take"), st.just(set())),
    ),
    max_size=60,
)


def number(_tag: str, _step: int, value: Any) -> float:
    """Returns any number unchanged."""
    return float(value)


def flat(entries: list[RecordBatch | SegmentMark]) -> list[tuple[Any, ...]]:
    """Returns the records one by one: step, wall time, values by tag; a mark has no values."""
    found: list[tuple[Any, ...]] = []
    for entry in entries:
        if isinstance(entry, SegmentMark):
            found.append((entry.step, entry.wall_time, None))
            continue
        rows = zip(*entry.columns, strict=True) if entry.tags else [()] * len(entry.steps)
        for step, wall, values in zip(entry.steps, entry.wall_times, rows, strict=True):
            found.append((step, wall, dict(zip(entry.tags, values, strict=True))))
    return found


@given(acts=ACTS)
def test_records_are_taken_in_order(acts: list[tuple[str, set[str]]]) -> None:
    queue = RecordQueue(number)
    added: list[tuple[Any, ...]] = []
    taken: list[tuple[Any, ...]] = []
    for step, (act, tags) in enumerate(acts):
        if act == "append":
            values = dict.fromkeys(sorted(tags), step / 2)
            queue.append(step, step / 4, values)
            added.append((step, step / 4, values))
        elif act == "mark":
            queue.mark(SegmentMark(step, step / 4))
            added.append((step, step / 4, None))
        else:
            taken += flat(queue.get_all())
    assert taken + flat(queue.get_all()) == added
    assert queue.get_all() == []
    assert queue.thinned == 0


def test_records_with_the_same_tags_come_as_one_batch() -> None:
    queue = RecordQueue(number)
    for step in (1, 2, 3):
        queue.append(step, 0.0, {"loss": step, "accuracy": 0.5})
    (batch,) = queue.get_all()
    assert isinstance(batch, RecordBatch)
    assert batch.tags == ("loss", "accuracy")
    assert [list(column) for column in batch.columns] == [[1, 2, 3], [0.5, 0.5, 0.5]]


def test_a_full_queue_keeps_the_extremes_until_it_is_taken() -> None:
    queue = RecordQueue(number, limit=2)
    for step, value in enumerate([1.0, 1.0, 5.0, 9.0, 7.0, -9.0, 6.0, 8.0]):
        queue.append(step, 0.0, {"loss": value})
    assert [(step, values["loss"]) for step, _, values in flat(queue.get_all())] == [
        (0, 1.0),
        (1, 1.0),
        (2, 5.0),
        (3, 9.0),
        (5, -9.0),
        (7, 8.0),
    ]
    assert queue.thinned == 6
    queue.append(8, 0.0, {"loss": 2.0})
    assert flat(queue.get_all()) == [(8, 0.0, {"loss": 2.0})]


def test_the_extremes_are_those_of_finite_values_and_the_others_are_kept_beside_them() -> None:
    queue = RecordQueue(number, limit=0)
    nan, inf = math.nan, math.inf
    for step, value in enumerate([inf, 3.0, -inf, 1.0, nan, 7.0, inf, nan, 5.0, 6.0]):
        queue.append(step, 0.0, {"loss": value})
    kept = [step for step, _, _ in flat(queue.get_all())]
    assert kept == [0, 2, 3, 5, 6, 7, 9]


def test_a_mark_comes_after_earlier_thinned_records() -> None:
    queue = RecordQueue(number, limit=1)
    for step in (1, 2, 3):
        queue.append(step, 0.0, {"loss": step})
    queue.mark(SegmentMark(1, 0.0))
    assert [step for step, _, values in flat(queue.get_all()) if values] == [1, 2, 3]


def test_waiting_records_are_invisible_to_the_garbage_collector() -> None:
    queue = RecordQueue(number)
    values = [{"loss": step / 3, "accuracy": step / 7} for step in range(5000)]
    gc.collect()
    before = len(gc.get_objects())
    for step, record in enumerate(values):
        queue.append(step, step / 11, record)
    assert len(gc.get_objects()) - before < 100


def test_records_of_several_threads_come_out_whole() -> None:
    queue, begin = RecordQueue(number), threading.Barrier(4)

    def record(tag: str) -> None:
        begin.wait()
        for step in range(1000):
            queue.append(step, 0.0, {tag: step, f"{tag} too": -step})

    threads = [threading.Thread(target=record, args=(tag,)) for tag in "abc"]
    for thread in threads:
        thread.start()
    begin.wait()
    taken = list[tuple[Any, ...]]()
    while any(thread.is_alive() for thread in threads):
        taken += flat(queue.get_all())
    taken += flat(queue.get_all())
    for tag in "abc":
        mine = [values for _, _, values in taken if tag in values]
        assert mine == [{tag: step, f"{tag} too": -step} for step in range(1000)]
    assert len(taken) == 3000
