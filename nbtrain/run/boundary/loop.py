"""The loop of a run: it counts the steps, and calls the boundary between two of them.

    loop.resume(saver)                      # the session is open: restores the latest checkpoint
    while not loop.should_stop():           # the program's own loop: once per step
        loop.record({"loss": loss}, {}, None)
    loop.end(finished=True)                 # queues the last record, executes commands, saves

These replace `should_stop` and `record` if the program does not ask:

    loop.drive(step)                        # calls a step function, in one frame
    loop.after_call(1, values, recount)     # after each call of a MonitoredSession, by its hook
    loop.before_call(recount)               # before each call of a Supervisor's session

Each counts the step, queues its record, and calls the boundary if the step is due. `drive`,
`Run.should_stop` and `TrackLoop.turns` contain this code inline: after a step that has emptied the
caches of the processor, every Python call costs a microsecond.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError
from nbtrain.media.samples import kept_copy
from nbtrain.recording.tags import KnownTags, by_tag
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.context import Context
from nbtrain.run.why.experiment import Experiment, LoopSource

_NEVER = sys.maxsize


class Counting(Enum):
    """The part that counts the steps at this moment."""

    NOBODY = "nobody"
    ASKING = "asking"  # a loop that asks whether to stop
    DRIVE = "drive"  # `drive`, which calls a step function
    HOOK = "hook"  # the hook of a MonitoredSession
    BOUNDARY = "boundary"  # the boundary, whose own calls of a session are no steps


_NOBODY, _ASKING, _DRIVE, _HOOK, _BOUNDARY = Counting  # quicker than by their names


class Loop:
    """The loop of one attempt of a run, and the session that it has open; training thread only.

    A run with a step function has a session too: it is open as long as the run trains.

    Attributes:
        tags: The tags that were recorded so far.
        counting: The part that counts the steps.
        resumed: Whether the latest checkpoint was restored, or there was none.
        may_have_trained: Whether a loop of the program may have trained since it last asked.
        is_counted: Whether what is recorded now belongs to a step that is counted already.
    """

    def __init__(self, context: Context, boundary: Boundary) -> None:
        self.tags = KnownTags()
        self.counting = _NOBODY
        self.resumed = self.may_have_trained = self.is_counted = False
        self._context = context
        self._boundary = boundary
        self._steps = context.steps
        self._commands = context.commands
        self._recorder, self._queue = context.recorder, context.recorder.queue
        self._counts_itself = False  # the session counts its steps itself
        self._queued = 0  # step of the record that was queued last

    # --- the session --------------------------------------------------------------

    def resume(
        self, saver: Saver | None, due: Every | None = None, step: int | None = None
    ) -> None:
        """Continues from the latest checkpoint of a saver's folder, if there is one.

        Args:
            due: The cadence of the checkpoints; None uses the cadence of the settings.
            step: The first step without a checkpoint; None keeps the present count.
        """
        if saver is None:
            return
        boundary, steps, total = self._boundary, self._steps, self._context.settings.steps
        self._counts_itself = step is not None
        boundary.executor.control.given.read()
        restored = boundary.policy.resume(saver, due)
        if step is not None and not restored:
            steps.move_to(step)
        self.resumed = True
        if total is not None and steps.step >= total:
            self._context.monitor.notices.note(
                "steps",
                f"Already at step {steps.step:,} of {total:,}: there is nothing left to "
                "train. Give more steps=, or another name= to start from scratch.",
            )
        boundary.policy.start()
        self._commands.call()
        hooked = self.counting is _HOOK
        self.may_have_trained, self.is_counted, self._queued = not hooked, False, steps.step
        if boundary.begun and not hooked:
            self._count_by(_NOBODY)
            steps.values = None  # no step of this session is current
            steps.samples.clear()
            boundary.executor.open_segment()

    def close_session(self) -> None:
        """Saves a last checkpoint before the session closes."""
        boundary, steps = self._boundary, self._steps
        step = steps.step
        self._count_by(_BOUNDARY)
        boundary.policy.close(may_have_trained=self.may_have_trained and not boundary.must_end)
        if steps.step > step:  # the session has counted the current step
            boundary.queue_record()
        self._count_by(_NOBODY)
        self.may_have_trained, self.is_counted = False, True

    def end(self, *, finished: bool) -> None:
        """Ends the loop: queues the last record, executes waiting commands, and saves."""
        steps = self._steps
        if finished and steps.is_recorded:  # the loop ended without a last boundary
            steps.step += not self.is_counted
            self._boundary.queue_record()
        self._boundary.end(finished=finished)
        # An error leaves an incomplete step, which does not count unless the session counts it.
        self.may_have_trained = self.may_have_trained and (finished or self._counts_itself)
        self.close_session()

    # --- a loop that asks ---------------------------------------------------------

    def should_stop(self, *, last: bool = False, ended: bool = False) -> bool:
        """Handles the boundary between two steps; returns whether the loop must end.

        A step function that asks only learns whether a stop was requested.

        Args:
            last: Whether the loop ends by itself after this step.
            ended: Whether the user's code has ended the loop, so that a bad value no longer pauses
                it.
        """
        if self.counting is _DRIVE or self._steps.tracked:
            return bool(self._context.coord.should_stop())
        return self.count_and_act(last=last, ended=ended)

    def count_and_act(self, *, last: bool = False, ended: bool = False) -> bool:
        """Does what `should_stop` does, also for a tracked loop."""
        boundary, steps = self._boundary, self._steps
        if last:
            self._commands.call()
        if self.counting is _NOBODY:
            self._begin()
        else:
            self.count()
        must_end = steps.step >= steps.next and boundary.act(last=last, ended=ended)
        if self.counting is _ASKING and not self.tags.changing and steps.present is None:
            steps.thread = self._commands.thread
        return must_end

    def count(self) -> None:
        """Counts a completed step and queues its record, without a boundary."""
        if self.counting is _ASKING:
            self._steps.step += 1
            self._boundary.queue_record()

    def end_counting(self) -> None:
        """Ends the counting after the boundary of a step, until another loop asks."""
        if self.counting is _ASKING:
            self._count_by(_NOBODY)
            self.is_counted = True

    def _begin(self) -> None:
        if self._boundary.begun:  # recorded since the last loop has ended
            self._queue_left()
        self._count_by(_ASKING)
        self.may_have_trained, self.is_counted = True, False
        if not self._boundary.begun:
            self._boundary.begin()

    def _count_by(self, who: Counting) -> None:
        """Sets the part that counts the steps from now on."""
        self.counting = who
        self._steps.thread = 0

    def _queue_left(self) -> None:
        """Queues what was recorded outside of a loop, and counts its step if nobody has."""
        steps = self._steps
        if steps.holds:
            steps.step += steps.step <= self._queued
            self._queued = steps.step
            self._boundary.queue_record()

    # --- a step function ----------------------------------------------------------

    def drive(
        self, step: Callable[[], Mapping[str, SupportsFloat]], source: LoopSource | None = None
    ) -> None:
        """Calls `step` and records its result until the loop must end.

        Args:
            source: The elements that the step draws; None if unknown.
        """
        questions = self._boundary.executor.questions
        with questions.taken_by(functools.partial(_take_steps, step), source):
            if not self.should_stop():
                self._begin_driving(step)

    def _begin_driving(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        self._count_by(_DRIVE)
        try:
            self._drive(step)
        except BaseException:
            self._steps.values = None  # the values of a step that was not completed
            self._steps.samples.clear()
            raise
        finally:
            self.may_have_trained = False
            if self.counting is _DRIVE:
                self._count_by(_NOBODY)

    def _drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        now, queue, known = time.time, self._queue, self.tags
        steps, act = self._steps, self._boundary.act
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
            steps.step = number = steps.step + 1
            if tags and len(items) < most_items:
                items.extend((tags, number, now(), *values.values()))
            elif tags:
                queue.append(number, now(), values)  # thins the waiting records
            if number >= steps.next and act():
                return

    # --- sessions of TensorFlow 1 -------------------------------------------------

    def before_call(self, recount: Callable[[int], int]) -> None:
        """Handles the boundary before a call of the session, if the loop does not ask itself.

        Args:
            recount: Returns the exact step for an expected one.
        """
        boundary, steps = self._boundary, self._steps
        if self.counting is not _NOBODY:
            return
        self._queue_left()
        if boundary.must_end or steps.step < steps.next:
            return
        self._count_by(_BOUNDARY)
        try:
            if not boundary.begun:
                self.may_have_trained, self.is_counted = True, False
                boundary.begin()
                self._queued = steps.step
            before = steps.step
            steps.step = recount(before)
            if steps.step < before:
                boundary.executor.open_segment()
            boundary.act()
        finally:
            self._count_by(_NOBODY)

    def count_by_hook(self, saver: Saver | None, step: int, *, again: bool) -> None:
        """Makes the hook of a new MonitoredSession count the steps.

        Args:
            step: The step of the session.
            again: Whether an earlier session was lost.
        """
        boundary = self._boundary
        self._count_by(_HOOK)
        if again:
            boundary.policy.lose()
        self._steps.move_to(step)
        self.resume(saver)
        if boundary.begun:
            boundary.executor.open_segment()
        else:
            self.may_have_trained = self.is_counted = False
            boundary.begin()

    def after_call(
        self,
        count: int,
        values: Mapping[str, SupportsFloat] | None,
        recount: Callable[[int], int],
    ) -> bool:
        """Handles the boundary after a call of the session; returns whether the loop must end.

        Args:
            count: Steps that the call has trained; 0 if none.
            recount: Returns the exact step for an expected one. Called whenever there is work
                besides counting.
        """
        steps = self._steps
        before = steps.step
        step = before + count
        due = step >= steps.next
        if due:
            step = recount(step)
        steps.step = step
        if step < before:
            self._boundary.executor.open_segment()
        if count and values:
            tags = self.tags
            if values.keys() != tags.last:
                tags.admit(values)
            if tags.changing:  # a session returns a fed array itself, not a copy
                values = tags.read(values)
            self._queue.append(step, time.time(), values)
        return due and self._boundary.act()

    # --- recording ----------------------------------------------------------------

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
        if self._steps.present is not None and self.counting is not _ASKING:
            return
        # The type first: a check against the abstract class costs more than everything else.
        if type(values) is not dict:
            values = by_tag(values, "record() was given")
        if values:
            scalars = {**values, **scalars}
        if step is not None and (type(step) is not int or not 0 < step < _NEVER):
            step = _whole(step)
        tags, steps = self.tags, self._steps
        if scalars.keys() != tags.last:
            scalars, samples = tags.part(scalars)
            if samples:
                self._record_samples(samples, step)
                if not scalars:
                    if self.counting is not _NOBODY:
                        self._number(step)
                    return
            tags.admit(scalars)
        self._boundary.best.recorded(scalars)
        if tags.changing:
            scalars = tags.read(scalars)
        if self.counting is _HOOK:
            self._queue.append(steps.step if step is None else step, time.time(), scalars)
            return
        if steps.values is not None:  # the second of this step
            scalars = self._joined(scalars)
        steps.tags, steps.values = self._queue.tags_of(scalars), (*scalars.values(),)
        if tags.changing:
            steps.thread = 0  # values with these tags must be read at once
        if self.counting is _DRIVE:
            self._commands.call()
        self._number(step)

    def _number(self, step: int | None) -> None:
        """Sets the number of the current step, which was recorded, if the program counts it."""
        steps = self._steps
        if step is None or self.counting is _HOOK:
            return
        if steps.values is None:  # only samples were recorded
            steps.tags, steps.values = (), ()
        if not steps.steps_done:  # the program continues its own earlier count
            steps.move_to(step - 1)
        steps.step = step - 1
        self.is_counted = False

    def _joined(self, scalars: dict[str, SupportsFloat]) -> dict[str, SupportsFloat]:
        """Joins scalars with those that were recorded earlier in this step; reports equal tags."""
        steps = self._steps
        earlier = dict(zip(steps.tags, steps.values or (), strict=True))
        if again := [tag for tag in scalars if tag in earlier]:
            self._context.monitor.notices.note(
                "again",
                f"{again[0]} was recorded more than once in a step: the last value counts. A step "
                "ends where the loop asks run.should_stop(), or with a turn of the innermost "
                "tracked loop: track the one that takes the steps.",
            )
        return {**earlier, **scalars}

    def _record_samples(self, samples: Mapping[str, Any], step: int | None) -> None:
        """Keeps samples until the number of their step is known: at the next boundary."""
        now = time.time()
        kept = [(tag, now, *kept_copy(tag, value)) for tag, value in samples.items()]
        if step is not None or self.counting is _HOOK:
            at = self._steps.step if step is None else step
            for tag, wall_time, value, of in kept:
                self._recorder.add_sample(tag, at, wall_time, value, of)
            return
        self._steps.samples += kept
        self._steps.thread = 0
        if self.counting is _DRIVE:
            self._commands.call()

    def record_execution(self, values: Mapping[str, SupportsFloat], count: int) -> None:
        """Stores scalars for the last of several steps that were taken since the boundary."""
        self.record(values, {}, None)
        self._steps.step += count - 1
        self.is_counted = False


def _whole(step: object) -> int:
    """Returns the number of a step, which may be a variable or an array."""
    try:
        number = int(step)  # type: ignore[call-overload]
        if number == step and 0 < number < _NEVER:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"step={step!r}: the number of a step that was done is a whole number of at least 1."
    )


def _take_steps(step: Callable[[], Mapping[str, SupportsFloat]], experiment: Experiment) -> None:
    """Takes the steps of an experiment by calls of a step function."""
    while not experiment.is_over:
        try:
            with experiment.step():
                values = step()
        except (StopIteration, tf.errors.OutOfRangeError):
            if experiment.draw_again():
                continue
            raise
        except Exception as error:  # noqa: BLE001 - raised unless the question allows for it
            experiment.failed(error)
            continue
        experiment.took(values)
