"""Training a TF1 graph under a Supervisor, with eager execution on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.commands import Pause, Try
from nbtrain.core.errors import ArgumentError, BusyError, CheckpointError
from nbtrain.core.states import Phase
from nbtrain.run.output.tensorflow_log import hushed
from tests.gate import SOON
from tests.models import Count, applied, reached, refused
from tests.room import no_room
from tests.supervised import services

v1 = tf.compat.v1


def value_of(run: nbtrain.Run, name: str) -> Any:
    """Returns the contents of the latest checkpoint on disk."""
    return tf.train.load_checkpoint(run.checkpoints[-1].path).get_tensor(name)


def journal(run: nbtrain.Run) -> str:
    """Returns the lines of the run's journal."""
    return (run.logdir / "steering.jsonl").read_text(encoding="utf-8")


def folder_is_empty() -> bool:
    """Returns whether nothing was created."""
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


def test_a_feed_may_read_a_dataset_and_ends_the_run_with_it() -> None:
    batches = tf.data.Dataset.range(4).as_numpy_iterator()
    with tf.Graph().as_default():
        x = v1.placeholder(tf.int64, [])
        step = v1.train.get_or_create_global_step()
        train_op = tf.group(step.assign_add(1))
    run = nbtrain.supervise(
        train_op, scalars={"x": x}, feed=lambda: {x: next(batches)}, save_steps=2
    ).wait(SOON)
    assert run.scalars["x"].values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert [checkpoint.step for checkpoint in run.checkpoints] == [2, 4]


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


@pytest.mark.parametrize("cadence", [{"save_steps": 10}, {"save_secs": 60.0}])
@pytest.mark.parametrize("lacks", ["logdir", "saver"])
def test_a_supervisor_that_cannot_save_is_asked_for_no_checkpoints(
    lacks: str, cadence: dict[str, Any], tmp_path: Path
) -> None:
    count = Count()
    given: dict[str, Any] = {"logdir": str(tmp_path), lacks: None}
    supervisor = nbtrain.Supervisor(count.graph, **given)
    with pytest.raises(ArgumentError, match=rf"the supervisor has no {lacks}, .*: give {lacks}="):
        nbtrain.supervise(count.train_op, supervisor=supervisor, **cadence)
    assert folder_is_empty()


def test_a_saver_of_the_old_format_is_told_of_and_the_training_goes_on(tmp_path: Path) -> None:
    count = Count()
    with count.graph.as_default():
        saver = v1.train.Saver(write_version=v1.train.SaverDef.V1)
    supervisor = nbtrain.Supervisor(count.graph, logdir=str(tmp_path), saver=saver)
    run = nbtrain.supervise(count.train_op, supervisor=supervisor, steps=5, save_steps=2)
    assert run.wait(SOON).status.step == 5
    assert "No checkpoint at step 5: The saved checkpoint cannot be found in" in str(
        run.status.message
    )


def test_a_trial_whose_begin_a_saver_of_the_old_format_wrote_is_refused(tmp_path: Path) -> None:
    count = Count()
    with count.graph.as_default():
        saver = v1.train.Saver(write_version=v1.train.SaverDef.V1)
        rate = v1.get_variable("rate", initializer=1.0)
    supervisor = nbtrain.Supervisor(count.graph, logdir=str(tmp_path), saver=saver)
    run = nbtrain.supervise(
        count.train_op,
        scalars={"loss": rate},
        supervisor=supervisor,
        hyperparameters={"rate": rate},
        start=False,
    )
    trial = run.post(Try({"rate": 0.5}, 10, "loss"), at=5)
    run.start()
    assert "its saver writes TensorFlow's old format" in refused(trial).text
    assert run.hyperparameters["rate"] == 1.0
    run.request_stop()
    run.wait(SOON)


