"""Tells of what is not saved, where the process ends before a run has."""

from __future__ import annotations

from nbtrain.run.context import Context
from nbtrain.run.saving import CheckpointPolicy


class Unsaved:
    """What one attempt of a run says of its last step; any thread.

    Args:
        context: The collaborators of the attempt.
        policy: Knows its checkpoints.
    """

    def __init__(self, context: Context, policy: CheckpointPolicy) -> None:
        self._context = context
        self._policy = policy
        self._said = False

    def say(self, when: str, *, yet: bool) -> str:
        """Write down that the process ends, and what is not saved.

        Args:
            when: How the end stands, as the beginning of a sentence.
            yet: Whether it may still be saved.
        """
        name, step = self._context.folder.name, self._context.steps.step
        if self._is_saved:
            return f"{when}, and the run {name!r} has saved, but has not ended."
        self._said = True
        held = self._policy.checkpoints
        last = f"Its last checkpoint is {held[-1]}" if held else "It has no checkpoint"
        not_saved = f"has not saved step {step:,}{' yet' if yet else ''}"
        text = f"{when}, and the run {name!r} {not_saved}. {last}."
        self._write("unsaved", step, text)
        return text

    def say_saved(self) -> str | None:
        """Write down that what `say` named is saved, and return that.

        Returns None where it is not, or nothing of the kind was said.
        """
        if not (self._said and self._is_saved):
            return None
        self._said = False
        step = self._context.steps.step
        text = f"The run {self._context.folder.name!r} has saved step {step:,}."
        self._write("saved", step, text)
        return text

    @property
    def _is_saved(self) -> bool:
        step = self._context.steps.step
        return any(held.step == step for held in self._policy.checkpoints[-1:])

    def _write(self, event: str, step: int, text: str) -> None:
        self._context.monitor.log(event=event, step=step, text=text)
        self._context.monitor.write_journal()
