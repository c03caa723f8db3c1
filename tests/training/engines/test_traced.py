"""A model that is changed after its step was traced: told, or the step is traced again."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.engines.trained import Trained
from nbtrain.run.program.bindings import Bindings
from nbtrain.run.program.traced import Structure
from tests.fitted import BATCH, X, Y, classifier, started
from tests.gate import SOON
from tests.models import applied, reached, refused


def two(*, compiled: bool = True) -> tuple[Any, Callable[[], Any], tf.train.Checkpoint]:
    """A model of two layers, its step, and what is saved."""
    layers = [keras.layers.Dense(2, name="body"), keras.layers.Dense(1, name="head")]
    model = keras.Sequential([keras.Input((2,)), *layers])
    optimizer = keras.optimizers.SGD(1e-4)

    def step() -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.ones((3, 2))))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}

    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    return model, tf.function(step) if compiled else step, checkpoint


def exchange(model: Any) -> None:
    """Another last layer."""
    model.pop()
    model.add(keras.layers.Dense(1, name="other"))


def freeze(model: Any) -> None:
    """Train the first layer no more."""
    model.layers[0].trainable = False


def thaw(model: Any) -> None:
    """Train it again."""
    model.layers[0].trainable = True


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (freeze, "body.trainable is False now"),
        (exchange, "two has no layer head any more"),
        (lambda model: model.add(keras.layers.Dense(1, name="more")), "two has a new layer more"),
        (
            lambda model: setattr(model, "trainable", False),
            "trainable is False now .and 3 changes more",
        ),
        (
            lambda model: setattr(model.layers[0].bias, "trainable", False),
            "a variable of body is frozen",
        ),
    ],
)
def test_a_structure_tells_what_was_changed(change: Callable[[Any], object], says: str) -> None:
    model, _, _ = two()
    structure = Structure("two", model)
    assert structure.changed() == ""
    change(model)
    assert re.search(says, structure.changed())
    structure.store()
    assert structure.changed() == ""


def test_a_layer_that_is_frozen_while_a_traced_step_trains_it_pauses_the_run_until_it_is_not() -> (
    None
):
    model, step, checkpoint = two()
    run = nbtrain.train(step, checkpoint=checkpoint, name="run")
    reached(run, lambda run: run.status.step > 3)
    freeze(model)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    message = str(run.status.message)
    assert "body.trainable is False now, and the step continues as it was traced before" in message
    outcome = refused(run.resume())
    assert outcome.text.startswith("Cannot resume: body.trainable is False now")
    assert "define the step again (or compile the model)" in outcome.text
    thaw(model)
    applied(run.resume())
    assert run.status.message is None
    applied(run.pause())
    exchange(model)
    assert "has no layer head any more" in refused(run.resume()).text
    applied(run.request_stop())
    run.wait(SOON)


def test_a_function_that_was_traced_before_is_known_by_what_it_was_traced_with() -> None:
    model, step, checkpoint = two()
    nbtrain.train(step, checkpoint=checkpoint, steps=3, name="first").wait(SOON)
    freeze(model)
    again = nbtrain.train(step, checkpoint=checkpoint, steps=100_000, name="second")
    reached(again, lambda again: again.status.phase is Phase.PAUSED)
    assert "body.trainable is False now" in str(again.status.message)
    again.request_stop()
    again.wait(SOON)


class Trainer:
    """A step that is traced with its object."""

    def __init__(self) -> None:
        self.model = two()[0]
        self.optimizer = keras.optimizers.SGD(1e-4)

    @tf.function
    def step(self) -> dict[str, Any]:
        """Train the model of the object."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(tf.ones((3, 2))))
        weights = self.model.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


@pytest.mark.parametrize(
    "step_of", [lambda trainer: trainer.step, lambda trainer: lambda: trainer.step()]
)
def test_a_step_that_is_a_traced_method_reaches_what_its_object_holds(
    step_of: Callable[[Trainer], Callable[[], Any]],
) -> None:
    trainer, other = Trainer(), Trainer()
    step = step_of(trainer)
    names = Bindings([step])
    step()
    assert names.without_effect() == ""
    assert {id(trainer.optimizer)} == {id(each) for each in names.trained()} - {
        id(each) for each in trainer.model.variables
    }
    lacking = Trained(lambda: [step]).lacking(lambda: [tf.train.Checkpoint(other=other.model)])
    assert lacking is not None
    assert lacking.owners == "model (4 variables)"
    assert lacking.arguments["model"] in ("trainer.model", "<your model>")
    freeze(other.model)
    assert names.without_effect() == ""
    freeze(trainer.model)
    assert names.without_effect().startswith("body.trainable is False now")


def test_a_model_that_holds_the_function_that_trains_it_is_freed_with_it() -> None:
    def watched() -> weakref.ref[Any]:
        model = two()[0]
        step = model.fn = tf.function(lambda: model(tf.ones((3, 2))))
        step()
        names = Bindings([step])
        freeze(model)
        assert names.without_effect().startswith("body.trainable is False now")
        return weakref.ref(model)

    model = watched()
    gc.collect()
    assert model() is None


def test_a_step_that_is_not_traced_uses_the_change() -> None:
    model, step, checkpoint = two(compiled=False)
    run = nbtrain.train(step, checkpoint=checkpoint, name="run")
    reached(run, lambda run: run.status.step > 1)
    applied(run.pause())
    freeze(model)
    before = model.layers[0].kernel.numpy()
    applied(run.resume())
    step_then = run.status.step
    reached(run, lambda run: run.status.step > step_then + 3)
    run.request_stop()
    run.wait(SOON)
    assert np.array_equal(model.layers[0].kernel.numpy(), before)


def test_keras_traces_the_step_again_where_a_layer_is_frozen() -> None:
    model = classifier()
    first, last = model.layers[0], model.layers[-1]
    run = started(model, "run", x=X, y=Y, batch_size=BATCH, epochs=10_000)
    reached(run, lambda run: run.status.step > 3)
    applied(run.pause())
    first.trainable = False
    before = first.kernel.numpy(), last.kernel.numpy()
    applied(run.resume())
    step = run.status.step
    reached(run, lambda run: run.status.step > step + 3)
    said = f"{first.name}.trainable is False now: the step was traced again."
    assert said in str(run.status.notice)
    applied(run.pause())
    assert np.array_equal(first.kernel.numpy(), before[0])
    assert not np.array_equal(last.kernel.numpy(), before[1])
    first.trainable = True  # its optimizer was built with it
    applied(run.resume())
    step = run.status.step
    reached(run, lambda run: run.status.step > step + 3)
    run.request_stop()
    run.wait(SOON)
    assert not np.array_equal(first.kernel.numpy(), before[0])


def test_a_layer_that_keras_has_built_no_optimizer_for_cannot_be_thawed() -> None:
    model = classifier()
    model.layers[0].trainable = False
    model.compile("adam", model.loss, jit_compile=False)
    run = started(model, "run", x=X, y=Y, batch_size=BATCH, epochs=10_000)
    reached(run, lambda run: run.status.step > 3)
    applied(run.pause())
    model.layers[0].trainable = True
    outcome = refused(run.resume())
    assert "trainable is True now, but the optimizer was built without" in outcome.text
    model.layers[0].trainable = False
    applied(run.resume())
    run.request_stop()
    run.wait(SOON)