def test_the_timer_of_a_supervisor_is_left_to_the_run(tmp_path: Path) -> None:
    count = Count()
    supervisor = nbtrain.Supervisor(graph=count.graph, logdir=str(tmp_path), save_model_secs=1)
    run = nbtrain.supervise(count.train_op, supervisor=supervisor, name="mine")
    applied(run.pause())
    assert "nbtrain checkpoints" not in services()
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
    assert outcome.text == f"restored model.ckpt-{step}: 3 variables matched"
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
    assert "Continues from model.ckpt-5: 3 variables matched" in (run.status.notice or "")
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


@pytest.mark.parametrize("train", [nbtrain.supervise, nbtrain.monitor])
def test_keep_none_keeps_and_lists_all_checkpoints_of_a_graph(train: Any) -> None:
    run = train(Count().train_op, steps=7, save_steps=1, keep=None).wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [1, 2, 3, 4, 5, 6, 7]


def test_a_second_run_of_a_graph_leaves_the_first_ones_checkpoints_and_keeps_its_own() -> None:
    count = Count()
    first = nbtrain.supervise(count.train_op, steps=4, save_steps=1, keep=2).wait(SOON)
    second = nbtrain.supervise(count.train_op, steps=5, save_steps=1, keep=3).wait(SOON)
    assert [checkpoint.step for checkpoint in listed(first.logdir / "checkpoints")] == [3, 4]
    assert [checkpoint.step for checkpoint in second.checkpoints] == [3, 4, 5]


def test_a_saver_that_reshapes_goes_on_from_a_checkpoint_of_another_shape() -> None:
    def trained(shape: list[int], steps: int, **arguments: Any) -> nbtrain.Run:
        with tf.Graph().as_default() as graph:
            weight = v1.get_variable("weight", shape)
            step = v1.train.get_or_create_global_step()
            saver = v1.train.Saver([weight, step], **arguments)
            graph.add_to_collection(v1.GraphKeys.SAVERS, saver)
            train_op = step.assign_add(1)
        return nbtrain.supervise(train_op, steps=steps, name="graph").wait(SOON)

    trained([2, 3], 3)
    again = trained([6], 5, reshape=True)
    assert [checkpoint.step for checkpoint in again.checkpoints] == [3, 5]


def test_a_graph_that_was_imported_with_its_saver_goes_on_and_is_restored() -> None:
    count = Count()
    with count.graph.as_default():
        saver = v1.train.Saver()
        meta = v1.train.export_meta_graph(saver_def=saver.as_saver_def())
    with tf.Graph().as_default() as graph:
        imported = v1.train.import_meta_graph(meta)
        graph.add_to_collection(v1.GraphKeys.SAVERS, imported)
        train_op = graph.get_operation_by_name(count.train_op.name)
    nbtrain.supervise(train_op, steps=3, name="graph").wait(SOON)
    run = nbtrain.supervise(train_op, name="graph")
    applied(run.restore(3))
    run.request_stop()
    run.wait(SOON)
    assert run.checkpoints[-1].step == value_of(run, "global_step") == run.status.step
    assert run.status.message is None, "nothing is said to be left out"


def test_another_graphs_checkpoint_is_refused_by_the_names_it_lacks_and_nothing_changes() -> None:
    other = nbtrain.supervise(Count(name="other").train_op, steps=5, name="other").wait(SOON)
    count = Count()
    run = nbtrain.supervise(count.train_op, name="mine")
    applied(run.pause())
    step = applied(run.save()).step
    before = value_of(run, "weight")
    outcome = refused(run.restore(other.checkpoints[-1].path))
    assert "model.ckpt-5 does not fit what is trained here: " in outcome.text
    assert "weight is not there, weight/Momentum is not there" in outcome.text
    assert "Nothing was restored. To continue from it, build the model as it was; " in outcome.text
    applied(run.save())
    np.testing.assert_array_equal(value_of(run, "weight"), before)
    assert run.status.step == step
    run.request_stop()
    run.wait(SOON)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"name": "other"}, "is not there"),
        ({"size": 3}, r"has the shape \(3,\) there and \(1,\) here"),
    ],
)
def test_a_folder_of_another_graph_fails_the_run_by_names_and_is_kept(made: Any, why: str) -> None:
    nbtrain.supervise(Count(**made).train_op, steps=5, name="graph").wait(SOON)
    run = nbtrain.supervise(Count().train_op, steps=9, name="graph")
    with pytest.raises(CheckpointError, match=f"weight {why}, weight/Momentum {why}") as e:
        run.wait(SOON)
    assert "for a run of its own, from the values that the model holds now" in str(e.value)
    assert run.status.phase is Phase.FAILED
    assert [checkpoint.step for checkpoint in listed(run.logdir / "checkpoints")] == [5]


