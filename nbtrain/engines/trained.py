"""Finds the variables that a training changes, and which of them its checkpoint lacks.

trained = Trained(lambda: [step], {"g": g_opt, "d": d_opt})
lack = trained.lacking(lambda: objects)  # None if nothing is lacking
lack.owners                              # "D (6 variables), d_opt (12 slots)"
lack.arguments                           # {"D": "gan.D", "d_opt": "gan.d_opt"}

Trained variables are those that a `tf.function` assigns to, according to its graph, and those that
an optimizer was built for. The other state of these models counts too, such as the moving
statistics of a batch normalization. Metrics, random generators, counters and variables that are
only read do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from nbtrain.core.text.text_table import counted
from nbtrain.engines.slots import slots_of
from nbtrain.engines.variables import assigned_by, handles, is_of_metric, is_variable
from nbtrain.inner.keras import layers_of, statistics_of, trained_by
from nbtrain.inner.tensorflow import traces_of
from nbtrain.run.program.walk import COMPILED, Walk, held_by_function

# The most owners that are named; a training has few separately trained parts.
_NAMED = 6


class Lack(NamedTuple):
    """Trained variables that some objects lack.

    Attributes:
        owners: The objects that they belong to, in words, with counts.
        arguments: By the name of each owner, an expression by which the program refers to it, such
            as `D` or `gan.D`; if none is known, a placeholder.
    """

    owners: str
    arguments: dict[str, str]


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

    def lacking(self, objects: Callable[[], Iterable[object]]) -> Lack | None:
        """Names the owners of trained variables that objects lack; None if there are none.

        Walks over all trained objects, so it is too slow for every step.

        Args:
            objects: Returns the objects. It is called last: the walk traces a `tf.function` without
                arguments, which creates the slots of its optimizers.
        """
        walk = Walk(self.functions())
        found = [*walk.named.values(), *self._given]
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
        if not parts:
            return None
        items = {name: item for name, item, _ in reversed(owners)}
        spaces = _namespaces(walk)
        arguments = dict(_argument(name, items.get(name), spaces) for name in _in_order(parts))
        return Lack(in_words(parts), arguments)


def _in_order(parts: Mapping[str, Iterable[bool]]) -> list[str]:
    """Returns the names of owners; owners of slots alone come last."""
    return sorted(parts, key=lambda name: (all(parts[name]), name))


def _namespaces(walk: Walk) -> list[Mapping[str, object]]:
    """Returns the scopes in which a walk's functions resolve their names, the nearest first."""
    closures = [dict(held_by_function(function)) for function in walk.functions]
    modules = {id(each.__globals__): each.__globals__ for each in walk.functions}
    return [*closures, *modules.values()]


def _argument(name: str, item: object, spaces: Sequence[Mapping[str, object]]) -> tuple[str, str]:
    """Returns a name for an object, and an expression for it: `D`, `gan.D`, or a placeholder."""
    if item is not None:
        if name != "self" and any(_is_or_holds(space.get(name), item) for space in spaces):
            return name, name
        for space in spaces:
            for known, value in list(space.items()):
                if not known or known.startswith("_"):  # such as the outputs of a notebook
                    continue
                if known != "self" and value is item:
                    return known, known
                if getattr(value, "__dict__", {}).get(name) is item:
                    return name, f"{known}.{name}"
    if name == "self":
        name = type(item).__name__.lower()
    return re.sub(r"\W", "_", name), f"<your {name}>"


def _is_or_holds(value: object, item: object) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return value is item or (
        isinstance(value, list | tuple) and any(part is item for part in value)
    )


def in_words(parts: Mapping[str, Iterable[bool]]) -> str:
    """Lists owners with their variables, slots or not: "D (6 variables), d_opt (12 slots)"."""
    words = []
    for name in _in_order(parts):
        are_slots = list(parts[name])
        kinds = ["slot" if is_slot else "variable" for is_slot in are_slots]
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
    return filter(_goes_on, changed)


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


def _goes_on(item: Any) -> bool:
    """Returns whether a variable holds real numbers and does not belong to a metric."""
    return bool(tf.as_dtype(item.dtype).is_floating) and not is_of_metric(item)


def _scope(item: Any) -> str:
    """Returns the first part of a variable's name."""
    return str(getattr(item, "path", item.name)).partition(":")[0].partition("/")[0]
