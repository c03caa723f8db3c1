"""The loops that count a run's steps and call its boundary between two of them.

    while not own_loop.reach():             # a loop of the program: once per step
        own_loop.record({"loss": loss}, {}, None)

    StepLoop(...).drive(step)               # the run's loop, in one frame

For the loop of a MonitoredSession, see `hook_loop`; for a session whose loop may never ask whether
to stop, `session_loop`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

from nbtrain.core.errors import ArgumentError
from nbtrain.media.samples import taken
from nbtrain.recording.tags import by_tag
from nbtrain.run.boundary.boundary import Boundary, Counting
from nbtrain.run.boundary.session_loop import SessionLoop
from nbtrain.run.context import Context

_NEVER = sys.maxsize
_NOBODY, _LOOP, _HOOK = Counting  # quicker than by their names


class OwnLoop:
    """A loop that asks once per step whether to stop; training thread only.

    Attributes:
        driven: Whether a `StepLoop` counts the steps.
    """

    def __init__(self, context: Context, boundary: Boundary, session: SessionLoop) -> None:
        self.driven = False
        self._boundary = boundary
        self._session = session
        self._coord = context.coord
        self._steps = context.steps
        self._commands = context.commands
        self._recorder, self._queue = context.recorder, context.recorder.queue
        self._tags = boundary.tags
        self._note = context.monitor.notices.note

    def reach(self, *, last: bool = False, ended: bool = False) -> bool:
        """Handles the boundary between two steps; returns whether the loop must end.

        A step function that asks only learns whether a stop was requested.

        Args:
            last: Whether the loop ends by itself after this step.
            ended: Whether the user's code has ended it, so that a bad value pauses no more.
        """
        if self.driven or self._steps.tracked:
            return bool(self._coord.should_stop())
        return self.count_and_look(last=last, ended=ended)

    def count_and_look(self, *, last: bool = False, ended: bool = False) -> bool:
        """Does what `reach` does, also if a step function or a tracked loop takes the steps."""
        boundary, steps = self._boundary, self._steps
        if last:
            self._commands.call()
        if boundary.counting is _NOBODY:
            self._begin()
        else:
            self.count()
        must_end = steps.step >= steps.next and boundary.look_up(last=last, ended=ended)
        if boundary.counting is _LOOP and not self._tags.changing:
            steps.thread = self._commands.thread
        return must_end

    def count(self) -> None:
        """Counts a completed step and queues its record, without a boundary."""
        if self._boundary.counting is _LOOP:
            self._steps.step += 1
            self._boundary.hand_over()

    def end(self) -> None:
        """Ends the counting after the boundary of a step; the next loop that asks counts on."""
        if self._boundary.counting is _LOOP and not self.driven:
            self._boundary.count_by(_NOBODY)
            self._session.left = True

    def _begin(self) -> None:
        if self._boundary.begun:  # recorded since the last loop has ended
            self._session.hand_over()
        self._boundary.count_by(_LOOP)
        self._session.gone_on, self._session.left = True, False
        if not self._boundary.begun:
            self._boundary.begin()

    def record(
        self,
        values: Mapping[str, SupportsFloat],
        scalars: dict[str, SupportsFloat],
        step: int | None,
    ) -> None:
        """Stores scalars for the current step.

        Args:
            step: The number of the current step if the program counts its steps itself.

        Raises:
            ArgumentError: `values` is no mapping, a new tag has a value that is no scalar, or
                `step` is below 1.
        """
        # The type first: a check against the abstract class costs more than all the rest.
        if type(values) is not dict:
            values = by_tag(values, "record() was given")
        if values:
            scalars = {**values, **scalars}
        tags, steps = self._tags, self._steps
        if scalars.keys() != tags.last:
            scalars, samples = tags.part(scalars)
            if samples:
                self._record_samples(samples, step)
                if not scalars:
                    return
            tags.admit(scalars)
        self._boundary.best.recorded(scalars)
        if tags.changing:
            scalars = tags.read(scalars)
        if step is not None and (type(step) is not int or not 0 < step < _NEVER):
            step = _whole(step)
        if self._boundary.counting is _HOOK:
            self._queue.append(steps.step if step is None else step, time.time(), scalars)
            return
        if steps.values is not None:  # the second of this step
            scalars = self._joined(scalars)
        steps.tags, steps.values = self._queue.tags_of(scalars), (*scalars.values(),)
        if tags.changing:
            steps.thread = 0  # values with these tags must be read at once
        if self.driven:
            self._commands.call()
        if step is not None:
            if not steps.steps_done:  # the program continues its own earlier count
                steps.move_to(step - 1)
            steps.step = step - 1
            self._session.left = False

    def _joined(self, scalars: dict[str, SupportsFloat]) -> dict[str, SupportsFloat]:
        """Joins scalars with those that were recorded earlier in this step; tells of equal tags."""
        steps = self._steps
        earlier = dict(zip(steps.tags, steps.values or (), strict=True))
        if again := [tag for tag in scalars if tag in earlier]:
            self._note(
                "again",
                f"{again[0]} was recorded more than once in a step: the last value counts. A step "
                "ends where the loop asks run.should_stop(), or with a turn of the innermost "
                "tracked loop: track the one that takes the steps.",
            )
        return {**earlier, **scalars}

    def _record_samples(self, samples: Mapping[str, Any], step: int | None) -> None:
        """Keeps samples until the number of their step is known: at the next boundary."""
        now = time.time()
        kept = [(tag, now, *taken(tag, value)) for tag, value in samples.items()]
        recorder = self._recorder
        if step is not None or self._boundary.counting is _HOOK:
            at = self._steps.step if step is None else _whole(step)
            for tag, wall_time, value, of in kept:
                recorder.add_sample(tag, at, wall_time, value, of)
            return
        self._steps.samples += kept
        self._steps.thread = 0
        if self.driven:
            self._commands.call()

    def record_execution(self, values: Mapping[str, SupportsFloat], count: int) -> None:
        """Stores scalars for the last of several steps that were taken since the boundary."""
        self.record(values, {}, None)
        self._steps.step += count - 1
        self._session.left = False


class StepLoop:
    """The run's own loop, in one frame; training thread only."""

    def __init__(
        self, context: Context, boundary: Boundary, session: SessionLoop, own: OwnLoop
    ) -> None:
        self._context = context
        self._boundary = boundary
        self._session = session
        self._own = own

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """Calls `step` and records its result until the loop must end.

        The same as calling `reach` and `record` in turn, but faster: after a step that has
        emptied the processor's caches, every Python call costs a microsecond.
        """
        if self._own.reach():
            return
        self._own.driven = True
        self._context.steps.thread = 0
        try:
            self._drive(step)
        except BaseException:
            self._context.steps.values = None  # of a step that was not completed
            self._context.steps.samples.clear()
            raise
        finally:
            self._own.driven = self._session.gone_on = False
            if self._boundary.counting is _LOOP:
                self._boundary.count_by(_NOBODY)

    def _drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        now, queue, known = time.time, self._context.recorder.queue, self._boundary.tags
        at_hand, look_up = self._context.steps, self._boundary.look_up
        items, most_items, changing = queue.items, queue.most_items, known.changing
        tags: tuple[str, ...] = ()
        while True:
            values = step()
            if type(values) is not dict:
                values = by_tag(values)
            if tuple(values) != tags:
                known.admit(values)
                tags = queue.tags_of(values)
            if changing:
                values = known.read(values)
            at_hand.step = number = at_hand.step + 1
            if tags and len(items) < most_items:
                items.extend((tags, number, now(), *values.values()))
            elif tags:
                queue.append(number, now(), values)  # thins the waiting records
            if number >= at_hand.next and look_up():
                return


def _whole(step: object) -> int:
    """Returns the number of a step, which may be given as a variable or an array."""
    try:
        number = int(step)  # type: ignore[call-overload]
        if number == step and 0 < number < _NEVER:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"step={step!r}: the number of a step that was done is a whole number of at least 1."
    )
