"""A branch: a run that begins at a checkpoint of another, in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nbtrain.commands import Set
from nbtrain.errors import ArgumentError
from nbtrain.listing import restorable
from nbtrain.states import Checkpoint
from nbtrain.way import run_of


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a run branches off, and with which values.

    Attributes:
        origin: The checkpoint that it begins at.
        values: Of the hyperparameters that are others from its first step on.
    """

    origin: Checkpoint
    values: Mapping[str, object]

    def parent(self, folder: Path) -> dict[str, object]:
        """What the start of the run in this folder says of the one that it is a branch of."""
        logdir = os.path.relpath(run_of(Path(self.origin.path)), folder)
        name = Path(self.origin.path).name
        return {"logdir": logdir, "checkpoint": name, "step": self.origin.step}

    def first_edit(self, checkpoints: Path) -> Set | None:
        """What is to be set where it begins; None where it goes on from a later step."""
        further = any(own.step > self.origin.step for own in restorable(checkpoints)[-1:])
        return Set(self.values, needed=True) if self.values and not further else None

    def check_leaves_steps(self, total_steps: int | None) -> None:
        """Raise an ArgumentError where it would begin at its end."""
        step = self.origin.step
        if total_steps is not None and step >= total_steps:
            raise ArgumentError(
                f"The checkpoint is of step {step:,} of {total_steps:,}: to a branch of it nothing "
                "is left to train. Give an earlier one, by its step."
            )
