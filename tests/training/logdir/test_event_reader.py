"""Event files: read as TensorFlow reads them, and further where it gives up."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.event_run import EventRun
from nbtrain.logdir.reader import Reader
from nbtrain.tfevents import tail
from nbtrain.tfevents.crc import crc32c, masked
from nbtrain.tfevents.writer import EventWriter
from tests import ROOT
from tests.event_files import (
    NAME,
    expected,
    read,
    records,
    rows,
    simple,
    start,
    tensor,
    written,
)
from tests.forked import Forked
from tests.gate import SOON
from tests.training.read_files import (
    FILES,
    TYPES,
    other_events,
    same,
    scalar_events,
    v1,
)

# --- every readable file ----------------------------------------------------------


@FILES
@given(
    events=st.lists(st.one_of(scalar_events(), other_events()), max_size=60),
    times=st.integers(1, 12),
    chunk=st.sampled_from([64, 500, 1 << 21]),
)
def test_every_readable_file_gives_its_scalars_exactly(
    events: list[Any], times: int, chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("run") / NAME, events * times)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "CHUNK", chunk)
        reader = read(path.parent)
    assert same(rows(reader), expected(path))
    assert reader.runs == ["."]


@FILES
@given(data=st.data(), events=st.lists(scalar_events(), min_size=1, max_size=30))
def test_a_file_that_grows_gives_the_same_at_last_whatever_was_seen_of_it_before(
    data: st.DataObject, events: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = written(tmp_path_factory.mktemp("whole") / NAME, events)
    content = whole.read_bytes()
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=8).map(sorted))
    growing = tmp_path_factory.mktemp("growing") / NAME
    growing.write_bytes(b"")
    reader = read(growing.parent)
    for low, high in zip([0, *cuts], [*cuts, len(content)], strict=True):
        with growing.open("ab") as file:
            file.write(content[low:high])
        reader.scan()
        reader.read()
    assert same(rows(reader), expected(whole))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("content", [False, True])
def test_a_thousand_tensors_of_each_type(kind: Any, content: bool, tmp_path: Path) -> None:
    events = [tensor("t", step, kind(step % 100), content=content) for step in range(1000)]
    path = written(tmp_path / NAME, events)
    assert rows(read(tmp_path)) == expected(path)


def test_tags_by_the_hundred_of_one_length(tmp_path: Path) -> None:
    events = [simple(f"tag{n % 400:03}", n // 400, n / 7, n) for n in range(8_000)]
    path = written(tmp_path / NAME, events)
    assert rows(read(tmp_path)) == expected(path)


def of_a_run(folder: Path) -> None:
    nbtrain.train(lambda: {"loss": 0.5}, steps=3, logdir=folder).wait(SOON)


def of_tensorflow(folder: Path) -> None:
    with tf.summary.create_file_writer(str(folder)).as_default():
        for step in range(3):
            tf.summary.scalar("loss", 0.5, step=step)


@pytest.mark.parametrize("write", [of_a_run, of_tensorflow])
def test_scalars_are_read_without_loading_the_protocol_classes(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "run")
    code = f"""\
import sys, nbtrain
print(nbtrain.scalars({str(tmp_path)!r})["run", "loss"].values)
print({{"tensorflow", "tensorboard", "google.protobuf"}} & sys.modules.keys())"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout == "[0.5 0.5 0.5]\nset()\n"


def test_a_value_that_is_not_a_scalar_makes_no_point(tmp_path: Path) -> None:
    events = [
        tensor("vector", 1, np.zeros(3, np.float32)),
        tensor("text", 1, np.array(b"words", object)),
        tensor("complex", 1, np.complex64(1)),
    ]
    other = tensor("curve", 1, np.float32(1))
    other.summary.value[0].metadata.plugin_data.plugin_name = "pr_curves"
    written(tmp_path / NAME, [*events, other])
    assert rows(read(tmp_path)) == {}


