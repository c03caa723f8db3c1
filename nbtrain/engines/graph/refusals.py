"""Errors for checkpoints that do not fit: each is both nbtrain's error and TensorFlow's.

A TensorFlow program catches its own; `except nbtrain.NbtrainError` catches them all.
"""

from __future__ import annotations

from typing import ClassVar

import tensorflow as tf

from nbtrain.core.errors import CheckpointError


class NoCheckpointError(CheckpointError, ValueError):
    """No checkpoint has this path; TensorFlow's `Saver.restore` raises a ValueError."""


class _OpError(CheckpointError, tf.errors.OpError):
    """An error that a TensorFlow operation raises while restoring."""

    code: ClassVar[int]

    def __init__(self, message: str) -> None:
        tf.errors.OpError.__init__(self, None, None, message, self.code)
        self.args = (message,)


class MissingVariableError(_OpError, tf.errors.NotFoundError):
    """The checkpoint lacks a variable of the saver."""

    code = tf.errors.NOT_FOUND


class ShapeError(_OpError, tf.errors.InvalidArgumentError):
    """The checkpoint has a variable in another shape."""

    code = tf.errors.INVALID_ARGUMENT


class UnreadableError(_OpError, tf.errors.DataLossError):
    """The checkpoint cannot be read.

    For a truncated file TensorFlow raises an OutOfRangeError. A Supervisor takes that for the end
    of the input and would end without an error, so this class is not one.
    """

    code = tf.errors.DATA_LOSS
