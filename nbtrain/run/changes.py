"""Records values that the program assigns to its hyperparameters, each at its own step.

changes.tell(name, value, setter)    # the assigning thread: only appends
changes.settle(step)                 # training thread: they belong to this step
changes.flush()                      # monitor thread: reads them, records the changed ones
changes.edited(edits, step)          # an edit by the user, which the program may undo

These assignments are recorded at their exact step: by Python (a callback, a step, a cell), by a
`tf.function` that is traced under the run or is the step itself, and by the train op of a
TensorFlow 1 graph in a session of this process.

The other values are read once a second: Python numbers of Keras, variables of a cluster, and
variables assigned by an operation beside the train op or by an inner function that was traced
before the run. After the first such change, the last two are read after every step.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nbtrain.core.hyperparameters import FACTOR, Edit, Hyperparameters, Setter
from nbtrain.run.monitor import Monitor

# Limits for assignments between two steps, and for those waiting to be read. The oldest are
# dropped.
_MOST_TOLD, _MOST_WAITING = 1_000, 65_536

_GRAPH = Setter("a graph")
_UNKNOWN = Setter("the program")

Record = Callable[[int, float, Mapping[str, float]], object]


class Changes:
    """The changes of one start of a run.

    Attributes:
        untold: Whether a hyperparameter may change at any step without a call of `tell`.
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        monitor: Monitor,
        record: Record,
        attend: Callable[[], object],
    ) -> None:
        self._hyperparameters = hyperparameters
        self._monitor = monitor
        self._record = record
        self._attend = attend
        self._thread = 0
        self.untold = False
        self._told: deque[tuple[str, float, Any, Setter | None]] = deque(maxlen=_MOST_TOLD)
        self._waiting: deque[tuple[int, str, float, Any, Setter | None]] = deque(
            maxlen=_MOST_WAITING
        )
        self._recorded: dict[str, tuple[int, float]] = {}  # step and value, by name
        self._edits: dict[str, tuple[int, Edit]] = {}  # edits in effect, with their steps
        self._setters: dict[str, tuple[int, Setter]] = {}
        self._flushing = threading.RLock()  # protects the order in which values are recorded

    def begin(self) -> None:
        """Starts watching the assignments; training thread."""
        self._thread = threading.get_ident()
        self._hyperparameters.watch(self.tell)

    def end(self) -> None:
        """Stops watching the assignments."""
        self._hyperparameters.unwatch()

    def tell(self, name: str, value: Any, setter: Callable[[], Setter]) -> None:
        """Notes an assigned value for the step that is settled next; any thread."""
        who = None
        if threading.get_ident() != self._thread:
            pass  # a cell has assigned it, so the user knows
        elif name in self._edits or name not in self._setters:
            who = setter()
        self._told.append((name, time.time(), value, who))
        self._attend()

    def settle(self, step: int, *, over: bool = False) -> None:
        """Assigns the values noted since the last boundary to this step; training thread.

        Args:
            over: Whether the training is over, so that its session may be closed.
        """
        if self._told:
            last = {}
            while self._told:
                name, *told = self._told.popleft()
                last[name] = told
            for name, (wall, value, who) in last.items():
                self._waiting.append((step, name, wall, value, who))
        if not over:
            self._settle_untold(step)

    def _settle_untold(self, step: int) -> None:
        try:
            untold, now = self._hyperparameters.untold(), time.time()
        except Exception as error:  # noqa: BLE001 - a look never ends a training
            self._monitor.notices.note(
                "hyperparameters", f"Hyperparameters could not be read: {error}"
            )
            return
        for name, value in untold.items():
            self._waiting.append((step, name, now, value, _GRAPH))
        self.untold = bool(untold)

    def flush(self) -> None:
        """Reads the settled values and records those that have changed; any thread."""
        with self._flushing:  # waits until another thread has recorded what it took
            while self._waiting:
                step, name, wall, value, who = self._waiting.popleft()
                self._take(step, name, wall, self._hyperparameters.number(name, value), who)

    def compare(self, step: int) -> None:
        """Records values read again: a difference is a change, up to this step, without `tell`."""
        with self._flushing:
            for name, value in self._hyperparameters.values.items():
                if self._take(step, name, time.time(), value, _UNKNOWN):
                    self._hyperparameters.distrust(name)

    def recorded(self, step: int, values: Mapping[str, float]) -> None:
        """Notes values that another part has recorded."""
        with self._flushing:
            self._recorded.update({name: (step, value) for name, value in values.items()})

    def edited(self, edits: Iterable[Edit], step: int) -> None:
        """Notes values that the user has set."""
        with self._flushing:
            self._edits.update({edit.name: (step, edit) for edit in edits})
            self._monitor.notices.note("undone", None)

    @property
    def waiting(self) -> bool:
        """True if an assigned value is not settled yet."""
        return bool(self._told)

    def went_back(self) -> None:
        """Forgets edits and assignments, which a restore has undone on request."""
        with self._flushing:
            self._told.clear()
            self._edits.clear()
            self._monitor.notices.note("undone", None)

    def advice(self, edits: Iterable[Edit]) -> str:
        """Advice on keeping edits if the program sets the same values; otherwise empty."""
        for edit in edits:
            step, who = self._setters.get(edit.name, (0, None))
            if who is not None:
                keep = self._to_keep(edit, who)
                return f". {who.name} has set it at step {step:,}, and may do so again. {keep}"
        return ""

    def _take(self, step: int, name: str, wall: float, value: float, who: Setter | None) -> bool:
        """Records a value if it has changed; tells if it has."""
        if who is not None and who is not _UNKNOWN and not who.follows:
            self._setters.setdefault(name, (step, who))
        at, old = self._recorded.get(name, (step, value))
        if value == old or (value != value and old != old):  # NaN is NaN
            return False
        if at < step - 1:
            self._record(step, wall, {name: old})  # draws the curve as a step
        self._record(step, wall, {name: value})
        self._recorded[name] = step, value
        self._hyperparameters.note(name, value)
        set_at, edit = self._edits.pop(name, (0, None))
        if edit is not None and who is not None and not who.follows:
            self._setters[name] = step, who
            self._tell_undone(step, Edit(name, old, value), set_at, edit)
        return True

    def _tell_undone(self, step: int, change: Edit, set_at: int, edit: Edit) -> None:
        _, who = self._setters[edit.name]
        what = f"{who.name} has set {change}, over the edit of step {set_at:,}"
        self._monitor.log(event="undone", step=step, text=f"{what}.")
        at = f"At step {step:,} {what} ({edit})."
        self._monitor.notices.note("undone", f"{at} {self._to_keep(edit, who)}")

    def _to_keep(self, edit: Edit, who: Setter) -> str:
        """Describes how to keep an edit that `who` undoes."""
        factor = f"{edit.name}{FACTOR}"
        values = self._hyperparameters.values
        if factor in values and edit.old:
            times = values[factor] * edit.new / edit.old
            way = f"set the factor on what it sets, run.set({factor}={times:.4g})"
        else:
            way = "let it multiply by a variable that is given in hyperparameters="
        out = "stop the run and start it again without"
        return f"To keep an edit, {way}; or {out} {'the callback' if who.callback else 'that'}."