@pytest.mark.parametrize("broken", ["model.ckpt-5.index", "model.ckpt-5.data-00000-of-00001"])
def test_a_folder_whose_latest_checkpoint_cannot_be_read_fails_the_run_in_words(
    broken: str,
) -> None:
    first = nbtrain.supervise(Count().train_op, steps=5, name="graph").wait(SOON)
    (first.logdir / "checkpoints" / broken).write_bytes(b"half")
    run = nbtrain.supervise(Count().train_op, steps=9, name="graph")
    with pytest.raises(CheckpointError, match=r"model\.ckpt-5 cannot be read: .*; delete "):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


@pytest.mark.parametrize("make", [nbtrain.supervise, nbtrain.monitor])
def test_a_graph_continues_from_the_checkpoints_beside_an_empty_checkpoint_file(
    make: Callable[..., nbtrain.Run],
) -> None:
    first = make(Count().train_op, steps=5, name="graph").wait(SOON)
    file = first.logdir / "checkpoints" / "checkpoint"
    file.write_bytes(b"")
    run = make(Count().train_op, steps=9, name="graph", start=False)
    paused = run.post(Pause(), at=6)
    run.start()
    applied(paused)
    assert str(run.status.message).startswith(f"{file} cannot be read, as after a power cut. ")
    assert "Continues from model.ckpt-5:" in str(run.status.notice)
    applied(run.resume())
    assert run.wait(SOON).status.step == 9


def test_a_supervisor_by_itself_goes_on_from_them_too(tmp_path: Path) -> None:
    begun: list[int] = []
    for steps in (3, 5):
        graph = Count()
        supervisor = nbtrain.Supervisor(graph.graph, logdir=str(tmp_path))
        with supervisor.managed_session() as sess:
            begun.append(int(sess.run(graph.global_step)))
            while sess.run(graph.global_step) < steps:
                sess.run(graph.train_op)
        (tmp_path / "checkpoint").write_bytes(b"")
    assert begun == [0, 3]


def test_a_run_continues_from_the_checkpoint_before_a_lost_one() -> None:
    first = nbtrain.supervise(Count().train_op, steps=6, save_steps=3, name="graph").wait(SOON)
    for path in (first.logdir / "checkpoints").glob("model.ckpt-6.*"):
        path.unlink()
    run = nbtrain.supervise(Count().train_op, steps=9, name="graph", save_secs=None).wait(SOON)
    assert "model.ckpt-3: " in journal(run)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [3, 9]


@pytest.mark.parametrize("own", [False, True])
def test_a_run_in_a_moved_folder_continues(own: bool) -> None:
    """Also where the user's own Saver has written absolute paths."""

    def trained(folder: str, steps: int) -> nbtrain.Run:
        count = Count()
        if not own:
            return nbtrain.supervise(count.train_op, logdir=folder, steps=steps).wait(SOON)
        path = str(Path(folder).absolute())
        supervisor = nbtrain.Supervisor(count.graph, logdir=path, summary_op=None)
        return nbtrain.supervise(count.train_op, supervisor=supervisor, steps=steps).wait(SOON)

    trained("runs/a", 5)
    Path("runs/a").rename("runs/b")
    run = trained("runs/b", 8)
    assert "model.ckpt-5: 3 variables matched" in journal(run)
    folder = Path("runs/b" if own else "runs/b/checkpoints").absolute()
    assert [checkpoint.path for checkpoint in run.checkpoints] == [
        str(folder / "model.ckpt-5"),
        str(folder / "model.ckpt-8"),
    ]
    assert not Path("runs/a").exists()