def test_runs_that_are_read_by_turns_take_64_bytes_an_event_at_the_peak(tmp_path: Path) -> None:
    events = [tensor(tag, step, np.float32(step)) for step in range(3000) for tag in "abcdefghij"]
    data = written(tmp_path / "0" / NAME, events).read_bytes()
    runs = 12
    for run in range(1, runs):
        (tmp_path / str(run)).mkdir()
        (tmp_path / str(run) / NAME).write_bytes(data)
    read(tmp_path / "0")
    tracemalloc.start()
    try:
        reader = read(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(reader.count(run, "a") for run in reader.runs) == 3000 * runs
    assert peak < 64 * len(events) * runs


# --- damage -----------------------------------------------------------------------


def mixed_file(path: Path, steps: int = 12) -> Path:
    """A small file of several layouts, and of records that hold something else."""
    events = [v1.Event(wall_time=1.0, file_version="brain.Event:2")]
    for step in range(1, steps + 1):
        events.append(simple("loss", step, step / 2, step))
        events.append(tensor("accuracy", step, np.float32(step), step, content=True))
    events.append(v1.Event(step=3, graph_def=bytes(range(100))))
    return written(path, [*events, simple("loss", 200, 1.0, 200.0)])


def test_a_file_cut_anywhere_gives_the_records_before_the_cut_and_then_the_rest(
    tmp_path: Path,
) -> None:
    whole = mixed_file(tmp_path / "whole" / NAME, steps=5)
    content, wanted = whole.read_bytes(), expected(whole)
    ends = records(content)
    cut, before = tmp_path / "cut" / NAME, tmp_path / "before" / NAME
    cut.parent.mkdir()
    before.parent.mkdir()
    before.write_bytes(b"")
    wanted_before = expected(before)
    for size in range(len(content)):
        if size in ends:
            before.write_bytes(content[:size])
            wanted_before = expected(before)
        cut.write_bytes(content[:size])
        reader = read(cut.parent)
        assert same(rows(reader), wanted_before), size
        with cut.open("ab") as file:
            file.write(content[size:])
        reader.scan()
        reader.read()
        assert same(rows(reader), wanted), size
        assert reader.skipped() == {}


def test_a_byte_changed_anywhere_costs_one_record_and_no_value_is_wrong(tmp_path: Path) -> None:
    whole = mixed_file(tmp_path / "whole" / NAME, steps=5)
    content = whole.read_bytes()
    wanted = {(tag, row) for tag, found in expected(whole).items() for row in found}
    ends = records(content)
    changed = tmp_path / "changed" / NAME
    changed.parent.mkdir()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        changed.write_bytes(damaged)
        reader = read(changed.parent)
        found = {(tag, row) for tag, found in rows(reader).items() for row in found}
        assert found <= wanted, place
        assert len(wanted - found) <= 1, place
        number = next(index for index, end in enumerate(ends) if place < end)
        size = ends[number] - (ends[number - 1] if number else 0)
        at_end = number == len(ends) - 1  # it may still be written
        assert reader.skipped() == ({} if at_end else {".": size}), place


def test_a_bit_changed_in_the_first_of_many_records_costs_this_one(tmp_path: Path) -> None:
    numbers = [tensor("loss", step, np.float32(step), step, content=True) for step in range(1, 13)]
    path = written(tmp_path / NAME, numbers)
    content, wanted = path.read_bytes(), expected(path)["loss"]
    for place in range(records(content)[0]):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            assert rows(read(tmp_path)) == {"loss": wanted[1:]}, (place, bit)


def test_a_record_of_40_gigabytes_is_skipped_and_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / NAME, [simple("loss", 1, 1.0)])
    after = written(tmp_path / "after", [simple("loss", 2, 2.0)]).read_bytes()
    size = 40 << 30
    length = struct.pack("<Q", size)
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(length + masked(np.array([crc32c(length)], np.uint32)).tobytes())
        file.seek(size + 4, os.SEEK_CUR)  # a hole, which takes no room on the disk
        file.write(after)
    reader = read(tmp_path)
    assert [step for step, *_ in rows(reader)["loss"]] == [1, 2]
    assert reader.skipped() == {".": size + 16}


def test_a_torn_record_in_the_middle_is_skipped_up_to_the_next(tmp_path: Path) -> None:
    whole = mixed_file(tmp_path / "whole" / NAME)
    content, ends = whole.read_bytes(), records(whole.read_bytes())
    torn = tmp_path / "torn" / NAME
    torn.parent.mkdir()
    for missing in range(1, ends[5] - ends[4]):
        torn.write_bytes(content[: ends[5] - missing] + content[ends[5] :])
        found = rows(read(torn.parent))
        assert sum(map(len, found.values())) == sum(map(len, expected(whole).values())) - 1


def test_a_damage_longer_than_what_is_searched_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "_SEARCHED", 64)
    path = mixed_file(tmp_path / NAME)
    content, ends = path.read_bytes(), records(path.read_bytes())
    path.write_bytes(content[: ends[3]] + bytes(1000) + content[ends[3] :])
    reader = read(tmp_path)
    assert sum(map(len, rows(reader).values())) == 25
    assert reader.skipped() == {".": 1000}


