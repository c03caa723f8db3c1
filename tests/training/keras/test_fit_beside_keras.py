"""A fit through nbtrain is Keras's fit: the same program with `model.fit` and with `nbtrain.fit`.

Each case is fitted by both, from the same seed. Compared bit for bit: the history, every call of a
callback with its logs, what the user's data and code were asked for, warnings, errors, and all
variables at the end. What nbtrain means to do differently is in the tests at the end.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import scipy.sparse  # type: ignore[import-untyped]
import tensorflow as tf

import nbtrain
from tests.gate import SOON

ROWS, COLUMNS, CLASSES, BATCH = 26, 4, 3, 8
STEPS = 4  # of an epoch; the last has 2 rows

_draw = np.random.default_rng(1)
X = _draw.normal(size=(ROWS, COLUMNS)).astype("float32")
Y = X[:, :CLASSES].argmax(axis=1)
T = X.sum(axis=1, keepdims=True)  # a target with one column
SEQUENCES = _draw.normal(size=(ROWS, 5, COLUMNS)).astype("float32")

Arguments = dict[str, Any]
Events = list[Any]

# Of `Layer.call`, train steps and data, as they are called; emptied before each fit.
asked: Events = []

# Logs and counts to compare, filled by whichever fit is at work.
HOOKS = [
    f"on_{what}_{when}"
    for what in ("train", "epoch", "train_batch", "test", "test_batch", "predict")
    for when in ("begin", "end")
]


def plain(value: Any) -> Any:
    """The value of a log or an argument, with its type, so that NaN is equal to itself."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return f"{type(value).__name__} {value!r}"


class Diary(keras.callbacks.Callback):
    """Writes down every call that it receives."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Events = []


def _written(hook: str) -> Callable[..., None]:
    def write(self: Diary, *args: Any, **kwargs: Any) -> None:
        logs = args[-1] if args and (args[-1] is None or isinstance(args[-1], dict)) else {}
        if hook == "on_train_begin":
            self.calls.append(plain(self.params))
        number = args[0] if args and isinstance(args[0], int) else ""
        self.calls.append((hook, number, plain(kwargs.get("logs", logs))))

    return write


for _hook in HOOKS:
    setattr(Diary, _hook, _written(_hook))


# --- models --------------------------------------------------------------------------------


def compiled(model: Any, **how: Any) -> Any:
    defaults: Arguments = {
        "optimizer": keras.optimizers.SGD(0.1, momentum=0.9),
        "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "metrics": ["accuracy"],
        "run_eagerly": "jit_compile" not in how,  # a trace would cost more than the fit
    }
    model.compile(**{**defaults, **how})
    return model


def classifier(
    *, dropout: float = 0.3, normed: bool = False, built: bool = True, **how: Any
) -> Any:
    """A Sequential with a random layer."""
    layers: list[Any] = [keras.layers.Dropout(dropout)]
    layers += [keras.layers.BatchNormalization()] if normed else []
    layers += [keras.layers.Dense(CLASSES)]
    return compiled(keras.Sequential([keras.Input((COLUMNS,))] * built + layers), **how)


def line(**how: Any) -> Any:
    """A functional model of one output."""
    inputs = keras.Input((COLUMNS,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    return compiled(model, **{"loss": "mse", "metrics": ["mae"], **how})


class Subclassed(keras.Model):
    """A model that is built by its first call, and has state that `call` sets."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = keras.layers.Dense(5, "tanh"), keras.layers.Dense(CLASSES)
        self.noise = keras.layers.GaussianNoise(0.2)
        self.seen = tf.Variable(0, trainable=False)
        self.steps = self.add_weight(shape=(), dtype="int32", trainable=False, name="steps")

    def call(self, x: Any, training: bool = False) -> Any:
        if tf.executing_eagerly():
            asked.append("computed")
        self.seen.assign_add(1)
        self.steps.assign(self.steps + 1)
        return self.last(self.noise(self.first(x), training=training))


class Random(keras.layers.Layer):
    """Draws from TensorFlow's stateful generator."""

    def call(self, x: Any) -> Any:
        return x + 0.1 * tf.random.normal(tf.shape(x))


