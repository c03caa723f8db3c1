"""A fit that goes on is the unbroken fit of Keras, whatever its callbacks do.

Each case is fitted by `model.fit` in one go, and by `nbtrain.fit` with breaks, after which it goes
on with a new model and new callbacks, as in another process, or goes back in the live run: by a
restore, and after a trial. Compared are the rate of each step, the history, the files, and all
variables at the end.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import nbtrain
from nbtrain.keras.fit import FitRun
from tests.fitted import BATCH, CLASSES, COLUMNS, Late, X, Y, assert_same
from tests.models import applied

STEPS = 3  # of an epoch
EPOCHS = 4
ROWS = STEPS * BATCH

_draw = np.random.default_rng(2)
SEQUENCES = _draw.normal(size=(ROWS, 4, COLUMNS)).astype("float32")


def compiled(model: Any, optimizer: Any = None) -> Any:
    """The model, compiled to run eagerly, as a trace would take longer than the fit."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = optimizer or keras.optimizers.SGD(0.2, momentum=0.9)
    model.compile(optimizer, loss, metrics=["accuracy"], run_eagerly=True)
    return model


def layered(optimizer: Any = None) -> Any:
    inside = [keras.layers.Dropout(0.4), keras.layers.Dense(CLASSES)]
    return compiled(keras.Sequential([keras.Input((COLUMNS,)), *inside]), optimizer)


def averaged() -> Any:
    return layered(keras.optimizers.SGD(0.2, use_ema=True, ema_momentum=0.7))


def recurrent() -> Any:
    inputs = keras.Input(batch_shape=(BATCH, 4, COLUMNS))
    hidden = keras.layers.SimpleRNN(3, stateful=True, unroll=True)(inputs)
    return compiled(keras.Model(inputs, keras.layers.Dense(CLASSES)(hidden)))


# --- callbacks of users' own, which keep nothing but in the model --------------------------


class Resets(keras.callbacks.Callback):
    """Resets the state of recurrent layers at the beginning of each epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for layer in self.model.layers:
            if hasattr(layer, "reset_states"):
                layer.reset_states()


class Decays(keras.callbacks.Callback):
    """Scales the weights and a dropout rate at the beginning of each epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        kernel = self.model.trainable_weights[0]
        kernel.assign(kernel * 0.5)
        self.model.layers[0].rate *= 0.5


class Begins(keras.callbacks.Callback):
    """Sets the rate at the beginning of the training, and lowers it with each epoch."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.model.optimizer.learning_rate = 0.3

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        rate = self.model.optimizer.learning_rate
        self.model.optimizer.learning_rate = float(rate) * 0.8


class Times(keras.callbacks.Callback):
    """Uses at the end of an epoch what it has made at its beginning."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.begun = epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        assert self.begun == epoch


