"""The current trial: its arms, their turns, their results, and their descriptions.

A trial of one value has one arm, and differs in one rule, `apart`: the training with one value is
part of the run, so its state stays unless it is worse. Several values are trained beside the run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from nbtrain.core.commands import Try
from nbtrain.core.errors import PhaseError
from nbtrain.core.receipts import Receipt
from nbtrain.core.values.arms import Arm, ArmResult, best_of
from nbtrain.core.values.direction import Direction
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.core.values.rate_range import RateRange
from nbtrain.run.saving.draws import Draws
from nbtrain.run.trials.pairing import Pairing
from nbtrain.rundir.timeline import name_of


@dataclass(slots=True)
class Trial:
    """The current trial.

    Attributes:
        saved: Path of the checkpoint of its start; None if nothing saves the run.
        old: The values before it, by name.
        before: The deciding scalars before it, by tag; one scalar if several values are tried.
        wanted: The values of each arm.
        results: The results of the arms so far; empty if one value is tried.
        direction: Which of the results is the best; None if no scalar decides.
        draws: The random draws at its start; None if they cannot be set back.
        sweep: The range of rates if this is a range test; otherwise None.
        turn: The number of the current training: all repeats of the first arm come first.
        edits: The edits with which the current arm began.
        best: Path of the checkpoint of the best arm so far; None if there is none.
        lost: Why the current arm has lost before its end; empty if it has not.
        over: Why no further arm follows; empty if one may.
        verdict: The index of the arm that is kept, and why; None if the run rewinds.
    """

    receipt: Receipt
    asked: Try
    steps: int
    begun: int
    saved: str | None
    old: Mapping[str, float]
    before: Mapping[str, float]
    arms: tuple[Arm, ...]
    wanted: Sequence[Mapping[str, float]]
    results: list[ArmResult]
    direction: Direction | None
    draws: Draws | None
    sweep: RateRange | None
    pairing: Pairing = field(default_factory=Pairing)
    turn: int = 0
    edits: tuple[Edit, ...] = ()
    best: str | None = None
    lost: str = ""
    over: str = ""
    verdict: tuple[int | None, str] = None, ""

    @property
    def apart(self) -> bool:
        """True if several values are tried, or one several times.

        Nothing else can then be saved, set or tried, and the run rewinds unless one is kept.
        """
        return self.asked.is_comparison

    @property
    def number(self) -> int:
        """The index of the current arm."""
        return self.turn // self.asked.repeats

    @property
    def repeat(self) -> int:
        """The number of the current repeat; the last is 0, whose state may stay."""
        return self.asked.repeats - 1 - self.turn % self.asked.repeats

    @property
    def tried(self) -> dict[str, float]:
        """The values of the current arm, and the old ones of what it does not set."""
        return self.values_of(self.number)

    def values_of(self, number: int) -> dict[str, float]:
        """Returns the values of an arm, and the old ones of what it does not set."""
        return {**self.old, **self.wanted[number]}

    @property
    def is_last(self) -> bool:
        """True if this is the last training."""
        return self.turn + 1 == len(self.arms) * self.asked.repeats

    @property
    def is_best_so_far(self) -> bool:
        """True if the current arm has ended with a better result than all before it."""
        if self.repeat or self.direction is None:
            return False
        return best_of(self.results[: self.number + 1], self.direction) == self.number

    @property
    def name(self) -> str:
        """The name of the current arm; for a range test with both limits."""
        more = f" to {self.asked.sweep[1]:.10g}" if self.asked.sweep else ""
        return f"{self.arms[self.number].name}{more}"

    @property
    def which(self) -> str:
        """The numbers of the current arm and repeat, in words."""
        return f"{self.number + 1} of {len(self.arms)}{self.again}"

    @property
    def again(self) -> str:
        """The number of the current repeat, in words to append; empty without repeats."""
        repeats = self.asked.repeats
        return f", repeat {repeats - self.repeat} of {repeats}" if repeats > 1 else ""

    @property
    def what(self) -> str:
        """The current arm in words; for one value, as its variable has it."""
        if self.apart:
            return f"{self.which}: {self.name}"
        return ", ".join(f"{edit.name} {edit.new:.10g}" for edit in self.edits)

    @property
    def said(self) -> str:
        """The current arm and its steps in words."""
        return f"Trying {self.what} from step {self.begun:,} to {self.begun + self.steps:,}"

    def check_set(self, names: Collection[str]) -> None:
        """Raises a PhaseError if one of these hyperparameters cannot be set during the trial."""
        if self.apart:
            self._refuse(f"set {', '.join(names)}")
        if on_trial := [name for name in self.old if name in names]:
            raise PhaseError(
                f"Cannot set {on_trial[0]} while it is on trial: wait for the end of the trial"
                f"{self._way_out}."
            )

    def refuse(self, what: str, trial: str = "a trial") -> NoReturn:
        """Raises a PhaseError: the trial comes first.

        Args:
            what: What was asked for, as a verb.
            trial: The words for this trial.
        """
        if self.apart:
            self._refuse(what)
        raise PhaseError(
            f"Cannot {what} while {trial} is under way, of {self.what} since step "
            f"{self.begun:,}: wait for its end{self._way_out}."
        )

    def _refuse(self, what: str) -> NoReturn:
        raise PhaseError(
            f"Cannot {what} while {len(self.arms)} settings are tried from step {self.begun:,}: "
            f"wait for the end of the trial{self._way_out}."
        )

    @property
    def _way_out(self) -> str:
        """Describes how to end the trial early; empty if that is not possible."""
        return f", or leave it by run.restore({name_of(self.saved)!r})" if self.saved else ""

    def choose(self) -> tuple[int | None, str]:
        """Returns the index of the best of several arms, and the results in words.

        The index is None if the choice is the user's, if no arm could be measured, or if the best
        is worse than before the trial.
        """
        if self.direction is None:
            said = "the choice is yours: " + "; ".join(map(str, self.results))
            return None, f"{said}{self.pairing.text}"
        best = best_of(self.results, self.direction)
        if best is None:
            said = f"of {len(self.results)} settings none was better: none could be measured"
            return None, f"{said}{self.pairing.text}"
        result = self.results[best]
        others = [str(each) for at, each in enumerate(self.results) if at != best]
        told = f" (the others: {'; '.join(others)})" if others else ""
        said = f"{result}{told}{self.pairing.text}"
        if self.direction.is_worse(result.mean, result.before):
            return None, f"of {len(self.results)} settings none was better: {said}"
        return best, said

    @property
    def suggested(self) -> tuple[ArmResult, ...]:
        """The suggested rate of a range test as an arm without a result; empty if there is none."""
        if self.sweep is None or self.sweep.suggestion is None:
            return ()
        ((name, _),), (result,) = self.old.items(), self.results
        rate = f"{self.sweep.suggestion:.3g}"
        values = {name: float(rate)}
        return (ArmResult(f"{name} {rate}", values, result.tag, result.before),)
