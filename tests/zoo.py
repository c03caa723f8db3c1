"""Models and optimizers as people write them, each with a step, to be saved and restored.

made = ZOO["layers in a list"]()
made.objects         # for tf.train.Checkpoint(**made.objects)
made.step((x, y))    # {"loss": ...}
made.numbers()       # every number that the steps have changed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.engines.named_variables import survey

STEPS = 8
_RNG = np.random.default_rng(0)
BATCHES = [
    (_RNG.normal(size=(4, 2)).astype("f"), _RNG.normal(size=(4, 1)).astype("f"))
    for _ in range(STEPS)
]

Dense = keras.layers.Dense


class Made:
    """A training: what to save of it, and its step."""

    def __init__(
        self,
        call: Callable[..., Any],
        optimizer: Any = None,
        *,
        build: bool = False,
        compiled: bool = True,
        weights: Callable[[], Sequence[Any]] | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self._call = call, call
        # Keras traces a fraction of the operations of Adam, which other kinds have.
        default = keras.optimizers.SGD(0.05, momentum=0.9)
        self.optimizer = default if optimizer is None else optimizer
        self._weights = weights or (lambda: self.model.trainable_variables)  # type: ignore[attr-defined]
        self.objects = dict(given or {"model": call, "optimizer": self.optimizer})
        if build:
            self.model(BATCHES[0][0])
        self.step: Callable[[Any], dict[str, Any]] = (
            tf.function(self.eager_step) if compiled else self.eager_step
        )

    def build(self) -> None:
        """Creates all variables of the model and the optimizer."""
        self.model(BATCHES[0][0])
        self.optimizer.build(self._weights())

    def eager_step(self, batch: Any) -> dict[str, Any]:
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self._call(x, training=True) - y) ** 2)
            scaled = getattr(self.optimizer, "scale_loss", lambda loss: loss)(loss)
        weights = self._weights()
        self.optimizer.apply(tape.gradient(scaled, weights), weights)
        return {"loss": loss}

    def numbers(self) -> dict[str, Any]:
        """All values, by name."""
        found = survey(self.objects).variables
        return {name: np.asarray(each.numpy()) for name, each in found.items()}


class Chain(keras.Model):
    """Calls layers one after the other, wherever they are kept."""

    def __init__(self, keep: Callable[[Any], Callable[[], Sequence[Any]]]) -> None:
        super().__init__()
        self._kept = keep(self)

    def call(self, x: Any, training: bool = False) -> Any:
        for layer in self._kept():
            takes = isinstance(
                layer, (keras.layers.Dropout, keras.layers.BatchNormalization, Chain)
            )
            x = layer(x, training=training) if takes else layer(x)
        return x


# Layers that train otherwise than they predict.
TRAINED = keras.layers.Dropout, keras.layers.BatchNormalization, Chain


def in_list(*layers: Callable[[], Any]) -> Callable[[], Chain]:
    """A model whose layers stand in a list."""

    def keep(model: Any) -> Any:
        model.blocks = [layer() for layer in layers]
        return lambda: model.blocks

    return lambda: Chain(keep)


class OwnStep(Chain):
    """A model with a `train_step` of its own, which uses an optimizer besides Keras's."""

    def __init__(self) -> None:
        super().__init__(_in_blocks)
        self.others = [keras.optimizers.SGD(0.02, momentum=0.9)]

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        first, last = self.blocks
        weights = [*first.trainable_variables, *last.trainable_variables]
        gradients = tape.gradient(loss, weights)
        self.others[0].apply(gradients[:2], first.trainable_variables)
        self.optimizer.apply(gradients[2:], last.trainable_variables)
        return {"loss": loss}


def _in_blocks(model: Any) -> Any:
    model.blocks = [Dense(4, "relu"), Dense(1)]
    return lambda: model.blocks


def two() -> list[Any]:
    """Two layers."""
    return [Dense(4, "relu"), Dense(1)]


def in_dict(model: Any) -> Any:
    model.parts = {"first": [Dense(4, "tanh")], "last": {"head": Dense(1)}}
    return lambda: [model.parts["first"][0], model.parts["last"]["head"]]


