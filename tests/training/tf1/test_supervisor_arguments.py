"""The Supervisor's arguments, properties and names: those of TensorFlow's own class."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from tests.gate import eventually
from tests.supervised import Counting, in_background, kinds, services

v1 = tf.compat.v1
THEIRS = v1.train.Supervisor
ARGUMENTS = tuple(inspect.signature(inspect.unwrap(THEIRS.__init__)).parameters)[1:]
PROPERTIES = sorted(name for name, value in vars(THEIRS).items() if isinstance(value, property))


def made(kind: type[Any], graph: tf.Graph, **kwargs: Any) -> Any:
    """A Supervisor of either class, where TensorFlow's can be made."""
    with graph.as_default():
        return kind(graph=graph, **kwargs)


def own_ops(graph: tf.Graph) -> dict[str, Any]:
    """Every argument given, each with something of its own."""
    with graph.as_default():
        nothing = tf.constant([], tf.string)
        return {
            "ready_op": tf.identity(nothing, name="ready"),
            "ready_for_local_init_op": tf.identity(nothing, name="ready_for_local"),
            "is_chief": True,
            "init_op": v1.global_variables_initializer(),
            "init_feed_dict": {nothing: []},
            "local_init_op": tf.no_op(name="local_init"),
            "logdir": "here",
            "summary_op": v1.summary.scalar("own", 1.0),
            "saver": v1.train.Saver(),
            "global_step": v1.train.get_global_step(),
            "save_summaries_secs": 7,
            "save_model_secs": 8,
            "recovery_wait_secs": 9,
            "stop_grace_secs": 10,
            "checkpoint_basename": "mine",
            "session_manager": v1.train.SessionManager(),
            "summary_writer": v1.summary.FileWriter("there"),
            "init_fn": print,
            "local_init_run_options": v1.RunOptions(trace_level=0),
        }


def test_there_are_twenty_arguments_and_fourteen_properties() -> None:
    assert (len(ARGUMENTS), len(PROPERTIES)) == (20, 14)


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_is_what_was_given(name: str) -> None:
    count = Counting()
    given = own_ops(count.graph)
    theirs = made(THEIRS, count.graph, **given)
    ours = made(nbtrain.Supervisor, count.graph, **given)
    if name == "coord":
        assert isinstance(ours.coord, tf.train.Coordinator)
        return
    assert getattr(ours, name) is getattr(theirs, name) or getattr(ours, name) == getattr(
        theirs, name
    )


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("chief", [True, False], ids=["chief", "worker"])
def test_a_property_has_the_default_of_tensorflow(name: str, chief: bool) -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.device("/cpu:0"):
        v1.train.get_or_create_global_step()
        v1.summary.scalar("one", 1.0)
    defaults = {"logdir": "here", "is_chief": chief}
    theirs = made(THEIRS, graph, **defaults)
    ours = made(nbtrain.Supervisor, graph, **defaults)
    mine, other = getattr(ours, name), getattr(theirs, name)
    if name in ("coord", "session_manager", "summary_writer"):  # each has one of its own
        assert isinstance(mine, type(other))
    else:
        assert mine is other or mine == other
    if theirs.summary_writer:
        theirs.summary_writer.close()
        ours.summary_writer.close()


def test_every_argument_may_be_given_by_position() -> None:
    count = Counting()
    given = own_ops(count.graph)
    assert list(given) == list(ARGUMENTS[1:])
    sv = nbtrain.Supervisor(count.graph, *given.values())
    assert sv.graph is count.graph
    assert (sv.save_path, sv.save_model_secs) == ("here/mine", 8)
    assert sv.summary_writer is given["summary_writer"]
    assert sv.session_manager is given["session_manager"]


def test_the_default_graph_of_the_calling_thread_is_taken() -> None:
    count = Counting()

    def make() -> tf.Graph:
        with count.graph.as_default():
            return nbtrain.Supervisor().graph

    assert in_background(make) is count.graph


@pytest.mark.parametrize("name", ["ready_op", "init_op", "local_init_op", "saver", "summary_op"])
def test_an_explicit_none_is_not_replaced_by_the_default(name: str) -> None:
    assert getattr(nbtrain.Supervisor(Counting().graph, **{name: None}), f"_{name}") is None


def test_a_supervisor_without_a_global_step_counts_nothing(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, global_step=None, save_model_secs=600)
    count.trained(sv, 3)
    assert sv.global_step is None
    assert [path.name for path in tmp_path.glob("*.index")] == ["model.ckpt.index"]
    assert "START" not in kinds(tmp_path)


def test_the_options_of_the_local_init_op_reach_its_run() -> None:
    options = v1.RunOptions(timeout_in_ms=50)
    graph = tf.Graph()
    with graph.as_default():
        never = tf.queue.FIFOQueue(1, tf.int32).dequeue()
    sv = nbtrain.Supervisor(graph, local_init_op=never, local_init_run_options=options)
    with pytest.raises(tf.errors.DeadlineExceededError), sv.managed_session():
        pass


