"""Keras models with a `train_step` of their own: GANs, VAEs and the like."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Set
from nbtrain.core.states import Phase
from tests.fitted import BATCH, COLUMNS, STEPS, Late, X, ended, started
from tests.gate import SOON
from tests.models import reached

RATE = "hyperparameters/learning_rate"
RATES = {f"hyperparameters/{name}_learning_rate" for name in ("d_opt", "g_opt")}


class Gan(keras.Model):
    """Two networks with an optimizer each, and trackers of its own, as in Keras's examples."""

    def __init__(self) -> None:
        super().__init__()
        self.G = keras.Sequential([keras.Input((2,)), keras.layers.Dense(COLUMNS)])
        self.D = keras.Sequential([keras.Input((COLUMNS,)), keras.layers.Dense(1)])
        self.d_loss, self.g_loss = keras.metrics.Mean("d_loss"), keras.metrics.Mean("g_loss")
        self.hits = keras.metrics.BinaryAccuracy(name="hits")
        self.seen: list[float] = []

    @property
    def metrics(self) -> list[Any]:
        """The trackers that are reset with each epoch; the loss of Keras's own is left out."""
        return [self.d_loss, self.g_loss, self.hits]

    def compile(self, **more: Any) -> None:
        """With an optimizer for each network."""
        super().compile(jit_compile=False, **more)
        self.d_opt, self.g_opt = keras.optimizers.SGD(0.1), keras.optimizers.SGD(0.1)

    def train_step(self, data: Any) -> Any:
        """One step of each network; the losses are of the rows given, without noise."""
        ones, zeros = tf.ones((tf.shape(data)[0], 1)), tf.zeros((tf.shape(data)[0], 1))
        with tf.GradientTape(persistent=True) as tape:
            fake = self.G(data[:, :2])
            real, guess = self.D(data), self.D(fake)
            d_loss = tf.reduce_mean(real**2 + (guess - 1.0) ** 2)
            g_loss = tf.reduce_mean(guess**2, axis=1)  # of each row
        for network, optimizer, loss in (
            (self.D, self.d_opt, d_loss),
            (self.G, self.g_opt, g_loss),
        ):
            weights = network.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.d_loss.update_state(d_loss)
        self.g_loss.update_state(g_loss)
        self.hits.update_state(tf.concat([ones, zeros], 0), tf.concat([real, guess], 0))
        logs = {metric.name: metric.result() for metric in self.metrics}
        return {**logs, "gap": d_loss - tf.reduce_mean(g_loss), "nested": {"two": 2}, "no": fake}


def gan(**more: Any) -> Gan:
    """A compiled one; the same at every call."""
    keras.utils.set_random_seed(3)
    model = Gan()
    model.compile(**more)
    return model


@pytest.mark.parametrize("more", [{}, {"run_eagerly": True}, {"steps_per_execution": 4}])
def test_every_scalar_of_the_users_train_step_is_recorded_with_the_batchs_own_value(
    more: dict[str, Any],
) -> None:
    keras_own = gan(run_eagerly=True)
    own: dict[str, list[float]] = {"d_loss": [], "g_loss": []}
    for at in [*range(0, len(X), BATCH)] * 2:
        keras_own.reset_metrics()
        logs = keras_own.train_step(tf.constant(X[at : at + BATCH]))
        for name, values in own.items():
            values.append(float(logs[name]))
    model = gan(**more)
    before = {name: dict(vars(getattr(model, name))) for name in ("d_loss", "hits")}
    run = ended(model, "run", x=X, batch_size=BATCH, shuffle=False, epochs=2, system=False)
    names = {"d_loss", "g_loss", "gap", "two"}
    batches = {f"batch_{name}" for name in names} | {"running_hits"}
    epochs = {f"epoch_{name}" for name in names | {"hits"}}
    assert set(run.scalars) - RATES == batches | epochs
    every = more.get("steps_per_execution", 1)
    for name, values in own.items():
        points = run.scalars[f"batch_{name}"]
        assert points.steps.tolist() == [*range(every, 2 * STEPS + 1, every)]
        np.testing.assert_allclose(points.values, values[every - 1 :: every], rtol=1e-4)
    assert {name: dict(vars(getattr(model, name))) for name in before} == before
    assert "are arrays have no curve, and cannot be judged: 'no' of" in str(run.status.message)


