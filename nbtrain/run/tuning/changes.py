"""Records values that the program assigns to its hyperparameters, each at its exact step.

changes.collect(step)                 # training thread: the assigned values belong to this step
changes.flush()                      # monitor thread: reads the values, records the changed ones
changes.edited(edits, step)          # an edit by the user, which the program may change again
changes.since(step)                  # the values that were set from a step on, by their steps

Assignments are recorded at their exact step if they are made by Python (a callback, a step, a
cell), by a `tf.function` that is traced under the run or is the step itself, or by the train op of
a TensorFlow 1 graph in a session of this process.

Other values are read once a second: Python numbers of Keras, variables of a cluster, and variables
assigned by an operation beside the train op or by an inner function that was traced before the run.
After the first such change, variables of the last two kinds are read after every step.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nbtrain.core.values.hyperparameters import FACTOR, Edit, Hyperparameters
from nbtrain.run.beside.monitor import Monitor

# The most values that wait to be read. The oldest are dropped.
_MOST_WAITING = 65_536

Record = Callable[[int, float, Mapping[str, float]], object]


class Changes:
    """The changes of one start of a run.

    Attributes:
        expected: Whether any step may change a hyperparameter without notice.
    """

    def __init__(self, hyperparameters: Hyperparameters, monitor: Monitor, record: Record) -> None:
        self._hyperparameters = hyperparameters
        self._monitor = monitor
        self._record = record
        self.expected = False
        self._waiting: deque[tuple[int, str, float, Any]] = deque(maxlen=_MOST_WAITING)
        self._recorded: dict[str, tuple[int, float]] = {}  # step and value, by name
        self._edits: dict[str, tuple[int, Edit]] = {}  # edits in effect, with their steps
        # Step, name and value; a change that came without notice has no known step.
        self._history: deque[tuple[int, str, float]] = deque(maxlen=_MOST_WAITING)
        self._flushing = threading.RLock()  # protects the order in which values are recorded

    def collect(self, step: int, *, over: bool = False) -> None:
        """Assigns the values set since the last boundary to this step; training thread.

        Args:
            over: Whether the training is over, so that its session may be closed.
        """
        try:
            values, now = self._hyperparameters.changed(assigned_alone=over), time.time()
        except Exception as error:  # noqa: BLE001 - a read never ends a training
            self._monitor.notices.note(
                "hyperparameters", f"Hyperparameters could not be read: {error}"
            )
            return
        self._waiting.extend((step, name, now, value) for name, value in values.items())
        self.expected = bool(values)

    def flush(self) -> None:
        """Reads the settled values and records those that have changed; any thread."""
        with self._flushing:  # waits until another thread has recorded the values that it removed
            while self._waiting:
                step, name, wall, value = self._waiting.popleft()
                number = self._hyperparameters.number(name, value)
                if self._record_change(step, name, wall, number):
                    self._history.append((step, name, number))

    def compare(self, step: int) -> None:
        """Compares the values that were read again; records a difference as an unnoticed change."""
        with self._flushing:
            for name, value in self._hyperparameters.values.items():
                if self._record_change(step, name, time.time(), value):
                    self._hyperparameters.distrust(name)

    def recorded(self, step: int, values: Mapping[str, float]) -> None:
        """Stores values that another part has recorded."""
        with self._flushing:
            self._recorded.update({name: (step, value) for name, value in values.items()})
            self._history.extend((step, name, value) for name, value in values.items())

    def since(self, step: int) -> dict[int, dict[str, float]]:
        """Returns the values that were set at a step of this start and later, by step and name.

        Those hyperparameters also have their values of that step, set earlier.
        """
        with self._flushing:
            self.flush()
            names = {name for at, name, _ in self._history if at >= step}
            found: dict[int, dict[str, float]] = {step: {}}
            for at, name, value in self._history:
                if name in names:
                    found.setdefault(max(at, step), {})[name] = value
        return found

    def edited(self, edits: Iterable[Edit], step: int) -> None:
        """Stores edits of the user, to report if the program changes them."""
        with self._flushing:
            self._edits.update({edit.name: (step, edit) for edit in edits})
            self._monitor.notices.note("undone", None)

    def went_back(self, step: int) -> None:
        """Forgets edits and assignments, which a restore of a step has undone on request."""
        with self._flushing:
            while self._history and self._history[-1][0] > step:
                self._history.pop()
            self._hyperparameters.changed(assigned_alone=True)  # they belong to no step
            self._edits.clear()
            self._monitor.notices.note("undone", None)

    def _record_change(self, step: int, name: str, wall: float, value: float) -> bool:
        """Records a value if it has changed; returns whether it has."""
        at, old = self._recorded.get(name, (step, value))
        if value == old or (value != value and old != old):  # NaN is NaN
            return False
        if at < step - 1:
            self._record(step, wall, {name: old})  # draws the curve as a step
        self._record(step, wall, {name: value})
        self._recorded[name] = step, value
        self._hyperparameters.note(name, value)
        set_at, edit = self._edits.pop(name, (0, None))
        if edit is not None:
            self._report_undone(step, Edit(name, old, value), set_at, edit)
        return True

    def _report_undone(self, step: int, change: Edit, set_at: int, edit: Edit) -> None:
        what = f"the program has set {change}, after the edit of step {set_at:,}"
        self._monitor.log(event="undone", step=step, text=f"{what}.")
        self._monitor.notices.note(
            "undone", f"At step {step:,} {what} ({edit}). {self._kept(edit)}"
        )

    def _kept(self, edit: Edit) -> str:
        """Describes how to keep an edit that the program undoes."""
        factor = f"{edit.name}{FACTOR}"
        values = self._hyperparameters.values
        if factor in values and edit.old:
            times = values[factor] * edit.new / edit.old
            return (
                f"To keep an edit, set the factor on what it sets, run.set({factor}={times:.4g})."
            )
        return (
            "To keep an edit, have the program multiply its value by a variable that is given in "
            "hyperparameters=, and edit that."
        )
