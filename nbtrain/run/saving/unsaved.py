"""Reports steps that are not saved when the process ends before a run."""

from __future__ import annotations

from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy


class Unsaved:
    """Reports whether the last step of an attempt is saved; any thread."""

    def __init__(self, context: Context, policy: CheckpointPolicy) -> None:
        self._context = context
        self._policy = policy
        self._said = False

    def say(self, when: str, *, yet: bool) -> str:
        """Logs that the process ends and which step is not saved; returns the message."""
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
        """Logs that the step reported by `say` is saved; returns the message.

        Returns None if the step is not saved, or if `say` has not reported it.
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
