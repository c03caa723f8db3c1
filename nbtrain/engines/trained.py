"""Finds the variables that a training changes, and which of them its checkpoint lacks.

trained = Trained([step], {"g": g_opt, "d": d_opt})
trained.lacking(lambda: objects)  # "D (6 variables), d_opt (12 slots)"; "" if nothing is lacking

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

from nbtrain.engines.slots import slots_of
from nbtrain.engines.variables import assigned_by, handles, is_variable
from nbtrain.run.walk import COMPILED, Walk

# The most owners that are named; a training has few separately trained parts.
_NAMED = 6


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
        """Returns the storage of the variables that are trained, as `handles` gives it."""
        found = [*Walk(self.functions()).named.values(), *self._given]
        return {key for item in _changed([item for _, item in found]) for key in handles(item)}

    def lacking(self, objects: Callable[[], Iterable[object]]) -> str:
        """Names the owners of trained variables that objects lack.

        Walks over all trained objects, so it is too slow for every step.

        Args:
            objects: Returns them. It is asked last: a `tf.function` without arguments is traced by
                the look at it, and creates the slots of its optimizers.
        """
        found = [*Walk(self.functions()).named.values(), *self._given]
        changed = list(_changed([item for _, item in found]))
        held = {key for item in objects() for key in handles(item)}
        owners = [(name, [*map(handles, _variables(item))]) for name, item in found if name]
        owners.sort(key=lambda owner: len(owner[1]))  # parts before the whole
        # One variable stands for its copies on several devices.
        first = {key: keys[0] for _, each in owners for keys in each for key in keys}
        names = {key: name for name, each in reversed(owners) for keys in each for key in keys}
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
        return in_words(parts)


def in_words(parts: Mapping[str, Iterable[bool]]) -> str:
    """Lists owners with their variables, slots or not: "D (6 variables), d_opt (12 slots)"."""
    words = []
    for name, are_slots in sorted(parts.items(), key=lambda part: (all(part[1]), part[0])):
        kinds = ["slot" if is_slot else "variable" for is_slot in are_slots]
        counts = [(kinds.count(kind), kind) for kind in ("variable", "slot")]
        each = [f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in counts if count]
        words.append(f"{name} ({', '.join(each)})")
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def _changed(found: Sequence[Any]) -> Iterator[Any]:
    """Yields the variables that are trained or updated with trained ones, some of them twice."""
    changed: list[Any] = []
    for item in found:
        if isinstance(item, keras.optimizers.Optimizer):
            changed += [*getattr(item, "_trainable_variables", ()), *slots_of(item)]
        elif isinstance(item, COMPILED):
            changed += _assigned(item)
    keys = {key for item in changed for key in handles(item)}
    for item in found:
        if isinstance(item, keras.layers.Layer):
            weights = {key for each in item.trainable_variables for key in handles(each)}
            changed += _statistics(item) if weights & keys else ()
    return filter(_goes_on, changed)


def _assigned(compiled: Any) -> list[tf.Variable]:
    """The variables that a `tf.function` assigns to, in the traces made so far."""
    found = []
    for traced in compiled._list_all_concrete_functions():  # there is no public name for this
        assigned = assigned_by(traced.graph)
        found += [each for each in traced.graph.variables if not assigned.isdisjoint(handles(each))]
    return found


def _statistics(model: Any) -> Iterator[Any]:
    """Yields the state of layers that the training of others updates, such as moving averages."""
    for layer in model._flatten_layers():
        if layer.trainable:
            yield from layer._non_trainable_variables


def _variables(item: Any) -> Iterable[Any]:
    if is_variable(item):
        return [item]
    found = getattr(item, "variables", ())
    return found if isinstance(found, (list, tuple)) else ()


def _goes_on(item: Any) -> bool:
    """Tells if a variable holds real numbers and does not belong to a metric."""
    within = item._value if isinstance(item, keras.Variable) else item
    on_read = getattr(within, "synchronization", None) is tf.VariableSynchronization.ON_READ
    return bool(tf.as_dtype(item.dtype).is_floating) and not on_read


def _scope(item: Any) -> str:
    """The first part of a variable's name."""
    return str(getattr(item, "path", item.name)).partition(":")[0].partition("/")[0]
