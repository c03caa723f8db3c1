"""The place of a Keras fit in its data: saved with the model, and taken up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints import Restored
from nbtrain.engines.keras_data import Data
from nbtrain.engines.object_saver import ObjectSaver

History = dict[str, list[float]]


class Saved(tf.Module):  # type: ignore[misc]
    """What is saved of a place, beside the model.

    Attributes:
        epoch: Epochs that are over.
        batch: Batches of the next that have been trained.
        history: What the epochs gave, as JSON.
    """

    def __init__(self) -> None:
        super().__init__(name="fit")
        self.epoch = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.batch = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.history = tf.Variable("{}", trainable=False)


class Place:
    """The place of a fit in its data; training thread only.

    Args:
        model: The model.
        data: What it is fitted on.

    Attributes:
        epoch: Epochs that are over.
        batch: Batches of the next that have been trained.
        history: What the epochs gave.
        moved: Whether it is another than Keras's loop is at.
        path: Of the checkpoint that it was taken from, until a batch has been trained from there.
    """

    def __init__(self, model: Any, data: Data) -> None:
        self.data = data
        self.saved = Saved()
        self.epoch = self.batch = 0
        self.history: History = {}
        self.moved = False
        self._model = model
        self.path: str | None = None

    def end_epoch(self, logs: Mapping[str, Any]) -> None:
        """The epoch is over, and gave this."""
        self.epoch, self.batch = self.epoch + 1, 0
        for name, value in logs.items():
            self.history.setdefault(name, []).append(float(value))

    def note(self) -> dict[str, Any]:
        """Put it into the variables that are saved; returns what is to be saved besides."""
        self.saved.epoch.assign(self.epoch)
        self.saved.batch.assign(self.batch)
        self.saved.history.assign(json.dumps(self.history))
        found: dict[str, Any] = dict(self._besides())
        if self.data.iterator is not None:
            found["iterator"] = self.data.iterator
        return found

    def take(self, path: str) -> None:
        """Be where a checkpoint was, whose variables have been restored."""
        self.epoch, self.batch = int(self.saved.epoch.numpy()), int(self.saved.batch.numpy())
        self.history = json.loads(self.saved.history.numpy())
        self.path, self.moved = path, True

    def go_on(self) -> None:
        """Before the first batch: restore what TensorFlow does not reach from the model."""
        if self.path is None:
            return
        if self.data.iterator is not None:
            besides = tf.train.Checkpoint(iterator=self.data.iterator)
            tf.train.Checkpoint(besides=besides).restore(self.path).expect_partial()
        self.go_on_counting()

    def go_on_counting(self) -> None:
        """The same for variables alone, once more: Keras makes those of its metrics late."""
        if self.path is None:
            return
        reader = tf.train.load_checkpoint(self.path)
        for name, variables in self._besides().items():
            for number, variable in enumerate(variables):
                key = f"besides/{name}/{number}/.ATTRIBUTES/VARIABLE_VALUE"
                if reader.has_tensor(key):
                    variable.assign(reader.get_tensor(key))

    def _besides(self) -> dict[str, list[Any]]:
        """The variables that a `tf.train.Checkpoint` of the model does not reach."""
        metrics = [variable for metric in self._model.metrics for variable in metric.variables]
        known = {id(item) for item in tf.train.TrackableView(self._model).descendants()}
        known |= {id(item) for item in metrics}
        # Those of the random generators, in layers such as Dropout.
        others = [item for item in self._model.variables if id(item) not in known]
        return {"metrics": metrics, "others": others}


class FitSaver(ObjectSaver):
    """Saves and restores a model in training, and its place in the data.

    Args:
        model: The model.
        place: The place.
        directory, keep: As in `ObjectSaver`.
    """

    beside = "besides/"

    def __init__(self, model: Any, place: Place, directory: Path, *, keep: int | None) -> None:
        checkpoint = tf.train.Checkpoint(model=model, fit=place.saved)
        super().__init__(checkpoint, directory, keep=keep)
        self._place = place

    def save(self, step: int) -> int:
        """Write `ckpt-<step>`, with the place."""
        self._checkpoint.besides = tf.train.Checkpoint(**self._place.note())
        try:
            return super().save(step)
        finally:
            del self._checkpoint.besides

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint, and be at its place."""
        restored = super().restore(path)
        self._place.take(path)
        return restored
