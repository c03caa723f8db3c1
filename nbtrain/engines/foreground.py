"""Makes a run of a `for` loop in the user's own code: `nbtrain.track`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.data.tracked import check_tracked
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.loops import LoopEngine, LoopRun
from nbtrain.engines.object_saver import as_checkpoint
from nbtrain.engines.signatures import check_evaluation, check_stage
from nbtrain.engines.tracked_run import TrackedRun, current_run
from nbtrain.engines.trained import Trained
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.run import Run
from nbtrain.steer.options import LoopOptions, Settings, folder_of, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack


@with_options(LoopOptions)
def track(
    iterable: Iterable[Any],
    /,
    *,
    checkpoint: tf.train.Checkpoint | None = None,
    hyperparameters: Any = None,
    evaluate: Evaluation | None = None,
    **options: Unpack[LoopOptions],
) -> Any:
    """Makes a run of a `for` loop, which trains in the foreground; any thread.

    The thread that loops over the run is its training thread, and is busy until the loop ends. The
    end of each turn is a step boundary: there the run records, saves, pauses and stops. A cell
    shows the panel before the first step, a script the line. Within the loop, `run.track(...)` or
    `nbtrain.track(...)` without options tracks a loop of the same run, whose turns are then the
    steps. In a cell under `%%nbtrain` and in a function of `nbtrain.background`,
    `nbtrain.track(...)` is `run.track(...)` of the run that trains there.

    A stop ends the loop and each tracked loop around it, and the code after them is executed. An
    interrupt (Ctrl-C) does the same; a second one raises KeyboardInterrupt at once, or after the
    last save if that has begun. A `break` or a `return` finishes the run. An error in the body is
    raised as usual, and the run has failed.

    Args:
        iterable: The iterable to loop over: a `tf.data.Dataset`, a list, a range, or any other.
        checkpoint: The objects to save, together with the position of all tracked loops. This and
            all other arguments are as in `train`.
        hyperparameters: The variables that can be set.
        evaluate: Evaluates the model, and returns scalars by name.

    Returns:
        The run, which trains while it is looped over. Within the loop of a run, returns an iterable
        of the same elements, whose turns are those of that run.

    Raises:
        ArgumentError: An argument cannot be used, or options are given within the loop of a run.

    Example:
        >>> run = nbtrain.track(dataset, checkpoint=checkpoint)
        >>> for batch in run:
        ...     run.record(loss=train_step(batch))
    """
    check_tracked(iterable)
    if (around := current_run()) is not None:
        own = {"checkpoint": checkpoint, "hyperparameters": hyperparameters, "evaluate": evaluate}
        given = [name for name, value in own.items() if value is not None]
        return _within(around, iterable, [*given, *options])
    settings = Settings.of(options)
    check_evaluation(evaluate, settings)
    checkpoint = as_checkpoint(checkpoint)
    check_stage(settings, checkpoint)
    held = held_by(hyperparameters)
    folder = folder_of(options, kind="loop")
    engine = LoopEngine(
        Trained(lambda: (), hyperparameters),  # its functions are known once the program loops
        checkpoint,
        folder,
        settings,
        hyperparameters=held,
        evaluate=evaluate,
    )
    return TrackedRun(engine, folder, settings, iterable)


def _within(run: Run, iterable: Iterable[Any], options: Sequence[str]) -> Iterable[Any]:
    """Returns the iterable of a further loop of a run, for which no options can be given."""
    if options:
        raise ArgumentError(
            f"nbtrain.track(..., {options[0]}=...) was called within the loop of the run "
            f"{run.name!r}, of which it tracks a further loop. Give {options[0]}= where that run "
            "starts."
        )
    if not isinstance(run, LoopRun):
        raise ArgumentError(
            f"nbtrain.track() was called by the run {run.name!r}, which counts its steps itself: "
            "leave it out, or write the loop in a cell under %%nbtrain."
        )
    return run.track(iterable)
