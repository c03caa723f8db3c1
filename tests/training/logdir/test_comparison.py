"""`nbtrain.compare`: runs side by side."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import pytest
from tensorboard.plugins.hparams import api as hp

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase, Status
from nbtrain.core.values.direction import Direction
from nbtrain.logdir.summary_stats import Extent
from nbtrain.rundir import status_file
from nbtrain.rundir.status_file import SignOfLife, Writer
from tests.event_files import NAME, simple, start, v1, written
from tests.gate import SOON
from tests.other_events import event


def told(**hparams: float | str | bool) -> object:
    """An event that tells hyperparameters."""
    data = hp.hparams_pb(hparams).SerializeToString()
    return event(0, v1.Summary.FromString(data).value[0])


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Two runs of Keras's shape, and one without hyperparameters."""
    for run, rate in (("adam", 0.5), ("sgd", 0.25)):
        written(tmp_path / run / NAME, [told(rate=rate, units=32, name="x")])
        losses = [
            simple("loss", step, rate * value, 1.7e9 + step)
            for step, value in enumerate((4.0, 1.0, 2.0))
        ]
        written(tmp_path / run / "train" / NAME, [*losses, simple("accuracy", 1, rate)])
    written(tmp_path / "bare" / NAME, [simple("loss", 7, 9.0)])
    return tmp_path


def test_hyperparameters_that_differ_are_apart_from_those_that_are_the_same(logdir: Path) -> None:
    both = nbtrain.compare(logdir)
    assert both.runs == ["adam/train", "bare", "sgd/train"]
    assert both.differing == {"rate": {"adam/train": 0.5, "sgd/train": 0.25}}
    assert both.same == {"name": "x", "units": 32.0}


def test_a_hyperparameter_missing_in_one_run_differs(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [told(rate=1), simple("loss", 1, 1.0)])
    written(tmp_path / "b" / NAME, [told(rate=1, decay=True), simple("loss", 1, 1.0)])
    both = nbtrain.compare(tmp_path)
    assert (both.differing, both.same) == ({"decay": {"b": True}}, {"rate": 1.0})


def test_one_and_true_are_not_the_same(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [told(x=1), simple("loss", 1, 1.0)])
    written(tmp_path / "b" / NAME, [told(x=True), simple("loss", 1, 1.0)])
    assert nbtrain.compare(tmp_path).differing == {"x": {"a": 1.0, "b": True}}


def test_the_results_of_scalars_are_listed(logdir: Path) -> None:
    metrics = nbtrain.compare(logdir).metrics
    assert list(metrics) == ["accuracy", "loss"]
    assert metrics["loss"]["adam/train"] == Extent(1.0, 2, 0.5, 1, 2.0, 0, 3)
    assert metrics["loss"]["bare"] == Extent(9.0, 7, 9.0, 7, 9.0, 7, 1)
    assert metrics["accuracy"].keys() == {"adam/train", "sgd/train"}


def test_the_best_step_is_that_of_the_highest_or_the_lowest(logdir: Path) -> None:
    both = nbtrain.compare(logdir)
    extent = both.metrics["loss"]["adam/train"]
    assert extent.best_step(Direction.LOWEST) == 1
    assert extent.best_step(Direction.HIGHEST) == 0
    assert both.directions == {"accuracy": Direction.HIGHEST, "loss": Direction.LOWEST}
    assert "best_step (lowest)" in repr(both)


def test_a_scalar_without_a_known_direction_has_no_best_step(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [simple("top3", 1, 0.5), simple("top3", 2, 0.9)])
    both = nbtrain.compare(tmp_path)
    assert both.directions == {"top3": None}
    assert "best" not in repr(both)
    assert pd.isna(both.to_dataframe()["top3", "best_step"]["a"])


def test_the_status_file_of_a_run_tells_the_directions_of_its_scalars(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [simple("val_top3", 1, 0.5), simple("val_top3", 2, 0.9)])
    writer = Writer("1", "host", 1, 0.0)
    status = Status("a", "Keras fit", Phase.FINISHED, directions={"top3": "max"})
    status_file.write(tmp_path / "a", SignOfLife(writer, 1.0, status))
    both = nbtrain.compare(tmp_path)
    assert both.directions == {"val_top3": Direction.HIGHEST}
    assert "best_step (highest)" in repr(both)
    written(tmp_path / "b" / NAME, [simple("val_top3", 3, 0.7)])
    assert both.refresh()
    assert both.directions == {"val_top3": Direction.HIGHEST}, "the other run does not know"
    status = dataclasses.replace(status, directions={"top3": "min"})
    status_file.write(tmp_path / "b", SignOfLife(writer, 1.0, status))
    both.refresh()
    assert both.directions == {"val_top3": None}, "the two differ"


