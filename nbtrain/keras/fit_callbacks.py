"""The callbacks of a run's Keras fit, and the step boundary between two batches.

for each epoch:
    on_epoch_begin
    for each batch:
        on_train_batch_begin    # the boundary of the batch before
        on_train_batch_end      # recorded
    on_test_batch_end           # of the validation: checks for a stop
    on_epoch_end                # recorded; the boundary of the epoch's last batch
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import keras
import numpy as np

from nbtrain.core.values.hyperparameters import Variable
from nbtrain.engines.eager_variable import EagerVariable
from nbtrain.keras.callback_rate import CallbackRate
from nbtrain.keras.data_position import DataPosition
from nbtrain.keras.loss import EPOCH, Form
from nbtrain.keras.resumed_loss import ResumedLoss, numbers
from nbtrain.run.beside.time_usage import EVALUATE, LOOP
from nbtrain.run.run import Run

_EVALUATING = (
    "Evaluating after epoch {epoch}: commands wait until that is over. A stop takes effect at its "
    "next batch."
)


class StopFit(Exception):  # noqa: N818 - no error: the way out of Keras's loop
    """The run was asked to stop, or its position in the data has moved."""


class FitCallbacks(keras.callbacks.CallbackList):
    """The callbacks of one start's calls of `fit`, which `StopFit` ends; training thread only.

    The user's callbacks get the epoch and batch numbers of Keras and see a single training, however
    often it goes back. Only callbacks whose state is saved see a new beginning each time. None sees
    batches that were trained before.

    Args:
        held: The hyperparameters by name.
        params: Keras's parameters for callbacks: verbose, epochs, steps.

    Attributes:
        begun: Whether they have seen the beginning of a training that has not ended.
    """

    def __init__(
        self,
        run: Run,
        position: DataPosition,
        loss: ResumedLoss,
        callbacks: Sequence[Any],
        model: Any,
        held: Mapping[str, Variable],
        **params: Any,
    ) -> None:
        add_progbar = params["verbose"] != 0
        super().__init__(
            callbacks, add_history=True, add_progbar=add_progbar, model=model, **params
        )
        self._position, self._loss = position, loss
        self._run, self._run_loop, self._steps = run, run.handle, run.handle.steps
        self._held = held
        self._rates = [each for each in held.values() if isinstance(each, CallbackRate)]
        self._begun = 0
        self._boundary_due = False  # the boundary of the last batch is still to come
        self._first = True  # no batch has been recorded since the training began or went back
        self.begun = False
        # Converting logs that nobody reads would cost time at every batch.
        self._at_begin = _overriding(self.callbacks, "on_train_batch_begin", "on_batch_begin")
        self._at_end = _overriding(self.callbacks, "on_train_batch_end", "on_batch_end")
        self._seen_test = _overriding(
            self.callbacks,
            *("on_test_batch_begin", "on_test_batch_end", "on_batch_begin", "on_batch_end"),
        )
        loss.form = Form.PACKED if self._at_end else Form.INSTEAD

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins the training, and acts at the first boundary of the run."""
        self._loss.wrap()
        self.begin()
        if not self._run_loop.begun:
            self._ask()

    def begin(self) -> None:
        """Begins the training, or continues it after going back."""
        if self.begun:  # Keras's own callbacks of the model begin again with each fit
            self._history.history, self._history.epoch = {}, []
        else:
            began = self._position.has_begun
            with self._position.preserving() if began else contextlib.nullcontext():
                super().on_train_begin()
        self._position.memory.apply_restored(again=self.begun)
        self.begun = self._first = True

    def on_train_end(self, logs: Any = None) -> None:
        """Ends the training."""
        self.begun = False
        super().on_train_end(logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Prepares the data of this epoch."""
        self._loss.begin(epoch)
        self._position.data.began = self._run_loop.step - self._position.batch
        self.begin_epoch(epoch, logs)
        self._run_loop.collect_changes()

    def begin_epoch(self, epoch: int, logs: Any = None) -> None:
        """Calls the callbacks' `on_epoch_begin`; undoes their changes if it was called before."""
        again = self._position.batch > 0
        with contextlib.ExitStack() as around:
            if again:
                around.enter_context(self._position.preserving())
                around.enter_context(self._position.memory.preserving())
                around.callback(self._write_rates, self._read_rates())
            for rate in self._rates:
                around.enter_context(rate.lifted())
            if again:  # the callbacks see the rates from before the epoch
                self._write_rates(self._position.rates)
            else:
                self._position.rates = self._read_rates()
            super().on_epoch_begin(epoch, logs)

    def _read_rates(self) -> dict[str, float]:
        held = self._held.items()
        return {name: each.read() for name, each in held if isinstance(each, EagerVariable)}

    def _write_rates(self, rates: Mapping[str, float]) -> None:
        for name, each in self._held.items():
            if isinstance(each, EagerVariable) and name in rates:
                each.write(rates[name])

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Acts at the boundary of the batch before."""
        position, steps = self._position, self._steps
        if self._boundary_due:
            self._boundary_due = False
            if self._run.should_stop() or position.moved:
                raise StopFit
        self._begun = batch
        if self._at_begin and batch >= position.batch:
            shared: dict[str, Any] = {}
            for callback in self._at_begin:
                callback.on_train_batch_begin(batch, logs=shared)
            if steps.next <= steps.step + 1:  # else no callback has set a hyperparameter
                self._run_loop.collect_changes()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Records the batch, or the last of an execution of several."""
        position = self._position
        count = position.trained(self._begun + self._loss.count)
        if not count:
            return  # trained before
        try:
            if self._at_end and (values := _as_floats(logs)) is not None:
                for callback in self._at_end:
                    callback.on_train_batch_end(batch, logs=values)
            elif self._at_end:
                super().on_train_batch_end(batch, logs)
        finally:  # the batch was trained, even if a callback raises
            if count == 1:
                self._run.record(self._loss.scalars)
            else:
                self._run_loop.record_execution(self._loss.scalars, count)
            self._boundary_due = True
        if self._first:
            self._first = False
            self._run_loop.note("batch", self._loss.lacks)
            self._run_loop.note("other data", position.other_data)

    def on_test_begin(self, logs: Any = None) -> None:
        """Keeps the training logs of the epoch, as evaluating updates the same metrics."""
        self._run_loop.time_usage.switch_to(EVALUATE)
        if not self._position.logs:  # else the logs were saved in a validation that begins again
            self._position.logs = self._loss.before or epoch_logs(self.model, self._loss.logs)
        self._position.note_states()
        super().on_test_begin(logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Passes on a batch of the validation."""
        if self._seen_test:
            super().on_test_batch_begin(batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Checks for a stop after a batch of the validation."""
        if self._seen_test:
            super().on_test_batch_end(batch, logs)
        if self._run_loop.host.asked_to_stop():
            self._position.restore_states()  # the validation begins again
            if not self._boundary_due:  # the boundary of the last batch came before the stop
                raise StopFit
            self._ask()
        if self._run_loop.host.is_asked():
            self._run_loop.note("evaluating", _EVALUATING.format(epoch=self._position.epoch + 1))

    def on_test_end(self, logs: Any = None) -> None:
        """Notes that the validation is over."""
        self._run_loop.note("evaluating", None)
        super().on_test_end(logs)
        self._run_loop.time_usage.switch_to(LOOP)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Records the epoch at the step of its last batch, and acts at its boundary."""
        self._position.logs = logs = {**self._loss.before, **numbers(logs)}
        before = {name: len(values) for name, values in self._history.history.items()}
        super().on_epoch_end(epoch, dict(logs))
        scalars = epoch_scalars(logs)
        self._run_loop.note("arrays", _without_curves(logs))
        # If there are evaluations between epochs, their curves get the values of epochs too.
        between = [tag for tag in self._run_loop.evaluated if EPOCH + tag in scalars]
        scalars |= {tag: scalars[EPOCH + tag] for tag in between}
        # Numbers that a callback added, such as the learning rate that it sets.
        added = {
            name: float(values[-1])
            for name, values in self._history.history.items()
            if len(values) > before.get(name, 0) and isinstance(values[-1], Real)
        }
        if self._boundary_due:
            self._run_loop.record(scalars, {}, None)
        else:
            self._run_loop.host.add(None, scalars)
        self._position.end_epoch({**added, **logs})
        done = self._position.epoch >= self.params["epochs"]
        if not done:
            self._position.data.began = self._run_loop.step + self._boundary_due
        over = done or self.model.stop_training
        if self._boundary_due:
            self._ask(over=over)
        if not over and self._position.data.must_renew(self._position.epoch):
            self._position.moved = True
            raise StopFit

    def count_current(self) -> None:
        """Counts the last batch if an error came before its boundary: the weights contain it."""
        if self._boundary_due:
            self._boundary_due = False
            self._run_loop.count()

    def _ask(self, *, over: bool = False) -> None:
        """Acts at the step boundary; `over`: Keras ends by itself."""
        self._boundary_due = False
        ends = self._run_loop.should_stop(last=over, ended=over and self.model.stop_training)
        if self._position.moved or (ends and not over):
            raise StopFit


def epoch_scalars(logs: Mapping[str, Any]) -> dict[str, float]:
    """Returns the scalars to record from the logs of an epoch."""
    return {EPOCH + name: value for name, value in logs.items() if type(value) is float}


def _without_curves(logs: Mapping[str, Any]) -> str | None:
    """Returns a message about metrics that are arrays, such as a value of each class; or None."""
    arrays = [f"{name!r} of shape {value.shape}" for name, value in logs.items() if np.ndim(value)]
    if not arrays:
        return None
    return (
        f"Metrics that are arrays have no curve, and cannot be judged: {', '.join(arrays)}. "
        'Compile the model with metrics that give one number, such as F1Score(average="macro").'
    )


def epoch_logs(model: Any, logs: Any) -> dict[str, Any]:
    """Returns the training logs of an epoch, as in `fit`.

    The user's own `train_step` may return other values than metrics.
    """
    metrics = model.get_metrics_result()
    return numbers(metrics if metrics.keys() == logs.keys() else logs)


def _as_floats(logs: Any) -> dict[str, float] | None:
    """Converts the logs of a batch as Keras does, but faster; None if some are no numbers."""
    try:
        return {name: float(logs[name]) for name in sorted(logs)}
    except (TypeError, ValueError):
        return None


def _overriding(callbacks: Sequence[Any], *methods: str) -> list[Any]:
    """Returns the callbacks that override a method of these names."""
    base = keras.callbacks.Callback
    return [
        callback
        for callback in callbacks
        if any(
            getattr(getattr(callback, name), "__func__", None) is not getattr(base, name)
            for name in methods
        )
    ]
