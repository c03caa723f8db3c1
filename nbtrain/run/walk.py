"""Walks through functions, the functions that they call by name, and the objects they hold."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf
from tensorflow.python.util import tf_decorator

from nbtrain.core.tracebacks import is_of_the_user

# Methods that train a compiled Keras model, and methods that change a variable.
_TRAINING = {"fit", "train_on_batch", "train_step"}
_ASSIGNING = {"assign", "assign_add", "assign_sub"}

# A longer list or dictionary is data: a model has fewer parts.
_FEW = 64

# The type of the functions that `tf.function` returns.
COMPILED = tf.types.experimental.PolymorphicFunction

# The most objects of a walk, the nearest first: an object of the user may hold very many.
_MANY = 2_000


@dataclass(frozen=True, slots=True)
class Binding:
    """The object that a name referred to.

    Attributes:
        names: The namespace in which the function looks up the name.
        name: The name.
        value: The object.
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


def reached(functions: Iterable[object]) -> list[tuple[str, object]]:
    """Lists the models, optimizers, variables and `tf.function`s that functions reach, with names.

    An object that is only a part of a container has the name of the container, or none.
    """
    return list(Walk(functions).named.values())


class Walk:
    """One walk through functions, the functions that they call by name, and their objects.

    Args:
        functions: The functions to start from.

    Attributes:
        bindings: Every name that the walk met and that refers to a function or to state.
        state: Models, optimizers, variables and graph tensors, by identity.
        named: The same and every `tf.function`, with the names by which they were reached.
        functions: The functions, except those of TensorFlow and Keras.
        trained: The objects that only one run at a time may train.
        models: Each `tf.function` and the models that it reaches, by the function's identity.
    """

    def __init__(self, functions: Iterable[object]) -> None:
        self.bindings: list[Binding] = []
        self.state: dict[int, object] = {}
        self.named: dict[int, tuple[str, object]] = {}
        self.models: dict[int, tuple[Any, list[tuple[str, Any]]]] = {}
        self.functions: list[types.FunctionType] = []
        self.trained: list[object] = []
        # Holds the objects too, because an identity is unique only while its object exists.
        self._seen: dict[tuple[object, _Way], object] = {}
        self._waiting = deque(("", function, _Way()) for function in functions)
        while self._waiting and len(self._seen) < _MANY:
            name, item, way = self._waiting.popleft()
            key = _identity(item), way.to(item)
            if key not in self._seen:
                self._seen[key] = item
                self._visit(name, item, way)

    def _visit(self, name: str, item: Any, way: _Way) -> None:
        if isinstance(item, COMPILED):
            if not way.traced:
                self.state[id(item)] = item
            self.named.setdefault(id(item), (name, item))
            compiled = way.compiled or item  # the outermost is traced first
            self._waiting.append((name, _traced_by(item), replace(way, compiled=compiled)))
        elif _is_state(item):
            self.state[id(item)] = item
            self.named.setdefault(id(item), (name, item))
            self._claim(item, way)
            if way.traced and isinstance(item, tf.keras.layers.Layer):
                _, models = self.models.setdefault(id(way.compiled), (way.compiled, []))
                if all(model is not item for _, model in models):
                    models.append((name or item.name, item))
            self._waiting += [("", method, way) for method in _methods(item, way.names)]
        elif isinstance(item, types.FunctionType):
            self._go_through(item, way)
        elif isinstance(item, types.MethodType):
            self._waiting.append((name, item.__func__, way))
            code, own = getattr(item.__func__, "__code__", None), item.__self__
            used = _uses(code).names if code else frozenset()
            way = replace(way, names=used | {item.__name__})
            held = [("self", own)] if _is_state(own) else []
            if not held or isinstance(own, tf.Module):  # Keras knows the parts of its models
                held += _attributes(own)
            held += [("", method) for method in _methods(own, way.names)]
            self._waiting += [(*part, way) for part in held]
        else:
            held = [*_held_by(item), *(("", method) for method in _methods(item, way.names))]
            self._waiting += [(key or name, part, way) for key, part in held]

    def _go_through(self, function: types.FunctionType, way: _Way) -> None:
        if _is_of_library(function):
            return
        self.functions.append(function)
        uses = _uses(function.__code__)
        way = replace(way, names=uses.names)
        self._read(function.__globals__, uses, way)
        self._waiting += [(*part, way) for part in _held_by_function(function)]

    def _read(self, names: Mapping[str, object], uses: _Uses, way: _Way) -> None:
        """Follows the names that a function looks up in its module or notebook."""
        for name in sorted(uses.globals & names.keys()):
            value = names[name]
            if isinstance(value, (types.ModuleType, type)):  # cells do not rebind these
                continue
            if isinstance(value, types.FunctionType) and value.__globals__ is not names:
                if is_of_the_user(value.__code__.co_filename):
                    self._waiting.append((name, value, way))
                continue
            if way.traced and _is_state(value) and not isinstance(value, COMPILED):
                self.bindings.append(Binding(names, name, value, way.compiled))
            elif not way.traced and (_is_state(value) or isinstance(value, types.FunctionType)):
                self.bindings.append(Binding(names, name, value))
            self._waiting.append((name, value, way))

    def _claim(self, item: Any, way: _Way) -> None:
        """Adds a trained object to `trained`; other models and variables may only be read."""
        if way.trains:
            item = _asked(item, "optimizer") or item
        if _asked(item, "apply_gradients"):
            # Keras has no public name for the variables that an optimizer was built for.
            self.trained += [item, *_several(item, "_trainable_variables")]
        elif way.assigns:
            self.trained += [item, *_several(item, "trainable_variables")]


