"""A logdir of many small runs: they are decoded together, and read as each alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.logdir.reader import Reader
from nbtrain.tfevents.decode import Batch, Decoder
from nbtrain.tfevents.framing import ByteArray, Frames
from tests.event_files import NAME, expected, read, records, rows, simple, start, tensor, written
from tests.training.read_files import FILES, other_events, same, scalar_events

v1 = tf.compat.v1

VERSION = v1.Event(wall_time=1.0, file_version="brain.Event:2")


def losses(count: int, tag: str = "loss", first: float = 0.0) -> list[Any]:
    """A run of this many steps."""
    return [VERSION, *(tensor(tag, step, first + step, step + 0.5) for step in range(count))]


def assert_read_as_alone(logdir: Path) -> Reader:
    """Checks each run against a reader of this run only, which uses no bunch."""
    reader = read(logdir)
    for run in reader.runs:
        alone = read(logdir / run)
        assert same(rows(reader, run), rows(alone)), run
        assert reader.tags(run) == alone.tags(".")
        assert reader.skipped().get(run) == alone.skipped().get(".")
        for tag in alone.tags("."):
            ours, theirs = reader.points(run, tag), alone.points(".", tag)
            assert ours.abandoned.tolist() == theirs.abandoned.tolist()
    return reader


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each call of the decoder gets."""
    found: list[int] = []
    decode = Decoder.decode

    def counted(self: Decoder, data: ByteArray, frames: Frames) -> Batch:
        found.append(len(frames.starts))
        return decode(self, data, frames)

    monkeypatch.setattr(Decoder, "decode", counted)
    return found


def test_small_runs_are_decoded_together(tmp_path: Path, decodings: list[int]) -> None:
    for run in range(20):
        path = written(tmp_path / f"run{run}" / NAME, losses(300, first=run))
    reader = read(tmp_path)
    assert decodings == [20 * 301]
    assert same(rows(reader, "run19"), expected(path))


