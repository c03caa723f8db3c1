"""The methods that steer a run: each queues a command and returns a receipt at once."""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsFloat, SupportsIndex

from nbtrain.core.commands import (
    Command,
    Evaluate,
    Outcome,
    Pause,
    Receipt,
    Restore,
    Resume,
    Save,
    Set,
    Stop,
    Try,
)
from nbtrain.core.errors import ArgumentError, UnknownNameError
from nbtrain.core.states import Checkpoint, Event
from nbtrain.rundir.actions import Action

if TYPE_CHECKING:
    from nbtrain.run.attempt import Attempt
    from nbtrain.run.threads import Coordinator

# Not None, which a step function returns if it lacks a return statement.
NO_VALUES: Mapping[str, SupportsFloat] = MappingProxyType({})

# Names from other libraries, and what to use instead.
INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("stop", "cancel", "abort", "kill"), "run.request_stop()"),
        **dict.fromkeys(("join", "result"), "run.wait()"),
        **dict.fromkeys(("show", "display", "plot"), "run, as the last line of a cell"),
        "checkpoint": "run.save()",
        "load": "run.restore()",
        "unpause": "run.resume()",
        "step": "run.status.step",
        "phase": "run.status.phase",
        "history": "run.scalars",
    }
)


class Steering:
    """The commands of a run, from any thread; they are executed at a step boundary."""

    coord: Coordinator
    attempt: Attempt
    receipts: deque[Receipt]

    def __dir__(self) -> list[str]:
        """Returns the names, without those that only say what to use instead."""
        return [name for name in super().__dir__() if name not in INSTEAD]

    def post(self, command: Command, *, at: int | None = None) -> Receipt:
        """Queues a command for the next step boundary, and returns its receipt.

        Args:
            command: The command.
            at: A future step after which to execute it; None executes it at once. Such a planned
                command may be posted before the first start.

        Raises:
            ArgumentError: A stop is planned, `command` is not a command, or `at` is not a step.
        """
        if not isinstance(command, Command):
            raise ArgumentError(f"post({command!r}): give a command, such as Save() or Pause().")
        at = None if at is None else _number_of_step(at)
        if at is not None and isinstance(command, Stop):
            raise ArgumentError(f"A stop cannot be planned: for an end at step {at}, give steps=.")
        step, context = self.attempt.step, self.attempt.context
        why = self._unknown(command) if at is None else None
        if why is None:
            receipt = context.commands.post(command, step=step, at=at)
        else:
            receipt = Receipt(command)
            receipt.answer(Outcome(applied=False, step=step, text=why))
            context.monitor.log(event=receipt.name, step=step, applied=False, text=why)
        self.receipts.append(receipt)
        refused = receipt.outcome is not None and not receipt.outcome.applied
        if isinstance(command, Stop) and not refused:
            self.coord.request_stop()
        return receipt

    def _unknown(self, command: Command) -> str | None:
        """Returns why an edit is refused at once: the run trains and lacks a name; else None."""
        context = self.attempt.context
        if not isinstance(command, Set | Try) or not context.lifecycle.allows(Event.STOP):
            return None
        known = context.hyperparameters.values
        unknown = {name: 0.0 for name in command.values if name not in known}
        try:
            if unknown and known:
                context.hyperparameters.check(unknown)
        except ArgumentError as error:
            return str(error)
        return None

    def request_stop(self) -> Receipt:
        """Ends the run after the current step, with a last checkpoint."""
        return self.post(Stop())

    def pause(self) -> Receipt:
        """Pauses the training until `resume`; saving and restoring still work."""
        return self.post(Pause())

    def resume(self) -> Receipt:
        """Continues after a pause."""
        return self.post(Resume())

    def save(self) -> Receipt:
        """Writes a checkpoint at the next step boundary."""
        return self.post(Save())

    def restore(
        self, checkpoint: int | str | Checkpoint | None = None, *, halve: str | None = None
    ) -> Receipt:
        """Restores a checkpoint.

        Args:
            checkpoint: Its step, its path, or None for the latest on the current branch.
                Abandoned checkpoints are used only if there is no other.
            halve: A hyperparameter to halve afterwards: of its values before and after the restore,
                the lower one. None changes nothing.
        """
        wanted = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
        return self.post(Restore(wanted, halve))

    def do(self, action: Action) -> Receipt:
        """Does something that `actions` offers, at the next step boundary.

        Raises:
            ArgumentError: It is none of them.
        """
        if not isinstance(action, Action):
            raise ArgumentError(f"do({action!r}): give one of run.actions(), such as the first.")
        return self.post(action.command)

    def set(
        self, values: Mapping[str, SupportsFloat] = NO_VALUES, /, **more: SupportsFloat
    ) -> Receipt:
        """Sets hyperparameters at the next step boundary: all of them, or none.

        Args:
            values: Numbers by the names of hyperparameters.
            more: More of them, by keyword.

        Example:
            >>> run.set(learning_rate=1e-4, dropout_rate=0.3).wait()
        """
        return self.post(Set({**_by_name(values), **more}))

    def evaluate(self) -> Receipt:
        """Evaluates at the next step boundary, also while paused; records `val_loss` and so on.

        The start of the run says what to evaluate: `evaluate=`, or `validation_data=` of a Keras
        fit.
        """
        return self.post(Evaluate())

    def trial(
        self,
        values: Mapping[str, SupportsFloat] = NO_VALUES,
        /,
        *,
        steps: int = 200,
        keep_if: str | Callable[[Mapping[str, float], Mapping[str, float]], object] | None = None,
        **more: SupportsFloat,
    ) -> Receipt:
        """Tries hyperparameters for some steps, then keeps them or goes back.

        Scalars are measured before and after the trial: by an evaluation if the run can evaluate,
        and as means over the last quarter of `steps` steps. Going back restores the checkpoint
        from the beginning of the trial and the old values. The receipt is answered at the end of
        the trial, so not while the run is paused; `kept` of its outcome tells the decision.

        Args:
            values: Hyperparameters by their names.
            steps: The number of steps of the trial.
            keep_if: Tag of a scalar that must not get worse. A higher value is worse, unless the
                name says that higher is better (accuracy, AUC, precision, recall, score and the
                like). Or a function of two dicts, the scalars before and after, that returns
                whether to keep the values. None takes `val_loss`.
            more: More values, by keyword.

        Example:
            >>> run.trial(learning_rate=5e-4, steps=200, keep_if="val_loss").wait()
        """
        return self.post(Try({**_by_name(values), **more}, steps, keep_if))

    def try_(self, *values: Mapping[str, SupportsFloat], **more: Any) -> Receipt:
        """The former name of `trial`; issues a DeprecationWarning."""
        warnings.warn("run.try_() is run.trial() now", DeprecationWarning, stacklevel=2)
        return self.trial(*values, **more)


class _Instead:
    """Refuses a name. A `__getattr__` would do so too, but slow down all other names of a run."""

    def __init__(self, name: str, words: str) -> None:
        self._text = f"'Run' object has no attribute {name!r}: use {words}"

    def __get__(self, run: object, owner: type) -> NoReturn:
        raise UnknownNameError(self._text)


for _name, _words in INSTEAD.items():
    setattr(Steering, _name, _Instead(_name, _words))


def _by_name(values: object) -> Mapping[str, SupportsFloat]:
    """Returns the given values.

    Raises:
        ArgumentError: They are not a mapping.
    """
    if isinstance(values, Mapping):
        return values
    raise ArgumentError(
        f"{values!r} names no hyperparameter: give numbers by name, such as learning_rate=1e-4, or "
        'a dict, {"learning_rate": 1e-4}.'
    )


def _number_of_step(at: SupportsIndex) -> int:
    """Returns the step at which a command is planned, as an int.

    Raises:
        ArgumentError: `at` is not a step.
    """
    with contextlib.suppress(TypeError):  # arrays have `__index__` too, but it raises
        if (step := operator.index(at)) >= 0:
            return step
    raise ArgumentError(f"at={at!r}: give the number of a step, from 0, or None.")
