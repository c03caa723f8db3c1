"""Loads the weights of a run into a model, in any process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from nbtrain.checkpoints.files import Restored, at
from nbtrain.checkpoints.listing import find, latest, restorable
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.text_table import some
from nbtrain.engines.checkpoint_file import CheckpointFile
from nbtrain.engines.object_saver import ObjectSaver, as_checkpoint
from nbtrain.run import registry
from nbtrain.rundir.folder import BASE


class _Loader(ObjectSaver):
    """Sets variables from a checkpoint; metrics begin with the next training."""

    leave_out = (keras.metrics.Metric,)


def load(
    source: Any, into: Any, checkpoint: int | str | None = None, *, partly: bool = False
) -> Restored:
    """Sets the weights of a model to those of a run's checkpoint, in any process; any thread.

    It reads the files of the run only, which may be training meanwhile. The optimizer of a compiled
    model stays as it is. To load it too, name both as the run did, in
    `tf.train.Checkpoint(model=model, optimizer=optimizer)`.

    Args:
        source: A run, its name under `runs/`, its folder, or the path of a checkpoint.
        into: A Keras model or layer, or a `tf.Module`, whose variables exist; or a
            `tf.train.Checkpoint` of objects.
        checkpoint: The step of a checkpoint, "best" for the state that `keep_best=` has kept, its
            name, or None for the latest.
        partly: Whether to load what both have, if variables of the model lack a value there or
            values there a variable. Otherwise that is an error, and nothing is loaded.

    Returns:
        What was restored, in words.

    Raises:
        ArgumentError: There is no such run, or `into` holds no variables.
        BusyError: A live run of this process trains the model.
        CheckpointError: There is no such checkpoint, or it does not fit; nothing was loaded.

    Example:
        >>> nbtrain.load("digits", model, "best")
        ckpt-1200: 6 variables matched
    """
    path = _path(source, checkpoint)
    held = as_checkpoint(into) if isinstance(into, tf.train.Checkpoint) else _named(path, into)
    assert held is not None, "an empty one was refused"
    models = list(tf.train.TrackableView(held).descendants())
    claimed = f"nbtrain.load {id(held)}"
    registry.claim(claimed, lambda: models, lambda: "being loaded")
    try:
        saver = _Loader(held, Path(path).parent, keep=None)
        weights_only = not isinstance(into, tf.train.Checkpoint)
        return saver.load(path, weights_only=weights_only, partly=partly)
    finally:
        registry.release(claimed)


def _path(source: Any, checkpoint: int | str | None) -> str:
    """Returns the path of a checkpoint of a run."""
    folder = Path(getattr(source, "logdir", None) or _given(source)).expanduser()
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


def _given(source: Any) -> str:
    try:
        path: str = os.fsdecode(source)
    except TypeError:
        raise ArgumentError(
            f"source={source!r}: give a run, its name or folder, or the path of a checkpoint."
        ) from None
    return path


def _named(path: str, into: Any) -> tf.train.Checkpoint:
    """Returns a model under the name that it has in a checkpoint: the one that fits it best.

    Raises:
        ArgumentError: It is no model, or fits under several names.
        CheckpointError: It fits under none.
    """
    if not isinstance(into, (keras.layers.Layer, tf.Module)):
        raise ArgumentError(
            f"into={type(into).__name__} object: give a Keras model, a layer, a tf.Module, or a "
            "tf.train.Checkpoint with the names that the run gave to its objects."
        )
    file, fitting = CheckpointFile(path), {}
    for root in file.roots:
        checkpoint = tf.train.Checkpoint(**{root: into})
        fitting[root] = _Loader(checkpoint, Path(path).parent, keep=None).fits(file), checkpoint
    most = max((count for count, _ in fitting.values()), default=0)
    best = [root for root, (count, _) in fitting.items() if count == most]
    held = some(list(file.roots))
    if not most:
        raise CheckpointError(
            f"{path} holds nothing that fits this {type(into).__name__}; it holds {held}. Nothing "
            "was loaded. Build the model as it was, and call it once if it is not built."
        )
    if len(best) > 1:
        raise ArgumentError(
            f"This {type(into).__name__} fits {' and '.join(best)} in {path}: give "
            f"tf.train.Checkpoint({best[0]}=model)."
        )
    return fitting[best[0]][1]
