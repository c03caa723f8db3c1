"""Programs that run with TensorFlow's class and with nbtrain's, and do the same with both."""

from __future__ import annotations

import contextlib
import contextvars
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.training.saving.saveable_object import SaveableObject, SaveSpec

import nbtrain
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.run.thread.threads import LooperThread
from tests.gate import SOON

v1 = tf.compat.v1

# TensorFlow's class where the program works with it, and nbtrain's.
savers = pytest.mark.parametrize(
    "saver", [v1.train.Saver, nbtrain.tf1.Saver], ids=["tf", "nbtrain"]
)
supervisors = pytest.mark.parametrize(
    "supervisor", [v1.train.Supervisor, nbtrain.tf1.Supervisor], ids=["tf", "nbtrain"]
)


def variable(name: str = "weight", value: Any = 1.0, **arguments: Any) -> Any:
    """A variable of the default graph."""
    return v1.get_variable(name, initializer=value, **arguments)


def save(path: str, **values: Any) -> str:
    """A checkpoint of some variables."""
    with tf.Graph().as_default():
        for name, value in values.items():
            variable(name, value)
        with v1.Session() as sess:
            sess.run(v1.global_variables_initializer())
            return str(v1.train.Saver().save(sess, path))


def restore(saver: type[Any], path: Any, **values: Any) -> list[Any]:
    """The values of some variables after a restore."""
    with tf.Graph().as_default():
        made = [variable(name, value, use_resource=False) for name, value in values.items()]
        reads = [tf.identity(each) for each in made]
        own = saver()
        with v1.Session() as sess:
            own.restore(sess, path)
            return list(sess.run(reads))


# --- Saver ----------------------------------------------------------------------


@savers
@pytest.mark.parametrize("as_dict", [False, True], ids=["list", "dict"])
def test_variables_of_eager_execution_are_saved_without_a_session(
    saver: type[Any], as_dict: bool, tmp_path: Path
) -> None:
    weight = tf.Variable(3.0, name="weight")
    own = saver({"other": weight} if as_dict else [weight])
    path = own.save(None, str(tmp_path / "eager"))
    assert tf.train.load_checkpoint(path).get_tensor("other" if as_dict else "weight") == 3.0
    weight.assign(5.0)
    own.restore(None, path)
    assert float(weight) == 3.0


class Doubled(SaveableObject):
    """Saves a variable under a name of its own."""

    def __init__(self, variable: tf.Variable) -> None:
        self._variable = variable
        super().__init__(variable, [SaveSpec(variable.read_value(), "", "doubled")], "doubled")

    def restore(self, tensors: Any, _shapes: Any) -> Any:
        """Sets the variable."""
        return self._variable.assign(tensors[0])


@savers
def test_a_table_of_eager_execution_is_saved_as_well(saver: type[Any], tmp_path: Path) -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    weight, key = tf.Variable(3.0, name="weight"), tf.constant("a")
    table.insert(key, tf.constant(1, tf.int64))
    own = saver({"table": table, "weight": weight})
    path = own.save(None, str(tmp_path / "eager"))
    table.insert(key, tf.constant(7, tf.int64))
    weight.assign(5.0)
    own.restore(None, path)
    assert [int(table.lookup(key)), float(weight)] == [1, 3.0]


@savers
def test_a_saveable_object_of_eager_execution_is_saved_as_well(
    saver: type[Any], tmp_path: Path
) -> None:
    weight = tf.Variable(3.0)
    own = saver([Doubled(weight)])
    path = own.save(None, str(tmp_path / "eager"))
    weight.assign(5.0)
    own.restore(None, path)
    assert float(weight) == 3.0


