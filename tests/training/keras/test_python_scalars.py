"""Python numbers of Keras are set while a fit trains, and used from the next batch on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.receipts import Receipt
from nbtrain.keras.fit import FitRun
from nbtrain.keras.python_scalars import PythonScalars
from nbtrain.panel.live.view import fields
from tests.fitted import (
    BATCH,
    COLUMNS,
    KINDS,
    STEPS,
    Late,
    PlainlyAt,
    SetAt,
    StopAt,
    X,
    Y,
    assert_same,
    classifier,
    ended,
    started,
)
from tests.models import applied, refused

layers: Any = keras.layers
AT = 3  # batches before an edit
FEW = 2 * AT  # batches; all have as many rows, so that Keras traces the step once
IN_ORDER: dict[str, Any] = {
    "x": X[: FEW * BATCH],
    "y": Y[: FEW * BATCH],
    "batch_size": BATCH,
    "shuffle": False,
}


def made(optimizer: Any, **options: Any) -> Any:
    """A classifier with this optimizer."""
    model = classifier(dropout=0.5)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, **{"jit_compile": False, **options})
    return model


def sgd() -> Any:
    return keras.optimizers.SGD(0.05, momentum=0.9, weight_decay=0.1)


class Traced(layers.Layer):
    """Passes on, and counts how often it is traced for training; `then` is called at each."""

    def __init__(self, then: Callable[[int], object] = lambda _count: None) -> None:
        super().__init__()
        self.count, self.then = 0, then

    def call(self, x: Any, training: bool = False) -> Any:
        if training and not tf.executing_eagerly():
            self.count += 1
            self.then(self.count)
        return x


def traced(then: Callable[[int], object] = lambda _count: None) -> tuple[Any, Traced]:
    """A model with such a layer, which Keras traces once, and the layer."""
    keras.utils.set_random_seed(3)
    layer = Traced(then)
    inputs = keras.Input((COLUMNS,))
    x = layers.Dropout(0.5)(layer(layers.Dense(8)(inputs)))
    model = keras.Model(inputs, layers.Dense(3)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(sgd(), loss, jit_compile=False)
    return model, layer


# --- what is set is used ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "values"),
    [
        (sgd, {"dropout_rate": 0.0, "momentum": 0.0}),
        (sgd, {"weight_decay": 0.0, "momentum": 0.25, "dropout_rate": 0.75}),
        (lambda: keras.optimizers.AdamW(0.01), {"weight_decay": 0.4}),
        (lambda: keras.optimizers.RMSprop(0.01, momentum=0.9), {"momentum": 0.5}),
        (lambda: keras.optimizers.LossScaleOptimizer(sgd()), {"momentum": 0.5}),
    ],
)
def test_a_batch_is_trained_as_by_plain_keras_with_the_number(
    optimizer: Callable[[], Any], values: dict[str, float]
) -> None:
    model, plain, setting = made(optimizer()), made(optimizer()), SetAt(AT, **values)
    run = ended(model, "run", setting, **IN_ORDER)
    plain.fit(**IN_ORDER, verbose=0, callbacks=[PlainlyAt(AT, **values)])
    assert_same(model, plain)
    assert applied(setting.receipts[0]).step == AT
    assert values.items() <= run.hyperparameters.items()


@pytest.mark.parametrize("case", ["executions", "eager", "compiled by XLA", "own step"])
def test_a_number_is_used_however_the_step_is_made(case: str) -> None:
    class Own(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            return {"loss": loss}

    options: Any = {
        "executions": {"steps_per_execution": AT},
        "eager": {"run_eagerly": True},
        "compiled by XLA": {"jit_compile": True},
    }.get(case, {})

    def model() -> Any:
        each = made(sgd(), **options)
        if case == "own step":
            each = Own([keras.Input((COLUMNS,)), *each.layers])
            each.compile(sgd(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return each

    one, plain = model(), model()
    setting = SetAt(1 if case == "executions" else AT, dropout_rate=0.25, weight_decay=0.4)
    ended(one, "run", setting, **IN_ORDER)
    values = {"dropout_rate": 0.25, "weight_decay": 0.4}
    plain.fit(**IN_ORDER, verbose=0, callbacks=[PlainlyAt(AT, **values)])
    assert applied(setting.receipts[0]).step == AT
    assert_same(one, plain)


@functools.cache
def edited() -> FitRun:
    """A run in which a rate was set to 0, made once for all tests."""
    return ended(made(sgd()), "run", SetAt(AT, dropout_rate=0.0), **IN_ORDER)


def test_every_batch_is_still_recorded_with_its_own_loss() -> None:
    assert edited().scalars["batch_loss"].steps.tolist() == [*range(1, FEW + 1)]
    assert len({*edited().scalars["batch_loss"].values}) == FEW


# --- tracing ---------------------------------------------------------------------------------


def test_a_step_is_traced_once_until_a_value_is_set() -> None:
    model, layer = traced()
    run = ended(model, "run", SetAt(AT, dropout_rate=0.5, learning_rate=0.1), **IN_ORDER, epochs=2)
    assert run.hyperparameters["learning_rate"] == 0.1
    assert layer.count == 1


def test_several_numbers_of_one_edit_have_it_traced_once_again() -> None:
    model, layer = traced()
    ended(model, "run", SetAt(AT, dropout_rate=0.1, momentum=0.1, weight_decay=0.2), **IN_ORDER)
    assert layer.count == 2


def test_a_stop_while_the_step_is_traced_again_is_done_after_its_batch() -> None:
    stops: list[Receipt] = []

    def then(_count: int) -> None:
        if setting.receipts:
            stops.append(setting.run.request_stop())

    setting = SetAt(AT, dropout_rate=0.75)
    model, _ = traced(then)
    run = ended(model, "run", setting, **IN_ORDER)
    assert applied(setting.receipts[0]).text == "dropout_rate 0.5 → 0.75"
    assert applied(stops[0]).step == AT + 1
    assert (run.status.phase, run.status.step) == ("stopped", AT + 1)


def test_a_number_is_set_again_while_the_step_is_traced() -> None:
    again: list[Receipt] = []

    def then(_count: int) -> None:
        if setting.receipts and not again:
            again.append(setting.run.set(dropout_rate=0.25))

    setting = SetAt(AT, dropout_rate=0.75)
    model, _ = traced(then)
    ended(model, "run", setting, **IN_ORDER)
    outcome = applied(again[0])
    assert (outcome.step, outcome.text) == (AT + 1, "dropout_rate 0.75 → 0.25")


# --- saved and restored ----------------------------------------------------------------------

EDIT = {"dropout_rate": 0.2, "weight_decay": 0.4, "momentum": 0.5}


def test_a_run_goes_on_with_the_numbers_that_were_set() -> None:
    """After a break in the epoch of the edit, and after one in the next epoch."""
    whole, again = made(sgd()), made(sgd())
    ended(whole, "whole", SetAt(AT, **EDIT), **KINDS["arrays"](), epochs=2)
    ended(made(sgd()), "run", SetAt(AT, **EDIT), StopAt(AT + 3), **KINDS["arrays"](), epochs=2)
    ended(made(sgd()), "run", StopAt(STEPS - AT), **KINDS["arrays"](), epochs=2)
    run = ended(again, "run", **KINDS["arrays"](), epochs=2)
    assert run.status.message is None
    assert EDIT.items() <= run.hyperparameters.items()
    assert_same(again, whole)


@functools.cache
def unedited() -> Any:
    """A model that was fitted without an edit, made once for all tests."""
    model = made(sgd())
    ended(model, "whole", **IN_ORDER)
    return model


def test_the_same_model_goes_on_after_its_numbers_were_set_to_zero() -> None:
    zero = dict.fromkeys(EDIT, 0.0)
    whole, model = made(sgd()), made(sgd())
    ended(whole, "whole", SetAt(AT, **zero), SetAt(AT + 3, **EDIT), **KINDS["arrays"]())
    ended(model, "run", SetAt(AT, **zero), StopAt(AT + 3), **KINDS["arrays"]())
    run = started(model, "run", Asking(**EDIT), **KINDS["arrays"]())
    run.wait()
    assert EDIT.items() <= run.hyperparameters.items()
    assert_same(model, whole)


class Asking(Late):
    """Sets hyperparameters before the first batch."""

    def __init__(self, **values: float) -> None:
        super().__init__()
        self._values = values

    def on_train_begin(self, logs: Any = None) -> None:
        self.run.set(**self._values)


class Back(Late):
    """Saves, then sets, then restores what was saved; each after so many batches."""

    def __init__(self, **values: float) -> None:
        super().__init__()
        self._values, self._count = values, 0
        self.seen: list[dict[str, float]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._count += 1
        if self._count == 2:
            self.run.save()
        if self._count == AT:
            self.run.set(**self._values)
        if self._count == AT + 2:
            self.seen.append(self.run.hyperparameters)
            self.run.restore(2)
        if self._count == AT + 3:
            self.seen.append(self.run.hyperparameters)


def test_a_restore_brings_back_the_numbers_of_its_step() -> None:
    model, back = made(sgd()), Back(**EDIT)
    ended(model, "run", back, **IN_ORDER)
    before = {"dropout_rate": 0.5, "weight_decay": 0.1, "momentum": 0.9}
    assert EDIT.items() <= back.seen[0].items()
    assert before.items() <= back.seen[1].items()
    assert_same(model, unedited())


class Trying(Late):
    """Tries another dropout rate for two batches, in vain."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == AT - 1 and not hasattr(self, "receipt"):
            self.receipt = self.run.trial(
                dropout_rate=0.2, steps=2, keep_if=lambda _before, _after: False
            )


