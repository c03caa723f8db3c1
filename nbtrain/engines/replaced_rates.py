"""Finds learning rates that changed from a number to a schedule, or back, since a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtrain.engines.checkpoint_file import CheckpointFile
from nbtrain.engines.named_variables import Found
from nbtrain.inner.keras import rate_of
from nbtrain.inner.variables import as_written, is_variable


@dataclass(frozen=True, slots=True)
class ReplacedRate:
    """The learning rate of one optimizer.

    Attributes:
        rate: The live rate: a variable or a schedule.
        key: The key of its number in the checkpoint; None if it was a schedule there.
        text: A description of both, and of which is used.
    """

    rate: Any
    key: str | None
    text: str


def replaced_rates(file: CheckpointFile, found: Found) -> list[ReplacedRate]:
    """Returns the replaced rates of live optimizers that the checkpoint has under the same name."""
    replaced = []
    names = {id(variable): name for name, variable in found.variables.items()}
    there = Path(file.path).name
    for optimizer in found.optimizers.values():
        name = names.get(id(optimizer.iterations))
        rate = rate_of(optimizer)
        if name not in file.names or rate is None:
            continue
        key = file.names.get(f"{name.removesuffix('iterations')}learning_rate")
        if is_variable(rate) == (key is not None):
            continue
        if key is None:
            number = f"{as_written(rate.numpy()):.10g}"
            text = f"the learning rate, a schedule in {there}, is the number {number} now"
        else:
            kind, number = rate.__class__.__name__, f"{as_written(file.value(key)):.10g}"
            text = f"the learning rate, {number} in {there}, is a schedule now, {kind}"
        text += "; make the optimizer as before to use that"
        replaced.append(ReplacedRate(rate, key, text))
    return replaced
