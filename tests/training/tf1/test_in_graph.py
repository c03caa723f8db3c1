"""SessionManager, Saver and QueueRunner in cells and threads outside their graph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.run.thread.threads import names_of_live
from tests.gate import SOON
from tests.models import Count
from tests.supervised import in_background

v1 = tf.compat.v1


def init_of(count: Count) -> Any:
    """The init op of a graph."""
    with count.graph.as_default():
        return v1.global_variables_initializer()


def ready_of(count: Count) -> Any:
    """The names of the variables that are not initialized."""
    with count.graph.as_default():
        return v1.report_uninitialized_variables()


def saved(count: Count, path: str, steps: int = 3) -> str:
    """A checkpoint of a graph that trained for some steps."""
    init, saver = init_of(count), nbtrain.Saver([count.global_step, count.weight])
    with v1.Session(graph=count.graph) as sess:
        sess.run(init)
        for _ in range(steps):
            sess.run(count.train_op)
        return str(saver.save(sess, path, global_step=count.global_step))


def everywhere(act: Callable[[], None], where: str) -> None:
    """Call it in this cell, or in a thread of its own; what it raises is raised here."""
    if where == "cell":
        act()
    else:
        in_background(act)


WHERE = pytest.mark.parametrize("where", ["cell", "thread"])


# --- SessionManager -------------------------------------------------------------


@WHERE
def test_a_session_is_prepared_by_its_init_op(where: str) -> None:
    count = Count()
    init, ready, steps = init_of(count), ready_of(count), []

    def prepare() -> None:
        with nbtrain.SessionManager(ready_op=ready).prepare_session("", init) as sess:
            sess.run(count.train_op)
            steps.append(int(sess.run(count.global_step)))

    everywhere(prepare, where)
    assert steps == [1]


@WHERE
def test_a_session_is_prepared_from_the_latest_checkpoint(where: str, tmp_path: Path) -> None:
    count = Count()
    saved(count, str(tmp_path / "model.ckpt"))
    init, saver, steps = init_of(count), nbtrain.Saver([count.global_step, count.weight]), []

    def prepare() -> None:
        manager = nbtrain.SessionManager(graph=count.graph)
        with manager.prepare_session("", init, saver, str(tmp_path)) as sess:
            steps.append(int(sess.run(count.global_step)))

    everywhere(prepare, where)
    assert steps == [3]


def test_the_init_fn_runs_inside_the_graph() -> None:
    count = Count()
    init, seen = init_of(count), []
    manager = nbtrain.SessionManager(graph=count.graph)
    with manager.prepare_session(
        "", init, init_fn=lambda _sess: seen.append(v1.get_default_graph())
    ):
        assert seen == [count.graph]
    assert tf.executing_eagerly()


@pytest.mark.parametrize("there", [True, False])
def test_a_session_is_recovered_if_there_is_a_checkpoint(there: bool, tmp_path: Path) -> None:
    count = Count()
    if there:
        saved(count, str(tmp_path / "model.ckpt"))
    saver = nbtrain.Saver([count.global_step, count.weight])
    manager = nbtrain.SessionManager(graph=count.graph)
    sess, recovered = manager.recover_session("", saver, str(tmp_path))
    with sess:
        assert recovered is there
        assert not there or sess.run(count.global_step) == 3


def test_a_checkpoint_that_comes_while_it_is_waited_for_is_taken(tmp_path: Path) -> None:
    count, asked = Count(), threading.Event()
    saver = nbtrain.Saver([count.global_step, count.weight])

    class Asked(nbtrain.Coordinator):
        def wait_for_stop(self, timeout: float | None = None) -> bool:
            saved(Count(), str(tmp_path / "model.ckpt"))  # between two attempts
            asked.set()
            return bool(super().wait_for_stop(0.0))

    manager = nbtrain.SessionManager(graph=count.graph, coord=Asked())
    sess, recovered = manager.recover_session("", saver, str(tmp_path), wait_for_checkpoint=True)
    with sess:
        assert asked.is_set()
        assert recovered
        assert sess.run(count.global_step) == 3


@pytest.mark.parametrize("method", ["prepare_session", "recover_session"])
def test_a_wait_for_a_checkpoint_ends_when_its_coordinator_stops(
    method: str, tmp_path: Path
) -> None:
    count, coord = Count(), nbtrain.Coordinator()
    coord.request_stop()
    manager = nbtrain.SessionManager(graph=count.graph, recovery_wait_secs=3600, coord=coord)
    saver = nbtrain.Saver([count.weight])
    with pytest.raises(tf.errors.CancelledError, match="A stop was requested"):
        getattr(manager, method)(
            "", saver=saver, checkpoint_dir=str(tmp_path), wait_for_checkpoint=True
        )


def test_a_wait_for_a_session_ends_when_its_coordinator_stops() -> None:
    coord = nbtrain.Coordinator()
    manager = nbtrain.SessionManager(
        ready_op=ready_of(Count()), recovery_wait_secs=3600, coord=coord
    )
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            manager.wait_for_session("")
        except tf.errors.CancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    coord.request_stop()
    thread.join(SOON)
    assert len(errors) == 1


def test_a_session_that_is_not_ready_in_time_is_tensorflows_error() -> None:
    manager = nbtrain.SessionManager(ready_op=ready_of(Count()), recovery_wait_secs=0.01)
    with pytest.raises(tf.errors.DeadlineExceededError, match="not made the session"):
        manager.wait_for_session("", max_wait_secs=0)


def test_a_session_that_is_ready_is_not_waited_for() -> None:
    count = Count()
    manager = nbtrain.SessionManager(local_init_op=init_of(count), ready_op=ready_of(count))
    with manager.wait_for_session("") as sess:
        assert sess.run(count.global_step) == 0


def test_a_checkpoint_of_another_model_is_refused_by_the_session_manager(tmp_path: Path) -> None:
    saved(Count(name="other"), str(tmp_path / "model.ckpt"))
    count = Count()
    manager = nbtrain.SessionManager(graph=count.graph)
    saver = nbtrain.Saver([count.weight])
    with pytest.raises(CheckpointError, match="trained here: weight is not there"):
        manager.prepare_session("", init_of(count), saver, str(tmp_path))


# --- Saver ----------------------------------------------------------------------


@WHERE
def test_a_saver_saves_and_restores_outside_its_graph(where: str, tmp_path: Path) -> None:
    count = Count()
    init, saver = init_of(count), nbtrain.Saver([count.global_step, count.weight])

    def use() -> None:
        with v1.Session(graph=count.graph) as sess:
            sess.run(init)
            sess.run(count.train_op)
            path = saver.save(sess, str(tmp_path / "mine"), global_step=count.global_step)
            assert path == str(tmp_path / "mine-1")
            weight = sess.run(count.weight)
            sess.run(count.train_op)
            saver.restore(sess, path)
            np.testing.assert_array_equal(sess.run(count.weight), weight)

    everywhere(use, where)
    assert (tmp_path / "mine-1.meta").exists(), "as TensorFlow's does"


def test_a_saver_of_all_variables_is_made_inside_the_graph() -> None:
    count = Count()
    with count.graph.as_default():
        saver = nbtrain.Saver(max_to_keep=2)
    names = {variable.op.name for variable in saver._var_list}
    assert names == {"global_step", "weight", "weight/Momentum"}


def test_a_restore_names_what_is_missing_and_what_does_not_match(tmp_path: Path) -> None:
    path = saved(Count(size=3), str(tmp_path / "model.ckpt"))
    count = Count(size=2)
    with count.graph.as_default():
        other = v1.get_variable("other", initializer=0.0)
    init, saver = init_of(count), nbtrain.Saver([count.weight, count.global_step, other])
    with v1.Session(graph=count.graph) as sess:
        sess.run(init)
        with pytest.raises(CheckpointError) as caught:
            saver.restore(sess, path)
        assert sess.run(count.global_step) == 0, "nothing was restored"
    assert "weight has the shape (3,) there and (2,) here" in str(caught.value)
    assert "other is not there" in str(caught.value)
    assert "global_step" not in str(caught.value)


def test_the_saver_says_that_a_file_is_not_a_checkpoint(tmp_path: Path) -> None:
    count = Count()
    saver = nbtrain.Saver([count.weight])
    with (
        v1.Session(graph=count.graph) as sess,
        pytest.raises(CheckpointError, match=r"nowhere is no checkpoint, and nothing was rest"),
    ):
        saver.restore(sess, str(tmp_path / "nowhere"))


def test_a_checkpoint_of_objects_is_restored_as_tensorflow_does(tmp_path: Path) -> None:
    weight = tf.Variable([7.0], name="weight")
    path = tf.train.Checkpoint(w=weight).write(str(tmp_path / "objects"))
    count = Count()
    saver = nbtrain.Saver([count.weight])
    with v1.Session(graph=count.graph) as sess:
        saver.restore(sess, path)
        assert sess.run(count.weight) == [7.0]


def test_a_save_of_another_thread_is_of_one_step(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.get_or_create_global_step()
        parts = [v1.get_variable(f"part{n}", initializer=tf.zeros([200_000])) for n in range(4)]
        train_op = tf.group(step.assign_add(1), *[part.assign_add(part * 0 + 1) for part in parts])
        saver = nbtrain.Saver(max_to_keep=None)
        supervisor = nbtrain.Supervisor(logdir=None, saver=saver, summary_op=None)
    with supervisor.managed_session() as sess:
        saved = threading.Event()

        def save() -> None:
            for number in range(10):
                saver.save(sess, str(tmp_path / f"part-{number}"), write_meta_graph=False)
            saved.set()

        threading.Thread(target=save).start()
        while not saved.is_set():
            sess.run(train_op)
    for number in range(10):
        reader = tf.train.load_checkpoint(str(tmp_path / f"part-{number}"))
        counts = {float(v) for n in range(4) for v in np.unique(reader.get_tensor(f"part{n}"))}
        assert counts == {float(reader.get_tensor("global_step"))}


# --- QueueRunner, and what all have in common ------------------------------------


@WHERE
def test_a_queue_runner_is_made_outside_its_graph_and_fills_its_queue(where: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = tf.queue.FIFOQueue(3, [tf.int32], [[]])
        enqueue, x = queue.enqueue(7), queue.dequeue()
    seen: list[int] = []

    def use() -> None:
        runner, coord = nbtrain.QueueRunner(queue, [enqueue] * 2), nbtrain.Coordinator()
        with v1.Session(graph=graph) as sess:
            threads = runner.create_threads(sess, coord, daemon=True, start=True)
            seen.extend(int(sess.run(x)) for _ in range(5))
            assert len(names_of_live(coord)) == 2
            coord.request_stop()
            coord.join(threads)
            assert names_of_live(coord) == []

    everywhere(use, where)
    assert seen == [7] * 5


def test_a_saver_of_a_finalized_graph_says_what_to_do() -> None:
    count = Count()
    count.graph.finalize()
    with pytest.raises(ArgumentError, match=r"finalized, and a Saver has to add .*a new graph\."):
        nbtrain.Saver([count.weight])
