"""Trial edits: hyperparameters have other values for some steps, then these stay, or not.

trials.begin(receipt, asked, ...)  # a checkpoint, and the edits; returns the step of its end
trials.end(...)                    # its answer: kept, or back to that checkpoint
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbtrain.checkpoints.files import Restored
from nbtrain.core.commands import Outcome, Receipt, Try
from nbtrain.core.errors import ArgumentError, CheckpointError, PhaseError
from nbtrain.core.hyperparameters import Edit
from nbtrain.run.context import Context
from nbtrain.run.hyperparameter_control import HyperparameterControl
from nbtrain.run.saving import CheckpointPolicy
from nbtrain.run.trial_metric import TrialMetric, whole


@dataclass(frozen=True, slots=True)
class _Trial:
    """A trial under way.

    Attributes:
        receipt: Its command's.
        begun: The step at which it began.
        saved: Path of its checkpoint; None where nothing saves it.
        before: What decides, at its begin.
        edits: What it tries.
    """

    receipt: Receipt
    begun: int
    saved: str | None
    before: Mapping[str, float]
    edits: tuple[Edit, ...]


class Trials:
    """The trial edits of one start of a run, one at a time; training thread only.

    Args:
        context: The collaborators of the attempt.
        policy: Saves where a trial begins, and restores it.
        control: Sets the hyperparameters.
        metric: Measures what decides.
        went_back: Called once the run is at an earlier step.
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
        self._total = context.total
        self._went_back = went_back
        self._steps = context.steps
        self._trial: _Trial | None = None
        self._failed: str | None = None  # why what is tried cannot stay

    def has(self, receipt: Receipt) -> bool:
        """Whether this is the trial under way."""
        return self._trial is not None and self._trial.receipt is receipt

    def begun_since(self, step: int) -> bool:
        """Whether a trial is under way whose edits came after what was saved of this step."""
        return self._trial is not None and self._trial.begun >= step

    def check_free(self, values: Mapping[str, object]) -> None:
        """Raise a PhaseError where a value is on trial: it would be decided of another."""
        for edit in self._trial.edits if self._trial is not None else ():
            if edit.name in values:
                raise PhaseError(
                    f"Cannot set {edit.name} while it is on trial: wait for the end of the trial"
                    f"{self._way_out}."
                )

    @property
    def _way_out(self) -> str:
        """How to leave the trial under way, where that can be done."""
        saved = self._trial.saved if self._trial is not None else None
        return f", or leave it by run.restore({_short(saved)!r})" if saved is not None else ""

    def fail(self, why: str, *, restore: bool) -> Receipt | None:
        """What is tried cannot stay; returns its receipt, None where nothing is tried.

        Args:
            why: In words.
            restore: Whether it is of no use where there is nothing to restore.
        """
        if self._trial is None or (restore and self._trial.saved is None):
            return None
        self._failed = why
        return self._trial.receipt

    def begin(self, receipt: Receipt, asked: Try, asked_to_stop: Callable[[], bool]) -> int:
        """Begin a trial.

        Args:
            receipt: Its receipt.
            asked: What to try.
            asked_to_stop: Whether the run was: then there is nothing to try it on.

        Returns:
            The step at which it ends.

        Raises:
            PhaseError: Another is under way; or the run was asked to stop meanwhile.
            ArgumentError: It cannot be tried so; nothing has changed.
            CheckpointError: Its begin cannot be saved.
        """
        if self._trial is not None:
            raise PhaseError(
                f"Cannot try while another trial is under way, of {_named(self._trial.edits)} "
                f"since step {self._trial.begun:,}: wait for its end{self._way_out}."
            )
        steps = self._steps_of(asked)
        self._control.hyperparameters.check_changes(asked.values)
        before = self._metric.measure(asked, self._steps.step)
        if asked_to_stop():
            raise PhaseError("The run was asked to stop before the trial began.")
        saved = None
        if self._policy.can_save:
            saved = self._policy.set_aside()
        step = self._steps.step  # as a session counts it itself
        try:
            edits = self._control.set(asked.values, step)
        except BaseException:
            self._policy.leave_aside()
            raise
        self._trial = _Trial(receipt, step, saved, before, edits)
        self._monitor.log(
            event="try",
            step=step,
            text=f"{', '.join(map(str, edits))} for {steps:,} steps",
            edits={edit.name: [edit.old, edit.new] for edit in edits},
        )
        self._monitor.note(
            "trial",
            f"Trying {_named(edits)} from step {step:,} to {step + steps:,}; a pause holds it up.",
        )
        return step + steps

    def end(self, asked_to_stop: Callable[[], bool]) -> Outcome:
        """Keep what was tried, or go back.

        Args:
            asked_to_stop: Whether the run was, which ends an evaluation: then nothing is decided.

        Returns:
            The answer.
        """
        failed, trial = self._failed, self._taken()
        try:
            return self._ended(trial, failed, asked_to_stop)
        finally:
            self._policy.leave_aside()

    def _ended(
        self, trial: _Trial, failed: str | None, asked_to_stop: Callable[[], bool]
    ) -> Outcome:
        asked, step = trial.receipt.command, self._steps.step
        assert isinstance(asked, Try)
        if failed is not None:
            return self._undone(trial, failed)
        kept, why = self._metric.decide(asked, trial.before, step)
        if asked_to_stop():
            self._keep_apart(trial, "The run ended", "started again, ")
            return Outcome(False, step, _undecided("the run ended", trial.edits))
        if kept:
            return Outcome(True, step, f"kept {_named(trial.edits)}: {why}", kept=True)
        return self._undone(trial, why)

    def leave(
        self, step: int, why: str, *, ended: bool = False, back: Restored | None = None
    ) -> Receipt | None:
        """End the trial under way, with nothing decided; returns its receipt, answered.

        Args:
            step: The step up to which it was tried.
            why: In words.
            ended: Whether the run has: then where the trial began outlives it.
            back: What was restored. What was saved in the trial holds what was tried: then where
                it began stays as well.
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
        self._policy.leave_aside()
        self._monitor.log(event="try", step=step, applied=False, text=text)
        self._monitor.write_journal()
        trial.receipt.answer(Outcome(applied=False, step=step, text=text))
        return trial.receipt

    def _taken(self) -> _Trial:
        trial, self._trial, self._failed = self._trial, None, None
        assert trial is not None, "it is only asked for while there is one"
        self._monitor.note("trial", None)
        return trial

    def _saved_in(self, trial: _Trial, path: str) -> bool:
        """Whether a checkpoint was saved since a trial began."""
        orders = {held.path: held.order for held in self._policy.checkpoints}
        return trial.saved in orders and orders.get(path, 0.0) > orders[trial.saved]

    def _keep_apart(self, trial: _Trial, what: str, first: str = "") -> None:
        """What was tried stays: say since what, and how to go back, and what to do first."""
        text = f"{what} in a trial of {_named(trial.edits)}, which stays as tried"
        if trial.saved is None:
            self._monitor.note("trial", f"{text}.")
            return
        self._policy.keep_aside(trial.begun)
        undo = f"run.restore({_short(trial.saved)!r}) goes back before it"
        self._monitor.note("trial", f"{text}; {first}{undo}.")

    def _steps_of(self, asked: Try) -> int:
        steps, step = whole(asked.steps), self._steps.step
        if (total := self._total()) is not None and step + steps > total:
            raise ArgumentError(
                f"steps={steps:,}: of the run's {total:,} steps {total - step:,} are left; try "
                "fewer."
            )
        return steps

    def _undone(self, trial: _Trial, why: str) -> Outcome:
        step = self._steps.step
        said = self._back(trial)
        undone = tuple(Edit(edit.name, edit.new, edit.old) for edit in trial.edits)
        return Outcome(True, step, f"{said}: {why}", undone, kept=False)

    def _back(self, trial: _Trial) -> str:
        """Be where the trial began, as far as that was saved; returns what was done, in words."""
        old = {edit.name: edit.old for edit in trial.edits}
        said = ", ".join(f"{name} {value:.10g} again" for name, value in old.items())
        if trial.saved is None:
            self._control.set(old, self._steps.step)
            return f"{said}, the weights as they are (nothing saves them)"
        try:
            self._policy.restore(trial.saved)
        except CheckpointError as gone:
            self._control.set(old, self._steps.step)
            return f"{said}, the weights as they are ({gone})"
        self._control.set(old, self._steps.step)
        self._went_back()
        return f"back to step {self._steps.step:,}, {said}"


def _short(path: str) -> str:
    """A checkpoint's name with its folder: enough to restore it by."""
    return "/".join(Path(path).parts[-2:])


def _undecided(why: str, edits: tuple[Edit, ...]) -> str:
    return f"{why} before the trial was over; nothing was decided of {_named(edits)}"


def _named(edits: tuple[Edit, ...]) -> str:
    return ", ".join(f"{edit.name} {edit.new:.10g}" for edit in edits)
