"""What the program assigns to a variable while it trains, seen as it is assigned.

assignments = Assignments(variable)
assignments.begin(tell)            # tell(value, find_setter) at each assignment from now on
with assignments.quiet():          # what nbtrain assigns itself
    variable.assign(0.1)
assignments.traced                 # a graph assigns as well, which tells nothing: ask `now()`
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

_LISTENING = threading.Lock()  # who listens is changed by runs of several cells

# Keras's list of callbacks is one itself, and sets nothing.
_CALLBACK, _CALLBACKS = tf.keras.callbacks.Callback, tf.keras.callbacks.CallbackList


class Assignments:
    """Sees the assignments to one variable of eager TensorFlow, or of Keras.

    Its methods are replaced, on this one object: so a step that assigns nothing pays nothing. A
    `tf.function` calls them only while it is traced; `look_into` sees one that was traced before.

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
        """Have `tell` called from now on."""
        self._tell = tell
        self._listen()

    def end(self) -> None:
        """Leave the variable as it was, unless another run listens to it."""
        self._tell = None
        with _LISTENING:
            for name in _METHODS:
                hook = vars(self._variable).get(name)
                if isinstance(hook, _Hook) and not hook.keep(self, listens=False):
                    delattr(self._variable, name)

    def heard(self) -> None:
        """The program has assigned to it."""
        if not tf.executing_eagerly():
            self.traced = True
        elif self._tell is not None and not self._quiet:
            self._tell(self.now(), _setter)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Tell nothing of what is assigned inside; one thread."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        """Tell of all that the program assigns inside once, at the end, with the value of then."""
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
        """Its value, as a tensor that nobody has waited for."""
        variable = self._variable
        try:  # a sixth of what `read_value` takes
            return tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
        except (AttributeError, ValueError):  # of a strategy: each replica has a handle
            return variable.read_value()

    def look_into(self, assigned: Set[int]) -> None:
        """See whether a function that was traced before assigns to it.

        Args:
            assigned: The handles that it assigns to, by identity.
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
    """Stands for a method of one variable, and lets all know who listen to that.

    Args:
        variable: The variable.
        name: Of the method.
    """

    def __init__(self, variable: Any, name: str) -> None:
        self._variable = variable
        self._method = getattr(type(variable), name)
        # Replaced as a whole, for other threads; and none is kept alive by it.
        self._listeners: tuple[weakref.ref[Assignments], ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._method(self._variable, *args, **kwargs)
        for listener in self._listeners:
            if (found := listener()) is not None:
                found.heard()
        return result

    def keep(self, listener: Assignments, *, listens: bool) -> bool:
        """Let it listen, or no more; returns whether anybody does."""
        others = tuple(each for each in self._listeners if each() not in (None, listener))
        self._listeners = (*others, weakref.ref(listener)) if listens else others
        return bool(self._listeners)


def _setter() -> Setter:
    """Who assigns at this moment: a Keras callback, or a line of the user's own."""
    frame: FrameType | None = sys._getframe(1)
    line = None
    while frame is not None:
        code = frame.f_code
        owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
        if isinstance(owner, _CALLBACK) and not isinstance(owner, _CALLBACKS):
            # This one multiplies what it finds: an edit stays in effect under it.
            follows = isinstance(owner, tf.keras.callbacks.ReduceLROnPlateau)
            return Setter(type(owner).__name__, callback=True, follows=follows)
        if line is None and is_of_the_user(code.co_filename):
            line = Setter(f"line {frame.f_lineno} of {code.co_name}()")
        frame = frame.f_back
    return line or Setter("the program")
