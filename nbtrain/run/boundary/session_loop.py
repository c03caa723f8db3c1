"""The session that a loop has open, whose saver writes the run's checkpoints.

session.go_on(saver, due, step)    # it is open: continues from its latest checkpoint
    session.pass_by(recount)       # before each call: a boundary, if the loop never asks
session.let_go()                   # before it closes: saves a last checkpoint
session.leave(finished=True)       # after the loop: queues the last record, saves

A run with a step function has such a session too: it is open as long as the run trains.
"""

from __future__ import annotations

from collections.abc import Callable

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.run.boundary.boundary import Boundary, Counting
from nbtrain.run.context import Context

_NOBODY, _HOOK = Counting.NOBODY, Counting.HOOK  # quicker than by their names


class SessionLoop:
    """The session of one attempt of a run; training thread only.

    Attributes:
        taken_up: Whether the latest checkpoint was restored, or there was none.
        gone_on: Whether a loop of the program may have trained since it last asked.
        left: Whether the session is closed and no step was counted since.
    """

    def __init__(self, context: Context, boundary: Boundary) -> None:
        self._context = context
        self._boundary = boundary
        self.taken_up = self.gone_on = self.left = False
        self._counted = False  # the session counts its steps itself
        self._passing = False  # `pass_by` is active, or must do nothing
        self._handed = 0  # step of the record that was queued last

    def go_on(self, saver: Saver | None, due: Every | None = None, step: int | None = None) -> None:
        """Continues from the latest checkpoint of a saver's folder, if there is one.

        Args:
            due: The cadence of the checkpoints; None takes the cadence of the settings.
            step: The first step without a checkpoint; None keeps the present count.
        """
        if saver is None:
            return
        boundary, steps, total = self._boundary, self._context.steps, self._context.settings.steps
        self._counted = step is not None
        boundary.executor.control.given.read()
        restored = boundary.policy.take_up(saver, due)
        if step is not None and not restored:
            steps.move_to(step)
        self.taken_up = True
        if total is not None and steps.step >= total:
            self._context.monitor.notices.note(
                "steps",
                f"Already at step {steps.step:,} of {total:,}: there is nothing left to "
                "train. Give more steps=, or another name= to start from scratch.",
            )
        boundary.policy.start()
        self._context.commands.call()
        hooked = boundary.counting is _HOOK
        self.gone_on, self.left, self._handed = not hooked, False, steps.step
        if boundary.begun and not hooked:
            boundary.count_by(_NOBODY)
            steps.values = None  # no step of this session is current
            steps.samples.clear()
            boundary.executor.open_segment()

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Handles the boundary before a call of the session, if the loop does not ask itself."""
        boundary = self._boundary
        if boundary.counting is not _NOBODY or self._passing:
            return
        self.hand_over()
        steps = self._context.steps
        if boundary.must_end or steps.step < steps.next:
            return
        self._passing = True
        try:
            if not boundary.begun:
                self.gone_on, self.left = True, False
                boundary.begin()
                self._handed = steps.step
            before = steps.step
            steps.step = recount(before)
            if steps.step < before:
                boundary.executor.open_segment()
            boundary.look_up()
        finally:
            self._passing = False

    def hand_over(self) -> None:
        """Queues the record of a completed step, which may be counted already."""
        steps = self._context.steps
        if steps.holds:
            steps.step += steps.step <= self._handed
            self._handed = steps.step
            self._boundary.hand_over()

    def let_go(self) -> None:
        """Saves a last checkpoint before the session closes."""
        boundary, steps = self._boundary, self._context.steps
        step, self._passing = steps.step, True
        boundary.policy.let_go(gone_on=self.gone_on and not boundary.must_end)
        if steps.step > step:  # the session has counted the current step
            boundary.hand_over()
        boundary.count_by(_NOBODY)
        self.gone_on = self._passing = False
        self.left = True

    def leave(self, *, finished: bool) -> None:
        """Ends the loop: queues the last record, executes waiting commands, and saves."""
        steps = self._context.steps
        if finished and (
            steps.values is not None or steps.samples
        ):  # the loop ended without a last boundary
            steps.step += not self.left
            self._boundary.hand_over()
        self._boundary.leave(finished=finished)
        # An error leaves an incomplete step, which does not count unless the session counts it.
        self.gone_on = self.gone_on and (finished or self._counted)
        self.let_go()
