"""The validation that Keras runs at the end of an epoch of the user's own `fit`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nbtrain.keras.replaced import replaced

# Keras's prefix of the values of a validation in the logs of an epoch.
_VALIDATION = "val_"


class FitValidation:
    """Replaces the values of a validation that was cut short by NaN, until `remove`.

    Keras validates after every epoch, even after one that was cut short, and passes the values of a
    few batches to all callbacks as if they were those of all batches. No callback treats NaN as an
    improvement.

    Args:
        model: A compiled model without a running fit.
        asked_to_stop: Returns whether the run was asked to stop, which ends the validation.

    Attributes:
        lost: The names, in the logs of the epoch, of the values that became NaN.
        remove: Restores the model's method.
    """

    def __init__(self, model: Any, asked_to_stop: Callable[[], bool]) -> None:
        self.lost: frozenset[str] = frozenset()
        self._asked_to_stop = asked_to_stop
        self._evaluate = model.evaluate
        self.remove = replaced(model, evaluate=self._evaluated)

    def _evaluated(self, *args: Any, **kwargs: Any) -> Any:
        """Replaces the model's own `evaluate`; `fit` calls it with its cached data."""
        found = self._evaluate(*args, **kwargs)
        if not kwargs.get("_use_cached_eval_dataset"):
            return found
        if not self._asked_to_stop():
            return found
        self.lost = frozenset(f"{_VALIDATION}{name}" for name in found)
        return dict.fromkeys(found, math.nan)


def is_of_training(name: str) -> bool:
    """Returns whether a value in the logs of an epoch comes from its training."""
    return not name.startswith(_VALIDATION)
