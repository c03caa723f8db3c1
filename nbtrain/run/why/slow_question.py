"""Measures where the time of a step goes: the course of `run.why_slow()`.

An element is drawn and trained at each step, and a pipeline of `tf.data` prepares the next elements
meanwhile. So the times of the input and of the step do not add up: if they overlap, a whole step
takes as long as the longer of the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import PhaseError
from nbtrain.core.values.whole import whole
from nbtrain.inner.tensorflow import is_compiled, tracing_anew
from nbtrain.run.why.answer import Answer
from nbtrain.run.why.experiment import Course, NextStep, StepPart, Visits
from nbtrain.run.why.pipeline import causes_in, prepared_by
from nbtrain.run.why.profile import Profile
from nbtrain.run.why.slow_step import Calls
from nbtrain.run.why.slowness import Cause

# The parts of a measurement, each of which has a mean: elements may come in bursts.
_PARTS = 5

# The seconds after which a measurement ends, if it has enough steps.
_SECS = 10.0

# Steps before a measurement: what was drawn in advance comes first, and is there at once.
_WARM_UP = 5

# A step of so many times another's duration takes longer; less may be chance.
_LONGER = 1.15

# The parts of the sum of input and step from which they take turns, and from which something else
# takes time: on few cores, they hinder each other.
_SUM, _APART = 0.9, 1.3

# The input is what matters if it takes so many times as long as the step.
_TWICE = 2.0

# Draws of the input alone, each up to the end of the data.
_ATTEMPTS = 8

# Steps of a measurement, for each that is wanted: those after a restore do not count.
_TRIES = 4

# The steps whose calls are noted.
_NOTED = 20

# The part of the time of a step that half of its rows take, from which half of the time or more
# does not depend on the rows.
_HALF = 0.75

# A part of the time from which it is worth telling.
_SHARE = 0.15


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
        """Returns the duration: "14.1 ms"."""
        return shown_ms(self.ms)


def shown_ms(ms: float) -> str:
    """Returns a duration in words: "14.1 ms", "310 µs", "1.25 s"."""
    for unit, size in (("s", 1e3), ("ms", 1.0)):
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms * 1e3:.3g} µs"


@dataclass(frozen=True, slots=True)
class Usual:
    """The time that a run takes for a step, as it trains, in milliseconds.

    Attributes:
        ms: The time on average, over the last seconds.
        evaluate_ms: The part of it for evaluations.
        save_ms: The part of it for checkpoints.
    """

    ms: float
    evaluate_ms: float
    save_ms: float


@dataclass(slots=True)
class Taken:
    """Steps that were measured.

    Attributes:
        seconds: The seconds of each.
        first: The seconds of each step with which a pass over the data begins; they are no part of
            `seconds`, because most passes are longer than a measurement.
        has_ended: Whether the data have ended.
    """

    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    has_ended: bool = False

    @property
    def is_each_first(self) -> bool:
        """True if each pass over the data has one step; all are in `seconds` then."""
        return self.seconds is self.first


_Measuring = Generator[NextStep, dict[str, float] | None, Taken]


class SlowQuestion:
    """The question where the time of a step goes; training thread only.

    Args:
        steps: The current step of the run.
        folder: The folder for the trace of TensorFlow's profiler.
    """

    busy = "Measuring the input and the step"

    def __init__(self, steps: StepCounter, folder: Path) -> None:
        self._steps, self._folder = steps, folder

    def course(
        self,
        visit: Visits,
        count: int,
        data: Any,
        usual: Usual | None = None,
        *,
        may_fail: bool = False,
    ) -> Course:
        """Measures the input, whole steps, the step with one element, and with half of its rows.

        Args:
            visit: Restores the present state.
            count: The number of steps of each measurement.
            data: What the steps draw their elements from; None if they draw by themselves.
            usual: The speed of the run before the question; None if unknown.
            may_fail: Whether a step that fails does not end the run, so that a batch of another
                size can be tried.

        Raises:
            ArgumentError: The number is below 5.
            PhaseError: The data end before enough is measured.
        """
        whole("steps", count, least=_PARTS)
        drawn = [] if data is None else (yield from self._draw(visit, count, data))
        taken = yield from self._measure(visit, StepPart.WHOLE, count)
        if not taken.seconds:
            raise PhaseError("The data end before anything is measured: ask at an earlier step.")
        held = (yield from self._measure(visit, StepPart.STEP, count)) if drawn else Taken()
        half: list[float] = []
        if held.seconds and may_fail:
            half = yield from self._halve(visit, min(count, _NOTED))
        calls = Calls()
        for _ in range(min(count, _NOTED)):
            yield NextStep(calls)
        profile = Profile(self._folder)
        if not calls.traces_again:
            with contextlib.closing(profile):
                for _ in range(profile.count):
                    yield NextStep(profile, StepPart.STEP if drawn else StepPart.WHOLE)
            profile.read()
        return _answer(
            taken,
            Measured.of(drawn) if drawn else None,
            Measured.of(held.seconds) if held.seconds else None,
            Measured.of(half) if half else None,
            data,
            calls,
            profile,
            usual,
        )

    def _draw(
        self, visit: Visits, count: int, data: Any
    ) -> Generator[NextStep, dict[str, float] | None, list[float]]:
        """Measures the input alone; draws from the present position again where a pass ends."""
        found: list[float] = []
        warm_up = _WARM_UP + prepared_by(data)
        for _ in range(_ATTEMPTS):
            taken = yield from self._measure(visit, StepPart.INPUT, count - len(found), warm_up)
            found += taken.seconds
            if not taken.has_ended:
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

    def _halve(
        self, visit: Visits, count: int
    ) -> Generator[NextStep, dict[str, float] | None, list[float]]:
        """Measures the step with half of the rows; nothing if it is made for one size of batch."""
        try:
            with tracing_anew(_check_not_compiled, compiled=False):  # no trace of this size stays
                taken = yield from self._measure(visit, StepPart.HALF, count)
        except Exception:  # noqa: BLE001 - the user's own, for a batch that the run does not have
            return []
        return taken.seconds

    def _measure(
        self, visit: Visits, part: StepPart, count: int, warm_up: int = _WARM_UP
    ) -> _Measuring:
        """Measures steps, after some that are not measured."""
        found = Taken()
        clock = visit.clock
        began = clock()
        for number in range(_TRIES * (warm_up + count)):
            before, visits, passes, at = self._steps.step, visit.count, visit.passes, clock()
            if (yield NextStep(part=part)) is None:
                found.has_ended = True
                break
            now = clock()
            if visit.count > visits:
                continue  # such a step may draw all elements before its own again
            if number >= warm_up:
                of = found.first if visit.passes > passes else found.seconds
                of.append((now - at) / max(self._steps.step - before, 1))
            most = max(len(found.seconds), len(found.first))
            if most >= count or (now - began > _SECS and most >= _PARTS):
                break
        found.seconds = found.seconds or found.first  # a pass has one step
        return found


def _check_not_compiled(function: Any, _arguments: object) -> AbstractContextManager[None]:
    """Raises a PhaseError for a function that XLA compiles for each size of a batch."""
    if is_compiled(function):
        raise PhaseError("XLA compiles the step for batches of one size.")
    return contextlib.nullcontext()


def _answer(
    taken: Taken,
    drawn: Measured | None,
    held: Measured | None,
    half: Measured | None,
    data: Any,
    calls: Calls,
    profile: Profile,
    usual: Usual | None,
) -> Answer:
    """Says in words, and as plain data, where the time goes.

    Args:
        taken: Whole steps.
        drawn: The time of an element; None if it is not known.
        held: The time of a step with one element; None if it is not known.
        half: The time of a step with half of its rows; None if it is not known.
        data: What the elements are drawn from.
        calls: The calls of some steps.
        profile: The time of their operations.
        usual: The speed of the run before the question; None if unknown.
    """
    whole_step = Measured.of(taken.seconds)
    in_step = [*calls.causes(), *profile.causes()]
    answer: dict[str, Any] = {"together": asdict(whole_step)}
    if drawn is None or held is None:
        causes = in_step
        text = (
            f"a step takes {whole_step}, and draws its data itself: give them as data= of "
            "nbtrain.train, or loop over run.track(...), to have input and step measured apart"
        )
    else:
        verdict, factor = _verdict(whole_step, drawn, held, traces_again=calls.traces_again)
        if taken.is_each_first:
            verdict, factor = "passes", None
        answer |= {"input": asdict(drawn), "step": asdict(held), "bound": verdict}
        at_best = ""
        if factor is not None:
            answer["factor"] = factor
            times = f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"
            at_best = f"; at best {times} times faster"
        text = f"input {drawn}, step {held}, together {whole_step}: {_VERDICTS[verdict]}{at_best}"
        if half is not None:
            answer["half"] = asdict(half)
            in_step += _small_batch(held, half)
        is_input_longer = drawn.ms > held.ms
        is_input_asked = verdict in ("turns", "cores") or (verdict != "step" and is_input_longer)
        in_input = [*causes_in(data, drawn.ms)] if is_input_asked else []
        if verdict == "input":
            in_step = []  # a faster step would wait for the input
        causes = in_input + in_step if is_input_longer else in_step + in_input
    if taken.first:
        answer["first"] = asdict(Measured.of(taken.first))
        causes += _short_passes(taken, whole_step)
    answer["causes"] = [cause.fields for cause in causes]
    said = [text]
    if usual is not None:
        answer["run"] = asdict(usual)
        said += _beside(usual, whole_step)
    said += [cause.text for cause in causes]
    answer["profile"] = profile.fields
    said += profile.told() if answer.get("bound") != "input" else ()
    if profile.error is not None:
        said.append(f"The step was not profiled: {profile.error}")
    return ". ".join(said), answer


def _small_batch(held: Measured, half: Measured) -> Iterator[Cause]:
    """Yields that most of a step's time does not depend on the rows of its batch."""
    if half.ms > _HALF * held.ms:
        yield Cause(
            f"With half of the rows, the step takes {half}, so most of its time does not depend on "
            "the rows",
            "larger batches train more rows per second",
        )