class Adapted(keras.Model):
    """A subclassed model with layers in a list, that calls a loss of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [keras.layers.Dense(4, "relu") for _ in range(2)]
        self.head = keras.layers.Dense(CLASSES)

    def call(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        self.add_loss(0.01 * keras.ops.mean(keras.ops.square(x)))
        return self.head(x)

    def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
        return 2.0 * super().compute_loss(*args, **kwargs)


class OwnStep(keras.Model):
    """The `train_step` of the Keras guide, with a loss tracker of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = keras.layers.Dense(1)
        self.tracker = keras.metrics.Mean(name="own_loss")
        self.absolute = keras.metrics.MeanAbsoluteError(name="mae")

    @property
    def metrics(self) -> list[Any]:
        return [self.tracker, self.absolute]

    def call(self, x: Any) -> Any:
        return self.layer(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            found = self(x, training=True)
            loss = keras.ops.mean(keras.ops.square(found - y))
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.tracker.update_state(loss)
        self.absolute.update_state(y, found)
        return {"own_loss": self.tracker.result(), "mae": self.absolute.result()}


class Halved(keras.Sequential):
    """A model whose step returns other values than its metrics, as the documentation has it."""

    def compute_metrics(self, *args: Any, **kwargs: Any) -> Any:
        logs = super().compute_metrics(*args, **kwargs)
        return {**logs, "half": logs["loss"] / 2}


class Widened(keras.Model):
    """A model whose `train_step` gives its layers other shapes than the data have."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.layer(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        return super().train_step((tf.concat([x, x], axis=1), y))


class Mapped(keras.Model):
    """A task model, whose own `fit` maps the rows before they are trained on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = keras.layers.Dense(1)

    def call(self, x: Any, y: Any) -> Any:
        return self.layer(x) + 0.0 * y

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        data = x.map(lambda row, target: ({"x": row, "y": target}, target))
        return super().fit(data, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], dict):
            return super().__call__(args[0]["x"], args[0]["y"])
        return super().__call__(*args, **kwargs)


class Twice(keras.Model):
    """A GAN of sorts: two optimizers, logs by name."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = keras.layers.Dense(1), keras.layers.Dense(1)

    def compile(self, first: Any, second: Any) -> None:
        super().compile(run_eagerly=True)
        self.first_optimizer, self.second_optimizer = first, second

    def train_step(self, data: Any) -> Any:
        x, y = data
        logs = {}
        for layer, optimizer, name in (
            (self.one, self.first_optimizer, "one_loss"),
            (self.two, self.second_optimizer, "two_loss"),
        ):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((layer(x) - y) ** 2)
            weights = layer.trainable_weights
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            logs[name] = loss
        return logs


def twice() -> Any:
    model = Twice()
    model.compile(keras.optimizers.SGD(0.1), keras.optimizers.Adam())
    return model


def of(kind: type[Any], **how: Any) -> Callable[[], Any]:
    """Makes a model of this class."""
    return lambda: compiled(kind(), **how)


TRACED: Arguments = {"jit_compile": False}
LINEAR: Arguments = {"loss": "mse", "metrics": ["mae"]}


def two_in_two_out() -> Any:
    a, b = keras.Input((COLUMNS,), name="a"), keras.Input((COLUMNS,), name="b")
    both = keras.layers.Concatenate()([a, b])
    c, d = keras.layers.Dense(1, name="c")(both), keras.layers.Dense(1, name="d")(both)
    return compiled(keras.Model([a, b], [c, d]), loss="mse", metrics=[["mae"], ["mae"]])


def by_names() -> Any:
    a, b = keras.Input((COLUMNS,), name="a"), keras.Input((COLUMNS,), name="b")
    c = keras.layers.Dense(1, name="c")(a)
    d = keras.layers.Dense(1, name="d")(b)
    model = keras.Model({"a": a, "b": b}, {"c": c, "d": d})
    return compiled(model, loss={"c": "mse", "d": "mae"}, metrics={"c": ["mae"]})


def sparse(*, built: bool = True, **how: Any) -> Any:
    if not built:
        return compiled(keras.Sequential([keras.layers.Dense(1)]), **LINEAR, **how)
    inputs = keras.Input((COLUMNS,), sparse=True)
    return compiled(keras.Model(inputs, keras.layers.Dense(1)(inputs)), **LINEAR)


def recurrent() -> Any:
    inputs = keras.Input(batch_shape=(13, 5, COLUMNS))
    hidden = keras.layers.GRU(3, stateful=True, unroll=True)(inputs)
    return compiled(keras.Model(inputs, keras.layers.Dense(1)(hidden)), **LINEAR)


def averaged() -> Any:
    optimizer = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.8)
    return classifier(optimizer=optimizer)


def scheduled() -> Any:
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    return classifier(optimizer=keras.optimizers.SGD(rate, momentum=0.9))


def clipped() -> Any:
    optimizer = keras.optimizers.AdamW(0.1, clipnorm=0.3, gradient_accumulation_steps=2)
    return classifier(optimizer=optimizer, weighted_metrics=["accuracy"])


# --- data -----------------------------------------------------------------------------------


def rows(y: Any = Y) -> Any:
    return tf.data.Dataset.from_tensor_slices((X, y)).batch(BATCH)


def shuffled() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(ROWS, seed=5).batch(BATCH).prefetch(1)


def of_unknown_length(y: Any = Y) -> Any:
    return rows(y).filter(lambda *_: True)


class Pieces(keras.utils.PyDataset):
    """Batches by number; writes down what it is asked for."""

    def __init__(self, count: int | None = STEPS, weighted: bool = False, **more: Any) -> None:
        super().__init__(**more)
        self._count, self._weighted = count, weighted

    @property
    def num_batches(self) -> int | None:
        return self._count

    def __getitem__(self, index: int) -> Any:
        asked.append(index)
        at = index % STEPS * BATCH
        batch = X[at:][:BATCH], Y[at:][:BATCH]
        return (*batch, np.abs(batch[0][:, 0])) if self._weighted else batch

    def on_epoch_begin(self) -> None:
        asked.append("epoch begins")

    def on_epoch_end(self) -> None:
        asked.append("epoch ends")


class Augmented(Pieces):
    """Draws from NumPy's generator and from Python's."""

    def __getitem__(self, index: int) -> Any:
        x, y = super().__getitem__(index)
        return x + np.random.normal(size=x.shape).astype("float32") * random.random(), y


def batches(count: int = 1000, *, unlike: bool = False) -> Iterator[Any]:
    """A generator; `unlike`: drawn from NumPy's generator."""
    for number in range(count):
        at = number % 3 * BATCH
        noise = np.random.normal(size=(BATCH, COLUMNS)).astype("float32") if unlike else 0.0
        yield X[at:][:BATCH] + noise, Y[at:][:BATCH]


