"""The step boundary: the only place where a training is changed.

The loop that counts the steps (see `loop`) calls it between two of them:

    boundary.begin()         # at the first boundary: the run is running
    boundary.act()           # now and then: saves if due, executes commands, waits while paused
    boundary.queue_record()  # queues the record of a counted step
    boundary.end(...)        # after the loop: executes the waiting commands
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time

from nbtrain.core.errors import PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Event, Phase
from nbtrain.run.boundary.executor import CommandExecutor
from nbtrain.run.boundary.recovery import Recovery
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluation, Evaluator
from nbtrain.run.saving.best import Best
from nbtrain.run.saving.health import Health
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.tuning.control import HyperparameterControl

_NEVER = sys.maxsize


class Boundary:
    """The boundary of one attempt of a run; its methods belong to the training thread.

    Attributes:
        steps: The current step. `Run.should_stop` counts it and `Run.record` fills it directly if
            there is nothing else to do.
        best: Keeps the best state, and ends a run that no longer improves.
        begun: Whether the first boundary was handled.
    """

    def __init__(self, context: Context, evaluate: Evaluation | None) -> None:
        settings, recorder, monitor = context.settings, context.recorder, context.monitor
        self._context = context
        self.steps = steps = context.steps
        health = Health(recorder, monitor, steps)
        self.policy = CheckpointPolicy(settings.save_cadence(), monitor, health, steps)
        attend = functools.partial(setattr, steps, "next", 0)
        control = HyperparameterControl(
            context.hyperparameters,
            recorder,
            monitor,
            steps,
            edited=self.policy.outdate,
            attend=attend,
            folder=context.folder.path,
        )
        self.best = best = Best(context, self.policy)
        due = settings.evaluate_cadence()
        evaluator = Evaluator(evaluate, due, recorder, monitor, steps, best.update)
        self.executor = CommandExecutor(context, self.policy, control, evaluator)
        self._recovery = Recovery(context, self.executor, self.policy)
        self.begun = self.must_end = False
        self._later = 0  # step of the next work even if the program sets nothing

    def begin(self) -> None:
        """Handles the first boundary: the run is running from now on."""
        context, step = self._context, self.steps.step
        self.begun = True
        context.monitor.time_usage.begin()
        context.monitor.write_from_here()
        context.monitor.open_segment(step)
        context.commands.rewind(step, context.monitor.led_here)
        self.executor.control.begin()
        self.policy.start()
        self.executor.evaluator.start()
        self.best.begin()
        context.commands.call()
        with contextlib.suppress(PhaseError):  # the run was asked to stop while preparing
            context.lifecycle.apply(Event.READY)

    def act(self, *, last: bool = False, ended: bool = False) -> bool:
        """Does the work that is not due at every step; returns whether the loop must end.

        Called ten times a second, and when a command waits.

        Args:
            last: Whether the loop ends by itself after this step. Bad values are then detected
                here.
            ended: Whether the user's code has ended the loop. Bad values do not pause the run then.
        """
        steps, commands, lifecycle = self.steps, self._context.commands, self._context.lifecycle
        if self.executor.questions.open:
            self._answer(self.executor.take_step())
            return self._command(last=last)
        if steps.step < self._later and not (self.must_end or commands.attention):
            self.collect_changes()
            return False
        commands.attention = False  # first, so that a command that comes now sets it again
        self.queue_record()  # a step function under `drive` may have called `record`
        self._prove()
        at_end = last or self._is_last
        if not at_end:
            self.policy.save_if_due()
        self.executor.control.update()
        self._recovery.react(drain=at_end, pauses=not ended)
        if lifecycle.phase is not Phase.STOPPING:
            self.executor.evaluator.if_due()
        self.best.update()
        return self._command(last=last)

    def _command(self, *, last: bool) -> bool:
        """Executes the commands at a boundary; returns whether the loop must end."""
        steps, commands, lifecycle = self.steps, self._context.commands, self._context.lifecycle
        planned = commands.next_step <= steps.step  # for example the end of a trial
        at_end = last or self._is_last
        questions = self.executor.questions
        if not questions.open and (not at_end or planned or lifecycle.phase is Phase.PAUSED):
            self._check_next_step()
            self._execute_waiting()
        if questions.open:  # the next step is one of its own
            steps.next = 0
            return False
        at_end = last or self._is_last
        self._later = self._next_action()
        # Do not ask the coordinator: a Supervisor that prepares its session clears the stop.
        self.must_end = at_end or lifecycle.phase is Phase.STOPPING
        self.collect_changes()  # an evaluation, or a cell during a pause, may have set some
        return self.must_end

    def answer(self) -> None:
        """Executes the commands that wait, while no step can be taken."""
        self._context.commands.attention = False
        self._execute_waiting()

    def collect_changes(self) -> None:
        """Assigns values that the program has set since the last boundary to the completed step."""
        control = self.executor.control
        control.changes.collect(self.steps.step)
        self.steps.next = min(self._later, control.next_step())
        # Last, because other threads set these too. A loop that asks again gets the same answer.
        if self.must_end or self._context.commands.attention or control.hyperparameters.assigned:
            self.steps.next = 0

    def queue_record(self) -> None:
        """Queues the record of the last step, if there is one.

        If too many records wait, the queue keeps only some of them. The record of a step that is
        taken again belongs to the question.
        """
        steps = self.steps
        if steps.present is not None:
            if steps.values:
                steps.repeated |= zip(steps.tags, steps.values, strict=True)
            steps.values = None
            steps.samples.clear()
            return
        if steps.values:
            values = dict(zip(steps.tags, steps.values, strict=True))
            self._context.recorder.queue.append(steps.step, time.time(), values)
        steps.values = None
        for tag, wall_time, value, of in steps.samples:
            self._context.recorder.add_sample(tag, steps.step, wall_time, value, of)
        steps.samples.clear()

    def end(self, *, finished: bool) -> None:
        """Executes the commands that still wait after the loop."""
        if self.executor.questions.open:
            self._answer(self.executor.give_up())
        unused_reason = "" if finished else self._context.bindings.unused_reason()
        note = self._context.monitor.notices.note
        # Advice for a pause is useless now.
        note("names", f"When the run failed, {unused_reason}." if unused_reason else None)
        with contextlib.suppress(PhaseError):  # the run is stopping already
            self._context.lifecycle.apply(Event.LOOP_ENDED)
        note("edit", None)
        self._recovery.forget()
        if finished:
            self.best.update()  # it may have been recorded after the last boundary
        self.best.end()
        self._prove()
        self._execute_waiting()
        while receipt := self.executor.next_unreached():
            self._execute(receipt)
        self.executor.control.end()

    def _prove(self) -> None:
        """Restores a checkpoint again if the first step after it has created variables in it."""
        if (path := self.policy.prove()) is not None:
            self.executor.restore_again(path)

    def _check_next_step(self) -> None:
        """Pauses if the next step must not be trained; notes names that it does not train."""
        self.executor.pause_if_unused()
        self.executor.pause_if_unproven()
        elsewhere = self._context.bindings.new_elsewhere(can_save=self.policy.can_save)
        self._context.monitor.notices.note("elsewhere", elsewhere)

    @property
    def _is_last(self) -> bool:
        total = self._context.settings.steps
        return (total is not None and self.steps.step >= total) or self.best.is_over

    def _next_action(self) -> int:
        """Returns the step of the next work, as an int: comparing with infinity is slower."""
        return int(
            min(
                self.policy.next_step,
                self.executor.evaluator.next_step,
                self._context.commands.next_step,
                self._context.settings.steps or _NEVER,
                # After the first step, it is known what the steps use.
                _NEVER if self.steps.steps_done else self.steps.step + 1,
                _NEVER,
            )
        )

    def _execute_waiting(self) -> None:
        """Executes commands until none is left; waits for the next one while paused."""
        if self._context.lifecycle.phase is Phase.PAUSED:
            self.steps.complete()
        while not self.executor.questions.open and (receipt := self.executor.next_command()):
            self._execute(receipt)

    def _execute(self, receipt: Receipt) -> None:
        self.steps.complete()
        outcome = self.executor.execute(receipt)
        self.executor.pause_if_unproven()  # before another step, whatever has restored
        if outcome is not None:
            self._answer((receipt, outcome))

    def _answer(self, found: tuple[Receipt, Outcome] | None) -> None:
        """Answers the receipt of a command if it has an outcome by now."""
        if found is not None:
            receipt, outcome = found
            self._context.monitor.write_journal()  # a confirmed command survives a kill
            receipt.answer(outcome)
