"""Training a TF1 graph under a Supervisor, with eager execution on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints import listed
from nbtrain.errors import ArgumentError, BusyError
from nbtrain.states import Phase
from tests.gate import SOON
from tests.models import Count, applied, reached, refused

v1 = tf.compat.v1


def value_of(run: nbtrain.Run, name: str) -> Any:
    """What the latest checkpoint on disk holds."""
    return tf.train.load_checkpoint(run.checkpoints[-1].path).get_tensor(name)


def folder_is_empty() -> bool:
    """Whether nothing was made."""
    return nbtrain.runs() == {} and not Path("runs").exists()


def test_a_graph_is_trained_and_eager_execution_stays_on() -> None:
    count = Count()
    run = nbtrain.supervise(count.train_op, scalars={"loss": count.loss}, steps=50).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.engine == "Supervisor"
    assert run.name == "supervise-1"
    columns = run.scalars["loss"]
    assert columns.steps.tolist() == list(range(1, 51))
    assert columns.values[-1] < columns.values[0] / 2
    assert tf.executing_eagerly()
    assert float(tf.constant(2.0) + 1.0) == 3.0
    assert [checkpoint.step for checkpoint in run.checkpoints] == [50]
    assert value_of(run, "global_step") == 50


def test_a_scalar_may_be_given_by_its_name() -> None:
    count = Count()
    run = nbtrain.supervise(count.train_op, scalars={"loss": "loss:0"}, steps=3).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3]


def test_a_graph_without_scalars_is_trained_too() -> None:
    run = nbtrain.supervise(Count().train_op, steps=3).wait(SOON)
    assert run.status.step == 3
    assert len(run.scalars) == 0


def test_every_step_is_fed() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [])
        total = v1.get_variable("total", initializer=0.0)
        step = v1.train.get_or_create_global_step()
        train_op = tf.group(total.assign_add(x), step.assign_add(1))
    fed = iter([1.0, 2.0, 3.0, 4.0])
    run = nbtrain.supervise(train_op, scalars={"x": x}, feed=lambda: {x: next(fed)}).wait(SOON)
    assert run.status.phase is Phase.FINISHED, "StopIteration of the feed ends the run"
    assert run.scalars["x"].values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert value_of(run, "total") == 10.0
    assert value_of(run, "global_step") == 4


def test_an_exhausted_input_queue_finishes_the_run_with_a_last_checkpoint() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
        step = v1.train.get_or_create_global_step()
        with tf.control_dependencies([x]):
            train_op = step.assign_add(1)
    run = nbtrain.supervise(train_op, scalars={"x": x}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["x"].values.tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    assert value_of(run, "global_step") == 6


def test_an_exhausted_dataset_iterator_finishes_the_run() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.data.make_one_shot_iterator(tf.data.Dataset.range(5)).get_next()
        step = v1.train.get_or_create_global_step()
        with tf.control_dependencies([x]):
            train_op = step.assign_add(1)
    run = nbtrain.supervise(train_op, scalars={"x": x}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["x"].values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_graph_without_a_global_step_is_counted_by_the_run() -> None:
    graph = tf.Graph()
    with graph.as_default():
        train_op = v1.get_variable("total", initializer=0.0).assign_add(1.0)
    run = nbtrain.supervise(train_op, steps=4).wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [4]
    assert value_of(run, "total") == 4.0
    again = nbtrain.supervise(train_op, steps=6, name=run.name).wait(SOON)
    assert again.status.step == 6
    assert value_of(again, "total") == 6.0


def test_a_global_step_that_is_a_resource_variable_is_known_by_its_name() -> None:
    graph = tf.Graph()
    with graph.as_default():
        step = v1.get_variable("global_step", initializer=np.int64(0), trainable=False)
        train_op = step.assign_add(1)
    run = nbtrain.supervise(train_op, steps=3).wait(SOON)
    assert value_of(run, "global_step") == 3
    assert [checkpoint.step for checkpoint in run.checkpoints] == [3]


# --- the user's own Supervisor --------------------------------------------------


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_supervisor_works_beside_eager_execution(where: str, tmp_path: Path) -> None:
    count, steps = Count(), []

    def use() -> None:
        supervisor = nbtrain.Supervisor(
            graph=count.graph, logdir=str(tmp_path), save_model_secs=1, save_summaries_secs=1
        )
        with supervisor.managed_session() as sess:
            while not supervisor.should_stop():
                sess.run(count.train_op)
                steps.append(int(sess.run(count.global_step)))
                if len(steps) >= 20 and tf.train.latest_checkpoint(str(tmp_path)):
                    supervisor.request_stop()  # its timer's thread has saved

    if where == "main":
        use()
    else:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join(SOON)
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) >= 20
    assert list(tmp_path.glob("model.ckpt-*.index"))
    assert tf.executing_eagerly()


def test_a_looper_of_a_supervisor_runs_in_its_graph(tmp_path: Path) -> None:
    count, seen = Count(), []
    supervisor = nbtrain.Supervisor(graph=count.graph, logdir=str(tmp_path), save_model_secs=0)
    looked = threading.Event()

    def look() -> None:
        seen.append((v1.get_default_graph(), tf.executing_eagerly()))
        looked.set()

    with supervisor.managed_session():
        supervisor.loop(0.01, look)
        assert looked.wait(SOON)
    assert set(seen) == {(count.graph, False)}


def test_a_run_uses_the_users_supervisor_its_folder_and_its_saver(tmp_path: Path) -> None:
    count = Count()
    supervisor = nbtrain.Supervisor(graph=count.graph, logdir=str(tmp_path / "mine"))
    run = nbtrain.supervise(count.train_op, supervisor=supervisor, steps=5).wait(SOON)
    assert run.logdir == tmp_path / "mine"
    assert run.name == "mine"
    assert run.coord is supervisor.coord
    assert [Path(checkpoint.path) for checkpoint in run.checkpoints] == [
        tmp_path / "mine" / "model.ckpt-5"
    ]


def test_a_supervisor_without_a_folder_saves_nothing() -> None:
    count = Count()
    supervisor = nbtrain.Supervisor(graph=count.graph, logdir=None)
    run = nbtrain.supervise(count.train_op, supervisor=supervisor)
    assert "nothing to save" in refused(run.save()).text
    run.request_stop()
    run.wait(SOON)
    assert run.checkpoints == ()


def test_the_timer_of_a_supervisor_is_left_to_the_run(tmp_path: Path) -> None:
    count = Count()
    supervisor = nbtrain.Supervisor(graph=count.graph, logdir=str(tmp_path), save_model_secs=1)
    run = nbtrain.supervise(count.train_op, supervisor=supervisor, name="mine")
    applied(run.pause())
    names = {thread.name for thread in threading.enumerate()}
    assert not any("Checkpoint" in type(t).__name__ for t in threading.enumerate()), names
    run.request_stop()
    run.wait(SOON)
    assert supervisor.save_model_secs == 1


def test_a_stop_while_the_supervisor_prepares_is_kept() -> None:
    count = Count()
    entered, go_on = threading.Event(), threading.Event()

    class Slow(nbtrain.Supervisor):
        def prepare_or_wait_for_session(self, *args: Any, **kwargs: Any) -> Any:
            entered.set()
            assert go_on.wait(SOON)
            return super().prepare_or_wait_for_session(*args, **kwargs)

    run = nbtrain.supervise(count.train_op, supervisor=Slow(count.graph, logdir="mine"))
    assert entered.wait(SOON)
    receipt = run.request_stop()
    assert run.status.phase is Phase.STOPPING
    go_on.set()
    applied(receipt)
    run.wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 0)


def test_an_empty_graph_is_refused_by_the_supervisor() -> None:
    with pytest.raises(
        ArgumentError, match="is empty: pass graph=, or build the Supervisor inside"
    ):
        nbtrain.Supervisor()
    with pytest.raises(ArgumentError, match="is empty"):
        nbtrain.Supervisor(tf.Graph())


def test_a_run_can_be_started_twice_on_one_graph_but_not_at_once() -> None:
    count = Count()
    run = nbtrain.supervise(count.train_op, name="first")
    with pytest.raises(BusyError, match="'first' is still training this model"):
        nbtrain.supervise(count.train_op, name="second")
    run.request_stop()
    run.wait(SOON)
    second = nbtrain.supervise(count.train_op, name="second", steps=3).wait(SOON)
    assert second.status.step == 3


# --- steering -------------------------------------------------------------------


def test_a_graph_is_paused_saved_restored_and_resumed() -> None:
    count = Count()
    run = nbtrain.supervise(count.train_op, scalars={"loss": count.loss}, keep=None)
    step = applied(run.save()).step
    assert step == run.checkpoints[-1].step == value_of(run, "global_step")
    reached(run, lambda run: run.status.step > step + 3)
    outcome = applied(run.restore())
    assert outcome.text == (
        f"restored model.ckpt-{step}: 3 variables matched, 1 optimizer slot among them"
    )
    applied(run.pause())
    applied(run.restore(step))
    assert run.status.step == step
    applied(run.resume())
    reached(run, lambda run: run.status.step > step)
    run.request_stop()
    run.wait(SOON)
    assert value_of(run, "global_step") == run.status.step == run.checkpoints[-1].step
    assert max(run.scalars["loss"].segments) >= 1


def test_a_graph_run_goes_on_from_the_folders_latest_checkpoint() -> None:
    first = Count()
    nbtrain.supervise(first.train_op, steps=5, name="graph").wait(SOON)
    second = Count()
    run = nbtrain.supervise(
        second.train_op, scalars={"loss": second.loss}, steps=8, name="graph"
    ).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [6, 7, 8]
    assert "Goes on from model.ckpt-5: 3 variables matched, 1 optimizer slot" in (
        run.status.notice or ""
    )
    whole = Count()
    other = nbtrain.supervise(whole.train_op, steps=8, name="whole").wait(SOON)
    for name in ("weight", "weight/Momentum", "global_step"):
        np.testing.assert_array_equal(value_of(run, name), value_of(other, name))


def test_a_run_of_a_graph_is_started_again_and_goes_on() -> None:
    count = Count()
    run = nbtrain.supervise(count.train_op)
    reached(run, lambda run: run.status.step > 2)
    run.request_stop()
    run.wait(SOON)
    step = run.status.step
    run.start()
    reached(run, lambda run: run.status.step > step)
    run.request_stop()
    run.wait(SOON)
    assert value_of(run, "global_step") == run.status.step > step


def test_the_newest_checkpoints_of_a_graph_are_kept() -> None:
    run = nbtrain.supervise(Count().train_op, steps=50, save_steps=10, keep=2).wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [40, 50]
    assert [checkpoint.step for checkpoint in listed(run.logdir / "checkpoints")] == [40, 50]


def test_another_graphs_checkpoint_is_refused_by_the_names_it_lacks_and_nothing_changes() -> None:
    other = nbtrain.supervise(Count(name="other").train_op, steps=5, name="other").wait(SOON)
    count = Count()
    run = nbtrain.supervise(count.train_op, name="mine")
    applied(run.pause())
    step = applied(run.save()).step
    before = value_of(run, "weight")
    outcome = refused(run.restore(other.checkpoints[-1].path))
    assert "does not fit this graph" in outcome.text
    assert "weight, weight/Momentum" in outcome.text
    assert "Nothing was restored." in outcome.text
    applied(run.save())
    np.testing.assert_array_equal(value_of(run, "weight"), before)
    assert run.status.step == step
    run.request_stop()
    run.wait(SOON)


def test_a_checkpoint_of_other_shapes_is_refused() -> None:
    other = nbtrain.supervise(Count(size=3).train_op, steps=5, name="other").wait(SOON)
    run = nbtrain.supervise(Count(size=2).train_op, name="mine")
    outcome = refused(run.restore(other.checkpoints[-1].path))
    assert "does not fit this graph; missing there, or of another shape: weight" in outcome.text
    run.request_stop()
    run.wait(SOON)


@pytest.mark.parametrize("made", [{"name": "other"}, {"size": 3}])
def test_a_folder_of_another_graph_fails_the_run_by_names_and_is_kept(made: Any) -> None:
    nbtrain.supervise(Count(**made).train_op, steps=5, name="graph").wait(SOON)
    run = nbtrain.supervise(Count().train_op, steps=9, name="graph")
    with pytest.raises(Exception, match="weight"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert [checkpoint.step for checkpoint in listed(run.logdir / "checkpoints")] == [5]


def test_an_error_of_a_graph_step_fails_the_run_with_a_last_checkpoint() -> None:
    count = Count()
    fed = iter([1.0, 1.0])

    def feed() -> dict[Any, Any]:
        if next(fed, None) is None:
            raise ValueError("the user's own mistake")
        return {}

    run = nbtrain.supervise(count.train_op, feed=feed)
    with pytest.raises(ValueError, match="own mistake"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert value_of(run, "global_step") == 2


def test_what_the_session_cannot_run_fails_the_run_in_tensorflows_words() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="pixels")
        train_op = v1.get_variable("total", initializer=0.0).assign_add(x)
    run = nbtrain.supervise(train_op)
    with pytest.raises(tf.errors.InvalidArgumentError, match="pixels"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


# --- refusals -------------------------------------------------------------------


def test_a_graph_of_its_own_for_each_is_refused() -> None:
    supervisor = nbtrain.Supervisor(graph=Count().graph, logdir=None)
    with pytest.raises(ArgumentError, match="train_op and supervisor belong to two graphs"):
        nbtrain.supervise(Count().train_op, supervisor=supervisor)
    assert folder_is_empty()


@pytest.mark.parametrize(
    ("train_op", "message"),
    [
        (lambda: tf.constant(1.0), "train_op is 'an eager tensor': give an operation of a graph"),
        (lambda: "train", "train_op is 'train': give an operation"),
        (lambda: None, "train_op is None: give an operation"),
        (lambda: tf.Variable(1.0), "train_op is .*: give an operation"),
    ],
)
def test_what_is_no_operation_of_a_graph_is_refused(train_op: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        nbtrain.supervise(train_op())
    assert folder_is_empty()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("vector", r"scalars\['loss'\] has the shape \(1,\), and a scalar was expected: reduce it"),
        ("nowhere:0", r"scalars\['loss'\]='nowhere:0' is no tensor of the graph"),
        ("loss", r"scalars\['loss'\]='loss' is no tensor of the graph .*such as 'loss:0'"),
        (3.5, r"scalars\['loss'\]=3\.5 is no tensor of the graph"),
        (None, r"scalars\['loss'\]=None is no tensor of the graph"),
    ],
)
def test_a_scalar_that_cannot_be_fetched_is_refused(given: Any, message: str) -> None:
    count = Count()
    with pytest.raises(ArgumentError, match=message):
        nbtrain.supervise(
            count.train_op, scalars={"loss": count.vector if given == "vector" else given}
        )
    assert folder_is_empty()


def test_a_scalar_of_another_graph_is_refused() -> None:
    with pytest.raises(ArgumentError, match="is no tensor of the graph"):
        nbtrain.supervise(Count().train_op, scalars={"loss": Count().loss})
    assert folder_is_empty()


def test_tensorflows_own_supervisor_is_refused() -> None:
    count = Count()
    with count.graph.as_default():
        own = v1.train.Supervisor(graph=count.graph, logdir=None)
    with pytest.raises(ArgumentError, match=r"make it with nbtrain\.Supervisor\("):
        nbtrain.supervise(count.train_op, supervisor=own)
    assert folder_is_empty()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feed": {"x": 1}}, "feed={'x': 1} cannot be called: give a function"),
        ({"steps": -1}, "steps=-1"),
        ({"keep": 0}, "keep=0"),
        ({"scalars": {"": "loss:0"}}, "The tag '' is no name"),
        ({"name": "a/b"}, "name='a/b' cannot name a folder"),
    ],
)
def test_a_bad_argument_is_refused_before_anything_starts(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        nbtrain.supervise(Count().train_op, **options)
    assert folder_is_empty()


def test_a_train_op_that_does_not_count_is_found_at_its_first_step() -> None:
    run = nbtrain.supervise(Count(counting=False).train_op)
    with pytest.raises(ArgumentError, match=r"left global_step at 0: pass global_step= to"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert run.status.step == 0


def test_a_saver_of_some_variables_restores_those(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        kept = v1.get_variable("kept", initializer=0.0)
        other = v1.get_variable("other", initializer=0.0)
        global_step = v1.train.get_or_create_global_step()
        train_op = tf.group(kept.assign_add(1.0), other.assign_add(1.0), global_step.assign_add(1))
        saver = v1.train.Saver([kept, global_step])
        supervisor = nbtrain.Supervisor(graph, logdir=str(tmp_path), saver=saver, summary_op=None)
    run = nbtrain.supervise(train_op, supervisor=supervisor, start=False, save_steps=5).start()
    reached(run, lambda run: bool(run.checkpoints))
    proof = applied(run.restore()).text
    run.request_stop()
    run.wait(SOON)
    assert "2 variables matched" in proof
    assert "not in it" not in proof
