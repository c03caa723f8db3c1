"""A Keras fit as a run: its curves and history, what is refused meanwhile, and what it leaves."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import BusyError
from nbtrain.logdir.scalars import scalars
from nbtrain.panel.figure import RED, _words, _wrapped
from tests.fitted import (
    BATCH,
    COLUMNS,
    KINDS,
    STEPS,
    Late,
    SetAt,
    StopAt,
    X,
    Y,
    assert_same,
    batches,
    classifier,
    compiled,
    ended,
    of_unknown_length,
    partly,
    started,
)
from tests.gate import SOON
from tests.models import applied, reached

RATES = {f"hyperparameters/{name}" for name in ("learning_rate", "momentum", "dropout_rate")}
VALIDATED: dict[str, Any] = {**KINDS["arrays"](), "validation_data": (X[:40], Y[:40])}


class Held(Late):
    """Holds the training at its first batch until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.there, self.free = threading.Event(), threading.Event()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.there.set()
        assert self.free.wait(SOON)


@functools.cache
def unbroken() -> Any:
    """A model that was fitted on arrays without a break, made once for all tests."""
    model = classifier()
    ended(model, "whole", **KINDS["arrays"]())
    return model


def attributes(model: Any) -> dict[str, Any]:
    """Returns the callable attributes of a model and its loss tracker.

    All but the test function, which Keras leaves where it was.
    """
    own = {**vars(model), **{f"tracker {k}": v for k, v in vars(model._loss_tracker).items()}}
    return {
        name: value
        for name, value in own.items()
        if callable(value) and name[:5] not in ("test_", "build")
    }


# --- curves and history -----------------------------------------------------------------


def test_every_batch_is_recorded_with_its_own_loss() -> None:
    model = classifier(dropout=0.0)
    model.optimizer.learning_rate = 0.0
    run = ended(model, "run", x=X, y=Y, batch_size=BATCH, shuffle=False)
    of_rows = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = [
        float(of_rows(Y[at : at + BATCH], model.predict(X[at : at + BATCH], verbose=0)))
        for at in range(0, len(X), BATCH)
    ]
    points = run.scalars["batch_loss"]
    assert points.steps.tolist() == [*range(1, STEPS + 1)]
    np.testing.assert_allclose(points.values, expected, rtol=1e-5)


def test_an_execution_of_several_batches_is_recorded_with_the_loss_of_its_last() -> None:
    each = ended(classifier(), "each", **KINDS["arrays"]()).scalars["batch_loss"]
    fours = ended(classifier(per_execution=4), "fours", **KINDS["arrays"]()).scalars["batch_loss"]
    assert fours.steps.tolist() == [4, 8, 12]
    np.testing.assert_allclose(fours.values, each.values[[3, 7, 11]], rtol=1e-6)


@partly
@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
@pytest.mark.parametrize("case", ["compiled", "eager", "accumulating", "scaled"])
def test_an_execution_that_the_data_end_in_counts_the_batches_it_had(case: str) -> None:
    model = classifier(per_execution=5, eagerly=case == "eager")
    if case == "accumulating":
        model.optimizer = keras.optimizers.Adam(0.01, gradient_accumulation_steps=4)
    if case == "scaled":
        model.optimizer = keras.optimizers.LossScaleOptimizer(model.optimizer)
    run = ended(model, "run", x=of_unknown_length(), epochs=2)
    assert run.status.step == 2 * STEPS
    assert run.scalars["batch_loss"].steps.tolist() == [5, 10, 12, 17, 22, 24]
    assert run.scalars["epoch_loss"].steps.tolist() == [12, 24]


def test_the_curve_of_an_evaluation_goes_on_with_those_of_the_epochs() -> None:
    held = Held()
    run = started(classifier(), "run", held, **VALIDATED, epochs=3)
    assert held.there.wait(SOON)
    paused = run.pause()
    held.free.set()
    step = applied(paused).step
    applied(run.evaluate())
    applied(run.resume())
    run.wait(SOON)
    for name in ("val_loss", "val_accuracy"):
        between, of_epochs = run.scalars[name], run.scalars[f"epoch_{name}"]
        assert between.steps.tolist() == [step, *of_epochs.steps]
        assert between.values[1:].tolist() == of_epochs.values.tolist()


