"""The hyperparameters of a run at its step boundary: read, set, and written down.

tuner.begin(step)            # what they are when the run begins: hparams of the event file
tuner.set(values, step)      # an edit: a step in the curve of each
tuner.look(step)             # at a boundary: what the program itself has set meanwhile
tuner.flush()                # the watch: that is read, and recorded
tuner.end(step)              # the last point of each curve
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping

from nbtrain.hyperparameters import PREFIX, Edit, Hyperparameters
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.watch import Watch
from nbtrain.steering.changes import Changes
from nbtrain.steering.rates import Rates

# How often they are read without being asked for, which finds what nobody has told: a variable on
# an accelerator takes a while.
_LOOK_SECS = 1.0

_NEVER = sys.maxsize


class Tuner:
    """Reads and sets the hyperparameters of one life of a run; training thread only.

    Args:
        hyperparameters: The run's.
        recorder: Takes their values.
        watch: Is told what could not be read.
        edited: Called when some were set.
        attend: Called when the program has set one: the next boundary is to look.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        recorder: Recorder,
        watch: Watch,
        edited: Callable[[], object],
        attend: Callable[[], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hyperparameters = hyperparameters
        self._recorder = recorder
        self._watch = watch
        self._edited = edited
        self._clock = clock
        self._due = 0.0
        self._changes = Changes(hyperparameters, watch, self._append, attend)
        self._rates = Rates(hyperparameters, watch, self._append)

    def now(self) -> dict[str, float]:
        """Read anew, by name."""
        self._read()
        return self._hyperparameters.values

    def begin(self, step: int) -> None:
        """Write down with which values the run begins."""
        self._hyperparameters.begin(restored=False)
        self._read()
        if values := self._hyperparameters.values:
            self._recorder.describe(step, values)
            self._record(step, values)
        self._tell(step, values)
        self._changes.begin()
        self._rates.mark(step, anew=True)

    def look(self, step: int, *, anew: bool = False) -> None:
        """See what the program has set; read them again where that is due.

        Args:
            step: The step that was done last.
            anew: Read them at once, they were restored.
        """
        self._changes.settle(step)
        if not anew and (not self._hyperparameters or self._clock() < self._due):
            return
        self.flush()
        if anew:
            self._hyperparameters.begin(restored=True)
            self._changes.went_back()
        self._read()
        if anew:
            self._record(step, values := self._hyperparameters.values)
            self._tell(step, values)
        else:
            self._changes.compare(step)
        self._rates.mark(step, anew=anew)

    def settle(self, step: int) -> None:
        """What the program has set since the last boundary is of this step."""
        self._changes.settle(step)

    def flush(self) -> None:
        """Record what the program has set, and what its schedules give; any thread."""
        self._changes.flush()
        self._rates.flush()

    def next_step(self, step: int) -> int:
        """The step after which it is to look, at the latest, though nobody tells it to."""
        return step + 1 if self._changes.untold else _NEVER

    def check(self, values: Mapping[str, object]) -> None:
        """Raise an ArgumentError for what cannot be set."""
        self._hyperparameters.check(values)

    def check_changes(self, values: Mapping[str, object]) -> None:
        """Raise an ArgumentError for what cannot be set, or is set already."""
        self._hyperparameters.check_changes(values)

    def set(self, values: Mapping[str, object], step: int) -> tuple[Edit, ...]:
        """Set some, all or none.

        Raises:
            Exception: Why they cannot be set; they are as before.
        """
        self._changes.flush()
        self._rates.mark(step)
        before = self._hyperparameters.values
        edits = self._hyperparameters.set(values)
        self._rates.mark(step)
        self._edited()
        now = self._hyperparameters.values
        old = {name: value for name, value in before.items() if now[name] != value}
        old |= {edit.name: edit.old for edit in edits}  # a factor changes what it is on, too
        self._record(step, old)
        self._record(step, {name: now[name] for name in old})
        self._changes.edited(edits, step)
        return edits

    def advice(self, edits: Iterable[Edit]) -> str:
        """What to do so that edits last; empty where nothing is known to undo them."""
        return self._changes.advice(edits)

    def astray(self) -> str:
        """Which are not as the steps have them, and why; empty where none is known."""
        return self._hyperparameters.astray()

    def end(self, step: int) -> None:
        """Lead the curves on to the last step."""
        self._changes.settle(step, over=True)
        self._changes.end()
        self._rates.mark(step)
        self.flush()
        self._record(step, self._hyperparameters.values)

    def _read(self) -> None:
        self._due = self._clock() + _LOOK_SECS
        try:
            self._hyperparameters.read()
        except Exception as error:  # noqa: BLE001 - a look never ends a training
            self._watch.note("hyperparameters", f"Hyperparameters could not be read: {error}")
        else:
            self._watch.note("hyperparameters", None)

    def _tell(self, step: int, values: Mapping[str, float]) -> None:
        """Write down where the run goes on, and with which values: a replay needs to know."""
        self._watch.log(event="segment", step=step, values=values)

    def _record(self, step: int, values: Mapping[str, float]) -> None:
        if values:
            self._changes.recorded(step, values)
            self._append(step, time.time(), values)

    def _append(self, step: int, wall_time: float, values: Mapping[str, float]) -> None:
        scalars = {f"{PREFIX}{name}": value for name, value in values.items()}
        self._recorder.queue.append(step, wall_time, scalars)
