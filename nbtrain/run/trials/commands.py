"""The trials of a run: of one value or of several, one trial at a time.

trials.do(receipt, asked)       # begins a trial; None, as the outcome comes at its end
trials.do(receipt, asked)       # the receipt comes again at the planned step: ends it
trials.leave(step, why)         # ends it without a decision
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from nbtrain.checkpoints.files import Restored
from nbtrain.core.commands import Try
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.trials.metric import TrialMetric
from nbtrain.run.trials.side_by_side import SideBySide
from nbtrain.run.trials.trial import Trials
from nbtrain.run.tuning.control import HyperparameterControl


class TrialCommands:
    """The trials of one start of a run; training thread only."""

    def __init__(
        self,
        context: Context,
        policy: CheckpointPolicy,
        control: HyperparameterControl,
        metric: TrialMetric,
        went_back: Callable[[], None],
    ) -> None:
        self._lifecycle = context.lifecycle
        self._notices = context.monitor.notices
        self._commands = context.commands
        self._steps = context.steps
        self._one = Trials(context, policy, control, metric, went_back)
        self._several = SideBySide(context, policy, control, metric, went_back)

    def has(self, receipt: Receipt) -> bool:
        """Tells if a receipt belongs to the current trial."""
        return self._one.has(receipt) or self._several.has(receipt)

    def do(self, receipt: Receipt, asked: Try) -> Outcome | None:
        """Begins a trial, or goes on with it when its receipt comes again; None until its end."""
        ends: Outcome | int
        if not self.has(receipt):
            self._one.check_over()
            self._several.check_free("try")
            ends = (self._several if asked.is_comparison else self._one).begin(receipt, asked)
        elif self._lifecycle.phase is Phase.STOPPING:
            self.leave(self._steps.step, "the run ended", ended=True)
            return None
        else:
            ends = (self._several if asked.is_comparison else self._one).end()
        if isinstance(ends, Outcome):
            return ends
        self._commands.plan(receipt, ends)
        self.tell()
        return None

    def check_free(self, values: Mapping[str, object]) -> None:
        """Raises a PhaseError if values cannot be set because of a trial."""
        self._one.check_free(values)
        self._several.check_free(f"set {', '.join(values)}")

    def fail(self, why: str, *, restore: bool) -> bool:
        """Ends a trial, or the arm at hand, at this boundary; tells if there is one.

        Args:
            restore: Whether the training has gone bad, and must go back to a checkpoint. Otherwise
                the values have no effect, and no further arm follows.
        """
        receipt = self._one.fail(why, restore=restore)
        receipt = receipt or self._several.fail(why, all_of_it=not restore)
        if receipt is not None:
            self._commands.withdraw(receipt)
            self._commands.plan(receipt, self._steps.step)
        return receipt is not None

    def go_back(self, step: int) -> None:
        """Ends a trial because the run has gone back to a step before it."""
        if self._one.begun_since(step):
            self._withdraw(self._one.leave(step, "the run went back"))
        self._withdraw(self._several.leave("the run went back", back=True))

    def pause(self) -> str:
        """Ends a trial of several values because of a pause; returns what to add to the answer."""
        receipt = self._several.leave("the run was paused")
        self._withdraw(receipt)
        self.tell()
        at = f" at step {self._steps.step:,}: a trial of several values was left"
        return at if receipt is not None else ""

    def tell(self) -> None:
        """Shows what is tried, and that it waits while the run is paused."""
        for said, paused in (
            (self._one.said, "a pause holds it up"),
            (self._several.said, "a pause ends the trial"),
        ):
            if said and self._lifecycle.phase is Phase.PAUSED:
                paused = "it takes its steps once the paused run is resumed"
            if said:
                self._notices.note("trial", f"{said}; {paused}.")

    @contextlib.contextmanager
    def restoring(self) -> Iterator[None]:
        """Sets the values of before a trial of several while the block restores a checkpoint.

        So those that the checkpoint does not hold do not stay as tried.
        """
        self._several.set_back()
        try:
            yield
        except BaseException:
            self._several.set_back(undo=True)
            raise

    def leave(
        self, step: int, why: str, *, ended: bool = False, back: Restored | None = None
    ) -> None:
        """Ends the current trial without a decision; see `Trials.leave`."""
        self._withdraw(self._one.leave(step, why, ended=ended, back=back))
        if ended:
            self._withdraw(self._several.leave(why))

    def _withdraw(self, receipt: Receipt | None) -> None:
        if receipt is not None:
            self._commands.withdraw(receipt)
