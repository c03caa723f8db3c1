"""The names by which a function reaches what it trains.

A function looks up the names of its notebook at every call. A cell that is run again
binds them to new objects: a training that went on would train those, and save the old.

names = Names([step])       # when a run starts
names.trained()             # optimizers and variables: claimed for this run alone
names.rebound()             # ("model", "optimizer") once a cell has bound them anew
names.elsewhere()           # the same of a `tf.function`: it trains what it was traced with
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping

import tensorflow as tf

from nbtrain.run.traced import Structure, structures_of
from nbtrain.run.walk import Binding, Walk, traces

_NO_NAMES: Mapping[str, object] = types.MappingProxyType({})


class Bindings:
    """What some functions reach by names, at this moment and later.

    Args:
        functions: What a run calls at every step.
        roots: What else a run trains.
        namespace: The names of the cell that starts it, which may stand for these.
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
        # Of each `tf.function` how often it was traced when no name of it had changed yet.
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
        """Optimizers that the functions reach now, and variables that these or they change."""
        return Walk(self._functions).trained

    def rebound(self) -> tuple[str, ...]:
        """The names that would make the functions train something else than at first; any thread.

        A function that a cell defines anew does no harm where it reaches the same
        variables; neither do numbers and data. A `tf.function` looks its names up when it is
        traced, as it is again for a batch of another shape.
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
        """Whether the program has looked a name up since it changed, or will at its next step."""
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
        """Look after a model that Keras has traced as well; training thread only.

        Args:
            structure: The model, as it was traced.
            again: Has the step traced again with what was changed, or says why it cannot be.
        """
        self._watched.append((structure, again))

    def unwatch(self, structure: Structure) -> None:
        """Look after it no more."""
        self._watched = [each for each in self._watched if each[0] is not structure]

    def without_effect(self) -> str:
        """What was changed of a model that the step was traced with, in words; or empty.

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
        """The names that stand for something else now, while the run trains what they stood for."""
        changed = {bound.name for bound in [*self._bindings, *self._in_cell] if bound.changed}
        return tuple(sorted(changed.difference(self.rebound()))) if changed else ()

    def anew(self) -> str:
        """All names of what it trains that stand for something else now, in words; or empty."""
        names = sorted({*self.rebound(), *self.elsewhere()})
        if not names:
            return ""
        stand = "stands" if len(names) == 1 else "stand"
        return f"In the notebook {' and '.join(names)} {stand} for something new"

    def unused_reason(self) -> str:
        """What `rebound` gives, in words; empty where that is nothing."""
        rebound = self.rebound()
        if not rebound:
            return ""
        are = "is" if len(rebound) == 1 else "are"
        return f"{' and '.join(rebound)} {are} no longer what the run started with"
