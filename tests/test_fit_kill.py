"""kill -9 at random batches of one training, twenty times: it ends as an unbroken one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]

LIVES = 21

# Imports TensorFlow once. Each life is a process of its own, forked before TensorFlow runs, that
# goes on from the last checkpoint and is killed at a batch that its parent draws: at once, or
# after a checkpoint of that batch, for every seventh batch saves. The last life ends.
TRAIN = """
import os, random, signal, sys
import keras, numpy as np, tensorflow as tf
import nbtrain
from tests.fitted import X, Y, classifier, dataset

kind, lives = sys.argv[1], int(sys.argv[2])
EPOCHS, SIZE = 20, 8
draw = random.Random(4)


class Order(keras.layers.Layer):
    \"\"\"Passes rows on, and writes down which they are.\"\"\"

    def call(self, rows, training=False):
        if training:
            tf.py_function(written, [rows[:, 0], optimizer.iterations.value], [])
        return rows


def written(rows, step):
    with open(f"{name}.rows", "a") as file:
        file.write(f"{step} {rows.numpy().tobytes().hex()}\\n")


class Killed(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        with open(f"{name}.rows") as file:
            if len(file.readlines()) >= until:
                os.kill(os.getpid(), signal.SIGKILL)


def life():
    global optimizer
    given = {"x": dataset()} if kind == "dataset" else {"x": X, "y": Y, "batch_size": SIZE}
    inner = classifier()
    model = keras.Sequential([keras.Input((X.shape[1],)), Order(), *inner.layers])
    optimizer = keras.optimizers.Adam(0.01)
    model.compile(optimizer, inner.loss, metrics=["accuracy"], jit_compile=False)
    run = nbtrain.fit(
        model, **given, epochs=EPOCHS, name=name, save_steps=7, callbacks=[Killed()], start=False
    )
    run.start().wait()
    np.savez(f"{name}.npz", *[v.numpy() for v in [*model.variables, *model.optimizer.variables]])
    print(run.status.step, int(model.optimizer.iterations), flush=True)
    os._exit(0)


def lived():
    child = os.fork()
    if not child:
        life()
    return os.waitpid(child, 0)[1]


until, name = sys.maxsize, "whole"
assert lived() == 0
name, killed, until = "broken", 0, 0
for number in range(lives):
    until += draw.randint(8, 12)
    if number == lives - 1:
        until = sys.maxsize
    killed += lived() == signal.SIGKILL
print(killed, flush=True)
"""


def rows_of_steps(path: Path) -> set[tuple[str, ...]]:
    """The rows of each step that was trained, be it once or again after a kill."""
    return {tuple(line.split()) for line in path.read_text(encoding="utf-8").splitlines()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("kind", ["arrays", "dataset"])
def test_a_fit_that_was_killed_twenty_times_ends_as_an_unbroken_one(
    kind: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, kind, str(LIVES)],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        text=True,
        timeout=280,
    )
    whole, broken, killed = done.stdout.splitlines()
    assert whole == broken == "240 240"
    assert killed == str(LIVES - 1)
    order = rows_of_steps(tmp_path / "whole.rows")
    assert rows_of_steps(tmp_path / "broken.rows") == order
    assert len(order) == 240
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "broken.npz") as other:
        for array in one.files:
            np.testing.assert_array_equal(other[array], one[array])
