"""The state of a trial of several values: its arms, their turns and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nbtrain.core.commands import Try
from nbtrain.core.receipts import Receipt
from nbtrain.core.values.arms import Arm, ArmResult
from nbtrain.core.values.direction import Direction
from nbtrain.core.values.rate_range import RateRange
from nbtrain.run.saving.draws import Draws
from nbtrain.run.trials.metric import described
from nbtrain.run.trials.pairing import Pairing


@dataclass(slots=True)
class Comparison:
    """The current trial.

    Attributes:
        saved: Path of the checkpoint of its start.
        old: The values before it, by name.
        wanted: The values of each arm.
        results: The results of the arms so far.
        direction: Which of the results is the best; None if the choice is the user's.
        turn: The number of the training at hand: all repeats of the first arm come first.
        best: Path of the checkpoint of the best arm so far; None if there is none.
        sweep: The range test that this is; None if it is another trial.
    """

    receipt: Receipt
    asked: Try
    steps: int
    begun: int
    saved: str
    old: Mapping[str, float]
    arms: tuple[Arm, ...]
    wanted: Sequence[Mapping[str, float]]
    results: list[ArmResult]
    direction: Direction | None
    draws: Draws
    pairing: Pairing = field(default_factory=Pairing)
    turn: int = 0
    best: str | None = None
    sweep: RateRange | None = None

    @property
    def number(self) -> int:
        """The index of the arm at hand."""
        return self.turn // self.asked.repeats

    @property
    def repeat(self) -> int:
        """The number of the repeat at hand; the last is 0, whose state may stay."""
        return self.asked.repeats - 1 - self.turn % self.asked.repeats

    @property
    def is_last(self) -> bool:
        """True if this is the last training."""
        return self.turn + 1 == len(self.arms) * self.asked.repeats

    @property
    def name(self) -> str:
        """The name of the arm at hand; of a range test with both limits."""
        more = f" to {self.asked.sweep[1]:.10g}" if self.asked.sweep else ""
        return f"{self.arms[self.number].name}{more}"

    @property
    def which(self) -> str:
        """The number of the arm at hand, and of the repeat, in words."""
        return f"{self.number + 1} of {len(self.arms)}{self.again}"

    @property
    def again(self) -> str:
        """The number of the repeat at hand, in words that follow others; empty without repeats."""
        repeats = self.asked.repeats
        return f", repeat {repeats - self.repeat} of {repeats}" if repeats > 1 else ""

    def others(self, best: int) -> str:
        """Lists the results except the best, in words."""
        others = "; ".join(described(each) for at, each in enumerate(self.results) if at != best)
        return f" (the others: {others})" if others else ""

    @property
    def suggested(self) -> tuple[ArmResult, ...]:
        """The suggestion of a range test, which has no result; empty if there is none."""
        if self.sweep is None or self.sweep.suggestion is None:
            return ()
        ((name, _),), (result,) = self.old.items(), self.results
        rate = f"{self.sweep.suggestion:.3g}"
        values = {name: float(rate)}
        return (ArmResult(f"{name} {rate}", values, result.tag, result.before),)
