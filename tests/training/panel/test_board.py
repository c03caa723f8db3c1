"""The board's kernel side: what is sent for what is asked."""

from __future__ import annotations

import csv
import gc
import io
import math
import os
import re
import shutil
import sys
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import nbtrain
from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.notebook import boards
from nbtrain.notebook.boards import Following, opened
from nbtrain.notebook.verb_options import TABS
from nbtrain.panel.board import board as room
from nbtrain.panel.board import curves as curves_room
from nbtrain.panel.board import picture
from nbtrain.panel.board.board import CATCH_UP_SECS, Board
from nbtrain.panel.board.colours import COLOURS
from nbtrain.panel.board.curves import CHART_BUCKETS, RUN_BUCKETS
from nbtrain.panel.board.requests import answer
from nbtrain.panel.figure import GROUND, INK
from nbtrain.panel.widget import LEASE_SECS
from nbtrain.recording.smoothing import smoothed
from tests.event_files import NAME, simple, start, tensor, written
from tests.figures import of, pixels_of
from tests.gate import SOON
from tests.logdirs import (
    write_media,
)
from tests.panels import Clock
from tests.training.boards import ShownBoard, board_of, decoded, hear, run_of

# --- what there is ----------------------------------------------------------------


def test_a_page_is_told_runs_and_tags_and_which_run_has_which(tmp_path: Path) -> None:
    run_of(tmp_path / "a", [1.0])
    written(tmp_path / "b" / NAME, [simple("loss", 0, 1.0), simple("rate", 0, 1.0)])
    content, _ = board_of(tmp_path, x="wall", smooth=0.6).hear(t="hello")
    assert content["t"] == "index"
    assert content["runs"] == ["a", "b"]
    assert content["tags"] == ["loss", "rate"]
    having = [content["sets"][index] for index in content["of"]]
    assert having == [[0, 1], [1]]
    assert content["begin"] == {"tab": "scalars", "x": "wall", "smooth": 0.6}
    assert content["empty"] == {}
    assert content["tabs"] == ["scalars", "compare"]


