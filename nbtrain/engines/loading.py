"""Loads the weights of a run into a model, in any process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from nbtrain.checkpoints.files import Restored, at, step_in_name
from nbtrain.checkpoints.listing import find, latest, restorable
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.text.text_table import some
from nbtrain.engines.checkpoint_file import CheckpointFile
from nbtrain.engines.live_objects import LiveObjects
from nbtrain.engines.named_variables import is_within, survey
from nbtrain.engines.object_saver import roots_of
from nbtrain.engines.schedules import Factor
from nbtrain.engines.slots import slots_of
from nbtrain.inner.variables import handles, is_variable
from nbtrain.rundir.folder import BASE
from nbtrain.steer import registry


def load(
    source: Any, into: Any, checkpoint: int | str | None = None, *, partly: bool = False
) -> Restored:
    """Sets the weights of a model to those of a run's checkpoint, in any process; any thread.

    Only the files of the run are read, so the run may be training meanwhile. The optimizer of a
    compiled model is not changed. To load the optimizer too, name both as the run did, in
    `tf.train.Checkpoint(model=model, optimizer=optimizer)`.

    Args:
        source: A run, its name under `runs/`, its folder, or the path of a checkpoint.
        into: A Keras model or layer, or a `tf.Module`, whose variables exist; or a
            `tf.train.Checkpoint` of objects.
        checkpoint: The step of a checkpoint, "best" for the state that `keep_best=` has kept, its
            name, or None for the latest.
        partly: Whether to load the variables that both have. If False, an error is raised and
            nothing is loaded when a variable of the model has no value in the checkpoint or another
            shape there, or a value there has no variable.

    Returns:
        The result of the restore, which shows as words.

    Raises:
        ArgumentError: There is no such run, or `into` cannot be loaded.
        BusyError: A live run of this process trains the model.
        CheckpointError: There is no such checkpoint, or it does not fit; nothing was loaded.

    Example:
        >>> nbtrain.load("digits", model, "best")
        ckpt-1200: 6 variables matched
    """
    file = CheckpointFile(_path(source, checkpoint))
    weights_only = not isinstance(into, tf.train.Checkpoint)
    held = _named(file, into) if weights_only else into
    if not roots_of(held):
        raise ArgumentError(
            "into=tf.train.Checkpoint() holds nothing: name what to load, as in "
            "tf.train.Checkpoint(model=model)."
        )
    models = list(tf.train.TrackableView(held).descendants())
    claimed = f"nbtrain.load {id(held)}"
    registry.claim(claimed, lambda: models, lambda: "being loaded")
    try:
        return _loaded(file, held, weights_only=weights_only, partly=partly)
    finally:
        registry.release(claimed)


def _path(source: Any, checkpoint: int | str | None) -> str:
    """Returns the path of a checkpoint of a run."""
    folder = Path(getattr(source, "logdir", None) or _path_of(source)).expanduser()
    if not folder.is_dir() and (held := at(folder.absolute())) is not None and checkpoint is None:
        return held.path
    if not folder.is_dir() and len(folder.parts) == 1 and (BASE / folder).is_dir():
        folder = BASE / folder
    if not folder.is_dir():
        raise ArgumentError(
            f"There is no run {str(source)!r}, neither as a folder nor in {BASE.resolve()}: give a "
            "run, its folder, such as 'runs/digits', or the path of a checkpoint, such as "
            "'runs/digits/checkpoints/ckpt-1200'."
        )
    directory = folder / "checkpoints" if (folder / "checkpoints").is_dir() else folder
    held = latest(directory) if checkpoint is None else find(restorable(directory), checkpoint)
    if held is None:
        raise CheckpointError(f"The run in {folder} has no checkpoint.")
    return held.path


def _path_of(source: Any) -> str:
    try:
        path: str = os.fsdecode(source)
    except TypeError:
        raise ArgumentError(
            f"source={source!r}: give a run, its name or folder, or the path of a checkpoint."
        ) from None
    return path


def _survey(
    file: CheckpointFile, checkpoint: tf.train.Checkpoint, *, weights_only: bool
) -> LiveObjects:
    """Finds the objects to restore from a file, without metrics: the next training resets them."""
    found = survey(roots_of(checkpoint), (keras.metrics.Metric,))
    live = LiveObjects.of(checkpoint, found, file)
    return live.weights if weights_only else live


def _loaded(
    file: CheckpointFile, checkpoint: tf.train.Checkpoint, *, weights_only: bool, partly: bool
) -> Restored:
    """Sets the variables of a checkpoint's objects."""
    live = _survey(file, checkpoint, weights_only=weights_only)
    if not weights_only and live.build_optimizers(file):
        live = _survey(file, checkpoint, weights_only=weights_only)
    wrong = [] if partly else live.other_shapes(file)
    live = live.without_other_shapes(file) if partly else live
    optimizers = {*file.optimizers, *live.found.optimizers}
    wanted = live.found.weights if weights_only else live.found.variables
    taken = {key for each in live.bound.values() if is_variable(each) for key in handles(each)}
    missing = [name for name, each in wanted.items() if taken.isdisjoint(handles(each))]
    unused = [
        name
        for name in map(file.name, file.keys("besides/") - set(live.bound))
        if name.partition("/")[0] in roots_of(checkpoint)
        and name.rpartition("/")[2] != Factor.NAME
        and not is_within(name, file.metrics)
        and not (weights_only and is_within(name, optimizers))
    ]
    if wrong or not taken or (not partly and (missing or unused)):
        raise CheckpointError(_misfit(file.path, wrong, missing, unused))
    live.restore(file)
    slots = {id(each) for item in live.found.optimizers.values() for each in slots_of(item)}
    return Restored(
        step=step_in_name(file.path) or 0,
        path=file.path,
        matched=tuple(map(file.name, live.bound)),
        slots=None if weights_only else sum(id(each) in slots for each in live.bound.values()),
        missing=tuple(sorted(missing)),
        unused=tuple(sorted(unused)),
    )


