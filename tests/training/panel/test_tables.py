"""The board's kernel side: hyperparameters, runs side by side, and layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom
from tensorboard.plugins.hparams import api as hp
from tensorboard.plugins.hparams import api_pb2, summary

import nbtrain
from nbtrain.panel.board import layouts, tables
from tests.training.boards import ShownBoard, board_of

WICKED = "<img src=x onerror='window.wicked=1'>"


def trial(path: Path, hparams: dict[str, Any], **scalars: list[float]) -> None:
    """A run with hyperparameters, as TensorBoard's own API writes it."""
    with tf.summary.create_file_writer(str(path)).as_default():
        hp.hparams(hparams)
        for tag, values in scalars.items():
            for step, value in enumerate(values):
                tf.summary.scalar(tag, value, step=step)


def laid_out(path: Path, *charts: Any, title: str = "all", closed: bool = False) -> None:
    """A layout of one category, as TensorBoard's own API writes it."""
    category = layout_pb2.Category(title=title, chart=charts, closed=closed)
    layout = layout_pb2.Layout(category=[category])
    with tf.summary.create_file_writer(str(path)).as_default():
        tf.summary.experimental.write_raw_pb(custom.pb(layout).SerializeToString(), step=0)


def multiline(*tags: str, title: str = "") -> Any:
    content = layout_pb2.MultilineChartContent(tag=tags)
    return layout_pb2.Chart(title=title, multiline=content)


def margin(value: str, lower: str, upper: str) -> Any:
    series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
    return layout_pb2.Chart(margin=layout_pb2.MarginChartContent(series=[series]))


def chart(tmp_path: Path, tags: list[str], laid: Any) -> dict[str, Any]:
    """Returns the message about a chart in a logdir with these tags."""
    trial(tmp_path / "run", {}, **{tag: [1.0] for tag in tags})
    laid_out(tmp_path / "run", laid)
    content, _ = board_of(tmp_path).hear(t="layout", id=1)
    ((found,),) = [category["charts"] for category in content["categories"]]
    return dict(found)


# --- tabs -------------------------------------------------------------------------


def test_a_tab_is_there_only_for_what_is_there(tmp_path: Path) -> None:
    trial(tmp_path / "a", {}, loss=[1.0])
    assert board_of(tmp_path).hear(t="hello")[0]["tabs"] == ["scalars", "hparams"]
    laid_out(tmp_path / "a", multiline("loss"))
    trial(tmp_path / "b", {}, loss=[1.0])
    tabs = board_of(tmp_path).hear(t="hello")[0]["tabs"]
    assert tabs == ["scalars", "hparams", "custom_scalars", "compare"]


@pytest.mark.parametrize(
    ("tab", "words"),
    [
        ("hparams", "no run in {} has hyperparameters"),
        ("custom_scalars", "no run in {} has a layout of custom scalars"),
        ("compare", "there are no two runs in {} to compare"),
    ],
)
def test_a_tab_that_was_asked_for_says_what_is_missing(
    tmp_path: Path, tab: str, words: str
) -> None:
    content, _ = board_of(tmp_path, tab=tab).hear(t="hello")
    assert tab in content["tabs"]
    assert content["empty"][tab] == words.format(repr(str(tmp_path)))


def test_the_training_and_the_validation_of_a_fit_are_not_two_runs_to_compare(
    tmp_path: Path,
) -> None:
    for run in ("train", "validation"):
        trial(tmp_path / run, {}, loss=[1.0])
    assert "compare" not in board_of(tmp_path).hear(t="hello")[0]["tabs"]
    trial(tmp_path / "other", {}, loss=[1.0])
    assert "compare" in board_of(tmp_path).hear(t="hello")[0]["tabs"]


def test_hyperparameters_of_runs_that_a_filter_leaves_out_make_no_tab(tmp_path: Path) -> None:
    trial(tmp_path / "a", {"x": 1}, loss=[1.0])
    board = ShownBoard(nbtrain.scalars(tmp_path, runs="b"))
    assert "hparams" not in board.hear(t="hello")[0]["tabs"]


# --- hyperparameters --------------------------------------------------------------


def test_a_page_is_told_each_runs_hyperparameters_and_metrics(tmp_path: Path) -> None:
    trial(tmp_path / "a", {"rate": 0.5, "kind": "adam", "shuffle": True}, loss=[3.0, 2.0])
    trial(tmp_path / "b", {"rate": 1e-3}, accuracy=[0.25])
    content, _ = board_of(tmp_path).hear(t="hparams", id=3)
    assert (content["t"], content["id"], content["words"]) == ("hparams", 3, [])
    assert content["hparams"] == ["kind", "rate", "shuffle"]
    assert (content["metrics"], content["higher"]) == (["loss", "accuracy"], [False, True])
    first, second = content["rows"]
    assert (first["run"], first["status"]) == ("a", "unknown")
    assert first["values"] == ["adam", 0.5, True, 2.0, None]
    assert second["values"] == [None, 0.001, None, None, 0.25]


