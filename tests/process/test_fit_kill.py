"""kill -9 at random batches of one training, twenty times: it ends as an unbroken one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import ROOT

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
    reducing = keras.callbacks.ReduceLROnPlateau("loss", 0.7, 2, min_delta=0.1)
    callbacks = [Killed(), reducing]
    run = nbtrain.fit(model, **given, epochs=EPOCHS, name=name, save_steps=7, callbacks=callbacks)
    run.wait()
    assert optimizer.learning_rate < 0.005
    np.savez(f"{name}.npz", *[v.numpy() for v in [*model.variables, *model.optimizer.variables]])
    print(run.status.step, int(model.optimizer.iterations), flush=True)
    os._exit(0)

"""


LIVED = """

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

# The same with a step function: dropout by a generator of its own, momenta, a shuffled pipeline.
STEPS = """
import os, random, signal, sys
import numpy as np, tensorflow as tf
import nbtrain
from tests.fitted import X, Y, dataset

kind, lives = sys.argv[1], int(sys.argv[2])
draw = random.Random(4)


def life():
    weights = tf.Variable(tf.random.stateless_normal([X.shape[1], 3], [1, 2]))
    random = tf.random.Generator.from_seed(5)
    optimizer = tf.keras.optimizers.Adam(0.01)
    optimizer.build([weights])
    held = {"weights": weights, "optimizer": optimizer, "random": random}

    @tf.function
    def update(x, y):
        kept = tf.cast(random.uniform(tf.shape(x)) > 0.1, tf.float32)
        with tf.GradientTape() as tape:
            logits = (x * kept) @ weights
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, [weights]), [weights]))
        return {"loss": loss}

    def step(batch):
        with open(f"{name}.rows", "a+") as file:
            file.seek(0)
            if len(file.readlines()) >= until:
                os.kill(os.getpid(), signal.SIGKILL)
            file.write(f"{int(optimizer.iterations)} {batch[0][:, 0].numpy().tobytes().hex()}\\n")
        return update(*batch)

    def train(run, batches):
        while not run.should_stop():
            run.record(step(next(batches)))

    options = {"data": dataset(), "epochs": 20, "name": name, "save_steps": 7}
    options["checkpoint"] = tf.train.Checkpoint(**held)
    run = nbtrain.train(step, **options) if kind == "step" else nbtrain.background(train, **options)
    run.wait()
    values = [weights, random.state, *optimizer.variables]
    np.savez(f"{name}.npz", *[value.numpy() for value in values])
    print(run.status.step, int(optimizer.iterations), flush=True)
    os._exit(0)

"""


def rows_of_steps(path: Path) -> set[tuple[str, ...]]:
    """The rows of each step that was trained, be it once or again after a kill."""
    return {tuple(line.split()) for line in path.read_text(encoding="utf-8").splitlines()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no SIGKILL on this system")
@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (TRAIN + LIVED, "arrays"),
        (TRAIN + LIVED, "dataset"),
        (STEPS + LIVED, "step"),
        (STEPS + LIVED, "loop"),
    ],
    ids=["fit of arrays", "fit of a dataset", "step function", "own loop"],
)
def test_a_training_that_was_killed_twenty_times_ends_as_an_unbroken_one(
    program: str, kind: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, kind, str(LIVES)],
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
