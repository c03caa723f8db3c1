"""A Keras fit on two replicas, which need a process of their own: devices are made at its start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import ROOT

FIT = """
import numpy as np, tensorflow as tf

devices = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], devices)
import keras
from tests.fitted import PlainlyAt, SetAt, X, Y, StopAt, assert_same, classifier, ended

def model(dropout=0.0):
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        return classifier(dropout=dropout)

given = {"x": X[:80], "y": Y[:80], "batch_size": 8, "epochs": 2}
whole, again, alone = model(), model(), classifier(dropout=0.0)
two = ended(whole, "whole", **given).scalars["batch_loss"]
one = ended(alone, "alone", **given).scalars["batch_loss"]
np.testing.assert_allclose(two.values, one.values, rtol=1e-4)
ended(model(), "run", StopAt(13), **given)
ended(again, "run", **given)
assert_same(again, whole)

edited, plain = model(0.5), model(0.5)
del given["epochs"]
run = ended(edited, "edited", SetAt(4, dropout_rate=0.25), **given, shuffle=False)
plain.fit(**given, shuffle=False, verbose=0, callbacks=[PlainlyAt(4, dropout_rate=0.25)])
assert_same(edited, plain)
assert run.hyperparameters["dropout_rate"] == 0.25
print("replicas", whole.distribute_strategy.num_replicas_in_sync)
"""


def test_replicas_give_their_mean_loss_go_on_and_use_a_rate_that_was_set(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        text=True,
        timeout=200,
    )
    assert done.stdout.splitlines()[-1] == "replicas 2"
