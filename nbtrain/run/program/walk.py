"""Walks through functions, the functions that they call by name, and the objects that they use."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from nbtrain.core.text.tracebacks import is_of_the_user
from nbtrain.inner.keras import trained_by
from nbtrain.inner.tensorflow import function_of

# Methods that train a compiled Keras model, and methods that change a variable.
_TRAINING = {"fit", "train_on_batch", "train_step"}
_ASSIGNING = {"assign", "assign_add", "assign_sub"}

# A longer list or dictionary is data: a model has fewer parts.
_FEW = 64

# The type of the functions that `tf.function` returns.
COMPILED = tf.types.experimental.PolymorphicFunction

# The most objects of a walk, the nearest first: an object of the user may contain very many.
_MANY = 2_000


class Binding(NamedTuple):
    """The object that a name referred to.

    Attributes:
        names: The namespace in which a function looks up the name.
        compiled: The `tf.function` through which it was reached; None if there was none.
    """

    names: Mapping[str, object]
    name: str
    value: object
    compiled: Any = None

    @property
    def changed(self) -> bool:
        """True if the name refers to another object now; False if it was deleted."""
        return self.names.get(self.name, self.value) is not self.value


class Walk:
    """One walk through functions, the functions that they call by name, and their objects.

    Attributes:
        bindings: Every name found that refers to a function or to state.
        state: Models, optimizers, variables and graph tensors, by identity.
        named: The same and every `tf.function`, with the names by which they were reached. An
            object that is only a part of a container has the name of the container, or none.
        trained: The objects that only one run at a time may train.
        models: Each `tf.function` and the models that it reaches, by the function's identity.
    """

    def __init__(self, functions: Iterable[object]) -> None:
        self.bindings: list[Binding] = []
        self.state: dict[int, object] = {}
        self.named: dict[int, tuple[str, object]] = {}
        self.trained: list[object] = []
        self.models: dict[int, tuple[Any, dict[int, tuple[str, Any]]]] = {}
        # Name, object, the `tf.function` on the way, and the names in the code of the function by
        # which the object was reached.
        self._waiting: deque[tuple[str, Any, Any, frozenset[str]]] = deque(
            ("", function, None, frozenset()) for function in functions
        )
        # The objects are kept too, because an identity is unique only while its object exists.
        seen: dict[object, object] = {}
        while self._waiting and len(seen) < _MANY:
            name, item, compiled, names = self._waiting.popleft()
            if isinstance(item, (types.FunctionType, types.MethodType, COMPILED)):
                names = frozenset()
            elif _is_of_library(type(item)):
                names &= _TRAINING | _ASSIGNING
            key = _identity(item), id(compiled), names
            if key not in seen:
                seen[key] = item
                self._visit(name, item, compiled, names)

    def _visit(self, name: str, item: Any, compiled: Any, names: frozenset[str]) -> None:
        parts: list[tuple[str, object]] = []
        if isinstance(item, COMPILED):
            if compiled is None:
                self.state[id(item)] = item
            self.named.setdefault(id(item), (name, item))
            compiled = compiled or item  # the outermost is traced first
            parts = [(name, _traced_by(item))]
        elif _is_state(item):
            self.state[id(item)] = item
            self.named.setdefault(id(item), (name, item))
            self._claim(item, names)
            if compiled is not None and isinstance(item, tf.keras.layers.Layer):
                _, models = self.models.setdefault(id(compiled), (compiled, {}))
                models.setdefault(id(item), (name or item.name, item))
            parts = _methods(item, names)
        elif isinstance(item, types.FunctionType):
            if not _is_of_library(item):
                read, names = _names_in(item.__code__)
                parts = [*self._read(item.__globals__, read, compiled), *held_by_function(item)]
        elif isinstance(item, types.MethodType):
            own = item.__self__
            code = getattr(item.__func__, "__code__", None)
            names = (_names_in(code)[1] if code else frozenset()) | {item.__name__}
            parts = [(name, item.__func__), *_methods(own, names)]
            if _is_state(own):
                parts.append(("self", own))
            if not _is_state(own) or isinstance(own, tf.Module):  # Keras knows its models' parts
                parts += _attributes(own)
        else:
            parts = [(key or name, part) for key, part in _held_by(item)] + _methods(item, names)
        self._waiting += [(*part, compiled, names) for part in parts]

    def _read(
        self, names: Mapping[str, object], read: Iterable[str], compiled: Any
    ) -> Iterator[tuple[str, object]]:
        """Yields the objects that a function looks up in its module or notebook."""
        for name in sorted(read & names.keys()):
            value: Any = names[name]
            if isinstance(value, (types.ModuleType, type)):  # cells do not rebind these
                continue
            is_function = isinstance(value, types.FunctionType)
            if is_function and value.__globals__ is not names:
                if is_of_the_user(value.__code__.co_filename):
                    yield name, value
                continue
            # Once traced, a `tf.function` calls no other function by its name.
            if _is_state(value) if compiled is None else _is_traced_state(value):
                self.bindings.append(Binding(names, name, value, compiled))
            elif compiled is None and is_function:
                self.bindings.append(Binding(names, name, value))
            yield name, value

    def _claim(self, item: Any, names: frozenset[str]) -> None:
        """Adds a trained object to `trained`; other models and variables may only be read."""
        if names & _TRAINING:
            item = _asked(item, "optimizer") or item
        if _asked(item, "apply_gradients"):
            self.trained.append(item)
            with contextlib.suppress(Exception):  # the user's class may contain anything
                self.trained += trained_by(item)
        elif names & _ASSIGNING:
            self.trained += [item, *_asked(item, "trainable_variables", list, tuple)]


@functools.lru_cache(maxsize=256)
def _names_in(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the global names that code reads but does not bind, and all names in it."""
    read: set[str] = set()
    bound: set[str] = set()
    names: set[str] = set()
    waiting = [code]
    while waiting:
        code = waiting.pop()
        names.update(code.co_names)
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read.add(instruction.argval)
            elif instruction.opname in ("STORE_GLOBAL", "STORE_NAME"):
                bound.add(instruction.argval)
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return frozenset(read - bound), frozenset(names)


