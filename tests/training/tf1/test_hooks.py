"""TensorFlow's own hooks beside a run, and what they log."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from tests.gate import SOON, Gate
from tests.models import Count, applied, reached
from tests.training.monitored import AtStep, value_of

v1 = tf.compat.v1


def test_a_checkpoint_saver_hook_saves_beside_the_run_and_calls_its_listeners() -> None:
    count, told = Count(), []

    class Listener(tf.compat.v1.train.CheckpointSaverListener):
        def begin(self) -> None:
            told.append("begin")

        def before_save(self, session: Any, global_step_value: int) -> None:
            told.append(f"before {global_step_value}")

        def after_save(self, session: Any, global_step_value: int) -> None:
            told.append(f"after {global_step_value}")

        def end(self, session: Any, global_step_value: int) -> None:
            told.append(f"end {global_step_value}")

    hook = v1.train.CheckpointSaverHook("own", save_steps=3, listeners=[Listener()])
    run = nbtrain.monitor(count.train_op, hooks=[hook], steps=6, save_steps=1, keep=2).wait(SOON)
    saved = [word for step in (0, 3, 6) for word in (f"before {step}", f"after {step}")]
    assert [word for word in told if word in saved] == saved
    assert (told[0], told[-1]) == ("begin", "end 6")
    assert {path.stem for path in Path("own").glob("*.index")} >= {"model.ckpt-3", "model.ckpt-6"}
    assert [checkpoint.step for checkpoint in run.checkpoints] == [5, 6]
    for step in (3, 6):
        held = tf.train.load_checkpoint(f"own/model.ckpt-{step}")
        assert held.get_tensor("global_step") == step


def test_the_checkpoint_saver_hook_of_a_run_that_goes_on_begins_with_its_step() -> None:
    count = Count()
    run = nbtrain.monitor(count.train_op, steps=4).wait(SOON)
    hook = v1.train.CheckpointSaverHook("own", save_steps=100)
    nbtrain.monitor(count.train_op, hooks=[hook], steps=5, name=run.name).wait(SOON)
    names = {path.stem for path in Path("own").glob("*.index")}
    assert names == {"model.ckpt-4", "model.ckpt-5"}
    assert [path.stem for path in run.logdir.glob("checkpoints/*-4.index")] == ["model.ckpt-4"]


def test_a_summary_saver_hook_writes_its_summaries() -> None:
    count = Count()
    with count.graph.as_default():
        summary = v1.summary.scalar("seen", count.loss)
    writer = v1.summary.FileWriter
    with count.graph.as_default():
        out = writer("summaries")
    hook = v1.train.SummarySaverHook(save_steps=2, summary_writer=out, summary_op=summary)
    nbtrain.monitor(count.train_op, hooks=[hook], steps=5).wait(SOON)
    out.close()
    steps = [
        event.step
        for path in Path("summaries").glob("events*")
        for event in v1.train.summary_iterator(str(path))
        for value in event.summary.value
        if value.tag == "seen"
    ]
    assert steps == [1, 3, 5]


@pytest.mark.parametrize("fails", [True, False])
def test_a_nan_tensor_hook_fails_the_run_or_stops_it(fails: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.get_or_create_global_step()
        train_op = step.assign_add(1)
        with tf.control_dependencies([train_op]):
            loss = tf.where(step.read_value() >= 3, float("nan"), 1.0)
    hook = v1.train.NanTensorHook(loss, fail_on_nan_loss=fails)
    run = nbtrain.monitor(train_op, hooks=[hook], scalars={"loss": loss}, on_nan=None)
    if fails:
        with pytest.raises(v1.train.NanLossDuringTrainingError):
            run.wait(SOON)
    else:
        run.wait(SOON)
    assert run.status.phase is (Phase.FAILED if fails else Phase.FINISHED)
    values = run.scalars["loss"].values.tolist()
    assert values[:2] == [1.0, 1.0]
    assert values[2] != values[2], "the step that was none is in the curve"
    assert value_of(run, "global_step") == 3


def test_a_feed_fn_hook_feeds_each_step_and_its_end_is_the_runs() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [])
        train_op = tf.group(v1.train.get_or_create_global_step().assign_add(1), tf.identity(x))
    fed = iter([3.0, 4.0])
    hook = v1.train.FeedFnHook(lambda: {x: next(fed)})
    run = nbtrain.monitor(train_op, hooks=[hook], scalars={"x": x}).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["x"].values.tolist() == [3.0, 4.0]


def test_a_final_ops_hook_has_the_values_of_the_end() -> None:
    count = Count()
    hook = v1.train.FinalOpsHook({"step": count.global_step})
    nbtrain.monitor(count.train_op, hooks=[hook], steps=4).wait(SOON)
    assert hook.final_ops_values == {"step": 4}


def test_a_global_step_waiter_hook_waits_for_the_step_of_another_run() -> None:
    count = Count()
    run = nbtrain.monitor(count.train_op, steps=5).wait(SOON)
    hook = v1.train.GlobalStepWaiterHook(5)
    again = nbtrain.monitor(count.train_op, hooks=[hook], steps=7, name=run.name).wait(SOON)
    assert again.status.step == 7


def test_a_hook_that_waits_for_a_global_step_can_be_stopped() -> None:
    count = Count()
    waits = v1.train.GlobalStepWaiterHook(5)
    run = nbtrain.monitor(count.train_op, hooks=[waits])
    reached(run, lambda run: run.status.phase is Phase.RUNNING)
    assert applied(run.request_stop())
    run.wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 0)


@pytest.mark.parametrize("given", [{"last_step": 6}, {"num_steps": 6}])
def test_a_stop_at_step_hook_finishes_the_run(given: dict[str, int]) -> None:
    count = Count()
    hook = v1.train.StopAtStepHook(**given)
    run = nbtrain.monitor(count.train_op, scalars={"l": count.loss}, hooks=[hook]).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["l"].steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert [checkpoint.step for checkpoint in run.checkpoints] == [6]


def test_num_steps_of_a_stop_at_step_hook_count_from_where_the_run_goes_on() -> None:
    count = Count()
    run = nbtrain.monitor(count.train_op, steps=4).wait(SOON)
    hook = v1.train.StopAtStepHook(num_steps=3)
    again = nbtrain.monitor(count.train_op, hooks=[hook], name=run.name).wait(SOON)
    assert again.status.step == 7


def test_hooks_are_called_in_the_training_thread_inside_the_graph() -> None:
    count, seen = Count(), set()

    class Where(tf.compat.v1.train.SessionRunHook):
        def look(self, *args: Any) -> None:
            seen.add((threading.current_thread().name, v1.get_default_graph()))
            assert not tf.executing_eagerly()

        begin = after_create_session = before_run = after_run = end = look

    nbtrain.monitor(count.train_op, hooks=[Where()], steps=2, name="here").wait(SOON)
    assert seen == {("nbtrain train here", count.graph)}


# --- the log ----------------------------------------------------------------------


@pytest.fixture
def talkative() -> Iterator[None]:
    """The verbosity that LoggingTensorHook asks its users for."""
    before = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.INFO)
    yield
    v1.logging.set_verbosity(before)


def test_log_messages_of_the_training_thread_are_in_the_log_of_the_run(
    talkative: None, caplog: pytest.LogCaptureFixture, gate: Gate
) -> None:
    count = Count()
    log = v1.train.LoggingTensorHook(
        {"loss": count.loss}, every_n_iter=1, formatter=lambda values: f"loss: {len(values)}"
    )
    run = nbtrain.monitor(count.train_op, hooks=[AtStep(gate), log], steps=2)
    gate.wait_for_arrivals()
    v1.logging.info("said in a cell")
    gate.open()
    assert [line for line in run.wait(SOON).status.log if "loss" in line] == ["loss: 1"] * 2
    assert "said in a cell" not in run.status.log
    printed = [record.getMessage() for record in caplog.records if record.name == "tensorflow"]
    assert "said in a cell" in printed
    assert "loss: 1" not in printed
    assert v1.logging.get_verbosity() == v1.logging.INFO
    assert logging.getLogger("tensorflow").filters == []


def test_a_warning_of_the_training_thread_is_in_the_log_and_is_printed_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hook = AtStep(lambda _: v1.logging.warning("mind the %s", "gap"))
    run = nbtrain.monitor(Count().train_op, hooks=[hook], steps=1).wait(SOON)
    assert run.status.log == ("WARNING: mind the gap",)
    assert "mind the gap" in caplog.text


def test_the_verbosity_is_respected_and_left_alone() -> None:
    count = Count()
    before = v1.logging.get_verbosity()
    log = v1.train.LoggingTensorHook({"loss": count.loss}, every_n_iter=1)
    run = nbtrain.monitor(count.train_op, hooks=[log], steps=2).wait(SOON)
    assert run.status.log == ()
    assert v1.logging.get_verbosity() == before


@pytest.fixture
def unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow gives some warnings five times only: it has given none yet."""
    logging_of_tensorflow = sys.modules["tensorflow.python.platform.tf_logging"]
    monkeypatch.setattr(logging_of_tensorflow, "_log_counter_per_token", {})


def test_a_step_that_counts_is_not_said_not_to(
    unsaid: None, caplog: pytest.LogCaptureFixture
) -> None:
    count = Count()
    with count.graph.as_default():  # as when it is read late in one step and early in the next
        read = count.global_step.read_value() // 2 * 2
        count.graph.add_to_collection("global_step_read_op_cache", read)
    hook = v1.train.StepCounterHook(every_n_steps=100)
    run = nbtrain.monitor(count.train_op, hooks=[hook], steps=6).wait(SOON)
    assert run.status.log == ()
    assert "has not been increased" not in caplog.text


def test_a_step_that_does_not_count_is_still_said_not_to(unsaid: None) -> None:
    count = Count(counting=False)

    def loop(run: nbtrain.Run) -> None:
        hooks = [nbtrain.RunHook(run), v1.train.StepCounterHook(every_n_steps=100)]
        with count.graph.as_default(), v1.train.MonitoredSession(hooks=hooks) as sess:
            for _ in range(3):
                sess.run(count.train_op)

    run = nbtrain.background(loop).wait(SOON)
    assert any("has not been increased" in line for line in run.status.log)