def test_an_edit_reaches_an_optimizer_that_the_users_step_uses_and_only_these_are_offered() -> None:
    model = gan()
    before = [weight.numpy() for network in (model.D, model.G) for weight in network.weights]
    run = nbtrain.fit(model, X, batch_size=BATCH, name="run", system=False, start=False)
    run.post(Set({"d_opt_learning_rate": 0.0}), at=0)
    run.start().wait(SOON)
    assert run.hyperparameters == {"d_opt_learning_rate": 0.0, "g_opt_learning_rate": 0.1}
    after = [weight.numpy() for network in (model.D, model.G) for weight in network.weights]
    same = [np.array_equal(one, other) for one, other in zip(before, after, strict=True)]
    assert same == [True, True, False, False]


def test_an_optimizer_that_was_given_to_compile_is_offered_beside_those_of_the_step() -> None:
    model = gan(optimizer=keras.optimizers.Adam(0.5))
    run = nbtrain.fit(model, X, batch_size=BATCH, name="run", system=False).wait(SOON)
    assert run.hyperparameters == {
        "learning_rate": 0.5,
        "d_opt_learning_rate": 0.1,
        "g_opt_learning_rate": 0.1,
    }


def test_the_optimizers_within_a_multi_optimizer_are_offered_and_edits_reach_them() -> None:
    optimizers = keras.optimizers
    model = keras.Sequential(
        [keras.Input((COLUMNS,)), keras.layers.Dense(4), keras.layers.Dense(1)]
    )
    rates = optimizers.OptimizerMap(optimizers.SGD(0.1), {".*/kernel": optimizers.SGD(0.2)})
    rates["none"] = optimizers.Adam(0.3)
    model.compile(optimizers.MultiOptimizer(rates), loss="mse")
    kernels = [layer.kernel.numpy() for layer in model.layers]
    run = nbtrain.fit(model, X, X[:, :1], name="run", system=False, start=False)
    run.post(Set({"sgd_learning_rate": 0.0}), at=0)
    run.start().wait(SOON)
    assert run.hyperparameters == {
        "sgd_learning_rate": 0.0,
        "adam_learning_rate": 0.3,
        "sgd_1_learning_rate": 0.1,
    }
    for layer, kernel in zip(model.layers, kernels, strict=True):
        np.testing.assert_array_equal(layer.kernel.numpy(), kernel)
        assert np.any(layer.bias.numpy())


def test_a_nan_loss_of_the_users_train_step_pauses_the_run_at_its_step() -> None:
    x = np.array(X)
    x[2 * BATCH + 1] = np.nan  # of the third batch
    model = gan(run_eagerly=True)
    run = started(model, "run", x=x, batch_size=BATCH, shuffle=False, epochs=50, on_nan="pause")
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    message = run.status.message or ""
    assert "_loss was NaN at step 3." in message
    assert "epoch" not in message.partition(".")[0]
    run.request_stop().wait()
    run.wait()


class Small(keras.Model):
    """A weight and a tracker; the step is given."""

    def __init__(self, step: Callable[[Small, Any], Any]) -> None:
        super().__init__()
        self.weight = self.add_weight(name="weight", initializer="ones")
        self.mine = keras.metrics.Mean("my_loss")
        self._a_step = step

    def train_step(self, data: Any) -> Any:
        """Keras traces it."""
        return self._a_step(self, data)


def small(step: Callable[[Small, Any], Any]) -> Small:
    """A compiled one."""
    model = Small(step)
    model.compile(jit_compile=False)
    return model


def in_a_loop(model: Small, data: Any) -> Any:
    """A step that updates its tracker where no value can be returned from."""

    def body(number: Any) -> Any:
        model.mine.update_state(tf.cast(number, tf.float32))
        return number + 1

    tf.while_loop(lambda number: number < 3, body, [tf.constant(0)])
    return {"my_loss": model.mine.result()}


def twice(model: Small, data: Any) -> Any:
    """A step that updates its tracker twice, once with the loss of each row and a weight."""
    rows = tf.ones_like(data[:, 0])
    model.mine.update_state(model.weight * 5.0)
    model.mine.update_state(rows * 3.0, sample_weight=rows * 0.5)
    return {"my_loss": model.mine.result()}


