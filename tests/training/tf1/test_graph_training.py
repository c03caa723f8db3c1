"""A graph's optimizers, gradients, decay and averages, on real data and live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_diabetes, load_digits

import nbtrain
from tests.digits import Digits
from tests.gate import SOON
from tests.models import Count

v1 = tf.compat.v1
train = v1.train

# Each with the slots that it has for two variables: Adam's two powers are among them.
OPTIMIZERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "GradientDescent": (lambda _step: train.GradientDescentOptimizer(0.5), 0),
    "Momentum": (lambda _step: train.MomentumOptimizer(0.1, 0.9), 2),
    "Nesterov": (lambda _step: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), 2),
    "Adagrad": (lambda _step: train.AdagradOptimizer(0.1), 2),
    "AdagradDA": (lambda step: train.AdagradDAOptimizer(0.1, step), 4),
    "Adadelta": (lambda _step: train.AdadeltaOptimizer(10.0), 4),
    "Adam": (lambda _step: train.AdamOptimizer(0.01), 6),
    "Ftrl": (lambda _step: train.FtrlOptimizer(0.5), 4),
    "RMSProp": (lambda _step: train.RMSPropOptimizer(0.01), 4),
    "centered RMSProp": (lambda _step: train.RMSPropOptimizer(0.01, centered=True), 6),
    "ProximalAdagrad": (lambda _step: train.ProximalAdagradOptimizer(0.1), 2),
    "ProximalGradientDescent": (lambda _step: train.ProximalGradientDescentOptimizer(0.5), 0),
}


def all_values(run: nbtrain.Run) -> dict[str, Any]:
    """Every value of the latest checkpoint."""
    reader = tf.train.load_checkpoint(run.checkpoints[-1].path)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


# --- optimizers -----------------------------------------------------------------


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_in_two_halves_ends_where_one_in_one_piece_does(name: str) -> None:
    make, slots = OPTIMIZERS[name]
    nbtrain.supervise(Digits(make).train_op, steps=5, name="two").wait(SOON)
    again = nbtrain.supervise(Digits(make).train_op, steps=10, name="two")
    digits = Digits(make)
    whole = nbtrain.supervise(digits.train_op, scalars={"loss": digits.loss}, steps=10, name="one")
    ends = [all_values(run.wait(SOON)) for run in (again, whole)]
    assert f": {slots + 3} variables matched" in str(again.status.notice)
    losses = whole.scalars["loss"].values
    assert losses[-1] < losses[0]
    assert ends[0]["global_step"] == 10
    for value in ends[0]:
        np.testing.assert_allclose(ends[0][value], ends[1][value], rtol=1e-5, atol=1e-7)


def test_an_embedding_trained_by_sparse_gradients_goes_on_with_its_slots() -> None:
    with tf.Graph().as_default():
        table = v1.get_variable("table", [17, 3], initializer=v1.ones_initializer())
        images, _ = load_digits(return_X_y=True)
        loss = tf.reduce_mean(tf.nn.embedding_lookup(table, images[0].astype("int32")) ** 2)
        step = train.get_or_create_global_step()
        train_op = train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    folder = nbtrain.supervise(train_op, steps=2).wait(SOON).logdir
    run = nbtrain.supervise(train_op, steps=3, logdir=folder).wait(SOON)
    assert "6 variables matched" in str(run.status.notice)


# --- gradients ------------------------------------------------------------------


def test_the_norm_of_the_gradients_is_a_live_curve_and_clipping_bounds_the_step() -> None:
    shown: dict[str, Any] = {}

    def clipped(digits: Digits, optimizer: Any) -> Any:
        gradients, variables = zip(*optimizer.compute_gradients(digits.loss), strict=True)
        shorter, shown["norm"] = tf.clip_by_global_norm(gradients, 0.05)
        shown["clipped"] = tf.linalg.global_norm(shorter)
        pairs = zip(shorter, variables, strict=True)
        return optimizer.apply_gradients(pairs, global_step=digits.global_step)

    digits = Digits(OPTIMIZERS["GradientDescent"][0], clipped)
    run = nbtrain.supervise(digits.train_op, scalars=shown, steps=10).wait(SOON)
    norms, bounded = run.scalars["norm"].values, run.scalars["clipped"].values
    assert norms[0] > 0.05
    np.testing.assert_allclose(bounded, np.minimum(norms, 0.05), rtol=1e-4)


# --- learning rates and averages --------------------------------------------------


@pytest.mark.parametrize("staircase", [False, True])
def test_an_exponential_decay_is_a_live_curve_of_its_formula(staircase: bool) -> None:
    shown: dict[str, Any] = {}

    def decaying(step: Any) -> Any:
        shown["learning_rate"] = train.exponential_decay(0.5, step, 10, 0.9, staircase)
        return train.GradientDescentOptimizer(shown["learning_rate"])

    def read_first(digits: Digits, optimizer: Any) -> Any:
        # The rate of this step: read before the step is counted.
        shown["learning_rate"] = tf.identity(shown["learning_rate"])
        with tf.control_dependencies([shown["learning_rate"]]):
            return digits.minimized(optimizer)

    run = nbtrain.supervise(Digits(decaying, read_first).train_op, scalars=shown, steps=30)
    steps = np.arange(30)
    power = steps // 10 if staircase else steps / 10
    rates = run.wait(SOON).scalars["learning_rate"].values
    np.testing.assert_allclose(rates, 0.5 * 0.9**power, rtol=1e-6)


class Averaged:
    """A line through a measure of 442 patients, with a moving average of its slope."""

    def __init__(self) -> None:
        data, target = load_diabetes(return_X_y=True)
        self.graph = tf.Graph()
        with self.graph.as_default():
            step = train.get_or_create_global_step()
            self.slope = v1.get_variable("slope", initializer=0.0)
            error = data[:, 2].astype("float32") * self.slope - target.astype("float32") / 100
            loss = tf.reduce_mean(error**2)
            update = train.GradientDescentOptimizer(10.0).minimize(loss, global_step=step)
            self.averages = train.ExponentialMovingAverage(0.5)
            with tf.control_dependencies([update]):
                self.train_op = self.averages.apply([self.slope])


def test_a_moving_average_is_saved_beside_its_variable() -> None:
    line = Averaged()
    run = nbtrain.supervise(line.train_op, scalars={"slope": line.slope.name}, steps=1)
    run.wait(SOON)
    values = all_values(run)
    name = line.averages.average_name(line.slope)
    assert name == "slope/ExponentialMovingAverage"
    assert values[name] == pytest.approx(values["slope"] / 2), "from 0, half of the way"


def test_a_saver_of_the_averages_restores_them_into_the_variables() -> None:
    line = Averaged()
    run = nbtrain.supervise(line.train_op, steps=5).wait(SOON)
    path, values = run.checkpoints[-1].path, all_values(run)
    evaluation = Averaged()
    with evaluation.graph.as_default():
        averages = evaluation.averages.variables_to_restore([evaluation.slope])
    saver = nbtrain.Saver(averages)
    with v1.Session(graph=evaluation.graph) as sess:
        saver.restore(sess, path)
        restored = sess.run(evaluation.slope)
    assert restored == values["slope/ExponentialMovingAverage"] != values["slope"]


def test_a_graph_that_prepares_is_at_the_step_that_it_goes_on_from() -> None:
    nbtrain.supervise(Count().train_op, steps=3, name="a").wait(SOON)
    run = nbtrain.supervise(Count().train_op, steps=3, name="a")
    assert run.status.step == 3
    assert run.wait(SOON).status.step == 3
