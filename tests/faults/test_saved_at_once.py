"""Saves soon after a start: a run that is killed after them ends as an unbroken one.

Of what a start restores late (positions, iterators, metrics), a save must hold what was read.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.receipts import Receipt
from tests.faults import rounds
from tests.fitted import STEPS, Pieces, X, Y, dataset, writing
from tests.forked import Forked
from tests.gate import SOON
from tests.models import v1

NAME = "run"
EPOCHS = 3
ROWS = Path("rows.txt")


@dataclass
class Life:
    """One process of a training.

    Attributes:
        save_at: The steps of this process after which it saves; 0 is before the first.
        kill_in: The step in which it is killed; None trains to the end.
        back_to: The step to which it goes back before its first step; None stays.
    """

    save_at: tuple[int, ...] = ()
    kill_in: int | None = None
    back_to: int | None = None
    run: Any = None
    count: int = 0
    receipts: list[Receipt] = field(default_factory=list)

    def begin(self, run: Any = None) -> None:
        """Asks for what comes before the first step."""
        self.run = run or self.run
        self._ask()

    def step(self, number: Any, rows: Any) -> None:
        """Writes down a step that is trained on some rows, and asks for what comes after it."""
        self.count += 1
        if self.count == self.kill_in:
            os.kill(os.getpid(), signal.SIGKILL)
        with ROWS.open("a", encoding="utf-8") as file:
            file.write(f"{int(number)} {np.asarray(rows).tobytes().hex()}\n")
        self._ask()

    def _ask(self) -> None:
        if self.count == 0 and self.back_to is not None:
            self.receipts.append(self.run.restore(self.back_to))
        if self.count in self.save_at:
            self.receipts.append(self.run.save())


class Linear:
    """A layer with momenta and random draws of its own."""

    def __init__(self, life: Life) -> None:
        self.weights = tf.Variable(tf.random.stateless_normal([X.shape[1], 3], [1, 2]))
        self.generator = tf.random.Generator.from_seed(5)
        self.optimizer = keras.optimizers.Adam(0.01)
        self.optimizer.build([self.weights])
        self.checkpoint = tf.train.Checkpoint(
            weights=self.weights, optimizer=self.optimizer, random=self.generator
        )
        self.options = {"checkpoint": self.checkpoint, "name": NAME, "keep": None}
        self._life = life

    def step(self, batch: Any) -> dict[str, Any]:
        """Trains on a batch."""
        x, y = batch
        self._life.step(self.optimizer.iterations, x[:, 0])
        kept = tf.cast(self.generator.uniform(tf.shape(x)) > 0.1, tf.float32)
        with tf.GradientTape() as tape:
            logits = (x * kept) @ self.weights
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            loss = tf.reduce_mean(losses)
        gradient = tape.gradient(loss, self.weights)
        self.optimizer.apply_gradients([(gradient, self.weights)])
        return {"loss": loss}

    def state(self) -> list[Any]:
        """All that training changes."""
        variables = [self.weights, self.generator.state, *self.optimizer.variables]
        return [variable.numpy() for variable in variables]


def by_step_function(life: Life) -> list[Any]:
    """`nbtrain.train` over data."""
    linear = Linear(life)
    run = nbtrain.train(linear.step, data=dataset(), epochs=EPOCHS, **linear.options, start=False)
    life.run = run
    run.start()
    life.begin()
    run.wait()
    return linear.state()


def by_loop_over_data(life: Life) -> list[Any]:
    """`nbtrain.background` with data."""
    linear = Linear(life)

    @nbtrain.background(data=dataset(), epochs=EPOCHS, **linear.options)
    def loop(run: Any, batches: Iterator[Any]) -> None:
        life.begin(run)
        while not run.should_stop():
            run.record(linear.step(next(batches)))

    loop.wait()
    return linear.state()


def by_tracked_loops(life: Life) -> list[Any]:
    """Nested tracked loops, two of them in each turn."""
    linear, data, more = Linear(life), dataset(), dataset().take(2)

    @nbtrain.background(**linear.options)
    def loop(run: Any) -> None:
        life.begin(run)
        for _ in run.track(range(EPOCHS)):
            for batch in run.track(data):
                run.record(linear.step(batch))
            for batch in run.track(more):
                run.record(linear.step(batch))

    loop.wait()
    return linear.state()


def by_loops_in_sequence(life: Life) -> list[Any]:
    """Tracked loops one after the other."""
    linear, data = Linear(life), dataset()

    @nbtrain.background(**linear.options)
    def loop(run: Any) -> None:
        life.begin(run)
        for batch in run.track([*data]):
            run.record(linear.step(batch))
        for _ in run.track(range(EPOCHS - 1)):
            for batch in run.track(data):
                run.record(linear.step(batch))

    loop.wait()
    return linear.state()


def by_foreground(life: Life) -> list[Any]:
    """`nbtrain.track` in the foreground."""
    linear, data = Linear(life), dataset()
    run = nbtrain.track(range(EPOCHS), **linear.options)
    begun = False
    for _ in run:
        if not begun:
            begun = True
            life.begin(run)
        for batch in nbtrain.track(data):
            run.record(linear.step(batch))
    return linear.state()


class Begin(keras.callbacks.Callback):
    """Begins a life before the first batch."""

    def __init__(self, life: Life) -> None:
        super().__init__()
        self._life = life

    def on_train_begin(self, logs: Any = None) -> None:
        if not self._life.receipts:
            self._life.begin()


def by_fit(life: Life, **data: Any) -> list[Any]:
    """`nbtrain.fit`, with metrics whose variables the first batch creates."""
    model = writing(life.step)
    optimizer = model.optimizer
    plateau = keras.callbacks.ReduceLROnPlateau("accuracy", 0.5, 1, min_delta=0.2)
    stopper = keras.callbacks.EarlyStopping(
        "accuracy", patience=9, restore_best_weights=True, mode="max"
    )
    run = nbtrain.fit(
        model,
        **data,
        epochs=EPOCHS,
        name=NAME,
        keep=None,
        callbacks=[Begin(life), plateau, stopper],
        start=False,
    )
    life.run = run
    run.start()
    run.wait()
    metrics = [run.history[name] for name in ("loss", "accuracy")]
    numbers = [optimizer.learning_rate.numpy(), plateau.wait, stopper.best, stopper.wait]
    variables = [variable.numpy() for variable in [*model.variables, *optimizer.variables]]
    return [*variables, *map(np.asarray, metrics), *map(np.asarray, numbers)]


def by_fit_of_a_dataset(life: Life) -> list[Any]:
    """Of a pipeline that is shuffled anew in each epoch."""
    return by_fit(life, x=dataset())


def by_fit_of_arrays(life: Life) -> list[Any]:
    """Of arrays."""
    return by_fit(life, x=X, y=Y, batch_size=8)


def by_fit_of_a_pydataset(life: Life) -> list[Any]:
    """A fit of a `PyDataset`."""
    return by_fit(life, x=Pieces())


def by_fit_of_a_generator(life: Life) -> list[Any]:
    """A fit of a generator of equal batches, as it begins again in each process."""
    return by_fit(life, x=itertools.repeat((X[:8], Y[:8])), steps_per_epoch=STEPS)


def by_fit_in_a_loop(life: Life) -> list[Any]:
    """Keras's own fit with a `RunCallback`, in a loop that says which epoch is next."""
    model = writing(life.step)
    done = model.optimizer.iterations

    @nbtrain.background(checkpoint=tf.train.Checkpoint(model=model), name=NAME, keep=None)
    def loop(run: Any) -> None:
        life.begin(run)
        callbacks = [nbtrain.RunCallback(run)]
        while not run.should_stop() and int(done) < EPOCHS * STEPS:
            epoch = int(done) // STEPS
            how = {"initial_epoch": epoch, "epochs": epoch + 1, "verbose": 0, "shuffle": False}
            model.fit(X, Y, batch_size=8, callbacks=callbacks, **how)

    loop.wait()
    return [variable.numpy() for variable in [*model.variables, *model.optimizer.variables]]


