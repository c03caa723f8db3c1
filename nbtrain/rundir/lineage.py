"""The way that a run went, followed through the lines of its journal.

Where a restore, or a new start, went back to a checkpoint, the way is that of the checkpoint:
what was edited after it counts as far as it has outlived the way back, as the value of a
variable does that no checkpoint holds. The lines say so:

    start               a life begins; {"parent": ...} in a branch
    origin              what comes next goes on from a {"checkpoint"} that lies elsewhere, in the
                        folder of a run whose journal had so many {"lines"} then
    segment             the curves go on from a step, with these {"values"}; one that no edit has
                        set was set by the program, as a callback of Keras does
    set, and others     {"edits": {name: [old, new]}} after a step, or where it went back "to"
    found, save, checkpoint, copy    what a later segment of that step goes on from
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbtrain.rundir.entries import FILE, Entry, edits_of, entries, numbers_of, step_of, when
from nbtrain.rundir.folder import ASIDE


@dataclass(frozen=True, slots=True)
class State:
    """Where a course has come to.

    Attributes:
        edits: Of its way: number of the line, step, and new values.
        values: Of the hyperparameters, as far as they are known.
        gap: What of its way is not known, in words.
    """

    edits: tuple[tuple[int, int, Mapping[str, float]], ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    gap: str = ""

    def edited(self, line: int, step: int, values: Mapping[str, float]) -> State:
        """The way on, with other values."""
        edits = (*self.edits, (line, step, values))
        return replace(self, edits=edits, values={**self.values, **values})


class Lineage:
    """Follows the lines of a journal.

    Args:
        folder: The run's.
        origin: The line of another journal by which a run goes on from here; later lines are left
            out. None for all of them.
        known: The folders that led here: a journal never leads to itself.
    """

    def __init__(
        self, folder: Path, origin: Entry | None = None, known: tuple[Path, ...] = ()
    ) -> None:
        self.lines = _before(origin, list(entries(folder)))
        self.state = State()
        self.saved: dict[int, State] = {}
        # Of the line of a segment: name to old and new value, and whether this outlived an edit
        # that was undone; else the program has set it.
        self.kept: dict[int, Mapping[str, tuple[float, float, bool]]] = {}
        self._folder, self._known = folder, (*known, folder.resolve())
        self._first: Mapping[str, float] | None = None
        self._origin: Entry | None = None
        if self.lines and self.lines[0]["event"] == "folder":  # which was made anew
            step = self.lines[0]["step"]
            gap = f"the folder that it had up to step {step:,} was deleted or renamed"
            self.state = State(gap=f"{gap}, and what led there is written in that alone")
        for number, entry in enumerate(self.lines):
            self._follow(number, entry)

    def _follow(self, number: int, entry: Entry) -> None:
        event, at = entry["event"], step_of(entry)
        if event == "origin":
            self._origin = entry
        if event == "segment":
            self._go_on(number, entry)
        if not entry.get("applied", True):
            return
        if event in ("found", "save", "checkpoint", "copy"):
            self.saved[at] = self.state
        if edits := edits_of(entry):
            new = {name: value for name, _, value in edits}
            if "to" in entry:  # what was set before the segment is part of its values
                new = {name: new[name] for name in new if new[name] != self.state.values.get(name)}
            self.state = self.state.edited(number, at, new) if new else self.state
        elif event == "set":
            why = f"{self._folder / FILE} does not tell the values that were set at step {at:,}"
            self.state = replace(self.state, gap=f"{why}: an earlier nbtrain wrote it")

    def _go_on(self, number: int, entry: Entry) -> None:
        step, values = entry["step"], numbers_of(entry.get("values"))
        origin, self._origin = self._origin, None
        if origin is not None and origin["step"] == step:
            state: State | None = self._elsewhere(origin, values)
        else:
            state = self.saved.get(step)
        if self._first is None or (state is None and step == 0):  # it begins, or begins anew
            self._first = values
        if state is None:  # its line was lost, or a session has gone back by itself
            state = self._cut(step)
        old, left = state.values, self.state.values
        new = {name: v for name, v in values.items() if name in old and v != old[name] and v == v}
        outlived = {name: value for name, value in new.items() if value == left.get(name)}
        own = {name: value for name, value in new.items() if name not in outlived}
        if own:  # as far as can be told the checkpoint has it, and will at the next way back
            state = self.saved[step] = state.edited(number, step, own)
        self.state = replace(state, values={**old, **values})
        if outlived:
            self.state = self.state.edited(number, step, outlived)
        if new:
            self.kept[number] = {name: (old[name], new[name], name in outlived) for name in new}

    def _cut(self, step: int) -> State:
        """Where the course was at a step, whose checkpoint came before any edit there."""
        state = State(values=self._first or {}, gap=self.state.gap if step else "")
        for each in self.state.edits:
            state = state.edited(*each) if each[1] < step else state
        return state

    def _elsewhere(self, entry: Entry, values: Mapping[str, float]) -> State:
        """What led to a checkpoint that lies elsewhere."""
        step, path = entry["step"], self._folder / str(entry.get("checkpoint"))
        folder = run_of(path)
        try:
            if folder.resolve() in self._known:
                raise OSError
            found = Lineage(folder, entry, self._known).saved[step]
            return replace(found, edits=tuple((-1, *edit[1:]) for edit in found.edits))
        except (OSError, KeyError):
            where = os.path.relpath(path, self._folder)
            gap = f"at step {step:,} it goes on from {where}, and what led there is not written"
            return State(gap=gap, values=values)


def run_of(checkpoint: Path) -> Path:
    """The folder of the run that a checkpoint is of."""
    folder = checkpoint.parent
    folder = folder.parent if folder.name in ASIDE else folder
    return folder.parent if folder.name == "checkpoints" else folder


def parent_of(entry: Entry) -> Mapping[str, Any] | None:
    """What a start, or a folder made anew, says of the run that it is a branch of."""
    parent = entry.get("parent")
    if not isinstance(parent, Mapping) or type(parent.get("step")) is not int:
        return None
    return parent if isinstance(parent.get("logdir"), str) else None


def _before(origin: Entry | None, lines: list[Entry]) -> list[Entry]:
    """Those lines of a journal that were there when a run went on from it; None for all."""
    if origin is None:
        return lines
    count = origin.get("lines")
    if type(count) is int:
        return lines[:count]
    return [each for each in lines if when(each) <= when(origin)]  # of an earlier version
