"""Every kind of variable of a hyperparameter: the next step trains with the value that was set."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Set, Try
from nbtrain.core.errors import ArgumentError
from nbtrain.engines.eager_variable import EagerVariable
from nbtrain.engines.hyperparameters import held_by
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import Line, applied, reached, refused

v1 = tf.compat.v1
optimizers = tf.keras.optimizers
HALVING = optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)


class Slope:
    """One weight with a gradient of 1: a step lowers it by exactly the learning rate."""

    def __init__(self, optimizer: Any, *, compiled: bool = True) -> None:
        self.weight = tf.Variable(0.0)
        self.optimizer = optimizer
        optimizer.build([self.weight])
        self.checkpoint = tf.train.Checkpoint(weight=self.weight, optimizer=optimizer)
        self.update: Callable[[], Any] = tf.function(self._update) if compiled else self._update

    def _update(self) -> tf.Tensor:
        self.optimizer.apply_gradients([(tf.constant(1.0), self.weight)])
        return self.weight.read_value()

    def step(self) -> dict[str, Any]:
        return {"weight": self.update()}


def tuned(slope: Slope, hyperparameters: Any, *edits: dict[str, float], **options: Any) -> Run:
    """A run that makes one edit before each of its steps, the first before the first."""
    waiting = [*edits]

    def loop(run: Run) -> None:
        while waiting:
            receipt = run.set(**waiting.pop(0))
            assert not run.should_stop()
            applied(receipt)
            run.record(slope.step())

    options |= {"hyperparameters": hyperparameters, "checkpoint": slope.checkpoint}
    run: Run = nbtrain.background(loop, **options)
    return run


def drops(run: Run) -> list[float]:
    """By how much each step lowered the weight."""
    run.wait(SOON)
    return [float(x) for x in -np.diff([0.0, *run.scalars["weight"].values])]


# --- variables ------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
def test_the_learning_rate_that_was_set_is_that_of_the_next_step(compiled: bool) -> None:
    slope = Slope(optimizers.SGD(0.5), compiled=compiled)
    slope.step()  # traced before: a variable is read at every step
    slope.weight.assign(0.0)
    run = tuned(
        slope,
        {"learning_rate": slope.optimizer.learning_rate},
        {"learning_rate": 0.25},
        {"learning_rate": 0.0},
        {"learning_rate": 2.0},
    )
    assert drops(run) == [0.25, 0.0, 2.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_a_variable_of_any_number_is_read_as_it_was_written(dtype: str) -> None:
    variable = EagerVariable(tf.Variable(3, dtype=dtype))
    assert (variable.read(), variable.whole) == (3.0, dtype.startswith("int"))
    variable.write(5.0)
    assert variable.read() == 5.0
    if dtype == "float32":
        variable.write(1e-4)
        assert variable.read() == 1e-4


def test_more_than_a_variable_holds_is_refused_in_words() -> None:
    half, whole = tf.Variable(1.0, dtype=tf.float16), tf.Variable(1, dtype=tf.int32)
    line = Line()
    run = nbtrain.train(line.step, hyperparameters={"half": half, "whole": whole})
    assert "half=1000000: its variable cannot hold that" in refused(run.set(half=1e6)).text
    assert "and would be 0." in refused(run.set(half=1e-30)).text
    assert "whole=1e+12: its variable cannot hold that" in refused(run.set(whole=10**12)).text
    assert run.hyperparameters == {"half": 1.0, "whole": 1.0}
    run.request_stop()
    run.wait(SOON)


def test_a_graph_that_assigns_to_a_variable_is_traced_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rate = tf.Variable(1.0)
    variable = EagerVariable(rate)
    variable.watch(lambda: None)
    with caplog.at_level(logging.WARNING), _heard(tf.get_logger(), caplog.handler):
        tf.function(lambda: rate.assign(rate / 2))()
    variable.unwatch()
    assert caplog.messages == []
    assert rate.numpy() == 0.5
    assert variable.now() is not None, "it is known that a graph assigns to it"


@contextlib.contextmanager
def _heard(logger: logging.Logger, handler: logging.Handler) -> Iterator[None]:
    """Hears a logger that tells no other ones."""
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def test_a_variable_of_a_strategy_is_set_on_every_replica() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        variable = tf.Variable(0.5)
    (held,) = held_by({"rate": variable}).values()
    held.write(0.25)
    assert (held.read(), float(variable.numpy())) == (0.25, 0.25)


# --- optimizers -----------------------------------------------------------------


def test_the_variables_of_an_optimizer_can_be_set() -> None:
    slope = Slope(optimizers.SGD(0.5, momentum=0.9))
    assert list(held_by(slope.optimizer)) == ["learning_rate"], "momentum is a Python number"
    assert drops(tuned(Slope(optimizers.SGD(0.5)), slope.optimizer, {"learning_rate": 1.0})) == [
        0.5
    ]
    run = tuned(slope, slope.optimizer, {"learning_rate": 0.25})
    assert drops(run) == [0.25]


def test_an_attribute_of_an_optimizer_that_is_a_variable_can_be_set_too() -> None:
    optimizer = optimizers.SGD(0.5)
    optimizer.noise = tf.Variable(0.0)
    optimizer.counted = tf.Variable(0)
    optimizer.means = tf.Variable([0.0, 0.0])
    assert list(held_by(optimizer)) == ["learning_rate", "noise"]


def test_several_optimizers_have_names_of_their_own() -> None:
    held = held_by({"critic": optimizers.SGD(0.5), "actor": optimizers.Adam(HALVING)})
    assert list(held) == ["critic_learning_rate", "actor_learning_rate_factor"]


def test_a_loss_scaling_optimizer_has_the_rate_of_the_one_inside() -> None:
    inner = optimizers.SGD(0.5)
    held = held_by(optimizers.LossScaleOptimizer(inner))
    held["learning_rate"].write(0.25)
    assert float(inner.learning_rate.numpy()) == 0.25


# --- schedules ------------------------------------------------------------------


def test_a_schedule_is_as_it_was_at_factor_1_and_times_the_factor_after() -> None:
    slope = Slope(optimizers.SGD(HALVING))
    factors = ({"learning_rate_factor": factor} for factor in (1.0, 1.0, 2.0, 0.0))
    assert drops(tuned(slope, slope.optimizer, *factors)) == [0.5, 0.25, 0.25, 0.0]


def test_a_factor_changes_nothing_that_is_saved_of_the_schedule(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile(optimizers.SGD(HALVING), "mse")
    before = model.optimizer.get_config()
    held_by(model.optimizer)
    assert model.optimizer.get_config() == before
    model.save(tmp_path / "model.keras")
    loaded = tf.keras.models.load_model(tmp_path / "model.keras").optimizer
    assert loaded.get_config() == before
    assert float(loaded.learning_rate) == 0.5


def test_the_factor_is_saved_with_its_optimizer_and_restored() -> None:
    slope = Slope(optimizers.SGD(HALVING))
    run = tuned(slope, slope.optimizer, {"learning_rate_factor": 0.25}, name="kept")
    run.wait(SOON)
    again = Slope(optimizers.SGD(HALVING))
    run = nbtrain.train(
        again.step,
        steps=2,
        checkpoint=again.checkpoint,
        hyperparameters=again.optimizer,
        name="kept",
    ).wait(SOON)
    assert run.hyperparameters == {"learning_rate_factor": 0.25}
    assert run.scalars["weight"].values.tolist() == [-0.125, -0.125 - 0.25 * 0.25]


def test_a_second_run_of_an_optimizer_finds_its_factor_again() -> None:
    slope = Slope(optimizers.SGD(optimizers.schedules.ExponentialDecay(0.5, 1, 1.0)))
    tuned(slope, slope.optimizer, {"learning_rate_factor": 0.5}).wait(SOON)
    slope.weight.assign(0.0)
    assert drops(tuned(slope, slope.optimizer, {"learning_rate_factor": 0.25})) == [0.125]


def test_a_factor_that_a_step_traced_before_does_not_know_is_refused() -> None:
    slope = Slope(optimizers.SGD(HALVING))
    slope.step()  # traced: without the factor
    run = nbtrain.train(slope.step, hyperparameters=slope.optimizer)
    reached(run, lambda run: run.status.step > 0)
    float(slope.optimizer.learning_rate)  # asked by the cell, not by a step
    assert refused(run.set(learning_rate_factor=0.5)).text.startswith(
        "The steps do not use learning_rate_factor: the step was traced before the run was made"
    )
    assert run.hyperparameters == {"learning_rate_factor": 1.0}
    run.request_stop()
    run.wait(SOON)


def unaware(**options: Any) -> tuple[Slope, Run]:
    """A step that was traced without the factor, and a run of it that has not begun."""
    slope = Slope(optimizers.SGD(optimizers.schedules.ExponentialDecay(0.5, 1, 1.0)))
    slope.step()
    slope.weight.assign(0.0)
    options = {"checkpoint": slope.checkpoint, "steps": 1000, "name": "unaware"} | options
    run = nbtrain.train(slope.step, hyperparameters=slope.optimizer, start=False, **options)
    return slope, run


def test_a_factor_that_was_set_before_the_first_step_and_does_nothing_pauses_after_it() -> None:
    _slope, run = unaware()
    receipt = run.post(Set({"learning_rate_factor": 0.001}), at=0)
    run.start()
    applied(receipt)
    reached(run, lambda run: run.status.phase == "paused")
    assert run.status.step == 1
    why = "learning_rate_factor is 0.001, and the steps train as if it were 1: the step was traced"
    assert str(run.status.message).startswith(f"Paused at step 1: {why}")
    assert "learning_rate_factor is 0.001" in refused(run.resume()).text
    applied(run.set(learning_rate_factor=1.0))
    applied(run.resume())
    assert run.wait(SOON).status.step == 1000
    assert run.hyperparameters == {"learning_rate_factor": 1.0}


def test_a_factor_that_does_nothing_is_told_by_the_name_that_the_run_has_for_it() -> None:
    slope, _run = unaware()
    run = nbtrain.train(slope.step, hyperparameters={"critic": slope.optimizer}, start=False)
    run.post(Set({"critic_learning_rate_factor": 0.5}), at=0)
    run.start()
    reached(run, lambda run: run.status.phase == "paused")
    assert "Paused at step 1: critic_learning_rate_factor is 0.5, and" in str(run.status.message)
    run.request_stop()
    run.wait(SOON)


def test_a_factor_that_a_strategy_asks_for_in_threads_of_its_own_is_used() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        slope = Slope(optimizers.SGD(HALVING), compiled=False)
    slope.step = lambda: {"weight": strategy.run(slope.update)}  # type: ignore[method-assign]
    factors = ({"learning_rate_factor": 0.5} for _ in range(3))
    assert drops(tuned(slope, slope.optimizer, *factors)) == [0.25, 0.125, 0.0625]


def test_a_trial_of_a_factor_that_does_nothing_is_undone_after_a_step() -> None:
    _slope, run = unaware()
    trial = run.post(Try({"learning_rate_factor": 0.001}, 100, lambda *_: True), at=0)
    run.start()
    answer = applied(trial)
    assert answer.step == 1
    assert answer.text.startswith("back to step 0, learning_rate_factor 1 again: ")
    assert "the steps train as if it were 1" in answer.text
    assert run.wait(SOON).status.step == 1000
    assert run.hyperparameters == {"learning_rate_factor": 1.0}


def test_a_trial_of_a_factor_that_does_nothing_is_undone_where_nothing_is_saved_too() -> None:
    _slope, run = unaware(checkpoint=None)
    trial = run.post(Try({"learning_rate_factor": 0.001}, 100, lambda *_: True), at=0)
    run.start()
    assert applied(trial).text.startswith("learning_rate_factor 1 again, the weights as they are")
    assert run.wait(SOON).status.step == 1000
    assert run.hyperparameters == {"learning_rate_factor": 1.0}


def test_a_factor_that_came_with_a_checkpoint_and_does_nothing_pauses_too() -> None:
    slope = Slope(optimizers.SGD(optimizers.schedules.ExponentialDecay(0.5, 1, 1.0)))
    tuned(slope, slope.optimizer, {"learning_rate_factor": 0.25}, name="unaware").wait(SOON)
    _slope, run = unaware()
    run.start()
    reached(run, lambda run: run.status.phase == "paused")
    assert run.status.step == 2
    assert "learning_rate_factor is 0.25, and the steps train as" in str(run.status.message)
    run.request_stop()
    run.wait(SOON)


def test_the_rate_under_a_factor_is_known_after_a_restore() -> None:
    slope, _run = unaware()
    run = nbtrain.train(
        lambda: {"loss": slope.update()},
        checkpoint=slope.checkpoint,
        hyperparameters=slope.optimizer,
        on_nan="recover",
    )
    reached(run, lambda run: run.status.step > 0)
    applied(run.pause())
    applied(run.save())
    applied(run.restore())
    assert refused(run.set(learning_rate_factor=0.5)).text.startswith("The steps do not use")
    slope.weight.assign(np.nan)
    applied(run.resume())
    reached(run, lambda run: run.status.phase == "paused")
    assert "The run could not recover: The steps do not use" in str(run.status.message)
    run.request_stop()
    run.wait(SOON)


def test_steps_of_before_the_checkpoint_are_not_taken_for_steps_without_the_factor() -> None:
    rate = optimizers.schedules.ExponentialDecay(0.5, 1, 1.0)
    first = Slope(optimizers.SGD(rate))
    tuned(first, first.optimizer, {"learning_rate_factor": 1.0}, name="kept").wait(SOON)
    slope = Slope(optimizers.SGD(rate))
    run = tuned(slope, slope.optimizer, {"learning_rate_factor": 0.5}, name="kept").wait(SOON)
    assert run.scalars["weight"].values.tolist()[-1] == -0.75, "one whole step, and a half"


# --- graphs ---------------------------------------------------------------------


class GraphSlope:
    """The same as a TF1 graph, its learning rate a variable."""

    def __init__(self, *, resource: bool = True) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.global_step = v1.train.get_or_create_global_step()
            self.rate = v1.get_variable(
                "rate", initializer=0.5, trainable=False, use_resource=resource
            )
            self.weight = v1.get_variable("weight", initializer=0.0)
            optimizer = v1.train.GradientDescentOptimizer(self.rate)
            update = optimizer.minimize(self.weight, global_step=self.global_step)
            with tf.control_dependencies([update]):
                self.after = self.weight.read_value()

    def run(self, way: Callable[..., Run], gate: Gate, **options: Any) -> Run:
        """A run whose every step waits at the gate; it stands in the first."""

        def feed() -> dict[Any, Any]:
            gate()
            return {}

        run = way(
            self.after.op,
            scalars={"weight": self.after},
            hyperparameters={"learning_rate": self.rate},
            feed=feed,
            **options,
        )
        gate.wait_for_arrivals()
        return run


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("way", [nbtrain.supervise, nbtrain.monitor])
def test_the_variable_of_a_graph_is_set_in_the_session_of_the_run(
    way: Callable[..., Run], resource: bool, gate: Gate
) -> None:
    slope = GraphSlope(resource=resource)
    run = slope.run(way, gate)
    receipt = run.set(learning_rate=0.125)
    gate.allow(1)
    assert applied(receipt).text == "learning_rate 0.5 → 0.125"
    gate.allow(1)
    gate.wait_for_arrivals(2)
    run.request_stop()
    gate.open()
    assert drops(run) == [0.5, 0.125, 0.125]
    assert run.hyperparameters == {"learning_rate": 0.125}


@pytest.mark.parametrize("way", [nbtrain.supervise, nbtrain.monitor])
def test_a_restore_brings_back_the_variable_of_a_graph(way: Callable[..., Run], gate: Gate) -> None:
    run = GraphSlope().run(way, gate)
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    applied(run.save())
    applied(run.set(learning_rate=0.125))
    applied(run.restore())
    assert run.hyperparameters == {"learning_rate": 0.5}
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_the_variable_of_a_finalized_graph_can_be_set(gate: Gate) -> None:
    slope = GraphSlope()
    with slope.graph.as_default():
        supervisor = nbtrain.Supervisor(logdir="logs")
    slope.graph.finalize()
    run = slope.run(nbtrain.supervise, gate, supervisor=supervisor)
    receipt = run.set(learning_rate=0.125)
    gate.open()
    applied(receipt)
    run.request_stop()
    run.wait(SOON)


# --- what is no hyperparameter ----------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0.1, r"hyperparameters=0\.1: give them by name"),
        ({"rate": 0.1}, r"hyperparameters\['rate'\] is 0\.1, a float, and no variable"),
        ({"rate": tf.constant(0.1)}, r"is a tensor, and no variable.*the optimizer itself"),
        ({"rate": tf.Variable([0.1, 0.2])}, r"a float32 variable of shape \(2,\).*single number"),
        ({"rate": tf.Variable(True)}, r"a bool variable of shape \(\)"),
        ({"rate": tf.Variable("a")}, r"a string variable of shape \(\)"),
        ({"a b": tf.Variable(0.1)}, r"The hyperparameter 'a b': give a name as Python has them"),
        ({7: tf.Variable(0.1)}, r"The hyperparameter 7: give a name"),
        (
            {"rate": GraphSlope().rate},
            r"of a graph, .*nbtrain\.tf1\.supervise\(train_op, hyperparameters=\{.rate.: ",
        ),
        ({"rate": HALVING}, r"and no variable"),
        (optimizers.SGD(lambda: 0.1), r"The learning rate of SGD is <function.*cannot be set"),
    ],
)
@pytest.mark.parametrize("way", ["train", "background"])
def test_setting_an_impossible_value_raises_in_the_cell(given: Any, words: str, way: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        getattr(nbtrain, way)(lambda *_: {}, hyperparameters=given)
    assert not Path("runs").exists()


@pytest.mark.parametrize("way", [nbtrain.supervise, nbtrain.monitor])
def test_the_variable_of_another_graph_is_refused_in_the_cell(way: Callable[..., Run]) -> None:
    with pytest.raises(ArgumentError, match="'rate:0' of another graph: was the graph built again"):
        way(GraphSlope().after.op, hyperparameters={"rate": GraphSlope().rate})
    assert not Path("runs").exists()


def test_one_variable_has_one_name() -> None:
    rate = tf.Variable(0.1)
    with pytest.raises(ArgumentError, match="'a' and 'b' are one variable"):
        held_by({"a": rate, "b": rate})
    optimizer = optimizers.SGD(0.1)
    with pytest.raises(ArgumentError, match="'rate' and 'sgd_learning_rate' are one variable"):
        held_by({"rate": optimizer.learning_rate, "sgd": optimizer})


def test_one_name_is_for_one_variable() -> None:
    with pytest.raises(ArgumentError, match="Two hyperparameters are called 'sgd_learning_rate'"):
        held_by({"sgd_learning_rate": tf.Variable(0.1), "sgd": optimizers.SGD(0.1)})


# --- a list -------------------------------------------------------------------------


def test_a_list_has_the_names_of_the_variables_that_hold_its_members() -> None:
    g_opt, d_opt, temperature = optimizers.Adam(0.25), optimizers.SGD(0.5), tf.Variable(2.0)
    held = held_by([g_opt, d_opt, temperature])
    assert {name: variable.read() for name, variable in held.items() if "rate" in name} == {
        "g_opt_learning_rate": 0.25,
        "d_opt_learning_rate": 0.5,
    }
    temperature.assign(3.0)
    assert held["temperature"].read() == 3.0


def test_a_list_without_names_is_refused_with_what_to_type() -> None:
    g_opt = optimizers.Adam(0.25)
    with pytest.raises(
        ArgumentError, match=r'hyperparameters=\{"g_opt": \.\.\., "name2": \.\.\.\}'
    ):
        held_by([g_opt, optimizers.SGD(0.5)])


def test_a_list_of_one_object_under_two_names_is_refused() -> None:
    g_opt = d_opt = optimizers.Adam(0.25)
    with pytest.raises(ArgumentError, match=r'hyperparameters=\{"name1": \.\.\., "name2"'):
        held_by([g_opt, d_opt])
