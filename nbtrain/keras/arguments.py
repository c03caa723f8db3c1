"""Checks the arguments of `nbtrain.fit` in the cell that calls it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.whole import whole
from nbtrain.engines.data.iterators import DISTRIBUTED
from nbtrain.keras.building import has_keras_fit
from nbtrain.keras.data.arrays import Arrays, ClassWeights, common_count, is_array, split, tensor_of
from nbtrain.keras.data.batches import Batches
from nbtrain.keras.data.data import Data
from nbtrain.keras.data.dataset import Dataset
from nbtrain.keras.data.stream import Stream

# Rows of a batch if neither batch_size nor `steps_per_epoch` is given, as in Keras.
_BATCH_SIZE = 32


def check_model(model: Any) -> None:
    """Raises an ArgumentError for a model that `fit` cannot train."""
    if isinstance(model, type) or not isinstance(model, keras.Model):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ArgumentError(f"model={kind}: give a keras.Model, compiled.")
    if not model.compiled:
        raise ArgumentError(
            f"The model {model.name!r} is not compiled: call model.compile(optimizer=..., "
            "loss=...) first."
        )


def callbacks_of(callbacks: Any) -> list[Any]:
    """Returns the callbacks as a list; raises an ArgumentError for one that cannot be used."""
    found = keras.tree.flatten(callbacks) if callbacks is not None else []
    for callback in found:
        if isinstance(callback, type) or not isinstance(callback, keras.callbacks.Callback):
            raise ArgumentError(
                f"callbacks holds {callback!r}: give objects of keras.callbacks.Callback."
            )
        if isinstance(callback, keras.callbacks.BackupAndRestore):
            raise ArgumentError(
                "callbacks holds a BackupAndRestore: leave it out. The run saves by itself "
                "(save_secs=, save_steps=), and continues from its latest checkpoint."
            )
    return found


def training_data(
    model: Any,
    parts: tuple[Any, Any, Any],
    *,
    batch_size: int | None,
    steps: int | None,
    class_weight: Any,
    shuffle: bool | str,
    share: float,
) -> tuple[Data, Any]:
    """Returns the training data with a position, and the rows to validate on (None without).

    Args:
        parts: `x`, `y` and `sample_weight`, as given to `fit` like the others.
        share: The `validation_split`.

    Raises:
        ArgumentError: Keras could not train on the data.
    """
    size = None if batch_size is None else whole("batch_size", batch_size)
    steps = None if steps is None else whole("steps_per_epoch", steps)
    flat = [part for part in keras.tree.flatten(parts) if part is not None]
    if not has_keras_fit(model):
        more = {"batch_size": size, "class_weight": class_weight, "validation_split": share}
        return _untouched(model, parts, steps, shuffle=shuffle, **more), None
    if flat and all(map(is_array, flat)):
        arrays = keras.tree.map_structure(
            lambda part: None if part is None else tensor_of(part), parts
        )
        arrays, validation = split(arrays, share) if share else (arrays, None)
        packed = _packed(arrays, class_weight)
        count = common_count(packed)
        size = size or (-(-count // steps) if steps else _BATCH_SIZE)
        data = Arrays(
            packed,
            size,
            shuffle=shuffle,
            steps=steps,
            seed=_seed() if shuffle else 0,
            execution=model.steps_per_execution,
        )
        return data, validation
    x, y, sample_weight = parts
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ArgumentError(
                f"{name}={type(value).__name__} object beside x={type(x).__name__} object: "
                f"give all as arrays, or have the batches of x hold {name}."
            )
    if share:
        raise ArgumentError(
            f"validation_split={share!r} with x={type(x).__name__} object: only arrays can be "
            "split; give validation_data."
        )
    return _batches(model, x, steps, class_weight, bool(shuffle)), None


def _untouched(model: Any, parts: tuple[Any, Any, Any], steps: int | None, **more: Any) -> Data:
    """Returns data for a `fit` of the user's own, which gets the given objects unchanged."""
    x, y, weights = parts
    data = Data(x, steps, model.steps_per_execution, y=y, sample_weight=weights, **more)
    if isinstance(x, tf.data.Dataset) and int(x.cardinality()) > 0:
        data.given = steps or int(x.cardinality())
    data.inexact = f"{type(model).__name__}.fit makes the batches itself"
    return data


