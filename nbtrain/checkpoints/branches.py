"""A branch: a run that begins at a checkpoint of another run, in a new folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.timeline import run_of


@dataclass(frozen=True, slots=True)
class Branch:
    """The start of a branch."""

    origin: Checkpoint

    def parent(self, folder: Path) -> dict[str, object]:
        """Returns the `parent` field for the journal of the branch in `folder`."""
        logdir = os.path.relpath(run_of(Path(self.origin.path)), folder)
        name = Path(self.origin.path).name
        return {"logdir": logdir, "checkpoint": name, "step": self.origin.step}

    def check_leaves_steps(self, total_steps: int | None) -> None:
        """Raises an ArgumentError if no steps are left to train."""
        step = self.origin.step
        if total_steps is not None and step >= total_steps:
            raise ArgumentError(
                f"The checkpoint is of step {step:,} of {total_steps:,}: to a branch of it nothing "
                "is left to train. Give an earlier one, by its step."
            )
