"""Evaluation between two training steps, its curves beside those of the training."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import reached

v1 = tf.compat.v1


class Fed:
    """A graph whose loss is its fed x plus the global step."""

    def __init__(self, *, counting: bool = True) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = v1.placeholder_with_default(0.0, [])
            if counting:
                self.global_step = v1.train.get_or_create_global_step()
                self.train_op = self.global_step.assign_add(1)
                self.loss = self.x + tf.cast(self.global_step.read_value(), tf.float32)
            else:
                total = v1.get_variable("total", initializer=0.0)
                self.train_op = total.assign_add(1.0)
                self.loss = self.x + total.read_value()

    def batch(self, value: float) -> dict[Any, float]:
        """A feed_dict."""
        return {self.x: value}


def evaluated(fed: Fed, *, steps: int = 6, **arguments: Any) -> nbtrain.Run:
    """A finished run, evaluated every two steps unless told otherwise."""
    arguments.setdefault("every_steps", 2)
    metrics = arguments.pop("metrics", {"val_loss": fed.loss})
    hook = nbtrain.EvalHook(metrics, **arguments)
    return nbtrain.monitor(fed.train_op, hooks=[hook], steps=steps).wait(SOON)


def points(run: nbtrain.Run, tag: str = "val_loss") -> list[tuple[int, float]]:
    """Steps and values of a curve."""
    columns = run.scalars[tag]
    return list(zip(columns.steps.tolist(), columns.values.tolist(), strict=True))


def test_a_metric_is_evaluated_between_two_steps_under_the_step_that_was_done() -> None:
    fed = Fed()
    run = evaluated(fed, feed=fed.batch(0.5))
    assert points(run) == [(2, 2.5), (4, 4.5), (6, 6.5)]


def test_a_metric_may_be_given_by_its_name() -> None:
    fed = Fed()
    assert points(evaluated(fed, metrics={"val_loss": fed.loss.name}))[-1] == (6, 6.0)


def test_the_validation_curve_is_beside_those_of_the_training() -> None:
    fed = Fed()
    hook = nbtrain.EvalHook({"val_loss": fed.loss}, every_steps=3)
    run = nbtrain.monitor(fed.train_op, scalars={"x": fed.x}, hooks=[hook], steps=6).wait(SOON)
    assert list(run.scalars) == ["x", "val_loss"]
    assert run.scalars["x"].steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.status.values["val_loss"] == 6.0


def test_the_mean_of_so_many_batches_is_recorded() -> None:
    fed = Fed()
    values = itertools.count(1)
    hook = nbtrain.EvalHook(
        {"val_loss": fed.loss},
        feed=lambda: fed.batch(float(next(values))),
        every_steps=2,
        steps=3,
    )
    run = nbtrain.monitor(fed.train_op, hooks=[hook], steps=4).wait(SOON)
    assert points(run) == [(2, 2.0 + 2.0), (4, 4.0 + 5.0)]


def test_every_evaluation_has_its_batches_from_a_function_that_returns_them_all() -> None:
    fed = Fed()
    hook = nbtrain.EvalHook(
        {"val_loss": fed.loss},
        feed=lambda: (fed.batch(value) for value in (1.0, 2.0, 6.0)),
        every_steps=2,
    )
    run = nbtrain.monitor(fed.train_op, hooks=[hook], steps=4).wait(SOON)
    assert points(run) == [(2, 5.0), (4, 7.0)]


def test_no_more_than_the_wanted_batches_are_taken() -> None:
    fed, taken = Fed(), []

    def endless() -> Iterator[Any]:
        for value in itertools.count(1):
            taken.append(value)
            yield fed.batch(float(value))

    hook = nbtrain.EvalHook({"val_loss": fed.loss}, feed=endless, every_steps=2, steps=3)
    run = nbtrain.monitor(fed.train_op, hooks=[hook], steps=4).wait(SOON)
    assert points(run) == [(2, 4.0), (4, 6.0)]
    assert taken == [1, 2, 3, 1, 2, 3]


def test_a_feed_that_is_exhausted_ends_the_evaluation_and_not_the_training() -> None:
    fed = Fed()
    batches = iter([fed.batch(1.0), fed.batch(3.0)])
    run = evaluated(fed, feed=lambda: next(batches))
    assert run.status.phase is Phase.FINISHED
    assert points(run) == [(2, 4.0)]
    assert run.status.step == 6


def test_a_stop_is_heard_between_two_batches_of_a_feed_without_end(gate: Gate) -> None:
    fed = Fed()

    def feed() -> dict[Any, float]:
        gate()
        return fed.batch(0.0)

    hook = nbtrain.EvalHook({"val_loss": fed.loss}, feed=feed, every_steps=2)
    run = nbtrain.monitor(fed.train_op, hooks=[hook])
    gate.allow(3)
    gate.wait_for_arrivals(4)
    run.request_stop()
    gate.open()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert "val_loss" not in run.scalars


def test_a_feed_is_eager_whether_it_is_called_for_each_batch_or_returns_them_all() -> None:
    fed = Fed()

    def all_batches() -> Iterator[Any]:
        assert tf.executing_eagerly()
        for value in tf.data.Dataset.range(1, 4):
            yield fed.batch(float(value))

    assert points(evaluated(fed, feed=all_batches, steps=2)) == [(2, 4.0)]
    fed = Fed()
    hook = nbtrain.EvalHook(
        {"val_loss": fed.loss},
        feed=lambda: fed.batch(float(tf.constant(0.5) + 1.0)),
        every_steps=2,
        steps=3,
    )
    run = nbtrain.monitor(fed.train_op, hooks=[hook], steps=2).wait(SOON)
    assert points(run) == [(2, 3.5)]


def test_an_evaluation_without_a_batch_says_what_to_give() -> None:
    fed = Fed()
    batches = iter([fed.batch(1.0)])
    run = evaluated(fed, feed=lambda: next(batches), steps=4)
    assert any("no batch at step 4" in line for line in run.status.log)
    assert "a function that returns a new iterable" in run.status.log[-1]


def test_an_exhausted_dataset_ends_the_evaluation_and_restarts_for_the_next() -> None:
    fed = Fed()
    with fed.graph.as_default():
        iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(1, 4))
        value = tf.cast(iterator.get_next(), tf.float32)
    run = evaluated(fed, metrics={"val_loss": value}, init_op=iterator.initializer)
    assert points(run) == [(2, 2.0), (4, 2.0), (6, 2.0)]
    assert run.status.phase is Phase.FINISHED


def test_an_error_of_an_evaluation_fails_the_run_with_it() -> None:
    fed = Fed()

    def broken() -> Any:
        raise LookupError("no validation set")

    with pytest.raises(LookupError, match="no validation set"):
        evaluated(fed, feed=broken)


# --- metrics of tf.compat.v1.metrics ------------------------------------------------


def accuracy(fed: Fed) -> tuple[Any, Any]:
    """Counts over the batches if x is above zero."""
    with fed.graph.as_default():
        pair: tuple[Any, Any] = v1.metrics.accuracy(labels=[True], predictions=[fed.x > 0.0])
    return pair


def test_a_metric_with_an_update_op_is_counted_over_the_batches_and_reset() -> None:
    fed = Fed()
    turns = iter([[1.0, -1.0, 1.0, 1.0], [-1.0, -1.0], [1.0]])
    run = evaluated(
        fed,
        metrics={"accuracy": accuracy(fed)},
        feed=lambda: [fed.batch(value) for value in next(turns)],
    )
    assert points(run, "accuracy") == [(2, 0.75), (4, 0.0), (6, 1.0)]


def test_metrics_of_both_kinds_are_evaluated_on_the_same_batches() -> None:
    fed = Fed()
    run = evaluated(
        fed,
        metrics={"val_loss": fed.loss, "accuracy": accuracy(fed)},
        feed=lambda: [fed.batch(1.0), fed.batch(-1.0)],
        steps=2,
    )
    assert points(run) == [(2, 2.0)]
    assert points(run, "accuracy") == [(2, 0.5)]


def test_only_the_metrics_own_local_variables_are_reset() -> None:
    fed = Fed()
    with fed.graph.as_default():
        _, update = v1.metrics.mean(fed.x)
        counted = v1.local_variables()[-1]
        fed.train_op = tf.group(fed.train_op, update)
    last = v1.train.FinalOpsHook(counted)
    hooks = [nbtrain.EvalHook({"accuracy": accuracy(fed)}, every_steps=1), last]
    nbtrain.monitor(fed.train_op, hooks=hooks, steps=3).wait(SOON)
    assert (counted.op.name, last.final_ops_values) == ("mean/count", 3.0)


# --- when -----------------------------------------------------------------------------


def test_evaluations_by_time_come_while_the_training_runs() -> None:
    fed = Fed()
    hook = nbtrain.EvalHook({"val_loss": fed.loss}, every_secs=0.01)
    run = nbtrain.monitor(fed.train_op, hooks=[hook])
    reached(run, lambda run: "val_loss" in run.scalars and len(run.scalars["val_loss"].steps) > 2)
    run.request_stop()
    run.wait(SOON)
    assert all(step == value for step, value in points(run))


def test_after_a_restore_the_steps_are_counted_from_there() -> None:
    fed = Fed()

    class Back(tf.compat.v1.train.SessionRunHook):
        done = False

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if not self.done and run_context.session.run(fed.global_step) == 7:
                self.done = True
                fed.global_step.load(2, run_context.session)

    hook = nbtrain.EvalHook({"val_loss": fed.loss}, every_steps=3)
    run = nbtrain.monitor(fed.train_op, hooks=[Back(), hook], steps=8).wait(SOON)
    assert points(run) == [(3, 3.0), (6, 6.0), (6, 6.0)]
    assert run.scalars["val_loss"].abandoned.tolist() == [False, True, False]


def test_a_graph_without_a_global_step_is_evaluated_by_its_runs() -> None:
    assert points(evaluated(Fed(counting=False), steps=4)) == [(2, 2.0), (4, 4.0)]


def test_the_users_own_loop_records_the_curve_in_its_run() -> None:
    fed = Fed()

    def loop(run: Run) -> None:
        with fed.graph.as_default():
            hooks = [
                nbtrain.RunHook(run),
                nbtrain.EvalHook({"val_loss": fed.loss}, every_steps=2),
            ]
            with v1.train.MonitoredSession(hooks=hooks) as sess:
                while not sess.should_stop():
                    sess.run(fed.train_op)

    run = nbtrain.background(loop, steps=4).wait(SOON)
    assert points(run) == [(2, 2.0), (4, 4.0)]


def test_other_hooks_do_not_see_an_evaluation() -> None:
    fed, fetched = Fed(), []

    class Seeing(tf.compat.v1.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            fetched.append(run_context.original_args.fetches)

    hooks = [Seeing(), nbtrain.EvalHook({"val_loss": fed.loss}, every_steps=1)]
    nbtrain.monitor(fed.train_op, hooks=hooks, steps=3).wait(SOON)
    assert len(fetched) == 3


# --- what cannot be used --------------------------------------------------------------


async def asynchronous() -> dict[Any, Any]:
    """An async function, which would have to be awaited."""
    return {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": {}}, "give tensors by their tags"),
        ({"every_steps": None}, "Give every_steps= or every_secs="),
        ({"steps": 0}, "steps=0: give a whole number of at least 1, or None to take"),
        ({"feed": iter([])}, "an iterator lasts one evaluation only"),
        ({"feed": asynchronous}, "returns a coroutine, .*: give a function without arguments"),
        ({"feed": lambda step: {}}, "takes arguments .*'step'.*: give a function without"),
        ({"every_steps": -1}, "every_steps=-1: give a whole number"),
        ({"every_secs": -1.0}, "every_secs=-1.0: give seconds above 0"),
        ({"every_secs": "1"}, "every_secs='1': give seconds above 0"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    given: dict[str, Any] = {"metrics": {"a": "a:0"}, "every_steps": 1, **arguments}
    with pytest.raises(ArgumentError, match=message):
        nbtrain.EvalHook(given.pop("metrics"), **given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda fed: fed.x[None] * np.ones(3), "a scalar was expected"),
        (lambda fed: (fed.x,), "has 1 parts: give a tensor, or the pair"),
        (lambda fed: "missing:0", r"metrics\['a'\]='missing:0' is no tensor of the graph"),
        (lambda fed: Fed().loss, r"metrics\['a'\]=.* is no tensor of the graph"),
    ],
)
def test_a_metric_that_is_none_fails_the_run_before_its_first_step(
    make: Callable[[Fed], Any], message: str
) -> None:
    fed = Fed()
    with fed.graph.as_default():
        metric = make(fed)
    with pytest.raises(ArgumentError, match=message):
        evaluated(fed, metrics={"a": metric})


def test_a_tag_that_the_run_records_already_starts_nothing() -> None:
    fed = Fed()
    first, second = (nbtrain.EvalHook({"val": fed.loss}, every_steps=1) for _ in range(2))
    for scalars, hooks in (({"val": fed.x}, [first]), ({}, [first, second])):
        with pytest.raises(ArgumentError, match=r"evaluates 'val'.*another, such as 'val_val'"):
            nbtrain.monitor(fed.train_op, scalars=scalars, hooks=hooks)
    assert nbtrain.runs() == {}
    assert not Path("runs").exists()


def test_outside_a_run_it_says_where_it_belongs() -> None:
    fed = Fed()
    hook = nbtrain.EvalHook({"val_loss": fed.loss}, every_steps=1)
    with (
        fed.graph.as_default(),
        pytest.raises(ArgumentError, match="this thread trains none: give it to"),
    ):
        v1.train.MonitoredSession(hooks=[hook])
