"""The batches of a Keras fit, as steps of a run.

Keras tells a callback the running mean of the loss, since the epoch began. The loss of the
batch itself is taken where the model's loss tracker is given it, inside the compiled step.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from nbtrain.errors import ArgumentError
from nbtrain.run import Run

# Under which the compiled step hands the loss over, beside Keras's own logs.
_KEY = "nbtrain/batch_loss"

# Tags: of TensorBoard's callback for Keras the first, of the epoch's logs the others' prefix.
BATCH_LOSS, EPOCH = "batch_loss", "epoch_"


class BatchLoss:
    """The loss of each batch of a model, from the compiled step itself.

    Args:
        model: A compiled model, of which no fit is under way.

    Attributes:
        value: Of the last batch, of shape (); None where a `train_step` of the user's own
            updates no loss tracker.
    """

    def __init__(self, model: Any) -> None:
        self.value: Any = None
        self._model = model
        self._step, self._tracker = model.train_step, model._loss_tracker
        self._function: Any = None
        model.train_step = self._train_step
        model.train_function = None  # made of the other step

    def wrap(self) -> None:
        """Once Keras has made the train function."""
        self._function = self._model.train_function
        self._model.train_function = self._train

    def remove(self) -> None:
        """Leave the model as it was; Keras makes its train function anew."""
        if self._model.__dict__.pop("train_step", None) is not None:
            self._model.train_function = None

    def _train(self, iterator: Any) -> Any:
        logs = self._function(iterator)
        if type(logs) is dict:
            self.value = logs.pop(_KEY, None)
        return logs

    def _train_step(self, data: Any) -> Any:
        seen: list[Any] = []
        update = self._tracker.update_state if self._tracker is not None else None

        def seeing(values: Any, sample_weight: Any = None) -> Any:
            seen.append(values)
            return update(values, sample_weight=sample_weight)

        if self._tracker is None:
            return self._step(data)
        self._tracker.update_state = seeing
        try:
            logs = self._step(data)
        finally:
            del self._tracker.update_state
        if not seen or not isinstance(logs, dict):
            return logs
        return {**logs, _KEY: tf.cast(seen[-1], tf.float32)}


class RunCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Puts a `model.fit` of one's own under a run.

    For `fit` inside `@nbtrain.background` or `%%nbtrain`. Each batch is a step: recorded
    with its own loss, `batch_loss`, and a boundary, where the run saves, pauses and stops.
    What an epoch's logs hold is recorded as `epoch_loss`, `epoch_val_loss` and so on.

    Args:
        run: The run, in whose training thread `fit` is called.

    Example:
        >>> @nbtrain.background(checkpoint=tf.train.Checkpoint(model=model))
        ... def digits(run):
        ...     model.fit(x, y, epochs=5, verbose=0, callbacks=[nbtrain.RunCallback(run)])
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        if not isinstance(run, Run):
            raise ArgumentError(
                f"run={type(run).__name__} object: give the run that the loop of "
                "@nbtrain.background is called with."
            )
        self._run = run
        self._loss: BatchLoss | None = None
        self._steps = 0

    def set_model(self, model: Any) -> None:
        """Before Keras makes the train function."""
        super().set_model(model)
        self._loss = BatchLoss(model)
        self._run.life.host.at_end(self._loss.remove)

    def on_train_begin(self, logs: Any = None) -> None:
        """The first boundary."""
        assert self._loss is not None, "set_model comes first"
        self._loss.wrap()
        self._ask()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Count batches from here."""
        self._steps = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """The step boundary."""
        assert self._loss is not None, "set_model comes first"
        steps, self._steps = batch + 1 - self._steps, batch + 1
        loss = self._loss.value
        self._run.record({} if loss is None else {BATCH_LOSS: loss}, step=self._next(steps))
        self._ask()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Record what Keras says of the epoch."""
        self._run.life.host.add(None, {EPOCH + name: value for name, value in (logs or {}).items()})

    def on_train_end(self, logs: Any = None) -> None:
        """Leave the model as it was."""
        if self._loss is not None:
            self._loss.remove()

    def _next(self, steps: int) -> int:
        return self._run.life.boundary.step + steps

    def _ask(self) -> None:
        if self._run.should_stop():
            self.model.stop_training = True
