"""The tags of scalars that are no metrics of a single step of the training."""

from __future__ import annotations

from collections.abc import Iterable

from nbtrain.core.values.hyperparameters import PREFIX

# The use of the machine: see run/beside/machine.py.
SYSTEM = "system/"
# The beginnings of the tags of an evaluation and of an epoch of Keras: each value is of a whole set
# of data, and comes after the update of its step.
WHOLE = ("val_", "epoch_")


def is_metric(tag: str) -> bool:
    """Returns whether a scalar is of the training: no hyperparameter, and no use of the machine."""
    return not tag.startswith((PREFIX, SYSTEM))


def metrics(tags: Iterable[str]) -> list[str]:
    """Returns the tags of scalars of the training."""
    return [tag for tag in tags if is_metric(tag)]
