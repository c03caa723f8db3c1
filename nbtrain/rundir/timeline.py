"""The order in which a run has saved and gone back, told by its journal and by no clock.

A restore, and a start that goes on from a checkpoint, go back to what was saved. What was saved
between the two is abandoned, and counts again where the run goes back to it:

    found, save, checkpoint, copy    a checkpoint of a step is there
    back                             what comes next goes on from that {"checkpoint"}
    origin                           it goes on from a {"checkpoint"} that lies elsewhere
    {"to": step}                     in journals of earlier versions: it goes on from that step
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbtrain.core.states import Checkpoint
from nbtrain.rundir.entries import Entry, entries, step_of
from nbtrain.rundir.folder import ASIDE

# Lines that tell of a checkpoint.
_SAVED = frozenset({"found", "save", "checkpoint", "copy"})


@dataclass(frozen=True, slots=True)
class _Back:
    """A way back.

    Attributes:
        place: Its place in the order.
        step: The step that it led to.
        saved: Place of the checkpoint that it led to; its own where that is not known.
    """

    place: int
    step: int
    saved: int


class Timeline:
    """The saves and the ways back of one run, numbered in their order.

    The training thread adds to it; `ordered` and `knows` may be called by any thread.

    Args:
        folder: The run's.
        lines: Those of its journal so far.

    Attributes:
        origin: Path of the checkpoint of another folder that the run goes on from; None where
            there is none, or something was saved since.
    """

    def __init__(self, folder: Path, lines: Iterable[Entry] = ()) -> None:
        self.origin: Path | None = None
        self._folder = folder
        self._place = 0
        self._saved: dict[tuple[str, int], int] = {}  # by name of the folder aside, and step
        self._backs: list[_Back] = []
        for entry in lines:
            self._follow(entry)

    @classmethod
    def of(cls, folder: Path) -> Timeline:
        """Of the run whose folder this is; empty without a journal."""
        with contextlib.suppress(OSError):
            return cls(folder, entries(folder))
        return cls(folder)

    def save(self, step: int, *folders: str) -> None:
        """A checkpoint was saved.

        Args:
            step: Its step.
            folders: Name of its folder where that is one of `ASIDE`, else ""; a line of an
                earlier version leaves more than one open.
        """
        self._place += 1
        self.origin = None
        for folder in folders:
            self._saved[folder, step] = self._place

    def go_back(self, step: int, folder: str | None = None) -> None:
        """The run goes on from a checkpoint.

        Args:
            step: Its step.
            folder: As in `save`; None where only the step is known.
        """
        self._place += 1
        self.origin = None
        names = ("", *ASIDE) if folder is None else (folder,)
        saved = [place for name in names if (place := self._saved.get((name, step)))]
        self._backs.append(_Back(self._place, step, max(saved, default=self._place)))

    def leave(self, step: int, path: str) -> None:
        """The run goes on from a checkpoint of another folder.

        Args:
            step: Its step.
            path: As seen from the run's folder.
        """
        self._place += 1
        self._backs.append(_Back(self._place, step, self._place))
        self.origin = Path(os.path.abspath(self._folder / path))  # noqa: PTH100 - no links followed

    def knows(self, held: Checkpoint) -> bool:
        """Whether a line tells that this checkpoint was saved."""
        return _key(held) in self._saved

    def ordered(self, *folders: Sequence[Checkpoint]) -> tuple[Checkpoint, ...]:
        """The checkpoints of some folders with their places, in the order they were saved.

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
                rows.append((order, top, replace(held, order=order)))
        rows.reverse()
        return tuple(held for _, _, held in sorted(rows, key=lambda row: row[:2]))

    def counting(self, held: Sequence[Checkpoint]) -> tuple[Checkpoint, ...]:
        """Those of some ordered checkpoints that lie on the way that led to where the run is."""
        found: set[Checkpoint] = set()
        step, end = float("inf"), float("inf")  # how far the way leads that is followed backwards
        for back in reversed(self._backs):
            if back.place > end:  # of a way that was left
                continue
            found |= {
                each for each in held if each.step <= step and back.place <= each.order <= end
            }
            step, end = min(step, back.step), back.saved
        found |= {each for each in held if each.step <= step and each.order <= end}
        return tuple(each for each in held if each in found)

    def _follow(self, entry: Entry) -> None:
        event, step, path = entry["event"], step_of(entry), entry.get("checkpoint")
        if not entry.get("applied", True):
            return
        if event in _SAVED:
            unnamed = ASIDE if event == "copy" else ("",)
            self.save(step, *(unnamed if path is None else (side_folder(path),)))
        elif event == "origin":
            self.leave(step, str(path))
        elif event == "back":
            self.go_back(step, side_folder(str(path)))
        elif step != entry["step"] and not self._is_back_at(step):
            self.go_back(step)

    def _is_back_at(self, step: int) -> bool:
        """Whether the last thing that was done was to go back to this step."""
        last = self._backs[-1:]
        return any(back.place == self._place and back.step == step for back in last)


def side_folder(path: str) -> str:
    """The name of a checkpoint's folder where that is one of `ASIDE`, else ""."""
    folder = Path(path).parent.name
    return folder if folder in ASIDE else ""


def _key(held: Checkpoint) -> tuple[str, int]:
    return side_folder(held.path), held.step
