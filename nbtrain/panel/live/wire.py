"""The messages to the front end: a snapshot, then increments.

A snapshot contains everything. An increment contains the fields that changed and, for each curve
that grew, the buckets from the last full one on. With many tags, an increment contains only some of
the curves and last values, in rotation. With many new marks, it contains the oldest ones; later
increments contain the others. Changed actions of marks are also sent a few at a time, those of the
newest marks first. Messages are numbered, and the front end requests a snapshot if one is missing.

Buckets are sent as four buffers, curve after curve: first steps (float64); mean, lo and hi of each
bucket (float32); the wall times of the first points, in seconds since the message's `origin`
(float32); and, only for buckets with values that are not finite, their index in the message and how
many values are NaN, ∞ and −∞ (uint32). Scalars of one step have the same steps and times. So if the
message has `own`, only the series at these places have steps and times in the buffers, and each
other series has those of the series before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np

from nbtrain.core.commands import Restore, Set, name_of
from nbtrain.panel.live.marks import glyph, kind_of, rank
from nbtrain.panel.live.trial_table import trial_of, without_results
from nbtrain.panel.live.view import Fields, last_of
from nbtrain.panel.wording import cut, plain
from nbtrain.recording.buckets import Buckets, sparse
from nbtrain.recording.parts import Cursor, Curve
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Mark, Marks
from nbtrain.steer.actions import Action

Message = tuple[dict[str, object], list[bytes]]

# The actions of marks, by the numbers of the marks, the oldest first.
ActionsByMark = Mapping[int, tuple[Action, ...]]

# 40 buckets are 960 bytes: with the envelope and the numbers an update stays below 2 kB.
UPDATE_BUCKETS = 40
UPDATE_CURVES = UPDATE_VALUES = 10  # so sixty tags are updated twice a second

# Marks of an update: enough for a page to get a thousand checkpoints soon. Fewer are sent if their
# texts are long, but at least one. The journal has the whole texts.
UPDATE_MARKS = 4
MARK_CHARS = 300

# The text of the end of a trial of several values also says what could not be paired.
TRIAL_CHARS = 1000

# Marks of an update plus marks whose actions it contains; at least the actions of one mark fit.
UPDATE_ACTIONS = 5

_NO_ACTIONS: ActionsByMark = MappingProxyType({})


class Wire:
    """One numbered stream of messages; its owner calls from one thread at a time."""

    def __init__(self, store: ScalarStore, marks: Marks) -> None:
        self.seq = 0
        self._store = store
        self._marks = marks
        self._marked = 0  # how many of all marks so far were sent or dropped
        # True if the last snapshot had the marks of earlier starts; the generation of the store.
        self._basis = (False, 0)
        self._cursors: list[Cursor] = []
        self._abandoned: list[list[int]] = []  # see `_ranges`, and the segment at that time
        self._segment = 0
        self._actions: dict[int, tuple[Action, ...]] = {}  # as sent
        self._fields: Fields = {}
        self._values: dict[str, str] = {}  # as sent, the oldest first
        self._turn = -1  # index of the curve sent last

    @property
    def is_outdated(self) -> bool:
        """True if the marks have other numbers now, or the store was cleared.

        The next message must then be a snapshot.
        """
        return self._basis != (self._marks.recalled, self._store.generation)

    def snapshot(self, fields: Fields, by_mark: ActionsByMark = _NO_ACTIONS) -> Message:
        """Returns a message with everything; later increments add to it."""
        # First: the store may be cleared meanwhile, and the marks get other numbers.
        self._basis = (self._marks.recalled, self._store.generation)
        curves = self._store.curves()
        self._cursors = [Cursor.after(curve.buckets) for curve in curves]
        self._fields = fields
        self._values = dict(last_of(fields))
        self.seq += 1
        series = [
            {
                "tag": curve.tag,
                "segment": curve.segment,
                "stride": curve.buckets.stride,
                "n": len(curve.buckets.steps),
                "abandoned": curve.abandoned,
            }
            for curve in curves
        ]
        self._segment = self._marks.timeline.segment
        marks, self._marked = self._marks.since()
        self._abandoned = _ranges(marks, self._marked)
        content = {"t": "snap", "seq": self.seq, "status": fields, "series": series}
        content |= {"marks": [_row(mark) for mark in marks], "marked": self._marked}
        self._actions.clear()
        content["actions"] = self._new_actions(by_mark, len(by_mark))
        return _with_buckets(content | {"abandoned": self._abandoned}, curves)

    def update(
        self, fields: Fields, by_mark: ActionsByMark = _NO_ACTIONS, *, size: int = 1
    ) -> Message | None:
        """Returns a message with what is new since the last one; None if nothing is new.

        Args:
            fields: The fields as they are now.
            by_mark: The actions of the marks.
            size: The number of usual updates whose curves and values fit into this one.
        """
        changed = self._changed(fields, UPDATE_VALUES * size)
        most = UPDATE_BUCKETS * size, UPDATE_CURVES * size
        curves = self._store.changes(self._cursors, *most, self._turn)
        series = [self._grown(index, curve) for index, curve in curves]
        new, count = self._marks.since(self._marked)
        marks = _some(new)
        abandoned = self._now_abandoned()
        self._marked = count - len(new) + len(marks)
        actions = self._new_actions(by_mark, UPDATE_ACTIONS - len(marks))
        if not (changed or series or marks or actions or abandoned is not None):
            return None
        self._fields = fields
        self._turn = curves[-1][0] if curves else self._turn
        self.seq += 1
        content: dict[str, object] = {"t": "pts", "seq": self.seq}
        content |= {"status": changed, "series": series}
        if marks:
            content |= {"marks": [_row(mark) for mark in marks], "marked": self._marked}
        if actions:
            content["actions"] = actions
        if abandoned is not None:
            content["abandoned"] = self._abandoned = abandoned
        return _with_buckets(content, [curve for _, curve in curves])

    def _now_abandoned(self) -> list[list[int]] | None:
        """Returns the numbers of abandoned marks as ranges; None if they are unchanged."""
        segment, self._segment = self._segment, self._marks.timeline.segment
        if segment == self._segment:
            return None
        found = _ranges(*self._marks.since())
        return None if found == self._abandoned else found

    def _new_actions(self, by_mark: ActionsByMark, most: int) -> list[list[object]]:
        """Returns the changed actions of at most `most` sent marks, the newest mark first."""
        numbers = [number for number in by_mark if number < self._marked]
        changed = [n for n in reversed(numbers) if by_mark[n] != self._actions.get(n, ())][:most]
        self._actions.update((number, by_mark[number]) for number in changed)
        if len(self._actions) > len(by_mark):  # some belong to marks that no longer exist
            self._actions = {n: sent for n, sent in self._actions.items() if n in by_mark}
        return [[number, [_action(each) for each in by_mark[number]]] for number in changed]

    def _grown(self, index: int, curve: Curve) -> list[object]:
        """Describes the new buckets of a curve, and counts them as sent."""
        buckets = curve.buckets
        entry: list[object] = [index, buckets.stride, buckets.start, len(buckets.steps)]
        if index == len(self._cursors):
            entry += [curve.tag, curve.segment, curve.abandoned]
            self._cursors.append(Cursor())
        self._cursors[index] = Cursor.after(buckets)
        return entry

    def _changed(self, fields: Fields, most: int) -> Fields:
        """Returns the fields that changed, and the last values that are next in the rotation."""
        changed = {key: text for key, text in fields.items() if self._fields.get(key) != text}
        values = last_of(fields)
        new = [tag for tag in values if tag not in self._values]
        old = [tag for tag, text in self._values.items() if values.get(tag, text) != text]
        sent = {tag: values[tag] for tag in (new + old)[:most]}
        for tag, text in sent.items():
            self._values.pop(tag, None)
            self._values[tag] = text
        changed.pop("last", None)
        return changed | {"last": sent} if sent else changed


def _some(marks: Sequence[Mark]) -> Sequence[Mark]:
    """Returns the first marks that fit into an update; at least one."""
    room = MARK_CHARS
    for at, mark in enumerate(marks[:UPDATE_MARKS]):
        room -= min(len(mark.text), MARK_CHARS)
        if room < 0:
            return marks[:at]
    return marks[:UPDATE_MARKS]


def _ranges(marks: Sequence[Mark], count: int) -> list[list[int]]:
    """Returns the abandoned marks as ranges: first number and end, counted over all marks."""
    found: list[list[int]] = []
    for number, mark in enumerate(marks, count - len(marks)):
        if mark.abandoned and found and found[-1][1] == number:
            found[-1][1] += 1
        elif mark.abandoned:
            found.append([number, number + 1])
    return found


def _row(mark: Mark) -> list[object]:
    """Returns event, step, wall time, text, glyph, rank, and a dict of the rest: see `Mark`."""
    others = {"to": mark.to, "arm": mark.arm, "trial": trial_of(mark.arms)}
    more = {key: value for key, value in others.items() if value is not None}
    text = cut(mark.text, MARK_CHARS)
    if mark.arms:
        text = cut(without_results(mark.text), TRIAL_CHARS)
    kind = kind_of(mark)
    row: list[object] = [mark.event, mark.step, mark.wall_time, text, glyph(kind), rank(kind)]
    return [*row, more] if more else row


def _action(action: Action) -> list[object]:
    """Returns text, name and arguments of a command, and why it cannot be executed now, or None."""
    command = action.command
    arguments: dict[str, object]
    if isinstance(command, Restore):
        halve = {} if command.halve is None else {"halve": command.halve}
        arguments = {"checkpoint": command.checkpoint, **halve}
    elif isinstance(command, Set):
        arguments = {
            "values": {name: plain(cast(float, value)) for name, value in command.values.items()}
        }
    else:
        arguments = {}
    return [action.text, name_of(type(command)), arguments, action.reason]


def _with_buckets(content: dict[str, object], curves: Sequence[Curve]) -> Message:
    """Returns a message with the buckets of these curves."""
    parts = [curve.buckets for curve in curves]
    if not parts:
        return content, [b""] * 4
    own = [n for n, part in enumerate(parts) if not n or not _alike(part, parts[n - 1])]
    steps = np.concatenate([parts[n].steps for n in own])
    wall_times = np.concatenate([parts[n].wall_times for n in own])
    known = wall_times[np.isfinite(wall_times)]
    origin = int(known[0]) if len(known) else 0
    with np.errstate(over="ignore"):
        values = np.concatenate([np.stack([p.mean, p.lo, p.hi], axis=1) for p in parts])
        since = wall_times - origin  # within a message they are close: float32 tells them apart
        unseen = sparse(np.concatenate([part.unseen for part in parts])).astype("<u4")
        buffers = [steps.astype("<f8"), values.astype("<f4"), since.astype("<f4"), unseen]
    shared = {"own": own} if len(own) < len(parts) else {}
    return content | {"origin": origin} | shared, [buffer.tobytes() for buffer in buffers]


def _alike(one: Buckets, other: Buckets) -> bool:
    """Returns whether buckets have the same first steps and times; much faster than with NumPy."""
    return (
        one.steps.tobytes() == other.steps.tobytes()
        and one.wall_times.tobytes() == other.wall_times.tobytes()
    )
