"""The names by which a function reaches the model that it trains.

A function looks up the names of its notebook at every call. A cell that is run again binds them
to new objects. The training would then train the new objects, but save the old ones.

bindings = Bindings([step])    # when a run starts
bindings.trained()             # optimizers and variables: claimed for this run alone
bindings.rebound()             # ("model", "optimizer") after a cell has bound them again
bindings.elsewhere()           # the same for a `tf.function`, which trains the old objects
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping

import tensorflow as tf

from nbtrain.run.traced import Structure, structures_of
from nbtrain.run.walk import Binding, Walk, traces

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
        # How often each `tf.function` had been traced before any of its names changed.
        self._traces: dict[int, int] = {}
        self._look_at_traces()
        self._watched: list[tuple[Structure, Callable[[Structure, str], str]]] = []
        for compiled, models in self._first.models.values():
            structures_of(compiled, models)
        of_roots = {id(root) for root in roots if root is not None}
        self._in_cell = [
            Binding(namespace, name, value)
            for name, value in list(namespace.items())
            if id(value) in of_roots and not name.startswith("_")
        ]

    def trained(self) -> list[object]:
        """Optimizers that the functions reach now, and variables that either of them changes."""
        return Walk(self._functions).trained

    def rebound(self) -> tuple[str, ...]:
        """The names that make the functions train other objects than at first; any thread.

        A function that a cell defines again does no harm if it reaches the same variables.
        Numbers and data do no harm either. A `tf.function` looks up its names when it is traced,
        which happens again for a batch of another shape.
        """
        changed = {bound.name for bound in self._bindings if bound.changed and self._is_used(bound)}
        if not changed:
            self._look_at_traces()
            return ()
        now = Walk(self._functions)
        if now.state.keys() == self._first.state.keys():
            self._bindings = now.bindings
            return ()
        return tuple(sorted(changed))

    def _is_used(self, bound: Binding) -> bool:
        """Tells if the program has looked up a name since it changed, or will at the next step."""
        if bound.compiled is None or tf.config.functions_run_eagerly():
            return True
        return traces(bound.compiled) > self._traces.get(id(bound.compiled), 0)

    def _look_at_traces(self) -> None:
        compiled = [bound for bound in self._bindings if bound.compiled is not None]
        changed = {id(bound.compiled) for bound in compiled if bound.changed}
        for bound in compiled:
            if id(bound.compiled) not in changed:
                self._traces[id(bound.compiled)] = traces(bound.compiled)

    def watch(self, structure: Structure, again: Callable[[Structure, str], str]) -> None:
        """Watches the structure of a model that Keras has traced; training thread only.

        Args:
            structure: The model as it was traced.
            again: Has the step traced again after a change; returns a reason if it cannot be.
        """
        self._watched.append((structure, again))

    def unwatch(self, structure: Structure) -> None:
        """Stops watching a model."""
        self._watched = [each for each in self._watched if each[0] is not structure]

    def without_effect(self) -> str:
        """Describes a change of the model that a traced step ignores; empty if there is none.

        Training thread only, between two steps.
        """
        for structure, again in self._watched:
            if (changed := structure.changed()) and (why := again(structure, changed)):
                return why
        for compiled, models in self._first.models.values():
            if tf.config.functions_run_eagerly():
                return ""
            for structure in structures_of(compiled, models):
                if changed := structure.changed():
                    return f"{changed}, and the step goes on as it was traced before"
        return ""

    def elsewhere(self) -> tuple[str, ...]:
        """The names that refer to new objects while the run still trains the old ones."""
        changed = {bound.name for bound in [*self._bindings, *self._in_cell] if bound.changed}
        return tuple(sorted(changed.difference(self.rebound()))) if changed else ()

    def anew(self) -> str:
        """Describes all names of trained objects that refer to new ones now; empty if none do."""
        names = sorted({*self.rebound(), *self.elsewhere()})
        if not names:
            return ""
        stand = "stands" if len(names) == 1 else "stand"
        return f"In the notebook {' and '.join(names)} {stand} for something new"

    def unused_reason(self) -> str:
        """Describes the result of `rebound`; empty if nothing was rebound."""
        rebound = self.rebound()
        if not rebound:
            return ""
        are = "is" if len(rebound) == 1 else "are"
        return f"{' and '.join(rebound)} {are} no longer what the run started with"