class Rates(Late):
    """The learning rate of each step, by the optimizer's count, in a file of the test."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        optimizer = self.model.optimizer
        line = f"{int(optimizer.iterations)} {float(optimizer.learning_rate):.8g}\n"
        with Path("rates").open("a", encoding="utf-8") as file:
            file.write(line)

    @staticmethod
    def taken() -> dict[int, str]:
        """The last rate of each step, since the last call."""
        lines = [line.split() for line in Path("rates").read_text(encoding="utf-8").splitlines()]
        Path("rates").unlink()
        return {int(step): rate for step, rate in lines}


# --- the cases ------------------------------------------------------------------------------


@dataclass
class Case:
    """A program that fits a model.

    Attributes:
        callback: Makes the callback in question.
        model: Makes the model.
        x: Its rows.
    """

    callback: Callable[[], Any]
    model: Callable[[], Any] = layered
    x: Any = field(default_factory=lambda: X[:ROWS])


def of(kind: Callable[..., Any], *args: Any, **more: Any) -> Callable[[], Any]:
    return lambda: kind(*args, **more)


ON = keras.callbacks
CASES = {
    "early stopping": Case(of(ON.EarlyStopping, min_delta=0.2, patience=2)),
    "the best weights": Case(
        of(ON.EarlyStopping, min_delta=0.2, patience=9, restore_best_weights=True)
    ),
    "a rate on a plateau": Case(of(ON.ReduceLROnPlateau, factor=0.5, min_delta=1.0, patience=1)),
    "a rate of the epoch": Case(of(ON.LearningRateScheduler, lambda epoch: 0.1 / (epoch + 1))),
    "a rate of the rate": Case(of(ON.LearningRateScheduler, lambda _epoch, rate: rate * 0.5)),
    "the best files": Case(
        of(ON.ModelCheckpoint, "{epoch}.weights.h5", save_best_only=True, save_weights_only=True)
    ),
    "files of batches": Case(
        of(ON.ModelCheckpoint, "{epoch}.weights.h5", save_freq=4, save_weights_only=True)
    ),
    "CSV": Case(of(ON.CSVLogger, "log.csv", append=True)),
    "averages in validations": Case(ON.SwapEMAWeights, averaged),
    "averages at the ends of epochs": Case(of(ON.SwapEMAWeights, swap_on_epoch=True), averaged),
    "NaN": Case(ON.TerminateOnNaN),
    "a state that is reset": Case(Resets, recurrent, SEQUENCES),
    "weights that are scaled": Case(Decays),
    "a rate from the beginning": Case(Begins),
    "what an epoch begins with": Case(Times),
}


class Breaks(Late):
    """Breaks a run at a step of its training, or before a batch of the validation after it."""

    def __init__(self, step: int, act: Callable[[FitRun], object], *, validating: bool) -> None:
        super().__init__()
        self._step, self._act, self._validating = step, act, validating

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._look(validating=False)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._look(validating=True)

    def _look(self, *, validating: bool) -> None:
        step = int(self.model.optimizer.iterations)
        if validating is self._validating and step == self._step:
            self._step = -1
            self._act(self.run)


def arguments(case: Case, callbacks: list[Any]) -> dict[str, Any]:
    return {
        "x": case.x,
        "y": Y[:ROWS],
        "validation_data": (case.x[:BATCH], Y[:BATCH]),
        "batch_size": BATCH,
        "epochs": EPOCHS,
        "shuffle": False,
        "verbose": 0,
        "callbacks": callbacks,
    }


def fitted(case: Case, name: str, *breaks: Any) -> tuple[Any, FitRun]:
    """The model and its run, which has ended."""
    keras.utils.set_random_seed(3)
    model = case.model()
    given = arguments(case, [case.callback(), Rates(), *breaks])
    run = nbtrain.fit(model, **given, name=name, system=False, start=False)
    for each in breaks:
        each.run = run
    run.start().wait()
    return model, run


def files() -> dict[str, Any]:
    """The names of the files that callbacks have written, and the text of those of text."""
    found = [path for path in Path().iterdir() if path.is_file()]
    return {
        path.name: path.read_text(encoding="utf-8") if path.suffix == ".csv" else None
        for path in found
    }


@dataclass
class Seen:
    """The course of a fit of Keras."""

    model: Any
    history: Any
    rates: dict[int, str]
    files: dict[str, Any]


@functools.cache
def by_keras(name: str) -> Seen:
    """Fits a case in one go; once for all tests."""
    case = CASES[name]
    keras.utils.set_random_seed(3)
    model = case.model()
    history = model.fit(**arguments(case, [case.callback(), Rates()])).history
    seen = Seen(model, history, Rates.taken(), files())
    for name in seen.files:
        Path(name).unlink()
    return seen


def compare(model: Any, run: FitRun, theirs: Seen) -> None:
    assert Rates.taken() == theirs.rates
    assert run.history == theirs.history
    assert files() == theirs.files
    assert_same(model, theirs.model)


# A file of epochs has those that were left, too.
GOING_BACK = [name for name in CASES if name != "CSV"]
# A callback that ends the training ends a trial, too.
TRIED = [name for name in GOING_BACK if name != "early stopping"]


def dealt_out(names: Iterable[str], breaks: list[Any]) -> list[tuple[Any, str]]:
    """A break for each case, in turn; in a soak all."""
    whole = "NBTRAIN_SOAK_SECS" in os.environ
    return [
        (each, name)
        for number, name in enumerate(names)
        for each in (breaks if whole else [breaks[number % len(breaks)]])
    ]


# A step, and whether the break is in the validation after it.
IN_AN_EPOCH, AT_AN_END, VALIDATING = (8, False), (6, False), (9, True)


@pytest.mark.parametrize(("at", "name"), dealt_out(CASES, [IN_AN_EPOCH, AT_AN_END, VALIDATING]))
def test_a_run_that_continues_ends_as_keras_does(at: tuple[int, bool], name: str) -> None:
    theirs = by_keras(name)
    fitted(CASES[name], "run", Breaks(at[0], FitRun.request_stop, validating=at[1]))
    model, run = fitted(CASES[name], "run")
    compare(model, run, theirs)
    assert run.status.message is None


@pytest.mark.parametrize(("step", "name"), dealt_out(GOING_BACK, [STEPS + 2, STEPS]))
def test_a_run_that_goes_back_ends_as_keras_does(step: int, name: str) -> None:
    """By a restore, and after that by a trial in vain."""
    theirs = by_keras(name)
    receipts: list[Any] = []

    def tries(run: FitRun) -> None:
        receipts.append(run.trial(learning_rate=0.03, steps=STEPS, keep_if=lambda *_: False))

    breaks = [
        Breaks(step, lambda run: receipts.append(run.save()), validating=False),
        Breaks(step + 2, lambda run: receipts.append(run.restore(step)), validating=False),
    ]
    if name in TRIED:
        breaks.append(Breaks(step + 3, tries, validating=False))
    model, run = fitted(CASES[name], "run", *breaks)
    outcomes = [applied(receipt) for receipt in receipts]
    assert len(outcomes) == len(breaks)
    assert name not in TRIED or not outcomes[-1].kept
    compare(model, run, theirs)


# --- data that change with each epoch --------------------------------------------------------


class Shuffled(keras.utils.PyDataset):
    """Shuffles its rows with a generator of its own, as many tutorials do.

    Args:
        when: The method in which it does so.
        seed: Of its generator; None: another one each time.
    """

    def __init__(self, when: str = "on_epoch_end", seed: int | None = 5, **more: Any) -> None:
        super().__init__(**more)
        self._random, self._rows = np.random.default_rng(seed), np.arange(ROWS)
        setattr(self, when, lambda: self._random.shuffle(self._rows))

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> Any:
        rows = self._rows[index * BATCH :][:BATCH]
        return X[rows], Y[rows]


def gathered(data: Any, name: str, *breaks: Any, **more: Any) -> tuple[Any, FitRun]:
    """The model and its run of these data, which has ended."""
    keras.utils.set_random_seed(3)
    model = layered()
    given = {"epochs": 3, "shuffle": False, "callbacks": breaks, "system": False, **more}
    run = nbtrain.fit(model, data, **given, name=name, start=False)
    for each in breaks:
        each.run = run
    run.start().wait()
    return model, run


def stop(step: int) -> Breaks:
    return Breaks(step, FitRun.request_stop, validating=False)


# Keras calls on_epoch_begin while its workers already take batches: which ones, nobody knows.
@pytest.mark.parametrize(
    ("lives", "when", "step"),
    [
        ("new objects", "on_epoch_end", STEPS + 1),
        ("new objects", "on_epoch_begin", 2 * STEPS),
        ("one object", "on_epoch_end", 2 * STEPS),
        ("one object", "on_epoch_begin", STEPS + 1),
        ("workers", "on_epoch_end", STEPS + 1),
    ],
)
def test_a_dataset_that_shuffles_itself_goes_on_in_its_order(
    lives: str, when: str, step: int
) -> None:
    workers = {"workers": 2} if lives == "workers" else {}
    keras.utils.set_random_seed(3)
    whole, again = layered(), None
    history = whole.fit(Shuffled(when, **workers), epochs=3, shuffle=False, verbose=0).history
    data = Shuffled(when, **workers)
    for breaks in ([stop(step)], []):
        if lives != "one object":
            data = Shuffled(when, **workers)
        again, run = gathered(data, "run", *breaks)
    assert run.history == history
    assert_same(again, whole)
    assert run.status.message is None


OTHERS = "The batches of epoch 2 are others than when the checkpoint was saved: some rows may be"


def test_a_dataset_whose_order_cannot_be_repeated_says_so() -> None:
    gathered(Shuffled(seed=None), "run", stop(STEPS + 1))
    _, run = gathered(Shuffled(seed=None), "run")
    assert OTHERS in str(run.status.message)
    assert "np.random.default_rng(1); or leave the order to fit(shuffle=True)" in str(
        run.status.message
    )


def test_a_dataset_that_cannot_go_back_says_so() -> None:
    receipts: list[Any] = []
    saves = Breaks(STEPS + 1, lambda run: receipts.append(run.save()), validating=False)
    back = Breaks(2 * STEPS + 1, lambda run: run.restore(STEPS + 1), validating=False)
    _, run = gathered(Shuffled(), "run", saves, back)
    assert applied(receipts[0]).step == STEPS + 1
    assert OTHERS in str(run.status.message)


@pytest.mark.parametrize("seed", [5, None])
def test_a_generator_of_other_batches_says_so(seed: int | None) -> None:
    def drawn() -> Any:
        draw = np.random.default_rng(seed)
        while True:
            rows = draw.permutation(ROWS)[:BATCH]
            yield X[rows], Y[rows]

    more = {"steps_per_epoch": STEPS}
    gathered(drawn(), "run", stop(STEPS + 2), **more)
    _, run = gathered(drawn(), "run", **more)
    assert (OTHERS in str(run.status.message)) is (seed is None)


# --- what the program gives anew -------------------------------------------------------------


def rated(rate: Any, epochs: int, *, decay: float | None = None) -> FitRun:
    keras.utils.set_random_seed(3)
    model = layered(keras.optimizers.Adam(rate, weight_decay=decay))
    run = nbtrain.fit(
        model, X[:ROWS], Y[:ROWS], batch_size=BATCH, epochs=epochs, name="run", system=False
    )
    run.wait()
    return run


def test_a_new_value_in_the_program_is_not_used_and_the_line_that_sets_it_is_told() -> None:
    rated(1e-3, 1, decay=0.1)
    run = rated(1e-5, 2, decay=0.2)
    assert run.hyperparameters["learning_rate"] == 1e-3
    assert run.status.notice is not None
    assert (
        "learning_rate is 1e-05 in the program, and 0.001 in the checkpoint, which is used. To use "
        "the other: run.set(learning_rate=1e-05)." in run.status.notice
    )
    assert "weight_decay is 0.2 in the program, and 0.1 in" in run.status.notice
    # It was told once; the same program is no news.
    assert "in the program" not in str(rated(1e-5, 3, decay=0.2).status.notice)


def test_a_value_that_the_run_has_changed_itself_is_no_news() -> None:
    fitted(CASES["a rate on a plateau"], "other", stop(3 * STEPS))
    _, run = fitted(CASES["a rate on a plateau"], "other")
    assert "in the program" not in str(run.status.notice)


@pytest.mark.parametrize("number_first", [True, False])
def test_a_rate_that_becomes_a_schedule_or_a_number_is_used_and_told(number_first: bool) -> None:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)
    rates = [1e-3, schedule] if number_first else [schedule, 1e-3]
    rated(rates[0], 1)
    run = rated(rates[1], 2)
    told = (
        "the learning rate, 0.001 in ckpt-3, is a schedule now, ExponentialDecay"
        if number_first
        else "the learning rate, a schedule in ckpt-3, is the number 0.001 now"
    )
    assert told in str(run.status.notice)
    assert run.status.message is None
    name = "learning_rate_factor" if number_first else "learning_rate"
    assert name in run.hyperparameters