@pytest.mark.parametrize("train", [nbtrain.supervise, nbtrain.monitor])
@pytest.mark.parametrize("stands", ["checkpoints", "a file"])
def test_a_graph_that_cannot_be_saved_says_so_and_goes_on(stands: str, train: Any) -> None:
    run = train(Count().train_op, save_secs=None)
    folder = run.logdir / "checkpoints"
    applied(run.save())
    applied(run.pause())
    folder.rename("elsewhere")
    if stands == "a file":
        folder.write_text("a file")
        assert refused(run.save()).text == (
            f"{folder} cannot be written: there is a file where a folder should be. Make room or "
            "mend the folder, then save again."
        )
        folder.unlink()
    applied(run.save())  # into a folder that is made again
    run.request_stop()
    run.wait(SOON)
    assert folder.is_dir()


@pytest.mark.parametrize("saver", ["whole", "sharded"])
def test_a_write_of_a_graph_that_the_system_refuses_is_refused_in_its_words_and_leaves_nothing(
    saver: str, tmp_path: Path
) -> None:
    count = Count(size=10_000)
    with count.graph.as_default():
        own = v1.train.Saver(sharded=saver == "sharded")
        v1.add_to_collection("savers", own)
    run = nbtrain.supervise(count.train_op, save_secs=None)
    applied(run.pause())
    with no_room(10_000):
        text = refused(run.save()).text
    refusal = "File too large. Make room or mend the folder, then save again."
    assert text == f"{tmp_path}/runs/supervise-1/checkpoints cannot be written: {refusal}"
    assert list(run.logdir.glob("checkpoints/model*")) == []
    run.request_stop()
    assert len(run.wait(SOON).checkpoints) == 1


