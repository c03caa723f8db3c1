"""Saves and restores a `tf.train.Checkpoint`, such as a model and its optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from nbtrain.checkpoints.files import Restored, misfit, reading, step_in_name, writing
from nbtrain.checkpoints.listing import latest
from nbtrain.checkpoints.mending import mend_states
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text_table import some
from nbtrain.engines.slots import renew, slots_of
from nbtrain.engines.trained import Trained
from nbtrain.engines.variables import is_variable
from nbtrain.rundir.timeline import RunTimeline

# TensorFlow appends this to a variable's name in a checkpoint.
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"

# The name of the state of a Keras SeedGenerator.
_SEED_STATE = "seed_generator_state"

# The count of its saves in a tf.train.Checkpoint.
_COUNTER = "save_counter"


class ObjectSaver:
    """Saves and restores the objects of a `tf.train.Checkpoint` between two steps.

    Nothing is added to the checkpoint: `checkpoint.restore(path)` can read the files too.

    Args:
        keep: How many checkpoints to keep; None keeps all.
        origin: Path of the checkpoint to start from while the folder has none; or None.
        trained: The variables that the training changes; None if unknown.
    """

    # The prefix, in a checkpoint, of what an engine saves in addition.
    beside: str | None = None

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        directory: Path,
        *,
        keep: int | None,
        origin: str | None = None,
        trained: Trained | None = None,
    ) -> None:
        self.directory = directory
        self._origin = origin
        self._trained = trained
        self._checkpoint = checkpoint
        # Its path, the objects that it has, and the identities of missing variables that were
        # reset.
        self._restored: tuple[str, Any, set[int]] | None = None
        self.mended = mend_states(directory)
        self._manager = tf.train.CheckpointManager(checkpoint, str(directory), max_to_keep=keep)

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Restores the latest checkpoint on the current branch, or else the origin."""
        held = latest(self.directory, timeline)
        path = self._origin if held is None else held.path
        return None if path is None else self.restore(path)

    def save(self, step: int) -> int:
        """Writes `ckpt-<step>`."""
        with writing(self.directory, f"ckpt-{step}"):
            self._manager.save(checkpoint_number=step)
        return step

    def restore(self, path: str) -> Restored:
        """Sets the variables from a checkpoint and resets slots that optimizers created since.

        After a CheckpointError, nothing was restored.
        """
        with reading(path):
            reader = tf.train.load_checkpoint(path)
            if not reader.has_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"):
                raise misfit(path, "a tf.compat.v1.train.Saver wrote it, from a graph")
            graph = reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
        nodes = TrackableObjectGraph.FromString(graph).nodes
        self._check(path, reader.get_variable_to_shape_map(), nodes)
        with reading(path):
            # Values for variables that are created later deserve no warning: see proof().
            self._checkpoint.restore(path).expect_partial()
        taken = {id(item) for item in _match(nodes, self._checkpoint).values()}
        self._restored = path, nodes, renew(self._objects(), taken)
        return self._proof(*self._restored)

    def proof(self) -> Restored | None:
        """Describes the last restore, including variables created since."""
        return None if self._restored is None else self._proof(*self._restored)

    def non_finite(self) -> tuple[str, ...]:
        """Names of the variables that hold NaN or Inf."""
        found = {
            id(item): item
            for item in self._objects()
            if is_variable(item) and tf.as_dtype(item.dtype).is_floating
        }
        # A sum is finite only if all numbers are: this takes half the time of checking each.
        sums = [tf.cast(tf.reduce_sum(item), tf.float32) for item in found.values()]
        suspect = ~np.isfinite(tf.stack(sums).numpy()) if sums else ()
        return tuple(
            getattr(item, "path", item.name).removesuffix(":0")
            for item, is_suspect in zip(found.values(), suspect, strict=True)
            if is_suspect and not np.isfinite(tf.cast(item, tf.float64).numpy()).all()
        )

    def lacking(self) -> str:
        """Names trained objects that the checkpoint lacks."""
        return "" if self._trained is None else self._trained.lacking(self._objects)

    def side_saver(self, name: str, keep: int) -> ObjectSaver:
        """Returns a saver that keeps the newest `keep` in a folder of this name."""
        return type(self)(self._checkpoint, self.directory / name, keep=keep)

    def random_states(self) -> list[tf.Variable]:
        """Returns the states of Keras's random generators, such as a Dropout's, and TensorFlow's.

        TensorFlow's checkpoints leave out Keras's.
        """
        objects = self._objects()
        states = [item.state for item in objects if isinstance(item, tf.random.Generator)]
        for layer in objects:
            if isinstance(layer, tf.keras.layers.Layer):
                states += [each.value for each in layer.variables if each.name == _SEED_STATE]
        return list({id(state): state for state in states}.values())

    def vary_data(self, _repeat: int, _steps: int) -> bool:
        """Does nothing: the position in the data is unknown."""
        return False

    def _check(self, path: str, shapes: Mapping[str, Any], nodes: Any) -> None:
        """Raises an error for a mismatch, before TensorFlow fails with half of the values set."""
        live = _match(nodes, self._checkpoint)
        if all(map(_counts_saves, live)) and not self._is_unbuilt(nodes):
            raise misfit(path, "it holds no variable of this model")
        wrong = [
            f"{name} has the shape {tuple(held)} there and {tuple(item.shape)} here"
            for name, item in live.items()
            if is_variable(item)
            and (held := shapes.get(name + _VALUE)) is not None
            and not tf.TensorShape(item.shape).is_compatible_with(held)
        ]
        if wrong:
            raise misfit(path, some(wrong))

    def _is_unbuilt(self, nodes: Any) -> bool:
        """Tells if the model had no variables when it was saved, and has none now."""
        names = {getattr(each, "name", "") for each in self._objects() if is_variable(each)}
        return all(map(_counts_saves, self._held(nodes) | names))

    def _held(self, nodes: Any) -> set[str]:
        """Names what a checkpoint holds, without what an engine saves in addition."""
        return {
            attribute.checkpoint_key.removesuffix(_VALUE)
            for node in nodes
            for attribute in node.attributes
            if self.beside is None or not attribute.checkpoint_key.startswith(self.beside)
        }

    def _objects(self) -> list[Any]:
        objects: list[Any] = tf.train.TrackableView(self._checkpoint).descendants()
        return objects

    def _proof(self, path: str, nodes: Any, new: set[int]) -> Restored:
        live, objects = _match(nodes, self._checkpoint), self._objects()
        slots = {id(each) for item in objects for each in slots_of(item)}
        taken = {id(item) for item in live.values()}
        matched = {name: item for name, item in live.items() if not _counts_saves(name)}
        return Restored(
            step=step_in_name(path) or 0,
            path=path,
            matched=tuple(matched),
            slots=sum(id(item) in slots for item in matched.values()),
            renewed=sum(id(item) in new for item in objects),
            missing=tuple(
                name
                for item in objects
                if is_variable(item)
                and id(item) not in taken | new
                and not _counts_saves(name := getattr(item, "path", item.name))
            ),
            unused=tuple(
                sorted(name for name in self._held(nodes) - set(live) if not _counts_saves(name))
            ),
        )