def test_scalars_of_an_epoch_are_recorded_at_its_last_step() -> None:
    run = ended(classifier(), "run", **VALIDATED, epochs=2, system=False)
    tags = {"epoch_loss", "epoch_accuracy", "epoch_val_loss", "epoch_val_accuracy"}
    assert set(run.scalars) == {"batch_loss", *RATES, *tags}
    for tag in tags:
        assert run.scalars[tag].steps.tolist() == [STEPS, 2 * STEPS]
        values = run.history[tag.removeprefix("epoch_")]
        np.testing.assert_allclose(run.scalars[tag].values, values, rtol=1e-6)
    # All of it is in the event file.
    found = {tag: points.steps.tolist() for (_, tag), points in scalars(run.logdir).items()}
    assert found == {tag: run.scalars[tag].steps.tolist() for tag in run.scalars}


def test_a_train_step_that_is_a_function_of_tensorflow_is_traced_with_the_rest() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(x)

        @tf.function
        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    model = Own()
    model.compile("sgd", "mse", jit_compile=False)
    before = type(model.train_step)
    run = ended(model, "run", x=X, y=X[:, :1], batch_size=BATCH, epochs=2)
    assert len(run.scalars["batch_loss"]) == 2 * STEPS
    assert type(model.train_step) is before


def test_a_scalar_returned_by_the_users_train_step_is_recorded_at_each_batch() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.count = self.add_weight(name="count", initializer="zeros", trainable=False)

        def train_step(self, data: Any) -> Any:
            self.count.assign_add(1.0)
            return {"mine": self.count.value}

    model = Own()
    model.compile()
    run = ended(model, "run", x=X, batch_size=BATCH, epochs=2, system=False)
    assert set(run.scalars) == {"batch_mine", "epoch_mine", "hyperparameters/learning_rate"}
    assert run.scalars["batch_mine"].values.tolist() == [*range(1, 2 * STEPS + 1)]
    assert run.history == {"mine": [12.0, 24.0]}
    assert run.status.step == 2 * STEPS


def test_a_metric_that_gives_an_array_is_in_the_history_as_keras_has_it() -> None:
    model = classifier()
    model.compile("sgd", "mse", metrics=[keras.metrics.F1Score(average=None)])
    y = keras.utils.to_categorical(Y)
    for epochs in (1, 2):
        run = ended(model, "run", x=X, y=y, epochs=epochs)
    assert np.shape(run.history["f1_score"]) == (2, 3)
    assert "epoch_f1_score" not in run.scalars


# --- callbacks ---------------------------------------------------------------------------


