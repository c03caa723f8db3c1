"""`run.why_nan` of a Keras fit: the same batches are taken again, and the fit goes on as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import WhyNan
from nbtrain.core.states import Phase
from nbtrain.keras.fit import FitRun
from tests.gate import SOON, Gate
from tests.models import applied, reached, refused
from tests.training.faulty import BATCH, line_of

ROWS = 20 * BATCH
BAD = 77  # the row whose target is 0


def log_loss(y: Any, p: Any) -> Any:
    """Is infinite for a target of 0, and has a finite gradient."""
    logs = tf.math.log(y)
    return (p - y) ** 2 - tf.stop_gradient(logs)


def rows(bad: float = 0.0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(3)
    x = random.normal(size=(ROWS, 3)).astype("f")
    y = random.uniform(0.5, 1.5, size=(ROWS, 1)).astype("f")
    y[BAD] = bad
    return x, y


def model(kind: Callable[..., Any] = keras.Sequential, **compiled: Any) -> Any:
    keras.utils.set_random_seed(1)
    layers = keras.layers
    made = kind(
        [
            keras.Input((3,)),
            layers.Dense(8, "relu", name="first"),
            layers.Dropout(0.25, seed=2),
            layers.Dense(1, name="last"),
        ]
    )
    made.compile(**{"optimizer": "adam", "loss": log_loss, "metrics": ["mae"], **compiled})
    return made


def fit(trained: Any, *data: Any, **options: Any) -> FitRun:
    size = {"batch_size": BATCH} if len(data) > 1 else {}  # a dataset has batches
    return nbtrain.fit(trained, *data, **{"epochs": 10**6, **size, **options})


def at_nan(trained: Any, *data: Any, **options: Any) -> FitRun:
    run = fit(trained, *data, **options)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    return run


def state(trained: Any) -> list[np.ndarray[Any, Any]]:
    """Every number that the fit changes."""
    metrics = [each for metric in trained.metrics for each in metric.variables]
    return [each.numpy() for each in (*trained.variables, *trained.optimizer.variables, *metrics)]


def same(before: list[Any], after: list[Any]) -> None:
    for was, now in zip(before, after, strict=True):
        np.testing.assert_array_equal(was, now)


def ended(run: FitRun) -> None:
    run.request_stop()
    run.wait(SOON)


class OwnStep(keras.Sequential):
    """A model with a train step of its own."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(log_loss(y, self(x, training=True)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def shuffled() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(rows()).shuffle(ROWS, seed=5).batch(BATCH)


FITS: dict[str, tuple[Callable[..., Any], dict[str, Any], Callable[[], Any]]] = {
    "arrays": (model, {}, rows),
    "a dataset": (model, {}, lambda: (shuffled(),)),
    "eager": (model, {"run_eagerly": True}, rows),
    "XLA": (model, {"jit_compile": True}, rows),
    "a step of its own": (lambda **compiled: model(OwnStep, **compiled), {"metrics": None}, rows),
}


@pytest.mark.parametrize("kind", FITS)
def test_the_line_is_found_and_the_fit_is_as_before(kind: str) -> None:
    make, compiled, data = FITS[kind]
    trained = make(**compiled)
    run = at_nan(trained, *data())
    before, step = state(trained), run.status.step
    outcome = applied(run.why_nan())
    line = line_of(log_loss, "log(")
    assert outcome.text.startswith(f"log of 0 in log_loss (test_fit_why_nan.py, line {line})")
    scalars = next(run.scalars[tag] for tag in ("batch_loss", "loss") if tag in run.scalars)
    first = int(scalars.steps[~np.isfinite(scalars.values)][0])
    assert (outcome.answer["step"], run.status.step) == (first, step)
    assert outcome.answer["share"] == f"1 of {BATCH} values is 0"
    same(before, state(trained))
    ended(run)


