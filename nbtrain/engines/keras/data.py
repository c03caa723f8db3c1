"""What Keras fits a model on, with a place that can be saved and taken up again.

Keras draws a new order for every epoch, from a state that dies with the kernel. Here the
order is known by a seed and the epoch's number, or kept in the state of a `tf.data` iterator:
a training that is taken up in the middle of an epoch goes on with the batch that comes next.

arguments = data.arguments(epoch, batch)   # for each call of `fit`
    data.begin(epoch, batch)               # at the start of each epoch
    data.pass_over(iterator)               # for each batch that was trained before
    data.draw_from(iterator, count)        # before each execution; Keras's own, or another
    data.end_epoch()
data.leave()                           # after each call
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from nbtrain.engines.data.iterators import Iterators
from nbtrain.engines.keras.arrays import common_count, rows_of

# Batches of arrays that wait, gathered.
_PREFETCHED = 2


class Data:
    """What Keras takes and nothing is known of, such as a torch DataLoader; training thread only.

    Args:
        x: It.
        steps: `steps_per_epoch`.
        size: Batches of an execution, of which Keras makes only whole ones while data last.
        more: Further arguments of `fit`.

    Attributes:
        steps: Batches of an epoch; None as long as that is not known.
        seed: Of the order, where that is drawn here; saved with the place.
        kept: Whether the place in the data is exact when it is taken up again.
        why: In words, why it is not.
    """

    kept = False
    why = "the position of such an object cannot be saved"

    def __init__(self, x: Any, steps: int | None = None, size: int = 1, **more: Any) -> None:
        self.steps = -(-steps // size) * size if steps else None
        self.seed = 0
        self._x, self._more = x, {"shuffle": False, "steps_per_epoch": steps, **more}

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Those of a `fit` that goes on with this batch of this epoch, both counted from 0."""
        return {"x": self._x, **self._more}

    def lose(self, why: str) -> None:
        """From now on the place is not exact when it is taken up again."""
        self.kept, self.why = False, why

    def saved(self, *, begun: bool) -> dict[str, Any]:
        """Iterators of `tf.data`, saved with the place; none where Keras has its own."""
        return {}

    def first(self) -> Any:
        """A batch, to build a model by; None where none can be had."""
        return None

    def begin(self, epoch: int, batch: int) -> None:
        """The next batch to train is this one of this epoch."""

    def end_epoch(self) -> None:
        """The epoch is over."""

    def leave(self) -> None:
        """The call of `fit` is over, perhaps in the midst of an epoch."""

    def draw_from(self, iterator: Any, count: int) -> Any:
        """From what so many batches are to be drawn now: from this iterator of Keras's."""
        return iterator

    def pass_over(self, iterator: Any) -> None:
        """Draw a batch that was trained before."""
        next(iterator)


class Arrays(Data):
    """Arrays: each batch is known by its number.

    With `steps_per_epoch`, epochs go on through the rows where the one before has ended.

    Args:
        arrays: Tensors with rows, nested as Keras takes them.
        size: Rows of a batch.
        shuffle: Whether rows come in another order in every pass; "batch": within each batch.
        steps: Batches of an epoch; None makes an epoch one pass over the rows.
        seed: Of the order.
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
        """A pipeline of one epoch; Keras makes an iterator of it for each."""
        numbers = tf.data.Dataset.range(self.steps)
        batches = numbers.map(self._batch, num_parallel_calls=1).prefetch(_PREFETCHED)
        return {"x": batches, **self._more}

    def first(self) -> Any:
        """The first batch."""
        return self._batch(tf.constant(0, tf.int64))

    def begin(self, epoch: int, batch: int) -> None:
        """Put the rows into the order of this epoch."""
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
        elif self._shuffle:  # as if all were shuffled, but no batch needs more than its own
            seed = tf.cast(tf.stack([self._at[0], turn]), tf.int32)
            rows = random.index_shuffle(rows, seed, tf.constant(self._count - 1, tf.int64))
        return keras.tree.map_structure(
            lambda tensor: None if tensor is None else rows_of(tensor, rows), self._arrays
        )


class Dataset(Data):
    """A `tf.data.Dataset`, whose iterators are its own, and saved with the checkpoint.

    Keras is given a stand-in of the same length. With `steps_per_epoch` one iterator goes on
    from epoch to epoch, and the dataset begins again at its end; in what order, a state that is
    saved shortly before does not tell.

    Args:
        dataset: It.
        steps: Batches of an epoch; None makes an epoch one pass over it.
        size: Batches of an execution.
    """

    kept = True
    why = "the checkpoint holds no state of this tf.data pipeline"

    def __init__(self, dataset: Any, steps: int | None, size: int) -> None:
        super().__init__(dataset if steps is None else dataset.repeat(), steps, size)
        known = int(dataset.cardinality())
        if steps is None and known > 0:
            self.steps = known
        self._ends = steps is None
        self._iterators = Iterators(lambda: iter(self._x), again=self._ends)
        self._restored = False

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """A stand-in, and the iterators that were restored, or new ones."""
        if not self._restored:
            self._iterators.start()
        self._restored = False
        numbers = tf.data.Dataset.range(self.steps or 1)
        return {**self._more, "x": numbers if self.steps else numbers.repeat()}

    def restore(self, path: str, *, held: bool) -> None:
        """Be where it was when a checkpoint was written; `held`: which has its iterators."""
        if not held:
            self.lose(Dataset.why)
        if not self.kept:
            return
        try:
            self._iterators.restore(path)
            self._restored = True
        except tf.errors.OpError:
            self.lose("the checkpoint holds the state of another tf.data pipeline")

    def saved(self, *, begun: bool) -> dict[str, Any]:
        """Its iterators; `begun`: whether a batch has been drawn."""
        return self._iterators.saved(begun=begun)

    def first(self) -> Any:
        """The first batch."""
        return next(iter(self._x))

    def end_epoch(self) -> None:
        """Have the iterator of the next."""
        if self._ends:
            self._iterators.turn()

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Not from the stand-in."""
        return self._iterators.at_hand

    def pass_over(self, iterator: Any) -> None:
        """Nothing, where the iterator is restored."""
        if not self.kept:
            next(self._iterators.at_hand)