def test_a_damage_at_the_end_is_waited_for_until_a_record_follows(tmp_path: Path) -> None:
    path = mixed_file(tmp_path / NAME)
    content, wanted = path.read_bytes(), expected(path)
    path.write_bytes(content + bytes(100))
    reader = read(tmp_path)
    for _ in range(3):
        reader.scan()
        assert not reader.read()
    assert same(rows(reader), wanted)
    assert reader.skipped() == {}
    more = written(tmp_path / "more" / NAME, [simple("loss", 300, 5.0)])
    with path.open("ab") as file:
        file.write(more.read_bytes())
    reader.scan()
    reader.read()
    assert rows(reader)["loss"][-1] == (300, 1.7e9, 5.0)
    assert reader.skipped() == {".": 100}


# --- runs and files ---------------------------------------------------------------


def test_runs_and_files_that_appear_are_read(tmp_path: Path) -> None:
    reader = read(tmp_path)
    assert reader.runs == []
    first = written(tmp_path / "a" / NAME, [simple("loss", 1, 1.0)])
    written(tmp_path / "b" / "deep" / NAME, [simple("loss", 1, 2.0)])
    reader.scan()
    reader.read()
    assert reader.runs == ["a", "b/deep"]
    second = written(tmp_path / "a" / NAME.replace("1.", "2."), [simple("loss", 2, 3.0)])
    reader.scan()
    reader.read()
    assert rows(reader, "a") == expected(first, second)


def test_the_age_of_a_run_is_the_time_in_the_name_of_its_first_file(tmp_path: Path) -> None:
    for run, name in (
        ("a", "events.out.tfevents.300.host"),
        ("b", "events.out.tfevents.200.host"),
        ("b", "events.out.tfevents.400.host"),
        ("c", "tfevents"),
        ("d", "events.out.tfevents.300.host"),
    ):
        written(tmp_path / run / name, [simple("loss", 1, 1.0)])
    assert read(tmp_path).by_age == ["b", "a", "d", "c"]


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / NAME, [simple("loss", step, 1.0) for step in range(20)])
    reader = read(tmp_path)
    for count in (5, 5, 40):  # shorter, as long, longer
        new = [simple("loss", step, count, count) for step in range(count)]
        written(tmp_path / "new", new).replace(path)
        reader.scan()
        reader.read()
        assert rows(reader) == expected(path)


def test_an_overwritten_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / NAME, [simple("loss", step, 1.0) for step in range(20)])
    reader = read(tmp_path)
    longer = [simple("loss", step, 2.0, 3.0) for step in range(40)]
    path.write_bytes(written(tmp_path / "new", longer).read_bytes())
    reader.scan()
    reader.read()
    assert rows(reader) == expected(path)


def test_a_file_found_replaced_by_another_thread_is_read_again_during_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "CHUNK", 200)
    path = written(tmp_path / NAME, [simple("old", step, 1.0) for step in range(40)])
    run = EventRun(str(tmp_path))
    run.scan([NAME])
    reading = run.read()
    next(reading)
    written(tmp_path / "new", [simple(f"tag{step % 9}", step, 2.0) for step in range(50)]).replace(
        path
    )
    run.scan([NAME])  # as another thread may, now that it pauses
    assert list(reading)
    assert run.unread_bytes == 0
    assert "old" not in run.series
    assert {tag: len(run.points(tag)) for tag in run.series} == {
        tag: len(found) for tag, found in expected(path).items()
    }


def test_a_file_found_by_another_thread_during_a_read_is_left_to_the_next_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "CHUNK", 200)
    names = [NAME, NAME.replace("1.", "2.")]
    paths = [written(tmp_path / NAME, [simple("a", step, 1.0) for step in range(40)])]
    run = EventRun(str(tmp_path))
    run.scan([NAME])
    reading = run.read()
    next(reading)
    paths.append(written(tmp_path / names[1], [simple("b", step, 1.0) for step in range(40)]))
    run.scan(names)
    assert list(reading)
    assert list(run.series) == ["a"]
    assert list(run.read())
    assert {tag: len(run.points(tag)) for tag in run.series} == {"a": 40, "b": 40}


def test_threads_that_read_one_reader_while_files_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "CHUNK", 500)
    path = written(tmp_path / "a" / NAME, [simple("loss", 0, 0.0)])
    reader, failed, ended = Reader(str(tmp_path)), [], threading.Event()

    def reading() -> None:
        try:
            while not ended.is_set():
                reader.scan()
                reader.read(0.01)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=reading) for _ in range(3)]
    for thread in threads:
        thread.start()
    for count in range(1, 60):
        events = [simple(f"tag{count}/{step % 7}", step, count, step) for step in range(10 * count)]
        written(tmp_path / "new", events).replace(path)
        if count % 10 == 0:
            written(tmp_path / "a" / NAME.replace("1.", f"{count}."), events)
    ended.set()
    for thread in threads:
        thread.join(SOON)
    assert failed == []
    reader.scan()
    reader.read()
    found = {tag: sorted(points) for tag, points in rows(reader, "a").items()}
    wanted = expected(*sorted((tmp_path / "a").iterdir()))
    assert found == {tag: sorted(points) for tag, points in wanted.items()}


