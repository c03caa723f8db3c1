"""The training data of a Keras model, with a position that can be saved and restored.

Keras draws a new order for every epoch, from a state that is lost with the kernel. Here the order
is determined by a seed and the epoch's number, or kept in the state of a `tf.data` iterator. So a
training resumed in the middle of an epoch continues with the next batch.

arguments = data.arguments(epoch, batch)   # for each call of `fit`
    data.begin(epoch, batch)               # at the start of each epoch
    data.pass_over(iterator)               # for each batch that was trained before
    data.draw_from(iterator, count)        # before each execution; Keras's own, or another
    data.end_epoch()
data.leave()                               # after each call
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from nbtrain.checkpoints.files import step_in_name
from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import NAMES, Iterators
from nbtrain.engines.keras.arrays import common_count, rows_of

# Batches of arrays that are gathered in advance.
_PREFETCHED = 2


class Data:
    """Data of an unknown kind, such as a torch DataLoader; training thread only.

    Args:
        size: Batches of an execution; Keras makes only whole executions while data last.
        more: Further arguments of `fit`.

    Attributes:
        steps: Batches of an epoch; None while unknown.
        began: The completed steps when the epoch began that is trained; None before the first.
        seed: The seed of the order, if it is drawn here; saved with the position.
        kept: Whether the position in the data can be saved exactly.
        why: Why it cannot.
    """

    kept = False
    why = "the position of such an object cannot be saved"

    def __init__(self, x: Any, steps: int | None = None, size: int = 1, **more: Any) -> None:
        self.steps = -(-steps // size) * size if steps else None
        self.began: int | None = None
        self.seed = 0
        self._x, self._more = x, {"shuffle": False, "steps_per_epoch": steps, **more}

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """The arguments of a `fit` that continues at this epoch and batch, both counted from 0."""
        return {"x": self._x, **self._more}

    def lose(self, why: str) -> None:
        """Notes that from now on the position cannot be saved exactly."""
        self.kept, self.why = False, why

    def vary(self, _number: int) -> bool:
        """Takes another order, if it is drawn here; tells if it did."""
        return False

    @property
    def inexact(self) -> str | None:
        """Says why the position to continue from is not exact; None if it is."""
        return None if self.kept else self.why

    def saved(self) -> dict[str, Any]:
        """The `tf.data` iterators to save with the position; empty if Keras has its own."""
        return {}

    def first(self) -> Any:
        """Returns a batch to build the model with; None if there is none."""
        return None

    def begin(self, epoch: int, batch: int) -> None:
        """Sets the next batch to train."""

    def end_epoch(self) -> None:
        """Ends the epoch."""

    def leave(self) -> None:
        """Ends the call of `fit`, perhaps in the middle of an epoch."""

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator for the next `count` batches; by default Keras's own."""
        return iterator

    def pass_over(self, iterator: Any) -> None:
        """Draws a batch that was trained before."""
        next(iterator)


class Arrays(Data):
    """Arrays, with batches addressed by number.

    With `steps_per_epoch`, each epoch continues at the row where the last one ended.

    Args:
        arrays: Tensors with rows, nested as in Keras.
        size: Rows of a batch.
    """

    kept = True

    def __init__(
        self, arrays: Any, size: int, *, shuffle: bool | str, steps: int | None, seed: int
    ) -> None:
        super().__init__(None)
        self._arrays, self._size, self._shuffle = arrays, size, shuffle
        self._count = common_count(arrays)
        self._batches = -(-self._count // size)
        self.steps = steps or self._batches
        self.seed = seed
        # Read by the pipeline: the seed, and the number of the epoch's first batch.
        self._at = tf.Variable([seed, 0], dtype=tf.int64, trainable=False)

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a pipeline of one epoch; Keras makes an iterator of it for each."""
        numbers = tf.data.Dataset.range(self.steps)
        batches = numbers.map(self._batch, num_parallel_calls=1).prefetch(_PREFETCHED)
        return {"x": batches, **self._more}

    def first(self) -> Any:
        """Returns the first batch."""
        return self._batch(tf.constant(0, tf.int64))

    def vary(self, number: int) -> bool:
        """Takes another order of the rows, unless they are not shuffled; tells if it did."""
        self.seed += number
        return bool(self._shuffle)

    def begin(self, epoch: int, batch: int) -> None:
        """Puts the rows into the order of this epoch."""
        assert self.steps is not None, "arrays have an end"
        self._at.assign([self.seed, epoch * self.steps])

    def _batch(self, number: Any) -> Any:
        number += self._at[1]
        turn, place = number // self._batches, number % self._batches
        begin = place * self._size
        rows = tf.range(begin, tf.minimum(begin + self._size, self._count))
        random = tf.random.experimental
        if self._shuffle == "batch":
            rows = random.stateless_shuffle(rows, tf.stack([self._at[0], number]))
        elif self._shuffle:  # as if all were shuffled, but a batch needs only its own rows
            seed = tf.cast(tf.stack([self._at[0], turn]), tf.int32)
            rows = random.index_shuffle(rows, seed, tf.constant(self._count - 1, tf.int64))
        return keras.tree.map_structure(
            lambda tensor: None if tensor is None else rows_of(tensor, rows), self._arrays
        )


class Dataset(Data):
    """A `tf.data.Dataset`, whose iterators are kept here and saved with the checkpoint.

    Keras is given a stand-in of the same length. With `steps_per_epoch`, one iterator runs from
    epoch to epoch, and the dataset repeats at its end. A state saved shortly before that end does
    not determine the order of the repetition.
    """

    kept = True

    def __init__(self, dataset: Any, steps: int | None, size: int) -> None:
        super().__init__(dataset if steps is None else dataset.repeat(), steps, size)
        known = int(dataset.cardinality())
        if steps is None and known > 0:
            self.steps = known
        self._ends = steps is None
        self._iterators = Iterators(lambda: iter(self._x), self._ends)
        self._drawn = self._restored = False
        # Why the checkpoint that was restored does not fit; None once the training has continued.
        self._misfit: str | None = None

    @property
    def inexact(self) -> str | None:
        """Says why the position to continue from is not exact; None if it is."""
        return super().inexact or self._misfit

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a stand-in, and prepares restored or new iterators."""
        if not self._restored:
            self._iterators.start()
        self._restored = False
        numbers = tf.data.Dataset.range(self.steps or 1)
        return {**self._more, "x": numbers if self.steps else numbers.repeat()}

    def restore(self, path: str, *, held: bool) -> None:
        """Restores the position of a checkpoint; `held`: whether it has the iterators."""
        self._restored, self._misfit = False, None
        self._drawn = step_in_name(path) != 0
        if self._drawn and not held:
            self._misfit = "the checkpoint holds no state of this tf.data pipeline"
        if not (self.kept and held):
            return
        try:
            self._iterators.restore(AsRead(path, *NAMES))
            self._restored = True
        except tf.errors.OpError:
            self._misfit = "the checkpoint holds the state of another tf.data pipeline"

    def saved(self) -> dict[str, Any]:
        """Returns its iterators; none before they have reached the position."""
        return {} if self._misfit else self._iterators.saved(drawn=self._drawn)

    def first(self) -> Any:
        """Returns the first batch."""
        return next(iter(self._x))

    def end_epoch(self) -> None:
        """Moves on to the iterator of the next epoch."""
        if self._ends:
            self._iterators.turn()

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator kept here instead of the stand-in's."""
        self._drawn, self._misfit = True, None
        return self._iterators.at_hand

    def pass_over(self, iterator: Any) -> None:
        """Does nothing if the iterator was restored."""
        if self.inexact:
            next(self._iterators.at_hand)
