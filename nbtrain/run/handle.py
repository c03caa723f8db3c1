"""The loop of a run as the engine sees it."""

from __future__ import annotations

from collections.abc import Callable

from nbtrain.run.boundary import Boundary
from nbtrain.run.context import Context
from nbtrain.run.log import Log
from nbtrain.run.loops import OwnLoop
from nbtrain.run.session_host import SessionHost


class LoopHandle:
    """The interface of an attempt for its engine; training thread only.

    Attributes:
        host: Accepts the sessions of the engine, and tells if a stop was requested.
        is_own_thread: Tells if the calling thread is the training thread and is not evaluating.
        reach: The step boundary; tells if the loop must end.
        record: Stores scalars for the current step.
        settle: Assigns what the program has set since the last boundary to the completed step.
        note: Shows a warning in the panel; None clears it.
        inform: Shows a message that is not a warning.
        time_usage: Measures the time of the training thread by kind.
        bindings: Watches the structure of models.
        log: The lines that TensorFlow logged in the training thread.
    """

    def __init__(
        self,
        context: Context,
        boundary: Boundary,
        loop: OwnLoop,
        host: SessionHost,
        is_own_thread: Callable[[], bool],
    ) -> None:
        self.host = host
        self.is_own_thread = is_own_thread
        self.reach, self.record, self.settle = loop.reach, loop.record, boundary.settle
        self.note, self.inform = context.monitor.notices.note, context.monitor.notices.inform
        self.time_usage = context.monitor.time_usage
        self.bindings = context.bindings
        self.log = Log()
        self._boundary = boundary

    @property
    def step(self) -> int:
        """Completed steps; any thread."""
        return self._boundary.steps.step

    @property
    def begun(self) -> bool:
        """True after the first boundary."""
        return self._boundary.begun

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves from evaluations between two steps."""
        return self._boundary.evaluated
