"""Trials of several values: each trains from one saved state, and the best goes on.

step = trials.begin(receipt, asked)     # saves the state, sets the first values
step = trials.end()                     # goes back, sets the next; the step at which they end
outcome = trials.end()                  # after the last: keeps the best, or goes back
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from nbtrain.core.commands import Try
from nbtrain.core.errors import ArgumentError, CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.core.text.tracebacks import told
from nbtrain.core.values.arms import ArmResult, arms_of
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.core.values.rate_range import RateRange, not_recorded
from nbtrain.core.values.side_tags import WHOLE, metrics
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.trials.comparison import Comparison
from nbtrain.run.trials.metric import TrialMetric, best_of, described, is_worse, steps_of, whole
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.rundir.timeline import name_of


class SideBySide:
    """The trials of several values of one start of a run, one at a time; training thread only."""

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
        self._total = context.total
        self._went_back = went_back
        self._steps = context.steps
        self._trial: Comparison | None = None
        self._failed: tuple[str, bool] | None = None  # why, and whether all of it has
        self.said = ""  # the arm at hand in words

    def has(self, receipt: Receipt) -> bool:
        """Tells if a receipt belongs to the current trial."""
        return self._trial is not None and self._trial.receipt is receipt

    def check_free(self, what: str) -> None:
        """Raises a PhaseError during a trial, which compares trainings that are alike."""
        if self._trial is not None:
            raise PhaseError(
                f"Cannot {what} while {len(self._trial.arms)} settings are tried from step "
                f"{self._trial.begun:,}: wait for the end of the trial, or leave it by "
                f"run.restore({name_of(self._trial.saved)!r})."
            )

    def fail(self, why: str, *, all_of_it: bool) -> Receipt | None:
        """Marks the arm at hand, or the trial, as failed; returns the receipt of a trial."""
        if self._trial is None:
            return None
        self._failed = why, all_of_it
        return self._trial.receipt

    def begin(self, receipt: Receipt, asked: Try) -> int:
        """Begins a trial; returns the step at which its first arm ends.

        Raises:
            PhaseError: Another trial has not ended, or the run was asked to stop meanwhile.
            ArgumentError: The command is invalid; nothing has changed.
            CheckpointError: The start of the trial cannot be saved.
        """
        self.check_free("try")
        steps = steps_of(asked, self._steps.step, self._total())
        whole(asked.repeats, "repeats")
        if callable(asked.keep_if):
            raise ArgumentError(
                f"keep_if={asked.keep_if!r}: a function decides about one value. For several, give "
                "the tag of a scalar, such as 'val_loss'; without keep_if= the choice is yours."
            )
        arms = arms_of(asked.values, asked.settings)
        known = self._control.hyperparameters
        wanted = [known.check(arm.values) for arm in arms]
        old = {name: self._control.now()[name] for name in asked.names}
        known.check(old)
        sweep = None if asked.sweep is None else RateRange(*asked.sweep, steps)
        draws = self._policy.aside.draws()
        ((tag, before),) = self._metric.measure(asked).items()
        if self._lifecycle.phase is Phase.STOPPING:
            raise PhaseError("The run was asked to stop before the trial began.")
        saved = self._policy.aside.save_start()
        both = zip(arms, wanted, strict=True)
        results = [ArmResult(arm.name, values, tag, before) for arm, values in both]
        begun = self._steps.step  # read again, because a session counts it itself
        self._failed = None
        self._trial = Comparison(
            receipt=receipt,
            asked=asked,
            steps=steps,
            begun=begun,
            saved=saved,
            old=old,
            arms=arms,
            wanted=wanted,
            results=results,
            direction=self._metric.direction(asked),
            draws=draws,
            sweep=sweep,
        )
        self._policy.trial_start.compares = True
        try:
            if asked.repeats > 1:  # each repeat varies what a restore has set
                self._back(self._trial)
            return self._begin_arm(self._trial)
        except BaseException:
            self._taken()
            self._policy.aside.leave()
            raise

    def _begin_arm(self, trial: Comparison) -> int:
        moved = trial.draws.again(trial.repeat, trial.steps)
        trial.pairing.same_batches |= bool(trial.repeat) and not moved
        edits = self._control.set({**trial.old, **trial.wanted[trial.number]})
        changed = {edit.name: [edit.old, edit.new] for edit in edits if edit.old != edit.new}
        said, end = f"{trial.which}: {trial.name}", trial.begun + trial.steps
        self.said = f"Trying {said} from step {trial.begun:,} to {end:,}"
        self._monitor.log(
            event="try",
            step=trial.begun,
            text=f"{said} for {trial.steps:,} steps",
            arm=[trial.turn, f"{trial.name}{trial.again}"],
            **({"edits": changed} if changed else {}),
        )
        return end if trial.sweep is None else trial.begun + 1

    def end(self) -> Outcome | int:
        """Ends the arm at hand, and begins the next; returns its end, or the outcome."""
        trial, failed = self._trial, self._failed
        assert trial is not None, "it is only asked for while there is one"
        self._failed = None
        if failed is not None and failed[1]:
            return self._given_up(trial, failed[0])
        if trial.sweep is not None:
            return self._swept(trial, trial.sweep, over=failed is not None)
        self._measure(trial, failed[0] if failed is not None else "")
        if self._lifecycle.phase is Phase.STOPPING:  # a stop cuts an evaluation short
            return Outcome(False, self._steps.step, self._undecided(trial, "the run ended"))
        try:
            self._hold_if_best(trial)
            if trial.is_last:
                return self._decided(trial)
            self._back(trial)
            trial.turn += 1
            return self._begin_arm(trial)
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            return self._given_up(trial, told(error))

    def _swept(self, trial: Comparison, sweep: RateRange, *, over: bool) -> Outcome | int:
        """Adds the loss of a step of a range test, and sets the next rate; or ends the test."""
        step, (result,), (name,) = self._steps.step, trial.results, trial.old
        recorded = self._recorder.means(step - 1, step)
        if not over and result.tag not in recorded:
            return self._given_up(trial, not_recorded(result.tag, step))
        loss = recorded.get(result.tag, math.nan)
        if not over and not sweep.add(step - trial.begun - 1, loss):
            self._control.set({name: sweep.rate(step - trial.begun)})
            return step + 1
        edit = Edit(name, self._control.now()[name], trial.old[name])
        text = f"{self._back(trial)}: {sweep.text(name, result.tag)}"
        self._taken()
        self._policy.aside.leave()
        found = trial.suggested
        return Outcome(True, step, text, (edit,), kept=False, arms=found, curve=sweep.curve)

    def _measure(self, trial: Comparison, why: str) -> None:
        """Adds the result of the arm at hand, and its mark."""
        number, step = trial.number, self._steps.step
        result, value = trial.results[number], math.nan
        first = self._recorder.means(trial.begun, trial.begun + 1)
        first = {tag: first[tag] for tag in metrics(first) if not tag.startswith(WHOLE)}
        trial.pairing.add(trial.repeat, first, result.values)
        if not why:
            try:
                value = self._metric.measure(trial.asked)[result.tag]
            except Exception as error:  # noqa: BLE001 - an arm that cannot be compared has lost
                why = f"not measured: {told(error)}"
            else:
                why = "" if math.isfinite(value) else f"{result.tag} is {value}"
        trial.results[number] = result.measured(value, why)
        once = described(replace(result, after=(value,), note=why))
        self._monitor.log(event="try", step=step, text=f"{trial.which} ends: {once}")

    def _hold_if_best(self, trial: Comparison) -> None:
        """Saves the state at hand if it is the best so far, unless it is the last."""
        if trial.repeat or trial.is_last or trial.direction is None:
            return
        if best_of(trial.results[: trial.number + 1], trial.direction) == trial.number:
            trial.best = self._policy.aside.save_best()

    def _decided(self, trial: Comparison) -> Outcome:
        step, results, direction = self._steps.step, tuple(trial.results), trial.direction
        if direction is None:
            return self._given_up(trial, "")
        best = best_of(results, direction)
        if best is None or is_worse(direction, results[best].before, results[best].mean):
            return self._given_up(trial, "", best=best)
        if best != trial.number:
            assert trial.best is not None, "it was the best of the arms before the last"
            self._policy.restore(trial.best)
            self._control.set({**trial.old, **trial.wanted[best]})
            self._move()
        self._taken()
        try:
            self._policy.save()
        except CheckpointError as error:
            self._monitor.notices.note("save", f"No checkpoint at step {step:,}: {error}")
        self._policy.start()
        self._policy.aside.leave()
        text = f"kept {described(results[best])}{trial.others(best)}{trial.pairing.text}"
        return Outcome(True, step, text, kept=True, arms=results)

    def _given_up(self, trial: Comparison, why: str, *, best: int | None = None) -> Outcome:
        """Goes back; without a reason, since nothing was better or the choice is the user's."""
        step, results = self._steps.step, tuple(trial.results)
        edits = tuple(
            Edit(name, now, trial.old[name])
            for name, now in self._control.now().items()
            if name in trial.old and now != trial.old[name]
        )
        text = self._back(trial)
        if not why:
            best_said = "none could be measured" if best is None else described(results[best])
            why = f"of {len(results)} settings none was better: {best_said}"
            if trial.asked.leaves_choice:
                why = "the choice is yours: " + "; ".join(described(each) for each in results)
            elif best is not None:
                why += trial.others(best)
            why += trial.pairing.text
        self._taken()
        self._policy.aside.leave()
        results = tuple(each for each in results if each.after)
        return Outcome(True, step, f"{text}: {why}", edits, kept=False, arms=results)

    def leave(self, why: str, *, back: bool = False) -> Receipt | None:
        """Ends the current trial without a decision, and answers its receipt, which is returned.

        Args:
            back: Whether the run has gone back by itself; otherwise it goes back now.
        """
        if (trial := self._trial) is None:
            return None
        step = self._steps.step
        entry = trial.receipt.sender.entry
        text = self._undecided(trial, why, back=back)
        self._monitor.log(event="try", step=step, applied=False, text=text, **entry)
        self._monitor.write_journal()
        trial.receipt.answer(Outcome(applied=False, step=step, text=text))
        return trial.receipt

    def _undecided(self, trial: Comparison, why: str, *, back: bool = False) -> str:
        """Ends the trial, and goes back unless the run has gone back; returns what was done."""
        said = f"{why} before the trial was over; nothing was decided"
        if not back:
            said += f"; {self._back(trial)}"
        self._taken()
        self._policy.aside.leave()
        self._monitor.notices.inform(f"{said[0].upper()}{said[1:]}.")
        return said

    def set_back(self, *, undo: bool = False) -> None:
        """Sets the values of before during a trial, because the user restores a checkpoint.

        Args:
            undo: Sets those of the arm at hand again, because nothing was restored.
        """
        if (trial := self._trial) is not None:
            more = trial.wanted[trial.number] if undo else {}
            self._control.set({**trial.old, **more})

    def _taken(self) -> None:
        self._trial, self._failed, self.said = None, None, ""
        self._policy.trial_start.compares = False
        self._monitor.notices.note("trial", None)

    def _move(self) -> None:
        """Opens a segment where the run has gone to, which does not end the trial."""
        held, self._trial = self._trial, None
        self._went_back()
        self._trial = held

    def _back(self, trial: Comparison) -> str:
        """Goes back to the start; returns what was done."""
        said = ", ".join(f"{name} {value:.10g} again" for name, value in trial.old.items())
        try:
            self._policy.restore(trial.saved)
        except CheckpointError as gone:
            self._control.set(trial.old)
            return f"{said}, the weights as they are ({gone})"
        self._control.set(trial.old)
        trial.draws.again()
        self._move()
        return f"back to step {self._steps.step:,}, {said}"
