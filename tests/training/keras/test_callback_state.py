"""The state of Keras's own callbacks is saved and restored with a fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from nbtrain.keras.fit import FitRun
from tests.fitted import BATCH, CLASSES, COLUMNS, Back, Late, StopAt, X, Y, assert_same, ended
from tests.models import applied

# Batches of an epoch.
STEPS = 3
DATA: dict[str, Any] = {"x": X[: STEPS * BATCH], "y": Y[: STEPS * BATCH], "batch_size": BATCH}
# Early stopping ends them after the ninth, having waited since the sixth.
EPOCHS, LAST = 12, 9


def stopping(patience: int = 3, **more: Any) -> Any:
    return keras.callbacks.EarlyStopping("loss", min_delta=0.2, patience=patience, **more)


def reducing() -> Any:
    return keras.callbacks.ReduceLROnPlateau(
        "loss", factor=0.5, min_delta=0.1, patience=2, cooldown=1
    )


CALLBACKS: dict[str, Callable[[], Any]] = {
    "early stopping": stopping,
    "early stopping with the best weights": lambda: stopping(restore_best_weights=True),
    "a lower rate on a plateau": reducing,
}


def fitted(name: str, *callbacks: Any, epochs: int = EPOCHS, **more: Any) -> tuple[Any, FitRun]:
    """A new model of one layer, and the run that has fitted it."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((COLUMNS,)), keras.layers.Dense(CLASSES)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.2), loss, metrics=["accuracy"], jit_compile=False)
    return model, ended(model, name, *callbacks, **DATA, epochs=epochs, **more)


@pytest.mark.parametrize("kind", CALLBACKS)
def test_a_restore_of_the_first_copy_gives_back_what_was_remembered_then(kind: str) -> None:
    whole, unbroken = fitted("whole", CALLBACKS[kind]())
    back = Back(0, 8 * STEPS + 2)
    model, run = fitted("back", CALLBACKS[kind](), back)
    assert [applied(receipt).step for receipt in back.receipts][-1] == 8 * STEPS + 2
    assert run.history == unbroken.history
    assert_same(model, whole)


def test_the_best_weights_of_a_course_that_was_left_are_not_set() -> None:
    """Keras sets them at the end of a training, and a restore is none."""
    whole, _ = fitted("whole", epochs=3)
    never = stopping(patience=99, restore_best_weights=True)
    seen: list[Any] = []

    class Looking(Back):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if epoch == 2:
                seen.append(self.model.get_weights())

    fitted("back", never, Looking(STEPS + 1, 2 * STEPS + 1), epochs=3)
    for one, two in zip(seen[-1], whole.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_callbacks_hear_of_one_training_however_often_it_goes_back() -> None:
    heard: list[str] = []
    listening = keras.callbacks.LambdaCallback(
        on_train_begin=lambda _logs: heard.append("begin"),
        on_train_end=lambda _logs: heard.append("end"),
        on_epoch_begin=lambda epoch, _logs: heard.append(f"epoch {epoch}"),
    )
    model, run = fitted("run", listening, Back(2, STEPS + 2), epochs=2)
    assert heard == ["begin", "epoch 0", "epoch 1", "epoch 0", "epoch 1", "end"]
    assert model.history.history == run.history


@pytest.mark.parametrize("anew", [True, False])
def test_a_run_that_early_stopping_has_ended_trains_no_more_and_says_what_to_give(
    anew: bool,
) -> None:
    whole, run = fitted("run", stopping(restore_best_weights=True))
    history = run.history
    if anew:
        again, run = fitted("run", stopping(restore_best_weights=True))
        for one, two in zip(again.get_weights(), whole.get_weights(), strict=True):
            np.testing.assert_array_equal(one, two)
    else:
        run.start().wait()
    assert (run.status.phase, run.status.step) == ("finished", LAST * STEPS)
    assert run.history == history
    message = f"EarlyStopping has ended the training after {LAST} of {EPOCHS} epochs: there is"
    assert message in str(run.status.message)
    assert "Give it more patience=, or leave it out, or another name=" in str(run.status.message)


def test_a_run_that_was_stopped_as_early_stopping_ended_it_trains_no_more() -> None:
    fitted("run", stopping(), StopAt(LAST * STEPS))
    _, run = fitted("run", stopping())
    assert (run.status.phase, run.status.step) == ("finished", LAST * STEPS)
    assert "EarlyStopping has ended" in str(run.status.message)


def test_more_patience_goes_on_where_less_had_ended() -> None:
    whole, unbroken = fitted("whole", stopping(patience=5))
    fitted("run", stopping())
    again, run = fitted("run", stopping(patience=5))
    assert unbroken.status.step > LAST * STEPS
    assert run.history == unbroken.history
    assert_same(again, whole)


def test_without_early_stopping_a_run_that_it_ended_goes_on() -> None:
    fitted("run", stopping())
    _, run = fitted("run", reducing())
    assert (run.status.phase, run.status.step) == ("finished", EPOCHS * STEPS)


def test_a_branch_from_where_early_stopping_has_ended_goes_on() -> None:
    early = stopping()
    _, run = fitted("run", early)
    child = run.branch(name="child", learning_rate=0.5).wait()
    assert (child.status.phase, child.status.step) == ("finished", (LAST + 1) * STEPS)
    assert early.wait == 4
    again = child.start().wait()
    assert again.status.step == (LAST + 1) * STEPS
    assert "EarlyStopping has ended the training after 10" in str(again.status.message)


def test_callbacks_that_come_and_go_leave_the_others_what_they_remember() -> None:
    _, unbroken = fitted("whole", stopping())
    other = keras.callbacks.EarlyStopping("accuracy", patience=99)
    fitted("run", other, reducing(), stopping(), StopAt(7 * STEPS + 2))
    early = stopping()
    _, run = fitted("run", keras.callbacks.TerminateOnNaN(), early, stopping(patience=50))
    assert (run.status.step, early.wait) == (unbroken.status.step, 3) == (LAST * STEPS, 3)


def test_a_model_worse_than_before_the_break_is_not_the_best() -> None:
    def best() -> Any:
        return keras.callbacks.ModelCheckpoint(
            "{epoch}.weights.h5", "loss", mode="max", save_best_only=True, save_weights_only=True
        )

    fitted("run", best(), StopAt(2 * STEPS + 1))
    fitted("run", best(), epochs=4)
    assert [path.name for path in Path().glob("*.h5")] == ["1.weights.h5"]


class Evaluating(Late):
    """Asks to stop in a validation."""

    def on_test_begin(self, logs: Any = None) -> None:
        if len(self.run.history.get("loss", ())) == LAST - 1:
            self.run.request_stop()


def test_an_epoch_whose_validation_begins_again_counts() -> None:
    more: Any = {"validation_data": (X[:40], Y[:40])}
    whole, unbroken = fitted("whole", stopping(), **more)
    _, run = fitted("run", stopping(), Evaluating(), **more)
    assert (run.status.phase, len(run.history["loss"])) == ("stopped", LAST - 1)
    again, run = fitted("run", stopping(), **more)
    assert (run.status.phase, run.status.step) == ("finished", LAST * STEPS)
    assert run.history == unbroken.history
    assert_same(again, whole)
