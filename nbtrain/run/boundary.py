"""The step boundary: the only place where anything is done to a training.

Whoever counts the steps (see `loops`) comes here between two of them:

    boundary.begin()        # at the first: the run is running
    boundary.look_up()      # now and then: save if due, execute commands; paused, wait here
    boundary.hand_over()    # the record of a step that was counted
    boundary.leave(...)     # after the loop: what still waits
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from enum import Enum

from nbtrain.core.errors import PhaseError
from nbtrain.core.states import Event, Phase
from nbtrain.recording.tags import KnownTags
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluation, Evaluator
from nbtrain.run.executor import CommandExecutor
from nbtrain.run.health import Health
from nbtrain.run.hyperparameter_control import HyperparameterControl
from nbtrain.run.recovery import Recovery
from nbtrain.run.saving import CheckpointPolicy

_NEVER = sys.maxsize


class Counting(Enum):
    """Who counts the steps at this moment."""

    NOBODY = "nobody"
    LOOP = "loop"  # that of the run, or one of the program's own that asks whether to stop
    HOOK = "hook"  # of a MonitoredSession


class Boundary:
    """The boundary of one attempt of a run; its methods belong to the training thread.

    Args:
        context: The collaborators of the attempt.
        evaluate: Evaluates what is trained; None where there is nothing to evaluate.
        again: Whether an earlier life of this run was recorded, perhaps beyond its first step.

    Attributes:
        steps: The step at hand, which `Run.should_stop` and `Run.record` count and fill
            themselves where nothing else is to be done.
        tags: Those that were recorded.
        policy: Keeps the checkpoints.
        flush: Records what the program has set; may be called by any thread.
        begun: Whether the first boundary is behind.
        again: As given; or whether it goes on from a checkpoint.
        counting: Who counts the steps.
        told: Whether the loop was told to end.
    """

    def __init__(self, context: Context, evaluate: Evaluation | None, *, again: bool) -> None:
        settings, recorder, monitor = context.settings, context.recorder, context.monitor
        self._context = context
        self._queue = recorder.queue
        self.steps = steps = context.steps
        self.tags = KnownTags()
        health = Health(recorder, monitor, steps)
        self.policy = CheckpointPolicy(settings.save_cadence(), monitor, health, steps)
        attend = functools.partial(setattr, steps, "next", 0)
        self._control = HyperparameterControl(
            context.hyperparameters, recorder, monitor, self.policy.outdate, attend
        )
        self.flush = self._control.flush
        self._evaluator = Evaluator(evaluate, settings.evaluate_cadence(), recorder, monitor)
        self._executor = CommandExecutor(context, self.policy, self._control, self._evaluator)
        self._recovery = Recovery(context, self._executor, self.policy)
        self.again = again
        self.begun = self.told = False
        self.counting = Counting.NOBODY
        self._later = 0  # step at which to look up, whatever the program sets

    @property
    def step(self) -> int:
        """Steps completed; any thread may read it."""
        return self.steps.step

    @property
    def evaluated(self) -> frozenset[str]:
        """Tags of the curves that evaluations between two steps have given."""
        return self._evaluator.tags

    def count_by(self, who: Counting) -> None:
        """From now on the steps are counted so."""
        self.counting = who
        self.steps.thread = 0

    def open_segment(self) -> None:
        """The run went back to the step that it is at now, and with it what a checkpoint holds."""
        self._executor.open_segment()

    def begin(self) -> None:
        """Be running: this is the first boundary."""
        context, step = self._context, self.steps.step
        self.begun = True
        context.monitor.time_usage.begin()
        context.monitor.open_segment(step, marked=self.again or step > 0)
        context.commands.go_back(step, context.monitor.led_here)
        self._control.begin(step)
        self.policy.start()
        self._evaluator.start(step)
        context.commands.call()
        with contextlib.suppress(PhaseError):  # asked to stop while preparing
            context.lifecycle.apply(Event.READY)

    def look_up(self, *, last: bool = False) -> bool:
        """Do what is not done at every step; ten times a second, and when something waits.

        Args:
            last: Whether the loop ends by itself after it: what has gone bad is seen here.

        Returns:
            Whether to leave the loop.
        """
        steps, commands, lifecycle = self.steps, self._context.commands, self._context.lifecycle
        if steps.step < self._later and not (self.told or commands.attention):
            self.settle()
            return False
        commands.attention = False  # first: what comes from now on sets it again
        self.hand_over()  # `record` was called by a step that `drive` called
        at_end = last or self._is_last
        if not at_end:
            self.policy.save_if_due()
        self.policy.prove()
        self._control.look(steps.step)
        self._recovery.look(drain=at_end)
        if lifecycle.phase is not Phase.STOPPING:
            self._evaluator.if_due(steps.step)
        planned = commands.next_step <= steps.step  # such as the end of a trial
        at_end = last or self._is_last
        if not at_end or planned or lifecycle.phase is Phase.PAUSED:
            self._executor.hold_still()
            self._obey()
        at_end = last or self._is_last
        self._later = self._next_look()
        # Not the coordinator's word: a Supervisor that prepares its session clears that.
        self.told = at_end or lifecycle.phase is Phase.STOPPING
        self.settle()  # an evaluation, or a cell in a pause, may have set some
        return self.told

    def settle(self) -> None:
        """What the program has set since the last boundary is of the step that is done."""
        step, changes = self.steps.step, self._control.changes
        changes.settle(step)
        self.steps.next = min(self._later, self._control.next_step(step))
        # Asked last, as other threads tell too; and whoever asks again is told again.
        if self.told or self._context.commands.attention or changes.told:
            self.steps.next = 0

    def hand_over(self) -> None:
        """Hand over the record of the step that was done last, if one is pending.

        Where too many wait, the queue keeps a part.
        """
        steps = self.steps
        if steps.values:
            values = dict(zip(steps.tags, steps.values, strict=True))
            self._queue.append(steps.step, time.time(), values)
        steps.values = None

    def leave(self, *, finished: bool) -> None:
        """After the loop: execute what still waits."""
        unused_reason = "" if finished else self._context.bindings.unused_reason()
        note = self._context.monitor.note
        # What to do about a pause is of no use any more.
        note("names", f"When the run failed, {unused_reason}." if unused_reason else None)
        with contextlib.suppress(PhaseError):  # it is stopping already
            self._context.lifecycle.apply(Event.LOOP_ENDED)
        note("edit", None)
        self._recovery.forget()
        self.policy.prove()
        self._obey(all_planned=True)
        self._control.end(self.steps.step)

    def end(self, how: str) -> None:
        """The run has ended, in this word."""
        self._executor.end(how)

    @property
    def _is_last(self) -> bool:
        total = self._context.settings.steps
        return total is not None and self.steps.step >= total

    def _next_look(self) -> int:
        """Step at which to look up; a whole number, as comparing it with infinity costs more."""
        return int(
            min(
                self.policy.next_step,
                self._evaluator.next_step,
                self._context.commands.next_step,
                self._context.settings.steps or _NEVER,
                # After the first, it shows what the steps use.
                _NEVER if self.steps.steps_done else self.steps.step + 1,
                _NEVER,
            )
        )

    def _obey(self, *, all_planned: bool = False) -> None:
        """Execute commands until none is left; while paused, wait for the next."""
        while receipt := self._executor.take(all_planned=all_planned):
            outcome = self._executor.do(receipt)
            if outcome is not None:
                self._context.monitor.write_journal()  # what is confirmed outlives a kill
                receipt.answer(outcome)
