"""What Keras fits a model on, with a position that can be saved and taken up again.

Keras draws a new order for every epoch, from a state that dies with the kernel. Here the
order of an epoch is known by a seed and the epoch's number, or kept in the state of a
`tf.data` iterator: so a training that is taken up in the middle of an epoch goes on with the
batch that comes next.

data = data_of(x, y, ...)       # by what was given
data.begin(epoch, batch)        # at the start of an epoch; training thread
data.draw_from(iterator)        # Keras's own, before each batch
"""

from __future__ import annotations

import itertools
from collections.abc import Generator
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from nbtrain.errors import ArgumentError

# Batches of arrays that wait, gathered.
_PREFETCHED = 2


class Data(Protocol):
    """What a model is fitted on; training thread only.

    Attributes:
        arguments: Those of `fit`.
        steps: Batches of an epoch; None as long as that is not known.
        iterator: Of `tf.data`, saved beside the position; None where there is none.
    """

    arguments: dict[str, Any]
    steps: int | None
    iterator: Any

    def begin(self, epoch: int, batch: int) -> None:
        """The next batch is this one of this epoch, both counted from 0."""

    def draw_from(self, iterator: Any) -> None:
        """The batches to come are those of this iterator of Keras's."""

    def pass_over(self, iterator: Any) -> None:
        """Draw a batch that was trained before, if `begin` has not gone beyond it."""


class _Plain:
    """Data whose position is the number of its epoch and batch."""

    iterator: Any = None

    def draw_from(self, iterator: Any) -> None:
        """Nothing: its place is known by numbers."""

    def pass_over(self, iterator: Any) -> None:
        """Draw it: it is cheap."""
        next(iterator)