def _identity(item: object) -> object:
    """Returns the identity of an object; for a method, of its two parts."""
    if isinstance(item, types.MethodType):
        return id(item.__func__), id(item.__self__)
    return id(item)


def _traced_by(compiled: Any) -> object:
    """Returns the function that a `tf.function` traces; a method is bound to its object.

    TensorFlow binds it to a stand-in that refers to the object weakly.
    """
    function, method = compiled.python_function, function_of(compiled)
    own = getattr(getattr(method, "__self__", None), "target", None)
    return function if own is None else types.MethodType(method.__func__, own)


def _methods(item: object, names: Iterable[str]) -> list[tuple[str, object]]:
    """Returns the user's methods that an object has under these names."""
    found: list[tuple[str, object]] = []
    for name in sorted(names):
        with contextlib.suppress(Exception):  # the user's class may contain anything
            method = getattr(type(item), name, None)
            if isinstance(method, (types.FunctionType, types.MethodType, COMPILED)):
                code = inspect.unwrap(method).__code__
                found += [("", getattr(item, name))] if is_of_the_user(code.co_filename) else []
    return found


def _is_of_library(code: object) -> bool:
    """Returns whether code belongs to TensorFlow or Keras: its arguments were found already."""
    return str(getattr(code, "__module__", "")).partition(".")[0] in ("tensorflow", "keras")


def held_by_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yields the objects in the closure of a function, with names, and its wrapped function."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not bound yet
            yield name, cell.cell_contents
    yield "", getattr(function, "__wrapped__", None)


def _held_by(item: Any) -> list[tuple[str, object]]:
    """Returns the parts of a partial, a small container or a user's object, with names."""
    if isinstance(item, functools.partial):
        return [*(("", part) for part in (item.func, *item.args)), *item.keywords.items()]
    if isinstance(item, (list, tuple)) and len(item) <= _FEW:
        return [("", part) for part in item]
    if isinstance(item, dict) and len(item) <= _FEW:
        return [(str(key), part) for key, part in list(item.items())]
    if type(item).__module__ == "__main__":
        return [*_attributes(item), ("", getattr(type(item), "__call__", None))]  # noqa: B004
    return []


def _attributes(item: object) -> list[tuple[str, object]]:
    return list(getattr(item, "__dict__", {}).items())


def _asked(item: object, name: str, *types: type) -> Any:
    """Returns an attribute; None if it is missing or raises; () if it has none of the types."""
    found = None
    with contextlib.suppress(Exception):  # if it matters, the training will raise it too
        found = getattr(item, name, None)
    return found if not types or isinstance(found, types) else ()


def _is_state(item: object) -> bool:
    """Returns whether an object is changed by a training or is part of a graph; data is neither."""
    if isinstance(item, (tf.Operation, tf.Tensor)):
        return not isinstance(item, tf.Tensor) or tf.is_symbolic_tensor(item)
    return isinstance(item, tf.__internal__.tracking.Trackable) and not isinstance(
        item, (tf.data.Dataset, tf.data.Iterator)
    )


def _is_traced_state(item: object) -> bool:
    return _is_state(item) and not isinstance(item, COMPILED)
