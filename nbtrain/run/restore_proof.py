"""A second look at what a restore has left, once a step has made what was missing then."""

from __future__ import annotations

from dataclasses import replace

from nbtrain.checkpoints.files import Restored, Saver
from nbtrain.core.step_counter import StepCounter
from nbtrain.core.tracebacks import told
from nbtrain.run.monitor import Monitor


class RestoreProof:
    """Tells what a restore has not matched, and what no checkpoint holds; training thread only.

    Args:
        monitor: Is told.
        steps: The step at hand.
    """

    def __init__(self, monitor: Monitor, steps: StepCounter) -> None:
        self._monitor = monitor
        self._steps = steps
        self._unproven: int | None = None  # step of a restore that left gaps
        self._lacking = ""  # what is trained and no checkpoint holds
        self._unlooked: int | None = None  # step before the first, which makes what is trained

    def begin(self, saver: Saver, restored: Restored) -> Restored:
        """Look at what was just restored; returns it with what no checkpoint holds."""
        self.look_for_lacking(saver, restored.step)
        self._unproven = restored.step if restored.gaps else None
        return replace(restored, lacking=self._lacking)

    def complete(self, saver: Saver | None) -> None:
        """Look again after a restore that left gaps: the first step creates what was missing."""
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
            self._monitor.note(
                "restore", f"What was restored could not be looked at again: {error}"
            )
            return
        if proof is not None:
            self._monitor.inform(f"Goes on from {replace(proof, lacking=self._lacking)}.")
            self._monitor.note("restore", proof.gaps or None)

    def look_for_lacking(self, saver: Saver | None, step: int) -> None:
        """Tell what is trained and not saved; again after a step, which may make it."""
        self._unlooked = step
        try:
            lacking = "" if saver is None else saver.lacking()
        except Exception as error:  # noqa: BLE001 - a look at a model never ends its training
            self._monitor.note("lacking", f"What is trained could not be looked at: {told(error)}")
            return
        text = f"Not in the checkpoint: {lacking}: after a restore they stay as they are."
        self._monitor.note("lacking", text if lacking else None)
        if lacking and lacking != self._lacking:
            self._monitor.log(event="lacking", step=step, text=text)
        self._lacking = lacking