def of_scipy(count: int = 1000) -> Iterator[Any]:
    for _ in range(count):
        yield scipy.sparse.csr_matrix(np.where(X > 0.3, X, 0.0)[:BATCH]), T[:BATCH]


# --- callbacks ------------------------------------------------------------------------------


class Ends(keras.callbacks.Callback):
    """Ends the training at a batch, counted over epochs, or at the end of an epoch."""

    def __init__(self, *, batch: int = -1, epoch: int = -1) -> None:
        super().__init__()
        self._batch, self._epoch, self._count = batch, epoch, 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._count += 1
        if self._count == self._batch:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == self._epoch:
            self.model.stop_training = True


class Raises(keras.callbacks.Callback):
    """Raises an error in one of its methods, at its second call."""

    def __init__(self, hook: str, error: BaseException) -> None:
        super().__init__()
        self._calls = 0

        def raises(*_: Any, **__: Any) -> None:
            self._calls += 1
            if self._calls == 2 or ("train_" in hook and "batch" not in hook):
                raise error

        setattr(self, hook, raises)


class Adds(keras.callbacks.Callback):
    """Adds values to the logs, and changes the rate."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["added"] = epoch + 0.5
        self.model.optimizer.learning_rate = 0.01 / (epoch + 1)


class Sets(keras.callbacks.Callback):
    """Draws from NumPy's generator, and sets weights from it."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        kernel = self.model.trainable_weights[0]
        kernel.assign(kernel + np.random.normal(size=kernel.shape).astype("float32"))


