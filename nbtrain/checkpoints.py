"""Checkpoints of a run: save, list, restore, and prove what was restored.

A saver is called by the training thread alone, between two steps: so a checkpoint
is one consistent step. TensorFlow writes the files first and names them in the
`checkpoint` state file last, by a rename: one that was cut short is never listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from nbtrain.errors import ArgumentError, CheckpointError
from nbtrain.states import Checkpoint

STEP_NAME = "nbtrain_step"

# What TensorFlow appends to a variable's name in a checkpoint.
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


@dataclass(frozen=True, slots=True)
class Restored:
    """The proof of a restore.

    Attributes:
        step: Steps that the restored state has behind it.
        path: The checkpoint's path.
        matched: Names of the variables that took a value from it.
        slots: How many of these are slots of an optimizer (momenta and the like).
        missing: Names of live variables that it does not hold: unchanged.
        unused: Names of its values that have no live variable. TensorFlow hands them
            to variables that are created later, such as those of an unbuilt model.
    """

    step: int
    path: str
    matched: tuple[str, ...]
    slots: int
    missing: tuple[str, ...]
    unused: tuple[str, ...]

    def __str__(self) -> str:
        """The proof in one line."""
        text = f"{Path(self.path).name}: {_count(len(self.matched), 'variable')} matched"
        text += f", {_count(self.slots, 'optimizer slot')} among them"
        if self.missing:
            text += f"; not in it: {_some(self.missing)}"
        if self.unused:
            text += f"; waiting for their variables: {_some(self.unused)}"
        return text


class Saver(Protocol):
    """What an engine saves and restores with; training thread only."""

    @property
    def directory(self) -> Path:
        """The folder of the checkpoints."""

    def resume(self) -> Restored | None:
        """Go on from the latest checkpoint; None where there is none."""

    def save(self, step: int) -> int:
        """Write a checkpoint, and return the step that it holds and is named by.

        `step` is the run's own count; a graph that has a global step knows better.
        """

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint."""


def listed(directory: Path) -> tuple[Checkpoint, ...]:
    """The complete checkpoints of a folder, in the order they were saved; any thread."""
    state = tf.train.get_checkpoint_state(str(directory))
    if state is None:
        return ()
    paths = list(state.all_model_checkpoint_paths)
    times = list(state.all_model_checkpoint_timestamps)
    found = []
    for number, path in enumerate(paths):
        index = Path(path + ".index")
        step = _step_in_name(path)
        if step is not None and index.exists():
            saved = times[number] if number < len(times) else index.stat().st_mtime
            found.append(Checkpoint(step, path, saved))
    return tuple(found)


def find(checkpoints: Sequence[Checkpoint], wanted: int | str | None) -> Checkpoint:
    """The checkpoint of a step, at a path, or (None) the latest.

    Raises:
        CheckpointError: There is no such checkpoint; it says which there are.
    """
    if not checkpoints and not isinstance(wanted, str):
        raise CheckpointError("There is no checkpoint to restore yet; save one first.")
    if wanted is None:
        return checkpoints[-1]
    for checkpoint in reversed(checkpoints):
        if wanted in (checkpoint.step, checkpoint.path, Path(checkpoint.path).name):
            return checkpoint
    if isinstance(wanted, str) and (step := _step_in_name(wanted)) is not None:
        index = Path(wanted + ".index")
        if index.exists():
            return Checkpoint(step, str(Path(wanted).absolute()), index.stat().st_mtime)
    steps = ", ".join(f"{checkpoint.step:,}" for checkpoint in checkpoints) or "none"
    raise CheckpointError(f"There is no checkpoint {wanted!r}; there are those of steps: {steps}.")


