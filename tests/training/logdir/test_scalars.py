"""`nbtrain.scalars`: the scalars of a logdir, whoever wrote them."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

import nbtrain
from nbtrain.core.errors import ArgumentError, UnknownTagError
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.series import Points
from nbtrain.tfevents.writer import EventWriter
from tests.event_files import NAME, expected, records, simple, start, written, written_at_once
from tests.forked import Forked
from tests.gate import SOON

v1 = tf.compat.v1


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Two runs: the loss of both, and a rate of the first."""
    adam = [simple("train/loss", step, 1 / (step + 1), step) for step in range(3)]
    written(tmp_path / "adam" / NAME, [*adam, simple("rate", 0, 0.5, 9.0)])
    written(tmp_path / "sgd" / NAME, [simple("train/loss", 7, 2.0, 3.0)])
    return tmp_path


# --- what it holds ----------------------------------------------------------------


def test_runs_tags_and_columns(logdir: Path) -> None:
    log = nbtrain.scalars(logdir)
    assert log.runs == ["adam", "sgd"]
    assert log.tags == ["rate", "train/loss"]
    assert list(log) == [("adam", "train/loss"), ("adam", "rate"), ("sgd", "train/loss")]
    points = log["adam", "train/loss"]
    assert points.steps.tolist() == [0, 1, 2]
    assert points.wall_times.tolist() == [0.0, 1.0, 2.0]
    assert points.values.tolist() == [1.0, 0.5, np.float32(1 / 3)]
    assert repr(log) == f"<scalars of 2 runs and 2 tags in {str(logdir)!r}>"


def test_expressions_choose_runs_and_tags(logdir: Path) -> None:
    assert list(nbtrain.scalars(logdir, runs="^a", tags="loss")) == [("adam", "train/loss")]
    fewer = nbtrain.scalars(logdir, runs="adam").filter(tags="^train/")
    assert list(fewer) == [("adam", "train/loss")]
    assert list(fewer.filter(runs="sgd")) == []


def test_an_unknown_name_raises_with_the_known_ones(logdir: Path) -> None:
    log = nbtrain.scalars(logdir)
    wrong: list[tuple[Any, str]] = [
        (("nosuch", "rate"), "There is no run 'nosuch'; there are: 'adam', 'sgd'."),
        (("sgd", "rate"), "The run 'sgd' has no tag 'rate'; it has: 'train/loss'."),
        ("rate", "scalars['rate']: give a run and a tag, scalars['run', 'tag']."),
        ((1, 2, 3), "scalars[(1, 2, 3)]: give a run and a tag, scalars['run', 'tag']."),
    ]
    for key, words in wrong:
        with pytest.raises(UnknownTagError) as caught:
            log[key]
        assert str(caught.value) == words


def test_a_file_being_read_again_by_another_thread_is_left_out(logdir: Path) -> None:
    class Replaced(Scalars):
        def _of(self, run: str, tag: str) -> Points:
            if run == "adam":
                raise KeyError(tag)
            return super()._of(run, tag)

    log = Replaced(nbtrain.scalars(logdir).reader)
    assert [key for key, _ in log.there()] == [("sgd", "train/loss")]
    assert log.to_dataframe().run.tolist() == ["sgd"]
    with pytest.raises(UnknownTagError, match="The run 'adam' has no tag 'rate'"):
        log["adam", "rate"]


@pytest.mark.parametrize("name", ["runs", "tags"])
def test_an_invalid_expression_raises(name: str, logdir: Path) -> None:
    with pytest.raises(ArgumentError, match=rf"{name}='\(' is no regular expression: missing \)"):
        nbtrain.scalars(logdir, **cast(dict[str, Any], {name: "("}))


def test_a_folder_without_event_files_or_scalars_says_so(tmp_path: Path) -> None:
    assert repr(nbtrain.scalars(tmp_path)) == f"<no event files in {str(tmp_path)!r} yet>"
    written(tmp_path / "a" / NAME, [v1.Event(file_version="brain.Event:2")])
    words = f"<no scalars in {str(tmp_path)!r}: its run holds nothing that is shown>"
    assert repr(nbtrain.scalars(tmp_path)) == words