class Logs(Late):
    """Reads the logs of each batch."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        assert {"loss", "accuracy"} <= logs.keys()


class Halved(keras.Sequential):
    """A model whose step returns other values than its metrics, as the documentation has it."""

    def compute_metrics(self, *args: Any, **kwargs: Any) -> Any:
        logs = super().compute_metrics(*args, **kwargs)
        return {**logs, "half": logs["loss"] / 2}


def logged(case: str) -> Any:
    """A classifier for one of `CASES`; the same at every call."""
    more: dict[str, Any] = {
        "executions of several batches": {"per_execution": 5},
        "eager": {"eagerly": True},
    }
    model = classifier(dropout=0.0, **more.get(case, {}))
    if case == "a step that returns more":
        model = Halved(model.layers)
        compiled(model)
    model.jit_compile = case == "XLA"
    return model


CASES = (
    *("compiled", "eager", "executions of several batches", "XLA"),
    "a step that returns more",
)


@pytest.mark.parametrize("case", CASES)
def test_curves_and_history_are_the_same_whether_or_not_a_callback_reads_the_logs(
    case: str,
) -> None:
    x, y = X[: 7 * BATCH], Y[: 7 * BATCH]  # all batches have as many rows: Keras traces once
    given: dict[str, Any] = {"x": x, "y": y, "batch_size": BATCH, "shuffle": False, "epochs": 2}
    read, unread = (ended(logged(case), n, *cs, **given) for n, cs in (("a", [Logs()]), ("b", [])))
    own = logged(case).fit(**given, verbose=0)
    assert repr(unread.history) == repr(read.history) == repr(own.history)
    one, two = read.scalars["batch_loss"], unread.scalars["batch_loss"]
    assert one.steps.tolist() == two.steps.tolist()
    assert one.values.tolist() == two.values.tolist()


def test_a_callback_may_end_the_training() -> None:
    stopping = keras.callbacks.EarlyStopping(
        "loss", patience=0, min_delta=100.0, restore_best_weights=True
    )
    run = ended(classifier(), "run", stopping, **KINDS["arrays"](), epochs=9)
    assert (run.status.phase, run.status.step) == ("finished", 2 * STEPS)
    assert len(run.history["loss"]) == 2
    assert run.status.notice == "EarlyStopping has ended the training after 2 of 9 epochs."


@pytest.mark.parametrize("end", ["finished", "stopped"])
def test_callbacks_hear_of_the_beginning_and_the_end_once(end: str) -> None:
    heard: list[str] = []
    listening = keras.callbacks.LambdaCallback(
        on_train_begin=lambda _logs: heard.append("begin"),
        on_train_end=lambda _logs: heard.append("end"),
    )
    stop = StopAt(5 if end == "stopped" else 99)
    assert ended(classifier(), "run", listening, stop, **KINDS["arrays"]()).status.phase == end
    assert heard == ["begin", "end"]


def test_after_an_error_callbacks_hear_of_no_end() -> None:
    """Nor do they in Keras."""
    heard: list[str] = []

    def torn(_epoch: int, _logs: Any) -> None:
        raise OSError("torn")

    torn_there = keras.callbacks.LambdaCallback(
        on_epoch_end=torn, on_train_end=lambda _logs: heard.append("end")
    )
    with pytest.raises(OSError, match="torn"):
        ended(classifier(), "run", torn_there, **KINDS["arrays"]())
    assert heard == []


def test_weights_that_a_callback_sets_at_the_end_of_a_stop_are_not_saved() -> None:
    """The next life goes on with what was trained."""

    class Zeros(Late):
        def on_train_end(self, logs: Any = None) -> None:
            self.model.set_weights([0 * weight for weight in self.model.get_weights()])

    again, stopped = classifier(), classifier()
    ended(stopped, "run", StopAt(5), Zeros(), **KINDS["arrays"]())
    assert not any(weight.any() for weight in stopped.get_weights())
    ended(again, "run", **KINDS["arrays"]())
    assert_same(again, unbroken())


# --- the model meanwhile, and afterwards ---------------------------------------------------


SPOILING: dict[str, Callable[[Any], Any]] = {
    "compile": lambda model: model.compile("sgd", "mse"),
    "evaluate": lambda model: model.evaluate(X, Y, verbose=0),
    "fit": lambda model: model.fit(X, Y, verbose=0),
    "train_on_batch": lambda model: model.train_on_batch(X, Y),
    "test_on_batch": lambda model: model.test_on_batch(X, Y),
}


def test_a_call_that_would_disturb_the_training_is_refused_and_changes_nothing() -> None:
    model, held = classifier(), Held()
    run = started(model, "run", held, **KINDS["arrays"]())
    assert held.there.wait(SOON)
    for name, call in SPOILING.items():
        message = rf"The run 'run' is training .* model.{name}\(\)"
        with pytest.raises(BusyError, match=message) as seen:
            call(model)
        assert seen.value.run == "run"
    held.free.set()
    run.wait()
    assert_same(model, unbroken())


def test_a_model_in_training_is_refused_to_a_second_run_and_predicts() -> None:
    model, held = classifier(), Held()
    run = started(model, "run", held, **KINDS["arrays"]())
    with pytest.raises(BusyError, match="The run 'run' is still training this model"):
        nbtrain.fit(model, X, Y)
    with pytest.raises(BusyError, match="The run 'run' is still training this model"):
        nbtrain.train(dict, checkpoint=tf.train.Checkpoint(model=model))
    assert held.there.wait(SOON)
    assert model.predict(X, verbose=0).shape == (len(X), 3)
    held.free.set()
    run.wait()


class Failing(Late):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        raise ValueError("of the user's own")


@pytest.mark.parametrize(
    ("end", "fitted"), [("finished", False), ("stopped", True), ("failed", False)]
)
def test_afterwards_the_model_is_as_keras_leaves_it(end: str, fitted: bool) -> None:
    model, x, y = classifier(), X[:16], Y[:16]
    if fitted:
        model.fit(x, y, verbose=0)
    before = attributes(model)
    callback = {"finished": StopAt(99), "stopped": StopAt(5), "failed": Failing()}[end]
    run = started(model, "run", callback, **VALIDATED)
    assert run.attempt.ended.wait(SOON)
    assert run.status.phase == end
    assert attributes(model) == before
    model.fit(x, y, verbose=0)
    model.evaluate(x, y, verbose=0)
    compiled(model)
    model.train_on_batch(x, y)
    model.save("model.keras")


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        (X[:, 1:], Y, r"ValueError: Input 0 .* have value 6, but received input with .*, 5\)"),
        (X, Y + COLUMNS, r"InvalidArgumentError: Received a label value of \d .*"),
    ],
    ids=["of another shape", "with labels beyond the classes"],
)
def test_data_that_do_not_fit_are_told_by_the_line_that_says_so(x: Any, y: Any, says: str) -> None:
    run = started(classifier(), "run", x=x, y=y, batch_size=BATCH)
    assert run.attempt.ended.wait(SOON)
    assert re.fullmatch(says, run.status.failure or "")
    assert [*run.marks][-1].text == run.status.failure
    assert [line for line, colour in _words(run.status, recorded=True) if colour == RED] == (
        _wrapped(run.status.failure or "")
    )
    assert "\x1b" not in (run.status.error or "")


# --- while it evaluates ---------------------------------------------------------------------


def test_a_stop_is_heard_in_the_validation_and_other_commands_wait_with_a_word() -> None:
    class Asking(Late):
        there, free = threading.Event(), threading.Event()

        def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
            if batch == 0:
                self.saved = self.run.save()
            if batch == 1:
                self.there.set()
                assert self.free.wait(SOON)

    asking = Asking()
    run = started(classifier(), "run", asking, **VALIDATED, validation_batch_size=10, epochs=2)
    assert asking.there.wait(SOON)
    reached(run, lambda run: "Evaluating after epoch 1" in (run.status.message or ""))
    assert asking.saved.outcome is None
    run.request_stop()
    asking.free.set()
    run.wait()
    assert asking.saved.outcome is not None
    assert (run.status.phase, run.status.step) == ("stopped", STEPS)
    assert "epoch_val_loss" not in run.scalars
    assert "Evaluating" not in (run.status.message or "")


def test_a_stop_that_comes_to_be_in_the_validation_counts_no_batch_twice() -> None:
    """Between a request and its hearing lies a moment, in which further batches are tested."""

    class Stopping(Late):
        def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
            if batch == 0:
                on_stop, self.run.coord.on_stop = self.run.coord.on_stop, None
                self.run.coord.request_stop()
                self.run.coord.on_stop = on_stop
            if batch == 3:
                self.run.coord.request_stop()

    model = classifier()
    run = started(model, "run", Stopping(), **VALIDATED, validation_batch_size=10, epochs=2)
    run.wait(SOON)
    assert run.status.step == STEPS == int(model.optimizer.iterations.numpy())
    assert [held.step for held in run.checkpoints] == [STEPS]


# --- the state of the cell's thread ----------------------------------------------------------


class Own(keras.layers.Layer):
    """A custom layer."""


def test_the_training_thread_has_what_keras_and_tensorflow_keep_for_the_cells_thread() -> None:
    found: dict[str, Any] = {}

    class Looking(Late):
        def on_train_begin(self, logs: Any = None) -> None:
            found["policy"] = keras.config.dtype_policy().name
            found["interactive"] = keras.config.is_interactive_logging_enabled()
            found["filtering"] = keras.config.is_traceback_filtering_enabled()
            found["objects"] = keras.saving.get_registered_object("Mine")
            found["name"] = keras.layers.Dense(1).name
            found["scope"] = tf.get_current_name_scope()
            found["device"] = tf.constant(0.0).device[-5:]
            found["strategy"] = tf.distribute.get_strategy()
            found["step"] = tf.summary.experimental.get_step()
            found["written"] = tf.summary.scalar("mine", 1.0)

    strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    with strategy.scope():
        model = classifier()
    expected = f"dense_{int(keras.layers.Dense(1).name.partition('_')[2] or 0) + 1}"
    writer = tf.summary.create_file_writer("summaries")
    interactive = keras.config.is_interactive_logging_enabled()
    try:
        keras.config.set_dtype_policy("mixed_bfloat16")
        keras.config.disable_interactive_logging()
        keras.config.disable_traceback_filtering()
        with (
            keras.saving.custom_object_scope({"Mine": Own}),
            strategy.scope(),
            tf.name_scope("cell"),
            writer.as_default(step=41),
        ):
            ended(model, "run", Looking(), **KINDS["arrays"]())
    finally:
        keras.config.set_dtype_policy("float32")
        keras.config.enable_traceback_filtering()
        if interactive:
            keras.config.enable_interactive_logging()
    assert found == {
        "policy": "mixed_bfloat16",
        "interactive": False,
        "filtering": False,
        "objects": Own,
        "name": expected,
        "scope": "cell",
        "device": "CPU:0",
        "strategy": strategy,
        "step": 41,
        "written": found["written"],
    }
    assert bool(found["written"])


# --- distributed -------------------------------------------------------------------------------


def test_a_distributed_pipeline_is_drawn_up_to_the_batch_and_says_so() -> None:
    def model() -> Any:
        with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
            return classifier()

    ordered = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    whole, again = model(), model()
    ended(whole, "whole", x=ordered)
    ended(model(), "run", StopAt(5), x=ordered)
    run = ended(again, "run", x=ordered)
    assert "a distributed tf.data pipeline cannot be saved" in (run.status.message or "")
    assert_same(again, whole)


def test_a_run_without_an_end_has_no_total() -> None:
    run = ended(classifier(), "run", StopAt(5), x=batches())
    assert run.total_steps is None
    assert ended(classifier(), "other", **KINDS["arrays"](), epochs=3).total_steps == 3 * STEPS
    assert X.shape[1] == COLUMNS


# --- hyperparameters ----------------------------------------------------------------------


class Rates(SetAt):
    """Writes down the learning rate of each batch, too."""

    def __init__(self, batches: int, **values: float) -> None:
        super().__init__(batches, **values)
        self.rates: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.rates.append(float(self.model.optimizer.learning_rate))
        super().on_train_batch_end(batch, logs)


def test_the_learning_rate_is_found_by_itself_and_is_another_from_the_next_batch_on() -> None:
    model, setting = classifier(), Rates(5, learning_rate=0.001)
    run = ended(model, "run", setting, **KINDS["arrays"]())
    applied(setting.receipts[0])
    np.testing.assert_allclose(setting.rates, [0.01] * 5 + [0.001] * (STEPS - 5))
    found = {"learning_rate": 0.001, "momentum": 0.9, "dropout_rate": 0.1}
    assert run.hyperparameters == found


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted before"])
def test_a_learning_rate_under_a_schedule_gets_a_factor(fitted: bool) -> None:
    model, plain = classifier(), classifier()
    for each in (model, plain):
        each.compile(
            keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        if fitted:  # the step was traced without the factor
            each.fit(**KINDS["arrays"](), verbose=0)
    run = ended(model, "run", SetAt(4, learning_rate_factor=0.0), **KINDS["arrays"]())
    ended(plain, "plain", StopAt(4), **KINDS["arrays"]())
    assert run.hyperparameters == {"learning_rate_factor": 0.0, "dropout_rate": 0.1}
    for one, two in zip(model.trainable_variables, plain.trainable_variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_a_given_hyperparameter_stands_beside_found_ones_under_its_own_name() -> None:
    model, weight = classifier(), tf.Variable(0.5)
    given = {"rate": model.optimizer.learning_rate, "weight": weight}
    run = ended(model, "run", **KINDS["arrays"](), hyperparameters=given)
    found = {"rate": 0.01, "weight": 0.5, "momentum": 0.9, "dropout_rate": 0.1}
    assert run.hyperparameters == found


def test_a_fit_that_prepares_is_at_the_step_that_it_goes_on_from() -> None:
    ended(classifier(), "a", epochs=1, **KINDS["arrays"]())
    run = started(classifier(), "a", epochs=1, **KINDS["arrays"]())
    assert run.status.step == STEPS
    assert run.wait(SOON).status.step == STEPS
