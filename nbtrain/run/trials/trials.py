"""Executes the trials of a run, of one value or of several: one at a time, arm after arm.

trials.advance(receipt, asked)  # saves the start, sets the first values; None until the outcome
trials.advance(receipt, asked)  # at the planned step: rewinds, sets the next values; None
outcome = trials.advance(...)   # after the last arm: keeps one, or rewinds

trials.fail(why, restore=True)  # the current arm has gone bad: it has lost
trials.rewind(step)             # the run went back: ends a trial without a decision
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

from nbtrain.checkpoints.files import Restored
from nbtrain.core.commands import Try
from nbtrain.core.errors import ArgumentError, CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.core.text.tracebacks import error_text
from nbtrain.core.values.arms import ArmResult, arms_of
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.core.values.rate_range import RateRange, not_recorded
from nbtrain.core.values.side_tags import WHOLE, metrics
from nbtrain.core.values.whole import whole
from nbtrain.run.context import Context
from nbtrain.run.saving.draws import Draws
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.trials.metric import TrialMetric
from nbtrain.run.trials.trial import Trial
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.rundir.timeline import name_of


class Trials:
    """The trials of one start of a run; training thread only."""

    def __init__(
        self,
        context: Context,
        policy: CheckpointPolicy,
        control: HyperparameterControl,
        metric: TrialMetric,
        went_back: Callable[[], None],
    ) -> None:
        self._policy = policy
        self._control = control
        self._metric = metric
        self._monitor = context.monitor
        self._recorder = context.recorder
        self._lifecycle = context.lifecycle
        self._commands = context.commands
        self._total = context.total
        self._went_back = went_back
        self._steps = context.steps
        self._trial: Trial | None = None

    def has(self, receipt: Receipt) -> bool:
        """Returns whether a receipt belongs to the current trial."""
        return self._trial is not None and self._trial.receipt is receipt

    def advance(self, receipt: Receipt, asked: Try) -> Outcome | None:
        """Begins a trial, or continues it when its receipt is due again; None until its end.

        Raises:
            PhaseError: Another trial has not ended, or the run was asked to stop meanwhile.
            ArgumentError: The command is invalid; nothing has changed.
            CheckpointError: The start of the trial cannot be saved.
        """
        ends: Outcome | int
        if (trial := self._trial) is None:
            ends = self._begin(receipt, asked)
        elif trial.receipt is not receipt:
            trial.refuse("try", "another trial")
        elif self._is_stopping:
            self._end_undecided(trial, self._steps.step, "the run ended")
            return None
        else:
            ends = self._end(trial)
        if isinstance(ends, Outcome):
            return ends
        self._commands.plan(receipt, ends)
        self.report()
        return None

    def check_none(self) -> None:
        """Raises a PhaseError if a question cannot be answered because of a trial."""
        if self._trial is not None:
            self._trial.refuse("answer questions")

    def check_free(self, names: Collection[str]) -> None:
        """Raises a PhaseError if hyperparameters cannot be set because of a trial."""
        if self._trial is not None:
            self._trial.check_set(names)

    def fail(self, why: str, *, restore: bool) -> bool:
        """Ends the current arm at this boundary; returns whether there is one.

        Args:
            restore: True if the training has gone bad and must restore a checkpoint: without one,
                nothing is done. False if the values have no effect: no further arm follows.
        """
        if (trial := self._trial) is None or (restore and trial.saved is None):
            return False
        if restore and trial.apart:
            trial.lost = why
        else:
            trial.over = why
        self._commands.withdraw(trial.receipt)
        self._commands.plan(trial.receipt, self._steps.step)
        return True

    def rewind(self, step: int) -> None:
        """Ends a trial because the run went back to a step; one value only if it began later."""
        trial = self._trial
        if trial is not None and (trial.apart or trial.begun >= step):
            self._end_undecided(trial, step, "the run went back", moved=True)

    def restore(self, wanted: int | str | None) -> Restored:
        """Restores a checkpoint that the user wants; ends a trial of one value.

        A trial of several values ends afterwards, at the step of the checkpoint, by `rewind`. Its
        old values are set first, because values that are not in the checkpoint would stay as tried.
        """
        trial, step = self._trial, self._steps.step
        if trial is not None and trial.apart:
            self._control.set(trial.old)
        try:
            restored = self._policy.restore(wanted)
        except BaseException:
            if trial is not None and trial.apart:
                self._control.set(trial.tried)
            raise
        if trial is not None and not trial.apart:
            self._end_undecided(trial, step, "the run went back", moved=True, back=restored)
        return restored

    def pause(self) -> str:
        """Ends a trial of several values because of a pause; returns what to add to the answer."""
        said = ""
        if (trial := self._trial) is not None and trial.apart:
            self._end_undecided(trial, self._steps.step, "the run was paused")
            said = f" at step {self._steps.step:,}: a trial of several values was left"
        self.report()
        return said

    def report(self) -> None:
        """Shows the current arm, and that it waits while the run is paused."""
        if (trial := self._trial) is None:
            return
        paused = "a pause ends the trial" if trial.apart else "a pause holds it up"
        if self._lifecycle.phase is Phase.PAUSED:
            paused = "it takes its steps once the paused run is resumed"
        self._monitor.notices.note("trial", f"{trial.said}; {paused}.")

    @property
    def _is_stopping(self) -> bool:
        return self._lifecycle.phase is Phase.STOPPING

    def _begin(self, receipt: Receipt, asked: Try) -> int:
        """Begins a trial; returns the step at which its first arm ends."""
        steps = self._checked_steps(asked)
        known = self._control.hyperparameters
        whole("repeats", asked.repeats)
        if not asked.is_comparison:
            known.check_changes(asked.values)
        elif callable(asked.keep_if):
            raise ArgumentError(
                f"keep_if={asked.keep_if!r}: a function decides about one value. For several, give "
                "the tag of a scalar, such as 'val_loss'; without keep_if= the choice is yours."
            )
        arms = arms_of(asked.values, asked.settings)
        wanted = [known.check(arm.values) for arm in arms]
        known.check_undo(asked.names)
        sweep = None if asked.sweep is None else RateRange(*asked.sweep, steps)
        # Several values are compared from one state: each has the draws from before the evaluation.
        # One value continues with the draws after it.
        draws = self._draws(asked) if asked.is_comparison else None
        before = self._metric.measure(asked)
        draws = draws or self._draws(asked)
        if self._is_stopping:
            raise PhaseError("The run was asked to stop before the trial began.")
        saved = self._policy.aside.save_start() if self._policy.can_save else None
        results = []
        if asked.is_comparison:
            ((tag, value),) = before.items()
            both = zip(arms, wanted, strict=True)
            results = [ArmResult(arm.name, values, tag, value) for arm, values in both]
        self._trial = trial = Trial(
            receipt=receipt,
            asked=asked,
            steps=steps,
            begun=self._steps.step,  # read again, because a session counts it itself
            saved=saved,
            old=self._now(asked.names),  # the evaluation may have set some
            before=before,
            arms=arms,
            wanted=wanted,
            results=results,
            direction=self._metric.direction(asked),
            draws=draws,
            sweep=sweep,
        )
        self._policy.aside.compares = trial.apart
        try:
            if asked.repeats > 1:  # each repeat varies what a restore has set
                self._back(trial)
            return self._begin_arm(trial)
        except BaseException:
            self._close()
            self._policy.aside.delete()
            raise

    def _checked_steps(self, asked: Try) -> int:
        """Returns the number of steps; raises an ArgumentError if the run has fewer left."""
        steps, total, step = whole("steps", asked.steps), self._total(), self._steps.step
        if total is not None and step + steps > total:
            raise ArgumentError(
                f"steps={steps:,}: of the run's {total:,} steps {total - step:,} are left; try "
                "fewer."
            )
        return steps

    def _now(self, names: Collection[str]) -> dict[str, float]:
        """Returns the present values of some hyperparameters."""
        now = self._control.now()
        return {name: now[name] for name in names}

    def _draws(self, asked: Try) -> Draws | None:
        """Returns the random draws of the present state; None if one value has to do without.

        Raises:
            CheckpointError: Several values are tried, and their start cannot be saved.
        """
        try:
            return self._policy.aside.draws()
        except CheckpointError:
            if asked.is_comparison:
                raise
            return None  # then only the edits are undone

    def _begin_arm(self, trial: Trial) -> int:
        """Sets the values of the current arm; returns the step at which it ends."""
        if trial.draws is not None and trial.apart:
            moved = trial.draws.again(trial.repeat, trial.steps)
            trial.pairing.same_batches |= bool(trial.repeat) and not moved
        trial.edits = self._control.set(trial.tried)
        changed = [edit for edit in trial.edits if edit.old != edit.new or not trial.apart]
        said = trial.what if trial.apart else ", ".join(map(str, trial.edits))
        self._monitor.log(
            event="try",
            step=trial.begun,
            text=f"{said} for {trial.steps:,} steps",
            **({"arm": [trial.turn, f"{trial.name}{trial.again}"]} if trial.apart else {}),
            **({"edits": {each.name: [each.old, each.new] for each in changed}} if changed else {}),
        )
        return trial.begun + (trial.steps if trial.sweep is None else 1)

    def _end(self, trial: Trial) -> Outcome | int:
        """Ends the current arm, and begins the next; returns the next one's end, or the outcome."""
        if trial.over:
            return self._end_at_start(trial, trial.over)
        if trial.sweep is not None:
            return self._swept(trial, trial.sweep)
        self._measure(trial)
        if self._is_stopping:  # a stop cuts an evaluation short, so nothing is decided
            return Outcome(False, self._steps.step, self._undecided(trial, "the run ended"))
        try:
            if not trial.is_last:
                if trial.is_best_so_far:
                    trial.best = self._policy.aside.save_best()
                self._back(trial)
                trial.turn += 1
                return self._begin_arm(trial)
            best, why = trial.verdict
            if best is not None:
                return self._kept(trial, best, why)
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            why = error_text(error)
        return self._end_at_start(trial, why)

    def _swept(self, trial: Trial, sweep: RateRange) -> Outcome | int:
        """Adds the loss of a step of a range test, and sets the next rate; or ends the test."""
        step, (result,), (name,) = self._steps.step, trial.results, trial.old
        recorded = self._recorder.means(step - 1, step)
        if not trial.lost and result.tag not in recorded:
            return self._end_at_start(trial, not_recorded(result.tag, step))
        loss = recorded.get(result.tag, math.nan)
        if not trial.lost and not sweep.add(step - trial.begun - 1, loss):
            self._control.set({name: sweep.rate(step - trial.begun)})
            return step + 1
        outcome = self._end_at_start(trial, sweep.text(name, result.tag))
        return replace(outcome, arms=trial.suggested, curve=sweep.curve)

    def _measure(self, trial: Trial) -> None:
        """Measures the current arm unless it has lost already; decides after the last one."""
        if not trial.apart:
            kept, said = self._metric.decide(trial.asked, trial.before)
            trial.verdict = (0, f"{trial.what}: {said}") if kept else (None, said)
            return
        number, step = trial.number, self._steps.step
        result, value = trial.results[number], math.nan
        first = self._recorder.means(trial.begun, trial.begun + 1)
        first = {tag: first[tag] for tag in metrics(first) if not tag.startswith(WHOLE)}
        trial.pairing.add(trial.repeat, first, result.values)
        why, trial.lost = trial.lost, ""
        if not why:
            try:
                value = self._metric.measure(trial.asked)[result.tag]
            except Exception as error:  # noqa: BLE001 - an arm that cannot be compared has lost
                why = f"not measured: {error_text(error)}"
            else:
                why = "" if math.isfinite(value) else f"{result.tag} is {value}"
        trial.results[number] = result.measured(value, why)
        once = replace(result, after=(value,), note=why)
        self._monitor.log(event="try", step=step, text=f"{trial.which} ends: {once}")
        if trial.is_last:
            trial.verdict = trial.choose()

    def _kept(self, trial: Trial, best: int, why: str) -> Outcome:
        """Continues from the end of an arm."""
        step = self._steps.step
        results = tuple(replace(each, kept=at == best) for at, each in enumerate(trial.results))
        if best != trial.number:
            assert trial.best is not None, "it was the best of the arms before the last"
            self._policy.restore(trial.best)
            self._control.set(trial.values_of(best))
            self._move()
        self._close()
        if trial.apart:  # nothing was saved meanwhile
            try:
                self._policy.save()
            except CheckpointError as error:
                self._monitor.notices.note("save", f"No checkpoint at step {step:,}: {error}")
            self._policy.start()
        self._policy.aside.delete()
        return Outcome(True, step, f"kept {why}", kept=True, arms=results)

    def _end_at_start(self, trial: Trial, why: str) -> Outcome:
        """Ends the trial at its start."""
        step, old = self._steps.step, trial.old
        now = self._now(old)
        changed = [name for name in old if now[name] != old[name] or not trial.apart]
        edits = tuple(Edit(name, now[name], old[name]) for name in changed)
        self._close()
        try:
            said = self._back(trial)
        finally:
            self._policy.aside.delete()
        results = tuple(each for each in trial.results if each.after)
        return Outcome(True, step, f"{said}: {why}", edits, kept=False, arms=results)

    def _end_undecided(
        self,
        trial: Trial,
        step: int,
        why: str,
        *,
        moved: bool = False,
        back: Restored | None = None,
    ) -> None:
        """Ends the trial without a decision, and answers its receipt; see `_undecided`."""
        text, sender = self._undecided(trial, why, moved=moved, back=back), trial.receipt.sender
        self._monitor.log(event="try", step=step, applied=False, text=text, **sender.entry)
        self._monitor.write_journal()
        trial.receipt.answer(Outcome(applied=False, step=step, text=text))
        self._commands.withdraw(trial.receipt)

    def _undecided(
        self, trial: Trial, why: str, *, moved: bool = False, back: Restored | None = None
    ) -> str:
        """Ends the trial without a decision; returns what was done.

        If the run ends, one value stays as tried, and the checkpoint of the start stays. Several
        values are set back.

        Args:
            moved: Whether the run has gone back already.
            back: The restored checkpoint. If it was saved during a trial of one value, it contains
                the edits on trial, and the checkpoint of the start stays too.
        """
        self._close()
        said = f"{why} before the trial was over; nothing was decided"
        if trial.apart:
            said += "" if moved else f"; {self._back(trial)}"
            self._monitor.notices.inform(f"{said[0].upper()}{said[1:]}.")
        else:
            said += f" of {trial.what}"
            if not moved:
                self._keep_start(trial, "The run ended", "started again, ")
            elif back is not None and self._is_saved_in(trial, back.path):
                self._keep_start(trial, f"The run went back to step {back.step:,}")
                said += ", which stays as tried"
        self._policy.aside.delete()
        return said

    def _close(self) -> None:
        self._trial = None
        self._policy.aside.compares = False
        self._monitor.notices.note("trial", None)

    def _is_saved_in(self, trial: Trial, path: str) -> bool:
        """Returns whether a checkpoint was saved after the start of a trial."""
        orders = {held.path: held.order for held in self._policy.checkpoints}
        return trial.saved in orders and orders.get(path, 0.0) > orders[trial.saved]

    def _keep_start(self, trial: Trial, what: str, first: str = "") -> None:
        """Keeps the start's checkpoint beside the edits on trial; reports how to restore it."""
        text = f"{what} in a trial of {trial.what}, which stays as tried"
        if trial.saved is None:
            self._monitor.notices.note("trial", f"{text}.")
            return
        self._policy.aside.undecided = trial.begun
        undo = f"run.restore({name_of(trial.saved)!r}) goes back before it"
        self._monitor.notices.note("trial", f"{text}; {first}{undo}.")

    def _move(self) -> None:
        """Opens a segment at the restored step without ending the trial."""
        held, self._trial = self._trial, None
        self._went_back()
        self._trial = held

    def _back(self, trial: Trial) -> str:
        """Restores the start if it was saved; returns what was done."""
        said = ", ".join(f"{name} {value:.10g} again" for name, value in trial.old.items())
        gone: CheckpointError | str = "nothing saves them"
        try:
            if trial.saved is not None:
                self._policy.restore(trial.saved)
                gone = ""
        except CheckpointError as error:
            gone = error
        self._control.set(trial.old)
        if gone:
            return f"{said}, the weights as they are ({gone})"
        if trial.draws is not None:
            trial.draws.again()
        self._move()
        return f"back to step {self._steps.step:,}, {said}"
