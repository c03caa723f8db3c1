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
from collections.abc import Iterator
from types import FrameType
from typing import Any

import tensorflow as tf

from nbtrain.frames import is_of_the_user
from nbtrain.hyperparameters import Setter, Tell

_METHODS = ("assign", "assign_add", "assign_sub")

# Operations by which a graph only looks at a variable. Any other may change it.
_READING = frozenset({"ReadVariableOp", "VariableShape", "VarIsInitializedOp"})


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
        self._hooks = {name: self._hook(name) for name in _METHODS if hasattr(type(own), name)}
        self._set_hooks()  # at once: a step is traced before the run begins

    def begin(self, tell: Tell) -> None:
        """Have `tell` called from now on."""
        self._tell = tell
        self._set_hooks()

    def end(self) -> None:
        """Leave the variable as it was."""
        self._tell = None
        for name, hook in self._hooks.items():
            if vars(self._variable).get(name) is hook:
                delattr(self._variable, name)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Tell nothing of what is assigned inside; one thread."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def now(self) -> Any:
        """Its value, as a tensor that nobody has waited for."""
        variable = self._variable
        try:  # a sixth of what `read_value` takes
            return tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
        except (AttributeError, ValueError):  # of a strategy: each replica has a handle
            return variable.read_value()

    def tell_again(self) -> None:
        """Tell its value, in the place of that which was told last."""
        if self._tell is not None:
            self._tell(self.now(), _setter)

    def look_into(self, graph: Any) -> None:
        """See whether a function that was traced before assigns to it.

        Args:
            graph: The function's, a `FuncGraph`.
        """
        try:
            handle = self._variable.handle
        except (AttributeError, ValueError):
            return
        for outer, inner in graph.captures:
            if outer is handle and any(op.type not in _READING for op in inner.consumers()):
                self.traced = True

    def _set_hooks(self) -> None:
        for name, hook in self._hooks.items():
            setattr(self._variable, name, hook)

    def _hook(self, name: str) -> Any:
        variable, method = self._variable, getattr(type(self._variable), name)

        def assigning(*args: Any, **kwargs: Any) -> Any:
            result = method(variable, *args, **kwargs)
            if not tf.executing_eagerly():
                self.traced = True
            elif self._tell is not None and not self._quiet:
                self._tell(self.now(), _setter)
            return result

        return assigning


def _setter() -> Setter:
    """Who assigns at this moment: a Keras callback, or a line of the user's own."""
    frame: FrameType | None = sys._getframe(1)
    line = None
    while frame is not None:
        code = frame.f_code
        owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
        if isinstance(owner, tf.keras.callbacks.Callback):
            # This one multiplies what it finds: an edit stays in effect under it.
            follows = isinstance(owner, tf.keras.callbacks.ReduceLROnPlateau)
            return Setter(type(owner).__name__, callback=True, follows=follows)
        if line is None and is_of_the_user(code.co_filename):
            line = Setter(f"line {frame.f_lineno} of {code.co_name}()")
        frame = frame.f_back
    return line or Setter("the program")
