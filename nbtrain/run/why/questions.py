"""Answers questions about a training by experiments at a step boundary.

outcome = questions.why_nan()    # takes steps again from a good state, then restores the present
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf

from nbtrain.core.errors import CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome
from nbtrain.core.states import Checkpoint, Phase
from nbtrain.core.text.tracebacks import named
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.why.answer import Answer, answer_of, unexplained
from nbtrain.run.why.experiment import Course, Experiment
from nbtrain.run.why.numerics import Watch

# Takes steps from the present state until an experiment is over; counts and records none.
Take = Callable[[Experiment], None]
Visit = Callable[[Checkpoint], None]

# A scalar that differs from the recorded one by less is the same: a sum may be in another order.
_SAME = 1e-3


class Questions:
    """The questions about one start of a run; training thread only."""

    def __init__(
        self, context: Context, policy: CheckpointPolicy, control: HyperparameterControl
    ) -> None:
        self._take: Take | None = None
        self._context = context
        self._policy = policy
        self._control = control
        self._steps = context.steps

    @contextlib.contextmanager
    def taken_by(self, take: Take) -> Iterator[None]:
        """Has a function take the steps of experiments within a block."""
        self._take = take
        try:
            yield
        finally:
            self._take = None

    def why_nan(self) -> Outcome:
        """Finds the operation from which the NaN or infinity of the training comes.

        Takes the steps since the last good state again, the bad one with each of its operations
        watched. Afterwards the run is where it was.

        Raises:
            PhaseError: The steps of this run cannot be taken again, one of them has failed, nothing
                is NaN or infinite, or the run was asked to stop meanwhile.
            CheckpointError: There is no good state, or the present one cannot be saved.
        """
        if self._take is None:
            raise PhaseError(
                "The steps of this run cannot be taken again: why_nan needs a step function, as "
                "nbtrain.train(step, checkpoint=...) calls it, or nbtrain.fit."
            )
        good, last = self._good(), self._steps.step
        before = self._control.now()
        try:
            with self._policy.aside.visiting() as visit, self._unrecorded():
                text, answer = self._answer(self._take, self._cause(visit, good, last))
        finally:
            self._set_back(before)
        return Outcome(True, self._steps.step, text, answer=answer)

    def _answer(self, take: Take, course: Course) -> Answer:
        """Takes the steps of an experiment; returns its answer."""
        try:
            experiment = Experiment(course, self._steps)
            take(experiment)
        except (PhaseError, CheckpointError):
            raise
        except Exception as error:
            step = self._steps.step + 1
            raise PhaseError(f"Step {step:,} failed when taken again: {named(error)}") from error
        assert experiment.answer is not None, "the function takes steps until there is one"
        return experiment.answer

    def _set_back(self, before: Mapping[str, float]) -> None:
        """Sets hyperparameters back that the checkpoint of the present state lacks."""
        now = self._control.now()
        if changed := {name: old for name, old in before.items() if old != now[name]}:
            self._control.hyperparameters.set_back(changed)

    def _good(self) -> Checkpoint:
        """Returns the last checkpoint before what is NaN or infinite now."""
        anomaly = self._policy.anomaly
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
        good = self._policy.below(anomaly.step)  # each was finite, so the cause came after it
        if not good:
            raise CheckpointError(
                f"{anomaly}, and there is no checkpoint from before: the steps that led there "
                "cannot be taken again."
            )
        return good[-1]

    def _cause(self, visit: Visit, good: Checkpoint, last: int) -> Course:
        """Takes the steps from a good state again; explains the first that goes bad."""
        differs: int | None = None
        visit(good)
        changes = self._control.changes.since(good.step)
        while (before := self._steps.step) < last:
            self._prepare(changes)
            values = yield None
            if _bad(values) or self._policy.non_finite():
                break
            if differs is None and not self._agrees(values):
                differs = self._steps.step
        else:
            return unexplained(good.step, last, differs)
        visit(good)
        while self._steps.step < before:
            self._prepare(changes)
            yield None
        self._prepare(changes)
        watch = Watch()
        values = yield watch
        variable = self._policy.non_finite()
        gone_bad = [*_bad(values), *([variable] if variable else [])]
        return answer_of(self._steps.step, watch.found, gone_bad)

    def _prepare(self, changes: Mapping[int, Mapping[str, float]]) -> None:
        """Sets what was set before the step that is taken next.

        Raises:
            PhaseError: The run was asked to stop.
        """
        if self._context.lifecycle.phase is Phase.STOPPING:
            raise PhaseError("The run was asked to stop before the cause was found.")
        if values := changes.get(self._steps.step):
            self._control.hyperparameters.set_back(values)

    @contextlib.contextmanager
    def _unrecorded(self) -> Iterator[None]:
        """Records nothing of what the step records itself, within a block."""
        self._steps.repeats = True
        try:
            with tf.summary.record_if(False):
                yield
        finally:
            self._steps.repeats = False

    def _agrees(self, values: Mapping[str, float]) -> bool:
        """Returns whether the last step has given the scalars that were recorded for it."""
        step = self._steps.step
        recorded = self._context.recorder.means(step - 1, step)
        return all(
            np.isclose(value, recorded[tag], rtol=_SAME, equal_nan=True)
            for tag, value in values.items()
            if tag in recorded
        )


def _bad(values: Mapping[str, float]) -> list[str]:
    """Returns the names of the scalars that are not finite."""
    return [tag for tag, value in values.items() if not math.isfinite(value)]
