"""Decides what can be done about the marks of a run: restore a checkpoint, or undo an edit.

found = Actions(marks, status)
found.of(-1)            # the actions of the newest mark, the best one first
found.latest()          # those of the newest marks, first those of an open NaN
found.refusal(action)   # why it cannot be done now

After a NaN, a restore may halve the learning rate. A checkpoint is good if it led to the NaN and is
not later than the last good state that the mark names. An edit is to blame if it led to the NaN,
was not undone, and did more than lower a learning rate.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nbtrain.core.commands import Restore, Set, WhyNan
from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.rundir.journal import Mark, Marks
from nbtrain.rundir.timeline import name_of, side_folder
from nbtrain.steer.learning_rate import RATES, rate_of

# The events of a saved checkpoint.
_SAVED = frozenset({"save", "checkpoint"})

# The number of newest marks whose actions a run lists.
_LATEST = 6


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done about a mark.

    Attributes:
        text: A description.
        command: The command that does it.
        reason: Why it cannot be done now; None if it can.
        checkpoint: The checkpoint that it restores, as it is now; None if it restores none.
    """

    text: str
    command: Restore | Set | WhyNan
    reason: str | None = None
    checkpoint: Checkpoint | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """Returns the text, and the reason in brackets."""
        return self.text if self.reason is None else f"{self.text} ({self.reason})"

    def __repr__(self) -> str:
        """Returns the call that does the same: `run.restore('checkpoints/ckpt-300')`."""
        match self.command:
            case Set(values):
                return f"run.set({dict(values)})"
            case Restore(checkpoint, halve):
                more = "" if halve is None else f", halve={halve!r}"
                return f"run.restore({checkpoint!r}{more})"
            case WhyNan():
                return "run.why_nan()"


