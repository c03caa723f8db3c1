"""Gets the scalars of each batch of a Keras model from the compiled step itself.

Keras passes the running mean of the loss since the epoch began to its callbacks. Here the loss of
the batch is observed when the model's loss tracker receives it, and returned with Keras's logs. For
the user's own `train_step`, every scalar that it returns is used.

Each output of the compiled step costs a batch some microseconds, and so does each tensor that is
converted. So the form of the step's result depends on its readers: see `Form`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import keras
import tensorflow as tf

from nbtrain.inner.keras import trained_by
from nbtrain.keras.trackers import BATCH, Trackers, has_keras_step
from nbtrain.run.handle import LoopHandle
from nbtrain.run.program.traced import Structure
from nbtrain.run.program.walk import COMPILED

# The prefix of the keys under which the compiled step returns scalars beside the logs. TensorFlow
# would take longer to pack a nested dict.
_KEY = "nbtrain/"

# The running mean of the loss in Keras's logs.
_LOSS = "loss"

# The tag of the loss of a batch.
_BATCH_LOSS = f"{BATCH}loss"

# The prefix of the tags of an epoch's logs.
EPOCH = "epoch_"


class Form(Enum):
    """The form in which a compiled step of Keras's own returns the logs and the loss of a batch.

    With a `train_step` of the user's, the scalars are always returned beside the logs.
    """

    BESIDE = "beside"  # Keras's logs, and the loss of the batch beside them
    PACKED = "packed"  # all of these as one tensor, which is read at once: for readers of numbers
    INSTEAD = "instead"  # the loss of the batch in the place of its running mean: for no reader


class BatchLoss:
    """The scalars of each batch until `remove`; only for the thread that calls `fit`.

    Args:
        model: A compiled model without a running fit.
        counts: Whether to count the batches of an execution, which costs each of them a few
            microseconds; needed if the data may end within an execution at an unknown batch.

    Attributes:
        scalars: The scalars of the last batch, or of the last one of an execution: tag to tensor of
            shape (), the mean over replicas. See `Trackers`.
        logs: The last result of Keras's step, with the loss of the batch as `loss` if nobody reads
            the logs of a batch.
        form: The form of the step's result, if it is possible. To be set before the first batch.
        count: Batches of the last execution: fewer than in others if the data end within it.
        has_keras_step: Whether the model is trained by Keras's `train_step`.
    """

    def __init__(self, model: Any, *, counts: bool = True) -> None:
        left = getattr(model.train_step, "__self__", None)
        if isinstance(left, BatchLoss):  # from a fit that an error has ended
            left.remove()
        self.scalars: dict[str, Any] = {}
        self._unwatch: Callable[[], object] = lambda: None
        self.logs: Any = {}
        self.form = self._traced = Form.BESIDE
        self._names: list[str] = []  # of the logs that are packed
        self._model = model
        self._own = {name: vars(model).get(name) for name in ("train_step", "train_function")}
        # The function inside a tf.function: from its graph, the loss could not be returned.
        self._step = getattr(model.train_step, "python_function", model.train_step)
        self._function: Any = None
        self.count = self._size = model.steps_per_execution
        self._counted: Any = None  # batches of the running execution, if there can be several
        if counts and self._size > 1:
            with model.distribute_strategy.scope():
                self._counted = tf.Variable(
                    tf.zeros([], tf.int64),
                    trainable=False,
                    synchronization=tf.VariableSynchronization.ON_READ,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )
        # Before the step is replaced.
        self.has_keras_step, self._returns_metrics = has_keras_step(model), _returns_metrics(model)
        self._trackers = Trackers(model)
        model.train_step = self._train_step
        model.train_function = None  # the existing one was made from the old step

    def wrap(self) -> None:
        """Wraps the train function that Keras has made."""
        if self._model.train_function != self._train:
            self._function = self._model.train_function
            self._model.train_function = self._train

    def trace_again(self) -> None:
        """Makes the next batch trace the step again."""
        self._own["train_function"] = None  # this one was traced with the old values, too
        self._model.make_train_function(force=True)
        self.wrap()

    def watch(self, loop: LoopHandle) -> None:
        """Traces the step again whenever the model changes, until `remove`."""
        structure = Structure(self._model.name, self._model)
        loop.bindings.watch(structure, lambda _, changed: self._retrace(structure, changed, loop))
        self._unwatch = lambda: loop.bindings.unwatch(structure)

    def _retrace(self, structure: Structure, changed: str, loop: LoopHandle) -> str:
        """Traces the step again with a change (in words); returns why it cannot, or ""."""
        optimizer = getattr(self._model, "optimizer", None)
        known = {id(each) for each in trained_by(optimizer)}
        new = [each for each in self._model.trainable_variables if id(each) not in known]
        if structure.exchanged:
            return f"{changed}, which the step that was traced does not use"
        if known and new and len(new) < len(self._model.trainable_variables):
            return f"{changed}, but the optimizer was built without {new[0].path}"
        self.trace_again()
        structure.store()
        loop.inform(f"{changed}: the step was traced again.")
        return ""

    def remove(self) -> None:
        """Restores the model's methods."""
        self._unwatch()
        if vars(self._model).get("train_step") != self._train_step:
            return
        for name, own in self._own.items():
            vars(self._model).pop(name, None)
            if own is not None or name == "train_function":
                setattr(self._model, name, own)
        self._trackers.remove()

    def _train(self, iterator: Any) -> Any:
        """Replaces Keras's train function."""
        if self._counted is not None:
            self._counted.assign(0)
        logs = self._function(iterator)
        if self._counted is not None:  # 0 if the user's own train function does other steps
            self.count = int(self._counted.numpy()) or self._size
        if self._traced is Form.INSTEAD:
            self.scalars = {_BATCH_LOSS: logs[_LOSS]}
        elif self._traced is Form.PACKED:
            *values, loss = logs[_KEY].numpy().tolist()
            logs = dict(zip(self._names, values, strict=True))
            self.scalars = {_BATCH_LOSS: loss}
        elif type(logs) is dict:
            own = [key for key in logs if key.startswith(_KEY)]
            self.scalars = {key[len(_KEY) :]: logs.pop(key) for key in own}
        self.logs = logs
        return logs

    def _train_step(self, data: Any) -> Any:
        """Replaces the model's own train step; traced."""
        self._trackers.begin()
        if self._counted is not None:
            self._counted.assign_add(1)
        logs = self._step(data)
        scalars = self._trackers.scalars(logs)
        if not isinstance(logs, dict):
            return logs
        self._traced = self._form_of(logs, scalars)
        if self._traced is Form.INSTEAD:
            return {**logs, _LOSS: scalars[_BATCH_LOSS]}
        if self._traced is Form.PACKED:
            self._names = sorted(logs)
            return {_KEY: tf.stack([*(logs[name] for name in self._names), scalars[_BATCH_LOSS]])}
        return {**logs, **{f"{_KEY}{tag}": value for tag, value in scalars.items()}}

    def _form_of(self, logs: Mapping[str, Any], scalars: Mapping[str, Any]) -> Form:
        """Returns the form in which to return the scalars of a batch; traced."""
        if not self._returns_metrics or scalars.keys() != {_BATCH_LOSS} or _LOSS not in logs:
            return Form.BESIDE
        if self.form is Form.PACKED:
            all_fit = all(
                tf.is_tensor(value) and value.dtype == tf.float32 and value.shape.rank == 0
                for value in logs.values()
            )
            if not all_fit or self._model.distribute_strategy.num_replicas_in_sync > 1:
                return Form.BESIDE
        return self.form

    @property
    def traced(self) -> list[Any]:
        """The `tf.function`s that Keras has made of the step, within its train function."""
        cells = getattr(self._function, "__closure__", None) or ()
        return [cell.cell_contents for cell in cells if isinstance(cell.cell_contents, COMPILED)]

    @property
    def lacks(self) -> str | None:
        """The reason why nothing is recorded for a batch; None if something is."""
        if self.scalars:
            return None
        return (
            f"{type(self._model).__name__}.train_step returns no scalar by name, and updates no "
            "loss tracker: nothing is recorded of a batch, and a loss that is NaN is seen at the "
            'end of its epoch. Return a dict, such as {"loss": loss}.'
        )


def trace_again(model: Any) -> None:
    """Makes a model trace its train step again; for the thread that calls `fit`, or without a fit.

    A `BatchLoss` of the model continues to observe the losses.
    """
    loss = getattr(model.train_function, "__self__", None)
    if isinstance(loss, BatchLoss):
        loss.trace_again()
    else:
        model.train_function = None


def _returns_metrics(model: Any) -> bool:
    """Returns whether the step returns the metrics alone, which Keras reads again at the end."""
    methods = ("compute_metrics", "get_metrics_result", "make_train_function")
    return has_keras_step(model) and all(
        getattr(getattr(model, name), "__func__", None) is getattr(keras.Model, name)
        for name in methods
    )
