"""The event file: read back by TensorFlow and by TensorBoard, every event is there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nbtrain.tfevents.writer import EventWriter
from tests.room import no_room

# Below and above each length of a step's varint.
EDGES = [0, 1, *(2 ** (7 * k) + d for k in range(1, 9) for d in (-1, 0)), 2**63 - 1]
FLOATS = st.floats(width=32)


def write(
    writer: EventWriter, steps: list[int], values: Mapping[str, list[float]], wall: float = 0.25
) -> None:
    """Write events a quarter of a second apart."""
    walls = np.array([1.7e9 + wall * row for row in range(len(steps))], dtype=np.float64)
    writer.scalars(
        np.array(steps, dtype=np.int64),
        walls,
        {tag: np.array(column, dtype=np.float64) for tag, column in values.items()},
    )


def read(path: Path) -> list[Any]:
    """Every event of a file; a wrong checksum or length would raise."""
    return list(tf.compat.v1.train.summary_iterator(str(path)))


def same(got: float, wanted: float) -> bool:
    """Equal in single precision, NaN to NaN."""
    with np.errstate(over="ignore"):
        single = float(np.float32(wanted))
    return got == single or (math.isnan(got) and math.isnan(single))


def test_a_file_begins_with_its_version_and_is_named_as_tensorboard_wants(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.close()
    (event,) = read(writer.path)
    assert event.file_version == "brain.Event:2"
    assert writer.path.name.startswith("events.out.tfevents.")
    assert writer.path.parent == tmp_path


def test_two_writers_of_one_folder_never_share_a_file(tmp_path: Path) -> None:
    first, second = EventWriter(tmp_path), EventWriter(tmp_path)
    assert first.path != second.path
    first.close()
    second.close()


def test_one_event_a_step_holds_all_its_tags(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    write(writer, [1, 2], {"loss": [0.5, 0.25], "accuracy": [0.75, 1.0]})
    writer.close()
    events = read(writer.path)[1:]
    assert [(e.step, e.wall_time) for e in events] == [(1, 1.7e9), (2, 1.7e9 + 0.25)]
    assert [[(v.tag, v.simple_value) for v in e.summary.value] for e in events] == [
        [("loss", 0.5), ("accuracy", 0.75)],
        [("loss", 0.25), ("accuracy", 1.0)],
    ]


def test_a_step_of_every_length_comes_back(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    write(writer, EDGES, {"loss": [float(k) for k in range(len(EDGES))]})
    writer.close()
    events = read(writer.path)[1:]
    assert [event.step for event in events] == EDGES
    assert [event.summary.value[0].simple_value for event in events] == list(range(len(EDGES)))


@pytest.mark.parametrize("tag", ["loss", "Größe/β", "損失", "a" * 127, "b" * 128, "c" * 20_000])
def test_a_tag_of_any_script_and_length_comes_back(tmp_path: Path, tag: str) -> None:
    writer = EventWriter(tmp_path)
    write(writer, [1, 300], {tag: [0.5, 0.25], "other": [1.0, 2.0]})
    writer.close()
    events = read(writer.path)[1:]
    assert [event.summary.value[0].tag for event in events] == [tag, tag]
    assert [event.summary.value[1].simple_value for event in events] == [1.0, 2.0]


def test_nan_and_infinity_are_written_unchanged(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    values = [float("nan"), float("inf"), float("-inf"), 1e300, -0.0]
    write(writer, [1, 2, 3, 4, 5], {"loss": values})
    writer.close()
    got = [event.summary.value[0].simple_value for event in read(writer.path)[1:]]
    assert all(map(same, got, values)), got


def test_records_are_on_disk_at_once(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    for step in range(1, 4):
        write(writer, [step], {"loss": [0.5]})
        assert len(read(writer.path)) == 1 + step
    writer.close()


@given(
    steps=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20),
    tags=st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=4, unique=True),
    data=st.data(),
)
def test_any_written_records_are_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], tags: list[str], data: st.DataObject
) -> None:
    column = st.lists(FLOATS, min_size=len(steps), max_size=len(steps))
    values = {tag: data.draw(column) for tag in tags}
    wall = data.draw(st.floats(-1e6, 1e6))
    writer = EventWriter(tmp_path_factory.mktemp("events"))
    write(writer, steps, values, wall=wall)
    writer.close()
    # A batch is written by the length of its steps: the order is that of each length.
    got = sorted(read(writer.path)[1:], key=lambda event: event.wall_time)
    assert sorted(event.step for event in got) == sorted(steps)
    by_point = {(e.step, v.tag): v.simple_value for e in got for v in e.summary.value}
    for row, step in enumerate(steps):
        if steps.count(step) == 1:
            for tag in tags:
                assert same(by_point[step, tag], values[tag][row])


def test_tensorboard_reads_the_curve(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    write(writer, list(range(1, 101)), {"loss": [1 / step for step in range(1, 101)]})
    writer.close()
    board = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload()
    points = board.Scalars("loss")
    assert [point.step for point in points] == list(range(1, 101))
    np.testing.assert_allclose([point.value for point in points], 1 / np.arange(1, 101), rtol=1e-6)


def test_tensorboard_drops_what_a_restore_abandoned(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    write(writer, [1, 2, 3, 4, 5], {"loss": [5.0, 4.0, 3.0, 2.0, 1.0]})
    writer.session_start(2, 1.7e9 + 10)
    write(writer, [3, 4], {"loss": [30.0, 40.0]})
    writer.close()
    board = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload()
    assert [(p.step, p.value) for p in board.Scalars("loss")] == [
        (1, 5.0),
        (2, 4.0),
        (3, 30.0),
        (4, 40.0),
    ]
    page = plugin_event_accumulator.EventAccumulator(str(tmp_path), {"tensors": 0}).Reload()
    assert [each.step for each in page.Tensors("loss")] == [1, 2, 3, 4], "of its dashboards"


def test_a_folder_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        EventWriter(tmp_path / "nowhere")


def test_closing_twice_does_nothing(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.close()
    writer.close()
    assert len(read(writer.path)) == 1


def test_a_batch_that_did_not_fit_on_the_disk_leaves_nothing(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    write(writer, [1], {"loss": [0.5]})
    size = writer.path.stat().st_size
    with no_room(size + 30), pytest.raises(OSError, match="File too large"):
        write(writer, [2], {"loss": [0.25]})
    assert writer.path.stat().st_size == size
    write(writer, [3], {"loss": [0.125]})
    writer.close()
    assert [event.step for event in read(writer.path)[1:]] == [1, 3]


def test_a_file_whose_beginning_finds_no_room_is_not_left(tmp_path: Path) -> None:
    with no_room(10), pytest.raises(OSError, match="File too large"):
        EventWriter(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_in_its_place_until_it_is_deleted_renamed_or_replaced(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    assert writer.in_place
    copy = writer.path.rename(tmp_path / "away")
    assert not writer.in_place
    writer.path.write_bytes(copy.read_bytes())
    assert not writer.in_place
    copy.replace(writer.path)
    assert writer.in_place
    tmp_path.rename(tmp_path.with_name("moved"))
    assert not writer.in_place
    writer.close()