class ObjectSaver:
    """Saves a `tf.train.Checkpoint`, with the run's step in it.

    Its files can be read by `checkpoint.restore(path)` too.

    Args:
        checkpoint: What to save.
        directory: Where to.
        keep: How many checkpoints stay; None keeps all.
    """

    def __init__(
        self, checkpoint: tf.train.Checkpoint, directory: Path, *, keep: int | None
    ) -> None:
        self.directory = directory
        children = tf.train.TrackableView(checkpoint).children(checkpoint)
        self._step = children.get(STEP_NAME) or tf.Variable(0, dtype=tf.int64, name=STEP_NAME)
        self._checkpoint = tf.train.Checkpoint(root=checkpoint, **{STEP_NAME: self._step})
        self._root = checkpoint
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, str(directory), max_to_keep=keep
        )

    def resume(self) -> Restored | None:
        """Go on from the latest complete checkpoint of the folder."""
        checkpoints = listed(self.directory)
        return self.restore(checkpoints[-1].path) if checkpoints else None

    def save(self, step: int) -> int:
        """Write `ckpt-<step>`."""
        self._step.assign(step)
        self._manager.save(checkpoint_number=step)
        return step

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint.

        Raises:
            CheckpointError: It cannot be read, holds nothing of this model, or has tensors
                of other shapes; nothing was restored.
        """
        try:
            reader = tf.train.load_checkpoint(path)
            graph = reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
        except (tf.errors.OpError, ValueError) as error:
            raise CheckpointError(
                f"{path} cannot be read as a tf.train.Checkpoint ({error}); nothing was restored."
            ) from error
        nodes = TrackableObjectGraph.FromString(graph).nodes
        live = _match(nodes, self._root)
        if not set(live) - {STEP_NAME, "save_counter"}:
            raise CheckpointError(f"{path} holds no variable of this model; nothing was restored.")
        # Before TensorFlow finds out, with half of the variables set.
        shapes = reader.get_variable_to_shape_map()
        wrong = [
            f"{name} has the shape {tuple(held)} there and {tuple(item.shape)} here"
            for name, item in live.items()
            if _is_variable(item)
            and (held := shapes.get(name + _VALUE)) is not None
            and not tf.TensorShape(item.shape).is_compatible_with(held)
        ]
        if wrong:
            raise CheckpointError(
                f"{path} does not fit this model: {_some(wrong)}. Nothing was restored."
            )
        self._checkpoint.restore(path)
        step = int(self._step.numpy()) if STEP_NAME in live else _step_in_name(path) or 0
        return self._proof(step, path, nodes, live)

    def _proof(self, step: int, path: str, nodes: Any, live: Mapping[str, Any]) -> Restored:
        own = {STEP_NAME, "save_counter"}
        objects = tf.train.TrackableView(self._root).descendants()
        slots = {
            id(variable)
            for optimizer in objects
            if isinstance(optimizer, tf.keras.optimizers.Optimizer)
            for variable in optimizer.variables
            if variable is not optimizer.iterations
            and variable is not getattr(optimizer, "_learning_rate", None)
        }
        matched = {name: item for name, item in live.items() if name not in own}
        taken = {id(item) for item in live.values()}
        held = {
            attribute.checkpoint_key.removesuffix(_VALUE)
            for node in nodes
            for attribute in node.attributes
        }
        return Restored(
            step=step,
            path=path,
            matched=tuple(matched),
            slots=sum(id(item) in slots for item in matched.values()),
            missing=tuple(
                getattr(item, "path", item.name)
                for item in objects
                if _is_variable(item) and id(item) not in taken
            ),
            unused=tuple(sorted(held - set(live) - own)),
        )


def _match(nodes: Any, root: Any) -> dict[str, Any]:
    """Live variables that a checkpoint has a value for, by their name in it.

    Follows the edges that the saved object graph and the live objects share, as
    TensorFlow does (tensorflow/core/protobuf/trackable_object_graph.proto).
    """
    view = tf.train.TrackableView(root)
    found: dict[str, Any] = {}
    seen: set[int] = set()
    waiting = [(0, root)]
    while waiting:
        number, item = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        for attribute in nodes[number].attributes:
            found[attribute.checkpoint_key.removesuffix(_VALUE)] = item
        children = view.children(item)
        for child in nodes[number].children:
            if child.local_name in children:
                waiting.append((child.node_id, children[child.local_name]))
    return found


def as_checkpoint(checkpoint: object) -> tf.train.Checkpoint | None:
    """The `tf.train.Checkpoint` given, or None.

    Raises:
        ArgumentError: Something else was given.
    """
    if checkpoint is None or isinstance(checkpoint, tf.train.Checkpoint):
        return checkpoint
    raise ArgumentError(
        f"checkpoint={type(checkpoint).__name__} object: give "
        "tf.train.Checkpoint(model=model, optimizer=optimizer), naming what to save."
    )


def _is_variable(item: Any) -> bool:
    return isinstance(item, (tf.Variable, tf.keras.Variable))


def _step_in_name(path: str) -> int | None:
    found = re.search(r"-(\d+)$", path)
    return int(found.group(1)) if found else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest
