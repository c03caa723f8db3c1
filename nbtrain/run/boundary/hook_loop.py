"""The loop of a MonitoredSession, whose hook counts the steps.

hook_loop.attach(saver, step)           # the session is open
hook_loop.arrive(1, values, recount)    # after each call of the session
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import SupportsFloat

from nbtrain.checkpoints.files import Saver
from nbtrain.run.boundary.boundary import Boundary, Counting
from nbtrain.run.boundary.session_loop import SessionLoop
from nbtrain.run.context import Context


class HookLoop:
    """The loop of a MonitoredSession, whose hook counts the steps; training thread only."""

    def __init__(self, context: Context, boundary: Boundary, session: SessionLoop) -> None:
        self._boundary = boundary
        self._session = session
        self._steps = context.steps
        self._queue = context.recorder.queue
        self._tags = boundary.tags

    def attach(self, saver: Saver | None, step: int, *, again: bool) -> None:
        """Starts counting the steps of a session by its hook."""
        boundary = self._boundary
        boundary.count_by(Counting.HOOK)
        if again:
            boundary.policy.lose()
        self._steps.move_to(step)
        self._session.go_on(saver)
        if boundary.begun:
            boundary.executor.open_segment()
        else:
            self._session.gone_on = self._session.left = False
            boundary.begin()

    def arrive(
        self,
        steps: int,
        values: Mapping[str, SupportsFloat] | None,
        recount: Callable[[int], int],
    ) -> bool:
        """Handles the boundary after a call of the session; returns whether the loop must end.

        Args:
            steps: Steps that the call has trained; 0 if none.
            recount: Returns the exact step for an expected one. Called whenever there is work
                besides counting.
        """
        at_hand = self._steps
        before = at_hand.step
        step = before + steps
        look = step >= at_hand.next
        if look:
            step = recount(step)
        at_hand.step = step
        if step < before:
            self._boundary.executor.open_segment()
        if steps and values:
            tags = self._tags
            if values.keys() != tags.last:
                tags.admit(values)
            if tags.changing:  # a session returns a fed array itself, not a copy
                values = tags.read(values)
            self._queue.append(step, time.time(), values)
        return look and self._boundary.look_up()
