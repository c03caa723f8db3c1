"""The hyperparameters of a run at its step boundary: read, set, and written down.

tuner.begin(step)            # what they are when the run begins: hparams of the event file
tuner.set(values, step)      # an edit: a step in the curve of each
tuner.look(step)             # after a restore, and now and then: the program may set them too
tuner.end(step)              # the last point of each curve
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from nbtrain.hyperparameters import PREFIX, Edit, Hyperparameters
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.watch import Watch

# How often they are read without being asked for: a variable on an accelerator takes a while.
_LOOK_SECS = 1.0


class Tuner:
    """Reads and sets the hyperparameters of one life of a run; training thread only.

    Args:
        hyperparameters: The run's.
        recorder: Takes their values.
        watch: Is told what could not be read.
        edited: Called when some were set.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        recorder: Recorder,
        watch: Watch,
        edited: Callable[[], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hyperparameters = hyperparameters
        self._recorder = recorder
        self._watch = watch
        self._edited = edited
        self._clock = clock
        self._due = 0.0
        self._recorded: dict[str, float] = {}

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

    def look(self, step: int, *, anew: bool = False) -> None:
        """Read them again, where that is due; `anew`: at once, they were restored."""
        if not anew and (not self._hyperparameters or self._clock() < self._due):
            return
        if anew:
            self._hyperparameters.begin(restored=True)
        self._read()
        values = self._hyperparameters.values
        if anew or values != self._recorded:
            self._record(step, values)
        if anew:
            self._tell(step, values)

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
        edits = self._hyperparameters.set(values)
        self._edited()
        self._record(step, {edit.name: edit.old for edit in edits})
        self._record(step, {edit.name: edit.new for edit in edits})
        return edits

    def astray(self) -> str:
        """Which are not as the steps have them, and why; empty where none is known."""
        return self._hyperparameters.astray()

    def end(self, step: int) -> None:
        """Lead the curves on to the last step."""
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
            self._recorded.update(values)
            scalars = {f"{PREFIX}{name}": value for name, value in values.items()}
            self._recorder.queue.append(step, time.time(), scalars)
