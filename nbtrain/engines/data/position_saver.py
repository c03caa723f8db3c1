"""Saves and restores a training together with its position in the data."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import tensorflow as tf

from nbtrain.checkpoints.files import Restored, writing
from nbtrain.checkpoints.mending import mend_state
from nbtrain.core.errors import CheckpointError
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.engines.trained import Trained


class Position(Protocol):
    """The position of a training in its data."""

    @property
    def kept(self) -> bool:
        """True if states of `tf.data` iterators are saved with it."""

    def besides(self) -> tf.train.Checkpoint | None:
        """Returns the objects that save it; None if there is no position."""

    def lose(self, why: str) -> None:
        """Leaves out the iterators from now on, which cannot be saved for this reason."""

    def vary(self, repeat: int, steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; tells if it could."""

    def take(self, path: str) -> None:
        """Restores the position of a checkpoint, whose variables have been restored."""


class PositionSaver(ObjectSaver):
    """Saves and restores the objects of a `tf.train.Checkpoint` and a position in the data.

    `checkpoint.restore(path)` can read its files too. The arguments are those of `ObjectSaver`.
    """

    beside = "besides/"

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        position: Position,
        directory: Path,
        *,
        keep: int | None,
        origin: str | None = None,
        trained: Trained | None = None,
    ) -> None:
        super().__init__(checkpoint, directory, keep=keep, origin=origin, trained=trained)
        self._position, self._keep = position, keep

    def save(self, step: int) -> int:
        """Writes `ckpt-<step>`, with the position.

        If the state of a `tf.data` pipeline cannot be saved, it is left out from then on.
        """
        try:
            return self._save(step)
        except CheckpointError as error:
            cause = error.__cause__
            if not self._position.kept or not isinstance(cause, tf.errors.FailedPreconditionError):
                raise
            reason = cause.message.partition("}} ")[2].partition(" [Op:")[0] or cause.message
            reason = reason.rstrip(". ")
            self._position.lose(f"the state of this tf.data pipeline cannot be saved ({reason})")
            return self._save(step)

    def _save(self, step: int) -> int:
        besides = self._position.besides()
        if besides is None:
            return super().save(step)
        # A checkpoint that was restored sets whatever is added to it later to the restored values.
        reached = dict(tf.train.TrackableView(self._checkpoint).children(self._checkpoint))
        reached.pop("save_counter", None)  # each checkpoint has its own
        whole = tf.train.Checkpoint(**reached, besides=besides)
        with writing(self.directory, f"ckpt-{step}"):
            mend_state(self.directory)  # a clock may have been set back
        self._manager = tf.train.CheckpointManager(
            whole, str(self.directory), max_to_keep=self._keep
        )
        return super().save(step)

    def side_saver(self, name: str, keep: int) -> PositionSaver:
        """Returns a saver that keeps the newest `keep` in a folder of this name."""
        return PositionSaver(self._checkpoint, self._position, self.directory / name, keep=keep)

    def vary_data(self, repeat: int, steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; tells if it could."""
        return self._position.vary(repeat, steps)

    def restore(self, path: str) -> Restored:
        """Restores the variables and the position from a checkpoint."""
        restored = super().restore(path)
        self._position.take(path)
        return restored
