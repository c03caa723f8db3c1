"""Whether a checkpoint fits a graph's saver: variable by variable, before anything is restored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbtrain.errors import CheckpointError

# Names in an error: enough to see what is wrong.
_FEW = 6


# The one key that only a checkpoint of objects has.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


def saved_shapes(saver: tf.compat.v1.train.Saver) -> dict[str, tf.TensorShape]:
    """What a saver saves: shapes of its variables, by their names in a checkpoint.

    Empty for a saver that was imported with a meta graph, which does not tell.
    """
    return {name: shape for name, (_, shape) in _saved(saver)}


def saved_ops(saver: tf.compat.v1.train.Saver) -> dict[str, str]:
    """Names of the variables in the graph, by those in a checkpoint; parts for partitioned ones."""
    return {name: op for name, (op, _) in _saved(saver)}


def check_fit(saver: tf.compat.v1.train.Saver, path: str) -> None:
    """See that a checkpoint has a value of the right shape for every variable.

    Raises:
        CheckpointError: It has not; the variables that lack one are named.
    """
    try:
        held = tf.train.load_checkpoint(path).get_variable_to_shape_map()
    except (tf.errors.OpError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); nothing was restored.") from None
    if _OBJECTS in held:  # of a tf.train.Checkpoint: TensorFlow finds the variables by other names
        return
    misfits = []
    for name, shape in saved_shapes(saver).items():
        if name not in held:
            misfits.append(f"{name} is not in it")
        elif not shape.is_compatible_with(held[name]) and not saver._reshape:
            misfits.append(f"{name} has the shape {tuple(held[name])} in it and {shape} here")
    if misfits:
        more = f"; and {len(misfits) - _FEW} more" if len(misfits) > _FEW else ""
        raise CheckpointError(
            f"{path} is the checkpoint of another model: {'; '.join(misfits[:_FEW])}{more}. "
            "Nothing was restored: give another logdir, or build the graph as it was."
        )


def _saved(saver: Any) -> Iterator[tuple[str, tuple[str, tf.TensorShape]]]:
    items = saver._var_list or ()  # named by nothing public
    pairs = items.items() if isinstance(items, dict) else ((None, item) for item in items)
    for name, item in pairs:
        slices = getattr(item, "_get_save_slice_info", lambda: None)()
        if slices is not None:  # a part of a partitioned variable
            yield slices.full_name, (item.op.name, tf.TensorShape(slices.full_shape))
        elif hasattr(item, "shape") and hasattr(item, "op"):
            yield name or item.op.name, (item.op.name, item.shape)