def test_abandoned_points_and_those_that_are_no_numbers_do_not_count(tmp_path: Path) -> None:
    values = [3.0, math.nan, 1.0, math.inf, -9.0, 8.0]
    events = [simple("loss", step, value, step) for step, value in enumerate(values)]
    written(tmp_path / "a" / NAME, [start(0, -1.0), *events, start(4, 9.0)])
    written(tmp_path / "b" / NAME, [simple("loss", 1, math.nan)])
    loss = nbtrain.compare(tmp_path).metrics["loss"]
    assert loss["a"] == Extent(math.inf, 3, 1.0, 2, 3.0, 0, 4)
    assert math.isnan(loss["b"].min)
    assert math.isnan(loss["b"].best_step(Direction.LOWEST))


def test_expressions_choose_runs_and_more_is_read(logdir: Path) -> None:
    both = nbtrain.compare(logdir, runs="adam|bare")
    assert both.runs == ["adam/train", "bare"]
    written(logdir / "bare2" / NAME, [simple("loss", 8, 1.0)])
    assert both.refresh()
    assert both.runs == ["adam/train", "bare", "bare2"]
    with pytest.raises(ArgumentError, match=r"runs='\(' is no regular expression"):
        nbtrain.compare(logdir, runs="(")


def test_a_data_frame(logdir: Path) -> None:
    frame = nbtrain.compare(logdir).to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == ["adam/train", "bare", "sgd/train"]
    assert frame["loss", "last"].tolist() == [1.0, 9.0, 0.5]
    assert frame["loss", "best_step"].tolist() == [1, 7, 1]
    assert frame["hparams", "rate"].dropna().tolist() == [0.5, 0.25]
    assert pd.isna(frame.loc["bare", ("accuracy", "max")])


def test_a_cell_shows_a_plain_table(logdir: Path) -> None:
    assert repr(nbtrain.compare(logdir, runs="adam|sgd")).splitlines() == [
        "                                   adam/train  sgd/train",
        "duration (s)                       2           2",
        "rate                               0.5         0.25",
        "accuracy      last                 0.5         0.25",
        "              min                  0.5         0.25",
        "              max                  0.5         0.25",
        "              best_step (highest)  1           1",
        "loss          last                 1           0.5",
        "              min                  0.5         0.25",
        "              max                  2           1",
        "              best_step (lowest)   1           1",
        "the same in all: name=x, units=32",
    ]
    assert repr(nbtrain.compare(logdir, runs="nosuch")).startswith("<no scalars in ")


def test_a_run_has_the_duration_tags_and_notes_of_its_journal(logdir: Path) -> None:
    folder = logdir / "bare"
    lines = [
        {"event": "start", "step": 0, "wall_time": 100.0, "tags": ["best"]},
        {"event": "note", "step": 5, "wall_time": 130.0, "text": "flat"},
        {"event": "finished", "step": 7, "wall_time": 160.5},
        {"event": "note", "step": 7, "wall_time": 900.0, "text": "good"},
    ]
    (folder / "steering.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = nbtrain.compare(logdir)
    assert found.durations["bare"] == 60.5
    assert (found.tags, found.notes) == ({"bare": ("best",)}, {"bare": ("flat", "good")})
    frame = found.to_dataframe()
    assert frame.loc["bare", "run"].tolist() == [60.5, ("best",), ("flat", "good")]
    assert frame.loc["adam/train", "run"].tolist()[1:] == [(), ()]
    head = repr(found).splitlines()[1:4]
    assert [line.split()[:3] for line in head] == [
        ["duration", "(s)", "2"],
        ["tags", "best"],
        ["last", "note", "good"],
    ]


def test_the_folders_of_a_keras_fit_have_the_journal_of_the_run_above_them(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("sgd", "mse", metrics=[keras.metrics.AUC(name="wins")])
    x = np.ones((8, 1), np.float32)
    run = nbtrain.fit(
        model,
        x,
        x,
        validation_data=(x, x),
        epochs=1,
        callbacks=[keras.callbacks.TensorBoard(tmp_path / "runs" / "a")],
        logdir=tmp_path / "runs" / "a",
        tags=["best"],
    ).wait(SOON)
    run.note("good")
    found = nbtrain.compare(tmp_path / "runs", runs="train")
    assert found.runs == ["a/train"]
    assert (found.tags, found.notes) == ({"a/train": ("best",)}, {"a/train": ("good",)})
    assert found.durations == {"a/train": nbtrain.compare(tmp_path / "runs").durations["a"]}
    assert found.directions["epoch_wins"] is Direction.HIGHEST
    reader = found.scalars.reader
    assert reader.labels("a/train") == ("best",)
    # A folder above the logdir is none of its runs, and other folders below a run are others'.
    alone = nbtrain.compare(tmp_path / "runs" / "a" / "train")
    assert (alone.runs, alone.tags) == (["."], {})
    written(tmp_path / "runs" / "a" / "old" / NAME, [simple("loss", 1, 0.5)])
    other = nbtrain.compare(tmp_path / "runs", runs="old").scalars.reader
    assert (other.labels("a/old"), other.about("a/old")) == ((), None)
    (tmp_path / "runs" / "a" / "train" / "steering.jsonl").write_text("")
    own = nbtrain.compare(tmp_path / "runs").scalars.reader
    assert own.labels("a/train") == ()
