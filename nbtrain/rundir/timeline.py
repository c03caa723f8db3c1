"""Reads the timeline of a run's folder from its journal.

These lines of the journal matter:

found, save, checkpoint, copy, best    a checkpoint of a step exists
back                             the run continues from this {"checkpoint"}, or from this step
origin                           the run continues from a {"checkpoint"} of another folder
segment                          the run continues from a step; the line before may say so too
{"to": step}                     the same, in journals of earlier versions
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from nbtrain.core.states import Checkpoint
from nbtrain.core.timeline import Timeline
from nbtrain.rundir.entries import Entry, entries, step_of, when
from nbtrain.rundir.names import ASIDE, BEST, LAST_GOOD

# The events of lines about a checkpoint.
SAVED = frozenset({"found", "save", "checkpoint", "copy", "best"})


class RunTimeline(Timeline):
    """Follows the lines of a run's journal; `ordered` and `knows` may be called by any thread.

    Attributes:
        origin: Path of the checkpoint of another folder from which the run continues; None if there
            is none, or if the run has saved since.
    """

    def __init__(self, folder: Path, lines: Iterable[Entry] = ()) -> None:
        super().__init__()
        self.origin: Path | None = None
        self._folder = folder
        self._has_line = False  # whether the line of the current segment was added
        self._is_edited = False  # whether an edit was added since the newest entry
        self._saved: dict[tuple[str, int], int] = {}  # by name of the subfolder, and step
        for entry in lines:
            self.add_entry(entry)

    @classmethod
    def of(cls, folder: Path) -> RunTimeline:
        """Returns the timeline of a run's folder; empty without a journal."""
        with contextlib.suppress(OSError):
            return cls(folder, entries(folder))
        return cls(folder)

    def add_entry(self, entry: Entry) -> float:
        """Adds a line; returns its order. An edit's is between the saves before and after it."""
        event, step, path = entry["event"], step_of(entry), entry.get("checkpoint")
        time = round(when(entry), 3)
        if not entry.get("applied", True):
            pass
        elif event in SAVED:
            unnamed = ASIDE if event == "copy" else ("",)  # an earlier version wrote no path
            self.save(step, *(unnamed if path is None else (side_folder(path),)))
        elif event == "origin":
            self.branch(step, str(path), time)
        elif event == "back":
            self.rewind(step, time, None if path is None else side_folder(path))
        elif event == "segment":
            if not self.is_open(step):
                self.rewind(step, time)
            self._has_line = True
        elif step != entry["step"] and not self.has_begun(step):
            self.rewind(step, time)
        if "edits" not in entry:
            return self.order
        self._is_edited = self._is_edited or entry.get("applied", True)
        return self.order + 0.5

    def save(self, step: int, *folders: str) -> None:
        """Adds a saved checkpoint; does nothing if it was the last addition, without an edit since.

        Args:
            folders: The name of its folder if this is one of `ASIDE`, otherwise "". For a line of
                an earlier version, there may be several candidates.
        """
        self.origin = None
        is_new = any(self._saved.get((folder, step)) != self.order for folder in folders)
        if is_new or self._is_edited:
            self._is_edited = False
            self._saved.update(dict.fromkeys([(folder, step) for folder in folders], self.add()))

    def open(self, step: int, saved: int | None = None, wall_time: float = 0.0) -> None:
        """Opens a segment; see `Timeline.open`."""
        super().open(step, saved, wall_time)
        self.origin, self._has_line, self._is_edited = None, False, False

    def is_open(self, step: int) -> bool:
        """Returns whether the current segment was just opened, at this step."""
        return self.has_begun(step) and not self._has_line

    def rewind(self, step: int, wall_time: float, folder: str | None = None) -> None:
        """Opens a segment that continues from a checkpoint of this run.

        Args:
            folder: The name of its folder as in `save`; None if only the step is known.
        """
        self.open(step, self.entry_of(step, folder), wall_time)

    def entry_of(self, step: int, folder: str | None) -> int | None:
        """Returns the entry of the last checkpoint of a step; None if there is none.

        Args:
            folder: The name of its folder as in `save`; None if only the step is known.
        """
        names = ("", *ASIDE) if folder is None else (folder,)
        return max(self._saved.get((name, step), 0) for name in names) or None

    def branch(self, step: int, path: str, wall_time: float) -> None:
        """Opens a segment that continues from a checkpoint of another folder.

        Args:
            path: The path of the checkpoint relative to the run's folder.
        """
        self.open(step, None, wall_time)
        self.origin = Path(os.path.abspath(self._folder / path))  # noqa: PTH100 - no links followed

    def knows(self, held: Checkpoint) -> bool:
        """Returns whether the journal contains a checkpoint."""
        return _key(held) in self._saved

    def ordered(self, *folders: Sequence[Checkpoint]) -> tuple[Checkpoint, ...]:
        """Returns the checkpoints of some folders in the order in which they were saved.

        Their `order` and `abandoned` are set. A checkpoint that is not in the journal was saved
        before the next known one of its folder. If there is no next one, it is the newest: the
        run was killed before the line was written. If the journal knows no copy of a folder of
        copies, for example after it was deleted, a copy is older than the checkpoints of later
        steps.
        """
        rows: list[tuple[float, int, Checkpoint]] = []
        for found in folders:
            tops = [max(held.step for held in found[: end + 1]) for end in range(len(found))]
            order = float("inf")
            if found and not any(map(self.knows, found)) and side_folder(found[-1].path):
                order = self._first_beyond(max(tops))
            for held, top in reversed(list(zip(found, tops, strict=True))):
                order = self._saved.get(_key(held), order)
                abandoned = not self.counts(held.step, order)
                rows.append((order, top, replace(held, order=order, abandoned=abandoned)))
        rows.reverse()
        return tuple(held for _, _, held in sorted(rows, key=lambda row: row[:2]))

    def _first_beyond(self, step: int) -> float:
        """Returns the order of the first checkpoint of a later step that counts; inf if none."""
        beyond = [
            order for (_, at), order in self._saved.items() if at > step and self.counts(at, order)
        ]
        return min(beyond, default=float("inf"))


def side_folder(path: str) -> str:
    """Returns the name of a checkpoint's folder if it is one of `ASIDE`, otherwise ""."""
    folder = Path(path).parent.name
    return folder if folder in ASIDE else ""


def run_of(checkpoint: Path) -> Path:
    """Returns the folder of the run that has saved a checkpoint."""
    folder = checkpoint.parent
    folder = folder.parent if folder.name in ASIDE else folder
    return folder.parent if folder.name == "checkpoints" else folder


def on_the_way(held: Sequence[Checkpoint]) -> tuple[Checkpoint, ...]:
    """Returns the checkpoints that are not abandoned; if all are abandoned, all of them."""
    return tuple(each for each in held if not each.abandoned) or tuple(held)


def is_copy(path: str) -> bool:
    """Returns whether a checkpoint is a copy of a good or best state.

    A restore uses a copy only if it names the copy.
    """
    return side_folder(path) in (LAST_GOOD, BEST)


@functools.lru_cache(maxsize=4096)  # asked for every mark at every change
def name_of(path: str) -> str:
    """Returns the name of a checkpoint with its folder, because a copy has the same name."""
    return str(Path(*Path(path).parts[-2:]))


def _key(held: Checkpoint) -> tuple[str, int]:
    return side_folder(held.path), held.step
