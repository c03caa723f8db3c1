"""Reads a checkpoint of objects: its values, and the variables of a program to which they belong.

    file = CheckpointFile(path)
    references = file.references(checkpoint)       # by TensorFlow's object graph
    bound = file.bound(references, survey(roots))     # by the keys of the file
    file.value(key)

nbtrain saves each variable under a name of its own too (see `named_variables`). Both names refer
to one value, as an object graph may refer to a variable from several places. Checkpoints of earlier
versions and of plain TensorFlow have TensorFlow's references alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.checkpoints.files import misfit, reading
from nbtrain.engines.named_variables import COUNTER, Found
from nbtrain.inner.tensorflow import TrackableObjectGraph
from nbtrain.inner.variables import handles, is_variable

# TensorFlow appends this to a variable's name in a checkpoint.
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"

# The path to nbtrain's names in the object graph.
NAMES = "besides", "variables"

# Live objects with the numbers of the file's nodes that lead to them.
References = Sequence[tuple[int, Any]]

# The paths to empty objects, whose names record the stage of the training, the name and the class
# of each optimizer, and the names of metrics. A value would remain when the user restores the rest.
STAGE, OPTIMIZERS = ("besides", "stage"), ("besides", "optimizers")
METRICS = "besides", "metrics_of_keras"


class CheckpointFile:
    """The content of an object-based checkpoint.

    Raises:
        CheckpointError: The file cannot be read, or a `tf.compat.v1.train.Saver` wrote it.

    Attributes:
        path: Its path.
        shapes: The shapes of its values, by key.
        names: The keys of its variables, by nbtrain's names.
        stage: The stage of the training in which it was saved; None if the stage has no name.
        optimizers: The names of the classes of its optimizers, by nbtrain's names.
        metrics: nbtrain's names of its metrics.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with reading(path):
            self._reader = tf.train.load_checkpoint(path)
            if not self._reader.has_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"):
                raise misfit(path, "a tf.compat.v1.train.Saver wrote it, from a graph")
            graph = self._reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
            self._nodes = TrackableObjectGraph.FromString(graph).nodes
            shapes = self._reader.get_variable_to_shape_map()
        self.shapes = {name.removesuffix(_VALUE): shape for name, shape in shapes.items()}
        self.names = self._names()
        self._named = {key: name for name, key in self.names.items()}
        self.stage = next(iter(self._children(*STAGE)), None)
        optimizers = (each.rpartition(" ") for each in self._children(*OPTIMIZERS))
        self.optimizers = {name: kind for name, _, kind in optimizers}
        self.metrics = tuple(self._children(*METRICS))

    @property
    def roots(self) -> tuple[str, ...]:
        """The names of the objects that the checkpoint was made of."""
        return tuple(
            each.local_name
            for each in self._nodes[0].children
            if each.local_name not in (NAMES[0], COUNTER)
        )

    def keys(self, leave_out: str | None = None) -> set[str]:
        """Returns the keys of all values in the file.

        Args:
            leave_out: A prefix of keys that are left out unless they are of a named variable.
        """
        return {
            key
            for node in self._nodes
            for key in _keys(node)
            if leave_out is None or not key.startswith(leave_out) or key in self._named
        }

    def name(self, key: str) -> str:
        """Returns nbtrain's name of a value, or its key."""
        return self._named.get(key, key)

    def value(self, key: str) -> np.ndarray[Any, Any]:
        """Returns a value, in the dtype of the file.

        Raises:
            CheckpointError: The value cannot be read.
        """
        with reading(self.path):
            return np.asarray(self._reader.get_tensor(key + _VALUE))

    def bound(self, references: References, found: Found) -> dict[str, Any]:
        """Maps the keys of the file to the live variables and other objects that they belong to.

        Args:
            references: From `references`.
            found: The variables among them, by nbtrain's names.
        """
        named = self.named(found)
        crossed = self.crossed(references, named)
        referred = reversed([*self.followed(references)])  # the first counts
        return {key: item for key, item in referred if key not in crossed} | named

    def crossed(self, references: References, named: Mapping[str, Any]) -> set[str]:
        """Returns the keys of values that a reference assigns to another variable than the name.

        An optimizer lists its variables by number: if its learning rate was one of them and is a
        schedule now, all numbers after it differ.
        """
        keys = {tuple(handles(variable)): key for key, variable in named.items()}
        found = set()
        for key, item in self.followed(references):
            if is_variable(item):
                own = tuple(handles(item))
                to = tuple(handles(named[key])) if key in named else own
                is_unlike = key not in named and key in self._named and not self._fits(key, item)
                if to != own or keys.get(own, key) != key or is_unlike:
                    found.add(key)
        return found

    def _fits(self, key: str, item: Any) -> bool:
        shape = self.shapes.get(key)
        return shape is None or tf.TensorShape(item.shape).is_compatible_with(shape)

    def named(self, found: Found) -> dict[str, Any]:
        """Maps the keys of the file to the live variables with the same names."""
        return {
            self.names[name]: variable
            for name, variable in found.variables.items()
            if name in self.names
        }

    def followed(self, references: References) -> Iterator[tuple[str, Any]]:
        """Yields each key with each live object that TensorFlow's references map it to."""
        for number, item in references:
            for key in _keys(self._nodes[number]):
                yield key, item

    def trained(self, references: References) -> Iterator[tuple[Any, list[str]]]:
        """Yields each live Keras optimizer, with the keys of the variables that it trained."""
        for number, item in references:
            place = self._below(number).get("_trainable_variables")
            if isinstance(item, tf.keras.optimizers.Optimizer) and place is not None:
                held = self._below(place)
                numbers = [held[name] for name in sorted(filter(str.isdigit, held), key=int)]
                yield item, [key for each in numbers for key in _keys(self._nodes[each])]

    def _children(self, *path: str) -> dict[str, int]:
        """Returns the numbers of the nodes below a path, by name; empty if it does not exist."""
        number = 0
        for step in path:
            below = self._below(number)
            if step not in below:
                return {}
            number = below[step]
        return self._below(number)

    def _below(self, number: int) -> dict[str, int]:
        return {each.local_name: each.node_id for each in self._nodes[number].children}

    def _names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        waiting = list(self._children(*NAMES).items())
        while waiting:
            name, number = waiting.pop()
            node = self._nodes[number]
            if name and node.attributes:
                found[name] = _keys(node)[0]
                continue
            prefix = f"{name}/" if name else ""
            waiting += [(prefix + each.local_name, each.node_id) for each in node.children]
        return found

    def references(self, checkpoint: tf.train.Checkpoint) -> References:
        """Pairs the numbers of the file's nodes with the live objects to which they lead.

        Follows the edges that the saved object graph and the live objects share, as TensorFlow does
        (tensorflow/core/protobuf/trackable_object_graph.proto). Several objects may belong to one
        node, if they were one object when it was saved.
        """
        view = tf.train.TrackableView(checkpoint)
        found: list[tuple[int, Any]] = []
        seen: set[tuple[int, int]] = set()
        passed: set[int] = set()
        # A checkpoint made of a root saves the root in its own place, with its own children.
        waiting: list[tuple[int, Any]] = [(0, checkpoint)]
        while waiting:
            number, item = waiting.pop()
            if (number, id(item)) in seen:
                continue
            seen.add((number, id(item)))
            found.append((number, item))
            if number in passed:
                continue
            passed.add(number)
            children = view.children(item)
            if item is checkpoint and (root := children.get("root")) is not None:
                children = {**view.children(root), **children}
            for child in self._nodes[number].children:
                if child.local_name in children:
                    waiting.append((child.node_id, children[child.local_name]))
        return found


def _keys(node: Any) -> list[str]:
    return [each.checkpoint_key.removesuffix(_VALUE) for each in node.attributes]
