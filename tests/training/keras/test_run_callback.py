"""`RunCallback`: a `model.fit` of the user's own, under a run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError, BusyError
from tests.fitted import BATCH, STEPS, X, Y, assert_same, classifier, of_unknown_length, partly
from tests.models import applied, reached
from tests.on_disk import journal


def loop(model: Any, fits: int = 1, **arguments: Any) -> Any:
    """A loop that fits, so many times."""

    def fitting(run: nbtrain.Run) -> None:
        for _ in range(fits):
            callbacks = [*arguments.get("callbacks", []), nbtrain.RunCallback(run)]
            more = {**arguments, "callbacks": callbacks}
            model.fit(X, Y, batch_size=BATCH, verbose=0, shuffle=False, **more)

    return fitting


def run_of(model: Any, fits: int = 1, **arguments: Any) -> nbtrain.Run:
    checkpoint = tf.train.Checkpoint(model=model)
    run: nbtrain.Run = nbtrain.background(
        loop(model, fits, **arguments), checkpoint=checkpoint, name="loop"
    )
    return run


def test_each_batch_is_a_step_with_its_own_loss_and_each_epoch_is_recorded() -> None:
    run = run_of(classifier(), epochs=2, validation_data=(X, Y)).wait()
    assert run.status.step == 2 * STEPS
    assert run.scalars["batch_loss"].steps.tolist() == [*range(1, 2 * STEPS + 1)]
    assert run.scalars["epoch_val_loss"].steps.tolist() == [STEPS, 2 * STEPS]


def test_training_with_a_run_callback_equals_plain_keras() -> None:
    ours, theirs = classifier(), classifier()
    run_of(ours, 2).wait()
    for _ in range(2):
        theirs.fit(X, Y, batch_size=BATCH, verbose=0, shuffle=False)
    assert_same(ours, theirs)


def test_a_fit_that_goes_on_trains_the_batch_that_creates_its_metrics() -> None:
    run_of(classifier(late=True)).wait()
    again, theirs = classifier(late=True), classifier(late=True)
    run = run_of(again).wait()
    for _ in range(2):
        theirs.fit(X, Y, batch_size=BATCH, verbose=0, shuffle=False)
    assert run.status.step == 2 * STEPS
    assert_same(again, theirs)


@pytest.mark.parametrize("arguments", [{}, {"per_execution": 4}, {"eagerly": True}], ids=str)
def test_a_model_that_is_not_built_goes_on_with_its_first_batch(arguments: Any) -> None:
    run_of(classifier(built=False, **arguments)).wait()
    again, theirs = (classifier(built=False, **arguments) for _ in range(2))
    run = run_of(again).wait()
    for _ in range(2):
        theirs.fit(X, Y, batch_size=BATCH, verbose=0, shuffle=False)
    assert run.status.step == 2 * STEPS
    assert journal(run, "restore") == []
    assert_same(again, theirs)


def test_several_fits_go_on_counting() -> None:
    """The batches of the first execution, too."""
    run = run_of(classifier(per_execution=4), 3).wait()
    assert run.scalars["batch_loss"].steps.tolist() == [4, 8, 12, 16, 20, 24, 28, 32, 36]
    assert run.attempt.context.steps.steps_done == 3 * STEPS


def test_a_loop_that_asks_between_fits_counts_batches_only() -> None:
    model = classifier(per_execution=4)

    def fitting(run: nbtrain.Run) -> None:
        while not run.should_stop():
            loop(model)(run)
            run.record(fits=run.status.step / STEPS)
            if run.status.step >= 2 * STEPS:
                break

    run = nbtrain.background(fitting, name="loop").wait()
    assert run.status.step == 2 * STEPS == int(model.optimizer.iterations)
    assert run.scalars["batch_loss"].steps.tolist() == [4, 8, 12, 16, 20, 24]
    assert run.scalars["fits"].steps.tolist() == [STEPS, 2 * STEPS]
    assert run.scalars["fits"].values.tolist() == [1.0, 2.0]


def test_a_stop_between_two_fits_ends_the_loop_that_asks() -> None:
    model = classifier()

    def fitting(run: nbtrain.Run) -> None:
        while not run.should_stop():
            loop(model)(run)
            run.request_stop()

    run = nbtrain.background(
        fitting, checkpoint=tf.train.Checkpoint(model=model), name="loop"
    ).wait()
    assert (run.status.phase, run.status.step) == ("stopped", STEPS)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [STEPS]


@partly
@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
def test_an_execution_that_the_data_end_in_counts_the_batches_it_had() -> None:
    model = classifier(per_execution=5)

    def fitting(run: nbtrain.Run) -> None:
        callbacks = [nbtrain.RunCallback(run)]
        model.fit(of_unknown_length(), epochs=2, verbose=0, shuffle=False, callbacks=callbacks)

    run = nbtrain.background(fitting, name="loop").wait()
    assert run.status.step == 2 * STEPS
    assert run.scalars["epoch_loss"].steps.tolist() == [12, 24]


class AfterBatch(keras.callbacks.Callback):
    """Does something after a batch."""

    def __init__(self, act: Callable[[int], object]) -> None:
        super().__init__()
        self._act = act

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._act(batch)


def test_a_stop_ends_fit_with_a_last_checkpoint() -> None:
    model = classifier()
    asking = AfterBatch(lambda batch: batch == 4 and nbtrain.runs()["loop"].request_stop())
    run = run_of(model, epochs=9, callbacks=[asking]).wait()
    assert (run.status.phase, run.status.step) == ("stopped", 5)
    assert int(model.optimizer.iterations) == 5
    assert [checkpoint.step for checkpoint in run.checkpoints] == [5]


class StopAt(keras.callbacks.Callback):
    """Stops the run after a batch of the training, or of the validation, of the last epoch."""

    def __init__(self, *, epoch: int, batch: int, validating: bool) -> None:
        super().__init__()
        self._epoch, self._batch, self._validating = epoch, batch, validating
        self._now = -1

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._now = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._stop(batch, validating=False)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._stop(batch, validating=True)

    def _stop(self, batch: int, *, validating: bool) -> None:
        if (self._now, batch, validating) == (self._epoch, self._batch, self._validating):
            nbtrain.runs()["loop"].request_stop()


def stopped(*, batch: int, validating: bool) -> tuple[nbtrain.Run, Any, Any]:
    """A run that was stopped in the second epoch, Keras's history, and a judge of its epochs."""
    model = classifier()
    found: list[Any] = []
    judge = keras.callbacks.EarlyStopping("val_loss", patience=9)
    stop = StopAt(epoch=1, batch=batch, validating=validating)

    def fitting(run: nbtrain.Run) -> None:
        callbacks = [stop, judge, nbtrain.RunCallback(run)]
        data: Any = {"validation_data": (X, Y), "batch_size": BATCH}
        found.append(model.fit(X, Y, epochs=9, verbose=0, callbacks=callbacks, **data))

    checkpoint = tf.train.Checkpoint(model=model)
    run = nbtrain.background(fitting, checkpoint=checkpoint, name="loop", keep_best="val_loss")
    return run.wait(), found[0].history, judge


def test_an_epoch_that_a_stop_cuts_short_is_neither_recorded_nor_judged() -> None:
    run, history, judge = stopped(batch=4, validating=False)
    assert (run.status.phase, run.status.step) == ("stopped", STEPS + 5)
    assert run.scalars["epoch_loss"].steps.tolist() == [STEPS]
    assert run.scalars["epoch_val_loss"].steps.tolist() == [STEPS]
    assert judge.best == pytest.approx(run.scalars["epoch_val_loss"].values[0])
    assert np.isnan(history["val_loss"]).tolist() == [False, True]
    (best,) = [mark.text for mark in run.marks if mark.event == "best"]
    assert best.startswith("best val_loss")
    assert best.endswith(f"at step {STEPS}, the lowest")


def test_a_validation_that_a_stop_cuts_short_is_neither_recorded_nor_judged() -> None:
    run, history, judge = stopped(batch=2, validating=True)
    assert (run.status.phase, run.status.step) == ("stopped", 2 * STEPS)
    assert run.scalars["epoch_loss"].steps.tolist() == [STEPS, 2 * STEPS]
    assert run.scalars["epoch_val_loss"].steps.tolist() == [STEPS]
    assert judge.best == pytest.approx(run.scalars["epoch_val_loss"].values[0])
    assert np.isnan(history["val_loss"]).tolist() == [False, True]


