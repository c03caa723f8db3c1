"""The loop of a run, as the engine sees it that trains."""

from __future__ import annotations

from collections.abc import Callable

from nbtrain.run.context import Context
from nbtrain.run.log import Log
from nbtrain.run.loops import OwnLoop
from nbtrain.run.session_host import SessionHost


class LoopHandle:
    """What an engine needs of the attempt that it trains; training thread only.

    Args:
        loop: The loop that counts its steps.
        host: Takes its sessions.
        context: The collaborators of the attempt.
        log: What TensorFlow logged.
        is_own_thread: Whether the calling thread is the training thread, and does not evaluate.

    Attributes:
        host: As given.
        is_own_thread: As given.
        reach: The step boundary; returns whether to leave the loop.
        record: Keeps scalars for the step at hand.
        settle: Settles what the program has set since the last boundary.
        note: Warns of something in the panel, until (None) there is nothing to warn of.
        inform: Says what is good to know and no warning.
        turn_to: Counts as this kind what the training thread does next.
        asked_to_stop: Whether a stop was requested: no step boundary.
        at_end: Has something called when the loop is over and its last checkpoint saved.
        watch: Watches the structure of a model; `unwatch` ends that.
    """

    def __init__(
        self,
        loop: OwnLoop,
        host: SessionHost,
        context: Context,
        log: Log,
        is_own_thread: Callable[[], bool],
    ) -> None:
        monitor, bindings = context.monitor, context.bindings
        self.host = host
        self.is_own_thread = is_own_thread
        self.reach, self.record, self.settle = loop.reach, loop.record, loop.settle
        self.note, self.inform = monitor.note, monitor.inform
        self.turn_to = monitor.time_usage.turn_to
        self.asked_to_stop, self.at_end = host.asked_to_stop, host.at_end
        self.watch, self.unwatch = bindings.watch, bindings.unwatch
        self._loop = loop
        self._time_usage = monitor.time_usage
        self._log = log

    @property
    def step(self) -> int:
        """Steps completed; any thread may read it."""
        return self._loop.step

    @property
    def begun(self) -> bool:
        """Whether the first boundary is behind."""
        return self._loop.begun

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves that evaluations between two steps have given."""
        return self._loop.evaluated

    def count_waits(self, waits: Callable[[float], float | None]) -> None:
        """Take from here how long the loop has waited for its input; see `TimeUsage.waits`."""
        self._time_usage.waits = waits

    def drop_lines(self, is_false: Callable[[str], bool]) -> None:
        """Drop the lines of TensorFlow's log that are known to be wrong."""
        self._log.is_false = is_false
