"""Reacts to bad values of a training: pauses it, or rewinds to a good checkpoint.

recovery.react()    # at a step boundary; a rewind also moves the step counter
"""

from __future__ import annotations

from typing import Any

from nbtrain.core.commands import Restore
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Checkpoint, Phase
from nbtrain.recording.loss_monitor import Anomaly
from nbtrain.run.boundary.executor import CommandExecutor
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.steer.learning_rate import rate_of

# The most recoveries one after the other, before the run pauses for the user.
_MOST = 5


class Recovery:
    """Reacts to bad values in one start of a run; training thread only."""

    def __init__(
        self, context: Context, executor: CommandExecutor, policy: CheckpointPolicy
    ) -> None:
        self._context = context
        self._executor = executor
        self._policy = policy
        self._monitor = context.monitor
        self._steps = context.steps
        self._recover = context.settings.on_nan == "recover"
        self._reported: Anomaly | None = None
        self._recoveries = 0
        self._last: tuple[int, int] | None = None  # the bad step, and the restored step

    def react(self, *, drain: bool = False, pauses: bool = True) -> None:
        """Reacts to a new bad value.

        Args:
            drain: Whether to check the waiting records too, because no boundary follows.
            pauses: Whether the run can pause; if not, a bad value only becomes a mark.
        """
        loss_monitor = self._context.recorder.loss_monitor
        if loss_monitor is None:
            return
        if drain:
            self._context.recorder.drain()
        anomaly = loss_monitor.anomaly
        if anomaly is None:
            if self._reported is not None:  # the values are good again
                self.forget()
                self._recoveries = 0
        elif anomaly is not self._reported:
            self._reported = anomaly
            self._act(anomaly, pauses=pauses)
        else:  # the run was resumed without a restore
            loss_monitor.acknowledge()
            text = f"The run continues although {anomaly}: nothing is saved until that is over."
            self._monitor.notices.note("nan", text)

    def forget(self) -> None:
        """Clears the message about a bad value."""
        self._reported = None
        self._monitor.notices.note("nan", None)

    def _act(self, anomaly: Anomaly, *, pauses: bool) -> None:
        if self._context.lifecycle.phase is Phase.STOPPING:
            return
        if self._executor.trials.fail(str(anomaly), restore=True):
            self._reported = None  # reported later if it is still there
            return
        why, entry = "", self._entry(anomaly)
        good = entry["good"]
        if self._recover:
            self._monitor.log(**entry, text=f"{anomaly}.")
            bad = self._steps.step
            why = self._rewind(anomaly)
            if not why:
                return
            self._monitor.notices.inform(None)  # clears the notice of an earlier recovery
            if self._steps.step != bad and (left := self._policy.non_finite()):
                why, good = f"{left} has gone bad, and is in no checkpoint", None
            why = f" The run could not recover: {why}."
        if not pauses:
            self._monitor.log(**{**entry, "good": good}, text=f"{anomaly}.{why}")
            return
        # A run that recovers has logged the bad value already.
        entry = {} if self._recover else entry
        self._executor.pause("nan", f"{anomaly}.{why} {self._advice(anomaly, good)}", **entry)

    def _entry(self, anomaly: Anomaly) -> dict[str, Any]:
        """Returns the journal's line of a bad value, without the text."""
        entry = {"event": "nan", "step": anomaly.step, "good": self._good(anomaly)}
        return (
            {**entry, "why_nan": True} if self._executor.questions.can_explain(anomaly) else entry
        )

    def _advice(self, anomaly: Anomaly, good: int | None) -> str:
        if good is None:
            return (
                "There is no good checkpoint to go back to: build the model again and start it "
                "with a smaller learning rate; run.resume() continues all the same."
            )
        name = rate_of(self._context.hyperparameters.values)
        smaller, edit = " with a smaller learning rate", f" run.set({name}=...);"
        tried = ", from which it went bad again" if self._last and not self._older(anomaly) else ""
        return (
            f"Last good checkpoint: step {good:,}{tried}. Restore it{smaller if name else ''}: "
            f"run.restore({good});{edit if name else ''} run.resume()."
        )

    def _good(self, anomaly: Anomaly) -> int | None:
        """The step of the last good checkpoint; None if there is none."""
        good = self._policy.below(anomaly.good)
        return good[-1].step if good else None

    def _older(self, anomaly: Anomaly) -> tuple[Checkpoint, ...]:
        """Good checkpoints, the newest last; if one failed last time, only older ones."""
        below = anomaly.good
        if self._last is not None and anomaly.step <= self._last[0]:
            below = min(below, self._last[1])
        return self._policy.below(below)

    def _tries(self, anomaly: Anomaly) -> tuple[Checkpoint, ...]:
        """Checkpoints to try, from last to first; if none is older, the same as last time."""
        if older := self._older(anomaly):
            return older
        good = self._policy.below(anomaly.good)
        same = tuple(held for held in good if self._last and held.step == self._last[1])
        return same or good

    def _rewind(self, anomaly: Anomaly) -> str:
        """Restores the last good checkpoint, halves the learning rate; returns why it cannot."""
        name = rate_of(self._context.hyperparameters.values)
        if name is None:
            return "the run has no hyperparameter learning_rate that could be halved"
        if self._recoveries == _MOST:
            return f"it has already recovered {_MOST} times"
        rate, bad = self._context.hyperparameters.values[name], self._steps.step
        for checkpoint in reversed(self._tries(anomaly)):
            restored = self._executor.execute_at_once(Receipt(Restore(checkpoint.path)))
            if not restored.applied:  # deleted, or cannot be read
                continue
            if self._policy.non_finite() is not None:
                continue  # it lacks a variable that has gone bad
            now = self._steps.step
            self._recoveries, self._last = self._recoveries + 1, (anomaly.step, now)
            # A replay must not repeat the abandoned edits.
            self._context.commands.drop_standing(bad)
            outcome = self._executor.halve(name, rate)
            self._reported = None
            self._monitor.notices.inform(
                f"Recovered: {anomaly}; the run went back to step {now:,}. {outcome.text}."
            )
            return "" if outcome.applied else outcome.text
        return "no good checkpoint is left to try"