def by_supervisor(life: Life) -> list[Any]:
    """A graph with momenta under a Supervisor."""
    return by_graph(life, nbtrain.tf1.supervise)


def by_monitor(life: Life) -> list[Any]:
    """The same in a MonitoredSession."""
    return by_graph(life, nbtrain.tf1.monitor)


def by_graph(life: Life, train_in: Callable[..., nbtrain.Run]) -> list[Any]:
    """A graph with momenta in a session."""
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        weight = v1.get_variable("weight", initializer=tf.zeros([5]))
        loss = tf.reduce_mean((weight - 1.0) ** 2)
        with tf.control_dependencies([v1.py_func(life.step, [step, loss], [], stateful=True)]):
            optimizer = v1.train.MomentumOptimizer(0.01, 0.9)
            gradients = optimizer.compute_gradients(loss)
            train = optimizer.apply_gradients(gradients, global_step=step)
        run = train_in(train, steps=EPOCHS * STEPS, name=NAME, keep=None, start=False)
    life.run = run
    run.start()
    life.begin()
    run.wait()
    reader = tf.train.load_checkpoint(run.checkpoints[-1].path)
    return [reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())]


WAYS = [
    by_step_function,
    by_loop_over_data,
    by_tracked_loops,
    by_loops_in_sequence,
    by_foreground,
    by_fit_of_a_dataset,
    by_fit_of_arrays,
    by_fit_of_a_pydataset,
    by_fit_of_a_generator,
    by_fit_in_a_loop,
    by_supervisor,
    by_monitor,
]

