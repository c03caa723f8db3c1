"""Values that the program gives its hyperparameters, each recorded at its own step.

changes.tell(name, value, setter)    # whoever assigns: appends, and no more
changes.settle(step)                 # training thread: they are of this step
changes.flush()                      # the watch: reads them, records what has changed
changes.edited(edits, step)          # an edit, which one of them may undo

Recorded at their step are assignments by Python (a callback, a step, a cell), by a `tf.function`
that is traced under the run or is the step itself, and by the train op of a TensorFlow 1 graph in
a session of this process. Only looked at once a second are Python numbers of Keras, variables of a
cluster, and those that a function inside the step assigns to that was traced before, or an
operation beside the train op; from the first such change on, these two are read after each step.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nbtrain.core.hyperparameters import FACTOR, Edit, Hyperparameters, Setter
from nbtrain.run.monitor import Monitor

# Assignments between two steps, and those that wait to be read: beyond, the oldest are left out.
_MOST_TOLD, _MOST_WAITING = 1_000, 65_536

_GRAPH = Setter("a graph")
_UNKNOWN = Setter("the program")

Record = Callable[[int, float, Mapping[str, float]], object]


class Changes:
    """The changes of one start of a run.

    Args:
        hyperparameters: The run's.
        watch: Is told of an edit that is undone.
        record: Records values of a step.
        attend: Called when there is something to settle.

    Attributes:
        untold: Whether one may change in any step without a word.
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        watch: Monitor,
        record: Record,
        attend: Callable[[], object],
    ) -> None:
        self._hyperparameters = hyperparameters
        self._monitor = watch
        self._record = record
        self._attend = attend
        self._thread = 0
        self.untold = False
        self._told: deque[tuple[str, float, Any, Setter | None]] = deque(maxlen=_MOST_TOLD)
        self._waiting: deque[tuple[int, str, float, Any, Setter | None]] = deque(
            maxlen=_MOST_WAITING
        )
        self._recorded: dict[str, tuple[int, float]] = {}  # step and value, by name
        self._edits: dict[str, tuple[int, Edit]] = {}  # those in effect, with their steps
        self._setters: dict[str, tuple[int, Setter]] = {}
        self._flushing = threading.RLock()  # values are recorded one after the other

    def begin(self) -> None:
        """Look from now on; training thread."""
        self._thread = threading.get_ident()
        self._hyperparameters.watch(self.tell)

    def end(self) -> None:
        """Look no more."""
        self._hyperparameters.unwatch()

    def tell(self, name: str, value: Any, setter: Callable[[], Setter]) -> None:
        """A value was assigned; any thread. It is of the step that is settled next."""
        who = None
        if threading.get_ident() != self._thread:
            pass  # by a cell of the user's, who knows
        elif name in self._edits or name not in self._setters:
            who = setter()
        self._told.append((name, time.time(), value, who))
        self._attend()

    def settle(self, step: int, *, over: bool = False) -> None:
        """What was assigned since the last boundary is of this step; training thread.

        Args:
            step: The step that was done last.
            over: Whether the training is over, and its session may be closed.
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
            self._monitor.note("hyperparameters", f"Hyperparameters could not be read: {error}")
            return
        for name, value in untold.items():
            self._waiting.append((step, name, now, value, _GRAPH))
        self.untold = bool(untold)

    def flush(self) -> None:
        """Read what was settled, and record what has changed; any thread."""
        with self._flushing:  # first: what another thread has taken is recorded by then
            while self._waiting:
                step, name, wall, value, who = self._waiting.popleft()
                self._take(step, name, wall, self._hyperparameters.number(name, value), who)

    def compare(self, step: int) -> None:
        """Take what was read anew: what differs has changed untold, in a step up to this one."""
        with self._flushing:
            for name, value in self._hyperparameters.values.items():
                if self._take(step, name, time.time(), value, _UNKNOWN):
                    self._hyperparameters.distrust(name)

    def recorded(self, step: int, values: Mapping[str, float]) -> None:
        """These were recorded, by whomever else."""
        with self._flushing:
            self._recorded.update({name: (step, value) for name, value in values.items()})

    def edited(self, edits: Iterable[Edit], step: int) -> None:
        """These values were set by hand."""
        with self._flushing:
            self._edits.update({edit.name: (step, edit) for edit in edits})
            self._monitor.note("undone", None)

    @property
    def told(self) -> bool:
        """Whether something was assigned that is not settled yet."""
        return bool(self._told)

    def went_back(self) -> None:
        """What was set since is undone, as was asked for."""
        with self._flushing:
            self._told.clear()
            self._edits.clear()
            self._monitor.note("undone", None)

    def advice(self, edits: Iterable[Edit]) -> str:
        """What to do so that edits last, where the program sets the same; else nothing."""
        for edit in edits:
            step, who = self._setters.get(edit.name, (0, None))
            if who is not None:
                keep = self._to_keep(edit, who)
                return f". {who.name} has set it at step {step:,}, and may do so again. {keep}"
        return ""

    def _take(self, step: int, name: str, wall: float, value: float, who: Setter | None) -> bool:
        """Record a value, if it is another; returns whether it is."""
        if who is not None and who is not _UNKNOWN and not who.follows:
            self._setters.setdefault(name, (step, who))
        at, old = self._recorded.get(name, (step, value))
        if value == old or (value != value and old != old):  # NaN is NaN
            return False
        if at < step - 1:
            self._record(step, wall, {name: old})  # its curve is a step
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
        self._monitor.note("undone", f"{at} {self._to_keep(edit, who)}")

    def _to_keep(self, edit: Edit, who: Setter) -> str:
        """What makes an edit last that somebody undoes."""
        factor = f"{edit.name}{FACTOR}"
        values = self._hyperparameters.values
        if factor in values and edit.old:
            times = values[factor] * edit.new / edit.old
            way = f"set the factor on what it sets, run.set({factor}={times:.4g})"
        else:
            way = "let it multiply by a variable that is given in hyperparameters="
        out = "stop the run and start it again without"
        return f"To keep an edit, {way}; or {out} {'the callback' if who.callback else 'that'}."
