"""The recorder: every record reaches the store and the event file, in bounded memory."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.compat.proto.event_pb2 import SessionLog

from nbtrain.recording import backlog
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from tests.room import no_room


@pytest.fixture
def store() -> ScalarStore:
    """An empty store."""
    return ScalarStore()


def record(recorder: Recorder, first: int, *values: Any) -> None:
    """Append the loss of consecutive steps."""
    for step, value in enumerate(values, first):
        recorder.queue.append(step, float(step), {"loss": value})


def written(logdir: Path) -> list[Any]:
    """The events of the only event file."""
    (path,) = logdir.glob("events.out.tfevents.*")
    return list(tf.compat.v1.train.summary_iterator(str(path)))


def test_records_wait_until_they_are_drained(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    record(recorder, 1, 0.5, 0.25)
    assert len(store) == 0
    recorder.drain()
    assert store["loss"].steps.tolist() == [1, 2]
    assert store["loss"].values.tolist() == [0.5, 0.25]
    assert store["loss"].wall_times.tolist() == [1.0, 2.0]
    recorder.drain()
    assert len(store["loss"].steps) == 2, "each once"


def test_the_order_is_kept_over_many_drains_while_another_thread_appends(
    store: ScalarStore,
) -> None:
    recorder, done = Recorder(store, None), threading.Event()

    def train() -> None:
        for step in range(1, 20_001):
            recorder.queue.append(step, float(step), {"loss": step, "half": step / 2})
        done.set()

    thread = threading.Thread(target=train)
    thread.start()
    while not done.is_set():
        recorder.drain()
    thread.join(10)
    recorder.close()
    np.testing.assert_array_equal(store["loss"].steps, np.arange(1, 20_001))
    np.testing.assert_array_equal(store["half"].values, np.arange(1, 20_001) / 2)
    assert recorder.thinned_steps == 0


def test_tags_that_come_now_and_then_keep_their_steps(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    for step in range(1, 11):
        values = {"loss": 1.0} if step % 5 else {"loss": 1.0, "accuracy": 0.5}
        recorder.queue.append(step, float(step), values)
    recorder.drain()
    assert store["accuracy"].steps.tolist() == [5, 10]
    assert store["loss"].steps.tolist() == list(range(1, 11))


def test_tensors_and_numbers_of_every_kind_become_floats(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    record(recorder, 1, 1, True, np.float32(0.5), np.float64(2.0), tf.constant(3.0))
    record(recorder, 6, tf.constant(4), tf.constant(5.0, tf.bfloat16))
    recorder.drain()
    assert store["loss"].values.tolist() == [1.0, 1.0, 0.5, 2.0, 3.0, 4.0, 5.0]
    assert recorder.error is None


def test_records_reach_the_event_file_too(store: ScalarStore, tmp_path: Path) -> None:
    recorder = Recorder(store, tmp_path)
    record(recorder, 1, 0.5, tf.constant(0.25))
    recorder.close()
    events = written(tmp_path)[1:]
    assert [(e.step, e.summary.value[0].tag) for e in events] == [(1, "loss"), (2, "loss")]
    assert [e.summary.value[0].simple_value for e in events] == [0.5, 0.25]


def test_a_restore_is_marked_in_the_store_and_in_the_event_file(
    store: ScalarStore, tmp_path: Path
) -> None:
    recorder = Recorder(store, tmp_path)
    record(recorder, 1, 5.0, 4.0, 3.0)
    recorder.open_segment(1)
    record(recorder, 2, 40.0)
    recorder.close()
    assert store["loss"].steps.tolist() == [1, 2, 3, 2]
    assert store["loss"].segments.tolist() == [0, 0, 0, 1]
    assert store["loss"].abandoned.tolist() == [False, True, True, False]
    session = tf.compat.v1.SessionLog.START
    kinds = [(e.step, e.session_log.status == session) for e in written(tmp_path)[1:]]
    assert kinds == [(1, False), (2, False), (3, False), (2, True), (2, True), (2, False)]


def test_a_burst_beyond_the_limit_keeps_first_last_lowest_and_highest(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=3)
    record(recorder, 1, 1.0, 1.0, 1.0)
    record(recorder, 4, 2.0, 3.0, 99.0, 4.0, -99.0, 5.0, 6.0)
    recorder.drain()
    columns = store["loss"]
    points = list(zip(columns.steps.tolist(), columns.values.tolist(), strict=True))
    assert points == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (6, 99.0), (8, -99.0), (10, 6.0)]
    assert recorder.thinned_steps == 7, "it says how many steps were thinned"


def test_after_a_burst_every_record_is_kept_again(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=2)
    record(recorder, 1, *[1.0] * 100)
    recorder.drain()
    record(recorder, 101, 2.0, 3.0)
    recorder.drain()
    assert store["loss"].steps.tolist()[-2:] == [101, 102]
    assert recorder.thinned_steps == 98


def test_each_tag_of_a_burst_keeps_its_own_extremes(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=1)
    for step in range(1, 101):
        recorder.queue.append(
            step, 0.0, {"up": step, "down": -step, "peak": 9 if step == 50 else 0}
        )
    recorder.drain()
    assert store["up"].steps.tolist() == [1, 2, 100]
    assert store["down"].steps.tolist() == [1, 2, 100]
    assert 50 in store["peak"].steps.tolist()


def test_a_nan_in_a_burst_is_seen(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=1)
    record(recorder, 1, 1.0, 2.0, float("nan"), 0.5, 3.0)
    recorder.drain()
    assert np.isnan(store["loss"].values).any()


def test_a_burst_takes_bounded_memory(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=1000)
    record(recorder, 1, *[0.5] * 1000)
    gc.collect()
    tracemalloc.start()
    try:
        for step in range(1001, 31_001):
            recorder.queue.append(step, float(step), {"loss": step / 3})
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 100_000, f"{held} bytes for 30,000 thinned steps"


def test_a_burst_before_a_restore_belongs_to_the_abandoned_segment(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=2)
    record(recorder, 1, 1.0, 1.0, 3.0, 2.0)
    recorder.open_segment(1)
    recorder.drain()
    record(recorder, 2, 7.0)
    recorder.drain()
    columns = store["loss"]
    assert columns.segments.tolist() == [0, 0, 0, 0, 1]
    assert columns.steps.tolist() == [1, 2, 3, 4, 2]


def test_a_value_that_is_no_scalar_becomes_nan_with_a_word(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    record(recorder, 1, 0.5, tf.constant([1.0, 2.0]), 0.25)
    recorder.drain()
    np.testing.assert_array_equal(store["loss"].values, [0.5, np.nan, 0.25])
    assert recorder.error is not None
    assert recorder.error.startswith("'loss' at step 2 is no scalar, kept as NaN: ")


def test_a_value_that_is_no_scalar_in_a_burst_becomes_nan_too(store: ScalarStore) -> None:
    recorder = Recorder(store, None, limit=1)
    record(recorder, 1, 0.5, tf.constant([1.0, 2.0]), 0.25)
    recorder.drain()
    assert store["loss"].steps.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(store["loss"].values, [0.5, np.nan, 0.25])
    assert recorder.error is not None
    assert "is no scalar, kept as NaN" in recorder.error


@pytest.mark.parametrize("value", [np.complex64(1 + 2j), np.complex128(1 + 2j)])
def test_a_value_that_becomes_complex_is_recorded_as_nan_with_a_message(
    store: ScalarStore, value: Any
) -> None:
    recorder = Recorder(store, None)
    record(recorder, 1, np.float32(0.5), value, np.float32(0.25))
    recorder.drain()
    np.testing.assert_array_equal(store["loss"].values, [0.5, np.nan, 0.25])
    assert recorder.error is not None
    assert "'loss' at step 2 is no scalar, kept as NaN: " in recorder.error
    assert "complex" in recorder.error


@pytest.mark.parametrize("make", [np.array, tf.Variable])
def test_a_value_that_may_have_changed_before_it_was_read_is_reported(
    store: ScalarStore, make: Callable[[float], Any]
) -> None:
    recorder = Recorder(store, None)
    record(recorder, 1, 0.5, make(0.25))
    recorder.drain()
    assert store["loss"].values.tolist() == [0.5, 0.25]
    assert recorder.error is not None
    assert recorder.error.startswith("'loss' is a variable or an array at step 2, and was not read")


def test_scalars_that_a_full_disk_refused_are_written_once_there_is_space(
    store: ScalarStore, tmp_path: Path
) -> None:
    recorder = Recorder(store, tmp_path)
    record(recorder, 1, 0.5)
    recorder.drain()
    with no_room(100):
        for step in (2, 3):
            record(recorder, step, 0.25, 0.125)
            recorder.drain()
        recorder.open_segment(2)
        record(recorder, 3, 0.0625)
        recorder.drain()
        assert recorder.error == (
            "The event file lacks scalars of steps 2 to 4, which are in memory (run.scalars): File "
            "too large. They are written once there is room."
        )
        assert len(written(tmp_path)[1:]) == 1
    recorder.drain()
    assert recorder.error is None
    record(recorder, 4, 0.75)
    recorder.close()
    values = [0.5, 0.25, 0.125, 0.25, 0.125, 0.0625, 0.75]
    assert store["loss"].values.tolist() == values
    events = written(tmp_path)[1:]
    assert [event.step for event in events] == [1, 2, 3, 3, 4, 3, 3, 3, 4], "in their order, once"
    assert [e.summary.value[0].simple_value for e in events if e.summary.value] == values
    assert events[5].session_log.status == SessionLog.START


def test_a_disk_that_stays_full_costs_bounded_memory_and_what_is_never_written_is_told(
    store: ScalarStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "MOST", 10_000)
    recorder, held = Recorder(store, tmp_path), []
    tracemalloc.start()
    with no_room(60):
        recorder.open_segment(0)
        for step in range(1, 2_001):
            record(recorder, step, 0.5)
            recorder.drain()
            if step in (1_000, 2_000):
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        told = str(recorder.error)
    tracemalloc.stop()
    assert held[1] - held[0] < 100_000, "of the store"
    recorder.drain()
    mark, *steps = [event.step for event in written(tmp_path)[1:]]
    assert [mark, steps[0]] == [1, 1], "the mark, twice"
    assert 1_800 < steps[1] < 2_000
    assert steps[1:] == [*range(steps[1], 2_001)]
    lacks, never = told.splitlines()
    assert lacks.startswith(f"The event file lacks scalars of steps {steps[1]:,} to 2,000, which")
    assert never == (
        f"Scalars of steps 1 to {steps[1] - 1:,} are never written to the event file, which had no "
        "room for too long. They are in memory (run.scalars)."
    )
    assert recorder.error == never
    assert len(store["loss"].steps) == 2_000
    recorder.close()


def test_scalars_that_were_never_written_are_named_at_the_end(
    store: ScalarStore, tmp_path: Path
) -> None:
    recorder = Recorder(store, tmp_path)
    with no_room(60):
        record(recorder, 1, 0.5)
        recorder.close()
    assert recorder.error == (
        "The event file lacks scalars of steps 1 to 1, which are in memory (run.scalars)."
    )


def test_steps_of_other_lengths_are_written_all_or_none(store: ScalarStore, tmp_path: Path) -> None:
    recorder = Recorder(store, tmp_path)
    with no_room(150):
        for step in (127, 128):
            record(recorder, step, 0.5)
        recorder.drain()
    recorder.close()
    assert [event.step for event in written(tmp_path)[1:]] == [127, 128]


def test_any_error_of_the_event_file_is_shown_and_the_store_continues(
    store: ScalarStore, tmp_path: Path
) -> None:
    recorder = Recorder(store, tmp_path)
    assert recorder._file._writer is not None
    recorder._file._writer._file.close()
    record(recorder, 1, 0.5)
    recorder.drain()
    assert "lacks scalars of steps 1 to 1" in str(recorder.error)
    assert "ValueError: I/O operation on closed file" in str(recorder.error)
    recorder.close()
    assert store["loss"].values.tolist() == [0.5]


def test_a_step_that_cannot_be_kept_is_told_and_those_after_it_are(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    record(recorder, 2**63, 0.5)
    recorder.open_segment(1)
    record(recorder, 2, 0.25)
    recorder.drain()
    assert store["loss"].steps.tolist() == [2]
    assert "could not be kept: OverflowError" in str(recorder.error)


def test_an_event_file_that_was_given_up_is_missed_by_nobody(
    store: ScalarStore, tmp_path: Path
) -> None:
    recorder = Recorder(store, tmp_path)
    (path,) = tmp_path.iterdir()
    assert recorder.in_place
    path.unlink()
    assert not recorder.in_place
    recorder.stop_writing()
    record(recorder, 1, 0.5)
    recorder.close()
    assert recorder.in_place
    assert recorder.event_file is None
    assert store["loss"].values.tolist() == [0.5]
    assert list(tmp_path.iterdir()) == []


def test_draining_from_two_threads_loses_and_doubles_nothing(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    record(recorder, 1, *[0.5] * 5000)
    threads = [threading.Thread(target=recorder.drain) for _ in range(4)]
    for thread in threads:
        thread.start()
    record(recorder, 5001, *[0.5] * 5000)
    for thread in threads:
        thread.join(10)
    recorder.drain()
    np.testing.assert_array_equal(store["loss"].steps, np.arange(1, 10_001))


def test_a_number_too_large_for_a_float_is_nan_and_told(store: ScalarStore) -> None:
    recorder = Recorder(store, None)
    recorder.queue.append(1, 1.0, {"loss": 10**400, "other": 2.0})
    recorder.drain()
    assert np.isnan(store["loss"].values).all()
    assert store["other"].values.tolist() == [2.0]
    assert "no scalar" in (recorder.error or "")
