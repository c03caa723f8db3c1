"""What the files of a run say about it as a whole: its config, tags, notes and duration."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core.values.config import Config
from nbtrain.rundir import status_file
from nbtrain.rundir.entries import ENDS, Entry, config_of, entries, tags_of, when
from nbtrain.rundir.files import Untrusted

# Events that may also follow the end of a run.
_AT_ANY_TIME = ("note", "tag")


@dataclass(frozen=True, slots=True)
class About:
    """What the files of a run say about it.

    Attributes:
        began: When the run was first started, in seconds since the epoch; inf if that is not known.
        secs: Seconds from each start to its end or last sign of life, together. This includes
            pauses, and not the time between an end and the next start.
        config: The settings that the run is made with.
        tags: The words by which the run can be found.
        notes: The texts of the notes, the oldest first.
    """

    began: float
    secs: float
    config: Config
    tags: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> About:
        """Reads the files of a folder.

        Raises:
            OSError: The folder has no journal, or it cannot be read.
        """
        return cls.of(folder, list(entries(folder)))

    @classmethod
    def of(cls, folder: Path, lines: Sequence[Entry]) -> About:
        """Returns what the lines of the journal and the last sign of life say."""
        tags: tuple[str, ...] = ()
        config: Config = {}
        for entry in lines:
            tags, config = tags_of(entry, tags), config_of(entry, config)
        return cls(
            began=min(map(when, lines), default=math.inf),
            secs=_secs(folder, lines),
            config=config,
            tags=tags,
            notes=tuple(
                str(entry.get("text", ""))
                for entry in lines
                if entry["event"] == "note" and entry.get("applied", True)
            ),
        )


def _secs(folder: Path, lines: Sequence[Entry]) -> float:
    """Returns the duration of a run."""
    secs, begin, last, has_ended = 0.0, math.nan, math.nan, True
    for entry in lines:
        if entry["event"] == "start":
            secs += _span(begin, last)
            begin = last = when(entry)
            has_ended = False
        elif not has_ended and entry["event"] not in _AT_ANY_TIME:
            last = when(entry)
            has_ended = entry["event"] in ENDS
    if not has_ended:
        with contextlib.suppress(OSError, Untrusted):
            last = max(last, status_file.read(folder).alive)
    return secs + _span(begin, last)


def _span(begin: float, last: float) -> float:
    """Returns the seconds between two times; 0 without a start, or if the clock was set back."""
    return 0.0 if math.isnan(begin) else max(0.0, last - begin)
