"""A Keras fit on two replicas, which need a process of their own: devices are made at its start."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import tensorflow as tf

from tests.fitted import PlainlyAt, SetAt, StopAt, X, Y, assert_same, classifier, ended
from tests.forked import printed


def model(dropout: float = 0.0) -> Any:
    """A classifier on two replicas."""
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        return classifier(dropout=dropout, late=True)


def fit(pipe: Connection) -> None:
    """Fit on two replicas, break off and go on, and set a rate."""
    devices = [tf.config.LogicalDeviceConfiguration()] * 2
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, devices)
    given: dict[str, Any] = {"x": X[:80], "y": Y[:80], "batch_size": 8}
    whole, again, alone = model(), model(), classifier(dropout=0.0)
    two = ended(whole, "whole", **given, epochs=2).scalars["batch_loss"]
    one = ended(alone, "alone", **given, epochs=2).scalars["batch_loss"]
    np.testing.assert_allclose(two.values, one.values, rtol=1e-4)
    ended(model(), "run", StopAt(13), **given, epochs=2)
    ended(again, "run", **given, epochs=2)
    assert_same(again, whole)

    edited, plain = model(0.5), model(0.5)
    given["shuffle"] = False
    run = ended(edited, "edited", SetAt(4, dropout_rate=0.25), **given)
    plain.fit(**given, verbose=0, callbacks=[PlainlyAt(4, dropout_rate=0.25)])
    assert_same(edited, plain)
    assert run.hyperparameters["dropout_rate"] == 0.25
    print("replicas", whole.distribute_strategy.num_replicas_in_sync)


def test_replicas_give_their_mean_loss_go_on_and_use_a_rate_that_was_set() -> None:
    assert printed(fit) == "replicas 2\n"