def _misfit(path: str, wrong: list[str], missing: list[str], unused: list[str]) -> str:
    """Returns the message why a checkpoint was not loaded, and what to do."""
    parts = wrong[:3]
    if missing:
        parts.append(f"it has no value for {some(sorted(missing))}")
    if unused:
        parts.append(f"no variable takes its {some(sorted(unused))}")
    why = "; ".join(parts) or "it holds no value of these objects"
    return (
        f"{path} does not fit: {why}. Nothing was loaded. Build the model as it was, and call it "
        "once if it is not built; nbtrain.load(..., partly=True) sets what both have."
    )


def _named(file: CheckpointFile, into: Any) -> tf.train.Checkpoint:
    """Returns a model under the name that it has in a checkpoint: the one that fits it best.

    Raises:
        ArgumentError: `into` is no model, or fits under several names.
        CheckpointError: The model fits under no name.
    """
    if not isinstance(into, (keras.layers.Layer, tf.Module)):
        raise ArgumentError(
            f"into={type(into).__name__} object: give a Keras model, a layer, a tf.Module, or a "
            "tf.train.Checkpoint with the names that the run gave to its objects."
        )
    fitting = {}
    for root in file.roots:
        checkpoint = tf.train.Checkpoint(**{root: into})
        live = _survey(file, checkpoint, weights_only=True)
        fitting[root] = len(live.bound) - len(live.other_shapes(file)), checkpoint
    most = max((count for count, _ in fitting.values()), default=0)
    best = [root for root, (count, _) in fitting.items() if count == most]
    held = some(list(file.roots))
    if not most:
        raise CheckpointError(
            f"{file.path} holds nothing that fits this {type(into).__name__}; it holds {held}. "
            "Nothing was loaded. Build the model as it was, and call it once if it is not built."
        )
    if len(best) > 1:
        raise ArgumentError(
            f"This {type(into).__name__} fits {' and '.join(best)} in {file.path}: give "
            f"tf.train.Checkpoint({best[0]}=model)."
        )
    return fitting[best[0]][1]
