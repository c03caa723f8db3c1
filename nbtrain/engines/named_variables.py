"""Names the variables of models and optimizers by the attributes through which they are reached.

    found = survey({"model": model, "optimizer": optimizer})
    found.variables   # {"model/blocks/0/kernel": ..., "optimizer/momentums/model/blocks/0/kernel"}
    found.optimizers  # {"optimizer": optimizer}

TensorFlow's object graph ends at a list or a dict of Keras layers, and Keras's names of layers
(`dense_3`) count the layers of a process. The names here depend on the program alone. A slot of an
optimizer has the name of the variable that it belongs to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf

from nbtrain.inner.keras import TRAINED, trained_by
from nbtrain.inner.variables import handles, is_variable

# The objects whose attributes are followed: layers, models and optimizers of Keras are of the
# first kind, like `tf.Module`. Shards of a variable on parameter servers are not.
_PARTS = (
    tf.__internal__.tracking.AutoTrackable,
    keras.metrics.Metric,
    keras.random.SeedGenerator,
)

# Attributes in which Keras 3.15 lists the parts of a layer: sublayers that are in a set, or those
# of a functional model. Any other attribute is a better name for them, so these come last.
_LISTED = (
    "_layers",
    "_trainable_variables",
    "_non_trainable_variables",
    "_seed_generators",
    "_metrics",
    "_variables",
)

# Attributes of Keras 3.15 and TensorFlow 2.21 whose parts have names by other attributes too.
_PASSED_BY = ("_functional", "_operations", "_nodes", "_inbound", "_outbound", "_self_", "_tracker")

# The count of its saves in a tf.train.Checkpoint.
COUNTER = "save_counter"


@dataclass(slots=True)
class Found:
    """The variables and optimizers among some objects.

    Attributes:
        variables: Each variable once, by its name.
        optimizers: Optimizers by their names, without those inside another optimizer.
        metrics: The names of metrics of Keras.
    """

    variables: dict[str, Any] = field(default_factory=dict)
    optimizers: dict[str, Any] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)

    @property
    def weights(self) -> dict[str, Any]:
        """The variables that belong to no optimizer, by name."""
        return {
            name: each
            for name, each in self.variables.items()
            if not is_within(name, self.optimizers)
        }


def is_within(name: str, parts: Iterable[str]) -> bool:
    """Returns whether a name begins with the name of one of some parts."""
    return any(name.startswith(f"{part}/") for part in parts)


def as_tree(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Returns variables in nested dicts, by the parts of their names.

    TensorFlow names a value in the file by its shortest path. Nested dicts make these paths longer
    than those of the objects, so the names do not change.
    """
    tree: dict[str, Any] = {}
    for name, variable in variables.items():
        *parents, last = name.split("/")
        at: Any = tree
        for parent in parents:
            at = at.setdefault(parent, {}) if isinstance(at, dict) else at
        if isinstance(at, dict) and last not in at:
            at[last] = variable
        else:  # a key of the user's contains a slash
            tree[name] = variable
    return tree


def survey(roots: Mapping[str, object], leave_out: tuple[type, ...] = ()) -> Found:
    """Finds the variables of some objects; walks over all of them, so not at every step.

    Args:
        roots: The objects by name, such as those that a `tf.train.Checkpoint` was made of.
        leave_out: Types of parts that are not followed.
    """
    walk = _Walk(leave_out)
    walk.visit(_leaves(roots))
    return walk.finished()


