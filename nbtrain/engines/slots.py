"""The slots of Keras optimizers, such as momenta, which the first step creates."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import tensorflow as tf

from nbtrain.inner.keras import rate_of, trained_by


def slots_of(item: Any) -> list[Any]:
    """Returns the slots of an optimizer; empty for other objects."""
    if not isinstance(item, tf.keras.optimizers.Optimizer):
        return []
    parts = [item, *getattr(item, "optimizers", ())]  # those of a MultiOptimizer
    others = {id(each.iterations) for each in parts}
    others |= {id(rate_of(each)) for each in parts}
    return [each for each in item.variables if id(each) not in others]


def renew(objects: Sequence[Any], restored: Set[int]) -> set[int]:
    """Resets slots that the optimizers have created since a checkpoint to their initial values.

    Otherwise the moments of undone or bad steps would affect the steps that follow. An optimizer
    that cannot be recreated from its config is not reset.

    Args:
        objects: Objects that may include optimizers.
        restored: Identities of the variables that were set from the checkpoint.

    Returns:
        The identities of the slots that were reset.
    """
    found: set[int] = set()
    for optimizer in objects:
        if not isinstance(optimizer, tf.keras.optimizers.Optimizer) or not optimizer.built:
            continue
        new = {id(each) for each in optimizer.variables} - restored
        if new and id(optimizer.iterations) not in new:
            for variable, first in _begun(optimizer):
                if id(variable) in new:
                    variable.assign(first)
                    found.add(id(variable))
    return found


def begin(optimizer: Any) -> bool:
    """Sets all variables of an optimizer to their initial values; returns whether it could.

    Returns False if the optimizer cannot be recreated from its config.
    """
    if not optimizer.built:
        return True
    begun = _begun(optimizer)
    for variable, first in begun:
        variable.assign(first)
    return bool(begun)


def _begun(optimizer: Any) -> list[tuple[Any, Any]]:
    """Pairs each variable of an optimizer with an initial copy; empty if that is unknown."""
    try:
        new = type(optimizer).from_config(optimizer.get_config())
        new.build(trained_by(optimizer))
        return list(zip(optimizer.variables, new.variables, strict=True))
    except Exception:  # noqa: BLE001 - a class of the user's; the restore reports missing slots
        return []
