"""An eager variable that holds a hyperparameter, and observes the program's assignments to it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Set
from typing import Any

import tensorflow as tf

from nbtrain.core.values.hyperparameters import Variable
from nbtrain.inner.variables import as_written, handles

_METHODS = ("assign", "assign_add", "assign_sub")

# The attribute of an observed variable that refers to its observers, weakly.
_LISTENERS = "_nbtrain_listeners"

_LISTENING = threading.Lock()  # runs of several cells change the listeners


class EagerVariable(Variable):
    """A `tf.Variable` or `keras.Variable`.

    Only this object's methods are replaced, so steps that assign nothing are not slowed down. A
    `tf.function` calls them only while it is traced; `note_handles` finds assignments in functions
    traced earlier.
    """

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.whole = tf.as_dtype(variable.dtype).is_integer
        own = variable.value if isinstance(variable, tf.keras.Variable) else variable
        self._inner: Any = own
        self._traced = self._quiet = False  # whether a graph assigns to it; whether nbtrain does
        self._assigned = False
        self._attend: Callable[[], object] | None = None
        self._listen(listens=True)  # at once: a step is traced before the run begins

    def read(self) -> float:
        """Returns its value."""
        return as_written(self.variable.numpy())

    def write(self, value: float) -> None:
        """Assigns the value; does not count as an assignment of the program."""
        self._quiet = True
        try:
            self.variable.assign(int(value) if self.whole else value)
        finally:
            self._quiet = False

    def watch(self, attend: Callable[[], object]) -> None:
        """Calls `attend` after each eager assignment; `now` finds assignments in a graph."""
        self._assigned, self._attend = False, attend
        self._listen(listens=True)

    def unwatch(self) -> None:
        """Restores the variable's methods, unless another run listens to it."""
        self._attend = None
        self._listen(listens=False)

    @property
    def assigned(self) -> bool:
        """True if the program has assigned to it since the last call of `now`."""
        return self._assigned

    def now(self) -> Any:
        """Returns its value as a tensor if the program has assigned to it, or a graph does."""
        if not (self._assigned or self._traced):  # without a write, which could lose another's
            return None
        self._assigned = False  # before the read: another thread may assign
        return self._unread()

    def distrust(self) -> None:
        """Notes that a graph traced earlier assigns to it."""
        self._traced = True

    def note_handles(self, assigned: Set[int]) -> None:
        """Notes the handles, by identity, that a function traced earlier assigns to."""
        self._traced = self._traced or not assigned.isdisjoint(handles(self._inner))

    def number(self, value: Any) -> float:
        """Converts a tensor to a number."""
        return as_written(value.numpy())

    def note_assignment(self) -> None:
        """Notes an assignment."""
        if not tf.executing_eagerly():
            self._traced = True
        elif self._attend is not None and not self._quiet:
            self._assigned = True
            self._attend()

    def _unread(self) -> Any:
        """Returns its value as a tensor, without waiting for it."""
        variable = self._inner
        try:  # six times as fast as `read_value`
            return tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
        except (AttributeError, ValueError):  # under a strategy each replica has a handle
            return variable.read_value()

    def _listen(self, *, listens: bool) -> None:
        """Replaces the variable's methods by hooks while anything listens to it."""
        attributes = vars(self._inner)
        with _LISTENING:
            listeners = [each for each in _listeners(self._inner) if each is not self]
            listeners += [self] if listens else []
            attributes[_LISTENERS] = [weakref.ref(each) for each in listeners]
            for name in _METHODS:
                if not listeners:
                    attributes.pop(name, None)
                elif hasattr(type(self._inner), name):
                    attributes.setdefault(name, _hook(self._inner, name))
            if not listeners:
                del attributes[_LISTENERS]


def _hook(variable: Any, name: str) -> Callable[..., Any]:
    """Returns a method of one variable that notifies its listeners."""
    method = getattr(type(variable), name)

    def hook(*args: Any, **kwargs: Any) -> Any:
        result = method(variable, *args, **kwargs)
        for listener in _listeners(variable):
            listener.note_assignment()
        return result

    # Without this, AutoGraph would try to convert the hook in a graph that assigns, and fail.
    unconverted: Callable[..., Any] = tf.autograph.experimental.do_not_convert(hook)
    return unconverted


def _listeners(variable: Any) -> list[EagerVariable]:
    references = vars(variable).get(_LISTENERS, ())
    return [found for reference in references if (found := reference()) is not None]
