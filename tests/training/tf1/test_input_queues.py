"""Input queues and their threads: shown, ended by the end of the input, freed by a stop."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from sklearn.datasets import load_iris

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.run.thread.threads import names_of_live
from tests.gate import SOON, Gate
from tests.models import reached

v1 = tf.compat.v1


class Flowers:
    """A graph that reads 150 irises by a producer and a batch queue of two threads.

    Args:
        epochs: How often; None goes on for ever.
    """

    def __init__(self, epochs: int | None = 1) -> None:
        data, labels = load_iris(return_X_y=True)
        self.graph = tf.Graph()
        with self.graph.as_default():
            one = v1.train.slice_input_producer(
                [data.astype("float32"), labels], num_epochs=epochs, seed=1
            )
            batch, _ = v1.train.batch(one, 10, num_threads=2, capacity=50)
            self.mean = tf.reduce_mean(batch)
            self.global_step = v1.train.get_or_create_global_step()
            with tf.control_dependencies([batch]):
                self.train_op = self.global_step.assign_add(1)


class Empty:
    """A graph that trains from a queue which nobody fills, or only a runner that has nothing."""

    def __init__(self, *, runner: bool) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            queue = tf.queue.FIFOQueue(10, [tf.float32], [[]])
            if runner:
                source = tf.queue.FIFOQueue(10, [tf.float32], [[]])
                enqueue = queue.enqueue(source.dequeue())
                v1.train.add_queue_runner(nbtrain.QueueRunner(queue, [enqueue]))
            step = v1.train.get_or_create_global_step()
            with tf.control_dependencies([queue.dequeue()]):
                self.train_op = step.assign_add(1)


class Asked(threading.Event):
    """Set when a step has been asked for: what follows waits at the queue."""

    def __call__(self) -> dict[Any, Any]:
        self.set()
        return {}


def test_the_end_of_the_input_finishes_the_run() -> None:
    flowers = Flowers(epochs=2)
    run = nbtrain.supervise(flowers.train_op, scalars={"mean": flowers.mean}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.step == 30, "two rounds of 15 batches"
    assert [checkpoint.step for checkpoint in run.checkpoints] == [30]


def test_the_end_of_the_input_finishes_a_run_whose_loop_is_a_supervisors() -> None:
    flowers = Flowers()

    def loop(run: nbtrain.Run) -> None:
        sv = nbtrain.Supervisor(flowers.graph, logdir="irises")
        with sv.managed_session() as sess:
            while not sv.should_stop():
                sess.run(flowers.train_op)

    run = nbtrain.background(loop).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert tf.train.load_checkpoint("irises").get_tensor("global_step") == 15


def test_the_end_of_another_input_than_the_training_threads_finishes_the_run(gate: Gate) -> None:
    def loop(run: nbtrain.Run) -> None:
        flowers = Flowers(epochs=None)
        sv = nbtrain.Supervisor(flowers.graph, logdir=None)
        with sv.managed_session() as sess:
            with sv.coord.stop_on_exception():
                raise tf.errors.OutOfRangeError(None, None, "the validation data are over")
            while not sv.should_stop():
                sess.run(flowers.train_op)

    assert nbtrain.background(loop).wait(SOON).status.phase is Phase.FINISHED


def test_the_threads_of_the_queues_are_shown_while_they_live() -> None:
    flowers = Flowers(epochs=None)
    run = nbtrain.supervise(flowers.train_op)
    reached(run, lambda run: len(run.status.threads) == 3)
    names = run.status.threads
    run.request_stop()
    run.wait(SOON)
    assert sum(name.startswith("QueueRunnerThread-batch") for name in names) == 2
    assert sum(name.startswith("QueueRunnerThread-input_producer") for name in names) == 1
    assert run.status.threads == ()


def test_the_threads_of_a_supervisor_in_the_loop_of_a_run_are_shown() -> None:
    flowers, seen = Flowers(epochs=None), []

    def loop(run: nbtrain.Run) -> None:
        with nbtrain.Supervisor(flowers.graph, logdir=None).managed_session():
            seen.append(len(run.status.threads))

    nbtrain.background(loop).wait(SOON)
    assert seen == [3]


def test_a_queue_that_is_exhausted_has_no_thread_left(gate: Gate) -> None:
    flowers = Flowers()

    def held() -> dict[Any, Any]:
        gate()
        return {}

    run = nbtrain.supervise(flowers.train_op, feed=held)
    gate.allow(13)  # the last 20 irises fit into the queue
    reached(run, lambda run: run.status.step == 13 and run.status.threads == ())
    gate.open()
    assert run.wait(SOON).status.step == 15


def test_the_size_of_a_queue_is_a_scalar_like_any_other() -> None:
    flowers = Flowers()
    with flowers.graph.as_default():
        size = flowers.graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS)[-1].queue.size()
    run = nbtrain.supervise(flowers.train_op, scalars={"queued": size}).wait(SOON)
    assert 0 <= run.scalars["queued"].values.max() <= 50


@pytest.mark.parametrize("runner", [True, False], ids=["its runner has nothing", "no runner"])
def test_a_stop_frees_a_step_that_waits_at_an_empty_queue(runner: bool) -> None:
    asked = Asked()
    run = nbtrain.supervise(Empty(runner=runner).train_op, feed=asked)
    assert asked.wait(SOON)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert run.status.step == 0


@pytest.mark.parametrize("runner", [True, False], ids=["its runner has nothing", "no runner"])
def test_a_stop_frees_the_loop_of_a_supervisor_at_an_empty_queue(runner: bool) -> None:
    empty = Empty(runner=runner)
    sv = nbtrain.Supervisor(empty.graph, logdir=None)
    with sv.managed_session() as sess:
        sv.request_stop()
        sess.run(empty.train_op)
    assert names_of_live(sv.coord) == []


def test_a_second_supervisor_of_a_finalized_graph_frees_its_queues_too() -> None:
    empty = Empty(runner=False)
    for _ in range(2):
        asked = Asked()
        run = nbtrain.supervise(empty.train_op, feed=asked)
        assert asked.wait(SOON)
        run.request_stop()
        assert run.wait(SOON).status.phase is Phase.STOPPED


def test_an_error_of_a_queue_runner_fails_the_run_by_its_own_words() -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = tf.queue.FIFOQueue(10, [tf.float32], [[]])
        checked = tf.debugging.check_numerics(tf.constant(float("nan")), "the third flower")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(checked)]))
        step = v1.train.get_or_create_global_step()
        with tf.control_dependencies([queue.dequeue()]):
            train_op = step.assign_add(1)
    run = nbtrain.supervise(train_op)
    with pytest.raises(tf.errors.InvalidArgumentError, match="the third flower"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


def test_a_summary_of_an_exhausted_queue_does_not_spoil_the_end(tmp_path: Path) -> None:
    flowers = Flowers()
    with flowers.graph.as_default():
        v1.summary.scalar("mean", flowers.mean)
    sv = nbtrain.Supervisor(flowers.graph, logdir=str(tmp_path), save_summaries_secs=3600)
    with sv.managed_session() as sess:
        while not sv.should_stop():
            sess.run(flowers.train_op)
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("global_step") >= 14, "the first summary takes a batch, perhaps"
