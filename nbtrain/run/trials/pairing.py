"""Detects whether the arms of a trial had the same batches and random draws.

A learning rate acts from the first update on. If everything else was set back, the first step of
every arm records the same scalars. Other values, such as the rate of a dropout, may act on the
first step itself: if several arms have the same of these, only such arms are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

_Difference = tuple[str, float, float]

# Part of the names of the hyperparameters that act from the first update on.
_RATE = "learning_rate"


class Pairing:
    """The first steps of the arms of one trial.

    Attributes:
        same_batches: Whether repeats had the same batches, because the run does not draw them.
    """

    def __init__(self) -> None:
        self.same_batches = False
        self._firsts: dict[object, Mapping[str, float]] = {}  # of the first arm, by repeat
        self._alike: dict[object, Mapping[str, float]] = {}  # also by values that act at once
        self._differs: _Difference | None = None
        self._differs_alike: _Difference | None = None
        self._has_alike = False

    def add(self, repeat: int, first: Mapping[str, float], values: Mapping[str, float]) -> None:
        """Compares what the first step of an arm has recorded with the first step of the others.

        Args:
            values: The hyperparameters that the arm sets, by name.
        """
        acting = {item for item in values.items() if _RATE not in item[0]}
        like = repeat, frozenset(acting)
        self._has_alike |= like in self._alike
        other, alike = self._firsts.setdefault(repeat, first), self._alike.setdefault(like, first)
        self._differs = self._differs or _difference(other, first)
        self._differs_alike = self._differs_alike or _difference(alike, first)

    @property
    def text(self) -> str:
        """Describes what was not the same in every arm; empty if everything was."""
        said = []
        differs = self._differs_alike if self._has_alike else self._differs
        if differs is not None:
            tag, one, other = differs
            said.append(
                f"not paired: the first step gave {tag} {one:.7g} and {other:.7g} from the same "
                "state, so the batches or the random draws differed (Python's, or those of "
                "tf.random without a tf.random.Generator), or the values act on it directly"
            )
        if self.same_batches:
            said.append("the repeats had the same batches, which the run does not draw itself")
        return "".join(f"; {each}" for each in said)


def _difference(one: Mapping[str, float], other: Mapping[str, float]) -> _Difference | None:
    """Returns the first tag whose values differ, with both values; None if all are the same."""
    for tag, before in one.items():
        now = other.get(tag, before)
        if before != now and not (math.isnan(before) and math.isnan(now)):
            return tag, before, now
    return None
