"""The position of a training in its data, saved and restored together with its objects.

Three kinds of training have a position: a run over `data=` (`Passes`), tracked loops (`Tracks`),
and a fit of Keras (`DataPosition`).
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import tensorflow as tf

from nbtrain.checkpoints.files import Restored
from nbtrain.core.errors import CheckpointError
from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import Iterators
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.engines.trained import Trained


class Position(abc.ABC):
    """The position of a training in its data; training thread only.

    Attributes:
        names: The first names of its values in a checkpoint.
    """

    names: ClassVar[Sequence[str]]

    @property
    @abc.abstractmethod
    def iterators(self) -> Iterators | None:
        """The `tf.data` iterators whose states are saved with it; None if there are none."""

    @abc.abstractmethod
    def saved(self) -> dict[str, Any]:
        """Returns the objects that save the position, by name; none if there is no position."""

    @abc.abstractmethod
    def restore(self, read: AsRead) -> None:
        """Restores the position of a checkpoint, whose variables have been restored."""

    def vary(self, _repeat: int, _steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; returns whether it could."""
        return False


class PositionSaver(ObjectSaver):
    """Saves and restores the objects of a `tf.train.Checkpoint` and a position in the data.

    `checkpoint.restore(path)` can read its files too. The arguments are those of `ObjectSaver`.
    """

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        position: Position,
        directory: Path,
        *,
        keep: int | None,
        origin: str | None = None,
        trained: Trained | None = None,
        stage: str | None = None,
    ) -> None:
        super().__init__(
            checkpoint, directory, keep=keep, origin=origin, trained=trained, stage=stage
        )
        self._position = position

    def save(self, step: int) -> int:
        """Writes `ckpt-<step>`, with the position.

        If the state of a `tf.data` pipeline cannot be saved, it is not saved from then on.
        """
        try:
            return super().save(step)
        except CheckpointError as error:
            cause, iterators = error.__cause__, self._position.iterators
            if iterators is None or not isinstance(cause, tf.errors.FailedPreconditionError):
                raise
            reason = cause.message.partition("}} ")[2].partition(" [Op:")[0] or cause.message
            reason = reason.rstrip(". ")
            iterators.lost = f"the state of this tf.data pipeline cannot be saved ({reason})"
            return super().save(step)

    def _besides(self) -> dict[str, Any]:
        return self._position.saved()

    def side_saver(self, name: str, keep: int) -> PositionSaver:
        """Returns a saver that keeps the newest `keep` in a folder of this name."""
        folder = self.directory / name
        side = type(self)(self._checkpoint, self._position, folder, keep=keep)
        side.restores = self.restores
        return side

    def vary_data(self, repeat: int, steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; returns whether it could."""
        return self._position.vary(repeat, steps)

    def restore(self, path: str) -> Restored:
        """Restores the variables and the position from a checkpoint."""
        restored = super().restore(path)
        self._position.restore(AsRead(path, *self._position.names))
        return restored
