"""Whether what is trained is sound: no NaN, no infinity, no jump of the loss."""

from __future__ import annotations

from nbtrain.checkpoints.files import Saver
from nbtrain.core.step_counter import StepCounter
from nbtrain.recording.loss_monitor import Anomaly
from nbtrain.recording.recorder import Recorder
from nbtrain.run.monitor import Monitor


class Health:
    """Tells whether the training of one attempt has gone bad; training thread only.

    Args:
        recorder: Has the loss monitor, where there is one.
        monitor: Is told that all is well again.
        steps: The step at hand.
    """

    def __init__(self, recorder: Recorder, monitor: Monitor, steps: StepCounter) -> None:
        self._loss_monitor = recorder.loss_monitor
        self._monitor = monitor
        self._steps = steps
        self._excepted: frozenset[str] = frozenset()  # variables that begin with NaN or Inf

    @property
    def is_looked_after(self) -> bool:
        """Whether something is done about a training that has gone bad."""
        return self._loss_monitor is not None

    def begin(self, saver: Saver) -> None:
        """Except the variables that are not finite now."""
        self._excepted = frozenset(_non_finite(saver))

    def non_finite(self, saver: Saver | None) -> str | None:
        """The name of a variable that holds NaN or Inf, and did not when it was taken up."""
        return next((name for name in _non_finite(saver) if name not in self._excepted), None)

    def anomaly(self, saver: Saver | None) -> Anomaly | None:
        """What has gone bad, once all that is known of the step at hand has been looked at."""
        if self._loss_monitor is None:
            return None
        self._monitor.folder.drain(self._steps.step)
        self._loss_monitor.look_at(lambda: self.non_finite(saver), self._steps.step)
        return self._loss_monitor.anomaly

    def turn_back(self) -> None:
        """The run went back to the step at hand: what went bad since then is abandoned."""
        if self._loss_monitor is not None:
            self._monitor.folder.drain(self._steps.step)  # before: what went bad then is abandoned
            self._loss_monitor.turn_back(self._steps.step)
            self._monitor.note("nan", None)


def _non_finite(saver: Saver | None) -> tuple[str, ...]:
    try:
        return saver.non_finite() if saver is not None else ()
    except Exception:  # noqa: BLE001 - why it cannot be read, it cannot be saved for
        return ()