def test_a_trial_that_goes_back_has_the_old_rate_again() -> None:
    model, trying = made(sgd()), Trying()
    ended(model, "run", trying, **IN_ORDER)
    assert f"back to step {AT}, dropout_rate 0.5 again" in applied(trying.receipt).text
    assert_same(model, unedited())


def test_a_checkpoint_of_other_layers_leaves_the_rates_and_says_so() -> None:
    ended(made(sgd()), "run", SetAt(AT, **EDIT), StopAt(AT + 1), **IN_ORDER)
    model = made(sgd())
    model.layers[1].rate = 0.3
    other = keras.Sequential([*model.layers, layers.Dropout(0.1)])
    other.compile(sgd(), model.loss)
    run = ended(other, "run", **IN_ORDER)
    assert "Not as in the checkpoint: dropout_rate of 1 there and of 2 here" in str(
        run.status.message
    )
    assert (other.layers[1].rate, other.optimizer.momentum) == (0.3, 0.5)


def test_a_number_built_as_0_stays_0_and_is_named() -> None:
    ended(made(sgd()), "run", StopAt(AT), **IN_ORDER)
    model = classifier(dropout=0.0)
    model.compile(sgd(), model.loss)
    run = ended(model, "run", **IN_ORDER)
    assert "dropout_rate 0.5 of dropout, which was built with 0" in str(run.status.message)
    assert "dropout_rate" not in run.hyperparameters


