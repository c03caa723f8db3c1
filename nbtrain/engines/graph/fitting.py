"""Whether a checkpoint fits a graph's saver: told by names, before anything is restored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from nbtrain.saving.checkpoints import Restored, misfit, reading, some, step_in_name

v1 = tf.compat.v1

# The one key that only a checkpoint of objects has.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"

_BETA_POWER = re.compile(r"beta[12]_power(_\d+)?")


def check_fit(saver: tf.compat.v1.train.Saver, path: str) -> Restored | None:
    """See that a checkpoint has a value of the right shape for every variable of a saver.

    Returns:
        The proof of what a restore will do. None for a checkpoint of objects, in which
        TensorFlow finds the variables by other names.

    Raises:
        CheckpointError: It has not, or cannot be read; the variables that lack a value are named.
    """
    with reading(path):
        held = tf.train.load_checkpoint(path).get_variable_to_shape_map()
    if _OBJECTS in held:
        return None
    saved = dict(_saved(saver))
    misfits = []
    for name, (_, shape) in saved.items():
        if name not in held:
            misfits.append(f"{name} is not there")
        elif not shape.is_compatible_with(held[name]) and not saver._reshape:
            misfits.append(f"{name} has the shape {tuple(held[name])} there and {shape} here")
    if misfits:
        raise misfit(path, some(misfits))
    return Restored(
        step=step_in_name(path) or 0,
        path=path,
        matched=tuple(saved),
        slots=_count_slots(op for op, _ in saved.values()),
        missing=(),
        # A saver that was imported with a meta graph does not tell what it saves.
        unused=tuple(sorted(set(held) - set(saved))) if saved else (),
    )


def read_all(path: str) -> None:
    """Raise a CheckpointError unless every tensor of a checkpoint can be read."""
    with reading(path):
        reader = tf.train.load_checkpoint(path)
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)


def saved_variables(saver: Any) -> Iterator[tf.Variable]:
    """The variables of real numbers that a saver saves, as far as it tells."""
    items = saver._var_list or ()  # named by nothing public
    for item in items.values() if isinstance(items, dict) else items:
        if isinstance(item, tf.Variable) and item.dtype.is_floating:
            yield item


def _saved(saver: Any) -> Iterator[tuple[str, tuple[tf.Operation, tf.TensorShape]]]:
    """What a saver saves, by the names in a checkpoint; the whole of a partitioned variable."""
    items = saver._var_list or ()  # named by nothing public
    pairs = items.items() if isinstance(items, dict) else ((None, item) for item in items)
    for name, item in pairs:
        slices = getattr(item, "_get_save_slice_info", lambda: None)()
        if slices is not None:  # a part of it
            yield slices.full_name, (item.op, tf.TensorShape(slices.full_shape))
        elif hasattr(item, "shape") and hasattr(item, "op"):
            yield name or item.op.name, (item.op, item.shape)


def _count_slots(ops: Iterable[tf.Operation]) -> int:
    """How many are an optimizer's: named after a trainable variable, or powers of Adam's betas.

    Named so too, but no slots, are moving averages.
    """
    ops = tuple(ops)
    variables = ops[0].graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES) if ops else ()
    trained = {variable.op.name for variable in variables}

    def is_slot(name: str) -> bool:
        *scopes, last = name.split("/")
        if _BETA_POWER.fullmatch(last):
            return True
        # Made inside a variable scope, a slot has that before the variable's name.
        owners = ("/".join(scopes[start:]) for start in range(len(scopes)))
        return (
            name not in trained
            and "MovingAverage" not in last
            and any(owner in trained for owner in owners)
        )

    return sum(is_slot(op.name) for op in ops)
