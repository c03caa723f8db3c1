"""Saving and restoring a training together with its place in the data."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import tensorflow as tf

from nbtrain.checkpoints.files import Restored, writing
from nbtrain.checkpoints.mending import mend_state
from nbtrain.core.errors import CheckpointError
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.engines.trained import Trained


class DataPosition(Protocol):
    """Where a training is in its data."""

    @property
    def kept(self) -> bool:
        """Whether states of `tf.data` iterators are saved with it."""

    def besides(self) -> tf.train.Checkpoint:
        """What is saved of it."""

    def lose(self, why: str) -> None:
        """The iterators cannot be saved, for this reason: leave them out from now on."""

    def take(self, path: str) -> None:
        """Be where a checkpoint was, whose variables have been restored."""


class PositionSaver(ObjectSaver):
    """Saves and restores what a `tf.train.Checkpoint` reaches, and beside it a place in the data.

    Its files too are read by `checkpoint.restore(path)`.

    Args:
        checkpoint: What to save.
        place: The place.
        directory, keep, origin, trained: As in `ObjectSaver`.
    """

    beside = "besides/"

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        place: DataPosition,
        directory: Path,
        *,
        keep: int | None,
        origin: str | None = None,
        trained: Trained | None = None,
    ) -> None:
        super().__init__(checkpoint, directory, keep=keep, origin=origin, trained=trained)
        self._place, self._keep = place, keep

    def save(self, step: int) -> int:
        """Write `ckpt-<step>`, with the place.

        The state of a `tf.data` pipeline that cannot be saved is left out from then on.

        Raises:
            CheckpointError: It cannot be written.
        """
        try:
            return self._save(step)
        except CheckpointError as error:
            cause = error.__cause__
            if not self._place.kept or not isinstance(cause, tf.errors.FailedPreconditionError):
                raise
            reason = cause.message.partition("}} ")[2].partition(" [Op:")[0] or cause.message
            reason = reason.rstrip(". ")
            self._place.lose(f"the state of this tf.data pipeline cannot be saved ({reason})")
            return self._save(step)

    def _save(self, step: int) -> int:
        # A checkpoint that was restored sets whatever is added to it to what it has restored.
        reached = dict(tf.train.TrackableView(self._checkpoint).children(self._checkpoint))
        reached.pop("save_counter", None)  # of its own, and each has one
        whole = tf.train.Checkpoint(**reached, besides=self._place.besides())
        with writing(self.directory, f"ckpt-{step}"):
            mend_state(self.directory)  # by a clock that was set back the new one would forget
        self._manager = tf.train.CheckpointManager(
            whole, str(self.directory), max_to_keep=self._keep
        )
        return super().save(step)

    def side_saver(self, name: str, keep: int) -> PositionSaver:
        """What saves the newest few in a folder of this name."""
        return PositionSaver(self._checkpoint, self._place, self.directory / name, keep=keep)

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint, and be at its place."""
        restored = super().restore(path)
        self._place.take(path)
        return restored