# The ways that go on with whole epochs: their loops say with which.
BY_EPOCHS = {by_fit_in_a_loop}


def live(pipe: Connection, train: Callable[[Life], list[Any]], life: Life) -> None:
    """Trains; tells the state at the end, and what became of the commands."""
    keras.utils.set_random_seed(3)
    state = train(life)
    pipe.send((state, [receipt.wait(SOON) for receipt in life.receipts]))


def live_unbroken(pipe: Connection) -> None:
    """Trains without a break in each way that is asked for, in a folder; tells the state."""
    while True:
        train, folder = pipe.recv()
        os.chdir(folder)
        keras.utils.set_random_seed(3)  # the rows of arrays are drawn from it
        pipe.send(train(Life()))


@pytest.fixture(scope="module")
def unbroken() -> Iterator[Forked]:
    """A process that trains without a break."""
    with Forked(live_unbroken) as child:
        yield child


def rows_of_steps(folder: Path) -> set[str]:
    """The rows of each step that was trained, once or again."""
    return {*(folder / ROWS).read_text(encoding="utf-8").splitlines()}


@pytest.mark.parametrize("train", WAYS)
def test_a_save_soon_after_a_start_holds_all_that_was_restored(
    train: Callable[[Life], list[Any]], tmp_path: Path, unbroken: Forked
) -> None:
    """A start is killed after such a save, and later ones go back to each checkpoint."""
    whole = tmp_path / "whole"
    whole.mkdir()
    unbroken.send((train, whole))
    expected = unbroken.answer()
    order = rows_of_steps(whole)
    for number, draw in enumerate(rounds(1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        first, later = draw.randint(STEPS + 1, 2 * STEPS + 4), draw.randint(1, 3)
        if train in BY_EPOCHS:
            first, later = STEPS, STEPS
        for life in (Life((first,), first + 2), Life((0, later), later + 2)):
            print(life.save_at, life.kill_in)
            with Forked(live, train, life, folder=folder) as child:
                assert child.wait() == -signal.SIGKILL, child.err
        held = [each.step for each in listed(folder / "runs" / NAME / "checkpoints")]
        print(held)
        assert held[-1] >= first
        for step in held[:0:-1]:  # it saves where it has gone back to
            with Forked(live, train, Life((0,), 3, step), folder=folder) as child:
                assert child.wait() == -signal.SIGKILL, child.err
        with Forked(live, train, Life((0,), None, held[0]), folder=folder) as child:
            state, outcomes = child.answer()
        assert all(outcome.applied for outcome in outcomes), outcomes
        assert rows_of_steps(folder) == order
        for ours, theirs in itertools.zip_longest(state, expected):
            np.testing.assert_array_equal(ours, theirs)
