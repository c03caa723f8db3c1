"""The loop of a run as the engine sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from nbtrain.checkpoints.files import Saver
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.boundary.loop import Counting, Loop
from nbtrain.run.boundary.remote_loop import RemoteLoop
from nbtrain.run.boundary.session_host import SessionHost
from nbtrain.run.boundary.track_loop import TrackLoop
from nbtrain.run.context import Context
from nbtrain.run.output.tensorflow_log import Log
from nbtrain.run.thread.summaries import recording_summaries


class LoopHandle:
    """The interface of an attempt for its engine; training thread only.

    Attributes:
        steps: The current step, which `should_stop` and `record` of the run count and fill.
        host: Accepts the sessions of the engine, and returns whether a stop was requested.
        remote: The loop of steps that other processes take.
        track: The loops of the program over tracked iterables.
        is_own_thread: Returns whether the calling thread is the training thread, not evaluating.
        is_evaluating: Returns whether the training thread evaluates between two steps.
        should_stop: The step boundary; returns whether the loop must end.
        record: Stores scalars for the current step.
        record_execution: Stores scalars for the last of several steps.
        count: Counts a completed step that has no boundary because of an error.
        end: Ends the counting after the boundary of a step, until another loop asks.
        collect_changes: Assigns values that the program has set since the last boundary to the
            completed step.
        copy_soon: Makes a copy of the good state due, when data begin.
        complete_restore: Restores variables that were created since a restore, if no step has
            trained them.
        bindings: Watches the structure of models.
        time_usage: The time of the training thread by kind.
        note: Shows a warning in the panel; None clears it.
        inform: Shows a message that is not a warning.
        inform_too: Adds a paragraph to that message.
        taken_by: Has a function take the steps of experiments within a block.
        log: The lines that TensorFlow logged in the training thread.
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
        self.host, self.remote, self.track = host, remote, track
        self.is_own_thread, self.is_evaluating = is_own_thread, is_evaluating
        self.should_stop, self.record = loop.should_stop, loop.record
        self.record_execution = loop.record_execution
        self.count, self.end = loop.count, loop.end_counting
        self.collect_changes = boundary.collect_changes
        self.taken_by = boundary.executor.questions.taken_by
        self.copy_soon = boundary.policy.copy_soon
        self.complete_restore = boundary.policy.complete_restore
        self.bindings, self.time_usage = context.bindings, context.monitor.time_usage
        notices = context.monitor.notices
        self.note, self.inform, self.inform_too = notices.note, notices.inform, notices.inform_too
        self.log = Log()
        self._context, self._boundary, self._loop = context, boundary, loop

    @property
    def saver(self) -> Saver | None:
        """The saver of the open session; None if nothing saves the run."""
        return self._boundary.policy.saver

    @property
    def step(self) -> int:
        """Completed steps; any thread."""
        return self.steps.step

    @property
    def steps_done(self) -> int:
        """Steps that were taken in this attempt; any thread."""
        return self.steps.steps_done

    @property
    def begun(self) -> bool:
        """True after the first boundary."""
        return self._boundary.begun

    @property
    def counts(self) -> bool:
        """True while a loop counts the steps."""
        return self._loop.counting is not Counting.NOBODY

    @property
    def waits(self) -> bool:
        """True if restored values wait for their variables, and no step was taken since."""
        return self._boundary.policy.proof.waits

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves from evaluations between two steps."""
        return self._boundary.executor.evaluator.tags

    def summaries(self) -> AbstractContextManager[None]:
        """Records what the calling thread writes with `tf.summary` within a block."""
        return recording_summaries(self._context.recorder, self._current_step, self.note)

    def _current_step(self) -> int:
        """The current step; during an evaluation the last completed one; any thread."""
        return self.step + (not self.is_evaluating())
