"""Measures the scalars that decide a trial, before and after it, and compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nbtrain.core.commands import Try
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError, UnknownTagError
from nbtrain.core.values.arms import change_of
from nbtrain.core.values.direction import Direction, Directions, parted
from nbtrain.core.values.side_tags import WHOLE, metrics
from nbtrain.recording.recorder import Recorder
from nbtrain.run.evaluator import Evaluator

# The mean over the last quarter of a trial's steps decides: the loss of one batch says little.
_PART = 4

# The tag that decides by default.
_USUAL = "val_loss"


class TrialMetric:
    """Measures the deciding scalars; training thread only."""

    def __init__(
        self,
        evaluator: Evaluator,
        recorder: Recorder,
        steps: StepCounter,
        directions: Directions,
    ) -> None:
        self._evaluator = evaluator
        self._recorder = recorder
        self._steps = steps
        self._directions = directions

    def direction(self, asked: Try) -> Direction | None:
        """Returns the direction of the deciding scalar; None if no scalar decides by itself.

        Raises:
            ArgumentError: The direction is not known.
        """
        wanted = asked.keep_if
        if asked.leaves_choice or callable(wanted):
            return None
        return self._directions.asked("keep_if", _USUAL if wanted is None else str(wanted))[1]

    def measure(self, asked: Try) -> dict[str, float]:
        """Returns the present deciding scalars, from an evaluation and as means of recorded values.

        Raises:
            ArgumentError: `keep_if` of the command is neither a tag nor a function, or the
                direction of its scalar is not known.
            UnknownTagError: Nothing was recorded under the tag.
        """
        if asked.sweep is not None:
            return self._loss_of_a_step(asked)
        wanted = asked.keep_if
        part = max(1, asked.steps // _PART)
        step = self._steps.step
        recorded = self._recorder.means(step - part, step)
        tag = parted(wanted)[0] if isinstance(wanted, str) else ""
        if tag and (self._evaluator or tag in recorded):
            self.direction(asked)  # refuses before an evaluation, which may take long
        values = self._evaluator.now() if self._evaluator else {}
        if wanted is None and _USUAL in values:
            wanted = _USUAL
        if asked.leaves_choice and wanted is None:
            wanted = _loss_in(metrics(recorded | values))
        if not callable(wanted) and (not isinstance(wanted, str) or not wanted):
            raise ArgumentError(
                f"keep_if={wanted!r}: give the tag of a scalar that must not get worse, such as "
                "'loss', or a function of the scalars before and after, two dicts, that returns "
                "whether to keep the values."
            )
        if callable(wanted):
            return recorded | values
        wanted, _ = parted(wanted)
        if wanted not in recorded | values:
            known = ", ".join(map(repr, recorded | values)) or "none yet"
            raise UnknownTagError(
                f"keep_if={wanted!r}: nothing was recorded under this tag over the last {part:,} "
                f"steps; there are: {known}."
            )
        return {wanted: (recorded | values)[wanted]}

    def _loss_of_a_step(self, asked: Try) -> dict[str, float]:
        """Returns the scalar that a range test follows, as the last step has recorded it."""
        step = self._steps.step
        recorded = self._recorder.means(step - 1, step)
        own = [tag for tag in metrics(recorded) if not tag.startswith(WHOLE)]
        wanted = asked.keep_if or _loss_in(own)
        if not isinstance(wanted, str) or wanted not in recorded:
            if not step:
                raise UnknownTagError(
                    "A range test follows a loss that each step records, and no step is done yet: "
                    "ask again after the first."
                )
            missing = "no scalar" if wanted is None else f"no {wanted!r}"
            known = f"; it has: {', '.join(map(repr, own))}" if own else ""
            raise UnknownTagError(
                f"A range test follows a loss that each step records, and step {step:,} has "
                f"recorded {missing}{known}."
            )
        return {wanted: recorded[wanted]}

    def decide(self, asked: Try, before: Mapping[str, float]) -> tuple[bool, str]:
        """Returns whether to keep the edits, and why; a value that became NaN is worse."""
        try:
            after = self.measure(asked)
            if callable(asked.keep_if):
                kept = bool(asked.keep_if(before, after))
            else:
                ((tag, old),), direction = before.items(), self.direction(asked)
                kept = direction is not None and not direction.is_worse(after[tag], old)
        except Exception as error:  # noqa: BLE001 - edits that cannot be compared are not kept
            return False, f"the deciding scalars could not be measured: {error}"
        changes = (change_of(tag, old, after[tag]) for tag, old in before.items() if tag in after)
        return kept, ", ".join(changes)


def _loss_in(tags: Sequence[str]) -> str | None:
    """Returns the tag of the loss, or else of the first scalar; None if there is none."""
    losses = [tag for tag in tags if "loss" in tag]
    return "loss" if "loss" in tags else next(iter(losses or tags), None)
