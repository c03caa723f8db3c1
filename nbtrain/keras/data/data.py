"""The training data of a Keras model, with a position that can be saved and restored.

Keras draws a new order for every epoch, from a state that is lost with the kernel. Here the order
is determined by a seed and the epoch's number, or kept in the state of a `tf.data` iterator. So a
training resumed in the middle of an epoch continues with the next batch.

arguments = data.arguments(epoch, batch)   # for each call of `fit`
    data.begin(epoch, batch)               # after that, and at the start of each epoch
    data.enter_epoch()                     # at the start of each epoch
    data.pass_over(iterator)               # for each batch that was trained before
    data.draw_from(iterator, count)        # before each execution; Keras's own, or another
    data.end_epoch(epoch + 1)
data.leave()                               # after each call
"""

from __future__ import annotations

import contextlib
import zlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import NO_STATE, Iterators
from nbtrain.keras.data.arrays import common_count, rows_of

# Batches of arrays that are gathered in advance.
_PREFETCHED = 2


class Data:
    """Data of an unknown kind, such as a torch DataLoader; training thread only.

    With `steps_per_epoch`, a pass over the data holds several epochs, as in Keras: each continues
    where the last one ended. The last is shorter if the pass ends in it, and the next one begins
    another pass.

    Args:
        steps: The `steps_per_epoch`.
        size: Batches of an execution; Keras makes only whole executions while data last.
        count: Batches of a pass; None if it is unknown or has no end.
        more: Further arguments of `fit`.

    Attributes:
        given: The steps of an epoch that Keras tells its callbacks.
        steps: Batches of the current epoch; None while unknown.
        first_epoch: The epoch with which the first pass begins.
        began: The completed steps when the epoch began that is trained; None before the first.
        seed: The seed of the order, if it is drawn here; saved with the position.
        inexact: Why the position in the data is not exact; None if it is.
        iterators: The `tf.data` iterators to save with the position; None if Keras has its own.
        sample: A batch that the user's own code has made, if it makes them: see `DataSample`.
        repeats: What the user can do so that the same batches come after a restart.
    """

    inexact: str | None = "the position of such an object cannot be saved"
    iterators: Iterators | None = None
    sample: DataSample | None = None
    repeats = ""

    def __init__(
        self,
        x: Any,
        steps: int | None = None,
        size: int = 1,
        count: int | None = None,
        **more: Any,
    ) -> None:
        self.given = steps or count
        self.first_epoch = 0
        self._count, self._steps = count, -(-steps // size) * size if steps else None
        self._left = 0  # batches of the pass that came before the call of `fit`
        self.steps = self.steps_of(0)
        self.began: int | None = None
        self.seed = 0
        self._x, self._more = x, {"shuffle": False, "steps_per_epoch": steps, **more}

    def place(self, epoch: int) -> tuple[int, int]:
        """Returns the number of the pass that holds an epoch, and the epoch's first batch in it."""
        epoch -= self.first_epoch
        if self._steps is None:
            return epoch, 0
        if self._count is None:
            return 0, epoch * self._steps
        turn, epoch = divmod(epoch, -(-self._count // self._steps))
        return turn, epoch * self._steps

    @property
    def has_known_end(self) -> bool:
        """True if the batches of a pass are known."""
        return self._count is not None

    def steps_of(self, epoch: int) -> int | None:
        """Returns the batches of an epoch; None while unknown."""
        if self._steps is None or self._count is None:
            return self._steps or self._count
        return min(self._steps, self._count - self.place(epoch)[1])

    def steps_before(self, epoch: int) -> int | None:
        """Returns the batches of all epochs before this one; None while unknown."""
        turn, batch = self.place(epoch)
        if self._count is None:
            return batch if self._steps else None
        return turn * self._count + batch

    def must_renew(self, epoch: int) -> bool:
        """Returns whether a new call of `fit` must train this epoch.

        Keras was given the rest of a pass, and would take it for the length of the next one.
        """
        return self._left > 0 and self.place(epoch)[1] == 0

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """The arguments of a `fit` that continues at this epoch and batch, both counted from 0."""
        self._left = 0 if self._count is None else self.place(epoch)[1]
        return {"x": self._x, **self._more}

    def vary(self, _number: int) -> bool:
        """Takes another order, if it is drawn here; returns whether it did."""
        return False

    def saved(self) -> dict[str, Any]:
        """Returns the iterators to save by name, once they have reached the position."""
        return {}

    def restore(self, read: AsRead, *, held: bool) -> None:
        """Restores the iterators of a checkpoint; `held`: whether it has those of this epoch."""

    def spec(self) -> Any:
        """Returns what has the shapes and types of a batch; None if it cannot be known.

        No batch is drawn for it but those that Keras draws to learn the same.
        """
        return None

    def begin(self, epoch: int, batch: int) -> None:
        """Sets the next batch to train."""
        self.steps = self.steps_of(epoch)

    def enter_epoch(self) -> None:
        """Notes that Keras draws batches to train from now on, and not to learn their kind."""

    def run_out(self) -> None:
        """Notes that the pass has ended before its epoch."""

    def end_epoch(self, epoch: int) -> None:
        """Ends the epoch before this one."""

    def leave(self) -> None:
        """Ends the call of `fit`, perhaps in the middle of an epoch."""
        self._left = 0

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator for the next `count` batches; by default Keras's own."""
        return iterator

    def pass_over(self, iterator: Any) -> None:
        """Draws a batch that was trained before."""
        next(iterator)


class DataSample:
    """A batch of data that the user's own code makes, compared after a restart.

    Their order and their random numbers may come from a state that no checkpoint holds.

    Attributes:
        differs: Whether the batch of the same number was another one when it was saved.
    """

    def __init__(self) -> None:
        self.differs = False
        self._taken: list[int] | None = None  # its number and its fingerprint
        self._expected: list[int] | None = None

    @property
    def expected(self) -> int | None:
        """The number of the batch to compare; None if there is none."""
        expected = self._expected
        return None if expected is None else expected[0]

    def take(self, number: int, batch: Any) -> None:
        """Takes the batch of this number, and compares it if it is the one that is expected.

        The thread that has loaded the batch may call it.
        """
        self._taken = [number, _fingerprint(batch)]
        if self.expected == number:
            self.differs, self._expected = self._taken != self._expected, None

    def drop(self) -> None:
        """Drops the batch, which is none of the epoch at hand."""
        self._taken = self._expected = None

    def saved(self) -> list[int] | None:
        """Returns its number and its fingerprint, for a checkpoint; None if there is none."""
        return self._expected or self._taken

    def restore(self, saved: list[int] | None) -> None:
        """Expects a batch of a checkpoint."""
        self.differs, self._taken, self._expected = False, None, saved


def _fingerprint(batch: Any) -> int:
    """A number that tells a batch from others, as far as it consists of arrays of numbers."""
    found = 0
    for leaf in keras.tree.flatten(batch):
        with contextlib.suppress(Exception):  # the user's own, and Keras says what is wrong
            array = np.asarray(leaf.toarray() if hasattr(leaf, "toarray") else leaf)
            if not array.dtype.hasobject:  # else its bytes are addresses
                found = zlib.crc32(np.ascontiguousarray(array).tobytes(), found)
    return found


class Arrays(Data):
    """Arrays, with batches addressed by number.

    Args:
        arrays: Tensors with rows, nested as in Keras.
        size: Rows of a batch.
        execution: Batches of an execution.
    """

    inexact = None

    def __init__(
        self,
        arrays: Any,
        size: int,
        *,
        shuffle: bool | str,
        steps: int | None,
        seed: int,
        execution: int,
    ) -> None:
        self._rows = common_count(arrays)
        super().__init__(None, steps, execution, -(-self._rows // size))
        self._arrays, self._size, self._shuffle = arrays, size, shuffle
        self.seed = seed
        # Read by the pipeline: the seed, and the number of the first batch that it gives.
        self._at = tf.Variable([seed, 0], dtype=tf.int64, trainable=False)

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a pipeline of the rest of a pass; Keras makes an iterator of it for each."""
        arguments = super().arguments(epoch, batch)
        assert self._count is not None, "arrays have an end"
        numbers = tf.data.Dataset.range(self._count - self._left)
        batches = numbers.map(self._batch, num_parallel_calls=1).prefetch(_PREFETCHED)
        return {**arguments, "x": batches}

    def spec(self) -> Any:
        """Returns the types of the first batch."""
        size = min(self._size, self._rows)
        return keras.tree.map_structure(
            lambda tensor: (
                None if tensor is None else tf.TensorSpec([size, *tensor.shape[1:]], tensor.dtype)
            ),
            self._arrays,
        )

    def vary(self, number: int) -> bool:
        """Takes another order of the rows, unless they are not shuffled; returns whether it did."""
        self.seed += number
        return bool(self._shuffle)

    def begin(self, epoch: int, batch: int) -> None:
        """Puts the rows into the order of this epoch's pass."""
        super().begin(epoch, batch)
        assert self._count is not None, "arrays have an end"
        self._at.assign([self.seed, self.place(epoch)[0] * self._count + self._left])

    def _batch(self, number: Any) -> Any:
        number += self._at[1]
        turn, place = number // self._count, number % self._count
        begin = place * self._size
        rows = tf.range(begin, tf.minimum(begin + self._size, self._rows))
        random = tf.random.experimental
        if self._shuffle == "batch":
            rows = random.stateless_shuffle(rows, tf.stack([self._at[0], number]))
        elif self._shuffle:  # as if all were shuffled, but a batch needs only its own rows
            seed = tf.cast(tf.stack([self._at[0], turn]), tf.int32)
            rows = random.index_shuffle(rows, seed, tf.constant(self._rows - 1, tf.int64))
        return keras.tree.map_structure(
            lambda tensor: None if tensor is None else rows_of(tensor, rows), self._arrays
        )


class Dataset(Data):
    """A `tf.data.Dataset`, whose iterators are kept here and saved with the checkpoint.

    Keras is given a stand-in of the same length. With `steps_per_epoch`, one iterator runs from
    epoch to epoch until the pass ends. A state saved shortly before that end does not determine the
    order of the next pass.
    """

    iterators: Iterators

    def __init__(self, dataset: Any, steps: int | None, size: int) -> None:
        cardinality = int(dataset.cardinality())
        super().__init__(dataset, steps, size, cardinality if cardinality > 0 else None)
        endless = cardinality == tf.data.INFINITE_CARDINALITY
        # Keras makes an iterator at the end of each epoch, and another for the next.
        spare = steps is None and cardinality > 0
        self.iterators = Iterators(lambda: iter(self._x), not endless, endless=endless, spare=spare)
        self._over = False  # the pass has ended before its epoch
        self._drawn = self._restored = False
        # Why the checkpoint that was restored does not fit; None once the training has continued.
        self._misfit: str | None = None

    @property
    def inexact(self) -> str | None:  # type: ignore[override]  # read only
        """Why the position to continue from is not exact; None if it is."""
        return self.iterators.lost or self._misfit

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a stand-in, and prepares restored or new iterators."""
        if not self._restored:
            self.iterators.start()
        self._restored = self._over = False
        arguments = super().arguments(epoch, batch)
        if self._count is not None:
            numbers = tf.data.Dataset.range(self._count - self._left)
        elif self._steps:  # its own iterator says when it ends
            numbers = tf.data.Dataset.range(self._steps)
        else:
            numbers = tf.data.Dataset.range(1).repeat()
        return {**arguments, "x": numbers}

    def must_renew(self, epoch: int) -> bool:
        """Returns whether a new call of `fit` must train this epoch, with the iterator at hand."""
        renews = super().must_renew(epoch)
        self._restored = self._restored or renews
        return renews

    def restore(self, read: AsRead, *, held: bool) -> None:
        """Restores the iterators of a checkpoint; `held`: whether it has those of this epoch."""
        self._drawn = read.step != 0
        why = self.iterators.restore(read) if held else NO_STATE
        self._restored = why is None
        self._misfit = why if held or self._drawn else None

    def saved(self) -> dict[str, Any]:
        """Returns the iterators to save by name, once they have reached the position."""
        return {} if self._misfit else self.iterators.saved(drawn=self._drawn)

    def spec(self) -> Any:
        """Returns the types of its elements."""
        return self._x.element_spec

    def run_out(self) -> None:
        """Notes that the pass has ended before its epoch."""
        self._over = True

    def end_epoch(self, epoch: int) -> None:
        """Moves on to the iterator of the next pass, if this one is over."""
        if self._over or self.place(epoch)[1] == 0:
            self.iterators.turn()
        self._over = False

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator kept here instead of the stand-in's."""
        self._drawn, self._misfit = True, None
        return self.iterators.at_hand

    def pass_over(self, iterator: Any) -> None:
        """Does nothing if the iterator was restored."""
        if self.inexact:
            next(self.iterators.at_hand)
