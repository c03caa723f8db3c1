"""Finds out if the arms of a trial had the same batches and random draws.

The values of an arm act from the first update on. If everything else was set back, the first step
of every arm records the same scalars.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping

import tensorflow as tf


class Pairing:
    """The first steps of the arms of one trial.

    Attributes:
        same_batches: Whether repeats had the same batches, because the run does not draw them.
    """

    def __init__(self) -> None:
        self.same_batches = False
        self._firsts: dict[int, Mapping[str, float]] = {}  # of the first arm, by repeat
        self._differs: tuple[str, float, float] | None = None

    def add(self, repeat: int, first: Mapping[str, float]) -> None:
        """Compares what the first step of an arm has recorded with the first step of the others."""
        other = self._firsts.setdefault(repeat, first)
        for tag in first.keys() & other.keys() if self._differs is None else ():
            one, now = other[tag], first[tag]
            if one != now and not (math.isnan(one) and math.isnan(now)):
                self._differs = tag, one, now

    @property
    def text(self) -> str:
        """Names what was not the same in every arm; empty if all was."""
        said = []
        if self._differs is not None:
            tag, one, other = self._differs
            said.append(
                f"not paired: the first step gave {tag} {one:.7g} and {other:.7g} from the same "
                "state, so the batches or the random draws differed (Python's, or those of "
                "tf.random without a tf.random.Generator), or the values act on it directly"
            )
        if self.same_batches:
            said.append("the repeats had the same batches, which the run does not draw itself")
        if _varies():
            said.append(
                "not deterministic: sums on a GPU may differ in the last digits, unless "
                "tf.config.experimental.enable_op_determinism() was called"
            )
        return "".join(f"; {each}" for each in said)


def _varies() -> bool:
    """Tells if TensorFlow's operations may not give the same result again."""
    with contextlib.suppress(ImportError, AttributeError):
        from tensorflow.python.framework import config

        if config.is_op_determinism_enabled():
            return False
    return bool(tf.config.list_logical_devices("GPU"))
