"""Finds the operation from which a NaN comes: the course of `run.why_nan()`."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from nbtrain.core.errors import CheckpointError, PhaseError
from nbtrain.core.states import Checkpoint
from nbtrain.recording.loss_monitor import Anomaly, is_loss
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.why.answer import answer_of, bad_values, unexplained
from nbtrain.run.why.experiment import Course, NextStep, Visits
from nbtrain.run.why.numerics import Watch

# The steps for which the growth of the weights is told.
_LAST = 10

# A scalar that differs from the recorded one by less is the same: a sum may be in another order.
_SAME = 1e-3


class NanQuestion:
    """The question for the cause of a NaN or an infinity; training thread only."""

    busy = "Looking for the cause"

    def __init__(
        self, context: Context, policy: CheckpointPolicy, control: HyperparameterControl
    ) -> None:
        self._context = context
        self._policy = policy
        self._control = control
        self._steps = context.steps

    def good(self, anomaly: Anomaly | None) -> Checkpoint:
        """Returns the last checkpoint before what is NaN or infinite now.

        Raises:
            PhaseError: Nothing is NaN or infinite, or the run does not look for it.
            CheckpointError: There is no good state, or the present one cannot be left.
        """
        if not self._policy.checks_values:
            raise PhaseError(
                "This run does not look for NaN, so it is not known which states are good: start "
                "it without on_nan=None."
            )
        if anomaly is not None and anomaly.jumped:
            raise PhaseError(f"{anomaly}: it is finite, so no operation has given NaN or infinity.")
        if anomaly is None:
            raise PhaseError(
                "No loss and no saved variable is NaN or infinite at present: there is no cause to "
                "find. Ask while the run is paused at a NaN."
            )
        self._policy.aside.check_leaving()
        good = self._policy.below(anomaly.step)  # each was finite, so the cause came after it
        if not good:
            raise CheckpointError(
                f"{anomaly}, and there is no checkpoint from before: the steps that led there "
                "cannot be taken again."
            )
        return good[-1]

    def course(self, visit: Visits, good: Checkpoint) -> Course:
        """Takes the steps from a good state again; explains the first that goes bad."""
        differs: int | None = None
        last = self._steps.step
        visit(good)
        changes = self._control.changes.since(good.step)
        while (before := self._steps.step) < last:
            self._prepare(changes)
            values = _scalars((yield NextStep()))
            if _bad(values) or self._policy.non_finite():
                break
            if differs is None and not self._agrees(values):
                differs = self._steps.step
        else:
            return unexplained(good.step, last, differs)
        recorded = self._recorded()
        if any(math.isfinite(recorded.get(tag, math.nan)) for tag in _bad(values)):
            return unexplained(good.step, last, differs or self._steps.step)
        rates = {
            name: each for name, each in self._control.now().items() if not math.isfinite(each)
        }
        if rates:
            return bad_values(self._steps.step, rates)
        visit(good)
        growth: deque[tuple[str, float]] = deque(maxlen=_LAST)
        while self._steps.step < before:
            self._prepare(changes)
            if before - self._steps.step < _LAST:
                growth.append(self._policy.largest())
            yield NextStep()
        self._prepare(changes)
        growth.append(self._policy.largest())
        watch = Watch()
        values = _scalars((yield NextStep(watch)))
        variable = self._policy.non_finite()
        variables = [] if variable is None else [variable]
        if not _bad(values) and not variables:
            return unexplained(good.step, last, self._steps.step)
        step = self._steps.step
        return answer_of(step, watch.found, _bad(values), variables, growth, differs)

    def _prepare(self, changes: Mapping[int, Mapping[str, float]]) -> None:
        """Sets what was set before the step that is taken next."""
        if values := changes.get(self._steps.step):
            self._control.hyperparameters.set_back(values)

    def _recorded(self) -> Mapping[str, float]:
        """Returns the scalars that were recorded for the last step."""
        return self._context.recorder.means(self._steps.step - 1, self._steps.step)

    def _agrees(self, values: Mapping[str, float]) -> bool:
        """Returns whether the last step has given the scalars that were recorded for it."""
        recorded = self._recorded()
        return all(
            np.isclose(value, recorded[tag], rtol=_SAME, equal_nan=True)
            for tag, value in values.items()
            if tag in recorded
        )


def _scalars(values: Mapping[str, float] | None) -> Mapping[str, float]:
    assert values is not None, "no element is drawn alone"
    return values


def _bad(values: Mapping[str, float]) -> list[str]:
    """Returns the names of the losses that are not finite; other scalars may well be NaN."""
    return [tag for tag, value in values.items() if is_loss(tag) and not math.isfinite(value)]