@pytest.mark.parametrize("way", ["set", "restored"])
def test_the_numbers_stay_in_the_next_cell(way: str) -> None:
    def still() -> Any:
        return made(keras.optimizers.SGD(0.0))

    model, setting = still(), SetAt(AT, dropout_rate=0.0)
    model.fit(**IN_ORDER, verbose=0)  # traced with what was before
    ended(model if way == "set" else still(), "run", setting, StopAt(AT + 1), **IN_ORDER)
    if way == "restored":
        ended(model, "run", **IN_ORDER)
    assert model.layers[1].rate == 0.0
    trained = model.fit(**IN_ORDER, verbose=0).history["loss"]
    x, y = IN_ORDER["x"], IN_ORDER["y"]
    np.testing.assert_allclose(trained, model.evaluate(x, y, BATCH, verbose=0)[:1], rtol=1e-5)


# --- names -----------------------------------------------------------------------------------


def names(*given: Any, optimizer: Any = "adam", **options: Any) -> dict[str, float]:
    """Returns the hyperparameters found in a model of these layers."""
    model = keras.Sequential([keras.Input((4, 4), **options), *given])
    model.compile(optimizer)
    return {name: held.read() for name, held in PythonScalars(model).held.items()}


def test_the_rates_of_keras_layers_are_found() -> None:
    for layer in (
        layers.Dropout(0.1),
        layers.SpatialDropout1D(0.1),
        layers.GaussianDropout(0.1),
        layers.AlphaDropout(0.1),
    ):
        assert names(layer, layers.Flatten()) == {"dropout_rate": 0.1}
    assert names(layers.LSTM(2, dropout=0.1, recurrent_dropout=0.2)) == {
        "dropout": 0.1,
        "recurrent_dropout": 0.2,
    }
    assert names(layers.Bidirectional(layers.GRU(2, dropout=0.1))) == {"dropout": 0.1}


def test_layers_of_one_rate_have_one_hyperparameter_that_sets_all() -> None:
    block = keras.Sequential([layers.Dense(4), layers.Dropout(0.25)])
    shared = layers.Dropout(0.25)
    inner = [layers.Dropout(0.25) for _ in range(40)]
    model = keras.Sequential([keras.Input((4,)), block, shared, *inner, shared])
    model.compile("adam")
    held = PythonScalars(model).held
    assert list(held) == ["dropout_rate"]
    held["dropout_rate"].write(0.5)
    assert {block.layers[1].rate, shared.rate, *(each.rate for each in inner)} == {0.5}


