"""The loop of a run as the engine sees it."""

from __future__ import annotations

from collections.abc import Callable

from nbtrain.run.context import Context
from nbtrain.run.log import Log
from nbtrain.run.loops import OwnLoop
from nbtrain.run.session_host import SessionHost


class LoopHandle:
    """The interface of an attempt for its engine; training thread only.

    Args:
        is_own_thread: Tells if the calling thread is the training thread and is not evaluating.

    Attributes:
        at_end: Registers a function to call when the loop is over and the last checkpoint saved.
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
        """Completed steps; any thread."""
        return self._loop.step

    @property
    def begun(self) -> bool:
        """True after the first boundary."""
        return self._loop.begun

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves from evaluations between two steps."""
        return self._loop.evaluated

    def count_waits(self, waits: Callable[[], float] | None) -> None:
        """Sets the function that measures waits for input; see `TimeUsage.waits`."""
        self._time_usage.waits = waits

    def drop_lines(self, is_false: Callable[[str], bool]) -> None:
        """Drops the lines of TensorFlow's log that are known to be wrong."""
        self._log.is_false = is_false
