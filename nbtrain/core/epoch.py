"""The epoch that a run is in."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Epoch:
    """A pass over the data, an epoch of a Keras fit, or a turn of the outermost tracked loop.

    Attributes:
        number: Its number, from 1.
        count: The number of epochs; None if they have no end.
        began: The completed steps when it began; None if unknown.
        steps: Its number of steps, known from its data or the epoch before; None if unknown.
    """

    number: int
    count: int | None = None
    began: int | None = None
    steps: int | None = None

    def ended_at(self, step: int) -> Epoch:
        """Returns the epoch of the last step of a run that ended at `step`.

        This is the epoch before if the present one has no step yet. A run without a step stays in
        its first epoch.
        """
        if not step or self.began != step or self.number == 1:
            return self
        return replace(
            self, number=self.number - 1, began=step - self.steps if self.steps else None
        )
