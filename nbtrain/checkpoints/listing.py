"""Lists the checkpoints that can be restored: those of a run, and the copies beside them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from nbtrain.checkpoints.files import at, listed
from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.names import ASIDE, BEST, TRIAL
from nbtrain.rundir.timeline import RunTimeline, on_the_way, run_of


def restorable(directory: Path, timeline: RunTimeline | None = None) -> tuple[Checkpoint, ...]:
    """Returns the checkpoints of a folder and their copies, in the order they were saved.

    Any thread. A copy of a good state that is older than the checkpoint of the same name is left
    out: it belongs to an abandoned branch. The start of a trial and the best state are always
    listed: the start differs from a checkpoint saved at the same step during the trial.

    Args:
        timeline: The timeline with the order; None reads that of the folder's run.
    """
    timeline = timeline or timeline_of(directory)
    copies = (listed(directory / name) for name in ASIDE)
    found = timeline.ordered(listed(directory), *copies)
    saved = {_name(held): held.order for held in found if Path(held.path).parent == directory}
    return tuple(
        held
        for held in found
        if Path(held.path).parent.name in (TRIAL, BEST) or held.order >= saved.get(_name(held), 0)
    )


def find(checkpoints: Sequence[Checkpoint], wanted: int | str | None) -> Checkpoint:
    """Returns the checkpoint of a step, at a path, "best", or (None) the latest.

    Raises:
        CheckpointError: There is no such checkpoint; the message lists the existing ones.
    """
    if isinstance(wanted, str) and wanted == BEST:
        if best := [held for held in checkpoints if Path(held.path).parent.name == BEST]:
            return best[-1]
        raise CheckpointError(
            "There is no best checkpoint: start the run with keep_best=, such as "
            "keep_best='val_loss'."
        )
    if not checkpoints and not isinstance(wanted, str):
        raise CheckpointError("There is no checkpoint to restore yet; save one first.")
    if wanted is None:
        return checkpoints[-1]
    for checkpoint in reversed(checkpoints):
        with contextlib.suppress(ValueError):  # `wanted` is an array
            short = "/".join(Path(checkpoint.path).parts[-2:])  # with its folder
            if wanted in (checkpoint.step, checkpoint.path, short):
                return checkpoint
    if isinstance(wanted, str):
        if named := [held for held in reversed(checkpoints) if Path(held.path).name == wanted]:
            # Copies of this name are in subfolders; the checkpoint itself takes precedence.
            return min(named, key=lambda held: len(Path(held.path).parts))
        if (held := at(Path(wanted).absolute())) is not None:
            return held
    steps = ", ".join(f"{checkpoint.step:,}" for checkpoint in checkpoints) or "none"
    raise CheckpointError(f"There is no checkpoint {wanted!r}; there are those of steps: {steps}.")


def latest(directory: Path, timeline: RunTimeline | None = None) -> Checkpoint | None:
    """Returns the checkpoint from which a run continues; None if there is none.

    This is the newest checkpoint or copy on the current branch. Abandoned checkpoints are used
    only if there is no other. If the run has restored a checkpoint of another folder and saved
    nothing since, this checkpoint is returned.
    """
    timeline = timeline or timeline_of(directory)
    if timeline.origin is not None and (found := at(timeline.origin)) is not None:
        return found
    return next(reversed(on_the_way(restorable(directory, timeline))), None)


def saved(directory: Path) -> tuple[Checkpoint, ...]:
    """Returns the checkpoints on the current branch, without copies; all if none is on it."""
    held = restorable(directory)
    return on_the_way([each for each in held if Path(each.path).parent == directory])


def timeline_of(directory: Path) -> RunTimeline:
    """Returns the timeline of the run that saves into a folder."""
    return RunTimeline.of(run_of(directory / "checkpoint"))


def _name(held: Checkpoint) -> str:
    return Path(held.path).name
