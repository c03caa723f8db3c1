"""The variables that a training changes, and those among them that its checkpoint lacks.

trained = Trained([step], {"g": g_opt, "d": d_opt})
trained.lacking(objects)      # "D (6 variables), d_opt (12 slots)"; empty where nothing is

Trained is what a `tf.function` assigns to, as TensorFlow knows of its graph, and what an optimizer
was built for, with the other state of such a model: the moving statistics of a batch normalization
go on too. Metrics, random generators, counters and what is only read are not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from nbtrain.engines.slots import slots
from nbtrain.engines.variables import assigned_by, handles, is_variable
from nbtrain.run.walk import COMPILED, reached

# Owners that are named; a training has few parts that are trained by themselves.
_NAMED = 6


class Trained:
    """The variables that some functions change; training thread only.

    Args:
        functions: Gives what is called at every step.
        given: Optimizers by name, or one: given as hyperparameters.
    """

    def __init__(self, functions: Callable[[], Iterable[object]], given: Any = None) -> None:
        self._functions = functions
        named = given if isinstance(given, Mapping) else {"optimizer": given}
        self._given = [
            (str(name), item)
            for name, item in named.items()
            if isinstance(item, keras.optimizers.Optimizer)
        ]

    def lacking(self, objects: Iterable[object]) -> str:
        """The owners of what it changes and these objects do not hold, in words.

        Walks over all that is trained: not for every step.
        """
        found = [*reached(self._functions()), *self._given]
        held = {key for item in objects for key in handles(item)}
        owners = [(name, [*map(handles, _variables(item))]) for name, item in found if name]
        owners.sort(key=lambda owner: len(owner[1]))  # a part before the whole
        # Of a variable on several devices one stands for all.
        first = {key: keys[0] for _, each in owners for keys in each for key in keys}
        names = {key: name for name, each in reversed(owners) for keys in each for key in keys}
        lacking = {
            first.get(key, key): item
            for item in _changed([item for _, item in found])
            for key in handles(item)
            if key not in held
        }
        slot_keys = {key for _, item in found for each in _slots(item) for key in handles(each)}
        parts: dict[str, list[bool]] = defaultdict(list)
        for key, item in lacking.items():
            parts[names.get(key) or _scope(item)].append(key in slot_keys)
        return in_words(parts)


def in_words(parts: Mapping[str, Iterable[bool]]) -> str:
    """Owners with their variables: "D (6 variables), d_opt (12 slots)".

    Args:
        parts: The name of each, and of each variable whether it is a slot of an optimizer.
    """
    words = []
    for name, are_slots in sorted(parts.items(), key=lambda part: (all(part[1]), part[0])):
        kinds = ["slot" if is_slot else "variable" for is_slot in are_slots]
        counts = [(kinds.count(kind), kind) for kind in ("variable", "slot")]
        each = [f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in counts if count]
        words.append(f"{name} ({', '.join(each)})")
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def _changed(found: Iterable[Any]) -> Iterator[Any]:
    """The variables that are trained, or go on with what is; some of them twice."""
    found = list(found)
    changed: list[Any] = []
    for item in found:
        if isinstance(item, keras.optimizers.Optimizer):
            changed += [*getattr(item, "_trainable_variables", ()), *_slots(item)]
        elif isinstance(item, COMPILED):
            changed += _assigned(item)
    keys = {key for item in changed for key in handles(item)}
    for item in found:
        if isinstance(item, keras.layers.Layer):
            weights = {key for each in item.trainable_variables for key in handles(each)}
            changed += _statistics(item) if weights & keys else ()
    return filter(_goes_on, changed)


def _slots(item: Any) -> list[Any]:
    """The slots of an optimizer; none of anything else."""
    found = slots([item])
    return [each for each in item.variables if id(each) in found] if found else []


def _assigned(compiled: Any) -> list[tf.Variable]:
    """The variables that a `tf.function` assigns to, as far as it is traced."""
    found = []
    for traced in compiled._list_all_concrete_functions():  # named by nothing public
        assigned = assigned_by(traced.graph)
        found += [each for each in traced.graph.variables if not assigned.isdisjoint(handles(each))]
    return found


def _statistics(model: Any) -> Iterator[Any]:
    """The state of layers that the training of others updates, such as moving averages."""
    for layer in model._flatten_layers():
        if layer.trainable:
            yield from layer._non_trainable_variables


def _variables(item: Any) -> Iterable[Any]:
    if is_variable(item):
        return [item]
    found = getattr(item, "variables", ())
    return found if isinstance(found, (list, tuple)) else ()


def _goes_on(item: Any) -> bool:
    """Whether a variable is one of real numbers, and of no metric."""
    within = item._value if isinstance(item, keras.Variable) else item
    on_read = getattr(within, "synchronization", None) is tf.VariableSynchronization.ON_READ
    return bool(tf.as_dtype(item.dtype).is_floating) and not on_read


def _scope(item: Any) -> str:
    """The first part of the name of a variable."""
    return str(getattr(item, "path", item.name)).partition(":")[0].partition("/")[0]
