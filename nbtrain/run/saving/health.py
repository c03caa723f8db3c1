"""Checks the training for NaN, infinity and jumps of the loss."""

from __future__ import annotations

from nbtrain.checkpoints.files import Saver
from nbtrain.core.current_step import StepCounter
from nbtrain.recording.loss_monitor import Anomaly
from nbtrain.recording.recorder import Recorder
from nbtrain.run.beside.monitor import Monitor


class Health:
    """Detects that the training of one attempt has gone bad; training thread only."""

    def __init__(self, recorder: Recorder, monitor: Monitor, steps: StepCounter) -> None:
        self._recorder = recorder
        self._loss_monitor = recorder.loss_monitor
        self._monitor = monitor
        self._steps = steps
        self._excepted: frozenset[str] = frozenset()  # variables that held NaN or Inf at first

    @property
    def is_checked(self) -> bool:
        """True if the run reacts to a training that has gone bad."""
        return self._loss_monitor is not None

    def begin(self, saver: Saver) -> None:
        """Excludes the variables that are not finite now from later checks."""
        self._excepted = frozenset(_non_finite(saver))

    def non_finite(self, saver: Saver | None) -> str | None:
        """The name of a variable that holds NaN or Inf but did not at `begin`; None if none."""
        return next((name for name in _non_finite(saver) if name not in self._excepted), None)

    def anomaly(self, saver: Saver | None) -> Anomaly | None:
        """Checks all values up to the current step; returns what has gone bad, or None."""
        if self._loss_monitor is None:
            return None
        self._recorder.drain()
        self._loss_monitor.observe_variable(lambda: self.non_finite(saver), self._steps.step)
        return self._loss_monitor.anomaly

    def rewind(self) -> None:
        """Forgets bad values after the current step, to which the run went back."""
        if self._loss_monitor is not None:
            self._recorder.drain()  # first, so that waiting values count too
            self._loss_monitor.rewind(self._steps.step)
            self._monitor.notices.note("nan", None)


def _non_finite(saver: Saver | None) -> tuple[str, ...]:
    try:
        return saver.non_finite() if saver is not None else ()
    except Exception:  # noqa: BLE001 - a save will raise and report the same error
        return ()
