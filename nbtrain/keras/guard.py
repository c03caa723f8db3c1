"""Raises an error for calls on a Keras model that would harm its training."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from nbtrain.core.errors import BusyError
from nbtrain.keras.replaced import replaced

_STOP = "stop it first (nbtrain.runs()[{name!r}].request_stop(), then .wait()), or use a copy"
_COPY = (
    "copy = keras.models.clone_model(model); copy.set_weights(model.get_weights()); "
    "copy.compile(...)"
)

# The harm that each call would do to the training. `predict` does none.
_HARM = {
    "compile": "would take its optimizer and its metrics from it",
    "evaluate": "would mix its metrics with those of the training",
    "fit": "would train it at the same time",
    "test_on_batch": "would mix its metrics with those of the training",
    "train_on_batch": "would train it at the same time",
}


class Guard:
    """Blocks harmful calls on one model in every thread except the run's.

    Attributes:
        describe: Describes the state of the run.
        is_set: Set while the calls are blocked.
        was_set: Set once the calls have been blocked; a start clears it.
    """

    def __init__(self, model: Any, name: str, describe: Callable[[], str] = str) -> None:
        self.describe = describe
        self.is_set, self.was_set = threading.Event(), threading.Event()
        self._model, self._name = model, name
        self._restore: Callable[[], None] = lambda: None

    def set(self) -> None:
        """Blocks the harmful calls in all other threads from now on."""
        thread = threading.get_ident()
        guarded = {name: self._guarded(name, getattr(self._model, name), thread) for name in _HARM}
        self._restore = replaced(self._model, **guarded)
        self.is_set.set()
        self.was_set.set()

    def remove(self) -> None:
        """Restores the model's methods; any thread."""
        restore, self._restore = self._restore, lambda: None
        restore()
        self.is_set.clear()

    def _guarded(self, name: str, method: Callable[..., Any], thread: int) -> Callable[..., Any]:
        @functools.wraps(method)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if self.is_set.is_set() and threading.get_ident() != thread:
                raise BusyError(
                    f"The run {self._name!r} is training this model ({self.describe()}), and "
                    f"model.{name}() {_HARM[name]}, paused or not: "
                    f"{_STOP.format(name=self._name)}: {_COPY}. Meanwhile model.predict() works, "
                    f"and nbtrain.runs()[{self._name!r}].evaluate(), which evaluates the "
                    "validation_data between two batches. "
                    f"nbtrain.runs()[{self._name!r}] at the end of a cell shows it.",
                    run=self._name,
                )
            return method(*args, **kwargs)

        return guarded
