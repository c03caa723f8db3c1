"""Watches the names by which a function reaches the model that it trains.

A function looks up the names of its notebook at every call. A cell that is run again binds them
to new objects. The training would then train the new objects, but save the old ones.

bindings = Bindings([step])    # when a run starts
bindings.trained()             # optimizers and variables: claimed for this run alone
bindings.rebound()             # ("model", "optimizer") after a cell has bound them again
bindings.elsewhere()           # the same for a `tf.function`, which trains the old objects
"""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Iterable, Mapping

import tensorflow as tf

from nbtrain.run.program.traced import Structure, structures_of, traces
from nbtrain.run.program.walk import Binding, Walk

_REBOUND = (
    "a further step would train the new. Stop this run before you start another; to continue "
    "it, bind what it started with again and resume."
)

_WITHOUT_EFFECT = (
    "set that back and resume; or stop this run, define the step again (or compile the model), and "
    "start it: so it is traced with the change, and continues from the last checkpoint."
)

# Seconds between two checks of the model: with hundreds of layers, one takes a millisecond.
_POLL_SECS = 1.0

_NO_NAMES: Mapping[str, object] = types.MappingProxyType({})


class Bindings:
    """The objects that some functions reach by name, now and later.

    Args:
        functions: The functions that a run calls at every step.
        roots: Other objects that the run trains.
        namespace: The names of the cell that starts the run, which may refer to `roots`.
    """

    def __init__(
        self,
        functions: Iterable[object],
        roots: Iterable[object] = (),
        namespace: Mapping[str, object] = _NO_NAMES,
    ) -> None:
        self._functions = tuple(functions)
        self._first = Walk(self._functions)
        self._bindings = self._first.bindings
        # How often each `tf.function` had been traced when no name had changed yet.
        self._traces: dict[int, int] = {}
        self.rebound()
        self._watched: list[tuple[Structure, Callable[[Structure, str], str]]] = []
        self.without_effect()
        self._poll_at = 0.0
        of_roots = {id(root) for root in roots if root is not None}
        self._in_cell = [
            Binding(namespace, name, value)
            for name, value in list(namespace.items())
            if id(value) in of_roots and not name.startswith("_")
        ]

    def trained(self) -> list[object]:
        """The optimizers that the functions reach now, and the variables that either changes."""
        return Walk(self._functions).trained

    def rebound(self) -> tuple[str, ...]:
        """The names that make the functions train other objects than at first; any thread.

        A function that a cell defines again does no harm if it reaches the same variables.
        Numbers and data do no harm either. A `tf.function` looks up its names when it is traced,
        which happens again for a batch of another shape.
        """
        changed = [bound for bound in self._bindings if bound.changed]
        used = {bound.name for bound in changed if self._is_used(bound)}
        if used:
            now = Walk(self._functions)
            if now.state.keys() != self._first.state.keys():
                return tuple(sorted(used))
            self._bindings = now.bindings
        elif not changed:
            of_all = (bound.compiled for bound in self._bindings)
            self._traces.update({id(each): traces(each) for each in of_all if each is not None})
        return ()

    def _is_used(self, bound: Binding) -> bool:
        """Returns whether the program has looked up a changed name, or will in the next step."""
        if bound.compiled is None or tf.config.functions_run_eagerly():
            return True
        return traces(bound.compiled) > self._traces.get(id(bound.compiled), 0)

    def elsewhere(self) -> tuple[str, ...]:
        """The names that refer to new objects while the run still trains the old ones."""
        changed = {bound.name for bound in [*self._bindings, *self._in_cell] if bound.changed}
        return tuple(sorted(changed.difference(self.rebound()))) if changed else ()

    def new_names(self) -> str:
        """Describes all names of trained objects that refer to new ones now; empty if none does."""
        return _new(sorted({*self.rebound(), *self.elsewhere()}))

    def new_elsewhere(self, *, can_save: bool) -> str | None:
        """Describes the names that refer to new objects, which the run does not train; else None.

        Args:
            can_save: Whether a run that is started again continues from a checkpoint.
        """
        if not (names := self.elsewhere()):
            return None
        it = "it" if len(names) == 1 else "they"
        text = f"{_new(names)}: this run trains what {it} stood for when it started."
        if not can_save:
            return text
        return (
            f"{text} To have that by name, stop the run or wait for its end, and run the cell "
            "again: it continues from the last checkpoint."
        )

    def unused_reason(self) -> str:
        """Describes the result of `rebound`; empty if nothing was rebound."""
        names = self.rebound()
        are = "is" if len(names) == 1 else "are"
        return f"{' and '.join(names)} {are} no longer what the run started with" if names else ""

    def advice(self, *, due: bool = False) -> str:
        """Returns why a further step would train other objects, and what to do; else empty.

        Training thread only, between two steps.

        Args:
            due: Whether to check the model now; otherwise it is checked once a second.
        """
        if names := self.unused_reason():
            return f"{names}; {_REBOUND}"
        if not due and time.monotonic() < self._poll_at:
            return ""
        self._poll_at = time.monotonic() + _POLL_SECS
        change = self.without_effect()
        return f"{change}; {_WITHOUT_EFFECT}" if change else ""

    def watch(self, structure: Structure, again: Callable[[Structure, str], str]) -> None:
        """Watches the structure of a model that Keras has traced; training thread only.

        Args:
            structure: The model as it was traced.
            again: Makes the step be traced again after a change; returns why if that is not
                possible, otherwise "".
        """
        self._watched.append((structure, again))

    def unwatch(self, structure: Structure) -> None:
        """Stops watching a model."""
        self._watched = [each for each in self._watched if each[0] is not structure]

    def without_effect(self) -> str:
        """Describes a change of the model that a traced step ignores; empty if there is none."""
        for structure, again in self._watched:
            if (changed := structure.changed()) and (why := again(structure, changed)):
                return why
        for compiled, models in self._first.models.values():
            for structure in structures_of(compiled, models.values()):
                if (changed := structure.changed()) and not tf.config.functions_run_eagerly():
                    return f"{changed}, and the step continues as it was traced before"
        return ""


def _new(names: Iterable[str]) -> str:
    """Returns the text that names refer to new objects; empty without names."""
    names = list(names)
    stand = "stands" if len(names) == 1 else "stand"
    return f"In the notebook {' and '.join(names)} {stand} for something new" if names else ""