def _short_passes(taken: Taken, step: Measured) -> Iterator[Cause]:
    """Yields that the begin of each pass over the data takes a part of the time."""
    first, count = Measured.of(taken.first), len(taken.first)
    more = count * (first.ms - step.ms)
    if taken.is_each_first:
        yield Cause("A pass over the data has one step", _LONGER_PASSES)
    elif more > _SHARE * (count * first.ms + step.count * step.ms):
        yield Cause(
            f"The first step of a pass over the data takes {first}, and {count:,} of "
            f"{count + step.count:,} steps were the first of one",
            _LONGER_PASSES,
        )


def _beside(usual: Usual, step: Measured) -> Iterator[str]:
    """Yields how long the run takes for a step, if it is much longer than the step itself."""
    rest = usual.ms - usual.evaluate_ms - usual.save_ms - step.ms
    if usual.ms - step.ms < _SHARE * usual.ms:
        return
    parts = {
        "of evaluation": usual.evaluate_ms,
        "of saving": usual.save_ms,
        "between the steps (callbacks, the code of the loop, the begin of a pass)": rest,
    }
    told = [f"{shown_ms(ms)} {what}" for what, ms in parts.items() if ms >= 0.01 * usual.ms]
    yield f"With all around it, a step takes {shown_ms(usual.ms)}, with {' and '.join(told)}"


_LONGER_PASSES = (
    "make the passes longer, as by a tf.data.Dataset with .repeat(10) and a tenth of the epochs"
)

_VERDICTS = {
    "input": "the input holds the training back",
    "step": "the step takes the time, and faster input would not help",
    "cores": "input and step need the same cores",
    "tracing": "the step is traced again and again",
    "elements": (
        "together they take longer than one after the other, so other elements take longer than "
        "the one that was trained again and again, or both need the same cores"
    ),
    "turns": "input and step do not overlap",
    "passes": "each step begins a pass over the data, which is in all of these times",
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
    if whole_step.ms > _APART * (drawn.ms + held.ms):
        return "elements", None
    if factor is None or drawn.ms > _TWICE * held.ms:
        return "input", whole_step.ms / held.ms
    is_sum = whole_step.ms >= _SUM * (drawn.ms + held.ms)
    return "turns" if is_sum else "cores", factor
