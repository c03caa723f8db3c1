"""Arrays as training data: tensors whose rows are drawn in any order."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.keras.data.data import Data

# Batches of arrays that are gathered in advance.
_PREFETCHED = 2

Tensor = Any  # tf.Tensor, tf.RaggedTensor or tf.SparseTensor


class Arrays(Data):
    """Arrays, with batches addressed by number.

    Args:
        arrays: Tensors with rows, nested as in Keras.
        size: Rows of a batch.
        execution: Batches of an execution.
    """

    inexact = None
    batch_size: int

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
        self._arrays, self.batch_size, self._shuffle = arrays, size, shuffle
        self.seed = seed
        # Read by the pipeline: the seed, and the number of its first batch.
        self._at = tf.Variable([seed, 0], dtype=tf.int64, trainable=False)

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a pipeline of the rest of a pass; Keras iterates over it in each epoch."""
        arguments = super().arguments(epoch, batch)
        assert self._count is not None, "arrays have an end"
        numbers = tf.data.Dataset.range(self._count - self._left)
        self._x = numbers.map(self._batch, num_parallel_calls=1).prefetch(_PREFETCHED)
        return {**arguments, "x": self._x}

    def spec(self) -> Any:
        """Returns the types of the first batch."""
        size = min(self.batch_size, self._rows)
        return keras.tree.map_structure(
            lambda tensor: (
                None if tensor is None else tf.TensorSpec([size, *tensor.shape[1:]], tensor.dtype)
            ),
            self._arrays,
        )

    def begin(self, epoch: int, batch: int) -> None:
        """Puts the rows into the order of this epoch's pass."""
        super().begin(epoch, batch)
        assert self._count is not None, "arrays have an end"
        self._at.assign([self.seed, self.place(epoch)[0] * self._count + self._left])

    def _batch(self, number: Any) -> Any:
        number += self._at[1]
        turn, place = number // self._count, number % self._count
        begin = place * self.batch_size
        rows = tf.range(begin, tf.minimum(begin + self.batch_size, self._rows))
        random = tf.random.experimental
        if self._shuffle == "batch":
            rows = random.stateless_shuffle(rows, tf.stack([self._at[0], number]))
        elif self._shuffle:  # as if all rows were shuffled, but a batch computes only its own
            seed = tf.cast(tf.stack([self._at[0], turn]), tf.int32)
            rows = random.index_shuffle(rows, seed, tf.constant(self._rows - 1, tf.int64))
        return keras.tree.map_structure(
            lambda tensor: None if tensor is None else rows_of(tensor, rows), self._arrays
        )


def is_array(part: Any) -> bool:
    """Returns whether Keras treats data as an array: NumPy, a tensor, pandas, or sparse SciPy."""
    return hasattr(part, "shape") and (
        hasattr(part, "__array__")
        or isinstance(part, (tf.RaggedTensor, tf.SparseTensor))
        or hasattr(part, "tocoo")
    )


def tensor_of(part: Any) -> Tensor:
    """Converts an array to a tensor; floats become Keras's `floatx`, as in Keras."""
    if hasattr(part, "tocoo"):
        found = part.tocoo()
        part = tf.SparseTensor(np.stack([found.row, found.col], 1), found.data, found.shape)
    if isinstance(part, np.ndarray) and part.dtype != object:
        keras.backend.standardize_dtype(part.dtype)  # raises Keras's error, such as for strings
    if not tf.is_tensor(part):
        column = hasattr(part, "to_numpy") and len(part.shape) == 1  # a pandas Series
        part = np.asarray(part)[:, np.newaxis] if column else np.asarray(part)
    if not tf.is_tensor(part) or isinstance(part, tf.Variable):
        part = tf.convert_to_tensor(part)
    if part.dtype.is_floating and part.dtype.name != keras.config.floatx():
        part = tf.cast(part, keras.config.floatx())
    return tf.sparse.reorder(part) if isinstance(part, tf.SparseTensor) else part


def rows_of(tensor: Tensor, rows: Any) -> Tensor:
    """Returns these rows (int64, shape (k,)) of a tensor, in this order.

    The indices of a sparse tensor must be in TensorFlow's order.
    """
    if not isinstance(tensor, tf.SparseTensor):
        return tf.gather(tensor, rows)
    where = tensor.indices
    places = tf.RaggedTensor.from_value_rowids(
        tf.range(tf.shape(where, out_type=tf.int64)[0]), where[:, 0], nrows=tensor.dense_shape[0]
    )
    found = tf.gather(places, rows)
    indices = tf.concat([found.value_rowids()[:, None], tf.gather(where, found.values)[:, 1:]], 1)
    shape = tf.stack([tf.size(rows, out_type=tf.int64), *map(int, tensor.shape[1:])])
    return tf.SparseTensor(indices, tf.gather(tensor.values, found.values), shape)


def split(arrays: Any, share: float) -> tuple[Any, Any]:
    """Splits nested tensors into rows to train on and the last `share` of rows to validate on."""
    count = common_count(arrays)
    at = int(count * (1.0 - share))
    if not 0 < at < count:
        raise ArgumentError(
            f"validation_split={share!r} leaves {at} of {count} rows to train on: give a number "
            "between 0 and 1 that leaves some of both."
        )

    def part(first: int, last: int) -> Any:
        rows = tf.range(first, last, dtype=tf.int64)
        return keras.tree.map_structure(
            lambda tensor: None if tensor is None else rows_of(tensor, rows), arrays
        )

    return part(0, at), part(at, count)


def common_count(arrays: Any) -> int:
    """Returns the number of rows of nested tensors; raises an ArgumentError if they differ."""
    counts = sorted({int(part.shape[0]) for part in keras.tree.flatten(arrays) if part is not None})
    if len(counts) != 1 or counts[0] == 0:
        found = " and ".join(map(str, counts)) or "no"
        raise ArgumentError(
            f"x, y and sample_weight have {found} rows: give arrays that have the same number of "
            "rows, at least one."
        )
    return counts[0]


class ClassWeights:
    """Weights of samples by class; a missing class has weight 1."""

    def __init__(self, weights: Any) -> None:
        try:
            classes = {int(key): float(value) for key, value in weights.items()}
            dense = [classes.get(number, 1.0) for number in range(max(classes) + 1)]
        except (AttributeError, TypeError, ValueError):
            raise ArgumentError(
                f"class_weight={weights!r}: give a dict, class number to weight."
            ) from None
        self._weights = tf.constant([*dense, 1.0], dtype=keras.config.floatx())

    def of(self, y: Tensor) -> Tensor:
        """Returns the weights of these labels: class numbers, or one-hot rows."""
        if y.shape.rank is not None and y.shape.rank > 1:
            wide = y.shape[-1] is None or y.shape[-1] > 1
            y = tf.argmax(y, axis=-1) if wide else tf.squeeze(y, axis=-1)
        number = tf.cast(tf.round(y) if y.dtype.is_floating else y, tf.int64)
        return tf.gather(self._weights, tf.minimum(number, len(self._weights) - 1))
