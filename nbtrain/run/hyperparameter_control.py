"""The hyperparameters of a run at its step boundary: read, set, and written down.

control.begin(step)            # what they are when the run begins: hparams of the event file
control.set(values, step)      # an edit: a step in the curve of each
control.look(step)             # at a boundary: what the program itself has set meanwhile
control.flush()                # the watch: that is read, and recorded
control.go_back(step)          # a checkpoint was restored
control.end(step)              # the last point of each curve
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from nbtrain.core.hyperparameters import PREFIX, Edit, Hyperparameters
from nbtrain.recording.recorder import Recorder
from nbtrain.run.changes import Changes
from nbtrain.run.monitor import Monitor
from nbtrain.run.rates import Rates

# How often they are read without being asked for, which finds what nobody has told: a variable on
# an accelerator takes a while.
_LOOK_SECS = 1.0

_NEVER = sys.maxsize


class HyperparameterControl:
    """Reads and sets the hyperparameters of one start of a run; training thread only.

    Args:
        hyperparameters: The run's.
        recorder: Takes their values.
        watch: Is told what could not be read.
        edited: Called when some were set.
        attend: Called when the program has set one: the next boundary is to look.
        clock: Gives the time in seconds.

    Attributes:
        hyperparameters: As given.
        changes: Those that the program makes.
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        recorder: Recorder,
        watch: Monitor,
        edited: Callable[[], object],
        attend: Callable[[], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.hyperparameters = hyperparameters
        self._recorder = recorder
        self._monitor = watch
        self._edited = edited
        self._clock = clock
        self._due = 0.0
        self.changes = Changes(hyperparameters, watch, self._append, attend)
        self._rates = Rates(hyperparameters, watch, self._append)

    def now(self) -> dict[str, float]:
        """Read anew, by name."""
        self._read()
        return self.hyperparameters.values

    def begin(self, step: int) -> None:
        """Write down with which values the run begins."""
        self.hyperparameters.begin(restored=False)
        self._read()
        if values := self.hyperparameters.values:
            self._recorder.describe(step, values)
            self._record(step, values)
        self._tell(step, values)
        self.changes.begin()
        self._rates.mark(step, anew=True)

    def look(self, step: int) -> None:
        """See what the program has set; read them again where that is due.

        Args:
            step: The step that was done last.
        """
        due = bool(self.hyperparameters) and self._clock() >= self._due
        if due:
            self._read()
        self.changes.settle(step)  # after it: what is assigned meanwhile is told
        if due:
            self.flush()
            self.changes.compare(step)
            self._rates.mark(step)

    def go_back(self, step: int) -> None:
        """Read them, as a checkpoint has set them; what was assigned before is undone."""
        self.hyperparameters.begin(restored=True)
        self.changes.went_back()
        self._read()
        self._record(step, values := self.hyperparameters.values)
        self._tell(step, values)
        self._rates.mark(step, anew=True)

    def flush(self) -> None:
        """Record what the program has set, and what its schedules give; any thread."""
        self.changes.flush()
        self._rates.flush()

    def next_step(self, step: int) -> int:
        """The step after which it is to look, at the latest, though nobody tells it to."""
        return step + 1 if self.changes.untold else _NEVER

    def set(self, values: Mapping[str, object], step: int) -> tuple[Edit, ...]:
        """Set some, all or none.

        Raises:
            Exception: Why they cannot be set; they are as before.
        """
        self.changes.settle(step)  # what a cell has assigned in a pause comes before it
        self.changes.flush()
        self._rates.mark(step)
        before = self.hyperparameters.values
        edits = self.hyperparameters.set(values)
        self._rates.mark(step)
        self._edited()
        now = self.hyperparameters.values
        old = {name: value for name, value in before.items() if now[name] != value}
        old |= {edit.name: edit.old for edit in edits}  # a factor changes what it is on, too
        self._record(step, old)
        self._record(step, {name: now[name] for name in old})
        self.changes.edited(edits, step)
        return edits

    def end(self, step: int) -> None:
        """Lead the curves on to the last step."""
        self.changes.settle(step, over=True)
        self.changes.end()
        self._rates.mark(step)
        self.flush()
        self._record(step, self.hyperparameters.values)

    def _read(self) -> None:
        self._due = self._clock() + _LOOK_SECS
        try:
            self.hyperparameters.read()
        except Exception as error:  # noqa: BLE001 - a look never ends a training
            self._monitor.note("hyperparameters", f"Hyperparameters could not be read: {error}")
        else:
            self._monitor.note("hyperparameters", None)

    def _tell(self, step: int, values: Mapping[str, float]) -> None:
        """Write down where the run goes on, and with which values: a replay needs to know."""
        self._monitor.log(event="segment", step=step, values=values)

    def _record(self, step: int, values: Mapping[str, float]) -> None:
        if values:
            self.changes.recorded(step, values)
            self._append(step, time.time(), values)

    def _append(self, step: int, wall_time: float, values: Mapping[str, float]) -> None:
        scalars = {f"{PREFIX}{name}": value for name, value in values.items()}
        self._recorder.queue.append(step, wall_time, scalars)
