"""The config, tags, notes and duration of a run, from its files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbtrain.core.values.config import Config
from nbtrain.rundir.entries import ENDS, Entry, config_of, entries, tags_of, when

# Events that may also follow the end of a run.
_AT_ANY_TIME = ("note", "tag")


@dataclass(frozen=True, slots=True)
class About:
    """The config, tags, notes and duration of a run.

    Attributes:
        began: When the run was first started, in seconds since the epoch; inf if that is not known.
        secs: Seconds from each start to its last line, together. Includes pauses; excludes the time
            between an end and the next start.
        open_at: When the last line was written, if the last start has no end; otherwise None.
        config: The settings that the run is made with.
        tags: The words by which the run can be found.
        notes: The texts of the notes, the oldest first.
    """

    began: float
    secs: float
    open_at: float | None
    config: Config
    tags: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> About:
        """Reads the journal of a folder.

        Raises:
            OSError: The folder has no journal, or it cannot be read.
        """
        return cls.of(list(entries(folder)))

    @classmethod
    def of(cls, lines: Sequence[Entry]) -> About:
        """Reads the lines of a journal."""
        tags: tuple[str, ...] = ()
        config: Config = {}
        for entry in lines:
            tags, config = tags_of(entry, tags), config_of(entry, config)
        secs, open_at = _secs(lines)
        return cls(
            began=min(map(when, lines), default=math.inf),
            secs=secs,
            open_at=open_at,
            config=config,
            tags=tags,
            notes=tuple(
                str(entry.get("text", ""))
                for entry in lines
                if entry["event"] == "note" and entry.get("applied", True)
            ),
        )

    def until(self, alive: float | None) -> About:
        """Adds the time from the last line to a sign of life; nothing after an end.

        Args:
            alive: The time of the sign of life, in seconds since the epoch; None without one.
        """
        if self.open_at is None or alive is None or alive <= self.open_at:
            return self
        return replace(self, secs=self.secs + alive - self.open_at, open_at=alive)


def _secs(lines: Sequence[Entry]) -> tuple[float, float | None]:
    """Returns the fields `secs` and `open_at`."""
    secs, begin, last, has_ended = 0.0, math.nan, math.nan, True
    for entry in lines:
        if entry["event"] == "start":
            secs += _span(begin, last)
            begin = last = when(entry)
            has_ended = False
        elif not has_ended and entry["event"] not in _AT_ANY_TIME:
            last = max(last, when(entry))  # a clock may be set back
            has_ended = entry["event"] in ENDS
    return secs + _span(begin, last), None if has_ended else last


def _span(begin: float, last: float) -> float:
    """Returns the seconds between two times; 0 without a start."""
    return 0.0 if math.isnan(begin) else last - begin