def test_points_of_a_vanished_run_stay_and_the_run_is_named(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [simple("loss", 1, 1.0)])
    written(tmp_path / "b" / NAME, [simple("loss", 1, 1.0)])
    reader = read(tmp_path)
    before = reader.version
    (tmp_path / "a").rename(tmp_path / "c")
    reader.scan()
    assert reader.version != before, "who shows them is to know"
    reader.read()
    assert rows(reader, "a") == rows(reader, "c") == {"loss": [(1, 1.7e9, 1.0)]}
    assert reader.gone == ["a"]
    (tmp_path / "c").rename(tmp_path / "a")
    reader.scan()
    assert reader.gone == ["c"]


def test_a_file_that_vanishes_beside_another_leaves_both_theirs(tmp_path: Path) -> None:
    first = written(tmp_path / NAME, [simple("loss", 1, 1.0)])
    second = written(tmp_path / NAME.replace("1.", "2."), [simple("loss", 2, 2.0)])
    wanted = expected(first, second)
    reader = read(tmp_path)
    first.unlink()
    reader.scan()
    reader.read()
    assert rows(reader) == wanted
    assert reader.unreadable() == {}


def test_an_unreadable_file_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / NAME)  # to open it would wait for its writer, for ever
    path = written(tmp_path / "a" / f"{NAME}.2", [simple("loss", 1, 1.0)])
    reader = read(tmp_path)
    assert rows(reader, "a") == expected(path)
    assert reader.unreadable() == {str(tmp_path / "a" / NAME): "it is not a file"}


def test_event_files_are_known_as_tensorboard_knows_them(tmp_path: Path) -> None:
    for name in ("tfevents", "x-tfevents.1", "tfevents.d/tfevents.1"):
        written(tmp_path / "all" / name, [simple(name, 1, 1.0)])
    written(tmp_path / "all" / "events.out", [simple("other", 1, 1.0)])
    reader = read(tmp_path)
    assert reader.runs == ["all", "all/tfevents.d"]
    assert sorted(reader.tags("all")) == ["tfevents", "x-tfevents.1"]


def test_remote_files_are_read_through_tensorflow() -> None:
    tf.io.gfile.makedirs("ram://logs/a")
    with tf.io.TFRecordWriter(f"ram://logs/a/{NAME}") as writer:
        for step in range(100):
            writer.write(simple("loss", step, step).SerializeToString())
    reader = Reader("ram://logs")
    reader.scan()
    reader.read()
    assert reader.runs == ["a"]
    assert rows(reader, "a")["loss"] == [(step, 1.7e9, float(step)) for step in range(100)]
    with pytest.raises(ArgumentError, match=r"logdir='ram://nosuch' cannot be read: there is no"):
        Reader("ram://nosuch")
    with pytest.raises(ArgumentError, match=r"logdir='nosuch://x' cannot be read: File system sch"):
        Reader("nosuch://x")
    with pytest.raises(ArgumentError, match=r"cannot be read: embedded null byte"):
        Reader("a\0b")


def test_nothing_is_held_open_or_changed(tmp_path: Path) -> None:
    path = mixed_file(tmp_path / NAME)
    before = path.stat()
    reader = read(tmp_path)
    held = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert str(path) not in held
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    assert reader.runs


def test_the_mailbox_of_a_run_holds_no_runs(tmp_path: Path) -> None:
    run, other = tmp_path / "a", tmp_path / "b"
    for folder in (run / "mailbox", other / "mailbox"):
        written(folder / NAME, [simple("loss", 1, 1.0)])
    (run / "status.json").write_text("{}")
    assert read(tmp_path).runs == ["b/mailbox"], "elsewhere a folder of that name is any folder"


def test_a_link_to_a_folder_above_has_an_end(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [simple("loss", 1, 1.0)])
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "other").symlink_to(tmp_path / "a")
    assert read(tmp_path).runs == ["a", "other"]


