"""Saves the variables of parameter servers by one function, which is traced once.

TensorFlow traces another function for each checkpoint if its variables are in several processes.
Tracing takes longer than saving, and each trace is a message to all workers: see pipeline.py.
"""

from __future__ import annotations

import functools
import gc
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import Restored
from nbtrain.engines.object_saver import ObjectSaver


class ServerSaver(ObjectSaver):
    """Saves and restores the objects of a `tf.train.Checkpoint` on parameter servers."""

    outlives_session = has_stages = False

    _writes: TracedWrites | None = None

    @functools.cached_property
    def _beside(self) -> dict[str, ObjectSaver]:
        """The last side saver of each name.

        They live as long as this one: to delete their traces, TensorFlow would call lost servers.
        """
        return {}

    def side_saver(self, name: str, keep: int) -> ObjectSaver:
        """Returns a saver that keeps the newest `keep` in a folder of this name."""
        self._beside[name] = saver = super().side_saver(name, keep)
        return saver

    def _writer(self, whole: tf.train.Checkpoint) -> TracedWrites:
        if self._writes is None or self._writes.checkpoint is not whole:
            self._writes = TracedWrites(whole)
        return self._writes

    def restore(self, path: str) -> Restored:
        """Sets the variables from a checkpoint."""
        restored = super().restore(path)
        gc.collect()  # deletes the function of the restore now, while all workers answer
        return restored


class TracedWrites:
    """Writes a checkpoint by one trace, in its place in a `tf.train.CheckpointManager`.

    Attributes:
        checkpoint: The checkpoint.
    """

    def __init__(self, checkpoint: tf.train.Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._objects: list[Any] = []  # those that the trace saves
        self._trace: Any = None

    @property
    def save_counter(self) -> tf.Variable:
        """The count of its saves."""
        return self.checkpoint.save_counter

    def _write(self, prefix: str, options: tf.train.CheckpointOptions) -> str:
        """Writes a checkpoint; a private name that the manager calls."""
        objects = tf.train.TrackableView(self.checkpoint).descendants()
        if any(isinstance(item, tf.train.experimental.PythonState) for item in objects):
            return str(self.checkpoint.write(prefix, options))  # a trace would keep its text
        if [*map(id, objects)] != [*map(id, self._objects)]:
            self._objects = objects
            signature = tf.TensorSpec((), tf.string)
            self._trace = tf.function(self.checkpoint.write).get_concrete_function(signature)
        tf.io.gfile.makedirs(str(Path(prefix).parent))
        self._trace(tf.constant(prefix))
        for callback in options.experimental_write_callbacks:
            callback(prefix)
        return prefix
