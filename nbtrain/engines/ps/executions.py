"""Compares the steps of a run with those that the workers have taken.

TensorFlow schedules a step again if its worker is lost. So a step may be taken twice: its variables
are changed twice, and the optimizer counts both.
"""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from nbtrain.run.handle import LoopHandle

# Names of a count of steps among the objects of a checkpoint.
_COUNTS = ("iterations", "global_step", "step")


class Executions:
    """The count of an optimizer or of the program beside that of the run; training thread only.

    Args:
        checkpoint: Holds the count; None if nothing is saved.
        handle: The loop of the run.
    """

    def __init__(self, checkpoint: tf.train.Checkpoint | None, handle: LoopHandle) -> None:
        self._count = None if checkpoint is None else _count(checkpoint)
        self._handle = handle
        self._behind = 0

    def begin(self) -> None:
        """Notes both counts at the beginning, or after a restore."""
        if (taken := self._taken()) is not None:
            self._behind = taken - self._handle.step

    def tell(self) -> None:
        """Says how many steps were taken more than once; no step is under way."""
        taken = self._taken()
        if taken is None:
            return
        more = taken - self._behind - self._handle.step
        text = None
        if more > 0:
            text = (
                f"{more:,} step{'s were' if more > 1 else ' was'} taken twice, because a worker "
                f"was lost: {self._handle.step:,} steps, {self._handle.step + more:,} executions."
            )
        self._handle.note("executions", text)

    def _taken(self) -> int | None:
        with contextlib.suppress(tf.errors.OpError):  # its server is lost
            return None if self._count is None else int(self._count.numpy())
        return None


def _count(checkpoint: tf.train.Checkpoint) -> Any:
    """Finds the count of steps: of an optimizer, or an integer by its name; None if there is none.

    The objects of the checkpoint are looked at, and not what these are made of.
    """
    children = tf.train.TrackableView(checkpoint).children(checkpoint)
    for item in children.values():
        if isinstance(item, tf.keras.optimizers.Optimizer):
            return item.iterations
    for name in _COUNTS:
        item = children.get(name)
        if item is not None and getattr(item, "dtype", None) in (tf.int64, tf.int32):
            return item
    return None
