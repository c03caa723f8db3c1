"""kill -9 at random batches of one training, again and again: it ends as an unbroken one."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.run.run import Run
from tests.fitted import STEPS, X, Y, dataset, writing
from tests.forked import Forked

KILLS = 2
EPOCHS, SIZE = 6, 8


class Rows:
    """Which rows each step was trained on, in a file that outlives the process.

    Args:
        name: Of the run, and of the file.
        until: At which line of the file the process is killed.
    """

    def __init__(self, name: str, until: int) -> None:
        self._path, self._until = Path(f"{name}.rows"), until

    def write(self, step: Any, rows: Any) -> None:
        """Write down a step and the first column of its rows."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{int(step)} {rows.numpy().tobytes().hex()}\n")

    def kill(self) -> None:
        """Kill this process if the file is long enough."""
        if self._path.exists() and len(self._path.read_bytes().splitlines()) >= self._until:
            os.kill(os.getpid(), signal.SIGKILL)


class Killed(keras.callbacks.Callback):
    """Kills the process at the end of a batch."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._rows.kill()


def fit(kind: str, name: str, rows: Rows) -> tuple[Run, Any, list[Any]]:
    """A run of Keras's fit, its optimizer and all that training changes."""
    given = {"x": dataset()} if kind == "dataset" else {"x": X, "y": Y, "batch_size": SIZE}
    model = writing(rows.write)
    optimizer = model.optimizer
    callbacks = [Killed(rows), keras.callbacks.ReduceLROnPlateau("loss", 0.7, 1, min_delta=0.2)]
    run = nbtrain.fit(model, **given, epochs=EPOCHS, name=name, save_steps=7, callbacks=callbacks)
    run.wait()
    assert float(optimizer.learning_rate) < 0.01
    return run, optimizer, [*model.variables, *optimizer.variables]


def steps(kind: str, name: str, rows: Rows) -> tuple[Run, Any, list[Any]]:
    """The same of a step function: dropout by a generator of its own, and a shuffled pipeline."""
    weights = tf.Variable(tf.random.stateless_normal([X.shape[1], 3], [1, 2]))
    generator = tf.random.Generator.from_seed(5)
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build([weights])
    checkpoint = tf.train.Checkpoint(weights=weights, optimizer=optimizer, random=generator)

    @tf.function
    def update(x: Any, y: Any) -> dict[str, Any]:
        kept = tf.cast(generator.uniform(tf.shape(x)) > 0.1, tf.float32)
        with tf.GradientTape() as tape:
            logits = (x * kept) @ weights
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return {"loss": loss}

    def step(batch: Any) -> Any:
        rows.kill()
        rows.write(optimizer.iterations, batch[0][:, 0])
        return update(*batch)

    def loop(run: Run, batches: Iterator[Any]) -> None:
        while not run.should_stop():
            run.record(step(next(batches)))

    train: Any = nbtrain.train if kind == "step function" else nbtrain.background
    run = train(
        step if kind == "step function" else loop,
        data=dataset(),
        epochs=EPOCHS,
        name=name,
        save_steps=7,
        checkpoint=checkpoint,
    )
    run.wait()
    return run, optimizer, [weights, generator.state, *optimizer.variables]


def live(pipe: Connection, kind: str, name: str, until: int) -> None:
    """Go on from the last checkpoint until the process is killed, or the training ends."""
    train = fit if kind in {"arrays", "dataset"} else steps
    run, optimizer, variables = train(kind, name, Rows(name, until))
    np.savez(f"{name}.npz", *[variable.numpy() for variable in variables])
    pipe.send((run.status.step, int(optimizer.iterations)))


def rows_of_steps(path: Path) -> set[tuple[str, ...]]:
    """The rows of each step that was trained, be it once or again after a kill."""
    return {tuple(line.split()) for line in path.read_text(encoding="utf-8").splitlines()}


@pytest.mark.parametrize("kind", ["arrays", "dataset", "step function", "loop"])
def test_a_training_that_was_killed_at_random_batches_ends_as_an_unbroken_one(
    kind: str, tmp_path: Path
) -> None:
    """At once, or after a checkpoint of that batch, for every seventh batch saves."""
    with Forked(live, kind, "whole", sys.maxsize) as whole:
        draw, until = random.Random(4), 0
        for _ in range(KILLS):
            until += draw.randint(12, 26)  # some within an epoch, and some epochs without one
            with Forked(live, kind, "broken", until) as attempt:
                assert attempt.wait() == -signal.SIGKILL, attempt.err
        with Forked(live, kind, "broken", sys.maxsize) as last:
            assert last.answer() == (EPOCHS * STEPS, EPOCHS * STEPS)
        assert whole.answer() == (EPOCHS * STEPS, EPOCHS * STEPS)
    order = rows_of_steps(tmp_path / "whole.rows")
    assert rows_of_steps(tmp_path / "broken.rows") == order
    assert len(order) == EPOCHS * STEPS
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "broken.npz") as other:
        for array in one.files:
            np.testing.assert_array_equal(other[array], one[array])
