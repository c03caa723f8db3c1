"""Two replicas in the kernel, which need a process of their own: devices are made at its start."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Set
from tests.fitted import PlainlyAt, SetAt, StopAt, X, Y, assert_same, classifier, ended
from tests.forked import printed
from tests.gate import SOON


def model(dropout: float = 0.0) -> Any:
    """A classifier on two replicas."""
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        return classifier(dropout=dropout, late=True)


def make_devices() -> None:
    """Make two of the processor."""
    devices = [tf.config.LogicalDeviceConfiguration()] * 2
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, devices)


GIVEN: dict[str, Any] = {"x": X[:80], "y": Y[:80], "batch_size": 8}


def fit(pipe: Connection) -> None:
    """Fit on two replicas, break off and go on."""
    make_devices()
    whole, again, alone = model(), model(), classifier(dropout=0.0)
    two = ended(whole, "whole", **GIVEN, epochs=2).scalars["batch_loss"]
    one = ended(alone, "alone", **GIVEN, epochs=2).scalars["batch_loss"]
    np.testing.assert_allclose(two.values, one.values, rtol=1e-4)
    ended(model(), "run", StopAt(13), **GIVEN, epochs=2)
    ended(again, "run", **GIVEN, epochs=2)
    assert_same(again, whole)
    print("replicas", whole.distribute_strategy.num_replicas_in_sync)


def test_replicas_give_their_mean_loss_and_go_on() -> None:
    assert printed(fit) == "replicas 2\n"


def edit(pipe: Connection) -> None:
    """Fit on two replicas, and set a rate."""
    make_devices()
    edited, plain = model(0.5), model(0.5)
    run = ended(edited, "edited", SetAt(4, dropout_rate=0.25), **GIVEN, shuffle=False)
    plain.fit(**GIVEN, shuffle=False, verbose=0, callbacks=[PlainlyAt(4, dropout_rate=0.25)])
    assert_same(edited, plain)
    print("dropout_rate", run.hyperparameters["dropout_rate"])


def test_replicas_use_a_rate_that_was_set() -> None:
    assert printed(edit) == "dropout_rate 0.25\n"


def train(pipe: Connection) -> None:
    """Train on two replicas with a step function, set a rate, and go on from the checkpoint."""
    make_devices()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def trained(steps: int, *edits: tuple[int, float]) -> list[float]:
        with strategy.scope():
            w = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
            rate = tf.Variable(0.25)

        @tf.function
        def step() -> dict[str, Any]:
            def of_one_replica() -> Any:
                replica: Any = tf.distribute.get_replica_context()
                number = tf.cast(replica.replica_id_in_sync_group, tf.float32)
                w.assign_add(rate * (1.0 + 2.0 * number))  # 1 and 3: their mean is 2
                return w.read_value()

            return {"w": strategy.reduce("MEAN", strategy.run(of_one_replica), axis=None)}

        run = nbtrain.train(
            step,
            steps=steps,
            checkpoint=tf.train.Checkpoint(w=w, rate=rate),
            hyperparameters={"rate": rate},
            name="mirrored",
            start=False,
        )
        for at, value in edits:
            run.post(Set({"rate": value}), at=at)
        run.start().wait(SOON)
        return [float(each.numpy()) for each in strategy.experimental_local_results(w)]

    print(trained(4, (2, 0.5)), trained(6))


def test_replicas_are_trained_by_a_step_function_use_a_rate_and_go_on() -> None:
    # 1 + 2 * (2 * 0.25 + 2 * 0.5) = 4, and two more steps with the rate of the checkpoint
    assert printed(train) == "[4.0, 4.0] [6.0, 6.0]\n"
