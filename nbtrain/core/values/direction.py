"""The direction of a scalar: whether a higher or a lower value is better.

directions = Directions({"top3": Direction.HIGHEST})    # known by the metrics of a Keras model
directions.of("val_top3")                               # HIGHEST
directions.of("val_loss")                               # LOWEST, by its last word
directions.of("elbo")                                   # None: unknown
directions.asked("keep_best", "max:elbo")               # ("elbo", HIGHEST), by the user
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from enum import Enum

from nbtrain.core.errors import ArgumentError

# The beginnings of the tags of a metric, in their order: of an epoch or of a batch of Keras, and of
# an evaluation.
_BEGINNINGS = ("epoch_", "batch_", "running_", "val_")

# Last words of tags that leave no doubt. For other tags, the user must give the direction: a guess
# could keep the wrong checkpoint.
_LOWEST = {"loss", "losses", "error", "errors", "err", "mae", "mse", "rmse", "mape", "msle"}
_HIGHEST = {"accuracy", "acc"}

# The words of a tag: "val_loss", "ValLoss", "model/MSELoss_1".
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Direction(str, Enum):
    """The direction of a scalar's best value: the highest or the lowest."""

    HIGHEST = "max"
    LOWEST = "min"

    def __str__(self) -> str:
        """Returns the word that a user types before a tag."""
        return self.value

    @property
    def end(self) -> str:
        """The word for the best value: "highest" or "lowest"."""
        return self.name.lower()

    @property
    def way(self) -> str:
        """The word for a better value: "higher" or "lower"."""
        return f"{self.end.removesuffix('est')}er"

    def prefers(self, value: float, other: float) -> bool:
        """Returns whether a value is better than another one; NaN is never better."""
        return value > other if self is Direction.HIGHEST else value < other

    def is_worse(self, value: float, before: float) -> bool:
        """Returns whether a value has got worse; NaN is worse than any number."""
        return not math.isnan(before) and (math.isnan(value) or self.prefers(before, value))


class Directions:
    """The directions of the scalars of one run; any thread may use them.

    Args:
        known: Directions by the name of a scalar, such as `top3`. A name also holds for the
            tags that begin with `val_` or `epoch_` before it, unless those have their own.

    Attributes:
        told: The known directions, as words, that do not follow from the last word of the name:
            other processes and boards need these.
    """

    def __init__(self, known: Mapping[str, Direction] | None = None) -> None:
        self._known = dict(known or {})
        needed = dict(self._known)
        for name, direction in self._known.items():
            del needed[name]
            if _found(needed, name) is not direction:
                needed[name] = direction
        self.told = {name: str(direction) for name, direction in needed.items()}

    def of(self, tag: str) -> Direction | None:
        """Returns the direction of a tag; None if it is unknown."""
        return _found(self._known, tag)

    def asked(self, argument: str, wanted: str) -> tuple[str, Direction]:
        """Returns the tag that an argument names, and its direction.

        Args:
            argument: The name of the argument, such as "keep_best".
            wanted: A tag, or "max:tag" or "min:tag", which overrides what is known.

        Raises:
            ArgumentError: The direction is unknown.
        """
        tag, direction = parted(wanted)
        direction = direction or self.of(tag)
        if direction is None:
            raise ArgumentError(
                f"{argument}={wanted!r}: nothing tells whether a higher or a lower value of "
                f'{tag!r} is better. Give {argument}="max:{tag}" if a higher one is, or '
                f'{argument}="min:{tag}".'
            )
        return tag, direction

    def also(self, tag: str, direction: Direction) -> Directions:
        """Returns a copy with the direction of another tag."""
        return Directions({**self._known, tag: direction})


def parted(wanted: str) -> tuple[str, Direction | None]:
    """Returns the tag of "max:tag", "min:tag" or "tag", and the direction that it names."""
    for direction in Direction:
        if wanted.startswith(f"{direction}:"):
            return wanted.removeprefix(f"{direction}:"), direction
    return wanted, None


def common(directions: Iterable[Direction | None]) -> Direction | None:
    """Returns the one direction among those that are known; None if they differ, or none is."""
    known = {each for each in directions if each is not None}
    return known.pop() if len(known) == 1 else None


def is_highest(direction: Direction | None) -> bool | None:
    """Returns whether the best value is the highest, for a page; None if unknown."""
    return None if direction is None else direction is Direction.HIGHEST


def read(told: object) -> Directions:
    """Returns directions from a file, in which they are words by name; skips everything else."""
    words = {str(each): each for each in Direction}
    pairs = told.items() if isinstance(told, Mapping) else ()
    return Directions({name: words[word] for name, word in pairs if word in [*words]})


def _found(known: Mapping[str, Direction], tag: str) -> Direction | None:
    name = tag
    for beginning in ("", *_BEGINNINGS):
        name = name.removeprefix(beginning)
        if name in known:
            return known[name]
    last = (_WORD.findall(tag) or [""])[-1].lower()
    if last in _HIGHEST:
        return Direction.HIGHEST
    return Direction.LOWEST if last in _LOWEST else None
