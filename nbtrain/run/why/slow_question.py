"""Measures where the time of a step goes: the course of `run.why_slow()`.

An element is drawn and trained at each step, and a pipeline of `tf.data` prepares the next elements
meanwhile. So the times of the input and of the step do not add up: if they overlap, a whole step
takes as long as the longer of the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import PhaseError
from nbtrain.core.values.whole import whole
from nbtrain.inner.tensorflow import is_compiled, tracing_anew
from nbtrain.run.why.experiment import Course, NextStep, StepPart, Visits
from nbtrain.run.why.pipeline import prepared_by
from nbtrain.run.why.profile import Profile
from nbtrain.run.why.slow_answer import PARTS, Measured, Taken, Usual, answer_of
from nbtrain.run.why.slow_step import Calls

# The seconds after which a measurement ends, if it has enough steps.
_SECS = 10.0

# Steps before a measurement: what was drawn in advance comes first, and is there at once.
_WARM_UP = 5

# The seconds after which it begins nevertheless.
_WARM_UP_SECS = 3.0

# Draws of the input alone, each up to the end of the data.
_ATTEMPTS = 8

# Steps of a measurement, for each that is wanted: those after a restore do not count.
_TRIES = 4

# The steps whose calls are noted, and the seconds after which fewer are enough.
_NOTED, _NOTED_SECS = 20, 3.0


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
        whole("steps", count, least=PARTS)
        drawn = [] if data is None else (yield from self._draw(visit, count, data))
        taken = yield from self._measure(visit, StepPart.WHOLE, count)
        if not taken.seconds:
            raise PhaseError("The data end before anything is measured: ask at an earlier step.")
        held = (yield from self._measure(visit, StepPart.STEP, count)) if drawn else Taken()
        half: list[float] = []
        if held.seconds and may_fail:
            half = yield from self._halve(visit, min(count, _NOTED))
        calls = Calls()
        began = visit.clock()
        for _ in range(min(count, _NOTED)):
            yield NextStep(calls)
            if visit.clock() - began > _NOTED_SECS and calls.steps >= PARTS:
                break
        profile = Profile(self._folder)
        if not calls.traces_again:
            with contextlib.closing(profile):
                for _ in range(profile.count):
                    yield NextStep(profile, StepPart.STEP if drawn else StepPart.WHOLE)
            profile.read()
        return answer_of(
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
            if len(found) >= max(PARTS, count // 2):
                break
        # Otherwise the loop would end, and the program go on behind it.
        if len(found) < PARTS:
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
        is_warm = False
        for number in range(_TRIES * (warm_up + count)):
            before, visits, passes, at = self._steps.step, visit.count, visit.passes, clock()
            if (yield NextStep(part=part)) is None:
                found.has_ended = True
                break
            now = clock()
            was_warm, is_warm = is_warm, number + 1 >= warm_up or now - began > _WARM_UP_SECS
            if visit.count > visits:
                continue  # such a step may draw all elements before its own again
            if was_warm:
                of = found.first if visit.passes > passes else found.seconds
                of.append((now - at) / max(self._steps.step - before, 1))
            most = max(len(found.seconds), len(found.first))
            if most >= count or (now - began > _SECS and most >= PARTS):
                break
        found.seconds = found.seconds or found.first  # a pass has one step
        return found


def _check_not_compiled(function: Any, _arguments: object) -> AbstractContextManager[None]:
    """Raises a PhaseError for a function that XLA compiles for each size of a batch."""
    if is_compiled(function):
        raise PhaseError("XLA compiles the step for batches of one size.")
    return contextlib.nullcontext()
