"""The step boundary: the only place where anything is done to a training.

Between two steps the training thread counts the step, hands its record over, saves
when that is due, and executes the commands that wait; paused, it waits here.

    boundary.go_on(saver)          # before the loop: from the latest checkpoint
    while not boundary.reach():    # once a step
        boundary.record({"loss": loss}, {}, None)
    boundary.leave(finished=True)  # after it: the last record, the last checkpoint
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Mapping
from typing import SupportsFloat

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError, PhaseError
from nbtrain.core.states import Event, Phase
from nbtrain.recording.tags import KnownTags, no_mapping
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluation, Evaluator
from nbtrain.run.executor import CommandExecutor
from nbtrain.run.hyperparameter_control import HyperparameterControl
from nbtrain.run.recovery import Recovery
from nbtrain.run.saving import CheckpointPolicy

_NEVER = sys.maxsize


class Boundary:
    """The boundary of one life of a run; its methods belong to the training thread.

    Args:
        context: The collaborators of the attempt.
        evaluate: Evaluates what is trained; None where there is nothing to evaluate.
        again: Whether an earlier life of this run was recorded, perhaps beyond its first step.

    Attributes:
        steps: The step at hand, which `Run.should_stop` and `Run.record` count and fill
            themselves where nothing else is to be done.
        keeper: Keeps the checkpoints.
        flush: Records what the program has set; may be called by any thread.
        taken_up: Whether the count goes on from the latest checkpoint, as far as there is one.
    """

    def __init__(self, context: Context, evaluate: Evaluation | None, *, again: bool) -> None:
        self._context = context
        settings, recorder, monitor = context.settings, context.recorder, context.monitor
        self.steps = context.steps
        self.policy = CheckpointPolicy(settings.save_cadence(), monitor, recorder, self.steps)
        attend = functools.partial(setattr, self.steps, "next", 0)
        self._control = HyperparameterControl(
            context.hyperparameters, recorder, monitor, self.policy.outdate, attend
        )
        self.flush = self._control.flush
        self._evaluator = Evaluator(evaluate, settings.evaluate_cadence(), recorder, monitor)
        self._executor = CommandExecutor(context, self.policy, self._control, self._evaluator)
        self._recovery = Recovery(context, self._executor, self.policy)
        self._total = settings.steps
        self._lifecycle = context.lifecycle
        self._commands = context.commands
        self._queue = recorder.queue
        self._monitor = monitor
        self._tags = KnownTags()
        self._again = again
        self.begun = self._looping = self._hooked = self._driving = self._over = False
        self.taken_up = False
        self._told = False  # to leave the loop
        self._gone_on = False  # a loop of the program's own may have trained since it asked
        self._counted = False  # its session counts its steps itself
        self._left = False  # its session is closed, and no step was taken since
        self._passing = False  # `pass_by` is at work, or must not be
        self._handed = 0  # step of the record that it handed over last
        self._ending = False  # the loop will end by itself
        self._later = 0  # step at which to look up, whatever the program sets

    def go_on(self, saver: Saver | None, due: Every | None = None, step: int | None = None) -> None:
        """Take up the latest checkpoint of a saver's folder, if there is one.

        Args:
            saver: Saves and restores from now on; None leaves it to the one before.
            due: When it saves; None keeps to the settings.
            step: Where it begins without a checkpoint; None keeps to the count.
        """
        if saver is None:
            return
        self._counted = step is not None
        restored = self.policy.take_up(saver, due)
        self._again = self._again or restored
        if step is not None and not restored:
            self.steps.move_to(step)
        self.taken_up = True
        if self._total is not None and self.step >= self._total:
            self._monitor.note(
                "steps",
                f"Already at step {self.step:,} of {self._total:,}: there is nothing left to "
                "train. Give more steps=, or another name= to begin anew.",
            )
        self.policy.start()
        self._commands.call()
        self._gone_on, self._handed = not self._hooked, self.step
        self._left = False
        if self.begun and not self._hooked:
            self._looping = False
            self.steps.values = None  # no step of its own is at hand
            self._executor.open_segment()

    @property
    def step(self) -> int:
        """Steps completed; any thread may read it."""
        return self.steps.step

    @property
    def _looping(self) -> bool:
        """Whether the loop of the run is between two calls of `reach`."""
        return self._in_loop

    @_looping.setter
    def _looping(self, looping: bool) -> None:
        self._in_loop = looping
        self.steps.thread = 0

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves that evaluations between two steps have given."""
        return self._evaluator.tags

    def attach(self, saver: Saver | None, step: int, *, again: bool) -> None:
        """A hook has got a session, and counts from now on; `again`: the one before was lost."""
        self._hooked = True
        if again:
            self.policy.lose()
        self.steps.move_to(step)
        self.go_on(saver)
        if self.begun:
            self._looping = False
            self._executor.open_segment()
        else:
            self._begin()

    def arrive(
        self,
        steps: int,
        values: Mapping[str, SupportsFloat] | None,
        recount: Callable[[int], int],
    ) -> bool:
        """The boundary of a hook; returns whether to leave the loop.

        Args:
            steps: By how many the session's run has advanced; 0: it trained nothing.
            values: Scalars of the step.
            recount: Gives the exact step, where this one is expected: asked whenever there
                is something to do besides counting.
        """
        at_hand = self.steps
        before = at_hand.step
        step = before + steps
        look = step >= at_hand.next
        if look:
            step = recount(step)
        at_hand.step = step
        if step < before:
            self._executor.open_segment()
        if steps and values:
            tags = self._tags
            if values.keys() != tags.last:
                tags.admit(values)
            if tags.changing:  # a session gives what it was fed with itself, not a copy
                values = tags.read(values)
            self._queue.append(step, time.time(), values)
        return look and self.look_up()

    def let_go(self) -> None:
        """The saver's session is about to close: a last checkpoint."""
        step, self._passing = self.step, True
        self.policy.let_go(gone_on=self._gone_on and not self._told)
        if self.step > step:  # the session has counted the step that was at hand
            self.hand_over()
        self._looping = self._hooked = self._gone_on = self._passing = False
        self._left = True

    def reach(self) -> bool:
        """Do what is to be done between two steps; returns whether to leave the loop."""
        at_hand = self.steps
        if self._looping:
            at_hand.step += 1
            self.hand_over()
        elif not self._hooked:
            self._begin()
        told = at_hand.step >= at_hand.next and self.look_up()
        if self._looping and not self._tags.changing:
            at_hand.thread = self._commands.thread
        return told

    def reach_last(self) -> bool:
        """The same, where the loop ends by itself after it: what has gone bad is seen here."""
        self._ending = True
        self._commands.call()
        try:
            return self.reach()
        finally:
            self._ending = False

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Before a call of a session, whose loop may not ask whether to stop: then, in its place.

        Args:
            recount: Gives the session's own step, where this one is expected.
        """
        if self._looping or self._hooked or self._passing:
            return
        steps = self.steps
        if steps.values:  # of a step that is done, and may be counted already
            steps.step += steps.step <= self._handed
            self._handed = steps.step
            self.hand_over()
        if self._told or steps.step < steps.next:
            return
        self._passing = True
        try:
            if not self.begun:
                self._begin()
                self._looping, self._handed = False, steps.step  # until it asks
            before = steps.step
            steps.step = recount(before)
            if steps.step < before:
                self._executor.open_segment()
            self.look_up()
        finally:
            self._passing = False

    def record(
        self,
        values: Mapping[str, SupportsFloat],
        scalars: dict[str, SupportsFloat],
        step: int | None,
    ) -> None:
        """Keep scalars for the step at hand; `step` is its number where the program counts.

        Raises:
            ArgumentError: Values that are no mapping, hold what is no scalar under a new tag, or
                a step below 1.
        """
        # The type first: asking the abstract class costs more than all the rest.
        if type(values) is not dict and not isinstance(values, Mapping):
            raise no_mapping(values)
        if values:
            scalars = {**values, **scalars}
        tags = self._tags
        if scalars.keys() != tags.last:
            tags.admit(scalars)
        if tags.changing:
            scalars = tags.read(scalars)
        if step is not None and (type(step) is not int or not 0 < step < _NEVER):
            step = _whole(step)
        if self._hooked:
            self._queue.append(self.step if step is None else step, time.time(), scalars)
            return
        at_hand = self.steps
        if at_hand.values is not None:  # the second of this step
            scalars = {**dict(zip(at_hand.tags, at_hand.values, strict=True)), **scalars}
        at_hand.tags, at_hand.values = self._queue.tags_of(scalars), (*scalars.values(),)
        if tags.changing:
            at_hand.thread = 0  # what comes under these tags is read at once
        if self._driving:
            self._commands.call()
        if step is not None:
            if not at_hand.steps_done:  # it counts on from an earlier training of its own
                at_hand.move_to(step - 1)
            at_hand.step = step - 1
            self._left = False

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """The whole loop in one frame: call `step`, record what it returns, until told to leave.

        The same as `reach` and `record` in turn. After a step that has emptied the
        processor's caches each call of Python's costs a microsecond: here it costs none.

        Raises:
            ArgumentError: As in `record`.
        """
        if self.reach():
            return
        self._driving = True
        self.steps.thread = 0
        try:
            self._drive(step)
        finally:
            self._driving = self._looping = self._gone_on = False

    def _drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        now, queue, at_hand, known = time.time, self._queue, self.steps, self._tags
        items, most_items, changing = queue.items, queue.most_items, known.changing
        tags: tuple[str, ...] = ()
        while True:
            values = step()
            if type(values) is not dict and not isinstance(values, Mapping):
                raise no_mapping(values)
            if tuple(values) != tags:
                known.admit(values)
                tags = queue.tags_of(values)
            if changing:
                values = known.read(values)
            at_hand.step = number = at_hand.step + 1
            if tags and len(items) < most_items:
                items.extend((tags, number, now(), *values.values()))
            elif tags:
                queue.append(number, now(), values)  # which thins them
            if number >= at_hand.next and self.look_up():
                return

    def settle(self) -> None:
        """What the program has set since the last boundary is of the step that is done."""
        self._control.changes.settle(self.step)
        self._look_next()

    def leave(self, *, finished: bool) -> None:
        """After the loop: the record of a finished step, what still waits, a last checkpoint."""
        if finished and self.steps.values is not None:  # the loop was left without a last boundary
            self.steps.step += not self._left
            self.hand_over()
        unused_reason = "" if finished else self._context.bindings.unused_reason()
        # What to do about a pause is of no use any more.
        self._monitor.note(
            "names", f"When the run failed, {unused_reason}." if unused_reason else None
        )
        with contextlib.suppress(PhaseError):  # it is stopping already
            self._lifecycle.apply(Event.LOOP_ENDED)
        self._monitor.note("edit", None)
        self._recovery.forget()
        self.policy.prove()
        self._obey(all_planned=True)
        self._control.end(self.step)
        # What an error has left is no step, unless the session counts its own.
        self._gone_on = self._gone_on and (finished or self._counted)
        self.let_go()

    def end(self, how: str) -> None:
        """The run has ended, in this word."""
        self._executor.end(how)

    @property
    def _at_end(self) -> bool:
        return self._ending or (self._total is not None and self.step >= self._total)

    def _begin(self) -> None:
        self._looping = self._gone_on = not self._hooked
        self._left = False
        if self.begun:
            return
        self.begun = True
        self._monitor.time_usage.begin()
        if self._again or self.step:
            self._context.recorder.open_segment(self.step)
        self._commands.go_back(self.step)
        self._control.begin(self.step)
        self.policy.start()
        self._evaluator.start(self.step)
        self._commands.call()
        with contextlib.suppress(PhaseError):  # asked to stop while preparing
            self._lifecycle.apply(Event.READY)

    def look_up(self) -> bool:
        """Do what is not done at every step; ten times a second, and when something waits."""
        if self.step < self._later and not (self._told or self._commands.attention):
            self.settle()
            return False
        self._commands.attention = False  # first: what comes from now on sets it again
        self.hand_over()  # `record` was called by a step that `drive` called
        at_end = self._at_end
        if not at_end:
            self.policy.save_if_due()
        self.policy.prove()
        self._control.look(self.step)
        self._recovery.look(drain=at_end)
        if self._lifecycle.phase is not Phase.STOPPING:
            self._evaluator.if_due(self.step)
        planned = self._commands.next_step <= self.step  # such as the end of a trial
        if not self._at_end or planned or self._lifecycle.phase is Phase.PAUSED:
            self._executor.hold_still()
            self._obey()
        self._over = self._at_end
        # A whole number: comparing a step with infinity costs more than with it.
        self._later = int(
            min(
                self.policy.next_step,
                self._evaluator.next_step,
                self._commands.next_step,
                self._total or _NEVER,
                _NEVER if self.steps.steps_done else self.step + 1,  # it shows what the steps use
                _NEVER,
            )
        )
        # Not the coordinator's word: a Supervisor that prepares its session clears that.
        self._told = self._over or self._lifecycle.phase is Phase.STOPPING
        self.settle()  # an evaluation, or a cell in a pause, may have set some
        return self._told

    def _look_next(self) -> None:
        self.steps.next = min(self._later, self._control.next_step(self.step))
        # Asked last, as other threads tell too; and whoever asks again is told again.
        if self._told or self._commands.attention or self._control.changes.told:
            self.steps.next = 0

    def hand_over(self) -> None:
        """Hand over the record of the step that was done last, if one is pending.

        Where too many wait, the queue keeps a part.
        """
        at_hand = self.steps
        if at_hand.values:
            values = dict(zip(at_hand.tags, at_hand.values, strict=True))
            self._queue.append(at_hand.step, time.time(), values)
        at_hand.values = None

    def _obey(self, *, all_planned: bool = False) -> None:
        """Execute commands until none is left; while paused, wait for the next."""
        while receipt := self._executor.take(all_planned=all_planned):
            outcome = self._executor.do(receipt)
            if outcome is not None:
                self._monitor.write_journal()  # what is confirmed outlives a kill
                receipt.answer(outcome)


def _whole(step: object) -> int:
    """The number of a step, where it was given as a variable or the like.

    Raises:
        ArgumentError: It is none.
    """
    try:
        number = int(step)  # type: ignore[call-overload]
        if number == step and 0 < number < _NEVER:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"step={step!r}: the number of a step that was done is a whole number of at least 1."
    )
