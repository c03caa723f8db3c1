"""The loop of a run as the engine sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import SupportsFloat

from nbtrain.checkpoints.files import Saver
from nbtrain.run.beside.time_usage import TimeUsage
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.boundary.loop import Counting, Loop
from nbtrain.run.boundary.remote_loop import RemoteLoop
from nbtrain.run.boundary.session_host import SessionHost
from nbtrain.run.boundary.track_loop import TrackLoop
from nbtrain.run.context import Context
from nbtrain.run.output.tensorflow_log import Log
from nbtrain.run.program.bindings import Bindings
from nbtrain.run.thread.summaries import recording_summaries


class LoopHandle:
    """The interface of an attempt for its engine; training thread only.

    Attributes:
        steps: The current step, which `should_stop` and `record` of the run count and fill.
        host: Accepts the sessions of the engine, and returns whether a stop was requested.
        is_own_thread: Returns whether the calling thread is the training thread, not evaluating.
        is_evaluating: Returns whether the training thread evaluates between two steps.
        should_stop: The step boundary; returns whether the loop must end.
        record: Stores scalars for the current step.
        track: The loops of the program over tracked iterables.
        note: Shows a warning in the panel; None clears it.
        inform: Shows a message that is not a warning.
        log: The lines that TensorFlow logged in the training thread.
        remote: The loop of steps that other processes take.
    """

    def __init__(
        self,
        context: Context,
        boundary: Boundary,
        loop: Loop,
        track: TrackLoop,
        host: SessionHost,
        remote: RemoteLoop,
        is_own_thread: Callable[[], bool],
        is_evaluating: Callable[[], bool],
    ) -> None:
        self.steps = boundary.steps
        self.host, self.remote = host, remote
        self.is_own_thread, self.is_evaluating = is_own_thread, is_evaluating
        self.should_stop, self.record = loop.should_stop, loop.record
        self.note, self.inform = context.monitor.notices.note, context.monitor.notices.inform
        self.track = track
        self.log = Log()
        self._context, self._boundary, self._loop = context, boundary, loop

    def inform_too(self, text: str) -> None:
        """Adds a paragraph to the message that is not a warning."""
        self._context.monitor.notices.inform_too(text)

    @property
    def time_usage(self) -> TimeUsage:
        """The time of the training thread by kind."""
        return self._context.monitor.time_usage

    @property
    def bindings(self) -> Bindings:
        """Watches the structure of models."""
        return self._context.bindings

    @property
    def saver(self) -> Saver | None:
        """The saver of the open session; None if nothing saves the run."""
        return self._boundary.policy.saver

    @property
    def step(self) -> int:
        """Completed steps; any thread."""
        return self._boundary.steps.step

    @property
    def steps_done(self) -> int:
        """Steps that were taken in this attempt; any thread."""
        return self._boundary.steps.steps_done

    @property
    def begun(self) -> bool:
        """True after the first boundary."""
        return self._boundary.begun

    @property
    def counts(self) -> bool:
        """True while a loop counts the steps."""
        return self._loop.counting is not Counting.NOBODY

    def summaries(self) -> AbstractContextManager[None]:
        """Records what the calling thread writes with `tf.summary` within a block."""
        return recording_summaries(self._context.recorder, self._current_step, self.note)

    def _current_step(self) -> int:
        """The current step; during an evaluation the last completed one; any thread."""
        return self.step + (not self.is_evaluating())

    def collect_changes(self) -> None:
        """Assigns values that the program has set since the last boundary to the completed step."""
        self._boundary.collect_changes()

    def record_execution(self, values: Mapping[str, SupportsFloat], count: int) -> None:
        """Stores scalars for the last of several steps that were taken since the boundary."""
        self._loop.record_execution(values, count)

    @property
    def waits(self) -> bool:
        """True if restored values wait for their variables, and no step was taken since."""
        return self._boundary.policy.proof.waits

    def complete_restore(self) -> None:
        """Restores variables that were created since a restore, if no step has trained them."""
        self._boundary.policy.complete_restore()

    def count(self) -> None:
        """Counts a completed step that has no boundary because of an error."""
        self._loop.count()

    def end(self) -> None:
        """Ends the counting after the boundary of a step, until another loop asks."""
        self._loop.end_counting()

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves from evaluations between two steps."""
        return self._boundary.evaluated
