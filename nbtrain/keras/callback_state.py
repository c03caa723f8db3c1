"""The state of Keras's own callbacks across epochs, saved and restored with the data position.

state = CallbackState(callbacks)
    state.saved(), state.weights()     # for a checkpoint
    state.restore(saved, weights)      # restores the state of a checkpoint
    state.apply_restored(again=False)  # once the training begins, when Keras resets it
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

# Not callbacks that users wrote: their state is unknown.
_KINDS = (
    keras.callbacks.EarlyStopping,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.SwapEMAWeights,
    keras.callbacks.TensorBoard,
)
_ATTRIBUTES = (
    "best",
    "best_epoch",
    "wait",
    "stopped_epoch",
    "cooldown_counter",
    "_batches_seen_since_last_saving",
    "_last_batch_seen",
    "_ema_weights_in_model",
    "_global_train_batch",
    "_global_test_batch",
)
_WEIGHTS = "best_weights"

Saved = dict[str, dict[str, Any]]


class CallbackState:
    """The state of Keras's own callbacks among those of a fit; training thread only.

    Each callback is identified by its class and monitored value, so others may be added or removed.
    """

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self._callbacks: dict[str, Any] = {}
        self._held: Saved | None = None  # of a checkpoint; cleared when the training begins
        counts: Counter[str] = Counter()
        for callback in callbacks:
            if isinstance(callback, _KINDS):
                mode = getattr(callback, "mode", "")
                monitor = getattr(callback, "monitor", "")
                name = f"{type(callback).__name__} {monitor} {mode}"
                self._callbacks[f"{name} {counts[name]}"] = callback
                counts[name] += 1

    def saved(self) -> Saved:
        """Returns their counts and best values; until the training begins, the restored ones."""
        now = self._now()
        for name, values in (self._held or {}).items():
            now[name] |= {key: values[key] for key in _ATTRIBUTES if key in values}
        return now

    @contextlib.contextmanager
    def preserving(self) -> Iterator[None]:
        """Undoes the changes of their state inside the block."""
        before = self._now()
        try:
            yield
        finally:
            self._set(before)

    def weights(self) -> dict[str, list[tf.Variable]]:
        """Returns the best weights that some hold, by the callback's place in `saved`."""
        with tf.device("CPU:0"):  # the weights are there already
            return {
                str(place): [tf.Variable(weight, trainable=False) for weight in weights]
                for place, callback in enumerate(self._callbacks.values())
                if (weights := getattr(callback, _WEIGHTS, None)) is not None
            }

    def restore(self, saved: Saved, weights: Sequence[Sequence[Any]]) -> None:
        """Restores saved state; callbacks that were not saved start fresh.

        Args:
            saved: As returned by `saved`.
            weights: The best weights of each callback in `saved`; empty for a callback without.
        """
        self._held = {
            name: {**values, _WEIGHTS: best or None}
            for (name, values), best in zip(saved.items(), weights, strict=True)
            if name in self._callbacks
        }
        self._set(self._held)  # the state may be saved again before the training begins

    @property
    def stopper(self) -> str | None:
        """The name of the callback that has stopped the training; None if none has."""
        for callback in self._callbacks.values():
            if getattr(callback, "stopped_epoch", 0):
                return type(callback).__name__
        return None

    def ended(self, epoch: int) -> Any:
        """Returns the EarlyStopping that ended the training before this epoch and still would."""
        for name in self._held or ():
            callback = self._callbacks[name]
            if (
                isinstance(callback, keras.callbacks.EarlyStopping)
                and 0 < callback.stopped_epoch == epoch - 1
                and callback.wait >= callback.patience
            ):
                return callback
        return None

    def apply_restored(self, *, again: bool) -> None:
        """Applies the restored state when the training begins.

        Args:
            again: Whether the training had begun before, so Keras does not reset the callbacks.
        """
        if self._held is None:
            return
        for callback in self._callbacks.values() if again else ():
            if not isinstance(callback, keras.callbacks.TensorBoard):  # its writer is open
                callback.on_train_begin()
        for values in self._held.values():
            if "stopped_epoch" in values:
                values["stopped_epoch"] = 0
        self._set(self._held)
        self._held = None

    def _now(self) -> Saved:
        return {
            name: {key: vars(each)[key] for key in _ATTRIBUTES if key in vars(each)}
            for name, each in self._callbacks.items()
        }

    def _set(self, held: Saved) -> None:
        for name, values in held.items():
            callback = self._callbacks[name]
            for key, value in values.items():
                if key in vars(callback):
                    setattr(callback, key, value)