@savers
def test_a_table_of_a_graph_is_saved_from_any_cell(saver: type[Any], tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, contextlib.ExitStack() as cell:
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        key = tf.constant("a")
        fill = [table.insert(key, tf.constant(n, tf.int64)) for n in (1, 7)]
        found = table.lookup(key)
        if saver is nbtrain.tf1.Saver:
            cell.enter_context(tf.__internal__.eager_context.eager_mode())
        own = saver([table])
    with v1.Session(graph=graph) as sess, graph.as_default():
        sess.run(fill[0])
        path = own.save(sess, str(tmp_path / "table"))
        sess.run(fill[1])
        own.restore(sess, path)
        assert sess.run(found) == 1


def test_a_checkpoint_that_lacks_a_variable_of_eager_execution_is_refused(tmp_path: Path) -> None:
    path = save(str(tmp_path / "model"), other=1.0)
    with pytest.raises(tf.errors.NotFoundError, match="weight is not there") as caught:
        nbtrain.tf1.Saver([tf.Variable(3.0, name="weight")]).restore(None, path)
    assert isinstance(caught.value, CheckpointError)


@savers
def test_a_checkpoint_is_restored_that_has_the_name_of_a_folder(
    saver: type[Any], tmp_path: Path
) -> None:
    path = save(str(tmp_path / "model"), weight=7.0)
    save(str(tmp_path / "model" / "inner"), weight=8.0)
    assert restore(saver, path, weight=0.0) == [7.0]


@savers
def test_a_folder_is_no_checkpoint(saver: type[Any], tmp_path: Path) -> None:
    save(str(tmp_path / "model"), weight=7.0)
    with pytest.raises((ValueError, tf.errors.OpError)):
        restore(saver, str(tmp_path), weight=0.0)


ERRORS = pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("no file", ValueError),
        ("no path", ValueError),
        ("a variable is missing", tf.errors.NotFoundError),
        ("another shape", tf.errors.InvalidArgumentError),
        ("an empty index", tf.errors.DataLossError),
    ],
)


@savers
@ERRORS
def test_a_restore_that_fails_raises_the_error_that_programs_catch(
    kind: str, error: type[Exception], saver: type[Any], tmp_path: Path
) -> None:
    path: Any = save(str(tmp_path / "model"), weight=7.0)
    values = {"weight": [1.0, 2.0] if kind == "another shape" else 0.0}
    if kind == "a variable is missing":
        values["other"] = 1.0
    elif kind == "an empty index":
        Path(f"{path}.index").write_bytes(b"")
    elif kind.startswith("no "):
        path = str(tmp_path / "nowhere") if kind == "no file" else None
    with pytest.raises(error) as caught:
        restore(saver, path, **values)
    if saver is nbtrain.tf1.Saver:
        assert isinstance(caught.value, nbtrain.NbtrainError)
        assert isinstance(caught.value, CheckpointError)
        assert "othing was restored" in str(caught.value)


