"""Executes the commands of a run between two steps.

receipt = executor.next_command()    # at a step boundary; waits for a command while paused
outcome = executor.execute(receipt)  # a restore also moves the step counter
receipt.answer(outcome)              # unless the answer comes later, as for a trial
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbtrain.checkpoints.files import step_in_name
from nbtrain.core.commands import (
    Evaluate,
    LookInside,
    Note,
    Pause,
    Replay,
    Restore,
    Resume,
    Save,
    Set,
    Stop,
    Tag,
    Try,
    WhyNan,
    WhySlow,
)
from nbtrain.core.errors import PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Event, Phase
from nbtrain.core.text.tracebacks import error_text
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.run.beside.time_usage import PAUSED
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluator, described
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.trials.metric import TrialMetric
from nbtrain.run.trials.trials import Trials
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.why.questions import Questions
from nbtrain.rundir.answers import fields_of_arm
from nbtrain.steer.annotations import described as described_note


class CommandExecutor:
    """Executes the commands of one start of a run; training thread only."""

    def __init__(
        self,
        context: Context,
        policy: CheckpointPolicy,
        control: HyperparameterControl,
        evaluator: Evaluator,
    ) -> None:
        self._context = context
        self._lifecycle = context.lifecycle
        self._commands = context.commands
        self._monitor = context.monitor
        self._steps = context.steps
        self._policy = policy
        self.control = control
        self.evaluator = evaluator
        self._stops: list[Receipt] = []  # answered requests to stop
        metric = TrialMetric(
            evaluator, context.recorder, context.steps, context.settings.directions
        )
        self.trials = Trials(context, policy, control, metric, self.open_segment)
        self.questions = Questions(context, policy, control)

    def next_command(self) -> Receipt | None:
        """Returns the next command at this step, or None; waits for one while paused."""
        if self._lifecycle.phase is not Phase.PAUSED:
            return self._commands.get(self._steps.step)
        with self._monitor.time_usage.during(PAUSED):
            return self._commands.get(self._steps.step, wait=True)

    def next_unreached(self) -> Receipt | None:
        """Returns a trial or an edit whose step does not come, or None; at the end of the loop."""
        return self._commands.get_unreached((Set, Try))

    def execute_at_once(self, receipt: Receipt) -> Outcome:
        """Executes a command that has an outcome at once; an error refuses it."""
        outcome = self.execute(receipt)
        assert outcome is not None, "only a trial and a question have their outcome later"
        return outcome

    def execute(self, receipt: Receipt) -> Outcome | None:
        """Executes a command; an error refuses it.

        A trial has no outcome before its end, nor has a question whose steps a loop takes.
        """
        match receipt.command:
            case Restore(wanted, str(name)) if (
                not self._lifecycle.phase.ended and name in self.control.known()
            ):
                return self._restore_and_halve(receipt, Restore(wanted), name)
        step = self._steps.step
        try:
            outcome = self._execute(receipt)
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            outcome = Outcome(applied=False, step=step, text=error_text(error))
            if isinstance(receipt.command, Set) and receipt.command.needed:
                self._miss(error)
        if outcome is not None:
            self._log(receipt, outcome, step)
        return outcome

    def take_step(self) -> tuple[Receipt, Outcome] | None:
        """Takes over a step of the loop for the open question; returns its outcome at the end."""
        return self._go_on(self.questions.go_on)

    def give_up(self) -> tuple[Receipt, Outcome] | None:
        """Ends the open question, as the loop has ended; returns its outcome."""
        why = "The loop ended before the answer was found"
        return self._go_on(lambda: self.questions.give_up(why))

    def _go_on(self, call: Callable[[], Outcome | None]) -> tuple[Receipt, Outcome] | None:
        asked = self.questions.open
        assert asked is not None, "a question is open"
        try:
            outcome = call()
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            outcome = Outcome(applied=False, step=self._steps.step, text=error_text(error))
        if outcome is None:
            return None
        self._log(asked.receipt, outcome, self._steps.step)
        return asked.receipt, outcome

    def _log(self, receipt: Receipt, outcome: Outcome, step: int) -> None:
        """Writes the line of a command in the journal.

        Args:
            step: The step at which it was executed.
        """
        if outcome.applied and isinstance(receipt.command, Note | Tag | Save):
            self._monitor.write_from_here()
        now = self._steps.step if outcome.applied else step
        edits = {edit.name: [edit.old, edit.new] for edit in outcome.edits}
        receipt.order = self._monitor.log(
            event=receipt.name,
            step=step,
            applied=outcome.applied,
            text=outcome.text,
            **({"to": now} if now != step else {}),
            **({"edits": edits} if edits else {}),
            **({} if outcome.kept is None else {"kept": outcome.kept}),
            **({"tags": [*receipt.command.tags]} if isinstance(receipt.command, Tag) else {}),
            **({"arms": [*map(fields_of_arm, outcome.arms)]} if outcome.arms else {}),
            **({"answer": dict(outcome.answer)} if outcome.answer else {}),
            **receipt.sender.entry,
        )

    def halve(self, name: str, before: float) -> Outcome:
        """Halves a hyperparameter after a restore.

        The restored value may be higher than the value that led to the restore, which was too high
        already. So the lower of the two is halved.

        Args:
            name: Its name.
            before: Its value before the restore; NaN is ignored.
        """
        half = min(self.control.hyperparameters.values[name], before) / 2
        return self.execute_at_once(Receipt(Set({name: half})))

    def _restore_and_halve(self, receipt: Receipt, restore: Restore, name: str) -> Outcome:
        """Restores, then halves; the journal gets a line for each."""
        before = self.control.now()[name]
        alone = Receipt(restore, sender=receipt.sender)
        restored = self.execute_at_once(alone)
        receipt.order = alone.order
        if not restored.applied:
            return restored
        halved = self.halve(name, before)
        done = halved.text if halved.applied else f"{name} was not halved: {halved.text}"
        return replace(restored, text=f"{restored.text}; {done}", edits=halved.edits)

    def end(self, how: str) -> None:
        """Adds to the answers to requests to stop how the run has ended, and its checkpoint."""
        step, held = self._steps.step, self._policy.checkpoints[-1:]
        names = [f", saved as {Path(each.path).name}" for each in held if each.step == step]
        for receipt in self._stops:
            receipt.complete("".join([how, *names]))

    def pause_if_unused(self) -> None:
        """Pauses if the next step would not train what the checkpoints and the panel show.

        The arm of a trial whose values are not used ends instead.
        """
        unused = self._context.hyperparameters.unused_reason()
        if unused and self.trials.fail(unused, restore=False):
            return
        if unused_reason := self._unused_reason():
            self.pause("names", unused_reason)

    def pause_if_unproven(self) -> None:
        """Pauses if a restore has left a trained variable without its value."""
        if unproven := self._policy.proof.reason:
            what = "nothing is saved. Stop the run and start it with the model of the checkpoint"
            self.pause("restore", f"{unproven}; {what}; run.resume() continues all the same")

    def _unused_reason(self, *, due: bool = False) -> str:
        """Returns why the next step would not train what is shown, and what to do; else empty."""
        if advice := self._context.bindings.advice(due=due):
            return advice
        unused = self._context.hyperparameters.unused_reason()
        what = "set it to what they use and resume, or stop this run and start it again."
        return f"{unused}; {what}" if unused else ""

    def open_segment(self) -> None:
        """Opens a segment at the current step, to which the run has gone back."""
        step = self._steps.step
        self.trials.rewind(step)
        self.control.flush()  # values of the segment that ends here
        self._monitor.open_segment(step)
        self.control.rewind()
        self._commands.rewind(step, self._monitor.led_here)
        self.evaluator.start()

    def restore_again(self, path: str) -> None:
        """Restores a checkpoint again, now that a step has created variables that it contains.

        That step was trained from other values, so it is abandoned.
        """
        step = self._steps.step
        since = [held for held in self._policy.below(step) if held.step > (step_in_name(path) or 0)]
        wanted = since[-1].path if since else path  # each save has kept the values that waited
        outcome = self.execute_at_once(Receipt(Restore(wanted)))
        name = Path(wanted).name
        if not outcome.applied:
            self._policy.proof.fail(path, outcome.text)
            return
        self._monitor.notices.inform(
            f"Continues from {name}: step {step:,} has created variables that it holds, so the run "
            f"went back to it once more; {outcome.text}."
        )

    def _miss(self, error: Exception) -> None:
        """Handles an edit that failed although the training needs it: pauses the run."""
        if self._lifecycle.phase is Phase.STOPPING:
            self._monitor.notices.note(
                "edit",
                f"The run ended at step {self._steps.step:,}, before edits that are planned for "
                "later: they are made if it is started again and reaches their steps.",
            )
        else:
            why = "an edit that this run needs cannot be made"
            self.pause("edit", f"{why}. {error} Set the value, then resume; or stop")

    def pause(self, topic: str, why: str, **entry: Any) -> None:
        """Pauses and says why. A run that is paused already gets the reason alone, and once.

        Args:
            topic: The topic of the message.
            entry: Fields of the journal's line that differ from those of a pause.
        """

        def text() -> str:
            return f"Paused at step {self._steps.step:,}: {why}"

        notices, is_paused = self._monitor.notices, self._lifecycle.phase is Phase.PAUSED
        if is_paused and text() in notices.texts:
            return
        notices.note(topic, text())  # first, so that the reason is shown with the pause
        if not is_paused:
            try:
                self._lifecycle.apply(Event.PAUSE)
            except PhaseError:  # the run is stopping by now
                notices.note(topic, None)
                return
            self.trials.pause()  # may go back
            notices.note(topic, text())
        line = {"event": "pause", "step": self._steps.step, "text": text()}
        self._monitor.log(**line | entry)

    def _execute(self, receipt: Receipt) -> Outcome | None:
        step = self._steps.step
        done = functools.partial(Outcome, True, step)
        match receipt.command:
            case Stop():
                self._stops.append(receipt)
                return done("stopping")
            case Pause():
                self._lifecycle.apply(Event.PAUSE)
                return done(f"paused{self.trials.pause()}")
            case Resume():
                return done(self._resume())
            case Save():
                self._policy.save()
                return done(f"saved {Path(self._policy.checkpoints[-1].path).name}")
            case Restore(wanted, halve):
                if self._lifecycle.phase.ended:
                    return done(self._restore_after_end(wanted, halve))
                if halve is not None:  # an unknown one, or it cannot be read
                    self.control.refuse_to_halve(halve)
                if receipt.sender.by:
                    self._policy.check_own(wanted)
                return self._restore(wanted)
            case Set(values):
                self._check_not_stopping("set")
                self.trials.check_free(values)
                edits = self.control.set(values)
                return done(", ".join(map(str, edits)), edits)
            case Evaluate():
                self._check_not_stopping("evaluate")
                return done(described(self.evaluator.now()))
            case WhyNan() | WhySlow() | LookInside():
                self._check_not_stopping("answer questions")
                self.trials.check_none()
                return self.questions.ask(receipt)
            case Try():
                self._check_not_stopping("try", unless=self.trials.has(receipt))
                return self.trials.advance(receipt, receipt.command)
            case Replay(planned, text):
                self._check_not_stopping("replay")
                self._plan(planned)
                return done(text)
            case Note() | Tag():
                return done(described_note(receipt.command)[0])

    def _resume(self) -> str:
        if self._lifecycle.allows(Event.RESUME) and (
            unused_reason := self._unused_reason(due=True)
        ):
            raise PhaseError(f"Cannot resume: {unused_reason}")
        self._lifecycle.apply(Event.RESUME)
        self._monitor.notices.note("names", None)
        self._monitor.notices.note("nan", None)
        self._monitor.notices.note("edit", None)
        self._policy.proof.accept()
        self.trials.report()
        return "running again"

    def _restore(self, wanted: int | str | None) -> Outcome:
        self._check_not_stopping("restore")
        step = self._steps.step
        before = self.control.now()  # the program may have set some since the last boundary
        restored = self.trials.restore(wanted)
        self.open_segment()
        after = self.control.now()
        brought = [Edit(name, before[name], after[name]) for name in after if name in before]
        changed = "".join(f"; {edit}" for edit in brought if edit.old != edit.new)
        return Outcome(applied=True, step=step, text=f"restored {restored}{changed}")

    def _restore_after_end(self, wanted: int | str | None, halve: str | None) -> str:
        phase, step = self._lifecycle.phase, self._steps.step
        if halve is not None:
            raise PhaseError(
                f"halve={halve!r}: the run has ended, so nothing trains with it. Start the run "
                "again to continue, or leave halve= out."
            )
        restored = self._policy.restore_after_end(wanted)
        held = self._policy.restored_after_end
        self._monitor.notices.inform(
            held
            and f"The objects hold {held}, which was restored after the end. A start continues "
            "from the latest checkpoint."
        )
        return f"restored {restored}; the run stays {phase} at step {step:,}"

    def _plan(self, edits: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        """Plans edits for the ends of their steps; plans none if one cannot be planned."""
        step = self._steps.step
        passed = [at for at, _ in edits if at < step]
        if passed:
            raise PhaseError(
                f"Cannot replay at step {step:,}: the first edit is of step {passed[0]:,}. Make "
                "the run with start=False and in a new folder, replay into it, then start it."
            )
        for _, values in edits:
            self.control.hyperparameters.check(values)
        for at, values in edits:
            self._commands.post(Set(values, needed=True), step=step, at=at, standing=True)

    def _check_not_stopping(self, verb: str, *, unless: bool = False) -> None:
        """Raises a PhaseError while stopping, when no further step follows."""
        if self._lifecycle.phase is Phase.STOPPING and not unless:
            raise PhaseError(f"Cannot {verb} while stopping; start the run again to continue.")