def test_layers_of_other_rates_have_the_name_of_the_first() -> None:
    for _ in range(2):  # where Keras counts on, names stay
        assert names(layers.Dropout(0.1), layers.Dropout(0.2), layers.Dropout(0.1)) == {
            "dropout_rate": 0.1,
            "dropout_1_rate": 0.2,
        }
    assert names(
        layers.Dropout(0.1, name="drop-a"),
        keras.Sequential([layers.Dropout(0.2, name="drop-b")]),
        keras.Sequential([layers.Dropout(0.3, name="drop-b")]),
        layers.LSTM(2, dropout=0.1, return_sequences=True),
        layers.LSTM(2, dropout=0.3, name="last"),
    ) == {
        "drop_a_dropout_rate": 0.1,
        "drop_b_dropout_rate": 0.2,
        "drop_b_2_dropout_rate": 0.3,
        "lstm_dropout": 0.1,
        "last_dropout": 0.3,
    }


def test_a_number_without_effect_is_not_found() -> None:
    optimizer = keras.optimizers.SGD(0.1)
    assert names(layers.Dropout(0.0), layers.LSTM(2), optimizer=optimizer) == {}
    assert names(layers.Dense(2), optimizer=keras.optimizers.AdamW()) == {"weight_decay": 0.004}


def test_given_hyperparameters_precede_found_ones() -> None:
    own = tf.Variable(0.25)
    run = ended(made(sgd()), "run", **IN_ORDER, hyperparameters={"dropout_rate": own})
    assert run.hyperparameters == {
        "learning_rate": 0.05,
        "dropout_rate": 0.25,
        "weight_decay": 0.1,
        "momentum": 0.9,
    }


def test_the_panel_has_a_row_of_each() -> None:
    shown: Any = fields(edited().status)["hyperparameters"]
    rows = {name: row for name, *row in shown}
    assert list(rows) == ["learning_rate", "weight_decay", "momentum", "dropout_rate"]
    assert rows["dropout_rate"] == rows["momentum"] == [0.0, 0.99, "linear"]
    assert rows["weight_decay"] == [1e-3, 10.0, "log"]


# --- refused ---------------------------------------------------------------------------------


class Fixed(keras.optimizers.SGD):
    """Lets its momentum be set but once."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "momentum" and hasattr(self, "momentum"):
            raise AttributeError("it is read-only")
        super().__setattr__(name, value)


def test_setting_an_impossible_value_is_refused_and_changes_nothing() -> None:
    def model() -> Any:
        return made(Fixed(0.05, momentum=0.9, weight_decay=0.1))

    refusals: list[tuple[dict[str, float], str]] = [
        ({"dropout_rate": 1.0}, "dropout_rate=1: give 0 or more, and less than 1"),
        ({"momentum": -0.1}, "momentum=-0.1: give 0 or more, and less than 1"),
        ({"weight_decay": -1.0}, "weight_decay=-1: give 0 or more"),
        ({"dropout_rate": float("nan")}, "dropout_rate=nan: give a finite number"),
        (
            {"weight_decay": 0.3, "momentum": 0.5},
            "momentum of Fixed cannot be set (it is read-only)",
        ),
    ]
    one, plain = model(), model()
    settings = [SetAt(at, **values) for at, (values, _) in enumerate(refusals, 1)]
    run = ended(one, "run", *settings, **IN_ORDER)
    plain.fit(**IN_ORDER, verbose=0)
    for setting, (_, words) in zip(settings, refusals, strict=True):
        assert words in refused(setting.receipts[0]).text
    assert_same(one, plain)
    assert run.hyperparameters["weight_decay"] == 0.1
    assert run.status.step == FEW


def test_a_layer_that_keeps_a_trace_of_its_own_is_refused() -> None:
    class Kept(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inside = layers.Dropout(0.5)

        @tf.function
        def call(self, x: Any, training: bool = False) -> Any:
            return self.inside(x, training=training)

    model = keras.Sequential([keras.Input((COLUMNS,)), Kept(), layers.Dense(3)])
    model.compile(sgd(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    kept, free = SetAt(AT, dropout_rate=0.1), SetAt(AT, momentum=0.1)
    run: FitRun = ended(model, "run", kept, free, **IN_ORDER)
    assert "is fixed in Kept.call, a tf.function" in refused(kept.receipts[0]).text
    assert applied(free.receipts[0]).text == "momentum 0.9 → 0.1"
    assert run.hyperparameters["dropout_rate"] == 0.5


def test_a_momentum_without_momenta_is_refused() -> None:
    optimizer = sgd()
    model = made(optimizer)
    held = PythonScalars(model).held["momentum"]
    held.write(0.0)
    optimizer.build(model.trainable_variables)
    with pytest.raises(ArgumentError, match="SGD was built while its momentum was 0"):
        held.write(0.5)
