"""The position of a Keras fit in its data, saved and restored with the model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import NAMES, Iterators
from nbtrain.engines.data.position import Position
from nbtrain.engines.named_variables import survey
from nbtrain.keras.callback_state import CallbackState
from nbtrain.keras.data.data import Data
from nbtrain.keras.python_scalars import PythonScalars
from nbtrain.keras.validation import states_of

# A value is a float, or an array if a metric returns one.
History = dict[str, list[Any]]

# The names, in a checkpoint, of variables that TensorFlow does not reach from the model, by kind.
_METRICS, _OTHERS, _BEST = "metrics", "others", "best_weights"


class DataPosition(Position):
    """The position of a fit in its data; training thread only.

    Attributes:
        epoch: Completed epochs.
        batch: Batches of the next epoch that have been trained.
        history: The logs of the epochs.
        logs: The training logs of an epoch whose validation is running.
        moved: Whether this position differs from that of Keras's loop.
        note: A message about inexact parts since the restore; None if all is exact.
        fit: The saved position as JSON, apart from variables; a checkpoint has it by this name.
        rates: Hyperparameters as they were before the current epoch began, by name.
    """

    names: ClassVar[Sequence[str]] = (_METRICS, _OTHERS, _BEST, *NAMES)

    def __init__(
        self, model: Any, data: Data, epoch: int, numbers: PythonScalars, memory: CallbackState
    ) -> None:
        self.data = data
        data.first_epoch = epoch
        self.epoch, self.batch = epoch, 0
        self.history: History = {}
        self.logs: dict[str, Any] = {}
        self.rates: dict[str, float] = {}
        self.moved = False
        self.note: str | None = None
        self.fit = tf.Variable("", trainable=False)
        self.numbers, self.memory = numbers, memory
        self._model = model
        # The extra contents of the checkpoint that was restored, until the training has continued
        # and variables have been set to them; by kind and number.
        self._held: dict[tuple[str, int], Any] = {}
        self._states: list[tuple[Any, Any]] = []
        self._continues = True  # a batch has been trained since the last restore

    @property
    def iterators(self) -> Iterators | None:
        """The iterators whose states are saved; None if there are none."""
        iterators = self.data.iterators
        return None if iterators is None or iterators.lost else iterators

    def trained(self, batch: int) -> int:
        """Moves to the end of this batch of the epoch; returns how many came since the last."""
        steps = self.data.steps
        done = batch if steps is None else min(batch, steps)
        count = max(done - self.batch, 0)
        self.batch += count
        return count

    @property
    def one_way(self) -> str | None:
        """Why batches that were drawn cannot be drawn again; None if they can."""
        return self.data.one_way or self.data.inexact

    def apart(self) -> AbstractContextManager[object] | None:
        """Returns a context that draws other batches of the same data; None if there are none."""
        return self.data.apart()

    def end_epoch(self, logs: Mapping[str, Any]) -> None:
        """Ends the epoch, with these logs."""
        self.epoch, self.batch, self.logs = self.epoch + 1, 0, {}
        self._drop_metrics()
        self.data.end_epoch(self.epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def vary(self, repeat: int, _steps: int) -> bool:
        """Changes the order of the data and the random draws; returns whether there is an order."""
        for key, value in self._held.items():
            if value.shape == (2,) and value.dtype.kind in "iu":  # a seed and a counter
                self._held[key] = value + np.array([repeat, 0], value.dtype)
        return self.data.vary(repeat)

    def saved(self) -> dict[str, Any]:
        """Returns the objects to save, by name, that a checkpoint of the model does not reach.

        They include values of the restored checkpoint that still wait for their variables.
        """
        variables = self._variables()
        for (kind, number), value in sorted(self._held.items(), key=lambda item: item[0]):
            if not self._continues or number >= len(variables[kind]):
                waiting = tf.Variable(value, trainable=False)
                variables[kind][number : number + 1] = [waiting]
        data = self.data
        found = {**variables, _BEST: self.memory.weights(), **data.saved()}
        held = {
            "epoch": self.epoch,
            "batch": self.batch,
            "first": data.first_epoch,
            "steps": data.steps_of(self.epoch),
            "size": self._model.steps_per_execution,
            "seed": data.seed,
            "iterator": "iterator" in found,
            "history": self.history,
            "logs": self.logs,
            "rates": self.rates,
            "sample": None if data.sample is None else data.sample.saved(),
            "numbers": self.numbers.saved(),
            "callbacks": self.memory.saved(),
        }
        self.fit.assign(json.dumps(held, default=_listed))
        return found

    def restore(self, read: AsRead) -> None:
        """Restores the position of a checkpoint, whose variables have been restored."""
        self.note = None
        if not read.has_object("fit"):  # a checkpoint of the model alone: the position stays
            return
        self.moved = True
        self._held = {
            (kind, number): value.numpy()
            for kind in (_METRICS, _OTHERS)
            for number, value in read.values(kind).items()
        }
        self._continues = False
        held = json.loads(self.fit.numpy())
        self.epoch, self.batch, self.logs = held["epoch"], held["batch"], held["logs"]
        self.history = {name: [*map(_array, held["history"][name])] for name in held["history"]}
        self.rates = held.get("rates", {})
        if self.data.sample is not None:
            self.data.sample.restore(held.get("sample"))
        self.data.seed, self.data.first_epoch = held["seed"], held.get("first", 0)
        self.numbers.restore(held.get("numbers", {}))
        callbacks = held.get("callbacks", {})
        weights = [read.values(f"{_BEST}/{place}").values() for place in range(len(callbacks))]
        self.memory.restore(callbacks, [[each.numpy() for each in values] for values in weights])
        size, steps = self._model.steps_per_execution, self.data.steps_of(self.epoch)
        # If the size is the same, a partial execution is the last one of data of unknown length.
        within = self.batch % size and self.batch != steps and held.get("size") != size
        if held["steps"] not in (None, steps) or within:
            self.note = (
                f"The checkpoint is of batch {self.batch:,} of an epoch of {held['steps'] or '?'}, "
                f"where now an epoch has {steps or '?'} batches, {size} an execution: epoch "
                f"{self.epoch + 1} begins again."
            )
            self.batch = 0
        if self.batch == 0:  # the metrics start with the epoch
            self._drop_metrics()
        self.data.restore(read, held=held["iterator"] and self.note is None)
        self.apply_restored()  # the fit may be saved again before it continues

    def begin_fit(self) -> dict[str, Any]:
        """Returns the data arguments for a call of `fit`."""
        arguments = self.data.arguments(self.epoch, self.batch)
        self.data.begin(self.epoch, self.batch)  # Keras draws a first batch to learn its kind
        if self._continues:
            return arguments
        if self.data.inexact and self.note is None:
            self.note = (
                f"Goes on after batch {self.batch:,} of epoch {self.epoch + 1}, but "
                f"{self.data.inexact}: the batches to come are others than without a break."
            )
        return arguments

    @property
    def other_data(self) -> str | None:
        """A message that the data differ from those before the restart; None if not known."""
        sample = self.data.sample
        if sample is None or not sample.differs:
            return None
        return (
            f"The batches of epoch {self.epoch + 1} are others than when the checkpoint was saved: "
            "some rows may be trained twice in it, and others not at all. Their order or their "
            f"random numbers come from a state that no checkpoint holds. {self.data.repeats}"
        )

    @property
    def metrics(self) -> list[tf.Variable]:
        """The variables of the model's metrics that exist by now."""
        return [each for metric in self._model.metrics for each in metric.variables]

    @property
    def has_begun(self) -> bool:
        """True if batches were trained, in this start or an earlier one."""
        return self.batch > 0 or self.epoch > self.data.first_epoch

    @contextlib.contextmanager
    def preserving(self) -> Iterator[None]:
        """Undoes the changes of callbacks to the model inside the block, which repeats calls.

        The model was saved after the first call of these callbacks, so it contains their changes
        already.
        """
        numbers, note = self.numbers.saved(), self.numbers.note
        variables = survey({"model": self._model}).variables.values()
        values = [(variable, variable.numpy()) for variable in variables]
        try:
            yield
        finally:
            for variable, value in values:
                if not np.array_equal(variable.numpy(), value):
                    variable.assign(value)
            self.numbers.restore(numbers)
            self.numbers.note = note

    def note_states(self) -> None:
        """Notes the states of layers, such as recurrent ones, before a validation changes them."""
        self._states = states_of(self._model)

    def restore_states(self) -> None:
        """Restores the states from before a validation that was interrupted."""
        for variable, value in self._states:
            variable.assign(value)

    def apply_restored(self) -> None:
        """Restores variables that TensorFlow does not reach from the model, before the first batch.

        Called again when the step is traced, because Keras creates the variables of its metrics
        late. Until then a number may belong to another variable.
        """
        if not self._held:
            return
        for kind, variables in self._variables().items():
            for number, variable in enumerate(variables):
                value = self._held.get((kind, number))
                if value is not None and variable.shape == value.shape:
                    variable.assign(value)
                    if self._continues:  # a later batch has created the variable
                        del self._held[kind, number]

    def end_restore(self) -> None:
        """Notes that the first batch has been trained; values without a variable wait longer."""
        self._continues = True
        if self._held:
            there = {kind: len(variables) for kind, variables in self._variables().items()}
            self._held = {key: self._held[key] for key in self._held if key[1] >= there[key[0]]}

    def _drop_metrics(self) -> None:
        self._held = {key: self._held[key] for key in self._held if key[0] != _METRICS}

    def _variables(self) -> dict[str, list[Any]]:
        metrics = self.metrics
        known = {id(item) for item in tf.train.TrackableView(self._model).descendants()}
        known |= {id(item) for item in metrics}
        # The variables of the random generators, in layers such as Dropout.
        others = [item for item in self._model.variables if id(item) not in known]
        return {_METRICS: metrics, _OTHERS: others}


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist()


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, list) else value
