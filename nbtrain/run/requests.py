"""The methods that steer a run: each queues a command and returns a receipt at once."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, SupportsFloat

from nbtrain.core.commands import (
    Command,
    Evaluate,
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
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.actions import Action

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


class Steering(ABC):
    """The commands of a run, from any thread; they are executed at a step boundary."""

    @abstractmethod
    def post(self, command: Command, *, at: int | None = None) -> Receipt:
        """Queues a command, and returns its receipt."""

    def __dir__(self) -> list[str]:
        """Returns the names, without those that only say what to use instead."""
        return [name for name in super().__dir__() if name not in INSTEAD]

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
        """Does something that `actions` offers, at the next step boundary."""
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
