"""`run.look_inside`: what the layers of a step do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.run.run import Run
from tests.gate import SOON
from tests.models import applied, reached, refused

FEATURES, CLASSES = 6, 3

layers = keras.layers
random = np.random.default_rng(2)
X = random.normal(size=(200, FEATURES)).astype("f")
Y = random.integers(0, CLASSES, 200)


def ended(run: Run) -> None:
    run.request_stop()
    run.wait(SOON)


def fitted(*hidden: Any, optimizer: str = "adam", **options: Any) -> Run:
    """A fit of some layers and an output."""
    model = keras.Sequential([keras.Input((FEATURES,)), *hidden, layers.Dense(CLASSES, name="out")])
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return nbtrain.fit(model, X, Y, batch_size=20, epochs=10**6, **options)


def looked_at(run: Run) -> dict[str, Any]:
    reached(run, lambda run: run.status.step > 2)
    outcome = applied(run.look_inside())
    ended(run)
    return {"text": outcome.text, **outcome.answer}


def named(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {part["name"]: part for part in answer["parts"]}


def test_the_layers_of_a_fit_have_their_numbers() -> None:
    answer = looked_at(
        fitted(
            layers.Dense(8, "relu", name="hidden"),
            layers.BatchNormalization(name="norm"),
            layers.Dropout(0.5),
            layers.Dense(4, "tanh", name="still", trainable=False),
        )
    )
    parts = named(answer)
    assert [*parts] == ["hidden", "norm", "still", "out"]
    hidden, still = parts["hidden"], parts["still"]
    assert (hidden["kind"], hidden["activation"]) == ("Dense", "relu")
    assert hidden["size"] == FEATURES * 8 + 8
    assert 0 < hidden["zeros"] < 1
    assert hidden["rows"] == 20
    assert hidden["gradient"] > 0
    assert 0 < hidden["update"] < 0.1
    assert still["is_frozen"]
    assert "gradient" not in still
    assert "| still (frozen) |" in answer["table"]
    json.dumps(answer, allow_nan=False)


def test_dead_relus_are_named() -> None:
    low = keras.initializers.Constant(-100.0)
    answer = looked_at(fitted(layers.Dense(8, "relu", bias_initializer=low, name="hidden")))
    assert answer["text"].startswith("100% of the units of hidden are 0 in all 20 rows: dead ReLUs")
    assert answer["findings"][0]["names"] == ("hidden",)


def test_gradients_that_vanish_are_named() -> None:
    small = keras.initializers.RandomNormal(0, 0.3, seed=1)
    deep = [
        layers.Dense(8, "sigmoid", kernel_initializer=small, name=f"s{number}")
        for number in range(9)
    ]
    assert "Gradients vanish: s0 gets" in looked_at(fitted(*deep, optimizer="sgd"))["text"]


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
def test_a_layer_that_the_loss_does_not_depend_on_is_named() -> None:
    cut = layers.Lambda(tf.stop_gradient)
    answer = looked_at(fitted(layers.Dense(4, name="cut"), cut))
    assert "No gradient reaches cut: the loss does not depend on it" in answer["text"]


def test_gradients_that_are_very_large_are_told_and_not_infinite() -> None:
    large = keras.initializers.RandomNormal(0, 60.0, seed=1)
    deep = [
        layers.Dense(64, "relu", kernel_initializer=large, name=f"d{number}") for number in range(6)
    ]
    model = keras.Sequential(
        [keras.Input((FEATURES,)), *deep, layers.Dense(1, kernel_initializer=large)]
    )
    model.compile(keras.optimizers.SGD(0.0), "mse")
    run = nbtrain.fit(model, X, np.ones((200, 1), "f"), batch_size=20, epochs=10**6, on_nan=None)
    answer = looked_at(run)
    assert "NaN" not in answer["text"]
    assert 1e20 < named(answer)["d0"]["gradient"] < np.inf


def test_a_single_row_and_a_layer_of_two_inputs_show_no_dead_units() -> None:
    inputs = keras.Input((FEATURES,))
    both = layers.Dense(8, "relu", use_bias=False, name="both")
    joined = layers.Concatenate()([both(inputs), both(layers.Rescaling(-1.0)(inputs))])
    model = keras.Model(inputs, layers.Dense(CLASSES, name="out")(joined))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = np.abs(X), Y
    run = nbtrain.fit(model, *data, batch_size=20, epochs=10**6)
    seen = named(looked_at(run))["both"]
    assert seen["dead"] == 0
    assert seen["rows"] == 40


def test_layers_of_one_name_in_two_models_have_rows_of_their_own() -> None:
    models = [
        keras.Sequential([keras.Input((2,)), layers.Dense(size, name="hidden")], name=name)
        for name, size in (("first", 3), ("second", 1))
    ]
    optimizer = keras.optimizers.SGD(0.1)
    variables = [each for model in models for each in model.trainable_variables]
    optimizer.build(variables)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(model(x) ** 2) for model in models])
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    checkpoint = tf.train.Checkpoint(models=models, optimizer=optimizer)
    run = nbtrain.train(step, data=[tf.ones([4, 2])] * 9, checkpoint=checkpoint)
    parts = named(looked_at(run))
    assert {name: part["size"] for name, part in parts.items()} == {
        "first/hidden": 9,
        "second/hidden": 3,
    }


def test_the_gradient_of_an_embedding_adds_up_what_falls_on_one_row() -> None:
    rate = 1e-3
    model = keras.Sequential(
        [
            keras.Input((50,), dtype="int32"),
            layers.Embedding(10, 4, name="embedding"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(rate), "mse")
    tokens = random.integers(0, 10, (200, 50))
    run = nbtrain.fit(model, tokens, 3 * np.ones((200, 1), "f"), batch_size=20, epochs=10**6)
    seen = named(looked_at(run))["embedding"]
    assert seen["is_sparse"]
    assert seen["update"] * seen["weights"] / rate == pytest.approx(seen["gradient"], rel=1e-2)


def test_a_frozen_layer_is_named_and_has_its_weights() -> None:
    answer = looked_at(fitted(layers.Dense(4, name="still", trainable=False)))
    assert "The step does not train still" in answer["text"]
    assert named(answer)["still"]["weights"] > 0


def test_a_layer_with_weights_and_a_layer_in_it_has_a_row() -> None:
    class Scaled(keras.layers.Layer):
        def build(self, _shape: Any) -> None:
            self.factor = self.add_weight(shape=(), initializer="ones")
            self.drop = layers.Dropout(0.1)

        def call(self, x: Any) -> Any:
            return self.drop(x) * self.factor

    parts = named(looked_at(fitted(Scaled(name="scaled"))))
    assert parts["scaled"]["size"] == 1
    assert "mean" in parts["scaled"]


def test_the_replicas_of_a_strategy_are_refused() -> None:
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        run = fitted(layers.Dense(8, "relu"))
    reached(run, lambda run: run.status.step > 2)
    assert "replicas of a strategy" in refused(run.look_inside()).text
    ended(run)


def test_variables_of_own_code_have_their_updates() -> None:
    weight, rate = tf.Variable(tf.ones([2, 2]), name="weight"), 1e-3

    @tf.function(jit_compile=True)
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = -tf.reduce_sum(weight) * x
        weight.assign_sub(rate * tape.gradient(loss, weight))
        return loss

    run = nbtrain.train(
        step, data=[tf.constant(1.0)] * 9, checkpoint=tf.train.Checkpoint(weight=weight)
    )
    (part,) = looked_at(run)["parts"]
    assert part["name"] == "weight"
    assert part["update"] == pytest.approx(rate * part["gradient"] / part["weights"], rel=1e-2)


def test_variables_without_a_tape_have_their_updates_alone() -> None:
    weight = tf.Variable(tf.ones([2, 2]), name="weight")
    checkpoint = tf.train.Checkpoint(weight=weight)
    run = nbtrain.train(
        lambda x: tf.reduce_sum(weight.assign(weight * x)),
        data=[tf.constant(0.999)] * 9,
        checkpoint=checkpoint,
    )
    (part,) = looked_at(run)["parts"]
    assert part["update"] == pytest.approx(1e-3, rel=1e-2)
    assert "gradient" not in part


def test_a_second_look_has_the_numbers_of_the_first_beside_its_own() -> None:
    run = fitted(layers.Dense(8, "relu", name="hidden"))
    reached(run, lambda run: run.status.step > 2)
    first, second = applied(run.look_inside()), applied(run.look_inside())
    assert "→" not in first.answer["table"]
    assert f"Each number comes after that of step {first.step:,}" in second.answer["table"]
    weights = named(first.answer)["hidden"]["weights"]
    assert f"| hidden | {weights:.3g} → " in second.answer["table"]
    ended(run)


def test_the_table_is_recorded_at_its_step() -> None:
    run = fitted(layers.Dense(8, "relu"))
    reached(run, lambda run: run.status.step > 2)
    outcome = applied(run.look_inside())
    ended(run)
    run.media.tick(to_end=True)
    assert [*map(int, run.media.history("text", "inside").steps)] == [outcome.step]
    text, _ = run.media.value("text", "inside", 0)
    assert outcome.answer["table"] in str(text)


def test_nothing_stays_replaced() -> None:
    before = keras.layers.Layer.__call__, tf.GradientTape.gradient
    looked_at(fitted(layers.Dense(8, "relu")))
    assert (keras.layers.Layer.__call__, tf.GradientTape.gradient) == before


def test_a_run_that_saves_nothing_says_what_it_needs() -> None:
    run = nbtrain.train(lambda _x: {"loss": 1.0}, data=[1.0] * 20)
    assert "start it with checkpoint=" in refused(run.look_inside()).text
    ended(run)
