"""Reads the signs of life in a run's `status.json`, and believes an end only after a moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nbtrain.remote.words import shown
from nbtrain.rundir import status_file
from nbtrain.rundir.files import Malformed, Untrusted
from nbtrain.rundir.polled import Polled
from nbtrain.rundir.status_file import FILE, SignOfLife

# Ticks from an end that is told in the file until it is believed: until then, the last lines and
# points are read, which other threads of the run may write a moment later.
_END_TICKS = 3

# Ticks until a file that is not JSON is told: a share may show a part of it for a moment.
_DOUBT_TICKS = 10


class StatusTail:
    """Follows the file of one run; one thread.

    Args:
        folder: The run's folder.
        note: Shows a message about a topic, or (None) clears it.
    """

    def __init__(self, folder: Path, note: Callable[[str, str | None], object]) -> None:
        self._folder, self._note = folder, note
        self._polled = Polled(status_file.read, FILE)
        self._last: SignOfLife | None = None  # as read
        self._end: SignOfLife | None = None  # told, and not believed yet
        self._ticks = 0  # since then
        self._doubts = 0  # times that the file was not JSON

    @property
    def is_ending(self) -> bool:
        """True if an end was told that is not believed yet."""
        return self._end is not None

    def poll(self) -> SignOfLife | None:
        """Returns a new sign of life, if there is one; called at every tick."""
        sign = self._new()
        if sign is not None:
            self._end, self._ticks = (sign, 0) if sign.status.phase.ended else (None, 0)
            return None if self.is_ending else sign
        self._ticks += 1
        if self._end is None or self._ticks < _END_TICKS:
            return None
        end, self._end = self._end, None
        return end

    def _new(self) -> SignOfLife | None:
        """Returns the contents of the file; None if they are the same, or it is not there."""
        try:
            sign = self._polled.of(self._folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Untrusted as error:
            self._doubts += 1
            if not isinstance(error, Malformed) or self._doubts > _DOUBT_TICKS:
                self._note("status", f"{shown(self._folder / FILE)} is not believed: {error}.")
            return None
        if sign is self._last:
            return None
        self._last, self._doubts = sign, 0
        self._note("status", None)
        return sign
