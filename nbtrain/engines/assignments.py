"""Observes the program's assignments to a variable during training.

assignments = Assignments(variable)
assignments.begin(tell)            # tell(value, find_setter) at each assignment from now on
with assignments.quiet():          # nbtrain's own assignments
    variable.assign(0.1)
assignments.traced                 # a graph assigns as well, without telling: ask `now()`
assignments.end()
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator, Set
from types import FrameType
from typing import Any

import tensorflow as tf

from nbtrain.core.hyperparameters import Setter, Tell
from nbtrain.core.tracebacks import is_of_the_user
from nbtrain.engines.variables import handles

_METHODS = ("assign", "assign_add", "assign_sub")

_LISTENING = threading.Lock()  # runs of several cells change the listeners

# Keras's list of callbacks is a callback itself, but sets nothing.
_CALLBACK, _CALLBACKS = tf.keras.callbacks.Callback, tf.keras.callbacks.CallbackList


class Assignments:
    """Observes the assignments to one eager TensorFlow variable or Keras variable.

    Only this object's methods are replaced, so steps that assign nothing pay nothing. A
    `tf.function` calls them only while it is traced; `look_into` finds assignments in functions
    traced earlier.

    Args:
        variable: A `tf.Variable` or a `keras.Variable`.

    Attributes:
        traced: Whether a graph assigns to it.
    """

    def __init__(self, variable: Any) -> None:
        own = variable.value if isinstance(variable, tf.keras.Variable) else variable
        self.traced = False
        self._variable: Any = own
        self._quiet = False
        self._tell: Tell | None = None
        self._listen()  # at once: a step is traced before the run begins

    def begin(self, tell: Tell) -> None:
        """Calls `tell` at each assignment from now on."""
        self._tell = tell
        self._listen()

    def end(self) -> None:
        """Restores the variable's methods, unless another run listens to it."""
        self._tell = None
        with _LISTENING:
            for name in _METHODS:
                hook = vars(self._variable).get(name)
                if isinstance(hook, _Hook) and not hook.keep(self, listens=False):
                    delattr(self._variable, name)

    def heard(self) -> None:
        """Handles an assignment by the program."""
        if not tf.executing_eagerly():
            self.traced = True
        elif self._tell is not None and not self._quiet:
            self._tell(self.now(), _setter)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Ignores assignments made inside; used by one thread."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        """Reports the program's assignments inside once, at the end, with the final value."""
        tell, setters = self._tell, list[Setter]()
        if tell is not None:
            self._tell = lambda _value, setter: setters.append(setter())
        try:
            yield
        finally:
            self._tell = tell
            if tell is not None and setters:
                tell(self.now(), setters.pop)

    def now(self) -> Any:
        """Returns its value as a tensor, without waiting for it."""
        variable = self._variable
        try:  # takes a sixth of the time of `read_value`
            return tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
        except (AttributeError, ValueError):  # under a strategy each replica has a handle
            return variable.read_value()

    def look_into(self, assigned: Set[int]) -> None:
        """Checks if a function traced earlier assigns to the variable.

        Args:
            assigned: The handles that the function assigns to, by identity.
        """
        self.traced = self.traced or not assigned.isdisjoint(handles(self._variable))

    def _listen(self) -> None:
        variable = self._variable
        with _LISTENING:
            for name in _METHODS:
                if hasattr(type(variable), name):
                    hook = vars(variable).get(name)
                    if not isinstance(hook, _Hook):
                        setattr(variable, name, hook := _Hook(variable, name))
                    hook.keep(self, listens=True)


class _Hook:
    """Replaces a method of one variable and notifies its listeners.

    Args:
        variable: The variable.
        name: The name of the method.
    """

    def __init__(self, variable: Any, name: str) -> None:
        self._variable = variable
        self._method = getattr(type(variable), name)
        # Replaced as a whole, as other threads read it. It keeps no listener alive.
        self._listeners: tuple[weakref.ref[Assignments], ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._method(self._variable, *args, **kwargs)
        for listener in self._listeners:
            if (found := listener()) is not None:
                found.heard()
        return result

    def keep(self, listener: Assignments, *, listens: bool) -> bool:
        """Adds or removes a listener; tells if there is one left."""
        others = tuple(each for each in self._listeners if each() not in (None, listener))
        self._listeners = (*others, weakref.ref(listener)) if listens else others
        return bool(self._listeners)


def _setter() -> Setter:
    """Finds who assigns now: a Keras callback, or a line of the user's code."""
    frame: FrameType | None = sys._getframe(1)
    line = None
    while frame is not None:
        code = frame.f_code
        owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
        if isinstance(owner, _CALLBACK) and not isinstance(owner, _CALLBACKS):
            # This one multiplies the value that it finds, so an edit keeps its effect.
            follows = isinstance(owner, tf.keras.callbacks.ReduceLROnPlateau)
            return Setter(type(owner).__name__, callback=True, follows=follows)
        if line is None and is_of_the_user(code.co_filename):
            line = Setter(f"line {frame.f_lineno} of {code.co_name}()")
        frame = frame.f_back
    return line or Setter("the program")