def in_attributes(model: Any) -> Any:
    model.first, model.last = two()
    return lambda: (model.first, model.last)


def in_set(model: Any) -> Any:
    model.only = {Dense(1)}
    return lambda: list(model.only)


def nested(model: Any) -> Any:
    model.parts = [(in_list(lambda: Dense(3))(), [in_list(*map(_layer, (4, 1)))()])]
    return lambda: [model.parts[0][0], model.parts[0][1][0]]


def _layer(units: int) -> Callable[[], Any]:
    return lambda: Dense(units)


def shared(model: Any) -> Any:
    model.one = Dense(2, "tanh")
    model.again = [model.one, Dense(1), model.one]
    return lambda: [model.one, *model.again[::2], model.again[1]]


class Custom(keras.layers.Layer):
    """A layer of the user's own with layers in a list, and a generator of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = [Dense(3), Dense(2)]
        self.draws = keras.random.SeedGenerator()

    def call(self, x: Any) -> Any:
        for layer in self.inner:
            x = layer(x)
        return x + 0.1 * keras.random.normal(tf.shape(x), seed=self.draws)


def functional() -> Any:
    inputs = keras.Input((2,))
    return keras.Model(inputs, Dense(1)(Custom()(inputs)))


class Sparse(keras.Model):
    """A layer that takes part in every fourth step only, so that it is built late."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__()
        self.blocks, self._of = [Dense(1), Dense(1)], [optimizer]

    def call(self, x: Any, training: bool = False) -> Any:
        made = self.blocks[0](x)
        return made + self.blocks[1](x) if int(self._of[0].iterations) % 4 == 1 else made


class Plain(tf.Module):
    """Variables of TensorFlow, created by the first call."""

    def __init__(self, *, late: bool) -> None:
        super().__init__()
        self.kept: dict[str, Any] = {}
        self.layers = [Dense(2)]
        if not late:
            self._create()

    def _create(self) -> None:
        self.weight = tf.Variable(tf.random.normal((2, 1)))
        self.kept["bias"] = tf.Variable([0.0])

    def __call__(self, x: Any, training: bool = False) -> Any:
        if not hasattr(self, "weight"):
            with tf.init_scope():
                self._create()
        return self.layers[0](x) @ self.weight + self.kept["bias"]

    def weights(self) -> list[Any]:
        return [*self.layers[0].trainable_variables, self.weight, self.kept["bias"]]


def plain(*, late: bool) -> Made:
    module, optimizer = Plain(late=late), keras.optimizers.Adam(0.05)
    return Made(module, optimizer, weights=module.weights, compiled=not late)


def sparse() -> Made:
    optimizers = [keras.optimizers.SGD(0.05), keras.optimizers.SGD(0.05)]
    model = Sparse(optimizers[0])
    made = Made(model, optimizers[0], compiled=False)
    made.objects = {"model": model, "optimizer": optimizers[0], "others": optimizers[1:]}

    def step(batch: Any) -> dict[str, Any]:
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        first = model.blocks[0].trainable_variables
        rest = model.blocks[1].trainable_variables
        gradients = tape.gradient(loss, [*first, *rest])
        used = [(g, v) for g, v in zip(gradients[2:], rest, strict=True) if g is not None]
        for gradient, variable in used:
            variable.assign_sub(0.05 * gradient)
        optimizers[0].apply(gradients[:2], first)
        return {"loss": loss}

    made.step = step
    return made


def pair() -> Made:
    """Two networks in a list, with an optimizer each, as a GAN has them."""
    models = [in_list(*map(_layer, (3, 2)))(), in_list(*map(_layer, (3, 1)))()]
    optimizers = {"g": keras.optimizers.SGD(0.02, momentum=0.9), "d": keras.optimizers.Adam(0.02)}
    made = Made(models[0], optimizers["g"])
    made.objects = {"models": models, "optimizers": optimizers}

    def step(batch: Any) -> dict[str, Any]:
        x, y = batch
        with tf.GradientTape(persistent=True) as tape:
            made_up = models[0](x, training=True)
            loss = tf.reduce_mean((models[1](made_up, training=True) - y) ** 2)
        for model, optimizer in zip(models, optimizers.values(), strict=True):
            weights = model.trainable_variables
            optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}

    made.step = tf.function(step)
    return made