def test_ten_thousand_tags(tmp_path: Path) -> None:
    events = [simple(f"tag/{n}", 1, n) for n in range(10_000)]
    some = written(tmp_path / "some", events[:9])
    path = written_at_once(tmp_path / NAME, events)
    assert path.read_bytes().startswith(some.read_bytes()), "as TensorFlow writes it"
    log = nbtrain.scalars(tmp_path)
    assert len(log.tags) == 10_000
    assert log[".", "tag/9999"].values.tolist() == [9999.0]


# --- taken away -------------------------------------------------------------------


def test_a_file_of_comma_separated_values(logdir: Path) -> None:
    path = logdir / "out.csv"
    nbtrain.scalars(logdir, tags="loss").to_csv(path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["run", "tag", "step", "wall_time", "value"]
    assert rows[1:3] == [
        ["adam", "train/loss", "0", "0.0", "1.0"],
        ["adam", "train/loss", "1", "1.0", "0.5"],
    ]
    assert rows[-1] == ["sgd", "train/loss", "7", "3.0", "2.0"]


def test_abandoned_points_are_not_written_to_csv(tmp_path: Path) -> None:
    events = [simple("loss", step, 1.0, step) for step in range(4)]
    written(tmp_path / NAME, [*events, start(2, 9.0), simple("loss", 2, 5.0, 10.0)])
    nbtrain.scalars(tmp_path).to_csv(tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[2:] for line in lines[1:]] == [
        ["0", "0.0", "1.0"],
        ["1", "1.0", "1.0"],
        ["2", "10.0", "5.0"],
    ]


def test_a_data_frame(logdir: Path) -> None:
    frame = nbtrain.scalars(logdir).to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["run", "tag", "step", "wall_time", "value", "abandoned"]
    assert len(frame) == 5
    assert frame[frame.run == "sgd"].value.tolist() == [2.0]


# --- live -------------------------------------------------------------------------


def write(pipe: Connection, folder: Path) -> None:
    """Write scalars as TensorFlow does, each at once."""
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        for step in range(200):
            tf.summary.scalar("loss", 1.0 / (step + 1), step)
            writer.flush()


def test_files_of_another_process_are_followed(tmp_path: Path) -> None:
    deadline, seen = time.monotonic() + SOON, []
    with Forked(write, tmp_path / "run") as process:
        for log in nbtrain.scalars(tmp_path).follow(secs=0.01):
            seen.append(len(log["run", "loss"]) if len(log) else 0)
            if seen[-1] == 200 or time.monotonic() > deadline:
                break
        assert process.wait() == 0
    assert seen[-1] == 200
    assert seen == sorted(seen)


def test_a_run_of_nbtrain_is_read_while_it_trains(tmp_path: Path) -> None:
    numbers = iter(range(1_000_000))
    run = nbtrain.train(lambda: {"loss": float(next(numbers))}, logdir=tmp_path / "live")
    log: Scalars = nbtrain.scalars(tmp_path)
    for log in log.follow(secs=0.01):  # noqa: B020 - the same
        if len(log) and len(log["live", "loss"]) > 100:
            break
    points = log["live", "loss"]
    assert (points.values == points.steps - 1).all()
    run.request_stop()
    run.wait(SOON)


# --- whoever wrote them -----------------------------------------------------------


def test_tensorboards_own_reader_sees_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    events = [v1.Event(wall_time=0.0, file_version="brain.Event:2")]
    step = 0
    for index in range(1, 300):
        if rng.random() < 0.05:
            step = int(rng.integers(0, step + 1))
            events.append(start(step, float(index)))
        else:
            step += int(rng.integers(1, 3))
            events.append(simple(f"t{rng.integers(3)}", step, rng.random(), float(index)))
    written(tmp_path / NAME, events)
    theirs = EventAccumulator(str(tmp_path), {"scalars": 0}).Reload()
    log = nbtrain.scalars(tmp_path)
    assert sorted(log.tags) == sorted(theirs.Tags()["scalars"])
    for tag in log.tags:
        points = log[".", tag]
        kept = ~points.abandoned
        ours = zip(points.steps[kept], points.wall_times[kept], points.values[kept], strict=True)
        assert list(ours) == [(e.step, e.wall_time, e.value) for e in theirs.Scalars(tag)]


@pytest.mark.parametrize("new_style", [False, True])
def test_files_of_tensorboards_writer_which_pytorch_uses(new_style: bool, tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path))
    for step in range(50):
        value = summary_pb2.Summary.Value(tag="loss")
        if new_style:
            value.tensor.float_val.append(step / 2)
            value.tensor.dtype = 1
            value.metadata.plugin_data.plugin_name = "scalars"
        else:
            value.simple_value = step / 2
        summary = summary_pb2.Summary(value=[value])
        writer.add_event(event_pb2.Event(step=step, wall_time=step + 0.5, summary=summary))
    writer.close()
    points = nbtrain.scalars(tmp_path)[".", "loss"]
    assert points.values.tolist() == [step / 2 for step in range(50)]
    assert points.wall_times.tolist() == [step + 0.5 for step in range(50)]


