"""Small Keras models and what they are fitted on; nothing of Keras is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.receipts import Receipt
from nbtrain.keras.fit import FitRun

ROWS, COLUMNS, CLASSES = 90, 6, 3
BATCH = 8
STEPS = 12  # of an epoch; the last has 2 rows

# For tests of executions of several batches of which the last is not whole.
partly = pytest.mark.skipif(
    keras.__version__.split(".")[1] in "56789",
    reason="Keras before 3.10 loses an execution that the data end in",
)

_draw = np.random.default_rng(1)
X: npt.NDArray[np.float32] = _draw.normal(size=(ROWS, COLUMNS)).astype("float32")
Y: npt.NDArray[np.int64] = X[:, :CLASSES].argmax(axis=1)


def classifier(
    *,
    per_execution: int = 1,
    eagerly: bool = False,
    dropout: float = 0.1,
    built: bool = True,
    late: bool = False,
) -> Any:
    """A compiled model with momenta, a random layer and a metric; the same at every call.

    Args:
        late: Whether the variables of the metric are made by the first batch, as Keras does it:
            TensorFlow traces the step twice then.
    """
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(8, "relu"), keras.layers.Dropout(dropout)]
    layers = [*layers, keras.layers.Dense(CLASSES)]
    model = keras.Sequential([keras.Input((COLUMNS,)), *layers] if built else layers)
    compiled(model, per_execution=per_execution, eagerly=eagerly)
    if built and not late:
        model.compute_metrics(X[:1], Y[:1], model(X[:1]))
        model.reset_metrics()
    return model


def compiled(model: Any, *, per_execution: int = 1, eagerly: bool = False) -> None:
    """Compile it, as `classifier` does."""
    model.compile(
        keras.optimizers.SGD(0.01, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        steps_per_execution=per_execution,
        run_eagerly=eagerly,
        jit_compile=False,
    )


class Order(keras.layers.Layer):
    """Passes rows on, and writes down which they are."""

    def __init__(self, write: Callable[[Any], None]) -> None:
        super().__init__()
        self._write = write

    def call(self, rows: Any, training: bool = False) -> Any:
        if training:
            self._write(rows[:, 0])
        return rows


def writing(step: Callable[[Any, Any], None]) -> Any:
    """A classifier that calls a function with the number of each step and its rows."""
    inner, optimizer = classifier(), keras.optimizers.SGD(0.01, momentum=0.9)

    def write(column: Any) -> None:
        tf.py_function(step, [optimizer.iterations.value, column], [])

    model = keras.Sequential([keras.Input((COLUMNS,)), Order(write), *inner.layers])
    model.compile(optimizer, inner.loss, metrics=["accuracy"], jit_compile=False)
    return model


class Pieces(keras.utils.PyDataset):
    """The batches of a `PyDataset`, and which of them were asked for."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.asked: list[int] = []

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        return X[index * BATCH :][:BATCH], Y[index * BATCH :][:BATCH]


def batches() -> Iterator[Any]:
    """A generator that never ends, and never gives a batch twice."""
    draw = np.random.default_rng(5)
    while True:
        rows = draw.permutation(ROWS)[:BATCH]
        yield X[rows], Y[rows]


def dataset() -> Any:
    """Shuffled anew in every epoch."""
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(50, seed=7).batch(BATCH).prefetch(2)


def of_unknown_length() -> Any:
    """The same, of which TensorFlow does not know the length."""
    return dataset().filter(lambda _x, _y: True)


KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "arrays": lambda: {"x": X, "y": Y, "batch_size": BATCH},
    "arrays in order": lambda: {"x": X, "y": Y, "batch_size": BATCH, "shuffle": False},
    "arrays shuffled in batches": lambda: {"x": X, "y": Y, "batch_size": 8, "shuffle": "batch"},
    "arrays drawn on": lambda: {"x": X, "y": Y, "batch_size": BATCH, "steps_per_epoch": 7},
    "sample weights": lambda: {"x": X, "y": Y, "batch_size": 8, "sample_weight": X[:, 0] ** 2},
    "class weights": lambda: {"x": X, "y": Y, "batch_size": 8, "class_weight": {0: 3.0, 2: 0.5}},
    "dataset": lambda: {"x": dataset()},
    "dataset with class weights": lambda: {"x": dataset(), "class_weight": {1: 2.0}},
    "dataset drawn on": lambda: {"x": dataset(), "steps_per_epoch": 7},
    "dataset of unknown length": lambda: {"x": of_unknown_length()},
    "PyDataset": lambda: {"x": Pieces()},
    "PyDataset drawn on": lambda: {"x": Pieces(), "steps_per_epoch": 7},
    "PyDataset of two workers": lambda: {"x": Pieces(workers=2)},
    "generator": lambda: {"x": batches(), "steps_per_epoch": STEPS},
}


class Late(keras.callbacks.Callback):
    """A callback that comes to know its run: `run` is set before the run starts."""

    run: FitRun


class Back(Late):
    """Saves after one batch, and after a later one restores that; once."""

    def __init__(self, saved: int, left: int) -> None:
        super().__init__()
        self._saved, self._left, self._count = saved, left, 0
        self.receipts: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._count += 1
        if self._count == self._saved:
            self.receipts.append(self.run.save())
        if self._count == self._left:
            self.receipts.append(self.run.restore(self._saved))


class StopAt(Late):
    """Stops the run after so many batches of this life."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self._left = batches

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._left -= 1
        if self._left == 0:
            self.run.request_stop()


class SetAt(Late):
    """Sets hyperparameters after so many batches."""

    def __init__(self, batches: int, **values: float) -> None:
        super().__init__()
        self._left, self._values = batches, values
        self.receipts: list[Receipt] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._left -= 1
        if self._left == 0:
            self.receipts.append(self.run.set(**self._values))


class PlainlyAt(keras.callbacks.Callback):
    """Does in plain Keras what an edit does: sets attributes, and makes the function anew."""

    def __init__(self, batches: int, **values: float) -> None:
        super().__init__()
        self._at, self._values = batches, values

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch < self._at or not self._values:
            return
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        for name, value in self._values.items():
            if name == "dropout_rate":
                self.model.layers[1].rate = value
            else:
                setattr(optimizer, name, value)
        self._values = {}
        self.model.make_train_function(force=True)


def started(model: Any, name: str, *callbacks: Any, seed: int = 3, **arguments: Any) -> FitRun:
    """A run, whose callbacks know it; `seed`: of the order it would draw."""
    keras.utils.set_random_seed(seed)
    run: FitRun = nbtrain.fit(model, **arguments, name=name, callbacks=callbacks, start=False)
    for callback in callbacks:
        callback.run = run
    run.start()
    return run


def ended(model: Any, name: str, *callbacks: Any, **arguments: Any) -> FitRun:
    """The same, once it has ended."""
    run = started(model, name, *callbacks, **arguments)
    run.wait()
    return run


def state(model: Any) -> list[Any]:
    """All that training changes."""
    return [variable.numpy() for variable in [*model.variables, *model.optimizer.variables]]


def assert_same(model: Any, other: Any) -> None:
    """Two models were trained alike, to the last bit."""
    for one, two in zip(state(model), state(other), strict=True):
        np.testing.assert_array_equal(one, two)
