"""The epoch that a run is in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Epoch:
    """A pass over the data, an epoch of a Keras fit, or a turn of the outermost tracked loop.

    Attributes:
        number: Its number, from 1.
        count: The number of epochs; None if they have no end.
        began: The completed steps when it began; None if unknown.
        steps: Its steps, as far as its data or the epoch before tell; None if unknown.
    """

    number: int
    count: int | None = None
    began: int | None = None
    steps: int | None = None