def test_files_of_keras(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = np.ones((32, 3), np.float32), np.ones((32, 1), np.float32)
    board = tf.keras.callbacks.TensorBoard(str(tmp_path), update_freq="batch", write_graph=True)
    model.fit(*data, epochs=2, batch_size=8, validation_split=0.25, verbose=0, callbacks=[board])
    log = nbtrain.scalars(tmp_path)
    assert log.runs == ["train", "validation"]
    assert "epoch_loss" in log.tags
    for run in log.runs:
        (path,) = (tmp_path / run).glob("*.tfevents.*")
        wanted = expected(path)
        for each, tag in log.filter(runs=run):
            points = log[each, tag]
            found = zip(points.steps, points.wall_times, points.values, strict=True)
            assert list(found) == wanted[tag]


def test_files_are_read_without_loading_tensorflow(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.session_start(1, 2.0)
    writer.scalars(np.array([1]), np.array([3.0]), {"loss": np.array([0.5])})
    writer.close()
    code = (
        "import sys, nbtrain; log = nbtrain.scalars(sys.argv[1]); "
        "print(log['.', 'loss'].values, 'tensorflow' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    root = Path(nbtrain.__file__).parents[1]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
    assert done.stdout.strip() == "[0.5] False"


def spoilt(path: Path) -> Path:
    """The same file with every second checksum of a payload wrong."""
    data = bytearray(path.read_bytes())
    for end in records(bytes(data))[1::2]:
        data[end - 1] ^= 0x40
    path.write_bytes(data)
    return path


def test_records_whose_checksum_alone_is_wrong_are_read_if_asked_for(tmp_path: Path) -> None:
    events = [simple("loss", step, step / 4) for step in range(1, 41)]
    path = written(tmp_path / "a" / NAME, [*events, start(41, 1.8e9)])
    wanted = expected(path)["loss"]
    spoilt(path)
    log = nbtrain.scalars(tmp_path)
    assert log["a", "loss"].steps.tolist() == list(range(1, 41, 2))
    assert "damaged bytes were skipped" in repr(log)
    with pytest.warns(UserWarning, match=r"20 of the run 'a'.*may be damaged too"):
        every = nbtrain.scalars(tmp_path, verify=False)
    points = every["a", "loss"]
    rows = zip(
        points.steps.tolist(), points.wall_times.tolist(), points.values.tolist(), strict=True
    )
    assert list(rows) == wanted
    assert "damaged" not in repr(every)


def test_unreadable_bytes_are_left_out_even_without_verifying_checksums(tmp_path: Path) -> None:
    path = written(tmp_path / NAME, [simple("loss", step, 1.0) for step in range(1, 21)])
    data = bytearray(path.read_bytes())
    ends = records(bytes(data))
    data[ends[4] : ends[4] + 8] = b"\xff" * 8  # the length of the sixth
    path.write_bytes(data)
    log = nbtrain.scalars(tmp_path, verify=False)
    assert log[".", "loss"].steps.tolist() == [*range(1, 6), *range(7, 21)]
    assert "damaged bytes were skipped" in repr(log)


def test_links_that_lead_round_in_a_circle_hide_no_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        writer = EventWriter(made(tmp_path / name))
        writer.scalars(np.array([1]), np.array([1.0]), {"loss": np.array([0.5])})
        writer.close()
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "a" / "x").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "y").symlink_to(tmp_path / "a")
    assert nbtrain.scalars(tmp_path).runs == ["a", "a/x", "b", "b/y"]


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("read", [nbtrain.scalars, nbtrain.hparams, nbtrain.compare])
@pytest.mark.parametrize("logdir", [3, None, b"runs"])
def test_an_argument_that_is_not_a_path_raises(read: Callable[..., object], logdir: object) -> None:
    with pytest.raises(ArgumentError, match=r"logdir=.*: give the path of a folder"):
        read(logdir)