def _packed(arrays: Any, class_weight: Any) -> Any:
    """Packs the tensors as Keras's batches, with the weights of classes as weights of rows."""
    x, y, weights = arrays
    if class_weight is not None:
        if weights is not None:
            raise ArgumentError("class_weight and sample_weight were given: give one of them.")
        if y is None or keras.tree.is_nested(y):
            raise ArgumentError("class_weight was given: give y as one array of labels.")
        weights = ClassWeights(class_weight).of(y)
    elif keras.tree.is_nested(y) and tf.is_tensor(weights):  # one for all outputs
        weights = keras.tree.map_structure(lambda _: weights, y)
    # To tf.data, a list is one array.
    return keras.tree.lists_to_tuples(keras.utils.pack_x_y_sample_weight(x, y, weights))


def _batches(model: Any, x: Any, steps: int | None, class_weight: Any, shuffle: bool) -> Data:
    size = model.steps_per_execution
    if isinstance(x, tf.data.Dataset):
        if int(x.cardinality()) == 0:
            raise ArgumentError("x is a dataset without a batch: give one that has some.")
        if class_weight is not None:
            x = x.map(_weighted(ClassWeights(class_weight)))
        # Outside of any scope, the strategy is that of one device.
        if (
            tf.distribute.has_strategy()
            or model.distribute_strategy is not tf.distribute.get_strategy()
        ):
            data = Data(x, steps, size)
            data.inexact = DISTRIBUTED
            return data
        return Dataset(x, steps, size)
    if isinstance(x, keras.utils.PyDataset):
        if x.num_batches == 0:
            raise ArgumentError("x is a PyDataset without a batch: give one that has some.")
        shuffle = shuffle and x.num_batches is not None
        seed = _seed() if shuffle else 0
        more: dict[str, Any] = {"steps": steps, "size": size, "class_weight": class_weight}
        return Batches(x, shuffle=shuffle, seed=seed, **more)
    if isinstance(x, Iterator):
        if class_weight is not None:
            raise ArgumentError(
                "class_weight with a generator: have it give (x, y, sample_weight)."
            )
        return Stream(x, steps, size)
    if not _is_other(x):
        raise ArgumentError(
            f"x={type(x).__name__} object: give arrays, a tf.data.Dataset, a "
            "keras.utils.PyDataset or a generator of batches."
        )
    return Data(x, steps, size, class_weight=class_weight)


# Other data that Keras accepts, by class name, as these libraries may be missing.
_OTHERS = {"DataLoader", "MapDataset", "IterDataset", "DistributedDataset", "DataAdapter"}


def check_validation(data: Any) -> None:
    """Raises an ArgumentError for data that Keras would refuse at the end of the first epoch."""
    parts = tuple(data) if isinstance(data, (tuple, list)) else (data,)
    flat = keras.tree.flatten(parts)
    if len(parts) in (1, 2, 3) and flat and all(each is None or is_array(each) for each in flat):
        return
    batches = (tf.data.Dataset, keras.utils.PyDataset, Iterator)
    if len(parts) == 1 and (isinstance(parts[0], batches) or _is_other(parts[0])):
        return
    what = f"{type(data).__name__} object" if len(parts) == 1 else f"{len(parts)} parts"
    raise ArgumentError(
        f"validation_data={what}: give arrays as (x, y) or (x, y, sample_weight), a "
        "tf.data.Dataset, a keras.utils.PyDataset or a generator of batches."
    )


def _is_other(data: Any) -> bool:
    """Returns whether Keras accepts this data, which is no array and has no position here."""
    return bool({kind.__name__ for kind in type(data).__mro__} & _OTHERS)


def _weighted(weights: ClassWeights) -> Any:
    def add(*batch: Any) -> Any:
        if len(batch) != 2:
            raise ArgumentError(
                f"class_weight with a dataset of {len(batch)} parts a batch: it needs (x, y)."
            )
        return (*batch, weights.of(batch[1]))

    return add


def _seed() -> int:
    """Draws a seed from NumPy's generator, which `keras.utils.set_random_seed` sets."""
    return int(np.random.randint(2**31 - 1))
