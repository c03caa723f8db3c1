"""A branch: a run that begins at a checkpoint of another, in a folder of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.lineage import run_of


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a run branches off.

    Attributes:
        origin: The checkpoint that it begins at.
    """

    origin: Checkpoint

    def parent(self, folder: Path) -> dict[str, object]:
        """What the start of the run in this folder says of the one that it is a branch of."""
        logdir = os.path.relpath(run_of(Path(self.origin.path)), folder)
        name = Path(self.origin.path).name
        return {"logdir": logdir, "checkpoint": name, "step": self.origin.step}

    def check_leaves_steps(self, total_steps: int | None) -> None:
        """Raise an ArgumentError where it would begin at its end."""
        step = self.origin.step
        if total_steps is not None and step >= total_steps:
            raise ArgumentError(
                f"The checkpoint is of step {step:,} of {total_steps:,}: to a branch of it nothing "
                "is left to train. Give an earlier one, by its step."
            )
