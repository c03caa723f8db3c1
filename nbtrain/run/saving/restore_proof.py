"""Checks that a restore has set each trained variable, also those that are created later.

proof.begin(saver, restored)  # a checkpoint was restored
proof.check_again(saver)      # at a boundary; returns the path of a checkpoint to restore once more
proof.reason                  # why the run must not continue; empty if it may
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from nbtrain.checkpoints.files import Lacking, Restored, Saver
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import CheckpointError
from nbtrain.core.text.text_table import some
from nbtrain.core.text.tracebacks import error_text
from nbtrain.run.beside.monitor import Monitor

# The least and the most seconds between two checks for variables that do not exist yet.
_SECS, _MOST_SECS = 1.0, 30.0

_NEVER = float("inf")


class RestoreProof:
    """Reports gaps of a restore, and variables that no checkpoint contains; training thread only.

    Attributes:
        reason: Why nothing may be trained or saved after the last restore; empty if it may.
    """

    def __init__(self, monitor: Monitor, steps: StepCounter) -> None:
        self._monitor = monitor
        self._steps = steps
        self.reason = ""
        self._path: str | None = None  # the restored checkpoint while variables may come late
        self._had_gaps = False  # whether the last restore had gaps at first
        self._is_accepted = False
        self._lacking: Lacking | None = None
        self._stage: tuple[int, str] | None = None  # the stage that begins with the next step
        self._from: int | None = None  # the last restore or start, until the next check
        self._due, self._secs = _NEVER, _SECS

    @property
    def next_step(self) -> float:
        """The step at which the next check is due: the first after a restore or a start."""
        return _NEVER if self._from is None else self._from + 1

    def begin(self, saver: Saver, restored: Restored) -> Restored:
        """Checks a restore; returns its result with the variables that no checkpoint contains."""
        self._monitor.notices.note("restore", None)  # it was about the restore before
        self.report_unsaved(saver, restored.step)
        self._path, self._secs = restored.path, _SECS
        self._due = 0.0 if restored.unused else _NEVER
        self.reason, self._had_gaps = _reason(restored), bool(restored.gaps)
        self._stage = None
        if restored.stage is not None:
            name = Path(restored.path).name
            text = f"{restored.stage}: the weights of {name}, and a new optimizer"
            self._stage = restored.step, text
        self._is_accepted = False
        return replace(restored, lacking=self._lacking)

    @property
    def waits(self) -> bool:
        """True if values wait for variables that do not exist yet, and no step was taken since."""
        return self._from == self._steps.step and self._due < _NEVER

    def hasten(self) -> None:
        """Makes the next check due."""
        self._due = 0.0

    def accept(self) -> None:
        """Lets the run continue from the present values of its variables."""
        self._is_accepted = self._is_accepted or bool(self.reason)
        self.reason = ""

    def check_again(self, saver: Saver | None) -> str | None:
        """Checks the variables that the first step has created, and checks again now and then.

        Returns:
            The path of the restored checkpoint if variables that it contains were created since,
            with other values than its own; otherwise None.
        """
        step, is_first = self._steps.step, False
        if self._from is not None and step > self._from:
            self.report_unsaved(saver, step)
            self._from, is_first = None, True
            if self._stage is not None:
                (begun, text), self._stage = self._stage, None
                self._monitor.log(event="stage", step=begun, text=text)
        if saver is None or self._path is None or not (is_first or time.monotonic() >= self._due):
            return None
        path, self._due = self._path, _NEVER
        try:
            now = saver.restored()
        except Exception as error:  # noqa: BLE001 - a check of a model ends no training
            self._monitor.notices.note(
                "restore",
                f"The restored variables could not be examined again: {error_text(error)}",
            )
            return None
        if now is None:
            return None
        if now.late:
            return path
        if is_first:
            self.reason = "" if self._is_accepted else _reason(now)
            self._report(now)
        if now.unused:
            self._due = time.monotonic() + self._secs
            self._secs = min(2 * self._secs, _MOST_SECS)
        return None

    def check_complete(self, saver: Saver) -> None:
        """Checks before a save that no created variable still waits for its restored value.

        Raises:
            CheckpointError: There is one; the next check restores the checkpoint again.
        """
        if self._path is None or self._due == _NEVER:
            return
        now = saver.restored()
        if now is not None and now.late:
            self._due = 0.0
            raise CheckpointError(
                f"{some(now.late)} were created since the restore, and a step has trained them "
                f"from other values than those in {Path(self._path).name}: this state is not saved"
            )

    def fail(self, path: str, why: str) -> None:
        """Records that variables that were created late could not be restored."""
        name = Path(path).name
        self.reason = (
            f"variables whose values are in {name} were created after it was restored, and {name} "
            f"cannot be restored again: {why}"
        )

    def _report(self, now: Restored) -> None:
        if self._had_gaps or now.gaps:
            self._monitor.notices.inform(f"Continues from {replace(now, lacking=self._lacking)}.")
        self._monitor.notices.note("restore", now.gaps or None)

    def report_unsaved(self, saver: Saver | None, step: int) -> None:
        """Reports trained variables that are not saved; `check_again` repeats it after a step."""
        self._from = step
        try:
            lacking = None if saver is None else saver.lacking()
        except Exception as error:  # noqa: BLE001 - a check of a model ends no training
            self._monitor.notices.note(
                "lacking", f"The trained variables could not be examined: {error_text(error)}"
            )
            return
        text = None
        if lacking is not None:
            text = (
                f"Not in the checkpoint: {lacking.owners}: after a restore they stay as they are. "
                f"{lacking.remedy}"
            )
        self._monitor.notices.note("lacking", text)
        if text and lacking != self._lacking:
            self._monitor.log(event="lacking", step=step, text=text)
        self._lacking = lacking


def _reason(restored: Restored) -> str:
    """Returns which trained variables lack their value in a checkpoint; empty if none does."""
    name, parts = Path(restored.path).name, []
    if restored.valueless:
        parts.append(f"{name} has no value for {some(restored.valueless)}")
    if restored.differing:
        parts.append(f"{name} has another value for {some(restored.differing)}")
    if not parts:
        return ""
    return f"{' and '.join(parts)}, so that a step would train what was not restored"
