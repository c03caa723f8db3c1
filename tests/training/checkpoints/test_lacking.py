"""Trained variables that are not saved are named at the start, at a restore and in the journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.engines.loops import LoopRun
from nbtrain.engines.trained import Trained, in_words
from nbtrain.tf1.saving.compatibility import lacking
from tests.fitted import ended
from tests.gate import SOON
from tests.models import applied, reached
from tests.on_disk import journal

v1 = tf.compat.v1

SAID = (
    "Not in the checkpoint: D (2 variables), d_opt (4 slots): after a restore they stay as they "
    "are. Add them to the checkpoint: tf.train.Checkpoint(..., D=D, d_opt=d_opt)."
)


def dense(units: int, *more: Any) -> Any:
    """A model of one layer, and others behind it."""
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(units), *more])


class Gan:
    """Two networks, and a step that trains both with an optimizer each."""

    def __init__(self, *, compiled: bool = True) -> None:
        self.G, self.D = dense(2), dense(1)
        self.g_opt, self.d_opt = keras.optimizers.SGD(0.01), keras.optimizers.Adam(0.01)
        G, D, g_opt, d_opt = self.G, self.D, self.g_opt, self.d_opt  # noqa: N806
        mean, count = keras.metrics.Mean(), tf.Variable(0, dtype=tf.int64)
        random, teacher = keras.layers.Dropout(0.5), dense(1)
        rate = tf.Variable(1.0)

        def step() -> dict[str, Any]:
            with tf.GradientTape(persistent=True) as tape:
                made = random(G(tf.ones((3, 2))), training=True)
                d_loss = rate * tf.reduce_mean((D(made) - teacher(made)) ** 2)
                g_loss = tf.reduce_mean(D(made))
            d_opt.apply_gradients(
                zip(
                    tape.gradient(d_loss, D.trainable_variables), D.trainable_variables, strict=True
                )
            )
            g_opt.apply_gradients(
                zip(
                    tape.gradient(g_loss, G.trainable_variables), G.trainable_variables, strict=True
                )
            )
            mean.update_state(d_loss)
            count.assign_add(1)
            return {"d_loss": d_loss}

        self.step: Callable[[], dict[str, Any]] = tf.function(step) if compiled else step


@pytest.mark.parametrize("compiled", [True, False])
def test_trained_variables_that_are_not_saved_are_named_at_the_start_and_each_restore(
    *, compiled: bool
) -> None:
    def started() -> nbtrain.Run:
        gan = Gan(compiled=compiled)
        return nbtrain.train(
            gan.step,
            checkpoint=tf.train.Checkpoint(G=gan.G, g_opt=gan.g_opt),
            hyperparameters={"g": gan.g_opt, "d": gan.d_opt},
            name="gan",
        )

    run = started()
    reached(run, lambda run: SAID in str(run.status.message))
    applied(run.save())
    step = run.checkpoints[-1].step
    outcome = applied(run.restore(step))
    assert "; not in the checkpoint: D (2 variables), d_opt (4 slots), which stay" in outcome.text
    assert "as they are. Add them to the checkpoint: tf.train.Checkpoint(..., D=D" in outcome.text
    applied(run.request_stop())
    run.wait(SOON)
    again = started()
    reached(again, lambda again: SAID in str(again.status.message))
    if compiled:  # else the first step tells, which builds the optimizers
        reached(again, lambda again: "not in the checkpoint: D (2" in str(again.status.notice))
    applied(again.request_stop())
    again.wait(SOON)
    told = [line["text"] for line in journal(run, "lacking")]
    assert told.count(SAID) >= 2


def in_the_background(gan: Gan, held: tf.train.Checkpoint) -> nbtrain.Run:
    step = gan.step

    @nbtrain.background(steps=3, checkpoint=held, name="gan")
    def trained(run: LoopRun) -> None:
        for _ in run.track(range(9)):
            run.record(step())

    run: nbtrain.Run = trained
    return run.wait(SOON)


def in_the_foreground(gan: Gan, held: tf.train.Checkpoint) -> nbtrain.Run:
    step = gan.step
    run = nbtrain.track(range(9), steps=3, checkpoint=held, name="gan")
    for _ in run:
        run.record(step())
    return run  # type: ignore[no-any-return]


def in_an_inner_loop(gan: Gan, held: tf.train.Checkpoint) -> nbtrain.Run:
    step, run = gan.step, nbtrain.track(range(2), steps=3, checkpoint=held, name="gan")
    for _ in enumerate(run):
        train_all(step, run)
    return run  # type: ignore[no-any-return]


def train_all(step: Callable[[], dict[str, Any]], run: nbtrain.Run) -> None:
    for _ in nbtrain.track(range(2)):
        run.record(step())


@pytest.mark.parametrize("train", [in_the_background, in_the_foreground, in_an_inner_loop])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_loop_of_the_programs_own_names_them_wherever_it_runs(
    train: Callable[[Gan, tf.train.Checkpoint], nbtrain.Run], *, compiled: bool
) -> None:
    gan = Gan(compiled=compiled)
    run = train(gan, tf.train.Checkpoint(G=gan.G, g_opt=gan.g_opt))
    assert SAID in str(run.status.message)
    assert journal(run, "lacking")[-1]["text"] == SAID


@pytest.mark.parametrize("train", [in_the_background, in_the_foreground, in_an_inner_loop])
def test_a_loop_that_saves_all_it_trains_names_nothing(
    train: Callable[[Gan, tf.train.Checkpoint], nbtrain.Run],
) -> None:
    gan = Gan()
    run = train(gan, tf.train.Checkpoint(G=gan.G, D=gan.D, g=gan.g_opt, d=gan.d_opt))
    assert run.status.message is None
    assert journal(run, "lacking") == []


@pytest.mark.parametrize("compiled", [True, False])
def test_metrics_counters_random_generators_and_what_is_only_read_are_not_named(
    *, compiled: bool
) -> None:
    gan = Gan(compiled=compiled)
    gan.step()
    whole = tf.train.Checkpoint(G=gan.G, D=gan.D, g=gan.g_opt, d=gan.d_opt)
    held = tf.train.TrackableView(whole).descendants()
    assert Trained(lambda: [gan.step], {"g": gan.g_opt}).lacking(lambda: held) == {}


def test_a_frozen_layer_is_not_named_and_the_statistics_of_a_trained_model_are() -> None:
    frozen = keras.layers.Dense(2, trainable=False)
    model, optimizer = dense(2, frozen, keras.layers.BatchNormalization()), keras.optimizers.SGD()

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.ones((3, 2)), training=True))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)

    compiled = tf.function(step)
    compiled()
    for functions in ([compiled], [step]):
        trained = Trained(lambda functions=functions: functions)  # type: ignore[misc]
        assert trained.lacking(list) == {"model": [False] * 6}
        assert trained.lacking(lambda: model.trainable_variables) == {"model": [False] * 2}


def test_an_optimizer_that_no_function_names_is_named_as_it_was_given() -> None:
    model, optimizer = dense(1), keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    found = Trained(list, {"critic": optimizer}).lacking(list)
    assert in_words(found) == f"{model.name} (2 variables), critic (4 slots)"


def test_an_owner_has_the_name_by_which_the_program_reaches_it() -> None:
    model, optimizer = dense(1), keras.optimizers.SGD()
    weights = [tf.Variable(1.0)]

    class Trainer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.own = model, tf.Variable(1.0)

        def step(self) -> None:
            ones = [tf.ones(each.shape) for each in self.inner.weights]
            optimizer.apply(ones, self.inner.weights)
            weights[0].assign_add(1.0)

    trainer = Trainer()
    trainer.step()
    step = tf.function(lambda: trainer.step())
    step()
    assert list(Trained(lambda: [step]).lacking(list)) == ["inner", "weights"]


def test_variables_used_by_a_train_step_outside_its_model_are_named() -> None:
    critic, optimizer = dense(1), keras.optimizers.SGD(0.01, momentum=0.9)

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.d_opt = keras.layers.Dense(2), keras.optimizers.Adam()

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            with tf.GradientTape(persistent=True) as tape:
                loss = tf.reduce_mean(critic(self(data)))
            for optimizer_, model in ((optimizer, critic), (self.d_opt, self.dense)):
                weights = model.trainable_variables
                optimizer_.apply(tape.gradient(loss, weights), weights)
            return {"loss": loss}

    model = Own()
    model.compile(jit_compile=False)
    run = ended(model, "run", x=tf.ones((12, 2)), batch_size=4)
    message = str(run.status.message)
    assert "Not in the checkpoint: critic (2 variables), optimizer (2 slots): after" in message
    assert "in its __init__: self.critic = critic; self.optimizer_2 = optimizer" in message


@pytest.mark.parametrize("resource", [True, False])
def test_a_saver_of_some_variables_of_a_graph_is_told_with_those_it_lacks(
    *, resource: bool
) -> None:
    with tf.Graph().as_default():
        with v1.variable_scope("kept", use_resource=resource):
            kept = v1.get_variable("w", initializer=1.0)
        with v1.variable_scope("lost", use_resource=resource):
            lost = v1.get_variable("w", initializer=1.0)
            v1.get_variable("read", initializer=1.0)
        step = v1.train.get_or_create_global_step()
        loss = (kept - lost) ** 2
        train_op = v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss, step)
        saver = v1.train.Saver({"kept": kept, "step": step})
        assert (
            lacking(tf.compat.v1.get_default_graph(), saver)
            == "kept (1 variable), lost (2 variables)"
        )
        assert lacking(tf.compat.v1.get_default_graph(), v1.train.Saver()) == ""
        supervisor = nbtrain.Supervisor(logdir="logs", saver=saver)
    run = nbtrain.supervise(train_op, supervisor=supervisor, steps=3, name="run")
    run.wait(SOON)
    message = str(run.status.message)
    assert "Not in the checkpoint: kept (1 variable), lost (2 variables)" in message
    assert "nbtrain.tf1.Saver() without var_list= saves all variables" in message