def test_a_run_that_ends_by_its_steps_within_an_epoch_records_the_validation_alone() -> None:
    data: dict[str, Any] = {"epochs": 9, "validation_data": (X, Y)}
    run = nbtrain.background(loop(classifier(), 2, **data), steps=STEPS + 5, name="loop").wait()
    assert (run.status.phase, run.status.step) == ("finished", STEPS + 5)
    assert run.scalars["epoch_loss"].steps.tolist() == [STEPS]
    assert run.scalars["epoch_val_loss"].steps.tolist() == [STEPS, STEPS + 5]


def test_a_fit_after_a_stop_trains_nothing_and_the_next_start_trains() -> None:
    model = classifier()
    found: list[Any] = []

    def fitting(run: nbtrain.Run) -> None:
        for _ in range(2):
            callbacks = [*stops, nbtrain.RunCallback(run)]
            data: Any = {"validation_data": (X, Y), "batch_size": BATCH}
            found.append(model.fit(X, Y, verbose=0, callbacks=callbacks, **data).history)

    stops = [StopAt(epoch=0, batch=4, validating=False)]
    run = nbtrain.background(fitting, checkpoint=tf.train.Checkpoint(model=model), name="loop")
    run.wait()
    assert (run.status.step, int(model.optimizer.iterations)) == (5, 5)
    assert found[1] == {}
    assert "epoch_val_loss" not in run.scalars
    stops.clear()
    run.start().wait()
    assert run.status.step == int(model.optimizer.iterations) == 5 + 2 * STEPS
    assert run.scalars["epoch_val_loss"].steps.tolist() == [5 + STEPS, 5 + 2 * STEPS]


def test_a_pause_holds_fit_and_saves() -> None:
    asking = AfterBatch(lambda batch: batch == 4 and nbtrain.runs()["loop"].pause())
    run = run_of(classifier(), callbacks=[asking])
    reached(run, lambda run: run.status.phase == "paused")
    assert applied(run.save()).step == 5
    run.resume()
    assert run.wait().status.step == STEPS


def test_meanwhile_the_model_is_guarded_and_afterwards_as_it_was() -> None:
    model = classifier()
    refused: list[BaseException] = []

    def compiles() -> None:
        try:
            model.compile("sgd", "mse")
        except BusyError as error:
            refused.append(error)

    def ask(_batch: int) -> None:
        other = threading.Thread(target=compiles)
        other.start()
        other.join()

    before = {name for name, value in vars(model).items() if callable(value)}
    run_of(model, callbacks=[AfterBatch(ask)]).wait()
    assert len(refused) == STEPS
    assert {name for name, value in vars(model).items() if callable(value)} == before
    model.fit(X, Y, verbose=0)


def test_a_fit_that_an_error_has_ended_leaves_the_model_as_it_was() -> None:
    def fail(_batch: int) -> None:
        raise ValueError("of the user's own")

    model = classifier()
    with pytest.raises(ValueError, match="of the user's own"):
        run_of(model, callbacks=[AfterBatch(fail)]).wait()
    assert "train_step" not in vars(model)
    model.fit(X, Y, verbose=0)


def test_in_another_thread_it_is_refused() -> None:
    run = run_of(classifier()).wait()
    other = classifier()
    with pytest.raises(ArgumentError, match="in another thread than its training thread"):
        other.fit(X, Y, verbose=0, callbacks=[nbtrain.RunCallback(run)])
    assert "train_step" not in vars(other)


def test_an_argument_that_is_not_a_run_raises() -> None:
    with pytest.raises(ArgumentError, match="run=str object: give the run"):
        nbtrain.RunCallback("digits")  # type: ignore[arg-type]
