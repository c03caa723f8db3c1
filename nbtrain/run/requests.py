"""How a run is steered: each method asks for something, and returns a receipt at once."""

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

# Not None: that is what a step function returns which forgot its return.
NO_VALUES: Mapping[str, SupportsFloat] = MappingProxyType({})

# What a reader of other libraries tries first, and what a run has for it.
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
    """What can be asked of a run, from any thread; it is done at a step boundary."""

    @abstractmethod
    def post(self, command: Command, *, at: int | None = None) -> Receipt:
        """Queue a command, and return its receipt."""

    def __dir__(self) -> list[str]:
        """Its names, without those that only say what to use instead."""
        return [name for name in super().__dir__() if name not in INSTEAD]

    def request_stop(self) -> Receipt:
        """End the run after the step at hand, with a last checkpoint."""
        return self.post(Stop())

    def pause(self) -> Receipt:
        """Take no further step until resumed; saving and restoring still work."""
        return self.post(Pause())

    def resume(self) -> Receipt:
        """Go on after a pause."""
        return self.post(Resume())

    def save(self) -> Receipt:
        """Write a checkpoint at the next step boundary."""
        return self.post(Save())

    def restore(self, checkpoint: int | str | Checkpoint | None = None) -> Receipt:
        """Go back to a checkpoint: its step, its path, or (None) the latest.

        The latest that counts: none that the run has gone back behind, as long as there is one.
        """
        wanted = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
        return self.post(Restore(wanted))

    def set(
        self, values: Mapping[str, SupportsFloat] = NO_VALUES, /, **more: SupportsFloat
    ) -> Receipt:
        """Give hyperparameters other values at the next step boundary: all of them, or none.

        Args:
            values: Numbers by the names of hyperparameters.
            more: More of them, by keyword.

        Example:
            >>> run.set(learning_rate=1e-4, dropout_rate=0.3).wait()
        """
        return self.post(Set({**_by_name(values), **more}))

    def evaluate(self) -> Receipt:
        """Evaluate at the next step boundary, also while paused; recorded as `val_loss` and so on.

        What is evaluated is said at the start: `evaluate=`, or a Keras fit's `validation_data=`.
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
        """Give hyperparameters other values for some steps; then keep them, or go back.

        What decides is measured before and after: by an evaluation, where the run can evaluate,
        and over the last quarter of as many steps. To go back is to restore the checkpoint that
        the trial begins with, and the old values. The receipt is answered at the end, and so not
        while the run is paused; `kept` of its outcome says which it was.

        Args:
            values: Hyperparameters by their names.
            steps: How many.
            keep_if: Tag of a scalar that must not have got worse: risen or, where its name says
                that higher is better (accuracy, AUC, precision, recall, score and the like),
                fallen. Or a function of two dicts, the scalars before and after, that returns
                whether to keep the values. None takes `val_loss`.
            more: More values, by keyword.

        Example:
            >>> run.trial(learning_rate=5e-4, steps=200, keep_if="val_loss").wait()
        """
        return self.post(Try({**_by_name(values), **more}, steps, keep_if))

    def try_(self, *values: Mapping[str, SupportsFloat], **more: Any) -> Receipt:
        """The former name of `trial`; warns of it."""
        warnings.warn("run.try_() is run.trial() now", DeprecationWarning, stacklevel=2)
        return self.trial(*values, **more)


class _Instead:
    """Refuses a name. A `__getattr__` would too, and make every other name of a run slower."""

    def __init__(self, name: str, words: str) -> None:
        self._text = f"'Run' object has no attribute {name!r}: use {words}"

    def __get__(self, run: object, owner: type) -> NoReturn:
        raise UnknownNameError(self._text)


for _name, _words in INSTEAD.items():
    setattr(Steering, _name, _Instead(_name, _words))


def _by_name(values: object) -> Mapping[str, SupportsFloat]:
    """The values that were given.

    Raises:
        ArgumentError: They are no mapping.
    """
    if isinstance(values, Mapping):
        return values
    raise ArgumentError(
        f"{values!r} names no hyperparameter: give numbers by name, such as learning_rate=1e-4, or "
        'a dict, {"learning_rate": 1e-4}.'
    )