def _match(nodes: Any, checkpoint: tf.train.Checkpoint) -> dict[str, Any]:
    """Maps each variable's name in a checkpoint to the live variable.

    Follows the edges that the saved object graph and the live objects share, as TensorFlow does
    (tensorflow/core/protobuf/trackable_object_graph.proto).
    """
    view = tf.train.TrackableView(checkpoint)
    found: dict[str, Any] = {}
    seen: set[int] = set()
    # A checkpoint made of a root saves the root in its own place, with its own children.
    waiting = [(0, checkpoint)]
    while waiting:
        number, item = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        for attribute in nodes[number].attributes:
            found[attribute.checkpoint_key.removesuffix(_VALUE)] = item
        children = view.children(item)
        if item is checkpoint and (root := children.get("root")) is not None:
            children = {**view.children(root), **children}
        for child in nodes[number].children:
            if child.local_name in children:
                waiting.append((child.node_id, children[child.local_name]))
    return found


def as_checkpoint(checkpoint: object) -> tf.train.Checkpoint | None:
    """Returns the `tf.train.Checkpoint` given, or None; refuses anything else, and an empty one."""
    if isinstance(checkpoint, tf.train.Checkpoint) and _is_empty(checkpoint):
        raise ArgumentError(
            "checkpoint=tf.train.Checkpoint() holds nothing, so the next start could not go on "
            "from it: name what to save, as in tf.train.Checkpoint(model=model, "
            "optimizer=optimizer), or leave checkpoint= out."
        )
    if checkpoint is None or isinstance(checkpoint, tf.train.Checkpoint):
        return checkpoint
    if isinstance(checkpoint, tf.train.CheckpointManager):
        raise ArgumentError(
            f"checkpoint={type(checkpoint).__name__} object: give its .checkpoint, as in "
            "manager.checkpoint. The run saves that in its own folder and keeps the files itself "
            "(save_secs=, save_steps=, keep=)."
        )
    raise ArgumentError(
        f"checkpoint={type(checkpoint).__name__} object: give "
        "tf.train.Checkpoint(model=model, optimizer=optimizer), naming what to save."
    )


def _is_empty(checkpoint: tf.train.Checkpoint) -> bool:
    """Tells if nothing was given to a checkpoint, whose own counter is made by its first save."""
    return set(tf.train.TrackableView(checkpoint).children(checkpoint)) <= {_COUNTER}


def _counts_saves(name: str) -> bool:
    return name.rpartition("/")[2].partition(":")[0] == _COUNTER