def test_messages_shown_in_the_panel_are_not_printed_by_tensorflow_too() -> None:
    told: list[str] = []

    class CheckpointPolicy(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    logger, policy = tf.get_logger(), CheckpointPolicy()
    level = logger.level
    logger.addHandler(policy)
    logger.setLevel(logging.INFO)  # as in a notebook
    try:
        for steps in (5, 8):
            run = nbtrain.supervise(Count().train_op, steps=steps, name="graph").wait(SOON)
        assert run.status.step == 8
        assert told == []
        with hushed():
            logger.warning("a warning")
            other = threading.Thread(target=logger.info, args=("of another thread",))
            other.start()
            other.join(SOON)
        logger.info("the user's own")
        assert told == ["a warning", "of another thread", "the user's own"]
        assert logger.filters == []
    finally:
        logger.removeHandler(policy)
        logger.setLevel(level)


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


def test_an_operation_that_the_session_cannot_run_fails_the_run_with_tensorflows_error() -> None:
    run = fed_with(lambda x: lambda: {x: [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor pixels:0"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


def fed_with(feed: Any, train: Any = nbtrain.supervise) -> Any:
    """A run of a graph with a placeholder of two pixels, and a feed made for that."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="pixels")
        train_op = v1.get_variable("total", initializer=tf.zeros([2])).assign_add(x)
    return train(train_op, feed=feed(x))


@pytest.mark.parametrize("train", [nbtrain.supervise, nbtrain.monitor])
@pytest.mark.parametrize(
    ("feed", "kind", "message"),
    [
        (None, tf.errors.InvalidArgumentError, "must feed a value for placeholder tensor 'pixels'"),
        (lambda: {"lost:0": [1.0, 2.0]}, TypeError, "feed_dict key as Tensor: The name 'lost:0'"),
    ],
)
def test_a_graph_that_is_fed_wrongly_fails_with_tensorflows_error(
    feed: Any, kind: type[Exception], message: str, train: Any
) -> None:
    run = fed_with(lambda _: feed, train)
    with pytest.raises(kind, match=message):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert message in str(run.status.failure)


# --- refusals -------------------------------------------------------------------


def test_a_graph_of_its_own_for_each_is_refused() -> None:
    supervisor = nbtrain.Supervisor(graph=Count().graph, logdir=None)
    with pytest.raises(ArgumentError, match="train_op and supervisor belong to two graphs"):
        nbtrain.supervise(Count().train_op, supervisor=supervisor)
    assert folder_is_empty()


def no_variables() -> Any:
    """An operation that changes nothing."""
    with tf.Graph().as_default():
        return tf.constant(1.0)


@pytest.mark.parametrize(
    ("train_op", "message"),
    [
        (lambda: tf.constant(1.0), "train_op is 'an eager tensor': give an operation of a graph"),
        (lambda: "train", "train_op is 'train': give an operation"),
        (lambda: None, "train_op is None: give an operation"),
        (lambda: tf.Variable(1.0), "train_op is .*: give an operation"),
        (lambda: [Count().train_op], r"train_op is \[.*: give .*tf\.group\(\.\.\.\) makes one of"),
        (lambda: Count().weight, "train_op is the variable 'weight', and running that trains noth"),
        (no_variables, "The graph of train_op has no variables"),
    ],
)
def test_an_argument_that_is_not_a_graph_operation_raises(train_op: Any, message: str) -> None:
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
    other = Count()
    for given in (other.loss, other.weight):
        with pytest.raises(ArgumentError, match=r"is no tensor of the graph .*not an element of"):
            nbtrain.supervise(Count().train_op, scalars={"loss": given})
    assert folder_is_empty()


def test_tensorflows_own_supervisor_is_refused() -> None:
    count = Count()
    with count.graph.as_default():
        own = v1.train.Supervisor(graph=count.graph, logdir=None)
    with pytest.raises(ArgumentError, match=r"make it with nbtrain\.tf1\.Supervisor\("):
        nbtrain.supervise(count.train_op, supervisor=own)
    assert folder_is_empty()


def generator() -> Iterator[dict[Any, Any]]:
    """Yields feeds."""
    yield {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feed": {"x": 1}}, "feed={'x': 1} cannot be called: give a function"),
        ({"feed": lambda run: {}}, r"takes arguments \(missing .*'run'\): give a function without"),
        ({"feed": generator}, r"returns a generator: give a function without arguments"),
        ({"scalars": ["loss:0"]}, r"scalars=\['loss:0'\] is no dict: give tags too"),
        ({"scalars": {3: "loss:0"}}, r"The tag 3 is no name"),
        ({"steps": -1}, "steps=-1"),
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
    reached(run, lambda run: any(held.step for held in run.checkpoints))
    text = applied(run.restore()).text
    run.request_stop()
    run.wait(SOON)
    assert "2 variables matched" in text
    assert "not in it" not in text


def test_a_supervisor_that_would_wait_for_another_is_refused() -> None:
    count = Count()
    for op in count.graph.get_operations():
        op._set_device("/cpu:0")  # TensorFlow wants to know where a worker's variables are
    supervisor = nbtrain.Supervisor(count.graph, logdir=None, is_chief=False)
    with pytest.raises(ArgumentError, match="made with is_chief=False: it would wait for the chi"):
        nbtrain.supervise(count.train_op, supervisor=supervisor)
    assert folder_is_empty()


def test_a_graph_that_was_finalized_too_early_is_refused() -> None:
    count = Count()
    count.graph.finalize()
    with pytest.raises(ArgumentError, match=r"leave graph\.finalize\(\) out: training does it"):
        nbtrain.supervise(count.train_op)
    assert folder_is_empty()


def test_a_supervisor_that_was_used_and_stopped_by_hand_trains_again(tmp_path: Path) -> None:
    count = Count()
    supervisor = nbtrain.Supervisor(count.graph, logdir=str(tmp_path / "mine"), summary_op=None)
    with supervisor.managed_session() as sess:
        sess.run(count.train_op)
    run = nbtrain.supervise(count.train_op, supervisor=supervisor, steps=3).wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 3)


def test_a_graph_that_was_trained_takes_further_operations() -> None:
    count = Count()
    nbtrain.supervise(count.train_op, steps=2).wait(SOON)
    nbtrain.monitor(count.train_op, steps=2).wait(SOON)
    with count.graph.as_default():
        tf.constant(1.0)
    nbtrain.Saver([count.weight])
