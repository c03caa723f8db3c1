"""Trials: a run tries other hyperparameters for some steps, then keeps them or goes back.

trials.begin(receipt, asked, ...)  # saves a checkpoint, makes the edits; returns the last step
trials.end(...)                    # keeps the edits, or restores that checkpoint
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nbtrain.checkpoints.files import Restored
from nbtrain.core.commands import Try
from nbtrain.core.errors import CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.run.context import Context
from nbtrain.run.saving.draws import Draws
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.trials.metric import TrialMetric, steps_of
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.rundir.timeline import name_of


@dataclass(frozen=True, slots=True)
class _Trial:
    """The current trial.

    Attributes:
        saved: Path of its checkpoint; None if nothing saves the run.
        draws: The random draws at its start; None if they cannot be set back.
    """

    receipt: Receipt
    begun: int
    saved: str | None
    before: Mapping[str, float]
    edits: tuple[Edit, ...]
    draws: Draws | None


class Trials:
    """The trial edits of one start of a run, one at a time; training thread only.

    Attributes:
        said: The current trial in words; empty without one.
    """

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
        self._lifecycle = context.lifecycle
        self._total = context.total
        self._went_back = went_back
        self._steps = context.steps
        self._trial: _Trial | None = None
        self._failed: str | None = None  # why the edits cannot stay
        self.said = ""

    def has(self, receipt: Receipt) -> bool:
        """Tells if a receipt belongs to the current trial."""
        return self._trial is not None and self._trial.receipt is receipt

    def begun_since(self, step: int) -> bool:
        """Tells if the current trial's edits came after the checkpoint of a step."""
        return self._trial is not None and self._trial.begun >= step

    def check_free(self, values: Mapping[str, object]) -> None:
        """Raises a PhaseError if a value is on trial: the trial would decide on another value."""
        for edit in self._trial.edits if self._trial is not None else ():
            if edit.name in values:
                raise PhaseError(
                    f"Cannot set {edit.name} while it is on trial: wait for the end of the trial"
                    f"{self._way_out}."
                )

    def check_over(self) -> None:
        """Raises a PhaseError if a trial is under way."""
        if self._trial is not None:
            raise PhaseError(
                f"Cannot try while another trial is under way, of {_named(self._trial.edits)} "
                f"since step {self._trial.begun:,}: wait for its end{self._way_out}."
            )

    @property
    def _is_stopping(self) -> bool:
        return self._lifecycle.phase is Phase.STOPPING

    @property
    def _way_out(self) -> str:
        """Describes how to leave the current trial; empty if that is not possible."""
        saved = self._trial.saved if self._trial is not None else None
        return f", or leave it by run.restore({name_of(saved)!r})" if saved is not None else ""

    def fail(self, why: str, *, restore: bool) -> Receipt | None:
        """Marks the edits on trial as failed; returns the receipt, or None if nothing was done.

        Args:
            restore: Whether to do nothing if the trial has no checkpoint to restore.
        """
        if self._trial is None or (restore and self._trial.saved is None):
            return None
        self._failed = why
        return self._trial.receipt

    def begin(self, receipt: Receipt, asked: Try) -> int:
        """Begins a trial; returns the step at which it ends.

        Raises:
            PhaseError: Another trial has not ended, or the run was asked to stop meanwhile.
            ArgumentError: The command is invalid; nothing has changed.
            CheckpointError: The start of the trial cannot be saved.
        """
        self.check_over()
        steps = steps_of(asked, self._steps.step, self._total())
        self._control.hyperparameters.check_changes(asked.values)
        before = self._metric.measure(asked)
        if self._is_stopping:
            raise PhaseError("The run was asked to stop before the trial began.")
        saved = draws = None
        with contextlib.suppress(CheckpointError):  # then only the edits are undone, as ever
            draws = self._policy.aside.draws()
        if self._policy.can_save:
            saved = self._policy.aside.save_start()
        step = self._steps.step  # read again, because a session counts it itself
        try:
            edits = self._control.set(asked.values)
        except BaseException:
            self._policy.aside.leave()
            raise
        self._trial = _Trial(receipt, step, saved, before, edits, draws)
        self._monitor.log(
            event="try",
            step=step,
            text=f"{', '.join(map(str, edits))} for {steps:,} steps",
            edits={edit.name: [edit.old, edit.new] for edit in edits},
        )
        self.said = f"Trying {_named(edits)} from step {step:,} to {step + steps:,}"
        return step + steps

    def end(self) -> Outcome:
        """Keeps the edits on trial, or goes back."""
        failed, trial = self._failed, self._taken()
        try:
            return self._ended(trial, failed)
        finally:
            self._policy.aside.leave()

    def _ended(self, trial: _Trial, failed: str | None) -> Outcome:
        asked, step = trial.receipt.command, self._steps.step
        assert isinstance(asked, Try)
        if failed is not None:
            return self._undone(trial, failed)
        kept, why = self._metric.decide(asked, trial.before)
        if self._is_stopping:  # a stop cuts an evaluation short, so nothing is decided
            self._keep_apart(trial, "The run ended", "started again, ")
            return Outcome(False, step, _undecided("the run ended", trial.edits))
        if kept:
            return Outcome(True, step, f"kept {_named(trial.edits)}: {why}", kept=True)
        return self._undone(trial, why)

    def leave(
        self, step: int, why: str, *, ended: bool = False, back: Restored | None = None
    ) -> Receipt | None:
        """Ends the current trial without a decision, and answers its receipt, which is returned.

        Args:
            ended: Whether the run has ended. The checkpoint of the start then stays.
            back: The restored checkpoint. If it was saved during the trial, it contains the
                edits on trial, and the checkpoint of the start stays too.
        """
        if self._trial is None:
            return None
        trial = self._taken()
        text = _undecided(why, trial.edits)
        if ended:
            self._keep_apart(trial, "The run ended", "started again, ")
        if back is not None and self._saved_in(trial, back.path):
            self._keep_apart(trial, f"The run went back to step {back.step:,}")
            text += ", which stays as tried"
        self._policy.aside.leave()
        sender = trial.receipt.sender.entry
        self._monitor.log(event="try", step=step, applied=False, text=text, **sender)
        self._monitor.write_journal()
        trial.receipt.answer(Outcome(applied=False, step=step, text=text))
        return trial.receipt

    def _taken(self) -> _Trial:
        trial, self._trial, self._failed = self._trial, None, None
        self.said = ""
        assert trial is not None, "it is only asked for while there is one"
        self._monitor.notices.note("trial", None)
        return trial

    def _saved_in(self, trial: _Trial, path: str) -> bool:
        """Tells if a checkpoint was saved after the start of a trial."""
        orders = {held.path: held.order for held in self._policy.checkpoints}
        return trial.saved in orders and orders.get(path, 0.0) > orders[trial.saved]

    def _keep_apart(self, trial: _Trial, what: str, first: str = "") -> None:
        """Keeps the edits on trial and the checkpoint of the start; says how to go back."""
        text = f"{what} in a trial of {_named(trial.edits)}, which stays as tried"
        if trial.saved is None:
            self._monitor.notices.note("trial", f"{text}.")
            return
        self._policy.trial_start.undecided = trial.begun
        undo = f"run.restore({name_of(trial.saved)!r}) goes back before it"
        self._monitor.notices.note("trial", f"{text}; {first}{undo}.")

    def _undone(self, trial: _Trial, why: str) -> Outcome:
        step = self._steps.step
        said = self._back(trial)
        undone = tuple(Edit(edit.name, edit.new, edit.old) for edit in trial.edits)
        return Outcome(True, step, f"{said}: {why}", undone, kept=False)

    def _back(self, trial: _Trial) -> str:
        """Goes back to the start of a trial if it was saved; returns what was done."""
        old = {edit.name: edit.old for edit in trial.edits}
        said = ", ".join(f"{name} {value:.10g} again" for name, value in old.items())
        if trial.saved is None:
            self._control.set(old)
            return f"{said}, the weights as they are (nothing saves them)"
        try:
            self._policy.restore(trial.saved)
        except CheckpointError as gone:
            self._control.set(old)
            return f"{said}, the weights as they are ({gone})"
        self._control.set(old)
        if trial.draws is not None:
            trial.draws.again()
        self._went_back()
        return f"back to step {self._steps.step:,}, {said}"


def _undecided(why: str, edits: tuple[Edit, ...]) -> str:
    return f"{why} before the trial was over; nothing was decided of {_named(edits)}"


def _named(edits: tuple[Edit, ...]) -> str:
    return ", ".join(f"{edit.name} {edit.new:.10g}" for edit in edits)
