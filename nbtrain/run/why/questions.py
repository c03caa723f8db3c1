"""Answers questions about a training by experiments at a step boundary.

outcome = questions.why_nan()    # takes steps again from a good state, then restores the present
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import SupportsFloat

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
from nbtrain.run.why.answer import Answer, answer_of, unexplained
from nbtrain.run.why.numerics import Watch

Step = Callable[[], Mapping[str, SupportsFloat]]
Visit = Callable[[Checkpoint], None]

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
        before = self._control.now()
        try:
            with self._policy.aside.visiting() as visit, self._unrecorded():
                text, answer = self._explained(visit, good, last)
        finally:
            self._set_back(before)
        return Outcome(True, self._steps.step, text, answer=answer)

    def _set_back(self, before: Mapping[str, float]) -> None:
        """Sets hyperparameters back that the checkpoint of the present state lacks."""
        now = self._control.now()
        changed = {name: old for name, old in before.items() if old != now[name]}
        if changed := {name: old for name, old in changed.items() if math.isfinite(old)}:
            self._control.hyperparameters.set(changed)

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

    def _explained(self, visit: Visit, good: Checkpoint, last: int) -> Answer:
        """Takes the steps from a good state again; explains the first that goes bad."""
        differs: int | None = None
        for step, values in self._again(visit, good, last):
            if _bad(values) or self._policy.non_finite():
                return self._watched(visit, good, step)
            if differs is None and not self._agrees(step, values):
                differs = step
        return unexplained(good.step, last, differs)

    def _watched(self, visit: Visit, good: Checkpoint, bad: int) -> Answer:
        """Takes the steps up to the bad one again, and watches that one."""
        watch = Watch()
        for _, values in self._again(visit, good, bad, watch):
            gone_bad = _bad(values)
        variable = self._policy.non_finite()
        return answer_of(bad, watch.found, [*gone_bad, *([variable] if variable else [])])

    def _again(
        self, visit: Visit, good: Checkpoint, last: int, watch: Watch | None = None
    ) -> Iterator[tuple[int, dict[str, float]]]:
        """Takes the steps from a checkpoint to the last one again; yields number and scalars.

        Args:
            watch: Watches the last step; None if nothing does.
        """
        visit(good)
        edits = [
            mark
            for mark in self._context.monitor.marks
            if mark.edits and not mark.abandoned and mark.order > good.order
        ]
        if begun := {name: old for mark in edits[::-1] for name, old, _ in mark.edits}:
            self._control.hyperparameters.set(begun)  # the checkpoint may lack them
        for step in range(good.step, last):
            if self._context.lifecycle.phase is Phase.STOPPING:
                raise PhaseError("The run was asked to stop before the cause was found.")
            for mark in edits:
                if mark.place == step:
                    self._control.hyperparameters.set({name: new for name, _, new in mark.edits})
            with watch if watch and step + 1 == last else contextlib.nullcontext():
                values = self._take()
            yield step + 1, values

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


def _bad(values: Mapping[str, float]) -> list[str]:
    """Returns the names of the scalars that are not finite."""
    return [tag for tag, value in values.items() if not math.isfinite(value)]
