"""Keeps the best state of a run beside its checkpoints, and ends a run that no longer improves.

best.begin()         # first boundary: reads the best value of an earlier start
best.recorded(tags)  # the judged scalar was recorded: the next boundary judges it
best.update()        # at a boundary, and after each evaluation between two steps: a better value
                     #   has its state saved
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from nbtrain.core.errors import CheckpointError
from nbtrain.core.text.tracebacks import error_text
from nbtrain.core.values.side_tags import WHOLE
from nbtrain.recording.best_monitor import WINDOW, BestMonitor, Judged
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.rundir.entries import entries
from nbtrain.rundir.names import BEST
from nbtrain.rundir.timeline import side_folder


class Best:
    """The best state of one start of a run; training thread only."""

    def __init__(self, context: Context, policy: CheckpointPolicy) -> None:
        self._context = context
        self._policy = policy
        self._monitor: BestMonitor | None = context.recorder.best_monitor
        self._checks_at_once = self._reported = False

    @property
    def is_over(self) -> bool:
        """True if the run ends because its scalar has not improved for too long."""
        monitor = self._monitor
        return monitor is not None and monitor.is_over and not self._policy.aside.compares

    def begin(self) -> None:
        """Reads the best value of an earlier start, if its state is still there."""
        if self._monitor is None:
            return
        self._monitor.rewind()
        kept = [held.step for held in self._policy.checkpoints if side_folder(held.path) == BEST]
        with contextlib.suppress(OSError):  # there is no journal yet
            for entry in entries(self._context.folder.path):
                if entry["event"] == BEST and entry["step"] in kept:
                    self._monitor.recall(entry)

    def recorded(self, tags: Iterable[str]) -> None:
        """Makes the next boundary judge the scalar if it is among these tags."""
        if self._monitor is not None and self._monitor.is_whole(tags):
            self._checks_at_once = True
            self._context.commands.call()

    def update(self) -> None:
        """Saves the state of a better value, and reports why the run ends."""
        monitor = self._monitor
        if monitor is None:
            return
        self._context.recorder.drain()
        if self._checks_at_once:
            self._checks_at_once = False
            self._context.steps.tags = ()  # the next record of the scalar calls `recorded` again
        if self._policy.aside.compares:
            monitor.rewind()  # the states of a trial are not those of the run
            return
        if monitor.better is not None:
            self._save(monitor, monitor.better)
        self._report_missed(at_end=False)
        if monitor.is_over and not self._reported:
            self._reported = True
            self._end(monitor)

    def end(self) -> None:
        """Reports at the end of a run that the scalar was never recorded."""
        self._report_missed(at_end=True)

    def _save(self, monitor: BestMonitor, better: Judged) -> None:
        note, step = self._context.monitor.notices.note, self._context.steps.step
        text = f"best {monitor.tag} {better}, the {monitor.direction.end}"
        entry = {
            "tag": monitor.tag,
            "direction": str(monitor.direction),
            "value": better.value,
            "judged": better.step,
            "text": text,
        }
        try:
            if not self._policy.can_save:
                raise CheckpointError("this run saves nothing, or leaves it to the chief")
            self._policy.aside.save_best_state(**entry)
        except Exception as error:  # noqa: BLE001 - the training continues
            note("best", f"No best checkpoint at step {step:,} ({text}): {error_text(error)}")
        else:
            note("best", None)
        monitor.keep()  # also if it failed: the next better value tries again

    def _end(self, monitor: BestMonitor) -> None:
        kind = "values" if monitor.tag.startswith(WHOLE) else f"means of {WINDOW} values"
        last = ", ".join(f"{value:.4g}" for value in monitor.worse)
        if len(monitor.worse) < (monitor.patience or 0):
            last = f"the last: {last}"
        best = "" if monitor.best is None else f"; its {monitor.direction.end} is {monitor.best}"
        text = (
            f"{monitor.tag} was no {monitor.direction.way} in {monitor.patience} {kind} "
            f"({last}){best}. The run ends."
        )
        self._context.monitor.notices.inform(text)
        self._context.monitor.log(event="patience", step=self._context.steps.step, text=text)

    def _report_missed(self, *, at_end: bool) -> None:
        if self._monitor is not None and (others := self._monitor.missed(at_end=at_end)):
            self._context.monitor.notices.note(
                "best",
                f"keep_best={self._monitor.tag!r}: no scalar was recorded under this name, so no "
                f"best checkpoint is kept. There are: {others}.",
            )
