"""What Keras fits a model on, with a place that can be saved and taken up again.

Keras draws a new order for every epoch, from a state that dies with the kernel. Here the
order is known by a seed and the epoch's number, or kept in the state of a `tf.data` iterator:
a training that is taken up in the middle of an epoch goes on with the batch that comes next.

arguments = data.arguments(epoch, batch)   # for each call of `fit`
    data.begin(epoch, batch)               # at the start of each epoch
    data.pass_over(iterator)               # for each batch that was trained before
    data.draw_from(iterator, count)        # before each execution; Keras's own, or another
    data.end_epoch()
"""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.engines.iterators import Iterators
from nbtrain.engines.keras_arrays import common_count, rows_of

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


class Batches(Data):
    """A `keras.utils.PyDataset`, in an order that the seed and the epoch's number give.

    Args:
        batches: It.
        shuffle: Whether its batches come in another order in every pass.
        steps: Batches of an epoch; None makes an epoch one pass over it.
        seed: Of the order.
        more: Further arguments of `fit`.
    """

    kept = True

    def __init__(
        self, batches: Any, *, shuffle: bool, steps: int | None, seed: int, **more: Any
    ) -> None:
        super().__init__(_Ordered(batches, steps), **more)
        self.steps = self._x.num_batches
        self.seed = seed
        self._shuffle = shuffle

    def first(self) -> Any:
        """The first batch, without its targets' weights."""
        return self._x[0]

    def begin(self, epoch: int, batch: int) -> None:
        """Put the batches into the order of this epoch."""
        self._x.begin(epoch, batch, self.seed if self._shuffle else None)


class _Ordered(keras.utils.PyDataset):
    """The batches of another, in an order of its own."""

    def __init__(self, batches: Any, steps: int | None) -> None:
        super().__init__(
            workers=batches.workers,
            use_multiprocessing=batches.use_multiprocessing,
            max_queue_size=batches.max_queue_size,
        )
        self._batches, self._steps = batches, steps
        self.begin(0, 0, None)

    def begin(self, epoch: int, batch: int, seed: int | None) -> None:
        self._origin, self._skipped = epoch * (self.num_batches or 0), batch
        self._seed, self._passed = seed, None
        self._orders: dict[int, Any] = {}

    @property
    def num_batches(self) -> int | None:
        return self._steps or self._count

    def __getitem__(self, index: int) -> Any:
        if index >= self._skipped:
            return self._batches[self._number(index)]
        if self._passed is None:  # any will do for those that are passed over
            self._passed = self._batches[self._number(self._skipped)]
        return self._passed

    def on_epoch_begin(self) -> None:
        self._batches.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._batches.on_epoch_end()

    @property
    def _count(self) -> int | None:
        found: int | None = self._batches.num_batches
        return found

    def _number(self, index: int) -> int:
        """Which of the other's is the one of this number of the epoch."""
        number, count = self._origin + index, self._count
        if not count:
            return number
        turn, place = divmod(number, count)
        if self._seed is None:
            return place
        if turn not in self._orders:
            self._orders[turn] = np.random.default_rng((self._seed, turn)).permutation(count)
        return int(self._orders[turn][place])


class Stream(Data):
    """A generator: its place is how many batches have been drawn from it.

    What was drawn ahead and not trained is given again in the next life of the run; a
    generator of another kernel is drawn from up to the place.

    Args:
        batches: It.
        steps: Batches of an epoch; None where one epoch is all of it.
        size: Batches of an execution.
    """

    kept = True
    why = "a generator cannot go back: its batches go on where they were"

    def __init__(self, batches: Any, steps: int | None, size: int) -> None:
        super().__init__(None, steps, size)
        self._batches = batches
        self._ahead: collections.deque[Any] = collections.deque()  # drawn, perhaps not trained
        self._first = 0  # the number of the first of them
        self._next = 0  # the number of the batch to train next
        # Of an iterator that is left, TensorFlow's thread may be drawing still.
        self._drawing = threading.Lock()

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """A generator that begins with this batch, or as near to it as it can."""
        number = epoch * (self.steps or 0) + batch
        with self._drawing:
            self._drop(number)
            while self._first < number and self._draw():
                self._drop(number)
            self.kept = self._first <= number
            self._next = max(self._first, number)
        return {"x": self._from(self._next), **self._more}

    def first(self) -> Any:
        """The first batch, which is given again."""
        with self._drawing:
            return self._ahead[0] if self._ahead or self._draw() else None

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Let go of what was trained before."""
        with self._drawing:
            self._drop(self._next)
        self._next += count
        return iterator

    def pass_over(self, iterator: Any) -> None:
        """Nothing: it begins with the batch to train."""

    def _from(self, number: int) -> Iterator[Any]:
        for at in itertools.count(number):
            with self._drawing:
                if at - self._first >= len(self._ahead) and not self._draw():
                    return
                batch = self._ahead[max(0, at - self._first)]
            yield batch

    def _draw(self) -> bool:
        """Draw one more; whether there was one."""
        found = [*itertools.islice(self._batches, 1)]
        self._ahead += found
        return bool(found)

    def _drop(self, number: int) -> None:
        """Let go of those before this one."""
        while self._ahead and self._first < number:
            self._ahead.popleft()
            self._first += 1
