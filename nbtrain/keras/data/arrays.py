"""Converts Keras's kinds of arrays to tensors whose rows can be drawn in any order."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.core.errors import ArgumentError

Tensor = Any  # tf.Tensor, tf.RaggedTensor or tf.SparseTensor


def is_array(part: Any) -> bool:
    """Returns whether Keras treats it as an array: NumPy, a tensor, pandas, or sparse SciPy."""
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
    """The number of rows that nested tensors have in common; an ArgumentError if they differ."""
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
        """The weights of these labels: class numbers, or one-hot rows."""
        if y.shape.rank is not None and y.shape.rank > 1:
            wide = y.shape[-1] is None or y.shape[-1] > 1
            y = tf.argmax(y, axis=-1) if wide else tf.squeeze(y, axis=-1)
        number = tf.cast(tf.round(y) if y.dtype.is_floating else y, tf.int64)
        return tf.gather(self._weights, tf.minimum(number, len(self._weights) - 1))