OLD = {
    "PrepareSession": "prepare_or_wait_for_session",
    "StartQueueRunners": "start_queue_runners",
    "StartStandardServices": "start_standard_services",
    "Stop": "stop",
    "RequestStop": "request_stop",
    "Loop": "loop",
    "ShouldStop": "should_stop",
    "StopOnException": "stop_on_exception",
    "WaitForStop": "wait_for_stop",
    "SummaryComputed": "summary_computed",
}


def test_no_old_spelling_is_missing() -> None:
    assert {name for name in vars(THEIRS) if name[0].isupper()} - {"USE_DEFAULT"} == set(OLD)


@pytest.mark.parametrize("old", OLD)
def test_an_old_spelling_is_the_method_of_this_class(old: str) -> None:
    assert getattr(nbtrain.Supervisor, old) is getattr(nbtrain.Supervisor, OLD[old])


# --- what is refused -------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "text"),
    [(None, "The default graph of this thread is empty: pass graph="), ("a graph", "no tf.Graph")],
)
def test_an_argument_that_is_not_a_graph_raises(graph: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=text):
        nbtrain.Supervisor(graph, logdir=str(tmp_path / "logdir"))
    assert not (tmp_path / "logdir").exists()


@pytest.mark.parametrize("kind", ["usual", "resource"])
def test_a_finalized_graph_is_refused_with_what_to_do(kind: str, tmp_path: Path) -> None:
    count = Counting(kind)
    count.graph.finalize()
    with pytest.raises(ArgumentError, match=r"leave graph\.finalize\(\) out: training does it"):
        nbtrain.Supervisor(count.graph, logdir=str(tmp_path / "logdir"))
    assert not (tmp_path / "logdir").exists()


def test_a_graph_that_an_earlier_supervisor_finalized_has_all_it_takes(tmp_path: Path) -> None:
    count = Counting("resource")
    count.supervisor(tmp_path)
    sv = count.supervisor(tmp_path)
    count.trained(sv, 2)
    assert count.graph.finalized


@pytest.mark.parametrize(
    ("below", "why"), [("", "a file of this name"), ("logdir", "one of the folders above")]
)
def test_a_logdir_that_is_a_file_is_refused(below: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("something else")
    with pytest.raises(ArgumentError, match=f"The folder .*file.* cannot be written: .*{why}"):
        nbtrain.Supervisor(Counting().graph, logdir=str(tmp_path / "file" / below))
    assert (tmp_path / "file").read_text() == "something else"


def test_a_refused_supervisor_leaves_nothing_behind(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        ready = tf.constant([], tf.string)
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        nbtrain.Supervisor(
            count.graph,
            logdir=str(tmp_path / "logdir"),
            local_init_op=None,
            ready_for_local_init_op=ready,
        )
    assert not (tmp_path / "logdir").exists()


@pytest.mark.parametrize("kind", ["usual", "ref"])
def test_the_variables_of_a_worker_need_a_device(kind: str) -> None:
    with pytest.raises(ValueError, match="all Variables must have their device set"):
        nbtrain.Supervisor(Counting(kind).graph, is_chief=False)


def test_a_worker_starts_no_standard_services() -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.device("/cpu:0"):
        v1.train.get_or_create_global_step()
    sv = nbtrain.Supervisor(graph, is_chief=False)
    with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
        sv.start_standard_services(v1.Session(graph=graph))


def test_a_summary_needs_a_writer() -> None:
    sv = Counting().supervisor(None)
    with pytest.raises(RuntimeError, match="requires a summary writer"), sv.managed_session() as s:
        sv.summary_computed(s, b"")


@pytest.mark.parametrize("name", ["save_model_steps", "save_summaries_steps"])
def test_without_a_logdir_what_is_to_be_saved_by_steps_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match=rf"{name}=10, and without a logdir .*: give logdir="):
        Counting().supervisor(None, **{name: 10})


def test_without_a_logdir_the_saver_of_a_supervisor_says_what_is_missing() -> None:
    sv = Counting().supervisor(None)
    with sv.managed_session() as sess, pytest.raises(ArgumentError, match="give logdir= to nbtr"):
        sv.saver.save(sess, sv.save_path)


def test_without_a_logdir_nothing_is_saved_and_nothing_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    sv = count.supervisor(None, save_model_secs=1, save_summaries_secs=1)
    assert sv.save_path is None
    with sv.managed_session() as sess:
        assert "without it no checkpoint and no summary is saved" in caplog.text
        assert sv.start_standard_services(sess) is None
        sess.run(count.train_op)
        assert services() == []
    assert list(tmp_path.iterdir()) == []


def test_eager_execution_stays_on_and_the_default_graph_as_it_was() -> None:
    count = Counting()
    sv, before = count.supervisor(None), v1.get_default_graph()
    with sv.managed_session():
        assert v1.get_default_graph() is count.graph
    assert v1.get_default_graph() is before
    assert tf.executing_eagerly()
    assert int(tf.constant(1) + 1) == 2
    assert eventually(lambda: not services())
