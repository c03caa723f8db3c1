"""Answers questions about a training by experiments at a step boundary.

outcome = questions.why_nan(receipt)  # takes steps again, then restores the present

If a tracked loop of the program takes the steps, there is no outcome yet:

outcome = questions.go_on()           # at each boundary: in the end the outcome
questions.give_up(why)                # the loop has ended before
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import tensorflow as tf

from nbtrain.core.errors import CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Checkpoint, Phase
from nbtrain.core.text.tracebacks import named
from nbtrain.recording.loss_monitor import Anomaly, is_loss
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.why.answer import answer_of, bad_values, unexplained
from nbtrain.run.why.experiment import Course, Experiment
from nbtrain.run.why.numerics import Watch

# Takes steps from the present state until an experiment is over; counts and records none.
Take = Callable[[Experiment], None]
Visit = Callable[[Checkpoint], None]

_BUSY = "Looking for the cause"

# The steps for which the growth of the weights is told.
_LAST = 10

# A scalar that differs from the recorded one by less is the same: a sum may be in another order.
_SAME = 1e-3


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question whose steps a loop of the program takes.

    Attributes:
        receipt: The receipt of the command.
        experiment: The steps.
        present: Closed at the end; restores the present state.
        step: Closed after each step; has what is around the step.
    """

    receipt: Receipt
    experiment: Experiment
    present: contextlib.ExitStack
    step: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)


class Questions:
    """The questions about one start of a run; training thread only.

    Attributes:
        open: The question whose steps a loop of the program takes at present; None without one.
    """

    def __init__(
        self, context: Context, policy: CheckpointPolicy, control: HyperparameterControl
    ) -> None:
        self.open: OpenQuestion | None = None
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

    def why_nan(self, receipt: Receipt) -> Outcome | None:
        """Finds the operation from which the NaN or infinity of the training comes.

        Takes the steps since the last checkpoint before the bad one again, and the bad one with
        each of its operations watched. Afterwards the run is where it was.

        Returns:
            The outcome; None if a tracked loop has to take the steps, which `go_on` follows.

        Raises:
            PhaseError: The steps of this run cannot be taken again, one of them has failed, nothing
                is NaN or infinite, or the run was asked to stop meanwhile.
            CheckpointError: There is no good state, or the present one cannot be left.
        """
        good, last = self._good(self._policy.anomaly), self._steps.step
        with contextlib.ExitStack() as present:
            present.enter_context(self._unrecorded())
            present.callback(self._set_back, self._control.now())
            visit = present.enter_context(self._policy.aside.visiting())
            experiment = Experiment(self._cause(visit, good, last), self._steps)
            if self._take is None:
                self.open = OpenQuestion(receipt, experiment, present.pop_all())
                return None
            with self._failing():
                self._take(experiment)
        return self._outcome(experiment)

    def go_on(self) -> Outcome | None:
        """Handles a boundary of the loop that takes the steps; returns the outcome at the end.

        Raises:
            PhaseError: The run was asked to stop; the present is restored.
            CheckpointError: The present cannot be restored.
        """
        assert self.open is not None, "a question is open"
        experiment = self.open.experiment
        if not experiment.was_counted:
            return None
        try:
            self.open.step.close()
            experiment.took_counted(self._steps.repeated)
            self._steps.repeated = {}
            if not experiment.is_over:
                self.open.step.enter_context(experiment.step())
                return None
        except BaseException:
            self._close()
            raise
        self._close()
        return self._outcome(experiment)

    def give_up(self, why: str) -> NoReturn:
        """Restores the present, because the loop takes no further steps; raises a PhaseError."""
        self._close()
        raise PhaseError(why)

    def _close(self) -> None:
        asked, self.open = self.open, None
        assert asked is not None, "a question is open"
        with asked.present:
            asked.step.close()

    def _outcome(self, experiment: Experiment) -> Outcome:
        assert experiment.answer is not None, "the steps are taken until there is one"
        text, answer = experiment.answer
        return Outcome(True, self._steps.step, text, answer=answer)

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Raises a PhaseError for an error of a step within a block."""
        try:
            yield
        except (PhaseError, CheckpointError):
            raise
        except Exception as error:
            step = self._steps.step + 1
            raise PhaseError(f"Step {step:,} failed when taken again: {named(error)}") from error

    def _set_back(self, before: Mapping[str, float]) -> None:
        """Sets hyperparameters back that the checkpoint of the present state lacks."""
        now = self._control.now()
        if changed := {name: old for name, old in before.items() if old != now[name]}:
            self._control.hyperparameters.set_back(changed)

    def can_explain(self, anomaly: Anomaly) -> bool:
        """Returns whether `why_nan` could be asked about what has gone bad."""
        try:
            self._good(anomaly)
        except (PhaseError, CheckpointError):
            return False
        return True

    def _good(self, anomaly: Anomaly | None) -> Checkpoint:
        """Returns the last checkpoint before what is NaN or infinite now.

        Raises:
            PhaseError, CheckpointError: As in `why_nan`.
        """
        if self._take is None and not self._steps.tracked:
            raise PhaseError(
                "The steps of this run cannot be taken again: why_nan needs a step function, as "
                "nbtrain.train(step, checkpoint=...) calls it, nbtrain.fit, or a loop over "
                "nbtrain.track or run.track that is under way."
            )
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
            yield None
        self._prepare(changes)
        growth.append(self._policy.largest())
        watch = Watch()
        values = yield watch
        variable = self._policy.non_finite()
        variables = [] if variable is None else [variable]
        if not _bad(values) and not variables:
            return unexplained(good.step, last, self._steps.step)
        step = self._steps.step
        return answer_of(step, watch.found, _bad(values), variables, growth, differs)

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
        """Records and shows nothing of what the step itself records, within a block."""
        steps, muted = self._steps, self._context.monitor.notices.muted(_BUSY)
        steps.present, steps.repeated, steps.thread = steps.step, {}, 0
        try:
            with muted, tf.summary.record_if(False):
                yield
        finally:
            steps.present = steps.values = None
            steps.samples.clear()

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


def _bad(values: Mapping[str, float]) -> list[str]:
    """Returns the names of the losses that are not finite; other scalars may well be NaN."""
    return [tag for tag, value in values.items() if is_loss(tag) and not math.isfinite(value)]
