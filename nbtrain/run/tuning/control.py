"""Reads, sets and records the hyperparameters of a run at its step boundary.

control.begin()      # writes the config and the initial values as hparams of the event file
control.set(values)  # makes an edit, a step in each curve
control.update()     # at a boundary: stores the values that the program has set
control.flush()      # monitor thread: reads and records these values
control.rewind()     # a checkpoint was restored
control.end()        # records the last point of each curve
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import PREFIX, Edit, Hyperparameters
from nbtrain.recording.recorder import Recorder
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.tuning.changes import Changes
from nbtrain.run.tuning.given import Given
from nbtrain.run.tuning.rates import Rates

# Seconds between two reads, which find changes that were not noticed. More reads would be slow for
# a variable on an accelerator.
_POLL_SECS = 1.0

_NEVER = sys.maxsize


class HyperparameterControl:
    """Reads and sets the hyperparameters of one start of a run; training thread only.

    Args:
        edited: Called after each edit.
        attend: Called when the program assigns to a hyperparameter.
        folder: The run's folder, with the values that its earlier start was given.
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        recorder: Recorder,
        monitor: Monitor,
        steps: StepCounter,
        edited: Callable[[], object],
        attend: Callable[[], object],
        folder: Path,
    ) -> None:
        self.hyperparameters = hyperparameters
        self._recorder = recorder
        self._monitor = monitor
        self._steps = steps
        self._edited = edited
        self._attend = attend
        self._due = 0.0
        self.changes = Changes(hyperparameters, monitor, self._append)
        self._rates = Rates(hyperparameters, monitor, self._append)
        self.given = Given(hyperparameters, folder, monitor.notices)

    def now(self) -> dict[str, float]:
        """Reads all values again; returns them by name."""
        self._read()
        return self.hyperparameters.values

    def known(self) -> dict[str, float]:
        """Returns the values last read by name; reads them if that has failed so far."""
        return self.hyperparameters.values or self.now()

    def refuse_to_halve(self, name: str) -> NoReturn:
        """Raises an ArgumentError: there is no such hyperparameter, or it cannot be read."""
        self.hyperparameters.check({name: 0.0})
        raise ArgumentError(
            f"{name} cannot be read, so it cannot be halved. Nothing was restored: leave halve= "
            "out to restore the checkpoint alone."
        )

    def begin(self) -> None:
        """Records the values with which the run begins."""
        self.hyperparameters.begin(restored=False)
        self._read()
        values = self.hyperparameters.values
        if described := {**self._monitor.marks.config, **values}:
            self._recorder.describe(self._steps.step, described)
        self._record(values)
        self.given.report(values)
        self._log_values(values, given=self.given.written)
        self.hyperparameters.watch(self._attend)
        self._rates.mark(self._steps.step, restart=True)

    def update(self) -> None:
        """Stores the values that the program has set; reads all values again if that is due."""
        step = self._steps.step
        due = bool(self.hyperparameters) and time.monotonic() >= self._due
        if due:
            self._read()
        self.changes.collect(step)  # after reading, to include what was assigned meanwhile
        if due:
            self.flush()
            self.changes.compare(step)
            self._rates.mark(step)

    def rewind(self) -> None:
        """Reads the values that a checkpoint has restored; forgets earlier assignments."""
        self.hyperparameters.begin(restored=True)
        self.changes.went_back(self._steps.step)
        self._read()
        self._record(values := self.hyperparameters.values)
        self._log_values(values)
        self._rates.mark(self._steps.step, restart=True)

    def flush(self) -> None:
        """Records the values that the program has set and the rates of schedules; any thread."""
        self.changes.flush()
        self._rates.flush()

    def next_step(self) -> int:
        """Returns the step of the next update if no change is noticed before."""
        return self._steps.step + 1 if self.changes.expected else _NEVER

    def set(self, values: Mapping[str, object]) -> tuple[Edit, ...]:
        """Sets some hyperparameters, all or none of them."""
        step = self._steps.step
        self.changes.collect(step)  # first record what a cell has assigned during a pause
        self.changes.flush()
        self._rates.mark(step)
        before = self.hyperparameters.values
        edits = self.hyperparameters.set(values)
        self._rates.mark(step)
        self._edited()
        now = self.hyperparameters.values
        old = {name: value for name, value in before.items() if now[name] != value}
        old |= {edit.name: edit.old for edit in edits}  # a factor also changes its rate
        self._record(old)
        self._record({name: now[name] for name in old})
        self.changes.edited(edits, step)
        return edits

    def end(self) -> None:
        """Extends the curves to the last step."""
        step = self._steps.step
        self.changes.collect(step, over=True)
        self.hyperparameters.unwatch()
        self._rates.mark(step)
        self.flush()
        self._record(self.hyperparameters.values)

    def _read(self) -> None:
        self._due = time.monotonic() + _POLL_SECS
        try:
            self.hyperparameters.read()
        except Exception as error:  # noqa: BLE001 - a read never ends a training
            self._monitor.notices.note(
                "hyperparameters", f"Hyperparameters could not be read: {error}"
            )
        else:
            self._monitor.notices.note("hyperparameters", None)

    def _log_values(self, values: Mapping[str, float], **given: Mapping[str, float]) -> None:
        """Logs the step and values with which the run continues; a replay needs them."""
        self._monitor.log(event="segment", step=self._steps.step, values=values, **given)

    def _record(self, values: Mapping[str, float]) -> None:
        if values:
            self.changes.recorded(self._steps.step, values)
            self._append(self._steps.step, time.time(), values)

    def _append(self, step: int, wall_time: float, values: Mapping[str, float]) -> None:
        scalars = {f"{PREFIX}{name}": value for name, value in values.items()}
        self._recorder.queue.append(step, wall_time, scalars)