def test_several_batches_of_an_execution_are_watched_at_once() -> None:
    trained = model(steps_per_execution=4)
    run = at_nan(trained, *rows(), shuffle=False)
    before = state(trained)
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("log of 0 in log_loss")
    end = -(-(BAD // BATCH + 1) // 4) * 4
    assert outcome.answer["step"] == end
    same(before, state(trained))
    ended(run)


def test_a_fit_that_was_asked_ends_as_one_that_was_not() -> None:
    """Callbacks have seen the same calls, and changed the same."""
    states: list[Any] = []
    results: list[Any] = []
    for asks in (False, True):
        calls: list[str] = []

        class Calls(keras.callbacks.Callback):
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                calls.append(f"{batch}: {logs['loss']}")  # noqa: B023 - this turn's

            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                calls.append(f"{epoch}: {sorted(logs.items())}")  # noqa: B023 - this turn's

        def rate(epoch: int) -> float:
            return 1e-3 / (1 + epoch)

        trained = model()
        run = fit(
            trained,
            *rows(),
            callbacks=[keras.callbacks.LearningRateScheduler(rate), Calls()],
            validation_data=rows(1.0),
            epochs=3,
            name=f"asks-{asks}",
        )
        answers = []
        while not run.status.phase.ended:
            reached(run, lambda run: run.status.phase is Phase.PAUSED or run.status.phase.ended)
            if run.status.phase.ended:
                break
            if asks:
                answers.append(applied(run.why_nan()).text)
            run.resume().wait(SOON)
        run.wait(SOON)
        assert len(answers) >= asks
        assert all(text.startswith("log of 0 in log_loss") for text in answers)
        states.append(state(trained))
        results.append((run.scalars["batch_loss"].values.tolist(), run.history, calls))
    same(*states)
    assert results[0] == results[1]


def test_a_rate_that_a_callback_has_set_is_set_again() -> None:
    def rate(epoch: int) -> float:
        return 1e-3 if epoch < 1 else 1e25

    trained = model(loss="mse", optimizer=keras.optimizers.SGD(1e-3))
    callbacks = [keras.callbacks.LearningRateScheduler(rate)]
    run = at_nan(trained, *rows(1.0), callbacks=callbacks)
    before = state(trained)
    outcome = applied(run.why_nan())
    scalars = run.scalars["batch_loss"]
    assert outcome.answer["step"] == int(scalars.steps[~np.isfinite(scalars.values)][0])
    assert outcome.text.startswith("overflow of ")
    assert float(trained.optimizer.learning_rate.numpy()) == np.float32(1e25)
    same(before, state(trained))
    ended(run)


def test_an_operation_of_keras_is_named_by_its_layer_or_loss() -> None:
    class Large(keras.layers.Dense):
        """A layer whose operations have no line of this program."""

        call = keras.layers.Dense.call

    trained = keras.Sequential(
        [keras.Input((3,)), Large(4, kernel_initializer=lambda *_, **__: np.full((3, 4), 1e38))]
    )
    trained.layers[0].name = "large"
    trained.compile("sgd", "mse")
    x, y = rows(1.0)
    run = at_nan(trained, 100 * np.abs(x) + 10, y)
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("overflow of MatMul in float32 in layer large at step 1")
    assert outcome.answer["layer"] == "large"
    ended(run)


def test_batches_that_cannot_be_drawn_again_are_left_alone() -> None:
    random = np.random.default_rng(1)

    def batches() -> Iterator[Any]:
        for number in range(10**9):
            y = random.uniform(0.5, 1.5, size=(BATCH, 1)).astype("f")
            y[0] *= number != 20
            yield random.normal(size=(BATCH, 3)).astype("f"), y

    trained = model()
    run = at_nan(trained, batches(), steps_per_epoch=100)
    assert all(action.command != WhyNan() for action in run.actions())
    text = refused(run.why_nan()).text
    assert "could not come back: a generator cannot go back" in text
    assert "tf.data.Dataset" in text
    ended(run)


def test_a_stop_ends_the_question() -> None:
    gate, asked = Gate(), [False]

    def slow_loss(y: Any, p: Any) -> Any:
        tf.py_function(lambda: gate() if asked[0] else None, [], [])
        return log_loss(y, p)

    trained = model(loss=slow_loss)
    run = at_nan(trained, *rows())
    before, step = state(trained), run.status.step
    asked[0] = True
    receipt = run.why_nan()
    gate.wait_for_arrivals()
    run.request_stop()
    gate.open()
    assert "asked to stop before the answer was found" in refused(receipt).text
    run.wait(SOON)
    assert run.status.step == step
    same(before, state(trained))


def test_the_question_is_offered_and_a_fit_of_ones_own_refuses_it() -> None:
    run = at_nan(model(), *rows(), name="offered")
    assert any(action.command == WhyNan() for action in run.actions())
    ended(run)
    trained = model()

    @nbtrain.background(checkpoint=tf.train.Checkpoint(model=trained), name="own")
    def own(run: Any) -> None:
        trained.fit(*rows(), epochs=10**6, verbose=0, callbacks=[nbtrain.RunCallback(run)])

    reached(own, lambda run: run.status.phase is Phase.PAUSED)
    assert all(action.command != WhyNan() for action in own.actions())
    assert "nbtrain.fit, or a loop over" in refused(own.why_nan()).text
    ended(own)


class Shuffled(keras.utils.PyDataset):
    """Batches that the user's own code shuffles after each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self._x, self._y = rows()
        self.random = np.random.default_rng(5)
        self._order = self.random.permutation(ROWS)

    def __len__(self) -> int:
        return ROWS // BATCH

    def __getitem__(self, at: int) -> Any:
        chosen = self._order[BATCH * at : BATCH * (at + 1)]
        return self._x[chosen], self._y[chosen]

    def on_epoch_end(self) -> None:
        self._order = self.random.permutation(ROWS)


def test_an_order_that_nobody_can_undo_is_left_alone() -> None:
    run = at_nan(model(), Shuffled())
    text = refused(run.why_nan()).text
    assert "nobody can undo what Shuffled.on_epoch_end has changed" in text
    ended(run)


def test_gradients_that_a_loss_scale_makes_infinite_are_no_fault() -> None:
    scaled = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(), initial_scale=2.0**40)
    trained = model(optimizer=scaled)
    for layer in trained.layers:
        layer.dtype_policy = keras.dtype_policies.DTypePolicy("mixed_float16")
    run = at_nan(trained, *rows())
    assert applied(run.why_nan()).text.startswith("log of 0 in log_loss")
    ended(run)
