"""Training a TF1 graph in a MonitoredSession, in the background, with TensorFlow's hooks."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.states import Phase
from tests.gate import SOON
from tests.models import Count, applied, reached
from tests.training.monitored import METHODS, AtStep, Raising, Watching, value_of

v1 = tf.compat.v1


# --- the run ----------------------------------------------------------------------


def test_a_graph_is_trained_and_eager_execution_stays_on() -> None:
    count = Count()
    run = nbtrain.monitor(count.train_op, scalars={"loss": count.loss}, steps=50).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert (run.status.engine, run.name) == ("MonitoredSession", "monitor-1")
    assert run.scalars["loss"].steps.tolist() == list(range(1, 51))
    assert run.scalars["loss"].values[-1] < run.scalars["loss"].values[0] / 2
    assert [checkpoint.step for checkpoint in run.checkpoints] == [50]
    assert value_of(run, "global_step") == 50
    assert tf.executing_eagerly()


def test_a_second_run_in_the_folder_goes_on_from_the_latest_checkpoint() -> None:
    count = Count()
    first = nbtrain.monitor(count.train_op, steps=5).wait(SOON)
    second = nbtrain.monitor(
        count.train_op, scalars={"loss": "loss:0"}, steps=8, name=first.name
    ).wait(SOON)
    assert second.scalars["loss"].steps.tolist() == [6, 7, 8]
    assert "Continues from model.ckpt-5" in str(second.status.notice)
    assert [checkpoint.step for checkpoint in second.checkpoints] == [5, 8]


def test_a_run_that_is_started_again_keeps_its_curve() -> None:
    count = Count()
    run = nbtrain.monitor(count.train_op, scalars={"loss": count.loss}, start=False)
    run.on_tick(lambda: run.request_stop() if run.status.step >= 5 else None)
    run.start().wait(SOON)
    step = run.status.step
    run.start().wait(SOON)
    assert run.status.step >= step
    assert run.scalars["loss"].steps.tolist() == list(range(1, run.status.step + 1))


def test_old_checkpoints_of_an_earlier_start_are_deleted_too() -> None:
    count = Count()
    first = nbtrain.monitor(count.train_op, steps=4, save_steps=1, keep=3).wait(SOON)
    assert [checkpoint.step for checkpoint in first.checkpoints] == [2, 3, 4]
    second = nbtrain.monitor(count.train_op, steps=5, keep=3, name=first.name).wait(SOON)
    assert [checkpoint.step for checkpoint in second.checkpoints] == [3, 4, 5]
    names = {path.stem for path in (second.logdir / "checkpoints").glob("*.index")}
    assert names == {"model.ckpt-3", "model.ckpt-4", "model.ckpt-5"}


def test_a_graph_is_paused_saved_restored_and_resumed() -> None:
    count = Count()
    run = nbtrain.monitor(count.train_op, scalars={"loss": count.loss}, keep=None)
    step = applied(run.save()).step
    assert step == run.checkpoints[-1].step == value_of(run, "global_step")
    reached(run, lambda run: run.status.step > step + 3)
    applied(run.pause())
    assert "3 variables matched" in applied(run.restore()).text
    assert run.status.step == step
    applied(run.resume())
    reached(run, lambda run: run.status.step > step + 3)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert set(run.scalars["loss"].steps.tolist()) >= set(range(1, run.status.step + 1))
    loss = run.scalars["loss"]
    assert loss.steps[loss.abandoned].min(initial=step + 1) == step + 1
    assert loss.segments.max() == 1
    assert value_of(run, "global_step") == run.status.step


def test_the_feed_is_called_for_each_step_and_ends_the_run() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [])
        step = v1.train.get_or_create_global_step()
        train_op = tf.group(step.assign_add(1), tf.identity(x))
    fed = iter([1.0, 2.0, 3.0])
    run = nbtrain.monitor(train_op, scalars={"x": x}, feed=lambda: {x: next(fed)}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["x"].values.tolist() == [1.0, 2.0, 3.0]


def test_an_exhausted_input_queue_finishes_the_run() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
        with tf.control_dependencies([x]):
            train_op = v1.train.get_or_create_global_step().assign_add(1)
    run = nbtrain.monitor(train_op, scalars={"x": x}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["x"].values.tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    assert value_of(run, "global_step") == 6


def test_a_stop_unblocks_a_step_that_waits_for_its_input_queue() -> None:
    graph = tf.Graph()
    with graph.as_default():
        source = v1.FIFOQueue(1, tf.float32, shapes=[()])
        queue = v1.FIFOQueue(1, tf.float32, shapes=[()])
        closing = tf.group(source.close(), queue.close(cancel_pending_enqueues=True))
        runner = v1.train.QueueRunner(
            queue, [queue.enqueue(source.dequeue())], close_op=queue.close(), cancel_op=closing
        )
        v1.train.add_queue_runner(runner)
        x = queue.dequeue()
        with tf.control_dependencies([x]):
            train_op = v1.train.get_or_create_global_step().assign_add(1)
    run = nbtrain.monitor(train_op)
    reached(run, lambda run: run.status.phase is Phase.RUNNING)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert run.status.message is None, "and its threads have ended"


def test_a_graph_without_a_global_step_is_counted_by_the_run() -> None:
    graph = tf.Graph()
    with graph.as_default():
        train_op = v1.get_variable("total", initializer=0.0).assign_add(1.0)
    run = nbtrain.monitor(train_op, steps=4).wait(SOON)
    assert value_of(run, "total") == 4.0
    again = nbtrain.monitor(train_op, steps=6, name=run.name).wait(SOON)
    assert value_of(again, "total") == 6.0


def test_a_train_op_that_leaves_the_global_step_alone_is_an_error() -> None:
    run = nbtrain.monitor(Count(counting=False).train_op, steps=3)
    with pytest.raises(ArgumentError, match="left global_step at 0: pass global_step="):
        run.wait(SOON)


def test_a_checkpoint_of_another_model_is_refused_by_name() -> None:
    run = nbtrain.monitor(Count().train_op, steps=3).wait(SOON)
    other = nbtrain.monitor(Count(name="other", size=2).train_op, steps=6, name=run.name)
    with pytest.raises(CheckpointError, match=r"trained here: .*other is not there"):
        other.wait(SOON)
    assert [path.stem for path in run.logdir.glob("checkpoints/*.index")] == ["model.ckpt-3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scalars": {"loss": "missing:0"}}, "is no tensor of the graph"),
        ({"session": 3}, "give a function that makes a session"),
        ({"steps": 0}, "steps=0: give a whole number"),
    ],
)
def test_an_argument_that_cannot_be_used_starts_nothing(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        nbtrain.monitor(Count().train_op, **arguments)
    assert nbtrain.runs() == {}
    assert not Path("runs").exists()


# --- the session ------------------------------------------------------------------


@pytest.mark.parametrize(
    "session",
    [
        v1.train.SingularMonitoredSession,
        v1.train.MonitoredSession,
        v1.train.MonitoredTrainingSession,
        lambda hooks: v1.train.MonitoredSession(v1.train.ChiefSessionCreator(), hooks),
    ],
)
def test_any_monitored_session_can_be_made(session: Callable[..., Any]) -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op, session=session, scalars={"loss": count.loss}, steps=4
    ).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4]
    assert value_of(run, "global_step") == 4
    assert (
        nbtrain.monitor(count.train_op, session=session, steps=6, name=run.name)
        .wait(SOON)
        .checkpoints[-1]
        .step
        == 6
    )


def test_a_session_with_checkpoints_of_its_own_keeps_both(tmp_path: Path) -> None:
    count = Count()
    session = functools.partial(
        v1.train.MonitoredTrainingSession,
        checkpoint_dir=str(tmp_path / "own"),
        save_checkpoint_steps=2,
        log_step_count_steps=None,
    )
    run = nbtrain.monitor(count.train_op, session=session, steps=6, keep=1).wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [6]
    own = {path.stem for path in (tmp_path / "own").glob("*.index")}
    assert "model.ckpt-6" in own
    other = nbtrain.monitor(count.train_op, session=session, scalars={"l": count.loss}, steps=8)
    assert other.wait(SOON).scalars["l"].steps.tolist() == [7, 8], "from its own checkpoint"


def test_a_session_that_is_further_than_the_checkpoints_of_the_run_stays_as_it_is() -> None:
    count = Count()
    session = functools.partial(
        v1.train.MonitoredTrainingSession, checkpoint_dir="own", log_step_count_steps=None
    )
    first = nbtrain.monitor(count.train_op, session=session, steps=4).wait(SOON)
    nbtrain.monitor(count.train_op, session=session, steps=7).wait(SOON)
    again = nbtrain.monitor(
        count.train_op, session=session, scalars={"l": count.loss}, steps=8, name=first.name
    ).wait(SOON)
    assert again.scalars["l"].steps.tolist() == [8]


def test_a_scaffold_brings_its_saver_and_its_initialization() -> None:
    count = Count()
    with count.graph.as_default():
        saver = v1.train.Saver([count.weight, count.global_step])
        scaffold = v1.train.Scaffold(
            saver=saver, init_fn=lambda _, sess: count.global_step.load(7, sess)
        )
    run = nbtrain.monitor(count.train_op, scaffold=scaffold, steps=9).wait(SOON)
    assert run.status.step == 9
    held = tf.train.load_checkpoint(run.checkpoints[-1].path).get_variable_to_shape_map()
    assert set(held) == {"weight", "global_step"}


def test_chief_only_hooks_are_called_too() -> None:
    hook = AtStep(lambda _: None)
    nbtrain.monitor(Count().train_op, chief_only_hooks=[hook], steps=3).wait(SOON)
    assert hook.calls == 3


def test_the_summaries_of_the_graph_are_written_to_the_folder() -> None:
    count = Count()
    with count.graph.as_default():
        v1.summary.scalar("weight_seen", tf.reduce_mean(count.weight))
    run = nbtrain.monitor(count.train_op, steps=3).wait(SOON)
    tags = {
        value.tag
        for path in run.logdir.glob("events*")
        for event in v1.train.summary_iterator(str(path))
        for value in event.summary.value
    }
    assert "weight_seen" in tags


@pytest.mark.parametrize("fails", [False, True])
def test_the_event_file_of_the_summaries_is_closed_when_the_run_ends(fails: bool) -> None:
    count = Count()
    with count.graph.as_default():
        v1.summary.scalar("weight_seen", tf.reduce_mean(count.weight))
    before = set(threading.enumerate())
    hooks = [Raising("after_run")] if fails else []
    run = nbtrain.monitor(count.train_op, hooks=hooks, steps=3)
    with pytest.raises(LookupError) if fails else contextlib.nullcontext():
        run.wait(SOON)
    left = {type(thread).__name__ for thread in set(threading.enumerate()) - before}
    assert "_EventLoggerThread" not in left


# --- what goes wrong --------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_hook_that_raises_fails_the_run_and_the_next_one_works(method: str) -> None:
    count, seen = Count(), Watching()
    hooks = [seen, Raising(method)]
    run = nbtrain.monitor(count.train_op, hooks=hooks, steps=2)
    with pytest.raises(LookupError, match="the hook is broken"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert "LookupError: the hook is broken" in str(run.status.error), "in the panel"
    for session in seen.sessions:
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(count.loss)
    assert len(seen.sessions) == (method != "begin")
    assert not count.graph.finalized
    steps = {"after_run": [1], "end": [2]}.get(method, [])
    held = [checkpoint.step for checkpoint in run.checkpoints if checkpoint.step]
    assert held == steps, "of whole steps, and every one"
    assert not list(run.logdir.glob("checkpoints/*temp*"))
    again = nbtrain.monitor(count.train_op, steps=4, name=run.name).wait(SOON)
    assert value_of(again, "global_step") == 4


def test_an_error_of_the_graph_leaves_a_last_checkpoint() -> None:
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.get_or_create_global_step()
        small = v1.Assert(step < 3, ["too far"])
        with tf.control_dependencies([small]):
            train_op = step.assign_add(1)
    run = nbtrain.monitor(train_op)
    with pytest.raises(tf.errors.InvalidArgumentError, match="too far"):
        run.wait(SOON)
    assert value_of(run, "global_step") == 3


def test_the_session_of_a_run_that_has_ended_is_closed() -> None:
    count, seen = Count(), Watching()
    nbtrain.monitor(count.train_op, hooks=[seen], steps=2).wait(SOON)
    with pytest.raises(RuntimeError, match="closed Session"):
        seen.sessions[0].run(count.loss)


def test_a_graph_finalized_by_the_users_supervisor_raises_with_a_reason() -> None:
    count = Count()
    with count.graph.as_default():
        nbtrain.Supervisor(logdir=None)
    run = nbtrain.monitor(count.train_op, steps=2)
    with pytest.raises(ArgumentError, match="finalized, and the session has to add to it: build"):
        run.wait(SOON)


def test_a_feed_is_eager_and_may_read_a_dataset() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [])
        step = v1.train.get_or_create_global_step()
        with tf.control_dependencies([step.assign_add(1)]):
            doubled = 2.0 * x
    values = iter(tf.data.Dataset.range(1, 4))
    run = nbtrain.monitor(
        doubled.op, scalars={"doubled": doubled}, feed=lambda: {x: float(next(values) + 1)}
    )
    assert run.wait(SOON).scalars["doubled"].values.tolist() == [4.0, 6.0, 8.0]


def test_an_array_that_the_feed_writes_to_is_recorded_as_each_step_was_fed() -> None:
    count = Count()
    with count.graph.as_default():
        rate = v1.placeholder(tf.float32, [])
    fed = np.zeros([], np.float32)

    def feed() -> dict[Any, Any]:
        fed[...] += 1.0
        return {rate: fed}

    run = nbtrain.monitor(count.train_op, scalars={"rate": rate}, feed=feed, steps=20).wait(SOON)
    assert run.scalars["rate"].values.tolist() == [float(step) for step in range(1, 21)]
    assert run.status.message is None