def test_a_file_that_was_cut_short_is_no_end_of_an_input(tmp_path: Path) -> None:
    path = save(str(tmp_path / "model"), weight=7.0)
    Path(f"{path}.data-00000-of-00001").write_bytes(b"")
    with pytest.raises(tf.errors.OutOfRangeError):
        restore(v1.train.Saver, path, weight=0.0)
    with pytest.raises(tf.errors.DataLossError, match="cannot be read") as caught:
        restore(nbtrain.tf1.Saver, path, weight=0.0)
    assert isinstance(caught.value, CheckpointError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


@savers
def test_a_saver_of_nothing_saves_and_restores_nothing(saver: type[Any], tmp_path: Path) -> None:
    with tf.Graph().as_default():
        own = saver([], allow_empty=True)
        with v1.Session() as sess:
            assert own.save(sess, str(tmp_path / "model")) is None
            own.restore(sess, str(tmp_path / "nowhere"))
            own.restore(sess, None)
    assert [path.name for path in tmp_path.iterdir()] == ["model.meta"]


@savers
def test_a_saver_is_made_from_its_description(saver: type[Any], tmp_path: Path) -> None:
    path = save(str(tmp_path / "model"), weight=7.0)
    with tf.Graph().as_default():
        weight = variable()
        again = saver.from_proto(saver().to_proto())
        with v1.Session() as sess:
            again.restore(sess, path)
            assert sess.run(weight) == 7.0
    assert type(again) is saver


def test_a_queue_runner_is_made_from_its_description() -> None:
    for kind in (v1.train.QueueRunner, nbtrain.tf1.QueueRunner):
        with tf.Graph().as_default():
            queue = tf.queue.FIFOQueue(3, [tf.int32], [[]])
            again = kind.from_proto(kind(queue, [queue.enqueue(7)]).to_proto())
        assert type(again) is kind
        assert again.enqueue_ops[0].type == "QueueEnqueueV2"


# --- graphs with nothing in them, or nothing to save ----------------------------


@supervisors
def test_a_supervisor_of_an_empty_graph_that_was_entered(
    supervisor: type[Any], tmp_path: Path
) -> None:
    with tf.Graph().as_default():
        sv = supervisor(logdir=str(tmp_path), save_summaries_secs=0)
        with sv.managed_session() as sess:
            assert sess.graph is sv.session_manager._graph
    assert (tmp_path / "graph.pbtxt").exists()
    assert list(tmp_path.glob("model.ckpt*")) == []


def test_an_empty_graph_may_be_given_to_a_supervisor() -> None:
    graph = tf.Graph()
    assert nbtrain.tf1.Supervisor(graph).graph is graph


@pytest.mark.parametrize("kind", ["Supervisor", "SessionManager", "Saver", "QueueRunner"])
def test_without_a_graph_it_says_how_to_give_one(kind: str) -> None:
    with pytest.raises(ArgumentError, match="default graph of this thread is empty"):
        getattr(nbtrain, kind)()


@pytest.mark.parametrize("manager", [v1.train.SessionManager, nbtrain.tf1.SessionManager])
def test_a_session_manager_of_an_empty_graph_that_was_entered(manager: type[Any]) -> None:
    with tf.Graph().as_default():
        own = manager()
        with own.prepare_session("", init_op=tf.no_op()) as sess:
            assert not sess._closed


@supervisors
def test_a_supervisor_whose_saver_has_no_variables_trains(
    supervisor: type[Any], tmp_path: Path
) -> None:
    with tf.Graph().as_default():
        variable()
        saver = v1.train.Saver([], allow_empty=True)
        sv = supervisor(logdir=str(tmp_path), saver=saver, save_summaries_secs=0)
        with sv.managed_session() as sess:
            sess.run(sv.init_op)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


SESSIONS: list[Callable[[list[Any]], Any]] = [
    lambda hooks: v1.train.MonitoredSession(hooks=hooks),
    lambda hooks: v1.train.SingularMonitoredSession(hooks=hooks),
    lambda hooks: v1.train.MonitoredTrainingSession(hooks=hooks, log_step_count_steps=None),
]


@pytest.mark.parametrize("session", SESSIONS, ids=["monitored", "singular", "training"])
def test_a_graph_without_variables_runs_under_a_hook(session: Callable[[list[Any]], Any]) -> None:
    values: list[float] = []

    def train(run: nbtrain.Run) -> None:
        with tf.Graph().as_default():
            v = tf.identity(tf.constant(3.5))
            with session([nbtrain.tf1.RunHook(run, {"v": v})]) as sess:
                values.extend(float(sess.run(v)) for _ in range(3))

    run = nbtrain.background(train).wait(SOON)
    assert values == [3.5] * 3
    assert run.scalars["v"].steps.tolist() == [1, 2, 3]
    assert run.checkpoints == ()
    assert run.status.message is None


# --- loops ----------------------------------------------------------------------


def test_a_loop_runs_in_the_context_of_the_thread_that_starts_it(tmp_path: Path) -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="another cell")
    seen: list[str] = []

    def train(run: nbtrain.Run) -> None:
        with tf.Graph().as_default():
            step = v1.train.get_or_create_global_step()
            counts = step.assign_add(1)
            sv = nbtrain.tf1.Supervisor(logdir=str(tmp_path), save_summaries_secs=0)

            def look() -> None:
                seen.append(cell.get())
                sv.request_stop()

            with sv.managed_session() as sess:
                sv.loop(None, look)
                while not sv.should_stop():
                    sess.run(counts)

    cell.set("the cell of the run")
    nbtrain.background(train).wait(SOON)
    assert set(seen) == {"the cell of the run"}


def test_a_looper_is_of_the_context_of_its_start_and_not_of_its_making() -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="nowhere")
    coord = nbtrain.tf1.Coordinator()
    seen: list[str] = []

    def look() -> None:
        seen.append(cell.get())
        coord.request_stop()

    looper = LooperThread(coord, None, look)
    cell.set("here")
    looper.start()
    coord.join([looper])
    assert seen == ["here"]