def inside(model: Small, data: Any) -> Any:
    """A step whose tracker is updated, and asked, in a function of TensorFlow's."""

    @tf.function
    def half() -> Any:
        model.mine.update_state(model.weight * 2.0)
        return model.mine.result()

    return {"my_loss": half()}


@pytest.mark.parametrize(
    ("step", "tag", "value"),
    [
        (in_a_loop, "running_my_loss", 1.0),
        (twice, "batch_my_loss", 4.0),
        (inside, "running_my_loss", 2.0),
    ],
)
def test_a_metric_without_values_per_batch_is_recorded_as_a_running_mean(
    step: Callable[[Small, Any], Any], tag: str, value: float
) -> None:
    run = ended(small(step), "run", x=X[:16], batch_size=BATCH, system=False)
    assert set(run.scalars) - {RATE} == {tag, "epoch_my_loss"}
    assert run.scalars[tag].values.tolist() == [value] * 2


def test_a_train_step_that_returns_no_scalar_is_told_in_the_panel() -> None:
    returning_rows = small(lambda _model, data: {"rows": data})
    run = ended(returning_rows, "run", x=X, y=None, batch_size=BATCH, system=False)
    assert "Small.train_step returns no scalar by name" in (run.status.message or "")
    assert not [tag for tag in run.scalars if tag != RATE]


@pytest.mark.parametrize("eagerly", [False, True])
def test_results_requested_by_a_callback_are_not_kept(eagerly: bool) -> None:
    class Asking(Late):
        results: ClassVar[list[weakref.ref[Any]]] = []
        left = 0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.results.append(weakref.ref(self.model.hits.result()))

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            gc.collect()
            self.left = sum(result() is not None for result in self.results)

    asking = Asking()
    run = ended(gan(run_eagerly=eagerly), "run", asking, x=X, batch_size=BATCH)
    assert len(asking.results) == len(run.scalars["batch_d_loss"]) == STEPS
    assert asking.left == 0


def test_the_users_own_fit_records_them_too() -> None:
    model = gan()

    @nbtrain.background(name="run")
    def run(run: nbtrain.Run) -> None:
        model.fit(X, batch_size=BATCH, verbose=0, callbacks=[nbtrain.RunCallback(run)])

    run.wait()
    assert len(run.scalars["batch_d_loss"]) == len(run.scalars["running_hits"]) == STEPS


class Bare(keras.Model):
    """A variable of TensorFlow's, in no layer; Keras does not know that it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones((COLUMNS, 1)))

    def call(self, inputs: Any) -> Any:
        """Records where the step does not."""
        return tf.matmul(inputs, self.w)

    def train_step(self, data: Any) -> Any:
        """With the compiled optimizer."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(data) ** 2)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return {"loss": loss}


class Unlike(Bare):
    """The step has a use of its own for the data, which `call` cannot have."""

    def call(self, inputs: Any) -> Any:
        """Not for the data of a fit."""
        return tf.matmul(inputs["rows"], self.w)

    def train_step(self, data: Any) -> Any:
        """Call the model as it wants to be called."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self({"rows": data}) ** 2)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return {"loss": loss}


@pytest.mark.parametrize("kind", [Bare, Unlike])
@pytest.mark.parametrize("how", [{"run_eagerly": True}, {"jit_compile": True}, {}])
def test_a_variable_in_no_layer_is_trained_as_keras_trains_it(
    kind: type[Bare], how: dict[str, Any]
) -> None:
    keras_own, model = kind(), kind()
    for each in (keras_own, model):
        each.compile("adam", **how)
    keras_own.fit(X, batch_size=BATCH, shuffle=False, epochs=2, verbose=0)
    run = ended(model, "run", x=X, batch_size=BATCH, shuffle=False, epochs=2)
    assert len(run.scalars["batch_loss"]) == 2 * STEPS
    np.testing.assert_allclose(model.w, keras_own.w, rtol=1e-6)


def test_a_fit_of_such_a_variable_goes_on_from_its_checkpoint_with_its_slots() -> None:
    whole = Bare()
    whole.compile("adam", jit_compile=False)
    whole.fit(X, batch_size=BATCH, shuffle=False, epochs=2, verbose=0)
    for epochs in (1, 2):
        model = Bare()
        model.compile("adam", jit_compile=False)
        ended(model, "run", x=X, batch_size=BATCH, shuffle=False, epochs=epochs)
    np.testing.assert_allclose(model.w, whole.w, rtol=1e-6)
