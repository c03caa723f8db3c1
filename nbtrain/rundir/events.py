"""The names of the events in a run's journal."""

from __future__ import annotations

# The events that end a run.
ENDS = frozenset({"finished", "stopped", "failed"})

# Events that are no marks: the start and end of a run, the starts of segments, and events that
# have a curve.
UNMARKED = frozenset(
    {"start", "stop", "finished", "stopped"}
    | {"origin", "back", "segment", "found", "copy", "evaluated", "folder"}
    | {"unsaved", "saved"}  # the process ends
    | {"tag"}  # the run shows its tags
    | {"lacking"}  # trained variables that are not saved
)

# All events of the journal.
EVENTS = (
    *("start", "pause", "resume", "stop", "save", "checkpoint", "restore", "set", "try", "replay"),
    *("evaluate", "evaluated", "nan", "recovery", "folder", "finished", "stopped", "failed"),
    *("undone", "origin", "back", "segment", "found", "copy", "lacking", "unsaved", "saved"),
    *("best", "patience"),  # a better value, and none for too long
    *("lost", "returned"),  # tasks of its cluster
    "stage",  # a stage of the training begins
    *("note", "tag"),
)
