"""`nbtrain.hparams`: what TensorBoard's HParams plugin computes, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorboardX
import tensorflow as tf
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api as hp
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams.backend_context import Context
from tensorboard.plugins.hparams.list_session_groups import Handler
from tensorboard.plugins.hparams.summary import session_end_pb

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.hparams import HParams
from tests.event_files import NAME, records, simple, start, written
from tests.other_events import event

v1 = tf.compat.v1

STATUSES = [api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE]
STATUSES += [api_pb2.STATUS_RUNNING]


def info(pb: Any) -> Any:
    """An event of one of the plugin's summaries, as `hparams_pb` and the like make it."""
    return event(0, v1.Summary.FromString(pb.SerializeToString()).value[0])


def told(hparams: dict[str, Any]) -> Any:
    return info(hp.hparams_pb(hparams, start_time_secs=5.0))


def theirs(logdir: Path) -> dict[str, Any]:
    """By run, what TensorBoard's plugin says: hyperparameters, metrics, status and times."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(logdir)).Reload()
    provider = MultiplexerDataProvider(multiplexer, str(logdir))
    context = Context(TBContext(logdir=str(logdir), data_provider=provider))
    request = api_pb2.ListSessionGroupsRequest(allowed_statuses=STATUSES, slice_size=1000)
    groups = Handler(RequestContext(), context, "", request).run().session_groups
    found = {}
    for group in groups:
        values = {name: _plain(value) for name, value in group.hparams.items()}
        for session in group.sessions:
            metrics = {
                "/".join(filter(None, (each.name.group, each.name.tag))): each.value
                for each in session.metric_values
            }
            status = api_pb2.Status.Name(session.status).removeprefix("STATUS_").lower()
            times = (session.start_time_secs or None, session.end_time_secs or None)
            found[session.name] = (values, metrics, status, *times, group.name)
    return found


def _plain(value: Any) -> Any:
    return getattr(value, value.WhichOneof("kind"))


def ours(table: HParams) -> dict[str, Any]:
    return {
        row.run: (row.hparams, row.metrics, row.status, row.start_time, row.end_time, row.group)
        for row in table.rows
    }


# --- as TensorBoard has it --------------------------------------------------------


def test_values_of_tensorboards_own_api_are_read(tmp_path: Path) -> None:
    rate, units = hp.HParam("rate", hp.RealInterval(0.0, 1.0)), hp.HParam("units")
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        hp.hparams_config([rate, units], [hp.Metric("accuracy"), hp.Metric("loss", group="eval")])
    for number in range(3):
        with tf.summary.create_file_writer(str(tmp_path / f"run{number}")).as_default():
            hp.hparams({rate: number / 10, units: 16 * number}, trial_id=f"trial{number}")
            tf.summary.scalar("accuracy", number / 2, 1)
            tf.summary.scalar("other", 1.0, 1)
        with tf.summary.create_file_writer(str(tmp_path / f"run{number}" / "eval")).as_default():
            tf.summary.scalar("loss", number, 1)
    table = nbtrain.hparams(tmp_path)
    assert ours(table) == theirs(tmp_path)
    assert table.rows[1].hparams == {"rate": 0.1, "units": 16.0}
    assert table.rows[1].metrics == {"accuracy": 0.5, "eval/loss": 1.0}


def test_event_files_of_keras_are_read(tmp_path: Path) -> None:
    data = np.ones((32, 3), np.float32), np.ones((32, 1), np.float32)
    for rate in (0.1, 0.01):
        run = str(tmp_path / f"rate{rate}")
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        told = hp.KerasCallback(run, {"rate": rate, "optimizer": "sgd", "shuffle": True})
        board = tf.keras.callbacks.TensorBoard(run, write_graph=False)
        model.fit(*data, epochs=2, verbose=0, validation_split=0.25, callbacks=[told, board])
    table = nbtrain.hparams(tmp_path)
    assert ours(table) == theirs(tmp_path)
    first = table.rows[0]
    assert first.hparams == {"rate": 0.01, "optimizer": "sgd", "shuffle": True}
    assert {"train/epoch_loss", "validation/epoch_loss"} <= {*first.metrics}
    assert first.status == "success"
    assert first.start_time is not None
    assert first.end_time is not None
    assert first.start_time < first.end_time


def test_values_of_tensorboardx_and_pytorch_are_read(tmp_path: Path) -> None:
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        for rate in (0.1, 0.01):
            told = {"rate": rate, "optimizer": "adam", "nesterov": False}
            writer.add_hparams(told, {"accuracy": 1 - rate, "loss": rate}, name=f"rate{rate}")
    table = nbtrain.hparams(tmp_path)
    assert ours(table) == theirs(tmp_path)
    assert [row.hparams["rate"] for row in table.rows] == [0.01, 0.1]
    assert table.rows[0].metrics == {"accuracy": np.float32(0.99), "loss": np.float32(0.01)}


numbers = st.floats(-1e6, 1e6)
hyperparameters = st.dictionaries(
    st.sampled_from(["rate", "units", "name"]),
    st.one_of(numbers, st.booleans(), st.text(max_size=5)),
    min_size=1,
)
runs = st.dictionaries(
    st.sampled_from(["a", "a/b", "a/b/train", "a/bc", "c", "c/train", "c/eval/deep"]),
    st.tuples(st.one_of(st.none(), hyperparameters), st.lists(st.sampled_from(["loss", "acc"]))),
    min_size=1,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(logdir=runs)
@example(  # a session within another has what is a metric of a third
    logdir={
        "a": ({"rate": 0.0}, []),
        "a/train": ({"rate": 0.0}, ["loss"]),
        "c": ({"rate": 0.0}, []),
        "c/train": (None, ["loss"]),
    }
)
def test_any_tree_of_runs_has_the_sessions_and_metrics_of_tensorboard(
    logdir: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for run, (hparams, tags) in logdir.items():
        events = [told(hparams)] if hparams is not None else []
        events += [simple(tag, step, step / 2) for step, tag in enumerate(tags)]
        written(folder / run / NAME, [v1.Event(file_version="brain.Event:2"), *events])
    assert ours(nbtrain.hparams(folder)) == theirs(folder)


# --- further ----------------------------------------------------------------------


def test_runs_below_a_session_that_is_the_logdir_itself_are_its_own(tmp_path: Path) -> None:
    written(tmp_path / NAME, [told({"rate": 0.1})])
    written(tmp_path / "train" / NAME, [simple("loss", 1, 2.0)])
    (row,) = nbtrain.hparams(tmp_path).rows
    assert (row.run, row.metrics) == (".", {"train/loss": 2.0})


def test_a_session_without_the_metrics_of_another_program_has_all_its_scalars(
    tmp_path: Path,
) -> None:
    config = info(hp.hparams_config_pb([hp.HParam("rate")], [hp.Metric("accuracy")]))
    events = [config, told({"rate": 0.1}), simple("accuracy", 1, 0.5), simple("more", 1, 0.5)]
    written(tmp_path / "a" / NAME, events)
    written(tmp_path / "b" / NAME, [told({"rate": 0.2}), simple("loss", 1, 2.0)])
    table = nbtrain.hparams(tmp_path)
    assert [row.metrics for row in table.rows] == [{"accuracy": 0.5}, {"loss": 2.0}]
    assert table.metrics == ["accuracy", "loss"]


def test_the_last_value_that_counts_is_the_metrics(tmp_path: Path) -> None:
    loss = (simple("loss", step, step, step) for step in range(6))
    events = [start(0, -1.0), told({"rate": 0.1}), *loss]
    written(tmp_path / NAME, [*events, start(3, 9.0)])
    assert nbtrain.hparams(tmp_path).rows[0].metrics == {"loss": 2.0}


def test_a_refresh_reads_later_points(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [told({"rate": 0.1})])
    table = nbtrain.hparams(tmp_path)
    assert not table.refresh()
    assert table.rows[0].status == "unknown"
    ended = info(session_end_pb(api_pb2.STATUS_FAILURE, end_time_secs=9.0))
    written(tmp_path / "a" / NAME.replace("1.", "2."), [ended])
    written(tmp_path / "b" / NAME, [told({"rate": 0.2})])
    assert table.refresh()
    assert [(row.run, row.status, row.end_time) for row in table.rows] == [
        ("a", "failure", 9.0),
        ("b", "unknown", None),
    ]


def test_expressions_choose_runs(tmp_path: Path) -> None:
    for run in ("adam", "sgd"):
        written(tmp_path / run / NAME, [told({"rate": 0.1})])
        written(tmp_path / run / "train" / NAME, [simple("loss", 1, 2.0)])
    (row,) = nbtrain.hparams(tmp_path, runs="^a").rows
    assert (row.run, row.metrics) == ("adam", {"train/loss": 2.0})
    with pytest.raises(ArgumentError, match=r"runs='\(' is no regular expression"):
        nbtrain.hparams(tmp_path, runs="(")


def test_a_data_frame(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [told({"rate": 0.1, "name": "x"}), simple("loss", 1, 2.0)])
    written(tmp_path / "b" / NAME, [told({"rate": 0.2}), simple("loss", 1, 3.0)])
    frame = nbtrain.hparams(tmp_path).to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == ["a", "b"]
    assert frame["hparams", "rate"].tolist() == [0.1, 0.2]
    assert frame["metrics", "loss"].tolist() == [2.0, 3.0]
    assert frame["session", "start_time"].tolist() == [5.0, 5.0]
    assert pd.isna(frame.loc["b", ("hparams", "name")])


def test_a_cell_shows_a_plain_table(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [told({"rate": 0.5, "units": 32}), simple("loss", 1, 2.0)])
    written(tmp_path / "b\n<b>" / NAME, [told({"rate": 0.25, "name": "x" * 99})])
    assert repr(nbtrain.hparams(tmp_path)).splitlines() == [
        "run    name                          rate  units  loss  status",
        "a                                    0.5   32     2     unknown",
        "b\N{REPLACEMENT CHARACTER}<b>  " + "x" * 27 + "…  0.25               unknown",
    ]


def test_many_runs_and_hyperparameters_are_told_by_their_number(tmp_path: Path) -> None:
    for run in range(70):
        many = {f"rate{number}": run for number in range(20)}
        written(tmp_path / f"run{run:02}" / NAME, [told(many)])
    lines = repr(nbtrain.hparams(tmp_path)).splitlines()
    assert len(lines) == 62
    assert lines[-1] == "… 10 more rows and 12 more columns"


def test_without_hyperparameters_it_says_so(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("loss", 1, 2.0)])
    table = nbtrain.hparams(tmp_path)
    assert repr(table) == f"<no run in {str(tmp_path)!r} has hyperparameters>"
    assert (table.rows, table.hparams, table.metrics) == ([], [], [])


# --- what cannot be read ----------------------------------------------------------


def test_hyperparameters_of_another_version_are_reported_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    written(tmp_path / "a" / NAME, [told({"rate": 0.1})])
    for run, content in (("b", b"\x08\x09"), ("c", b"\xff")):
        odd = told({"rate": 0.2})
        odd.summary.value[0].metadata.plugin_data.content = content
        written(tmp_path / run / NAME, [odd])
    table = nbtrain.hparams(tmp_path)
    assert [row.run for row in table.rows] == ["a"]
    assert table.unreadable.keys() == {"b", "c"}
    assert "Only supports plugin_data version: 0; found: 9" in table.unreadable["b"]


def test_a_status_that_is_none_is_unknown(tmp_path: Path) -> None:
    ended = info(session_end_pb(99))
    written(tmp_path / NAME, [told({"rate": 0.1}), ended])
    (row,) = nbtrain.hparams(tmp_path).rows
    assert (row.hparams, row.status) == ({"rate": 0.1}, "unknown")


def test_a_file_that_has_gone_is_told_and_the_rest_read(tmp_path: Path) -> None:
    paths = [written(tmp_path / run / NAME, [told({"rate": 0.1})]) for run in "ab"]
    table = nbtrain.hparams(tmp_path)
    paths[0].unlink()
    table.refresh()
    assert [row.run for row in table.rows] == ["b"]
    assert table.unreadable["a"] == f"{paths[0]} has gone since it was looked at."


def test_a_byte_changed_anywhere_gives_what_was_told_or_nothing(tmp_path: Path) -> None:
    wanted = {"rate": 0.1, "name": "x"}
    path = written(tmp_path / NAME, [told(wanted), simple("loss", 1, 2.0)])
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        found = [row.hparams for row in nbtrain.hparams(tmp_path).rows]
        assert found == ([wanted] if place >= records(content)[0] else []), place
