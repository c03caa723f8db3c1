"""Makes a run of a `for` loop where it stands: `nbtrain.track`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.data.tracked import check_tracked
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.loops import LoopEngine, LoopRun
from nbtrain.engines.object_saver import as_checkpoint
from nbtrain.engines.signatures import check_evaluation, check_stage
from nbtrain.engines.tracked_run import TrackedRun, at_hand
from nbtrain.engines.trained import Trained
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.options import Settings
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir


def track(
    iterable: Iterable[Any],
    /,
    *,
    steps: int | None = None,
    checkpoint: tf.train.Checkpoint | None = None,
    hyperparameters: Any = None,
    evaluate: Evaluation | None = None,
    evaluate_secs: float | None = None,
    evaluate_steps: int | None = None,
    logdir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    save_secs: float | None = 600.0,
    save_steps: int | None = None,
    keep: int | None = 5,
    on_nan: str | None = "pause",
    jump: float | None = None,
    grace: float = 10.0,
    mirror: str | None = None,
    fresh: bool = False,
    prints: str = "cell",
    system: bool = True,
    tags: Sequence[str] = (),
    keep_best: str | None = None,
    patience: int | None = None,
    stage: str | None = None,
) -> Any:
    """Makes a run of a `for` loop, which trains in the foreground; any thread.

    The thread that loops over the run is its training thread, and is busy until the loop ends. The
    end of each turn is a step boundary: there the run records, saves, pauses and stops. A cell
    shows the panel before the first step, a script the line. Within the loop, `run.track(...)` or
    `nbtrain.track(...)` without options tracks a loop of the same run, whose turns are then the
    steps. In a cell under `%%nbtrain` and in a function of `nbtrain.background`,
    `nbtrain.track(...)` is `run.track(...)` of the run that trains there.

    A stop ends the loop and each tracked one around it, and the code after them goes on. So does an
    interrupt (Ctrl-C); a second one raises KeyboardInterrupt at once, or after the last save if
    that has begun. A `break` or a `return` finishes the run. An error in the body is raised as
    ever, and the run has failed.

    Args:
        iterable: What to loop over: a `tf.data.Dataset`, a list, a range, or any other.
        steps: The step at which the run finishes, as in `train`, like all the other arguments.
        checkpoint: The objects to save, together with the position of all tracked loops.
        hyperparameters: The variables that can be set.
        evaluate: Evaluates what is trained.
        evaluate_secs: Seconds between two evaluations.
        evaluate_steps: Steps between two evaluations.
        logdir: The folder.
        name: The run's name; None takes "loop" with a number.
        save_secs: Seconds between two checkpoints.
        save_steps: Steps between two checkpoints.
        keep: The number of checkpoints to keep.
        on_nan: What to do if a loss or a variable is NaN or infinite.
        jump: The relative size of a jump of the loss that counts as bad.
        grace: Seconds that the end of the process waits for the run to stop and save.
        mirror: The address of a folder in a store to which the run is copied.
        fresh: Whether to move an earlier run in the folder aside.
        prints: Where prints are shown, "cell" or "log".
        system: Whether to record the use of the machine, under `system/`.
        tags: Words by which the run can be found again.
        keep_best: The scalar whose best state is kept.
        patience: Its judged values in a row that may be no better.
        stage: The name of this stage of the training, as in `train`.

    Returns:
        The run, which trains while it is looped over. Within the loop of a run, an iterable of the
        same elements, whose turns are those of that run.

    Raises:
        ArgumentError: An argument cannot be used, or options are given within the loop of a run.

    Example:
        >>> run = nbtrain.track(dataset, checkpoint=checkpoint)
        >>> for batch in run:
        ...     run.record(loss=train_step(batch))
    """
    given = {**locals()}
    check_tracked(iterable)
    if (around := at_hand()) is not None:
        return _within(around, given)
    settings = Settings(
        *(steps, save_secs, save_steps, keep, evaluate_secs, evaluate_steps),
        *(on_nan, jump, grace, mirror, fresh),
        *(prints, system, tags),
        keep_best=keep_best,
        patience=patience,
        stage=stage,
    )
    check_evaluation(evaluate, settings)
    check_stage(settings, checkpoint)
    folder = Logdir(logdir, name, kind="loop")
    trained = Trained(lambda: (), hyperparameters)
    engine = LoopEngine(
        trained,
        as_checkpoint(checkpoint),
        folder.checkpoints,
        keep=keep,
        stage=settings.stage,
        hyperparameters=held_by(hyperparameters),
        evaluate=evaluate,
    )
    return TrackedRun(engine, folder, settings, iterable, trained)


def _within(run: Run, given: dict[str, Any]) -> Iterable[Any]:
    """Returns the iterable of a further loop of a run."""
    iterable = given.pop("iterable")
    usual = inspect.signature(track).parameters
    options = [name for name, value in given.items() if _differs(value, usual[name].default)]
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


def _differs(value: Any, usual: object) -> bool:
    """Tells if an option was given. Variables, which may be options, have no plain `==`."""
    return value is not usual and not (isinstance(value, (float, str, tuple)) and value == usual)