class Arrays(_Plain):
    """Arrays, in an order that the seed and the epoch's number give.

    Args:
        arrays: Arrays of a common first dimension, nested as Keras takes them.
        size: Rows of a batch.
        seed: Of the order; None keeps that of the rows.
        more: Further arguments of `fit`.
    """

    def __init__(self, arrays: Any, size: int, seed: int | None, **more: Any) -> None:
        tensors = keras.tree.map_structure(_tensor, arrays)
        count = int(keras.tree.flatten(tensors)[0].shape[0])
        self.steps: int | None = -(-count // size)
        self._count, self._seed = count, seed
        self._order = tf.Variable(tf.range(count, dtype=tf.int64), trainable=False)

        def batch(number: Any) -> Any:
            begin = number * size
            rows = self._order.sparse_read(tf.range(begin, tf.minimum(begin + size, count)))
            return keras.tree.map_structure(lambda tensor: tf.gather(tensor, rows), tensors)

        batches = tf.data.Dataset.range(self.steps).map(batch, num_parallel_calls=1)
        self.arguments = {"x": batches.prefetch(_PREFETCHED), "shuffle": False, **more}

    def begin(self, epoch: int, batch: int) -> None:
        """Put the rows into the order of this epoch."""
        if self._seed is not None:
            order = np.random.default_rng((self._seed, epoch)).permutation(self._count)
            self._order.assign(order)


class Dataset:
    """A `tf.data.Dataset`, whose iterator is saved with the checkpoint.

    Args:
        dataset: It.
        steps: Batches of an epoch, where the user has said.
        more: Further arguments of `fit`.
    """

    def __init__(self, dataset: Any, steps: int | None, **more: Any) -> None:
        self.arguments = {"x": dataset, "steps_per_epoch": steps, "shuffle": False, **more}
        known = int(dataset.cardinality())
        self.steps = steps or (known if known > 0 else None)
        self.iterator: Any = None

    def begin(self, epoch: int, batch: int) -> None:
        """Nothing: the iterator knows."""

    def draw_from(self, iterator: Any) -> None:
        """Have it saved, and restored."""
        self.iterator = iterator

    def pass_over(self, iterator: Any) -> None:
        """Nothing: the iterator is restored."""


class Batches(_Plain):
    """A `keras.utils.PyDataset`, in an order that the seed and the epoch's number give.

    Args:
        batches: It.
        seed: Of the order; None keeps its own.
        more: Further arguments of `fit`.
    """

    def __init__(self, batches: Any, seed: int | None, **more: Any) -> None:
        self._ordered = _Ordered(batches, seed)
        self.steps: int | None = batches.num_batches
        self.arguments = {"x": self._ordered, "shuffle": False, **more}

    def begin(self, epoch: int, batch: int) -> None:
        """Put the batches into the order of this epoch."""
        self._ordered.begin(epoch, batch)


class _Ordered(keras.utils.PyDataset):  # type: ignore[misc]
    """The batches of another, in an order of its own."""

    def __init__(self, batches: Any, seed: int | None) -> None:
        super().__init__(
            workers=batches.workers,
            use_multiprocessing=batches.use_multiprocessing,
            max_queue_size=batches.max_queue_size,
        )
        self._batches, self._seed = batches, seed
        self.begin(0, 0)

    def begin(self, epoch: int, batch: int) -> None:
        count = self._batches.num_batches
        order = np.arange(count or 0)
        if self._seed is not None and count:
            order = np.random.default_rng((self._seed, epoch)).permutation(count)
        self._order, self._first, self._passed = order, batch, None

    @property
    def num_batches(self) -> int | None:
        found: int | None = self._batches.num_batches
        return found

    def __getitem__(self, index: int) -> Any:
        if index < self._first:  # passed over: any will do, and one is loaded already
            index = self._first
            if self._passed is None:
                self._passed = self._batches[int(self._order[index])]
            return self._passed
        return self._batches[int(self._order[index]) if len(self._order) else index]

    def on_epoch_begin(self) -> None:
        self._batches.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._batches.on_epoch_end()


class Stream(_Plain):
    """A generator: its position is how many batches have been drawn from it.

    Args:
        batches: It.
        steps: Batches of an epoch; None where one epoch is all of it.
        more: Further arguments of `fit`.
    """

    def __init__(self, batches: Any, steps: int | None, **more: Any) -> None:
        self._drawn = 0
        self._batches = batches
        self.steps = steps
        self.arguments = {"x": self._counted(), "steps_per_epoch": steps, "shuffle": False, **more}

    def begin(self, epoch: int, batch: int) -> None:
        """Pass over what a training before has been given."""
        passed = (epoch * self.steps if self.steps else 0) + batch - self._drawn
        for _ in itertools.islice(self._batches, max(0, passed)):
            self._drawn += 1

    def pass_over(self, iterator: Any) -> None:
        """Nothing: `begin` has."""

    def _counted(self) -> Generator[Any, None, None]:
        for batch in self._batches:
            self._drawn += 1
            yield batch


def data_of(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    batch_size: int | None = None,
    shuffle: bool = True,
    steps_per_epoch: int | None = None,
    class_weight: Any = None,
    seed: int = 0,
) -> Data:
    """What was given to `fit`, with a position; the arguments are those of `fit`.

    Args:
        seed: Of the order of arrays and of a `PyDataset`.

    Raises:
        ArgumentError: Arrays of which none has a row, or of different lengths.
    """
    more = {"class_weight": class_weight}
    order = seed if shuffle else None
    if isinstance(x, tf.data.Dataset):
        return Dataset(x, steps_per_epoch, **more)
    if isinstance(x, keras.utils.PyDataset):
        return Batches(x, order, steps_per_epoch=steps_per_epoch, **more)
    if isinstance(x, Generator) or (hasattr(x, "__next__") and not hasattr(x, "shape")):
        return Stream(x, steps_per_epoch, **more)
    arrays = tuple(part for part in (x, y, sample_weight) if part is not None)
    if y is None and sample_weight is not None:
        arrays = (x, None, sample_weight)
    _check_lengths(arrays)
    return Arrays(arrays, batch_size or 32, order, **more)


def _check_lengths(arrays: Any) -> None:
    lengths = {len(part) for part in keras.tree.flatten(arrays) if part is not None}
    if len(lengths) != 1 or 0 in lengths:
        raise ArgumentError(
            f"x, y and sample_weight have {sorted(lengths)} rows: give arrays of one length."
        )


def _tensor(part: Any) -> Any:
    return None if part is None else tf.convert_to_tensor(_array(part))


def _array(part: Any) -> Any:
    if isinstance(part, tf.Tensor):
        return part
    array = np.asarray(part)
    if array.dtype == np.float64:  # as Keras takes it
        array = array.astype(keras.config.floatx())
    return array