class Actions:
    """The actions of all marks of a run in its present state.

    Args:
        marks: The marks of the run.
        status: Its status.
        count: The number of marks when the status was taken or before, counted over all marks:
            later ones may be about checkpoints that the status lacks. None includes all marks.
        most: The most checkpoints that the status lists, the newest; None if it lists all.

    Attributes:
        marks: The stored marks.
        first: The number of the first stored mark, counted over all marks.
    """

    def __init__(
        self, marks: Marks, status: Status, count: int | None = None, *, most: int | None = None
    ) -> None:
        found, total = marks.since()
        self.first = total - len(found)
        self.marks = found if count is None else found[: max(0, count - self.first)]
        self._timeline = marks.timeline
        self._past = functools.cache(self._timeline.past)
        self._checkpoints = sorted(status.checkpoints, key=lambda held: held.order)
        is_cut = most is not None and len(self._checkpoints) >= most
        # All checkpoints from this order on are listed.
        self._listed_from = self._checkpoints[0].order if is_cut else 0.0
        self._own = {h.order: h for h in self._checkpoints if not side_folder(h.path)}
        self._values = {each.name: each.value for each in status.hyperparameters}
        self._reason = _reason(status.phase)
        # The index of the newest mark of each saved checkpoint. A checkpoint that was saved twice
        # in a row has the same order, but contains the later state.
        self._saved = {mark.order: at for at, mark in enumerate(self.marks) if mark.event in _SAVED}
        # The index of the newest mark of a saved checkpoint at each step.
        self._last = {mark.place: at for at, mark in enumerate(self.marks) if mark.event in _SAVED}

    def latest(self) -> tuple[Action, ...]:
        """Returns the actions of the newest marks, each once; those of an open NaN come first."""
        newest = range(len(self.marks))[: -_LATEST - 1 : -1]
        first = () if self.open_nan is None else (self.open_nan,)
        found: dict[tuple[str, str], Action] = {}
        for action in (action for at in (*first, *newest) for action in self.of(at)):
            found.setdefault((action.text, repr(action)), action)
        return tuple(found.values())

    def refusal(self, action: Action) -> str | None:
        """Returns why an action cannot be done now; None if it can."""
        wanted = action.text, action.command, action.checkpoint
        for at in range(len(self.marks) - 1, -1, -1):
            for each in self.of(at):
                if (each.text, each.command, each.checkpoint) == wanted:
                    return each.reason
        return "it is no longer one of its actions: call run.actions() again"

    @property
    def open_nan(self) -> int | None:
        """The index of the newest "nan"; None if the run was resumed or went back since."""
        for at in range(len(self.marks) - 1, -1, -1):
            mark = self.marks[at]
            if mark.event in ("resume", "restore") or mark.place < mark.step:
                return None
            if mark.event == "nan":
                return None if mark.abandoned else at
        return None

    def of(self, at: int) -> tuple[Action, ...]:
        """Returns the actions of a mark, the best one first.

        Args:
            at: The index of the mark.
        """
        at, mark = range(len(self.marks))[at], self.marks[at]
        undo = [self._set_back(mark.edits)] if mark.edits and mark.kept is not False else []
        if mark.kept is False:
            undo = [self._accept(arm) for arm in mark.arms]
        if mark.event == "nan":
            return (*undo, *self._after_nan(at), *self._questions(at))
        if mark.event in _SAVED:
            own = self._own.get(mark.order)
            if own is not None and self._saved[mark.order] == at:
                return (*undo, self._restore(own))
            undo.append(self._missing(at))
        before = (held for held in self._led_to(at) if self._own.get(held.order) is held)
        return (*undo, *map(self._restore, itertools.islice(before, 1)))

    def _after_nan(self, at: int) -> Sequence[Action]:
        """The restores of a good state, and of one before a bad edit if the good state has it."""
        mark = self.marks[at]
        good = next(self._led_to(at, -1 if mark.good is None else mark.good), None)
        if good is None:
            return ()
        restore = self._restore(good)
        rate = rate_of(self._values)
        halves = [self._restore(good, halve=rate)] if rate is not None else []
        blamed = self._blamed(at)
        if blamed is None or self.marks[blamed].order > good.order:
            return (*halves, restore)
        edit = self.marks[blamed]
        earlier = next(self._led_to(blamed, edit.place), None)
        if earlier is None:
            return (*halves, restore)
        behind = self._restore(earlier, f", before {', '.join(map(str, _edits(edit)))}")
        # If the checkpoint was saved soon after the edit, and the values went bad long after the
        # checkpoint, the checkpoint says little about the edit.
        if good.step - edit.place < mark.place - good.step:
            return (behind, *halves, restore)
        return (*halves, restore, behind)

    def _questions(self, at: int) -> Iterator[Action]:
        """Yields the question for the cause of a NaN at which the run has paused."""
        if self.marks[at].why_nan and at == self.open_nan:
            yield Action("Find the cause", WhyNan(), self._reason)

    def _blamed(self, at: int) -> int | None:
        """The index of the latest edit that led to a mark and may have caused it."""
        reverted = False  # whether the trial that starts at the next try was reverted
        for index in range(at - 1, -1, -1):
            mark = self.marks[index]
            undone = mark.kept is False or (reverted and mark.event == "try")
            if mark.event == "try":
                reverted = mark.kept is False
            harmless = all(edit.name in RATES and edit.new < edit.old for edit in _edits(mark))
            if not (undone or harmless) and self._counts(at, mark.place, mark.order):
                return index
        return None

    def _led_to(self, at: int, most: float = float("inf")) -> Iterator[Checkpoint]:
        """Yields the checkpoints that led to a mark, the newest first.

        Args:
            at: The index of the mark.
            most: The last step to be considered.
        """
        end = bisect.bisect_right(
            self._checkpoints, self.marks[at].order, key=lambda held: held.order
        )
        for index in range(end - 1, -1, -1):
            held = self._checkpoints[index]
            in_time = held.step <= most and self._saved.get(held.order, -1) < at
            if in_time and self._counts(at, held.step, held.order):
                yield held

    def _counts(self, at: int, step: int, order: float) -> bool:
        """Returns whether an earlier entry led to a mark."""
        past = self._past(self._timeline.segment_of(self.marks[at].order))
        limit, end = past.get(self._timeline.segment_of(order), (-1.0, -1.0))
        return step <= limit and order <= end

    def _missing(self, at: int) -> Action:
        place = self.marks[at].place
        again = self._last[place] > at
        if not again and self.marks[at].order < self._listed_from:
            return Action(f"Restore step {place:,}", Restore(place), self._reason)
        why = "a later save of this step has replaced it" if again else "its checkpoint was deleted"
        return Action(f"Restore step {place:,}", Restore(place), why)

    def _restore(self, held: Checkpoint, more: str = "", *, halve: str | None = None) -> Action:
        text = f"Restore step {held.step:,}" + (f" and halve {halve}" if halve else more)
        return Action(text, Restore(name_of(held.path), halve), self._reason, held)

    def _set_back(self, edits: Iterable[tuple[str, float, float]]) -> Action:
        old = {name: value for name, value, _ in edits}
        text = ", ".join(f"{name} back to {value:.10g}" for name, value in old.items())
        return Action(f"Set {text}", Set(old), self._refused(old))

    def _accept(self, arm: ArmResult) -> Action:
        values = arm.values
        text = ", ".join(f"{name} {value:.10g}" for name, value in values.items())
        return Action(f"Continue with {text}", Set(values), self._refused(values))

    def _refused(self, values: Mapping[str, float]) -> str | None:
        """Returns why values cannot be set now; None if they can."""
        missing = [name for name in values if name not in self._values]
        if self._reason is not None or not missing:
            now = {name: self._values.get(name) for name in values}
            return self._reason or ("this is the present value" if values == now else None)
        return f"there is no hyperparameter {missing[0]}"


def _reason(phase: Phase) -> str | None:
    """The reason why no command can be executed; None if one can."""
    if phase in (Phase.PREPARING, Phase.RUNNING, Phase.PAUSED):
        return None
    return "the run has ended: start it again to continue" if phase.ended else f"the run is {phase}"


def _edits(mark: Mark) -> list[Edit]:
    return [Edit(*edit) for edit in mark.edits]