def test_a_run_that_is_not_small_is_read_by_itself(
    tmp_path: Path, decodings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtrain.logdir.event_run.SMALL", 10_000)
    for run, count in (("a", 50), ("large", 500), ("z", 50)):
        written(tmp_path / run / NAME, losses(count))
    reader = read(tmp_path)
    assert sorted(decodings) == [2 * 51, 501]
    assert [reader.count(run, "loss") for run in reader.runs] == [50, 500, 50]


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_a_bunch_may_hold_any_number_of_files(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtrain.logdir.bunches._MOST", most)
    for run in range(7):
        written(tmp_path / f"run{run}" / NAME, losses(10 + run))
    reader = assert_read_as_alone(tmp_path)
    assert [reader.count(run, "loss") for run in reader.runs] == list(range(10, 17))


@FILES
@given(
    runs=st.lists(
        st.lists(st.one_of(scalar_events(), other_events()), max_size=25), min_size=2, max_size=4
    ),
    times=st.integers(1, 9),
)
def test_whatever_the_runs_hold_each_gives_its_scalars_exactly(
    runs: list[list[Any]], times: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    logdir = tmp_path_factory.mktemp("logdir")
    paths = [
        written(logdir / str(number) / NAME, events * times) for number, events in enumerate(runs)
    ]
    reader = read(logdir)
    for path in paths:
        assert same(rows(reader, path.parent.name), expected(path))
    assert not reader.skipped()


def test_a_tag_of_one_run_is_not_one_of_another(tmp_path: Path) -> None:
    for run in range(9):
        events = [*losses(30, f"tag{run}"), *losses(30, "shared")]
        written(tmp_path / str(run) / NAME, events)
    reader = assert_read_as_alone(tmp_path)
    assert [reader.tags(run) for run in reader.runs] == [[f"tag{n}", "shared"] for n in range(9)]


def test_tags_are_in_the_order_in_which_they_appear_in_their_run(tmp_path: Path) -> None:
    orders = (["bb", "aa", "cc"], ["cc", "bb", "aa"], ["aa", "cc", "bb"])
    for run, names in enumerate(orders):
        events = []
        for step in range(20):
            event = v1.Event(step=step, wall_time=1.0)
            for name in names:
                event.summary.value.add(tag=name, simple_value=step)
            events.append(event)
        written(tmp_path / f"together{run}" / NAME, events)
        single = [simple(name, step, 1.0) for step in range(20) for name in names]
        written(tmp_path / f"one by one{run}" / NAME, single)
    reader = assert_read_as_alone(tmp_path)
    for run, names in enumerate(orders):
        assert reader.tags(f"together{run}") == names
        assert reader.tags(f"one by one{run}") == names


def test_a_record_of_another_length_moves_those_behind_it(tmp_path: Path) -> None:
    for run in range(6):
        graph = v1.Event(wall_time=1.0, graph_def=b"g" * 3**run)
        events = losses(150)
        events.insert(run * 20 + 1, graph)
        written(tmp_path / str(run) / NAME, events)
    reader = assert_read_as_alone(tmp_path)
    assert all(reader.count(run, "loss") == 150 for run in reader.runs)


def test_a_kind_that_the_first_value_of_a_tag_tells_is_that_of_its_run(tmp_path: Path) -> None:
    named = tensor("loss", 0, 1.0)
    other = v1.Event(step=0)
    other.CopyFrom(named)
    other.summary.value[0].metadata.plugin_data.plugin_name = "pr_curves"
    rest = [tensor("loss", step, 1.0, bare=True) for step in range(1, 30)]
    written(tmp_path / "scalars" / NAME, [named, *rest])
    written(tmp_path / "others" / NAME, [other, *rest])
    reader = assert_read_as_alone(tmp_path)
    assert [reader.count(run, "loss") for run in ("scalars", "others")] == [30, 0]


def test_a_run_of_several_files_and_restarts(tmp_path: Path) -> None:
    for run in range(5):
        for number in range(3):
            begin = 20 * number
            events = [simple("loss", step, step, 100 * number + step) for step in range(begin, 60)]
            mark = start(begin, 100.0 * number)
            path = tmp_path / str(run) / f"events.out.tfevents.{number}.here"
            written(path, [VERSION, mark, *events])
    reader = assert_read_as_alone(tmp_path)
    assert reader.points("0", "loss").abandoned.sum() == 40 + 20


def test_runs_that_are_cut_anywhere_go_on_where_they_were_cut(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole" / NAME, losses(40)).read_bytes()
    ends = records(whole)
    logdir = tmp_path / "logs"
    cuts = [*range(200), *(end + by for end in ends[::7] for by in (-1, 0, 1, 12))]
    for cut in cuts:
        path = logdir / f"{cut:05}" / NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(whole[:cut])
    reader = read(logdir)
    for cut in cuts:
        complete = sum(end <= cut for end in ends)
        assert reader.count(f"{cut:05}", "loss") == max(0, complete - 1)
        (logdir / f"{cut:05}" / NAME).write_bytes(whole)
    reader.scan()
    reader.read()
    assert not reader.skipped()
    for cut in cuts:
        assert same(rows(reader, f"{cut:05}"), expected(tmp_path / "whole" / NAME))


def test_a_byte_changed_in_one_run_costs_one_record_of_it_and_nothing_of_others(
    tmp_path: Path,
) -> None:
    whole = written(tmp_path / "whole" / NAME, losses(12)).read_bytes()
    logdir = tmp_path / "logs"
    for place in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        path = logdir / f"{place:05}" / NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damaged)
    reader = assert_read_as_alone(logdir)
    assert all(reader.count(run, "loss") >= 11 for run in reader.runs[:-20])


def test_a_damaged_file_among_those_of_a_run(tmp_path: Path) -> None:
    for run in range(4):
        for number in range(3):
            path = tmp_path / str(run) / f"events.out.tfevents.{number}.here"
            written(path, losses(20, first=20.0 * number))
        bad = tmp_path / str(run) / f"events.out.tfevents.{run % 3}.here"
        data = bytearray(bad.read_bytes())
        data[len(data) // 2] ^= 1
        bad.write_bytes(data)
    reader = assert_read_as_alone(tmp_path)
    assert sorted(reader.skipped()) == ["0", "1", "2", "3"]
    assert all(reader.count(run, "loss") == 59 for run in reader.runs)


def test_wrong_checksums_are_read_on_request(tmp_path: Path) -> None:
    for run in range(3):
        path = written(tmp_path / str(run) / NAME, losses(20))
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    reader = Reader(str(tmp_path), verify=False)
    reader.scan()
    reader.read()
    assert reader.doubtful() == {"0": 1, "1": 1, "2": 1}
    assert [reader.count(run, "loss") for run in reader.runs] == [20, 20, 20]


def test_a_run_that_vanishes_between_look_and_read_leaves_the_others(tmp_path: Path) -> None:
    for run in "abc":
        written(tmp_path / run / NAME, losses(20))
    reader = Reader(str(tmp_path))
    reader.scan()
    shutil.rmtree(tmp_path / "b")
    os.truncate(tmp_path / "c" / NAME, 30)
    reader.read()
    assert [reader.count(run, "loss") for run in "abc"] == [20, 0, 0]


def test_a_replaced_run_is_read_again(tmp_path: Path) -> None:
    for run in "ab":
        written(tmp_path / run / NAME, losses(20))
    reader = read(tmp_path)
    (tmp_path / "a" / NAME).unlink()
    path = written(tmp_path / "a" / NAME, losses(30, "other")[1:])
    reader.scan()
    reader.read()
    assert same(rows(reader, "a"), expected(path))
    assert reader.count("b", "loss") == 20