def multi() -> Any:
    return keras.optimizers.MultiOptimizer(
        keras.optimizers.OptimizerMap(
            keras.optimizers.Adam(0.05), {".*kernel": keras.optimizers.SGD(0.05, momentum=0.9)}
        )
    )


def frozen() -> Made:
    model = in_list(lambda: Dense(3, trainable=False), lambda: Dense(1))()
    return Made(model, build=True)


def root() -> Made:
    made = Made(in_list(*map(_layer, (3, 1)))())
    made.objects = {"root": made.model, "optimizer": made.optimizer}
    return made


def without_an_optimizer() -> Made:
    made = Made(in_list(*map(_layer, (3, 1)))(), keras.optimizers.SGD(0.05))
    made.objects = {"model": made.model}
    return made


rnn = keras.layers.RNN
ZOO: dict[str, Callable[[], Made]] = {
    "layers in a list": lambda: Made(in_list(*map(_layer, (4, 1)))(), keras.optimizers.Adam(0.05)),
    "layers in a list, built": lambda: Made(in_list(*map(_layer, (4, 1)))(), build=True),
    "layers in a list, eager": lambda: Made(in_list(*map(_layer, (4, 1)))(), compiled=False),
    "layers in dicts": lambda: Made(Chain(in_dict)),
    "layers as attributes": lambda: Made(Chain(in_attributes)),
    "layers as attributes, built": lambda: Made(Chain(in_attributes), build=True),
    "a layer in a set": lambda: Made(Chain(in_set)),
    "models in models": lambda: Made(Chain(nested)),
    "a shared layer": lambda: Made(Chain(shared)),
    "Sequential without an input": lambda: Made(keras.Sequential(two()), compiled=False),
    "Sequential in a list": lambda: Made(in_list(lambda: keras.Sequential(two()))()),
    "functional with a layer of one's own": lambda: Made(functional()),
    "Bidirectional": lambda: Made(
        in_list(
            lambda: keras.layers.Reshape((2, 1)),
            lambda: keras.layers.Bidirectional(keras.layers.GRU(2)),
            lambda: Dense(1),
        )(),
    ),
    "TimeDistributed": lambda: Made(
        in_list(
            lambda: keras.layers.Reshape((2, 1)),
            lambda: keras.layers.TimeDistributed(Dense(2)),
            lambda: keras.layers.Flatten(),
            lambda: Dense(1),
        )(),
    ),
    "a stateful RNN": lambda: Made(
        in_list(
            lambda: keras.layers.Reshape((2, 1)),
            lambda: keras.layers.SimpleRNN(2, stateful=True),
            lambda: Dense(1),
        )(),
        compiled=False,
    ),
    "BatchNormalization": lambda: Made(
        in_list(lambda: Dense(3), keras.layers.BatchNormalization, lambda: Dense(1))()
    ),
    "Dropout": lambda: Made(
        in_list(lambda: Dense(8), lambda: keras.layers.Dropout(0.5), lambda: Dense(1))()
    ),
    "MultiOptimizer": lambda: Made(in_list(*map(_layer, (3, 1)))(), multi()),
    "LossScaleOptimizer": lambda: Made(
        in_list(*map(_layer, (3, 1)))(),
        keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.05)),
    ),
    "an average of the weights": lambda: Made(
        in_list(*map(_layer, (3, 1)))(), keras.optimizers.SGD(0.05, momentum=0.9, use_ema=True)
    ),
    "accumulated gradients": lambda: Made(
        in_list(*map(_layer, (3, 1)))(), keras.optimizers.Adam(0.05, gradient_accumulation_steps=2)
    ),
    "a schedule": lambda: Made(
        in_list(*map(_layer, (3, 1)))(),
        keras.optimizers.RMSprop(keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.5)),
    ),
    "two networks and optimizers": pair,
    "a train_step of one's own": lambda: Made(OwnStep()),
    "a frozen layer": frozen,
    "a root": root,
    "without an optimizer": without_an_optimizer,
    "tf.Module": lambda: plain(late=False),
    "tf.Module with late variables": lambda: plain(late=True),
    "a layer used now and then": sparse,
}