def test_a_linked_folder_is_not_left_by_a_link_that_leads_up_there(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    written(elsewhere / "x" / NAME, [simple("loss", 1, 1.0)])
    written(elsewhere / "y" / NAME, [simple("loss", 1, 1.0)])
    (elsewhere / "x" / "up").symlink_to(elsewhere)
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    (logdir / "linked").symlink_to(elsewhere / "x")
    assert read(logdir).runs == ["linked"]


@pytest.mark.parametrize("make", ["nothing", "a file"])
def test_a_path_that_is_not_a_folder_raises_with_advice(make: str, tmp_path: Path) -> None:
    if make == "a file":
        written(tmp_path / "x", [])
    with pytest.raises(ArgumentError, match=r"cannot be read: (there is no|it is a file: give)"):
        Reader(str(tmp_path / "x"))


# --- restarts ---------------------------------------------------------------------


def test_a_restart_abandons_what_was_written_beyond_its_step(tmp_path: Path) -> None:
    before = [start(0, 0.0), *(simple("loss", step, 1.0, step) for step in range(10))]
    after = [simple("loss", step, 2.0, 20.0 + step) for step in range(5, 8)]
    written(tmp_path / NAME, [*before, start(5, 15.0), *after])
    points = read(tmp_path).points(".", "loss")
    assert points.steps[~points.abandoned].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert points.values[~points.abandoned].tolist() == 5 * [1.0] + 3 * [2.0]


def test_the_first_session_of_a_folder_abandons_nothing(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("epoch_loss", step, 1.0, step) for step in range(5)])
    written(tmp_path / NAME.replace("1.", "2."), [start(0, 10.0), simple("loss", 1, 0.1, 11.0)])
    points = read(tmp_path).points(".", "epoch_loss")
    assert not points.abandoned.any()


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(told=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=20))
def test_sessions_abandon_what_they_abandon_in_tensorboard(
    told: list[tuple[bool, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, last, sessions = tmp_path_factory.mktemp("run"), 0, 0
    events = [tf.compat.v1.Event(wall_time=0.0, file_version="brain.Event:2")]
    for wall, (begins, step) in enumerate(told, 1):
        sessions += begins
        last = step if begins and sessions > 1 else last + (not begins)
        events.append(start(step, wall) if begins else simple("loss", last, 1.0, wall))
    written(folder / NAME, events)
    log = EventAccumulator(str(folder), {"tensors": 0}).Reload()
    found = [event.wall_time for event in log.Tensors("loss")] if log.Tags()["tensors"] else []
    reader = read(folder)
    if reader.tags("."):
        points = reader.points(".", "loss")
        assert points.wall_times[~points.abandoned].tolist() == found


def test_a_restart_leaves_what_another_file_says_later(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("loss", step, 1.0, 10.0 + step) for step in range(10)])
    written(tmp_path / NAME.replace("1.", "2."), [start(0, 5.0), simple("lr", 3, 0.1, 6.0)])
    points = read(tmp_path).points(".", "loss")
    assert not points.abandoned.any()


def test_steps_that_go_back_abandon_those_they_take_the_place_of(tmp_path: Path) -> None:
    steps = [1, 2, 3, 4, 2, 3, 4, 5, 1, 2]
    written(
        tmp_path / NAME, [simple("loss", step, step, index) for index, step in enumerate(steps)]
    )
    points = read(tmp_path).points(".", "loss")
    assert points.steps[~points.abandoned].tolist() == [1, 2]


def test_the_steps_farthest_from_each_other_are_in_order(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("loss", step, 1.0) for step in (2**63 - 1, -(2**63), 2**62)])
    assert read(tmp_path).points(".", "loss").abandoned.tolist() == [True, False, False]


def test_the_same_step_again_abandons_nothing(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("loss", step, 1.0) for step in (1, 2, 2, 3)])
    assert not read(tmp_path).points(".", "loss").abandoned.any()


# --- a writer that dies -----------------------------------------------------------


def write(pipe: Connection, folder: Path) -> None:
    """Write scalars until the process is killed."""
    writer = EventWriter(folder)
    for step in range(1, 1_000_000):
        number = np.array([step])
        tag = "loss" + "s" * (step % 3)
        writer.scalars(number, number.astype(float), {tag: number.astype(float)})


@pytest.mark.parametrize("points", [1, 5_000])
def test_everything_written_before_a_writer_was_killed_is_read_exactly(
    points: int, tmp_path: Path
) -> None:
    reader, deadline = read(tmp_path), time.monotonic() + SOON
    with Forked(write, tmp_path):
        while sum(reader.count(".", tag) for tag in ("loss", "losss", "lossss")) < points:
            assert time.monotonic() < deadline, "too little was written"
            reader.scan()
            reader.read()
    reader.scan()
    reader.read()
    found = sorted(row for part in rows(reader).values() for row in part)
    assert found == [(step, float(step), float(step)) for step in range(1, len(found) + 1)]
    assert reader.skipped() == {}
