"""Precision-recall curves: what TensorBoard's plugin writes, and what a page is told."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.pr_curve import summary as pr

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.panel import media
from nbtrain.tfevents.pr_curves import PrCurve
from tests.event_files import NAME, start, written
from tests.other_events import event, tensor2
from tests.training.boards import ShownBoard, board_of

v1 = tf.compat.v1
Message = dict[str, Any]
ROWS = ("tp", "fp", "tn", "fn", "precision", "recall")
GOOD = [[3, 2, 1], [2, 1, 0], [0, 1, 2], [0, 1, 2], [0.6, 2 / 3, 1], [1, 2 / 3, 1 / 3]]


def curve(rows: Any = GOOD, tag: str = "cat") -> Any:
    return tensor2(tag, "pr_curves", np.array(rows, np.float32))


def logdir_of(folder: Path, *values: Any, run: str = "adam") -> ShownBoard:
    """A board of one run that wrote these values at steps 0, 10, 20, ..."""
    events = [event(10 * i, each, 5.0 + i) for i, each in enumerate(values)]
    written(folder / run / NAME, events)
    return board_of(folder)


def asked(board: ShownBoard, *runs: str, tag: str = "cat", at: int = -1, known: Any = None) -> Any:
    wanted = [{"run": run, "at": at, "known": known} for run in runs or ("adam",)]
    content, buffers = board.hear(t="pr_curves", id=1, tag=tag, runs=wanted)
    assert content["t"] == "pr_curves", content
    return content["runs"], list(buffers)


def decoded(entry: Message, buffer: bytes) -> tuple[list[float], list[float], Any]:
    """The steps, their wall times, and the rows of the curve."""
    numbers, count = np.frombuffer(buffer, "<f8"), entry["steps"]
    rows = numbers[2 * count :].reshape(7, -1)
    return numbers[:count].tolist(), numbers[count : 2 * count].tolist(), rows


# --- reading ----------------------------------------------------------------------


def test_a_curve_as_tensorboard_writes_it_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(200) < 0.4
    scores = np.clip(0.3 * labels + rng.random(200) * 0.7, 0, 1)
    message = pr.pb("cat", labels, scores, num_thresholds=11)
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.experimental.write_raw_pb(message.SerializeToString(), step=3)
    history = nbtrain.summaries(tmp_path, "pr_curves")[".", "cat/pr_curves"]
    found = history[-1]
    assert isinstance(found, PrCurve)
    assert repr(found) == f"<precision and recall at {len(found.thresholds)} thresholds>"
    assert history.steps.tolist() == [3]
    for at, threshold in enumerate(np.linspace(0, 1, 11)[: len(found.thresholds)]):
        predicted = np.floor(scores * 10) / 10 >= threshold - 1e-9
        assert found.thresholds[at] == pytest.approx(threshold)
        assert found.true_positives[at] == (predicted & labels).sum()
        assert found.false_positives[at] == (predicted & ~labels).sum()
        assert found.true_negatives[at] == (~predicted & ~labels).sum()
        assert found.false_negatives[at] == (~predicted & labels).sum()
        precision = found.true_positives[at] / predicted.sum()
        assert found.precision[at] == pytest.approx(precision, rel=1e-6)
        assert found.recall[at] == pytest.approx((predicted & labels).sum() / labels.sum())


def test_curves_of_operations_of_tensorflow_1_are_read(tmp_path: Path) -> None:
    ones = tf.constant([3.0, 2.0])
    with tf.Graph().as_default():
        raw = pr.raw_data_op(
            "raw", *([3.0, 2.0] for _ in range(4)), [0.25, 0.5], [1.0, 0.5], num_thresholds=2
        )
        full = pr.op("full", tf.constant([True, False]), tf.constant([0.9, 0.2]), num_thresholds=5)
        with v1.Session() as session, v1.summary.FileWriter(str(tmp_path)) as writer:
            for each in (raw, full):
                writer.add_summary(session.run(each), 1)
    log = nbtrain.summaries(tmp_path, "pr_curves")
    assert log.tags == ["full/pr_curves", "raw/pr_curves"]
    found = log[".", "raw/pr_curves"][0]
    assert isinstance(found, PrCurve)
    assert found.precision.tolist() == [0.25, 0.5]
    assert found.true_positives.tolist() == ones.numpy().tolist()


def test_thresholds_at_which_nothing_is_positive_are_left_out_as_in_tensorboard(
    tmp_path: Path,
) -> None:
    rows = [[2, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0.6, 1, 0, 0], [1, 0.5, 0, 0]]
    logdir_of(tmp_path, curve(rows))
    found = nbtrain.summaries(tmp_path, "pr_curves")["adam", "cat"][0]
    assert isinstance(found, PrCurve)
    assert found.thresholds.tolist() == pytest.approx([0, 1 / 3])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (np.zeros((5, 3)), r"its shape is \(5, 3\), not \(6, thresholds\)"),
        (np.zeros(6), r"its shape is \(6,\), not"),
        (np.zeros((6, 0)), "it has no thresholds"),
        (np.array([b"a"], object), "it holds object, not numbers"),
        (np.zeros((6, 2), np.complex64), "it holds complex64, not numbers"),
    ],
)
def test_a_tensor_that_is_no_curve_is_refused_in_words(tmp_path: Path, data: Any, why: str) -> None:
    board = logdir_of(tmp_path, tensor2("cat", "pr_curves", data))
    with pytest.raises(ArgumentError, match=f"'cat' has not the form of pr_curves: {why}"):
        nbtrain.summaries(tmp_path, "pr_curves")["adam", "cat"][0]
    (entry,), buffers = asked(board)
    assert "has not the form of pr_curves" in entry["problem"]
    assert buffers == []


def test_a_tensor_with_less_than_its_shape_says_is_refused_in_words(tmp_path: Path) -> None:
    value = curve()
    value.tensor.tensor_shape.dim[1].size = 10**9
    (entry,), _ = asked(logdir_of(tmp_path, value))
    assert "has not the form of pr_curves" in entry["problem"]


# --- what a page is told ----------------------------------------------------------


def test_there_is_a_tab_of_curves_where_there_are_some(tmp_path: Path) -> None:
    content, _ = logdir_of(tmp_path, curve()).hear(t="hello")
    assert content["tabs"] == ["scalars", "pr_curves"]
    assert content["kinds"]["pr_curves"]["tags"] == ["cat"]


def test_the_curve_of_each_step_is_told_with_all_steps(tmp_path: Path) -> None:
    later = [[2, 1], [0, 0], [2, 2], [0, 1], [1, 1], [1, 0.5]]
    board = logdir_of(tmp_path, curve(), curve(later))
    (entry,), (buffer,) = asked(board)
    steps, walls, rows = decoded(entry, buffer)
    assert (steps, walls) == ([0, 10], [5, 6])
    assert (entry["at"], entry["note"]) == (1, "")
    assert rows[0].tolist() == [0, 1]
    assert rows[1:].tolist() == later
    assert asked(board, known=entry["known"]) == ([{"run": "adam", "same": True}], [])
    (first,), (buffer,) = asked(board, at=0)
    assert first["at"] == 0
    assert decoded(first, buffer)[2][1:].tolist() == np.array(GOOD, np.float32).tolist()
    assert asked(board, at=99)[0][0]["at"] == 1  # the run has gone back meanwhile


def test_one_run_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    logdir_of(tmp_path, curve(np.zeros((2, 2))), run="bad")
    board = logdir_of(tmp_path, curve(), run="good")
    entries, buffers = asked(board, "bad", "good", "gone")
    assert "problem" in entries[0]
    assert "no run 'gone'" in entries[2]["problem"]
    assert len(buffers) == 1
    assert decoded(entries[1], buffers[0])[0] == [0]


def test_abandoned_curves_are_not_told(tmp_path: Path) -> None:
    events = [event(step, curve(), 10.0 + step) for step in (0, 10, 20)]
    again = [start(10, 40.0), event(10, curve(), 50.0)]
    written(tmp_path / "adam" / NAME, [*events, *again])
    (entry,), (buffer,) = asked(board_of(tmp_path))
    assert decoded(entry, buffer)[:2] == ([0, 10], [10, 50])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.5, 1.5])
def test_what_a_chart_cannot_draw_is_left_out_and_told(tmp_path: Path, bad: float) -> None:
    rows = np.array(GOOD)
    rows[4, 1] = bad
    (entry,), (buffer,) = asked(logdir_of(tmp_path, curve(rows)))
    assert entry["note"].startswith("1 of 3 thresholds are not shown")
    assert decoded(entry, buffer)[2][0].tolist() == [0, 1]


def test_a_curve_without_anything_to_draw_says_so(tmp_path: Path) -> None:
    (entry,), (buffer,) = asked(logdir_of(tmp_path, curve(np.full((6, 4), math.nan))))
    assert entry["note"].startswith("4 of 4 thresholds are not shown")
    assert decoded(entry, buffer)[2].shape == (7, 0)


def test_a_curve_of_many_thresholds_is_of_some(tmp_path: Path) -> None:
    count = media.THRESHOLDS + 500
    falling = np.linspace(1, 0, count)
    rows = [np.arange(count, 0, -1), *([np.ones(count)] * 3), falling, falling]
    (entry,), (buffer,) = asked(logdir_of(tmp_path, curve(rows)))
    shown = decoded(entry, buffer)[2][0]
    assert len(shown) == media.THRESHOLDS
    assert shown[[0, -1]].tolist() == [0, 1]
    assert entry["note"] == "2,000 of 2,500 thresholds are shown."


@pytest.mark.parametrize(
    "more",
    [
        {"tag": 5},
        {"runs": None},
        {"runs": [3]},
        {"runs": [{"run": "adam", "at": "x", "known": None}]},
        {"runs": [{"run": "adam", "at": -2, "known": None}]},
        {"runs": [{"run": "adam", "at": 0, "known": 5}]},
    ],
)
def test_an_odd_question_is_refused_in_words(tmp_path: Path, more: Message) -> None:
    board = logdir_of(tmp_path, curve())
    content, _ = board.hear(**{"t": "pr_curves", "id": 7, "tag": "cat", "runs": []} | more)
    assert (content["t"], content["id"]) == ("refused", 7)
    assert "name" in content["text"]