class Predicts(keras.callbacks.Callback):
    """Uses the model and its data meanwhile."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["mean"] = float(self.model.predict(X[:4], verbose=0).mean())
        logs["other"] = self.model.evaluate(X[:6], Y[:6], verbose=0)[0]


# --- the cases ------------------------------------------------------------------------------


@dataclass
class Case:
    """A program that fits a model.

    Attributes:
        model: Makes it.
        fit: Makes the arguments of its fit.
        callbacks: Makes its callbacks.
        diary: Whether it has the one that writes down all calls.
    """

    model: Callable[[], Any] = classifier
    fit: Callable[[], Arguments] = field(default=lambda: {"x": X, "y": Y})
    callbacks: Callable[[], list[Any]] = list
    diary: bool = True


def case(
    model: Callable[[], Any] = classifier,
    *callbacks: Callable[[], Any],
    diary: bool = True,
    **fit: Any,
) -> Case:
    """A case with arrays, unless it gives other data; what can be called makes an argument."""
    given = {"x": X, "y": Y, "batch_size": BATCH} if "x" not in fit else {}

    def arguments() -> Arguments:
        return {
            name: value() if callable(value) else value for name, value in {**given, **fit}.items()
        }

    return Case(model, arguments, lambda: [make() for make in callbacks], diary)


def early(**more: Any) -> Callable[[], Any]:
    return lambda: keras.callbacks.EarlyStopping(**{"monitor": "val_loss", **more})


VALIDATED: Arguments = {"validation_data": (X[:10], Y[:10])}

CASES: dict[str, Case] = {
    # arrays
    "arrays": case(),
    "arrays, nobody listens": case(diary=False),
    "arrays of a size by default": case(x=X, y=Y),
    "arrays of float64": case(x=X.astype("float64"), y=Y.astype("int32")),
    "tensors": case(x=lambda: tf.constant(X), y=lambda: tf.constant(Y)),
    "pandas": case(x=lambda: pd.DataFrame(X.astype("float64")), y=lambda: pd.Series(Y)),
    "a Series of targets with one column": case(line, x=X, y=lambda: pd.Series(T[:, 0])),
    "one batch": case(batch_size=100),
    "rows that fill all batches": case(x=X[:24], y=Y[:24], batch_size=BATCH),
    "sample weights": case(sample_weight=np.abs(X[:, 0])),
    "sample weights of float64": case(sample_weight=np.abs(X[:, 1]).astype("float64")),
    "class weights": case(class_weight={0: 3.0, 2: 0.5}),
    "class weights of one-hot rows": case(
        lambda: classifier(loss="mse", metrics=["mae"]),
        x=X,
        y=keras.utils.to_categorical(Y),
        class_weight={1: 4.0},
    ),
    "a sparse tensor": case(sparse, x=lambda: tf.sparse.from_dense(np.where(X > 0.3, X, 0.0)), y=T),
    "a SciPy matrix": case(
        sparse, x=lambda: scipy.sparse.csr_matrix(np.where(X > 0.3, X, 0.0)), y=T
    ),
    "a SciPy matrix, unbuilt": case(
        lambda: sparse(built=False),
        x=lambda: scipy.sparse.csr_matrix(np.where(X > 0.3, X, 0.0)),
        y=T,
    ),
    "two inputs": case(two_in_two_out, x=[X, 2 * X], y=[T, X[:, 1:2]]),
    "inputs by name": case(by_names, x={"a": X, "b": 2 * X}, y={"c": T, "d": X[:, 1:2]}),
    "one weight for two outputs": case(
        two_in_two_out, x=[X, 2 * X], y=[T, T], sample_weight=np.abs(X[:, 0])
    ),
    "a weight for each output": case(
        by_names,
        x={"a": X, "b": X},
        y={"c": T, "d": T},
        sample_weight={"c": np.abs(X[:, 0]), "d": np.abs(X[:, 1])},
    ),
    # steps of an epoch
    "arrays, fewer steps": case(steps_per_epoch=3, epochs=5),
    "arrays, half the steps": case(steps_per_epoch=2, epochs=4),
    "arrays, steps beyond the data": case(steps_per_epoch=6, epochs=3),
    "arrays, steps without a size": case(x=X, y=Y, steps_per_epoch=5),
    "arrays, steps and an initial epoch": case(steps_per_epoch=3, initial_epoch=1, epochs=3),
    "dataset, fewer steps": case(x=rows, steps_per_epoch=3, epochs=5),
    "dataset, steps beyond the data": case(x=rows, steps_per_epoch=6, epochs=3),
    "dataset, steps of an endless one": case(
        x=lambda: shuffled().repeat(), steps_per_epoch=3, epochs=4
    ),
    "dataset, steps of one that repeats twice": case(
        x=lambda: rows().repeat(2), steps_per_epoch=3, epochs=4
    ),
    "dataset of unknown length, fewer steps": case(
        x=of_unknown_length, steps_per_epoch=3, epochs=4
    ),
    "dataset of unknown length, as many steps": case(
        x=of_unknown_length, steps_per_epoch=4, epochs=4
    ),
    "dataset of unknown length, half the steps": case(
        x=of_unknown_length, steps_per_epoch=2, epochs=5
    ),
    "dataset of unknown length, steps beyond": case(
        x=of_unknown_length, steps_per_epoch=6, epochs=3
    ),
    "PyDataset, fewer steps": case(x=Pieces, steps_per_epoch=3, epochs=4),
    "PyDataset, steps beyond the data": case(x=Pieces, steps_per_epoch=6, epochs=3),
    "PyDataset without an end": case(x=lambda: Pieces(None), steps_per_epoch=3, epochs=3),
    "generator": case(x=batches, steps_per_epoch=3, epochs=3),
    "generator that ends": case(x=lambda: batches(7), steps_per_epoch=3, epochs=3),
    "generator that ends, no steps": case(x=lambda: batches(5), epochs=1),
    "generator and an initial epoch": case(x=batches, steps_per_epoch=2, initial_epoch=2, epochs=4),
    "generator of SciPy matrices": case(lambda: sparse(built=False), x=of_scipy, steps_per_epoch=2),
    "generator of random batches": case(
        x=lambda: batches(unlike=True), steps_per_epoch=3, epochs=2
    ),
    # datasets
    "dataset": case(x=shuffled),
    "dataset of a cache": case(x=lambda: rows().cache().shuffle(3, seed=1), epochs=3),
    "dataset of unknown length": case(x=of_unknown_length, epochs=3),
    "dataset of unknown length, validated": case(
        x=of_unknown_length, validation_data=of_unknown_length
    ),
    "dataset with class weights": case(x=rows, class_weight={0: 1.0, 1: 4.0, 2: 1.0}),
    "dataset with few class weights": case(
        x=lambda: rows(Y.astype("int32") % 2), class_weight={0: 1.0, 1: 4.0}
    ),
    "dataset of Python": case(
        x=lambda: tf.data.Dataset.from_generator(
            lambda: batches(4),
            output_signature=(
                tf.TensorSpec((None, COLUMNS), tf.float32),
                tf.TensorSpec((None,), tf.int64),
            ),
        )
    ),
    "dataset of weighted rows": case(
        x=lambda: tf.data.Dataset.from_tensor_slices((X, Y, np.abs(X[:, 0]))).batch(BATCH)
    ),
    "PyDataset": case(x=Pieces),
    "PyDataset with class weights": case(x=Pieces, class_weight={1: 4.0}),
    "PyDataset with weights": case(x=lambda: Pieces(weighted=True)),
    "PyDataset of two workers": case(x=lambda: Pieces(workers=2)),
    "PyDataset that draws": case(x=Augmented),
    "PyDataset, unbuilt": case(lambda: classifier(built=False), x=Pieces),
    # epochs
    "no epochs": case(epochs=0),
    "all epochs are over": case(initial_epoch=2, epochs=2),
    "more than all epochs are over": case(initial_epoch=3, epochs=2),
    "initial epoch": case(initial_epoch=1, epochs=3),
    # models
    "executions of 2": case(lambda: classifier(steps_per_execution=2), epochs=3),
    "executions of 3": case(lambda: classifier(steps_per_execution=3), x=rows),
    "executions of 3, unknown length": case(
        lambda: classifier(steps_per_execution=3), x=of_unknown_length
    ),
    "executions of 2, fewer steps": case(
        lambda: classifier(steps_per_execution=2), steps_per_epoch=3, epochs=4
    ),
    "executions of 2, dataset, fewer steps": case(
        lambda: classifier(steps_per_execution=2), x=rows, steps_per_epoch=3, epochs=4
    ),
    # Keras compiles by default: by XLA on a GPU, without on a processor.
    "traced": case(lambda: classifier(jit_compile="auto"), **VALIDATED),
    "traced, nobody listens": case(lambda: classifier(**TRACED), diary=False),
    "traced, unbuilt": case(lambda: classifier(built=False, normed=True, **TRACED)),
    "traced, dataset": case(lambda: classifier(built=False, **TRACED), x=shuffled),
    "traced, steps beyond the data": case(
        lambda: classifier(**TRACED), x=of_unknown_length, steps_per_epoch=6
    ),
    "traced, executions of 2": case(
        lambda: classifier(steps_per_execution=2, **TRACED), x=of_unknown_length
    ),
    "traced, subclassed": case(of(Subclassed, **TRACED), **VALIDATED),
    "traced, own train_step": case(of(OwnStep, loss=None, metrics=None, **TRACED), x=X, y=T),
    "traced, a step that returns more": case(
        lambda: compiled(Halved([keras.layers.Dense(CLASSES)]), **TRACED)
    ),
    "traced, SciPy matrices": case(
        lambda: sparse(built=False, **TRACED), x=of_scipy, steps_per_epoch=2
    ),
    "traced, TensorFlow's random numbers": case(
        lambda: compiled(keras.Sequential([Random(), keras.layers.Dense(CLASSES)]), **TRACED)
    ),
    # XLA compiles the step for each number of rows.
    "XLA": case(lambda: classifier(jit_compile=True), x=X[:24], y=Y[:24], batch_size=BATCH),
    "no input shape": case(lambda: classifier(built=False)),
    "no input shape, dataset": case(lambda: classifier(built=False), x=shuffled),
    "no input shape, generator": case(
        lambda: classifier(built=False), x=batches, steps_per_epoch=3
    ),
    "subclassed": case(of(Subclassed)),
    "subclassed, validated": case(of(Subclassed), **VALIDATED),
    "subclassed, layers in a list, own loss": case(of(Adapted)),
    "subclassed, XLA": case(lambda: compiled(Adapted(), jit_compile=True)),
    "batch normalization": case(lambda: classifier(normed=True, built=False), **VALIDATED),
    "TensorFlow's random numbers": case(
        lambda: compiled(keras.Sequential([Random(), keras.layers.Dense(CLASSES)]))
    ),
    "own train_step": case(of(OwnStep, loss=None, metrics=None), x=X, y=T),
    "own train_step, executions of 2": case(
        of(OwnStep, loss=None, metrics=None, steps_per_execution=2), x=X, y=T
    ),
    "own train_step, other shapes": case(of(Widened, **LINEAR), x=X, y=T),
    "own train_step, two optimizers": case(
        twice,
        x=X,
        y=T,
    ),
    "own fit": case(of(Mapped, **LINEAR), x=lambda: rows(T)),
    "stateful": case(recurrent, x=SEQUENCES, y=T, batch_size=13),
    "averaged weights": case(averaged, epochs=3),
    "Adam": case(lambda: classifier(optimizer=keras.optimizers.Adam(0.01))),
    "scheduled rate": case(scheduled),
    "accumulated gradients": case(clipped, sample_weight=np.abs(X[:, 0])),
    "no metrics": case(lambda: classifier(metrics=None)),
    "a metric of an array": case(
        lambda: classifier(loss="mse", metrics=[keras.metrics.F1Score(name="f1")]),
        x=X,
        y=keras.utils.to_categorical(Y),
    ),
    # validation
    "validated": case(**VALIDATED),
    "validated, nobody listens": case(diary=False, **VALIDATED),
    "validated on a split": case(validation_split=0.3),
    "validated with weights": case(validation_data=(X[:9], Y[:9], np.abs(X[:9, 0]))),
    "validated on a dataset": case(x=rows, validation_data=rows),
    "validated for some steps": case(validation_data=rows, validation_steps=2, epochs=3),
    "validated every other epoch": case(validation_freq=2, epochs=4, **VALIDATED),
    "validated at some epochs": case(validation_freq=[1, 3], epochs=4, **VALIDATED),
    "validated in batches of their own": case(validation_batch_size=3, **VALIDATED),
    "validated on a generator": case(
        validation_data=lambda: batches(unlike=True), validation_steps=2
    ),
    "validated on a PyDataset": case(validation_data=Pieces),
    # callbacks
    "stopped early": case(
        classifier,
        early(patience=1, min_delta=1.0, restore_best_weights=True),
        epochs=6,
        **VALIDATED,
    ),
    "best weights of all epochs": case(
        classifier, early(restore_best_weights=True, mode="max"), epochs=3, **VALIDATED
    ),
    "reduced rate": case(
        classifier,
        lambda: keras.callbacks.ReduceLROnPlateau(patience=1, min_delta=1.0),
        epochs=4,
        **VALIDATED,
    ),
    "rate of a function": case(
        classifier,
        lambda: keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
        epochs=4,
    ),
    "lambdas": case(
        classifier,
        lambda: keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: asked.append(plain((epoch, logs))),
            on_train_batch_end=lambda batch, logs: asked.append(plain((batch, logs))),
        ),
        diary=False,
        **VALIDATED,
    ),
    "ended at a batch": case(classifier, lambda: Ends(batch=6), epochs=4, **VALIDATED),
    "ended at the last batch of an epoch": case(classifier, lambda: Ends(batch=4), epochs=4),
    "ended at an epoch": case(classifier, lambda: Ends(epoch=1), epochs=4, **VALIDATED),
    "added logs": case(classifier, Adds, epochs=3, **VALIDATED),
    "weights set": case(classifier, Sets),
    "predicted and evaluated": case(classifier, Predicts, **VALIDATED),
    "EMA swapped": case(
        averaged, lambda: keras.callbacks.SwapEMAWeights(swap_on_epoch=True), epochs=3, **VALIDATED
    ),
    "CSV": case(classifier, lambda: keras.callbacks.CSVLogger("log.csv"), **VALIDATED),
    "weights of epochs": case(
        classifier,
        lambda: keras.callbacks.ModelCheckpoint("{epoch}.weights.h5", save_weights_only=True),
    ),
    "NaN ends": case(
        lambda: line(optimizer=keras.optimizers.SGD(1e30)),
        keras.callbacks.TerminateOnNaN,
        x=X,
        y=T,
        epochs=3,
    ),
    # errors
    "error at a batch": case(classifier, lambda: Raises("on_train_batch_end", KeyError("x"))),
    "error at an epoch": case(classifier, lambda: Raises("on_epoch_end", ValueError("x"))),
    "error in a validation": case(
        classifier, lambda: Raises("on_test_batch_end", OSError("x")), **VALIDATED
    ),
    "StopIteration at an epoch": case(
        classifier, lambda: Raises("on_epoch_end", StopIteration("none left")), epochs=3
    ),
    "StopIteration at a batch": case(
        classifier, lambda: Raises("on_train_batch_end", StopIteration()), epochs=3
    ),
    "StopIteration at the end": case(
        classifier, lambda: Raises("on_train_end", StopIteration("none left"))
    ),
    "OutOfRangeError at an epoch": case(
        classifier,
        lambda: Raises("on_epoch_begin", tf.errors.OutOfRangeError(None, None, "none left")),
        epochs=3,
    ),
    "columns that do not fit": case(x=X[:, 1:], y=Y),
    "columns that do not fit, unbuilt": case(
        lambda: compiled(Adapted(), loss="mse"), x=X, y=np.ones((ROWS, 7), "float32")
    ),
    "labels beyond the classes, unbuilt": case(
        lambda: classifier(built=False), x=X, y=Y + 10, diary=False
    ),
    "rows of no column": case(lambda: classifier(built=False), x=X[:, 0], y=Y),
    "strings": case(lambda: classifier(built=False), x=np.array(["a"] * ROWS), y=Y),
    "a target too few": case(two_in_two_out, x=[X, X], y=[T]),
    "a name that is missing": case(by_names, x={"a": X}, y={"c": T, "d": T}),
    "a batch of four parts": case(
        x=lambda: tf.data.Dataset.from_tensor_slices((X, Y, Y, Y)).batch(BATCH)
    ),
    "a dataset without batches": case(
        lambda: classifier(built=False), x=lambda: tf.data.Dataset.from_tensor_slices((X, Y))
    ),
    "data that raise": case(
        x=lambda: rows().map(lambda x, y: (tf.debugging.check_numerics(x / 0.0, "no number"), y)),
        diary=False,
    ),
    "a PyDataset that raises": case(x=lambda: Failing(STEPS)),
    "a frequency that is no number": case(validation_freq="often", **VALIDATED),
    "a callback that wants another log": case(
        classifier, lambda: keras.callbacks.EarlyStopping("nothing")
    ),
    "verbose": case(verbose=2, **VALIDATED),
    "progress bar": case(verbose=1),
}


# TensorFlow or a worker draws from these in advance, as many batches as it finds time for: Keras
# starts the workers of the next epoch before it calls `on_epoch_begin`.
DRAWN_AHEAD = {
    "PyDataset without an end",
    "PyDataset, fewer steps",
    "PyDataset of two workers",
}


# A thread of TensorFlow draws some of their batches ahead, and random numbers with them.
RANDOM = {"generator of random batches", "validated on a generator"}


class Failing(Pieces):
    """Raises an error at its third batch."""

    def __getitem__(self, index: int) -> Any:
        if index == 2:
            raise LookupError("batch 2 is lost")
        return super().__getitem__(index)


@dataclass
class Seen:
    """What a fit was seen to do."""

    history: Any = None
    epochs: Any = None
    calls: Events = field(default_factory=list)
    asked: Events = field(default_factory=list)
    warned: Events = field(default_factory=list)
    error: Any = None
    drawn: Any = None
    variables: Any = None


def seen(case: Case, fit: Callable[[Any, Arguments], Any]) -> Seen:
    """Fits once, and returns what came of it."""
    keras.utils.clear_session(free_memory=False)  # a collection takes as long as a fit
    keras.utils.set_random_seed(3)
    asked.clear()
    model, found = case.model(), Seen()
    diary = Diary()
    arguments = {"shuffle": False, "epochs": 2, "verbose": 0, **case.fit()}
    arguments["callbacks"] = [*[diary] * case.diary, *case.callbacks()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found.history = plain(fit(model, arguments))
        except BaseException as error:
            # TensorFlow adds the lines of the call, through Keras or nbtrain, and counts datasets.
            text = str(error).partition("\nTraceback")[0]
            found.error = type(error).__name__, re.sub(r"Dataset:\d+", "Dataset", text)
    found.warned = [str(each.message) for each in caught if "Keras" not in str(each.message)]
    found.calls, found.asked = diary.calls, [*asked]
    found.epochs = plain(vars(getattr(model, "history", None) or object).get("epoch"))
    found.drawn = np.random.random(), random.random()
    optimizers = [each for each in vars(model).values() if hasattr(each, "apply_gradients")]
    found.variables = {
        each.path: each.numpy().tolist()
        for each in [*model.variables, *(v for each in optimizers for v in each.variables)]
    }
    if isinstance(model, Subclassed):
        found.variables["seen"] = int(model.seen)
    return found


def by_keras(model: Any, arguments: Arguments) -> Any:
    return model.fit(**arguments).history


def by_nbtrain(model: Any, arguments: Arguments) -> Any:
    run = nbtrain.fit(model, **arguments, name="run", on_nan=None, system=False)
    run.wait()
    return run.history


@pytest.mark.parametrize("name", CASES)
def test_a_fit_is_keras_s_fit(name: str, capsys: Any) -> None:
    theirs = seen(CASES[name], by_keras)
    ours = seen(CASES[name], by_nbtrain)
    # What Keras creates at the first batch, nbtrain may create before.
    ours.variables = {path: ours.variables.get(path) for path in theirs.variables}
    if name in DRAWN_AHEAD:
        theirs.asked = ours.asked = []
    if name in RANDOM:
        theirs.drawn = ours.drawn = None
    for part in vars(theirs):
        assert getattr(ours, part) == getattr(theirs, part), part


# --- what is meant to differ ---------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [True, "batch"])
def test_rows_are_shuffled_by_a_seed_of_the_run(shuffle: bool | str) -> None:
    drawn: list[Any] = []

    class Order(keras.Model):
        def train_step(self, data: Any) -> Any:
            drawn.append([int(row) for row in data[:, 0]])
            return {"rows": tf.size(data)}

    orders = []
    for fit in (by_keras, by_nbtrain):
        model = Order()
        model.compile(run_eagerly=True)
        drawn.clear()
        x = np.arange(ROWS)[:, np.newaxis]
        fit(model, {"x": x, "batch_size": BATCH, "shuffle": shuffle, "epochs": 2, "verbose": 0})
        orders.append([*drawn])
    theirs, ours = orders
    assert [len(batch) for batch in ours] == [len(batch) for batch in theirs]
    for epoch in (slice(0, STEPS), slice(STEPS, None)):
        found, expected = [*chain(*ours[epoch])], [*chain(*theirs[epoch])]
        assert sorted(found) == sorted(expected)
        assert found != sorted(found)
    if shuffle == "batch":
        assert [sorted(batch) for batch in ours] == [sorted(batch) for batch in theirs]


@pytest.mark.parametrize(
    "callback",
    [keras.callbacks.TerminateOnNaN, lambda: Ends(epoch=0)],
    ids=["TerminateOnNaN", "a callback of the user's"],
)
def test_a_fit_that_a_callback_has_ended_is_not_paused_by_a_nan(callback: Any) -> None:
    model = line(optimizer=keras.optimizers.SGD(1e30))
    run = nbtrain.fit(
        model, X, T, batch_size=13, epochs=3, callbacks=[callback()], on_nan="pause", name="run"
    )
    run.wait(SOON)
    assert run.status.phase == "finished"
    assert any("NaN" in mark.text or "inf" in mark.text for mark in run.marks)
