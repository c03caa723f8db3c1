"""Refusals of a checkpoint: each is nbtrain's error, and the one that TensorFlow raises.

A program of TensorFlow catches its own; `except nbtrain.NbtrainError` catches them all.
"""

from __future__ import annotations

from typing import ClassVar

import tensorflow as tf

from nbtrain.core.errors import CheckpointError


class NoCheckpointError(CheckpointError, ValueError):
    """A path that no checkpoint has; `Saver.restore` of TensorFlow raises a ValueError."""


class _OpError(CheckpointError, tf.errors.OpError):
    """An error that an operation of TensorFlow's raises while it restores."""

    code: ClassVar[int]

    def __init__(self, message: str) -> None:
        tf.errors.OpError.__init__(self, None, None, message, self.code)
        self.args = (message,)


class MissingVariableError(_OpError, tf.errors.NotFoundError):
    """A checkpoint without a variable of the saver."""

    code = tf.errors.NOT_FOUND


class ShapeError(_OpError, tf.errors.InvalidArgumentError):
    """A checkpoint in which a variable has another shape."""

    code = tf.errors.INVALID_ARGUMENT


class UnreadableError(_OpError, tf.errors.DataLossError):
    """A checkpoint that cannot be read.

    For a file that was cut short TensorFlow raises an OutOfRangeError. This is none: a
    Supervisor takes that for the end of the input, and would end as if all were well.
    """

    code = tf.errors.DATA_LOSS
