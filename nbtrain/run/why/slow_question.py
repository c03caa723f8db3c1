"""Measures where the time of a step goes: the course of `run.why_slow()`.

An element is drawn and trained at each step, and a pipeline of `tf.data` prepares the next elements
meanwhile. So the times of the input and of the step do not add up: if they overlap, a whole step
takes as long as the longer of the two.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import PhaseError
from nbtrain.core.values.whole import whole
from nbtrain.run.why.answer import Answer
from nbtrain.run.why.experiment import Course, NextStep, StepPart, Visits
from nbtrain.run.why.pipeline import causes_in, prepared_by
from nbtrain.run.why.slow_step import Calls

# The parts of a measurement, each of which has a mean: elements may come in bursts.
_PARTS = 5

# The seconds after which a measurement ends, if it has enough steps.
_SECS = 10.0

# Steps before a measurement: what was drawn in advance comes first, and is there at once.
_WARM_UP = 5

# A step of so many times another's duration takes longer; less may be chance.
_LONGER = 1.15

# The part of the sum of input and step from which they take turns.
_SUM = 0.9

# Draws of the input alone, each up to the end of the data.
_ATTEMPTS = 8

# Steps of a measurement, for each that is wanted: those after a restore do not count.
_TRIES = 4

# The steps whose calls are noted.
_NOTED = 20

# A measurement: the seconds of steps, and whether the data have ended.
_Measuring = Generator[NextStep, dict[str, float] | None, tuple[list[float], bool]]


@dataclass(frozen=True, slots=True)
class Measured:
    """The duration of a step in milliseconds, over several parts of a measurement.

    Attributes:
        ms: The mean, which bounds the speed also if elements come in bursts.
        least, most: The least and the greatest mean of a part.
        count: The number of steps.
    """

    ms: float
    least: float
    most: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Measured:
        """Returns the duration of steps that took some seconds each, in their order."""
        parts = np.array_split(1e3 * np.asarray(seconds), min(_PARTS, len(seconds)))
        means = [float(part.mean()) for part in parts]
        return cls(1e3 * float(np.mean(seconds)), min(means), max(means), len(seconds))

    def __str__(self) -> str:
        """Returns the duration: "14.1 ms", "310 µs", "1.25 s"."""
        for unit, size in (("s", 1e3), ("ms", 1.0)):
            if self.ms >= size:
                return f"{self.ms / size:.3g} {unit}"
        return f"{self.ms * 1e3:.3g} µs"


class SlowQuestion:
    """The question where the time of a step goes; training thread only."""

    busy = "Measuring the input and the step"

    def __init__(self, steps: StepCounter) -> None:
        self._steps = steps

    def course(self, visit: Visits, count: int, data: Any) -> Course:
        """Measures the input, whole steps, and the step with one element.

        Args:
            visit: Restores the present state.
            count: The number of steps of each measurement.
            data: What the steps draw their elements from; None if they draw by themselves.

        Raises:
            ArgumentError: The number is below 5.
            PhaseError: The data end before enough is measured.
        """
        whole("steps", count, least=_PARTS)
        drawn = [] if data is None else (yield from self._draw(visit, count, data))
        taken, _ = yield from self._measure(visit, StepPart.WHOLE, count)
        if not taken:
            raise PhaseError("The data end before anything is measured: ask at an earlier step.")
        held, _ = (yield from self._measure(visit, StepPart.STEP, count)) if drawn else ([], False)
        calls = Calls()
        for _ in range(min(count, _NOTED)):
            yield NextStep(calls)
        return _answer(
            Measured.of(taken),
            Measured.of(drawn) if drawn else None,
            Measured.of(held) if held else None,
            data,
            calls,
        )

    def _draw(
        self, visit: Visits, count: int, data: Any
    ) -> Generator[NextStep, dict[str, float] | None, list[float]]:
        """Measures the input alone; draws from the present position again where a pass ends."""
        found: list[float] = []
        warm_up = _WARM_UP + prepared_by(data)
        for _ in range(_ATTEMPTS):
            seconds, is_over = yield from self._measure(
                visit, StepPart.INPUT, count - len(found), warm_up
            )
            found += seconds
            if not is_over:
                return found
            visit(None)
            warm_up = 1  # the first draw may repeat those before
            if len(found) >= max(_PARTS, count // 2):
                break
        # Otherwise the loop would end, and the program go on behind it.
        if len(found) < _PARTS:
            raise PhaseError(
                "The pass over the data ends too soon after this step for a measurement: ask at "
                "another step."
            )
        return found

    def _measure(
        self, visit: Visits, part: StepPart, count: int, warm_up: int = _WARM_UP
    ) -> _Measuring:
        """Measures steps, after some that are not measured."""
        seconds: list[float] = []
        clock = visit.clock
        began = clock()
        for number in range(_TRIES * (warm_up + count)):
            before, visits, at = self._steps.step, visit.count, clock()
            if (yield NextStep(part=part)) is None:
                return seconds, True
            now = clock()
            # The first step after a restore may draw all elements before its own again.
            if number >= warm_up and visit.count == visits:
                seconds.append((now - at) / max(self._steps.step - before, 1))
            if len(seconds) >= count or (now - began > _SECS and len(seconds) >= _PARTS):
                break
        return seconds, False


def _answer(
    whole_step: Measured,
    drawn: Measured | None,
    held: Measured | None,
    data: Any,
    calls: Calls,
) -> Answer:
    """Says in words, and as plain data, where the time goes.

    Args:
        whole_step: The time of a whole step.
        drawn: The time of an element; None if it is not known.
        held: The time of a step with one element; None if it is not known.
        data: What the elements are drawn from.
        calls: The calls of some steps.
    """
    in_step = [*calls.causes()]
    answer: dict[str, Any] = {"together": asdict(whole_step)}
    if drawn is None or held is None:
        causes = in_step
        text = (
            f"a step takes {whole_step}, and draws its data itself: give them as data= of "
            "nbtrain.train, or loop over run.track(...), to have input and step measured apart"
        )
    else:
        verdict, factor = _verdict(whole_step, drawn, held, traces_again=calls.traces_again)
        answer |= {"input": asdict(drawn), "step": asdict(held), "bound": verdict}
        at_best = ""
        if factor is not None:
            answer["factor"] = factor
            times = f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"
            at_best = f"; at best {times} times faster"
        text = f"input {drawn}, step {held}, together {whole_step}: {_VERDICTS[verdict]}{at_best}"
        is_input_longer = drawn.ms > held.ms
        is_input_asked = verdict in ("turns", "cores") or (verdict != "step" and is_input_longer)
        in_input = [*causes_in(data, drawn.ms)] if is_input_asked else []
        causes = in_input + in_step if is_input_longer else in_step + in_input
    answer["causes"] = [cause.fields for cause in causes]
    return ". ".join([text, *(cause.text for cause in causes)]), answer


_VERDICTS = {
    "input": "the input holds the training back",
    "step": "the step takes the time, and faster input would not help",
    "cores": "input and step need the same cores",
    "tracing": "the step is traced again and again",
    "elements": "other elements take longer than the one that was trained again and again",
    "turns": "input and step do not overlap",
}


def _verdict(
    whole_step: Measured, drawn: Measured, held: Measured, *, traces_again: bool
) -> tuple[str, float | None]:
    """Returns what holds the training back, and how many times faster it could be without it."""
    longer = max(drawn.ms, held.ms)
    factor = whole_step.ms / longer if whole_step.ms >= _LONGER * longer else None
    if traces_again:
        return "tracing", factor
    if whole_step.ms < _LONGER * held.ms:
        return "step", None
    if factor is None:
        return "input", whole_step.ms / held.ms
    if whole_step.ms > _LONGER * (drawn.ms + held.ms):
        return "elements", None
    is_sum = whole_step.ms >= _SUM * (drawn.ms + held.ms)
    return "turns" if is_sum else "cores", factor
