"""Checks a restore again after the first step, which creates variables that were missing."""

from __future__ import annotations

from dataclasses import replace

from nbtrain.checkpoints.files import Restored, Saver
from nbtrain.core.step_counter import StepCounter
from nbtrain.core.tracebacks import told
from nbtrain.run.monitor import Monitor


class RestoreProof:
    """Reports gaps of a restore, and variables that no checkpoint holds; training thread only."""

    def __init__(self, monitor: Monitor, steps: StepCounter) -> None:
        self._monitor = monitor
        self._steps = steps
        self._unproven: int | None = None  # step of a restore that left gaps
        self._lacking = ""  # trained variables that no checkpoint holds
        self._unlooked: int | None = None  # step before the first one, which creates variables

    def begin(self, saver: Saver, restored: Restored) -> Restored:
        """Checks a restore; returns its proof with the variables that no checkpoint holds."""
        self.look_for_lacking(saver, restored.step)
        self._unproven = restored.step if restored.gaps else None
        return replace(restored, lacking=self._lacking)

    def complete(self, saver: Saver | None) -> None:
        """Checks a restore with gaps again after the first step, which creates variables."""
        step = self._steps.step
        if self._unlooked is not None and step > self._unlooked:
            self.look_for_lacking(saver, step)
            self._unlooked = None
        if self._unproven is None or step <= self._unproven:
            return
        self._unproven = None
        try:
            proof = saver.proof() if saver is not None else None
        except Exception as error:  # noqa: BLE001 - a look at a model never ends its training
            self._monitor.notices.note(
                "restore", f"The restored variables could not be examined again: {error}"
            )
            return
        if proof is not None:
            self._monitor.notices.inform(f"Goes on from {replace(proof, lacking=self._lacking)}.")
            self._monitor.notices.note("restore", proof.gaps or None)

    def look_for_lacking(self, saver: Saver | None, step: int) -> None:
        """Reports trained variables that are not saved; `complete` repeats it after a step."""
        self._unlooked = step
        try:
            lacking = "" if saver is None else saver.lacking()
        except Exception as error:  # noqa: BLE001 - a look at a model never ends its training
            self._monitor.notices.note(
                "lacking", f"The trained variables could not be examined: {told(error)}"
            )
            return
        text = f"Not in the checkpoint: {lacking}: after a restore they stay as they are."
        self._monitor.notices.note("lacking", text if lacking else None)
        if lacking and lacking != self._lacking:
            self._monitor.log(event="lacking", step=step, text=text)
        self._lacking = lacking
