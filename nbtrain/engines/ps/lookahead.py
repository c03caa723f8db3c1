"""Decides how many steps of a cluster to schedule at once."""

from __future__ import annotations

# Scheduled steps for each worker: the one that it takes, and those that wait, so that a worker
# need not wait until the coordinator has noticed that it is done. A command waits for all of them.
_FEWEST = 3
# There are more if steps are short: as many as the workers take in so many seconds. The coordinator
# then handles several at once, which costs less than one by one.
_SECS = 0.1
_MOST = 16
# The weight of the newest steps in the mean.
_WEIGHT = 0.2


class Lookahead:
    """The number of steps to schedule at once, by the pace of the workers.

    Args:
        workers: The number of workers.
    """

    def __init__(self, workers: int) -> None:
        self._fewest, self._most = _FEWEST * workers, _MOST * workers
        self._last: float | None = None
        self._pace: float | None = None  # seconds between two steps of the cluster

    @property
    def steps(self) -> int:
        """The number of steps that may be under way."""
        if not self._pace:
            return self._fewest
        return min(max(round(_SECS / self._pace), self._fewest), self._most)

    def completed(self, count: int, now: float) -> None:
        """Notes that `count` steps were completed since the last call.

        Args:
            count: Positive.
            now: Seconds, of a clock that never goes backwards.
        """
        if self._last is not None:
            pace = (now - self._last) / count
            before = pace if self._pace is None else self._pace
            self._pace = before + _WEIGHT * (pace - before)
        self._last = now
