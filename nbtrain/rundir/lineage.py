"""Reads the lineage of a run from its journal: the edits that led to its present state.

After a restore or a new start from a checkpoint, the lineage is that of the checkpoint. The
timeline of the run knows which checkpoint it is. A later edit counts only if the restore has not
undone its value, because some variables are in no checkpoint. In addition to the lines that the
timeline reads, these matter:

    start               a start of the run; {"parent": ...} in a branch
    origin              the other run's journal had this number of {"lines"} at that time
    segment             the curves continue from a step, with these {"values"}; a value that no edit
                        has set was set by the program, for example by a Keras callback
    set, and others     {"edits": {name: [old, new]}} after a step, or at the step "to" if it
                        went back
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbtrain.rundir.entries import FILE, Entry, edits_of, entries, numbers_of, step_of, when
from nbtrain.rundir.timeline import SAVED, RunTimeline, run_of, side_folder


@dataclass(frozen=True, slots=True)
class LineageState:
    """The state of a lineage after some lines.

    Attributes:
        edits: The edits so far: number of the line, step, and new values.
        gap: Describes missing parts of the lineage; empty if there are none.
    """

    edits: tuple[tuple[int, int, Mapping[str, float]], ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    gap: str = ""

    def edited(self, line: int, step: int, values: Mapping[str, float]) -> LineageState:
        """Returns the state after an edit."""
        edits = (*self.edits, (line, step, values))
        return replace(self, edits=edits, values={**self.values, **values})


class Lineage:
    """Follows the lines of a journal.

    Args:
        origin: The line of another journal by which a run continues from this run; later lines of
            this journal are skipped. None reads all lines.
        known: The folders that led here, so that a journal never leads to itself.

    Attributes:
        timeline: The timeline of the run up to the last line.
        saved: The states in checkpoints, by their entries in the timeline.
        kept: Values of a segment that differ from its checkpoint, by number of its line: name to
            old value, new value, and whether an undone edit has set the new value. If not, the
            program has set it.
    """

    def __init__(
        self, folder: Path, origin: Entry | None = None, known: tuple[Path, ...] = ()
    ) -> None:
        self.lines = _before(origin, list(entries(folder)))
        self.state = LineageState()
        self.timeline = RunTimeline(folder)
        self.saved: dict[float, LineageState] = {}
        self.kept: dict[int, Mapping[str, tuple[float, float, bool]]] = {}
        self._folder, self._known = folder, (*known, folder.resolve())
        self._first: Mapping[str, float] | None = None
        self._origin: Entry | None = None
        if self.lines and self.lines[0]["event"] == "folder":  # made again by an earlier version
            step = self.lines[0]["step"]
            gap = f"the folder that it had up to step {step:,} was deleted or renamed"
            self.state = LineageState(gap=f"{gap}, and what led there is written in that alone")
        for number, entry in enumerate(self.lines):
            self._add(number, entry)

    def _add(self, number: int, entry: Entry) -> None:
        event, at = entry["event"], step_of(entry)
        self.timeline.add_entry(entry)
        if event == "origin":
            self._origin = entry
        if event == "segment":
            self._open_segment(number, entry)
        if not entry.get("applied", True):
            return
        if event in SAVED:
            self.saved[self.timeline.order] = self.state
        if edits := edits_of(entry):
            new = {name: value for name, _, value in edits}
            if "to" in entry:  # the values of the segment include earlier edits
                new = {name: new[name] for name in new if new[name] != self.state.values.get(name)}
            self.state = self.state.edited(number, at, new) if new else self.state
        elif event == "set":
            why = f"{self._folder / FILE} does not tell the values that were set at step {at:,}"
            self.state = replace(self.state, gap=f"{why}: an earlier nbtrain wrote it")

    def _open_segment(self, number: int, entry: Entry) -> None:
        step, values = entry["step"], numbers_of(entry.get("values"))
        continued = self.timeline.continued
        if self._origin is not None and self.timeline.origin is not None:
            state: LineageState | None = self._elsewhere(self._origin, values)
        else:
            state = self.saved.get(continued)
        if self._first is None or (state is None and step == 0):  # the run begins, or starts over
            self._first = values
        if state is None:  # the line is missing, or a session has rewound itself
            state = self._cut(step)
        old, left = state.values, self.state.values
        new = {name: v for name, v in values.items() if name in old and v != old[name] and v == v}
        outlived = {name: value for name, value in new.items() if value == left.get(name)}
        own = {name: value for name, value in new.items() if name not in outlived}
        if own:  # presumably in the checkpoint, and so restored by the next restore too
            state = state.edited(number, step, own)
            if continued in self.saved:
                self.saved[continued] = state
        self.state = replace(state, values={**old, **values})
        if outlived:
            self.state = self.state.edited(number, step, outlived)
        if new:
            self.kept[number] = {name: (old[name], new[name], name in outlived) for name in new}

    def _cut(self, step: int) -> LineageState:
        """Returns the state at a step, before any edit at that step."""
        state = LineageState(values=self._first or {}, gap=self.state.gap if step else "")
        for each in self.state.edits:
            state = state.edited(*each) if each[1] < step else state
        return state

    def _elsewhere(self, entry: Entry, values: Mapping[str, float]) -> LineageState:
        """Returns the state of a checkpoint in another folder."""
        step, path = entry["step"], self._folder / str(entry.get("checkpoint"))
        folder = run_of(path)
        try:
            if folder.resolve() in self._known:
                raise OSError
            other = Lineage(folder, entry, self._known)
            saved = other.timeline.entry_of(step, side_folder(str(path)))
            if saved is None:
                raise FileNotFoundError
            found = other.saved[saved]
            return replace(found, edits=tuple((-1, *edit[1:]) for edit in found.edits))
        except OSError:
            where = os.path.relpath(path, self._folder)
            gap = f"at step {step:,} it goes on from {where}, and what led there is not written"
            return LineageState(gap=gap, values=values)


def _before(origin: Entry | None, lines: list[Entry]) -> list[Entry]:
    """Returns the lines that a journal had when a run continued from it; all without an origin."""
    if origin is None:
        return lines
    count = origin.get("lines")
    if type(count) is int:
        return lines[:count]
    return [each for each in lines if when(each) <= when(origin)]  # written by an earlier version
