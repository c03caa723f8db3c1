"""Answers questions about a training by experiments at a step boundary.

outcome = questions.why_nan()    # takes steps again from a good state, then restores the present
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsFloat

import numpy as np
import tensorflow as tf

from nbtrain.core.errors import CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome
from nbtrain.core.states import Checkpoint, Phase
from nbtrain.core.text.tracebacks import named
from nbtrain.recording.tags import by_tag
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.why.answer import answer_of, unexplained
from nbtrain.run.why.numerics import Watch

Step = Callable[[], Mapping[str, SupportsFloat]]

# A scalar that differs from the recorded one by less is the same: a sum may be in another order.
_SAME = 1e-3


class Questions:
    """The questions about one start of a run; training thread only.

    Attributes:
        step: Takes one step and returns its scalars, without counting it; None if the program's own
            loop takes the steps.
    """

    def __init__(
        self, context: Context, policy: CheckpointPolicy, control: HyperparameterControl
    ) -> None:
        self.step: Step | None = None
        self._context = context
        self._policy = policy
        self._control = control
        self._steps = context.steps
        self._differs: int | None = None  # the first step that was another when taken again

    def why_nan(self) -> Outcome:
        """Finds the operation from which the NaN or infinity of the training comes.

        Takes the steps since the last good state again, the bad one with each of its operations
        watched. Afterwards the run is where it was.

        Raises:
            PhaseError: The steps of this run cannot be taken again, one of them has failed, nothing
                is NaN or infinite, or the run was asked to stop meanwhile.
            CheckpointError: There is no good state, or the present one cannot be saved.
        """
        if self.step is None:
            raise PhaseError(
                "The steps of this run cannot be taken again: why_nan needs a step function, as "
                "nbtrain.train(step, checkpoint=...) calls it."
            )
        good, last = self._good(), self._steps.step
        try:
            with self._policy.aside.visiting() as visit, self._unrecorded():
                bad = self._first_bad(visit, good, last)
                if bad is None:
                    text, answer = unexplained(good.step, last, self._differs)
                else:
                    text, answer = self._watched(visit, good, bad)
        finally:
            self._control.now()  # reads the present values again
        return Outcome(True, self._steps.step, text, answer=answer)

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
        good = self._policy.below(anomaly.good)
        if not good:
            raise CheckpointError(
                f"{anomaly}, and there is no checkpoint from before: the steps that led there "
                "cannot be taken again."
            )
        return good[-1]

    def _first_bad(
        self, visit: Callable[[Checkpoint], None], good: Checkpoint, last: int
    ) -> int | None:
        """Returns the first step that gives NaN or infinity if they are taken again; or None."""
        self._differs = None
        for step, values in self._again(visit, good, last):
            if not all(map(math.isfinite, values.values())) or self._policy.non_finite():
                return step
            if self._differs is None and not self._agrees(step, values):
                self._differs = step
        return None

    def _watched(
        self, visit: Callable[[Checkpoint], None], good: Checkpoint, bad: int
    ) -> tuple[str, Mapping[str, Any]]:
        """Takes the steps up to the bad one again, and watches that one."""
        for _ in self._again(visit, good, bad - 1):
            pass
        with Watch() as watch:
            values = self._take()
        gone_bad = [tag for tag, value in values.items() if not math.isfinite(value)]
        return answer_of(bad, watch.found, [*gone_bad, *filter(None, [self._policy.non_finite()])])

    def _again(
        self, visit: Callable[[Checkpoint], None], good: Checkpoint, last: int
    ) -> Iterator[tuple[int, dict[str, float]]]:
        """Takes the steps from a checkpoint to the last one again; yields number and scalars."""
        visit(good)
        edits = [
            mark
            for mark in self._context.monitor.marks
            if mark.edits and not mark.abandoned and mark.order > good.order
        ]
        for step in range(good.step, last):
            if self._context.lifecycle.phase is Phase.STOPPING:
                raise PhaseError("The run was asked to stop before the cause was found.")
            for mark in edits:
                if mark.place == step:
                    self._control.hyperparameters.set({name: new for name, _, new in mark.edits})
            yield step + 1, self._take()

    def _take(self) -> dict[str, float]:
        """Takes one step; returns its scalars."""
        assert self.step is not None, "why_nan has checked this"
        try:
            values = by_tag(self.step())
        except Exception as error:
            step = self._steps.step + 1
            raise PhaseError(f"Step {step:,} failed when taken again: {named(error)}") from error
        self._steps.move_to(self._steps.step + 1)
        return {tag: float(value) for tag, value in values.items()}

    @contextlib.contextmanager
    def _unrecorded(self) -> Iterator[None]:
        """Records nothing of what the step records itself, within a block."""
        self._steps.repeats = True
        try:
            with tf.summary.record_if(False):
                yield
        finally:
            self._steps.repeats = False

    def _agrees(self, step: int, values: Mapping[str, float]) -> bool:
        """Returns whether a step has given the scalars that were recorded for it."""
        recorded = self._context.recorder.means(step - 1, step)
        return all(
            np.isclose(value, recorded[tag], rtol=_SAME, equal_nan=True)
            for tag, value in values.items()
            if tag in recorded
        )