class _Walk:
    """A walk from objects to their parts, the nearest first, so that each has its shortest name."""

    def __init__(self, leave_out: tuple[type, ...]) -> None:
        self._leave_out = leave_out
        self._found = Found()
        self._names: dict[tuple[int, ...], str] = {}  # by the storage of a variable
        self._seen: set[int] = set()
        self._optimizers: list[tuple[str, Any]] = []

    def visit(self, leaves: Iterator[tuple[str, Any]]) -> None:
        """Names the variables among some objects and their parts, without those of optimizers."""
        waiting: deque[tuple[str, Any]] = deque()
        self._sort(leaves, waiting)
        while waiting:
            name, part = waiting.popleft()
            self._sort(_attributes(name, part), waiting)

    def finished(self) -> Found:
        """Names the variables of the optimizers, last, because their slots refer to others."""
        for name, optimizer in self._optimizers:  # it grows with optimizers inside these
            self._name_slots(name, optimizer)
        return self._found

    def _sort(self, leaves: Iterator[tuple[str, Any]], waiting: deque[tuple[str, Any]]) -> None:
        for name, leaf in leaves:
            if is_variable(leaf):
                self._name(name, leaf)
            elif id(leaf) not in self._seen and not isinstance(leaf, self._leave_out):
                self._seen.add(id(leaf))
                if isinstance(leaf, keras.metrics.Metric):
                    self._found.metrics.append(name)
                if isinstance(leaf, keras.optimizers.Optimizer):
                    self._optimizers.append((name, leaf))
                    self._found.optimizers[name] = leaf
                else:
                    waiting.append((name, leaf))

    def _name(self, name: str, variable: Any) -> None:
        storage = tuple(handles(variable))
        if storage and storage not in self._names and name not in self._found.variables:
            self._names[storage] = name
            self._found.variables[name] = variable

    def _name_slots(self, name: str, optimizer: Any) -> None:
        """Names an optimizer's variables.

        A list with one variable for each trained variable is named after the trained variables.
        """
        trained = trained_by(optimizer)
        of = [self._names.get(tuple(handles(each))) for each in trained]
        for attribute, value in _sorted_attributes(optimizer):
            if attribute == TRAINED:
                continue
            place = f"{name}/{attribute.lstrip('_')}"
            if isinstance(value, list | tuple) and len(value) == len(trained) and value:
                for number, each in enumerate(value):
                    self._add(f"{place}/{of[number] or number}", each)
            else:
                for leaf_name, leaf in _leaves({place: value}):
                    self._add(leaf_name, leaf)
        for number, each in enumerate(trained):  # of a model that was not given
            self._name(f"{name}/trainable_variables/{number}", each)

    def _add(self, name: str, leaf: Any) -> None:
        if is_variable(leaf):
            self._name(name, leaf)
        elif isinstance(leaf, keras.optimizers.Optimizer) and id(leaf) not in self._seen:
            self._seen.add(id(leaf))
            self._optimizers.append((name, leaf))


def _attributes(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yields the variables and parts of a part, with their names."""
    taken: set[str] = set()
    for attribute, value in _sorted_attributes(part):
        short = attribute.lstrip("_") or attribute
        for leaf_name, leaf in _leaves({attribute if short in taken else short: value}):
            taken.add(short)
            yield f"{name}/{leaf_name}", leaf


def _sorted_attributes(part: Any) -> list[tuple[str, Any]]:
    """Returns the attributes of a part; those in which Keras lists its contents come last."""
    held = [
        (attribute, value)
        for attribute, value in vars(part).items()
        if not attribute.startswith(_PASSED_BY) and attribute.strip("_") != COUNTER
    ]
    return sorted(held, key=lambda each: _LISTED.index(each[0]) if each[0] in _LISTED else -1)


def _leaves(values: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """Yields variables and parts among some values, and in the lists and dicts among these."""
    waiting = list(reversed(list(values.items())))
    within: set[int] = set()
    while waiting:
        name, value = waiting.pop()
        if is_variable(value) or isinstance(value, _PARTS):
            yield name, value
        elif isinstance(value, list | tuple | dict) and id(value) not in within:
            within.add(id(value))
            # Other keys than words, such as the identity of a variable, differ between processes.
            items = value.items() if isinstance(value, dict) else enumerate(value)
            named = [
                (f"{name}/{key if isinstance(key, str) else number}", each)
                for number, (key, each) in enumerate(items)
            ]
            waiting += reversed(named)
