"""Finds the variables that a training changes, and which of them its checkpoint lacks.

trained = Trained(lambda: [step], {"g": g_opt, "d": d_opt})
owners = trained.lacking(lambda: objects)  # by name; empty if nothing is lacking
in_words(owners)                           # "D (6 variables), d_opt (12 slots)"

Trained variables are those that a `tf.function` assigns to, according to its graph, and those that
an optimizer was built for. The other state of these models counts too, such as the moving
statistics of a batch normalization. Metrics, random generators, counters and variables that are
only read do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from nbtrain.core.text.text_table import counted
from nbtrain.engines.slots import slots_of
from nbtrain.inner.keras import layers_of, statistics_of, trained_by
from nbtrain.inner.tensorflow import traces_of
from nbtrain.inner.variables import assigned_by, handles, is_of_metric, is_variable
from nbtrain.run.program.walk import COMPILED, Walk

# The most owners that are named; a training has few separately trained parts.
_NAMED = 6


# Owners of trained variables, by name: for each variable, whether it is a slot of an optimizer.
Owners = Mapping[str, Sequence[bool]]


class Trained:
    """The variables that some functions change; training thread only.

    Args:
        functions: Returns the functions called at every step.
        given: Optimizers by name, or a single one, given as hyperparameters.
    """

    def __init__(self, functions: Callable[[], Sequence[Any]], given: Any = None) -> None:
        self.functions = functions
        named = given if isinstance(given, Mapping) else {"optimizer": given}
        self._given = [
            (str(name), item)
            for name, item in named.items()
            if isinstance(item, keras.optimizers.Optimizer)
        ]

    def changed(self) -> set[int]:
        """Returns the storage of the variables that are trained, as `handles` returns it."""
        found = [*Walk(self.functions()).named.values(), *self._given]
        return {key for item in _changed([item for _, item in found]) for key in handles(item)}

    def besides(self, objects: Iterable[object]) -> list[tf.Variable]:
        """Returns variables that the functions may change and that are not among objects.

        Metrics count too, other than in `lacking`.
        """
        held = {key for item in objects for key in handles(item)}
        found: dict[int, Any] = {}
        for _, item in Walk(self.functions()).named.values():
            for each in _assigned(item) if isinstance(item, COMPILED) else _variables(item):
                found |= {key: each for key in handles(each) if key not in held}
        return list({id(each): each for each in found.values()}.values())

    def lacking(self, objects: Callable[[], Iterable[object]]) -> Owners:
        """Returns the owners of trained variables that objects lack; those of slots come last.

        Walks over all trained objects, so it is too slow for every step.

        Args:
            objects: Returns the objects. It is called last: the walk traces a `tf.function` without
                arguments, which creates the slots of its optimizers.
        """
        found = [
            (type(item).__name__.lower() if name == "self" else name, item)
            for name, item in [*Walk(self.functions()).named.values(), *self._given]
        ]
        changed = list(_changed([item for _, item in found]))
        held = {key for item in objects() for key in handles(item)}
        owners = [(name, item, [*map(handles, _variables(item))]) for name, item in found if name]
        owners.sort(key=lambda owner: len(owner[2]))  # parts before the whole
        # One variable represents its copies on several devices.
        first = {key: keys[0] for *_, each in owners for keys in each for key in keys}
        names = {key: name for name, _, each in reversed(owners) for keys in each for key in keys}
        lacking = {
            first.get(key, key): item
            for item in changed
            for key in handles(item)
            if key not in held
        }
        slot_keys = {key for _, item in found for each in slots_of(item) for key in handles(each)}
        parts: dict[str, list[bool]] = defaultdict(list)
        for key, item in lacking.items():
            parts[names.get(key) or _scope(item)].append(key in slot_keys)
        return {name: parts[name] for name in _in_order(parts)}


def _in_order(owners: Owners) -> list[str]:
    """Returns the names of owners; owners of slots alone come last."""
    return sorted(owners, key=lambda name: (all(owners[name]), name))


def in_words(owners: Owners) -> str:
    """Lists owners with their variables, slots or not: "D (6 variables), d_opt (12 slots)"."""
    words = []
    for name in _in_order(owners):
        kinds = ["slot" if is_slot else "variable" for is_slot in owners[name]]
        counts = [(kinds.count(kind), kind) for kind in ("variable", "slot")]
        each = [counted(count, kind) for count, kind in counts if count]
        words.append(f"{name} ({', '.join(each)})")
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def _changed(found: Sequence[Any]) -> Iterator[Any]:
    """Yields the variables that are trained or updated with trained ones, some of them twice."""
    changed: list[Any] = []
    for item in found:
        if isinstance(item, keras.optimizers.Optimizer):
            changed += [*trained_by(item), *slots_of(item)]
        elif isinstance(item, COMPILED):
            changed += _assigned(item)
    keys = {key for item in changed for key in handles(item)}
    for item in found:
        if isinstance(item, keras.layers.Layer):
            weights = {key for each in item.trainable_variables for key in handles(each)}
            changed += _statistics(item) if weights & keys else ()
    return filter(_counts, changed)


def _assigned(compiled: Any) -> list[tf.Variable]:
    """Returns the variables that a `tf.function` assigns to, in the traces made so far."""
    found = []
    for traced in traces_of(compiled):
        assigned = assigned_by(traced.graph)
        found += [each for each in traced.graph.variables if not assigned.isdisjoint(handles(each))]
    return found


def _statistics(model: Any) -> Iterator[Any]:
    """Yields the state of layers that the training of others updates, such as moving averages."""
    for layer in layers_of(model):
        if layer.trainable:
            yield from statistics_of(layer)


def _variables(item: Any) -> Iterable[Any]:
    if is_variable(item):
        return [item]
    found = getattr(item, "variables", ())
    return found if isinstance(found, (list, tuple)) else ()


def _counts(item: Any) -> bool:
    """Returns whether a variable holds real numbers and does not belong to a metric."""
    return bool(tf.as_dtype(item.dtype).is_floating) and not is_of_metric(item)


def _scope(item: Any) -> str:
    """Returns the first part of a variable's name."""
    return str(getattr(item, "path", item.name)).partition(":")[0].partition("/")[0]