@dataclass(frozen=True, slots=True)
class _Way:
    """The path by which an object was reached.

    Attributes:
        compiled: The `tf.function` on the path, or None; once traced, it looks up no names.
        names: The names in the code of the function by which the object was reached.
    """

    compiled: Any = None
    names: frozenset[str] = frozenset()

    @property
    def traced(self) -> bool:
        """True if the path leads through a `tf.function`."""
        return self.compiled is not None

    def to(self, item: object) -> _Way:
        """Returns the path without the names that make no difference to this object."""
        if isinstance(item, (types.FunctionType, types.MethodType, COMPILED)):
            return replace(self, names=frozenset())
        if _is_state(item) and _is_of_library(type(item)):
            return replace(self, names=self.names & (_TRAINING | _ASSIGNING))
        return self

    @property
    def trains(self) -> bool:
        """True if the function calls a method that trains a Keras model."""
        return not _TRAINING.isdisjoint(self.names)

    @property
    def assigns(self) -> bool:
        """True if the function itself assigns to variables."""
        return not _ASSIGNING.isdisjoint(self.names)


@dataclass(frozen=True, slots=True)
class _Uses:
    """Names in the code of a function and of its inner functions.

    Attributes:
        globals: Global names that it reads but does not bind itself.
        names: All names, including those of attributes.
    """

    globals: frozenset[str]
    names: frozenset[str]


@functools.lru_cache(maxsize=256)
def _uses(code: types.CodeType) -> _Uses:
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
    return _Uses(frozenset(read - bound), frozenset(names))


def _identity(item: object) -> object:
    """Returns the identity of an object; for a method, which is created anew, of its parts."""
    if isinstance(item, types.MethodType):
        return id(item.__func__), id(item.__self__)
    return id(item)


def _traced_by(compiled: Any) -> object:
    """Returns the function that a `tf.function` traces; a method is bound to its object.

    TensorFlow binds it to a stand-in that refers to the object weakly.
    """
    function = compiled.python_function
    _, method = tf_decorator.unwrap(function)
    own = getattr(getattr(method, "__self__", None), "target", None)
    return function if own is None else types.MethodType(method.__func__, own)


def _methods(item: object, names: Iterable[str]) -> list[object]:
    """Returns the user's methods that an object has under these names."""
    found = []
    for name in sorted(names):
        with contextlib.suppress(Exception):  # the user's class may contain anything
            method = getattr(type(item), name, None)
            if isinstance(method, (types.FunctionType, types.MethodType, COMPILED)):
                code = inspect.unwrap(method).__code__
                found += [getattr(item, name)] if is_of_the_user(code.co_filename) else []
    return found


def _is_of_library(code: object) -> bool:
    """Tells if code belongs to TensorFlow or Keras: its arguments were found already."""
    return str(getattr(code, "__module__", "")).partition(".")[0] in ("tensorflow", "keras")


def _held_by_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not bound yet
            yield name, cell.cell_contents
    yield "", getattr(function, "__wrapped__", None)


def _held_by(item: Any) -> Iterator[tuple[str, object]]:
    """Yields what a partial, a small container or a user's object holds, with names."""
    if isinstance(item, functools.partial):
        yield from (("", part) for part in (item.func, *item.args))
        yield from item.keywords.items()
    elif isinstance(item, (list, tuple)) and len(item) <= _FEW:
        yield from (("", part) for part in item)
    elif isinstance(item, dict) and len(item) <= _FEW:
        yield from ((str(key), part) for key, part in list(item.items()))
    elif type(item).__module__ == "__main__":
        yield from _attributes(item)
        yield "", getattr(type(item), "__call__", None)  # noqa: B004 - the function itself


def _attributes(item: object) -> list[tuple[str, object]]:
    return list(getattr(item, "__dict__", {}).items())


def traces(compiled: Any) -> int:
    """Returns how often a `tf.function` has been traced."""
    return int(compiled.experimental_get_tracing_count())


def _asked(item: object, name: str) -> Any:
    """Returns an attribute; None if there is none, or if a user's property raises."""
    try:
        return getattr(item, name, None)
    except Exception:  # noqa: BLE001 - if it matters, the training will raise it too
        return None


def _several(item: object, name: str) -> Sequence[object]:
    """Returns an attribute that is a list or tuple; otherwise an empty one."""
    asked = _asked(item, name)
    return asked if isinstance(asked, (list, tuple)) else ()


def _is_state(item: object) -> bool:
    """Tells if an object is changed by a training or is part of a graph; data is neither."""
    if isinstance(item, (tf.Operation, tf.Tensor)):
        return not isinstance(item, tf.Tensor) or tf.is_symbolic_tensor(item)
    return isinstance(item, tf.__internal__.tracking.Trackable) and not isinstance(
        item, (tf.data.Dataset, tf.data.Iterator)
    )