@pytest.mark.parametrize(
    ("value", "sent"),
    [(np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity")],
)
def test_a_metric_that_is_no_number_arrives_as_such(
    tmp_path: Path, value: float, sent: str
) -> None:
    trial(tmp_path / "a", {}, loss=[value])
    content, _ = board_of(tmp_path).hear(t="hparams", id=1)
    assert content["rows"][0]["values"] == [{"float": sent}]


def test_a_run_that_has_ended_says_how(tmp_path: Path) -> None:
    with tf.summary.create_file_writer(str(tmp_path / "a")).as_default():
        hp.hparams({"x": 1})
        ended = summary.session_end_pb(api_pb2.STATUS_FAILURE)
        tf.summary.experimental.write_raw_pb(ended.SerializeToString(), step=0)
    content, _ = board_of(tmp_path).hear(t="hparams", id=1)
    assert content["rows"][0]["status"] == "failure"


def test_unchanged_data_are_not_sent_again(tmp_path: Path) -> None:
    trial(tmp_path / "a", {"x": 1}, loss=[1.0])
    scalars = nbtrain.scalars(tmp_path)
    board = ShownBoard(scalars)
    first, _ = board.hear(t="hparams", id=1)
    again = board.hear(t="hparams", id=2, known=first["known"])
    assert again == ({"t": "same", "id": 2}, [])
    trial(tmp_path / "b", {"x": 2}, loss=[1.0])
    scalars.refresh()
    content, _ = board.hear(t="hparams", id=3, known=first["known"])
    assert [row["run"] for row in content["rows"]] == ["a", "b"]


def test_names_and_values_with_markup_arrive_as_they_are(tmp_path: Path) -> None:
    trial(tmp_path / "a", {WICKED: WICKED}, loss=[1.0])
    content, _ = board_of(tmp_path).hear(t="hparams", id=1)
    assert content["hparams"] == [WICKED]
    assert content["rows"][0]["values"][0] == WICKED


def test_only_the_first_of_very_many_columns_are_sent_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "COLUMNS", 2)
    trial(tmp_path / "a", {"x": 1, "y": 2, "z": 3}, loss=[1.0])
    content, _ = board_of(tmp_path).hear(t="hparams", id=1)
    assert content["hparams"] == ["x", "y"]
    assert content["rows"][0]["values"] == [1, 2, 1]
    assert content["words"] == ["There are 3 hyperparameters: the first 2 are shown."]


def test_a_very_long_text_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHARACTERS", 3)
    trial(tmp_path / "a", {"x": "abcd", "y": "abc"})
    content, _ = board_of(tmp_path).hear(t="hparams", id=1)
    assert content["rows"][0]["values"] == ["abc…", "abc"]


# --- runs side by side ------------------------------------------------------------


def compared(
    board: ShownBoard, *runs: str
) -> tuple[dict[str, Any], dict[str, dict[str, list[float]]]]:
    """Returns the message to a page, and its numbers by tag and run."""
    content, (buffer,) = board.hear(t="compare", id=1, runs=list(runs))
    names, tags = content["runs"], content["tags"]
    values = np.frombuffer(buffer, "<f8").reshape(len(tags), len(names), 7).tolist()
    rows = {tag: dict(zip(names, row, strict=True)) for tag, row in zip(tags, values, strict=True)}
    return content, rows


def test_runs_side_by_side_with_what_they_were_told_and_came_to(tmp_path: Path) -> None:
    trial(tmp_path / "a", {"rate": 0.5, "layers": 2}, loss=[3.0, 1.0, 2.0])
    trial(tmp_path / "b", {"rate": 0.1, "layers": 2}, accuracy=[0.5])
    trial(tmp_path / "c", {"rate": 0.9, "layers": 3}, loss=[1.0])
    content, rows = compared(board_of(tmp_path), "a", "b")
    assert content["runs"] == ["a", "b"]
    assert (content["tags"], content["higher"]) == (["accuracy", "loss"], [True, False])
    assert content["hparams"] == [
        {"name": "layers", "values": [2.0, 2.0], "same": True},
        {"name": "rate", "values": [0.5, 0.1], "same": False},
    ]
    assert rows["loss"]["a"] == [2, 2, 1, 1, 3, 0, 3]
    np.testing.assert_array_equal(rows["loss"]["b"], [np.nan] * 7)
    assert rows["accuracy"]["b"] == [0.5, 0, 0.5, 0, 0.5, 0, 1]


def test_only_the_runs_of_these_very_names_are_compared(tmp_path: Path) -> None:
    for name in ("a", "a.b", "axb", "a/b"):
        trial(tmp_path / name, {}, loss=[1.0])
    content, _ = compared(board_of(tmp_path), "a.b", "a")
    assert content["runs"] == ["a", "a.b"]


def test_only_the_tags_of_these_very_names_are_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        trial(tmp_path / name, {}, loss=[1.0], loss2=[1.0])
    message = {"t": "compare", "id": 1, "runs": ["a", "b"]}
    content, _ = board_of(tmp_path).hear(**message, tags=["loss"])
    assert content["tags"] == ["loss"]
    content, _ = board_of(tmp_path).hear(**message, tags="loss")
    assert content["text"] == "tags='loss' is not a list of names."


def test_a_filter_of_the_board_holds_for_the_comparison(tmp_path: Path) -> None:
    for name in ("a", "b"):
        trial(tmp_path / name, {}, loss=[1.0], rate=[1.0])
    board = ShownBoard(nbtrain.scalars(tmp_path, runs="a", tags="loss"))
    content, rows = compared(board, "a", "b")
    assert content["runs"] == ["a"]
    assert list(rows) == ["loss"]


@pytest.mark.parametrize("runs", [None, "a", [1]])
def test_a_comparison_of_what_is_no_list_is_refused_in_words(tmp_path: Path, runs: Any) -> None:
    content, _ = board_of(tmp_path).hear(t="compare", id=7, runs=runs)
    text = f"runs={runs!r} is not a list of names."
    assert content == {"t": "refused", "id": 7, "text": text}


# --- layouts ----------------------------------------------------------------------


def test_a_chart_has_the_tags_at_whose_beginning_an_expression_is_found(tmp_path: Path) -> None:
    tags = ["loss", "loss_high", "val_loss", "rate"]
    found = chart(tmp_path, tags, multiline("loss", "rat", title="both"))
    assert found == {
        "title": "both",
        "tags": ["loss", "loss_high", "rate"],
        "series": None,
        "words": [],
    }


def test_a_chart_without_a_title_is_called_by_its_expressions(tmp_path: Path) -> None:
    assert chart(tmp_path, ["loss"], multiline("lo.*", "loss"))["title"] == "lo.*, loss"


def test_an_invalid_pattern_is_named_and_the_others_are_drawn(tmp_path: Path) -> None:
    found = chart(tmp_path, ["loss"], multiline("(", "loss", "nothing"))
    assert found["tags"] == ["loss"]
    wrong, missing = found["words"]
    assert wrong == "'(' is not a regular expression of RE2: missing ): (."
    assert missing == "No run has a tag that 'nothing' matches."


def test_an_expression_that_python_would_take_for_ever_over_holds_nothing_up(
    tmp_path: Path,
) -> None:
    tag = "a" * 60 + "b"
    found = chart(tmp_path, [tag], multiline("(a|aa)+$", "a+b"))
    assert found["tags"] == [tag]
    assert found["words"] == ["No run has a tag that '(a|aa)+$' matches."]


def test_only_the_first_of_very_many_tags_are_drawn_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "MOST", 2)
    found = chart(tmp_path, ["a1", "a2", "a3"], multiline("a"))
    assert found["tags"] == ["a1", "a2"]
    assert found["words"] == ["3 tags match; the first 2 are drawn."]


def test_a_margin_chart_has_the_tags_of_exactly_these_names(tmp_path: Path) -> None:
    found = chart(tmp_path, ["l.ss", "loss", "low", "high"], margin("l.ss", "low", "high"))
    assert found["title"] == "l.ss"
    assert found["series"] == [{"value": "l.ss", "lower": "low", "upper": "high"}]
    assert found["tags"] == ["l.ss", "low", "high"]


def test_a_margin_chart_says_which_tags_are_missing(tmp_path: Path) -> None:
    found = chart(tmp_path, ["loss"], margin("loss", "low", "high"))
    assert found["words"] == ["No run has the tag 'low'.", "No run has the tag 'high'."]
    assert found["tags"] == ["loss"]


def test_categories_keep_their_titles_and_whether_they_are_closed(tmp_path: Path) -> None:
    laid_out(tmp_path / "a", multiline("x"), title="first", closed=True)
    laid_out(tmp_path / "b", multiline("y"), title="second")
    content, _ = board_of(tmp_path).hear(t="layout", id=1)
    found = [(each["title"], each["closed"]) for each in content["categories"]]
    assert found == [("first", True), ("second", False)]