def test_the_next_page_begins_with_the_choices_of_the_last(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    board = board_of(tmp_path, x="wall")
    board.hear(t="hello")
    board.hear(t="options", text='{"x":"step"}')
    content, _ = board.hear(t="hello")
    assert content["begin"] == {
        "tab": "scalars",
        "x": "wall",
        "smooth": 0.0,
        "kept": '{"x":"step"}',
    }
    board.notify()
    assert board.sent[-1][0]["t"] == "grew", "it is no news to a page that is there"


@pytest.mark.parametrize("text", [None, 1, "x" * 2_000_000])
def test_invalid_options_of_a_page_are_not_kept(text: object, tmp_path: Path) -> None:
    board = board_of(tmp_path)
    board.hear(t="hello")
    board.hear(t="options", text=text)
    assert "kept" not in board.hear(t="hello")[0]["begin"]


def test_a_logdir_without_scalars_is_told_in_words(tmp_path: Path) -> None:
    content, _ = board_of(tmp_path).hear(t="hello")
    assert content["tags"] == []
    assert content["empty"]["scalars"] == f"no event files in {str(tmp_path)!r} yet"


def test_filters_that_leave_nothing_are_told_in_words(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    content, _ = ShownBoard(nbtrain.scalars(tmp_path, tags="other")).hear(t="hello")
    where = f"no scalars in {str(tmp_path)!r}"
    assert content["empty"]["scalars"] == f"{where} that the chosen runs and tags leave"


def test_a_damaged_run_is_told(tmp_path: Path) -> None:
    run_of(tmp_path / "a", [1.0, 2.0, 3.0])
    path = tmp_path / "a" / NAME
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    content, _ = board_of(tmp_path).hear(t="hello")
    ((run, size),) = content["damaged"]
    assert run == "a"
    assert size > 0


def test_records_with_wrong_checksums_that_are_shown_are_told(tmp_path: Path) -> None:
    run_of(tmp_path / "a", [1.0, 2.0, 3.0])
    path = tmp_path / "a" / NAME
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.warns(UserWarning, match="1 of the run 'a'"):
        board = ShownBoard(nbtrain.scalars(tmp_path, verify=False))
    content, _ = board.hear(t="hello")
    assert content["doubtful"] == [["a", 1]]
    assert content["damaged"] == []


def test_a_run_in_the_logdir_itself_is_called_by_its_folder(tmp_path: Path) -> None:
    for folder in ("digits", "both", "both/both"):
        run_of(tmp_path / folder, [1.0])
    digits, both = (board_of(tmp_path / name).hear(t="hello")[0] for name in ("digits", "both"))
    assert (digits["runs"], digits["own"], both["own"]) == (["."], "digits", ".")
    assert nbtrain.scalars(tmp_path / "digits").reader.title(".") == "digits"


def test_the_training_and_the_validation_of_a_fit_are_told_as_one(tmp_path: Path) -> None:
    for run in ("x/adam/train", "x/adam/validation", "x/sgd"):
        run_of(tmp_path / run, [1.0])
    content, _ = board_of(tmp_path).hear(t="hello")
    runs = ["x/adam/train", "x/adam/validation"]
    assert content["fits"] == [{"lead": "x/adam/train", "name": "x/adam", "runs": runs}]
    assert content["folder"] == "x/"


def test_growth_alone_is_told_without_the_names(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    board = board_of(tmp_path)
    first, _ = board.hear(t="hello")
    board.notify()
    content, _ = board.sent[-1]
    assert content["t"] == "grew"
    assert content["version"] > first["version"]
    assert "tags" not in content


def test_a_new_run_is_told_with_the_names(tmp_path: Path) -> None:
    run_of(tmp_path / "b", [1.0])
    scalars = nbtrain.scalars(tmp_path)
    board = ShownBoard(scalars)
    board.hear(t="hello")
    run_of(tmp_path / "a", [1.0])
    scalars.refresh()
    board.notify()
    content, _ = board.sent[-1]
    assert (content["t"], content["runs"]) == ("index", ["a", "b"])


# --- names ------------------------------------------------------------------------

TAGS = ["", "a\nb\t", "\u202eevil", "\u05e9\u05dc\u05d5\u05dd", "x" * 10_000, '"', "a/" * 50, "\0"]


any_bytes = pytest.mark.skipif(sys.platform != "linux", reason="names are text on this system")


@any_bytes
def test_a_folder_whose_name_is_no_text_is_a_run_with_escapes_in_its_name(tmp_path: Path) -> None:
    run_of(tmp_path / "a" / "b", [1.0, 2.0])
    (tmp_path / "a").rename(tmp_path / os.fsdecode(b"caf\xe9"))
    board = board_of(tmp_path)
    content, _ = board.hear(t="hello")
    assert content["runs"] == [r"caf\xe9/b"]
    assert board.curves(runs=[r"caf\xe9/b"])[r"caf\xe9/b"].rows[:, 1].tolist() == [1, 2]
    _, (data,) = board.hear(t="csv", id=1, tag="loss")
    assert rb"caf\xe9/b,loss,1," in data
    nbtrain.scalars(tmp_path).to_csv(tmp_path / "all.csv")
    assert r"caf\xe9/b" in (tmp_path / "all.csv").read_text(encoding="utf-8")


@any_bytes
def test_a_logdir_and_files_whose_names_are_no_text_are_told_of(tmp_path: Path) -> None:
    logdir = tmp_path / os.fsdecode(b"\xff")
    logdir.mkdir()
    os.mkfifo(logdir / os.fsdecode(b"events.out.tfevents.1.\xfe"))
    content, _ = board_of(logdir).hear(t="hello")
    ((path, why),) = content["unreadable"]
    assert path.endswith(r"/\xff/events.out.tfevents.1.\xfe")
    assert why == "it is not a file"


@pytest.mark.parametrize("tag", TAGS)
def test_an_odd_tag_is_a_tag_like_any_other(tag: str, tmp_path: Path) -> None:
    run_of(tmp_path / "run", [0.5, 1.5], tag)
    board = board_of(tmp_path)
    assert board.hear(t="hello")[0]["tags"] == [tag]
    assert board.curves(tag)["run"].rows[:, 1].tolist() == [0.5, 1.5]
    _, (data,) = board.hear(t="csv", id=1, tag=tag)
    text, word = (each.replace("\0", "NUL") for each in (data.decode(), tag))  # for Python 3.10
    assert list(csv.reader(io.StringIO(text, newline="")))[1] == [
        *("run", word, "0", "100.0", "0.5")
    ]
    assert picture.png(nbtrain.scalars(tmp_path)) is not None


def test_a_name_that_is_no_text_is_refused_in_words_that_are(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    board = board_of(tmp_path)
    assert board.curves("\ud800") == {}
    assert board.hear(t="want", id=1, tag="loss", x="\ud800")[0]["t"] == "refused"


# --- curves -----------------------------------------------------------------------


def test_a_short_curve_is_sent_as_it_is(tmp_path: Path) -> None:
    run_of(tmp_path, [3.0, 1.0, 2.0])
    curve = board_of(tmp_path).curves()["."]
    assert curve.stride == 1
    assert curve.rows.tolist() == [[0, 3, 3, 3, 3], [1, 1, 1, 1, 1], [2, 2, 2, 2, 2]]
    assert curve.numbers == [2, 2, 1, 1, 3, 0, 3]
    assert curve.tails == []


def test_a_long_curve_becomes_buckets_that_lose_no_peak(tmp_path: Path) -> None:
    values = np.zeros(5000)
    values[1234] = 9.0
    run_of(tmp_path, values.tolist())
    curve = board_of(tmp_path).curves()["."]
    assert len(curve.rows) <= 512
    assert curve.stride == 10
    assert curve.rows[123].tolist() == [1230, 0.9, 0, 9, 0.9]


def test_the_last_bucket_reaches_back_to_hold_as_many_points_as_the_others(tmp_path: Path) -> None:
    values = [-1.0, 1.0] * 2500 + [1.0]  # means of ten are 0; the last one stands alone
    run_of(tmp_path, values)
    curve = board_of(tmp_path).curves(smooth=0.0)["."]
    assert curve.stride == 10
    assert curve.rows[-2].tolist() == [4990, 0, -1, 1, 0]
    assert curve.rows[-1].tolist() == pytest.approx([5000, 0.2, -1, 1, 0.2])


def test_a_zoom_gets_the_finer_points_and_a_neighbour_on_each_side(tmp_path: Path) -> None:
    run_of(tmp_path, np.arange(5000.0).tolist())
    curve = board_of(tmp_path).curves(range=[1000, 1003.5])["."]
    assert curve.stride == 1
    assert curve.rows[:, 0].tolist() == [999, 1000, 1001, 1002, 1003, 1004]
    assert curve.numbers[:2] == [4999, 4999], "the numbers are those of the whole curve"


def test_smoothing_is_over_all_points_also_in_a_zoom(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=1000)
    run_of(tmp_path, values.tolist())
    board = board_of(tmp_path)
    curve = board.curves(range=[500, 510], smooth=0.9)["."]
    expected = smoothed(values.astype(np.float32).astype(float), 0.9)
    np.testing.assert_allclose(curve.rows[:, 4], expected[499:512])
    np.testing.assert_allclose(curve.rows[:, 1], values[499:512], rtol=1e-6)


def test_smoothing_of_a_long_curve_spans_as_much_of_it_as_tensorboards(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=4000)
    run_of(tmp_path, values.tolist())
    curve = board_of(tmp_path).curves(range=[3000, 3010], smooth=0.9)["."]
    exact = values.astype(np.float32).astype(float)
    np.testing.assert_allclose(curve.rows[:, 4], smoothed(exact, 0.9**0.25)[2999:3012])


def test_an_axis_of_time(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0, 2.0])
    board = board_of(tmp_path)
    assert board.curves(x="relative")["."].rows[:, 0].tolist() == [0, 1]
    assert board.curves(x="wall")["."].rows[:, 0].tolist() == [100, 101]


def test_a_clock_that_was_set_back_leaves_an_axis_that_ascends(tmp_path: Path) -> None:
    events = [simple("loss", step, step, wall) for step, wall in ((0, 50.0), (1, 40.0), (2, 60.0))]
    written(tmp_path / NAME, events)
    curve = board_of(tmp_path).curves(x="wall")["."]
    assert curve.rows[:, :2].tolist() == [[40, 1], [50, 0], [60, 2]]


@pytest.mark.parametrize("x", ["wall", "relative"])
def test_an_axis_of_time_leaves_out_what_has_none(tmp_path: Path, x: str) -> None:
    walls = enumerate((math.nan, 50.0, math.inf, 60.0))
    written(tmp_path / NAME, [simple("loss", step, step, wall) for step, wall in walls])
    content, (buffer,) = board_of(tmp_path).hear(t="want", id=1, tag="loss", x=x)
    assert content["runs"][0]["left_out"] == 2
    rows = decoded(content, buffer)["."].rows
    assert rows[:, :2].tolist() == [[50 if x == "wall" else 0, 1], [60 if x == "wall" else 10, 3]]


def test_a_logarithmic_axis_leaves_out_what_is_not_above_zero_and_tells_how_much(
    tmp_path: Path,
) -> None:
    events = [simple("loss", step, step) for step in (-1, 0, 1, 2)]
    written(tmp_path / NAME, events)
    content, (buffer,) = board_of(tmp_path).hear(t="want", id=1, tag="loss", log_x=True)
    assert content["runs"][0]["left_out"] == 2
    assert decoded(content, buffer)["."].rows[:, 0].tolist() == [1, 2]
    content, _ = board_of(tmp_path).hear(t="want", id=1, tag="loss")
    assert content["runs"][0]["left_out"] == 0


def test_buckets_of_a_logarithmic_axis_are_of_like_width_on_it_and_lose_no_peak(
    tmp_path: Path,
) -> None:
    values = np.zeros(5000)
    values[4321] = 9.0
    run_of(tmp_path, values.tolist())
    board = board_of(tmp_path)
    curve = board.curves(log_x=True)["."]
    x = curve.rows[:, 0]
    assert x[:9].tolist() == list(range(1, 10)), "the first decade is whole"
    assert len(x) <= 512
    widths = np.diff(np.log(x[x > 100]))
    assert widths.max() < 2 * np.log(5000) / 512
    assert curve.rows[:, 3].max() == 9
    assert curve.stride == np.diff(x, append=5000).max()
    zoomed = board.curves(log_x=True, range=[4300, 4330])["."]
    assert zoomed.stride == 1
    assert zoomed.rows[0, 0] == 4299


def test_a_logarithmic_axis_that_nothing_has_a_place_on_is_empty(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    curve = board_of(tmp_path).curves(log_x=True)["."]
    assert len(curve.rows) == 0
    assert curve.numbers[6] == 1


def test_an_abandoned_tail_is_apart_and_counts_for_nothing(tmp_path: Path) -> None:
    before = [start(0, 9.0), *(simple("loss", step, -5.0, 10.0 + step) for step in range(4))]
    after = [simple("loss", step, 1.0, 20.0 + step) for step in (2, 3, 4)]
    written(tmp_path / NAME, [*before, start(2, 19.0), *after])
    curve = board_of(tmp_path).curves(smooth=0.5)["."]
    assert curve.rows[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert curve.rows[2:, 1].tolist() == [1, 1, 1]
    (tail,) = curve.tails
    assert tail[:, :2].tolist() == [[2, -5], [3, -5]]
    assert curve.numbers == [1, 4, -5, 0, 1, 2, 5]


def test_the_newest_of_many_abandoned_tails_are_sent(tmp_path: Path) -> None:
    steps = [step for _ in range(20) for step in (1, 2, 3)]
    written(tmp_path / NAME, [simple("loss", step, i) for i, step in enumerate(steps)])
    curve = board_of(tmp_path).curves()["."]
    assert len(curve.tails) == curves_room.TAILS
    assert curve.tails[-1][-1, 1] == 56


def test_nan_and_infinities_are_gaps_and_arrive_by_their_kind(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0, np.nan, np.inf, -np.inf, 0.5])
    curve = board_of(tmp_path).curves(smooth=0.5)["."]
    np.testing.assert_array_equal(curve.rows[:, 1], [1, np.nan, np.nan, np.nan, 0.5])
    assert curve.unseen == [[1, 1, 0, 0], [2, 0, 1, 0], [3, 0, 0, 1]]
    assert curve.numbers == [0.5, 4, 0.5, 4, 1, 0, 5]


@pytest.mark.parametrize("smooth", [0.0, 0.6])
def test_a_bucket_is_of_its_finite_values_and_counts_the_others(
    tmp_path: Path, smooth: float
) -> None:
    values = np.arange(2100.0) % 7
    values[::7] = np.nan
    run_of(tmp_path, values.tolist())
    curve = board_of(tmp_path).curves(smooth=smooth)["."]
    assert (curve.stride, len(curve.rows), curve.numbers[2]) == (5, 420, 1)
    assert np.isfinite(curve.rows).all()
    assert (curve.rows[:, 2].min(), curve.rows[:, 3].max()) == (1, 6)
    assert curve.rows[0, 1] == 2.5, "of 1, 2, 3 and 4"
    assert (sum(nan for _, nan, _, _ in curve.unseen), curve.unseen[0]) == (300, [0, 1, 0, 0])


def test_a_curve_of_nan_alone_has_neither_lowest_nor_highest(tmp_path: Path) -> None:
    run_of(tmp_path, [np.nan])
    np.testing.assert_array_equal(
        board_of(tmp_path).curves()["."].numbers, [np.nan, 0, *[np.nan] * 4, 1]
    )


def test_fifty_runs_share_the_buckets_of_a_chart(tmp_path: Path) -> None:
    for run in range(50):
        run_of(tmp_path / f"run{run:02}", [1.0] * 1000)
    board = board_of(tmp_path)
    found = board.curves()
    assert len(found) == 50
    most = max(RUN_BUCKETS, CHART_BUCKETS // 50)
    assert all(len(curve.rows) <= most for curve in found.values())
    chosen = board.curves(runs=["run07", "run08", "there is no such run"])
    assert list(chosen) == ["run07", "run08"]
    assert len(chosen["run07"].rows) > most, "fewer runs, finer curves"


def test_unchanged_data_are_not_sent_again(tmp_path: Path) -> None:
    run_of(tmp_path / "a", [1.0])
    scalars = nbtrain.scalars(tmp_path)
    board = ShownBoard(scalars)
    first, _ = board.hear(t="want", id=1, tag="loss")
    again, buffers = board.hear(t="want", id=2, tag="loss", known=first["known"])
    assert (again, buffers) == ({"t": "same", "id": 2}, [])
    run_of(tmp_path / "b", [1.0])
    scalars.refresh()
    content, _ = board.hear(t="want", id=3, tag="loss", known=first["known"])
    assert [entry["run"] for entry in content["runs"]] == ["a", "b"]


def test_only_the_chosen_runs_and_tags_of_a_filter_are_there(tmp_path: Path) -> None:
    run_of(tmp_path / "a", [1.0])
    run_of(tmp_path / "b", [1.0])
    board = ShownBoard(nbtrain.scalars(tmp_path, runs="b"))
    assert board.hear(t="hello")[0]["runs"] == ["b"]
    assert list(board.curves()) == ["b"]
    assert board.curves(tag="something else") == {}


# --- messages that cannot be meant ------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"tag": None}, "is not the name of a tag"),
        ({"runs": "a"}, "is not a list of names"),
        ({"runs": [1]}, "is not a list of names"),
        ({"x": "moon"}, "is not an axis; there are: step, relative, wall"),
        ({"smooth": 1}, "is not a weight: give 0 or more, below 1"),
        ({"smooth": "0.5"}, "is not a weight"),
        ({"smooth": True}, "is not a weight"),
        ({"range": [2, 1]}, "is not a range: give two numbers, the lower one first"),
        ({"range": [1]}, "is not a range"),
        ({"range": [None, 1]}, "is not a range"),
    ],
)
def test_a_wrong_message_is_refused_in_words(
    tmp_path: Path, wrong: dict[str, Any], text: str
) -> None:
    run_of(tmp_path, [1.0])
    content, _ = board_of(tmp_path).hear(**{"t": "want", "id": 7, "tag": "loss", **wrong})
    assert (content["t"], content["id"]) == ("refused", 7)
    assert text in content["text"]


def test_an_unknown_message_is_not_answered(tmp_path: Path) -> None:
    board = board_of(tmp_path)
    board.sent.append(({}, []))
    assert board.hear(t="fly") == ({}, [])


# --- csv --------------------------------------------------------------------------


def test_csv_holds_every_point_in_sight(tmp_path: Path) -> None:
    run_of(tmp_path / 'with "quotes"', [0.5, 1.5, 2.5])
    content, (data,) = board_of(tmp_path).hear(t="csv", id=1, tag="loss", range=[1, 9])
    assert content == {"t": "file", "id": 1}
    assert data.decode().splitlines() == [
        "run,tag,step,wall_time,value",
        '"with ""quotes""",loss,1,101.0,1.5',
        '"with ""quotes""",loss,2,102.0,2.5',
    ]


def strokes(drawing: bytes) -> set[str]:
    """The colours of the lines of a drawing that are colours of runs."""
    root = ElementTree.fromstring(drawing)
    assert root.tag.endswith("svg")
    styles = " ".join(each.get("style", "") for each in root.iter())
    return {*re.findall(r"stroke: (#\w+)", styles)} & {*COLOURS}


def line(run: str, look: int | None, **more: object) -> dict[str, object]:
    """A line of a chart that a page asks to draw."""
    plain = {"tag": "loss", "name": run, "dash": None, "validates": False, "bounds": None}
    return {"run": run, "look": look, **plain, **more}


def test_a_chart_is_drawn_as_the_page_shows_it(tmp_path: Path) -> None:
    for number, run in enumerate(("a/train", "a/validation", "b", "$c$ & <d>")):
        run_of(tmp_path / run, [1.0 + number, 2.0, float("nan"), 1e30, -1.0] * 9)
    board = board_of(tmp_path)
    lines = [
        line("a/train", 3),
        line("a/validation", 3, name="", validates=True),
        line("b", None),
        line("$c$ & <d>", 13),
        line("gone", 5),
    ]
    for more in (
        {},
        {"log": True, "log_x": True, "range": [2, 30]},
        {"outliers": True, "x": "wall", "smooth": 0.5},
        {"x": "relative", "log": True, "outliers": True},
    ):
        content, (drawing,) = board.hear(t="svg", id=1, tag="loss", lines=lines, **more)
        assert content["t"] == "file"
        assert strokes(bytes(drawing)) == {COLOURS[3], COLOURS[1]}, more
        assert b"dashed: validation" in bytes(drawing)
    _, (drawing,) = board.hear(t="svg", id=1, tag="loss", lines=[line("b", 2)])
    assert strokes(bytes(drawing)) == {COLOURS[2]}
    assert b"stroke-dasharray" not in bytes(drawing)
    alone = [line("a/validation", 3, validates=True)]
    _, (drawing,) = board.hear(t="svg", id=1, tag="loss", lines=alone)
    assert strokes(bytes(drawing)) == {COLOURS[3]}
    assert b"stroke-dasharray" in bytes(drawing), "also without its training"
    content, (drawing,) = board.hear(t="svg", id=1, tag="loss", lines=[])
    assert content["t"] == "file"


def test_a_chart_of_several_tags_is_drawn_with_its_dashes_and_bounds(tmp_path: Path) -> None:
    for run in ("a/train", "a/validation"):
        counts = {"mean": 9, "low": 9, "high": 9, "short": 8}
        points = [(tag, step) for tag, count in counts.items() for step in range(count)]
        written(tmp_path / run / NAME, [simple(tag, step, len(tag) + step) for tag, step in points])
    board = board_of(tmp_path)
    lines = [
        line("a/train", 3, tag="mean", name="mean · a/train", dash=0),
        line("a/validation", 3, tag="mean", name="mean · a/validation", dash=0, validates=True),
        line("a/train", 3, tag="high", name="high · a/train", dash=2),
    ]
    _, (drawing,) = board.hear(t="svg", id=1, tag="both", lines=lines)
    assert strokes(bytes(drawing)) == {COLOURS[3]}
    for words in (b"stroke-dasharray", b"stroke-opacity: 0.5", b"pale: validation", b"both"):
        assert words in bytes(drawing), words

    def bands(*bounds: str) -> int:
        margin = line("a/train", 3, tag="mean", bounds=list(bounds))
        _, (drawing,) = board.hear(t="svg", id=1, tag="margin", lines=[margin])
        return bytes(drawing).count(b'id="FillBetweenPolyCollection') + bytes(drawing).count(
            b'id="PolyCollection'
        )

    assert bands("low", "high") == 1
    assert bands("low", "short") == bands("short", "short") == bands("low", "gone") == 0


@pytest.mark.parametrize(
    "lines",
    [
        None,
        {"b": 1},
        ["b"],
        [{"run": "b"}],
        [line("b", -1)],
        *([line("b", 1) | {"look": look}] for look in (True, "red")),
        [line("b", 1, dash=-1)],
        [line("b", 1, bounds=["low"])],
        [line("b", 1, name=None)],
    ],
)
def test_a_drawing_of_malformed_lines_is_refused(tmp_path: Path, lines: object) -> None:
    run_of(tmp_path / "b", [1.0, 2.0])
    content, _ = board_of(tmp_path).hear(t="svg", id=1, tag="loss", lines=lines)
    assert content["t"] == "refused"
    assert "of a chart" in content["text"]


def test_no_name_in_a_csv_is_a_formula_of_a_spreadsheet(tmp_path: Path) -> None:
    run_of(tmp_path / "@run", [1.0], tag='=HYPERLINK("http://x")')
    _, (data,) = board_of(tmp_path).hear(t="csv", id=1, tag='=HYPERLINK("http://x")')
    row = list(csv.reader(io.StringIO(data.decode(), newline="")))[1]
    assert row[:2] == ["'@run", '\'=HYPERLINK("http://x")']


def test_csv_that_is_too_long_for_a_page_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves_room, "CSV_ROWS", 2)
    run_of(tmp_path, [1.0, 2.0, 3.0])
    content, _ = board_of(tmp_path).hear(t="csv", id=1, tag="loss")
    assert content["t"] == "refused"
    assert "More than 2 points are visible: zoom in" in content["text"]


# --- following --------------------------------------------------------------------


class Told:
    """Wakes a test when a board has told something."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.news = threading.Condition()
        told = self

        def send(self: Board, content: Any, buffers: Any = None) -> None:
            with told.news:
                told.kinds.append(content["t"])
                told.texts.append(content.get("text", ""))
                told.news.notify_all()

        monkeypatch.setattr(Board, "send", send)

    def wait_for(self, kind: str) -> None:
        with self.news:
            assert self.news.wait_for(lambda: kind in self.kinds, SOON)
            self.kinds.clear()


def loopers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "nbtrain board"]


def wait_for_loopers() -> None:
    for thread in loopers():
        thread.join(SOON)


def test_new_points_are_sent_while_a_page_looks_until_the_board_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(monkeypatch)
    run_of(tmp_path / "a", [1.0])
    following = Following(nbtrain.scalars(tmp_path), follow=True)
    hear(following.board, t="hello")
    told.wait_for("index")
    (thread,) = loopers()
    run_of(tmp_path / "b", [1.0])
    told.wait_for("index")
    following.board.close()
    thread.join(SOON)
    assert not thread.is_alive()


def test_the_first_curves_of_a_followed_logdir_are_in_the_picture_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a notebook whose runs write their hyperparameters or a text before they train."""
    told = Told(monkeypatch)
    monkeypatch.setattr(boards, "_boards", deque())
    monkeypatch.setattr("nbtrain.notebook.still.SOON_SECS", 0.0)
    monkeypatch.setattr("nbtrain.notebook.still.EACH_SECS", 1e9)
    write_media(tmp_path / "a")
    scalars, _ = opened(str(tmp_path))
    assert scalars.reader.version > 0
    boards.show(scalars, follow=True)
    capsys.readouterr()
    run_of(tmp_path / "b", [1.0, 2.0])
    hear(boards._boards[0].board, t="hello")
    told.wait_for("still")
    boards._boards[0].board.close()
    wait_for_loopers()


def test_a_page_that_has_missed_something_is_told_of_it(tmp_path: Path) -> None:
    scalars = nbtrain.scalars(tmp_path)
    run_of(tmp_path / "a", [1.0])
    scalars.refresh()
    clock = Clock()
    shown = ShownBoard(scalars, clock=clock)

    def told(version: int | None) -> list[tuple[str, int]]:
        clock.now += CATCH_UP_SECS
        before = len(shown.sent)
        hear(shown, t="alive", version=version)
        return [(content["t"], content["version"]) for content, _ in shown.sent[before:]]

    shown.notify()
    shown.notify()
    assert [told(2), told(None), told(1), told(0)] == [[], [], [("grew", 2)], [("index", 2)]]
    run_of(tmp_path / "b", [1.0])
    scalars.refresh()
    shown.notify()
    assert [told(3), told(2)] == [[], [("index", 3)]]
    clock.now -= CATCH_UP_SECS  # at once
    assert told(2) == []
    shown.close()


def test_data_read_by_another_board_are_sent_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(monkeypatch)
    scalars = nbtrain.scalars(tmp_path)
    following = Following(scalars, follow=True)
    run_of(tmp_path, [1.0])
    scalars.refresh()
    hear(following.board, t="alive")
    told.wait_for("index")
    following.board.close()
    wait_for_loopers()


def test_without_follow_no_thread_runs_until_the_page_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(monkeypatch)
    following = Following(nbtrain.scalars(tmp_path))
    hear(following.board, t="hello")
    assert loopers() == []
    told.wait_for("index")
    hear(following.board, t="follow", on=True)
    run_of(tmp_path, [1.0])
    told.wait_for("index")
    (thread,) = loopers()
    hear(following.board, t="follow", on=False)
    thread.join(SOON)
    assert not thread.is_alive()


def test_the_rest_of_a_large_logdir_is_read_by_a_thread_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(monkeypatch)
    monkeypatch.setattr("nbtrain.notebook.boards.FIRST_SECS", 0.0)
    run_of(tmp_path, [1.0, 2.0])
    scalars, unread = opened(str(tmp_path))
    assert unread
    assert len(scalars) == 0
    following = Following(scalars, unread=unread)
    following.start()
    told.wait_for("index")
    wait_for_loopers()
    assert len(scalars[".", "loss"]) == 2
    assert loopers() == []


def test_a_half_written_last_record_is_no_reason_to_read_on(tmp_path: Path) -> None:
    path = written(tmp_path / NAME, [simple("loss", step, 1.0) for step in range(3)])
    path.write_bytes(path.read_bytes()[:-1])
    scalars, unread = opened(str(tmp_path))
    assert not unread, "or no picture of it stays in the notebook"
    assert len(scalars[".", "loss"]) == 2


def test_a_logdir_that_is_opened_again_is_not_read_again(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    first, _ = opened(str(tmp_path))
    again, _ = opened(str(tmp_path), runs="x")
    assert again.reader is first.reader


def test_a_logdir_that_is_opened_again_holds_nothing_of_what_was_deleted(tmp_path: Path) -> None:
    run_of(tmp_path / "a", [1.0, 2.0])
    run_of(tmp_path / "b", [1.0])
    first, _ = opened(str(tmp_path))
    shutil.rmtree(tmp_path)
    written(tmp_path / "a" / f"{NAME}.2", [simple("loss", 0, 3.0)])
    again, _ = opened(str(tmp_path))
    assert again.runs == ["a"]
    assert again["a", "loss"].values.tolist() == [3.0]
    assert len(first["a", "loss"]) == 2, "a board that is shown keeps what it shows"


def test_the_oldest_of_many_boards_is_closed_and_holds_no_more_what_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Told(monkeypatch)
    monkeypatch.setattr(boards, "_boards", deque())
    monkeypatch.setattr(boards, "_KEPT", 2)
    run_of(tmp_path / "old", [1.0])
    scalars, _ = opened(str(tmp_path / "old"))
    boards.show(scalars, follow=True)
    oldest = boards._boards[0].board
    reader = weakref.ref(scalars.reader)
    del scalars
    others = nbtrain.scalars(tmp_path)
    for _ in range(boards._KEPT):
        boards.show(others, text="")
    capsys.readouterr()
    assert oldest.comm is None, "and so its picture stands in its place"
    wait_for_loopers()
    gc.collect()
    assert reader() is None, "what was read is held no more"
    hear(boards._boards[0].board, t="want", id=1, tag="loss")
    assert told.kinds.pop() == "curves"


def test_a_board_that_is_closed_while_it_answers_ends_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of(tmp_path, [1.0])
    looks: list[bool] = []
    board = ShownBoard(nbtrain.scalars(tmp_path), on_look=lambda: looks.append(True))

    def late(found: Any, content: Any) -> Any:
        board.close()
        return answer(found, content)

    monkeypatch.setattr(room, "answer", late)
    board.hear(t="want", id=1, tag="loss")
    assert [content["t"] for content, _ in board.sent] == ["curves"]
    assert looks == [True]
    board.hear(t="want", id=2, tag="loss")
    assert len(board.sent) == 1


def test_a_board_that_is_closed_holds_no_more_what_it_read(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0])
    scalars = nbtrain.scalars(tmp_path)
    following = Following(scalars)
    reader = weakref.ref(scalars.reader)
    board = following.board
    del scalars, following
    board.close()
    gc.collect()
    assert reader() is None


def test_an_answer_that_fails_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(found: Any, content: Any) -> Any:
        raise RecursionError("too deep")

    monkeypatch.setattr(room, "answer", fail)
    content, _ = board_of(tmp_path).hear(t="want", id=1, tag="loss")
    assert content == {"t": "refused", "id": 1, "text": "RecursionError: too deep"}


def test_a_picture_stays_of_curves_and_the_words_of_every_other_tab(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("loss", 0, 1.0)])
    scalars = nbtrain.scalars(tmp_path)
    for tab in TABS:
        kept = boards._picture(scalars, "<words>", tab=tab)
        assert ("image/png" in kept) == (tab in ("scalars", "compare")), tab
        assert kept["text/plain"] == "<words>"


def test_a_picture_stays_of_the_first_charts_whatever_the_names_and_values(tmp_path: Path) -> None:
    name = "$x^2_ <b>" + "ü" * 60
    run_of(tmp_path / name, [1.0, np.nan, 3.0], tag="a$_^")
    run_of(tmp_path / "one", [5.0], tag="other")
    largest = [tensor("large", step, np.float64((-1) ** step * 1.7e308)) for step in (0, 1)]
    written(tmp_path / "large" / NAME, largest)
    drawn = picture.png(nbtrain.scalars(tmp_path), smooth=0.5)
    assert drawn is not None
    assert drawn.startswith(b"\x89PNG")


def test_the_picture_has_the_ground_and_the_ink_of_a_runs(tmp_path: Path) -> None:
    for number in range(5):  # one more than there are charts, which the legend says
        run_of(tmp_path / f"run{number}", list(np.linspace(2.0, 0.0, 50)), tag=f"tag{number}")
    pixels = pixels_of(picture.png(nbtrain.scalars(tmp_path)) or b"")
    assert (pixels[:, :, 3] == 1).all()
    assert of(pixels[:, :, :3], GROUND).mean() > 0.8
    assert of(pixels[-40:, :, :3], INK).any(), "the names of the runs"


def test_the_picture_draws_a_validation_in_the_colour_of_its_training(tmp_path: Path) -> None:
    for run, above in (("a/train", 0.0), ("a/validation", 1.0), ("b", 2.0)):
        run_of(tmp_path / run, list(np.linspace(above, above + 0.5, 50)))
    pixels = pixels_of(picture.png(nbtrain.scalars(tmp_path)) or b"")[:, :, :3]
    blue, orange, green = (of(pixels, colour).sum() for colour in COLOURS[:3])
    assert blue > 1.5 * orange > 0, "a line and a dashed one beside a line"
    assert not green


def test_each_run_keeps_its_colour_in_the_picture_and_on_the_page(tmp_path: Path) -> None:
    def drawn(runs: str | None = None) -> tuple[dict[str, int], list[bool]]:
        scalars = nbtrain.scalars(tmp_path, runs=runs)
        index, _ = ShownBoard(scalars).hear(t="hello")
        pixels = pixels_of(picture.png(scalars) or b"")[:, :, :3]
        looks = dict(zip(index["runs"], index["looks"], strict=True))
        return looks, [bool(of(pixels, colour).any()) for colour in COLOURS[:3]]

    events = [simple("loss", step, 1.0 + step) for step in range(9)]
    written(tmp_path / "b" / "events.out.tfevents.200.host", events)
    assert drawn() == ({"b": 0}, [True, False, False])
    events = [simple("loss", step, 20.0 + step) for step in range(9)]
    written(tmp_path / "a" / "events.out.tfevents.300.host", events)
    assert drawn() == ({"a": 1, "b": 0}, [True, True, False])
    assert drawn("a") == ({"a": 1}, [False, True, False])


def test_the_picture_draws_runs_whose_shortened_names_are_the_same(tmp_path: Path) -> None:
    for number in range(2):
        name = f"first-words-of-a-long-name-{number}-and-the-last-words-of-a-long-name"
        run_of(tmp_path / name, list(np.linspace(number, number + 0.5, 50)))
    pixels = pixels_of(picture.png(nbtrain.scalars(tmp_path)) or b"")[:, :, :3]
    for colour in COLOURS[:2]:
        assert of(pixels, colour).sum() > 100


def test_the_picture_draws_each_value_between_two_gaps_as_a_point(tmp_path: Path) -> None:
    run_of(tmp_path, [1.0, np.nan] * 100)
    pixels = pixels_of(picture.png(nbtrain.scalars(tmp_path)) or b"")[:, :, :3]
    assert of(pixels, COLOURS[0]).any(axis=0).sum() > 200


def test_without_charts_there_is_no_picture(tmp_path: Path) -> None:
    assert picture.png(nbtrain.scalars(tmp_path)) is None


def test_a_board_is_quiet_since_it_has_told_or_answered_a_page(tmp_path: Path) -> None:
    clock = Clock()
    board = board_of(tmp_path, clock=clock)
    clock.now += 3
    assert board.quiet_secs == 3
    board.hear(t="want", id=1, tag="loss")
    assert board.quiet_secs == 0
    clock.now += 2
    assert board.quiet_secs == 2
    board.notify()
    assert board.quiet_secs == 0


def test_a_page_counts_as_looking_for_a_while(tmp_path: Path) -> None:
    clock = Clock()
    board = board_of(tmp_path, clock=clock)
    assert not board.watched
    hear(board, t="alive")
    assert board.watched
    clock.now += LEASE_SECS
    assert not board.watched


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="there is no such folder"):
        opened(str(tmp_path / "nothing"))


def test_a_package_without_its_front_end_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "BUNDLE", tmp_path / "board.js")
    with pytest.raises(NbtrainError, match=r"front end is missing \(board\.js\): install nbtrain"):
        board_of(tmp_path)
