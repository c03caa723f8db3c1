"""Says in words, and as plain data, where the time of a step goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from nbtrain.run.why.answer import Answer
from nbtrain.run.why.pipeline import causes_in
from nbtrain.run.why.profile import Profile
from nbtrain.run.why.slow_step import Calls
from nbtrain.run.why.slowness import Cause

# The parts of a measurement, each of which has a mean: elements may come in bursts.
PARTS = 5

# A step of so many times another's duration takes longer; less may be chance.
_LONGER = 1.15

# The parts of the sum of input and step from which they take turns, and from which something else
# takes time: on few cores, they hinder each other.
_SUM, _APART = 0.9, 1.3

# The input is what matters if it takes so many times as long as the step.
_TWICE = 2.0

# The part of the time of a step that half of its rows take, from which half of the time or more
# does not depend on the rows.
_HALF = 0.75

# A part of the time from which it is worth telling.
_SHARE = 0.15

# An input that takes less of the time of the step does not matter.
_LITTLE = 0.1

# What is around the steps matters most if the run takes so many times as long for a step.
_BESIDE = 2.0

# The causes that are told; all are in the answer.
_TOLD = 3


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
        parts = np.array_split(1e3 * np.asarray(seconds), min(PARTS, len(seconds)))
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


def answer_of(
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
        if usual is not None and usual.ms > _BESIDE * whole_step.ms:
            verdict, factor = "beside", None
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
        causes = [*_short_passes(taken, whole_step, profile.step_ms), *causes]
    answer["causes"] = [cause.fields for cause in causes]
    said = [text]
    if usual is not None:
        answer["run"] = asdict(usual)
        said += _beside(usual, whole_step)
    said += [cause.text for cause in causes[:_TOLD]]
    if found := profile.fields:
        answer["profile"] = found
    said += profile.told() if answer.get("bound") != "input" else ()
    if profile.error is not None:
        said.append(f"The step was not profiled: {profile.error}")
    return ". ".join(said), answer


def _small_batch(held: Measured, half: Measured) -> Iterator[Cause]:
    """Yields that most of a step's time does not depend on the rows of its batch."""
    if _HALF * held.ms < half.ms < _LONGER * held.ms:  # otherwise something else has interfered
        yield Cause(
            f"With half of the rows, the step takes {half}, so most of its time does not depend on "
            "the rows",
            "larger batches train more rows per second",
        )


def _short_passes(taken: Taken, step: Measured, profiled_ms: float) -> Iterator[Cause]:
    """Yields that the begin of each pass over the data takes a part of the time.

    Args:
        taken: Whole steps.
        step: Their time.
        profiled_ms: The time of a step under the profiler, without what comes before it.
    """
    first, count = Measured.of(taken.first), len(taken.first)
    more = count * (first.ms - step.ms)
    if taken.is_each_first:
        if profiled_ms and step.ms > _TWICE * profiled_ms:
            yield Cause(
                f"A pass over the data has one step, and takes {step} where the step itself takes "
                f"{shown_ms(profiled_ms)}",
                _LONGER_PASSES,
            )
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
        "around it (callbacks, code of the loop, the begin of a pass, slower steps)": rest,
    }
    told = [f"{shown_ms(ms)} {what}" for what, ms in parts.items() if ms >= 0.01 * usual.ms]
    yield f"In the run, a step has taken {shown_ms(usual.ms)}, with {' and '.join(told)}"


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
    "beside": "most of the time goes to what is around the steps",
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
    if whole_step.least > _APART * (drawn.ms + held.ms):
        return "elements", None
    if drawn.ms < _LITTLE * held.ms:
        return "step", None
    if factor is None or drawn.ms > _TWICE * held.ms:
        return "input", whole_step.ms / held.ms
    is_sum = whole_step.ms >= _SUM * (drawn.ms + held.ms)
    return "turns" if is_sum else "cores", factor
