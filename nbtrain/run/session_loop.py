"""The session that a loop has open, whose saver the run's checkpoints are.

session.go_on(saver, due, step)    # it is open: the count goes on from its latest checkpoint
    session.pass_by(recount)       # before each of its calls: a boundary, if the loop never asks
session.let_go()                   # before it closes: a last checkpoint
session.leave(finished=True)       # after the loop: the last record, and the last checkpoint

What a step function trains has such a session as well: one that is open for as long as the run.
"""

from __future__ import annotations

from collections.abc import Callable

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.run.boundary import Boundary, Counting
from nbtrain.run.context import Context

_NOBODY, _HOOK = Counting.NOBODY, Counting.HOOK  # quicker than by their names


class SessionLoop:
    """The session of one attempt of a run; training thread only.

    Args:
        context: The collaborators of the attempt.
        boundary: Its step boundary.

    Attributes:
        taken_up: Whether the count goes on from the latest checkpoint, as far as there is one.
        gone_on: Whether a loop of the program's own may have trained since it asked.
        left: Whether the session is closed, and no step was taken since.
    """

    def __init__(self, context: Context, boundary: Boundary) -> None:
        self._context = context
        self._boundary = boundary
        self.taken_up = self.gone_on = self.left = False
        self._counted = False  # it counts its steps itself
        self._passing = False  # `pass_by` is at work, or must not be
        self._handed = 0  # step of the record that was handed over last

    def go_on(self, saver: Saver | None, due: Every | None = None, step: int | None = None) -> None:
        """Take up the latest checkpoint of a saver's folder, if there is one.

        Args:
            saver: Saves and restores from now on; None leaves it to the one before.
            due: When it saves; None keeps to the settings.
            step: Where it begins without a checkpoint; None keeps to the count.
        """
        if saver is None:
            return
        boundary, steps, total = self._boundary, self._context.steps, self._context.settings.steps
        self._counted = step is not None
        restored = boundary.policy.take_up(saver, due)
        boundary.again = boundary.again or restored
        if step is not None and not restored:
            steps.move_to(step)
        self.taken_up = True
        if total is not None and steps.step >= total:
            self._context.monitor.note(
                "steps",
                f"Already at step {steps.step:,} of {total:,}: there is nothing left to "
                "train. Give more steps=, or another name= to begin anew.",
            )
        boundary.policy.start()
        self._context.commands.call()
        hooked = boundary.counting is _HOOK
        self.gone_on, self.left, self._handed = not hooked, False, steps.step
        if boundary.begun and not hooked:
            boundary.count_by(_NOBODY)
            steps.values = None  # no step of its own is at hand
            boundary.open_segment()

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Before a call of a session, whose loop may not ask whether to stop: then, in its place.

        Args:
            recount: Gives the session's own step, where this one is expected.
        """
        boundary = self._boundary
        if boundary.counting is not _NOBODY or self._passing:
            return
        steps = self._context.steps
        if steps.values:  # of a step that is done, and may be counted already
            steps.step += steps.step <= self._handed
            self._handed = steps.step
            boundary.hand_over()
        if boundary.told or steps.step < steps.next:
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
                boundary.open_segment()
            boundary.look_up()
        finally:
            self._passing = False

    def let_go(self) -> None:
        """The session is about to close: a last checkpoint."""
        boundary, steps = self._boundary, self._context.steps
        step, self._passing = steps.step, True
        boundary.policy.let_go(gone_on=self.gone_on and not boundary.told)
        if steps.step > step:  # the session has counted the step that was at hand
            boundary.hand_over()
        boundary.count_by(_NOBODY)
        self.gone_on = self._passing = False
        self.left = True

    def leave(self, *, finished: bool) -> None:
        """After the loop: the record of a finished step, what still waits, a last checkpoint."""
        steps = self._context.steps
        if finished and steps.values is not None:  # the loop was left without a last boundary
            steps.step += not self.left
            self._boundary.hand_over()
        self._boundary.leave(finished=finished)
        # What an error has left is no step, unless the session counts its own.
        self.gone_on = self.gone_on and (finished or self._counted)
        self.let_go()
