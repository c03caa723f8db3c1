"""The timeline of a run's folder, as the lines of its journal tell it.

These lines tell of it:

found, save, checkpoint, copy    a checkpoint of a step is there
back                             what comes next goes on from that {"checkpoint"}
origin                           it goes on from a {"checkpoint"} that lies elsewhere
segment                          it goes on from a step, as the line before may have told
{"to": step}                     the same, in journals of earlier versions
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from nbtrain.core.states import Checkpoint
from nbtrain.core.timeline import Timeline
from nbtrain.rundir.entries import Entry, entries, step_of
from nbtrain.rundir.folder import ASIDE

# Lines that tell of a checkpoint.
_SAVED = frozenset({"found", "save", "checkpoint", "copy"})


class RunTimeline(Timeline):
    """Follows the lines of a run's journal; `ordered` and `knows` may be called by any thread.

    Args:
        folder: The run's.
        lines: Those of its journal so far.

    Attributes:
        origin: Path of the checkpoint of another folder that the run goes on from; None where
            there is none, or something was saved since.
    """

    def __init__(self, folder: Path, lines: Iterable[Entry] = ()) -> None:
        super().__init__()
        self.origin: Path | None = None
        self._folder = folder
        self._told = False  # whether the line of the segment at hand has come
        self._saved: dict[tuple[str, int], int] = {}  # by name of the folder aside, and step
        for entry in lines:
            self.follow(entry)

    @classmethod
    def of(cls, folder: Path) -> RunTimeline:
        """Of the run whose folder this is; empty without a journal."""
        with contextlib.suppress(OSError):
            return cls(folder, entries(folder))
        return cls(folder)

    def follow(self, entry: Entry) -> float:
        """Takes one more line; returns its order, where an edit comes after the save before it."""
        event, step, path = entry["event"], step_of(entry), entry.get("checkpoint")
        if not entry.get("applied", True):
            pass
        elif event in _SAVED:
            unnamed = ASIDE if event == "copy" else ("",)  # as of an earlier version
            self.save(step, *(unnamed if path is None else (side_folder(path),)))
        elif event == "origin":
            self.leave(step, str(path))
        elif event == "back":
            self.go_back(step, side_folder(str(path)))
        elif event == "segment":
            self.go_on(step)
            self._told = True
        elif step != entry["step"] and not self.has_begun(step):
            self.go_back(step)
        return self.order + (0.5 if "edits" in entry else 0.0)

    def save(self, step: int, *folders: str) -> None:
        """A checkpoint was saved; nothing is new where that was told last.

        Args:
            step: Its step.
            folders: Name of its folder where that is one of `ASIDE`, else ""; a line of an
                earlier version leaves more than one open.
        """
        self.origin = None
        if any(self._saved.get((folder, step)) != self.order for folder in folders):
            self._saved.update(dict.fromkeys([(folder, step) for folder in folders], self.add()))

    def open(self, step: int, saved: int | None = None) -> None:
        """As `Timeline.open`."""
        super().open(step, saved)
        self.origin, self._told = None, False

    def go_on(self, step: int) -> None:
        """A segment begins: the one at hand, if a way back has just opened that."""
        if self._told or not self.has_begun(step):
            self.go_back(step)

    def go_back(self, step: int, folder: str | None = None) -> None:
        """The run goes on from a checkpoint of its own.

        Args:
            step: Its step.
            folder: As in `save`; None where only the step is known.
        """
        names = ("", *ASIDE) if folder is None else (folder,)
        self.open(step, max(self._saved.get((name, step), 0) for name in names) or None)

    def leave(self, step: int, path: str) -> None:
        """The run goes on from a checkpoint of another folder.

        Args:
            step: Its step.
            path: As seen from the run's folder.
        """
        self.open(step)
        self.origin = Path(os.path.abspath(self._folder / path))  # noqa: PTH100 - no links followed

    def knows(self, held: Checkpoint) -> bool:
        """Whether a line tells that this checkpoint was saved."""
        return _key(held) in self._saved

    def ordered(self, *folders: Sequence[Checkpoint]) -> tuple[Checkpoint, ...]:
        """The checkpoints of some folders in the order they were saved, as far as each counts.

        One that no line tells of was saved before the next that is known of its folder; where
        there is none it is the newest: the run was killed before the line was written.

        Args:
            folders: Those of each folder, in the order in which its `checkpoint` file names them.
        """
        rows: list[tuple[float, int, Checkpoint]] = []
        for found in folders:
            tops = [max(held.step for held in found[: end + 1]) for end in range(len(found))]
            order = float("inf")
            for held, top in reversed(list(zip(found, tops, strict=True))):
                order = self._saved.get(_key(held), order)
                abandoned = not self.counts(held.step, order)
                rows.append((order, top, replace(held, order=order, abandoned=abandoned)))
        rows.reverse()
        return tuple(held for _, _, held in sorted(rows, key=lambda row: row[:2]))


def side_folder(path: str) -> str:
    """The name of a checkpoint's folder where that is one of `ASIDE`, else ""."""
    folder = Path(path).parent.name
    return folder if folder in ASIDE else ""


def _key(held: Checkpoint) -> tuple[str, int]:
    return side_folder(held.path), held.step
