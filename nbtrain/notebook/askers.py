"""Whom the loop of a cell asks whether to stop: not everybody's answer is a step boundary."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

ASKS = frozenset({"should_stop", "ShouldStop"})

# What opens a session that is a boundary itself, whoever its loop asks.
_OPENS = frozenset({"managed_session", "prepare_or_wait_for_session", "PrepareSession"})

_SESSIONS = ("MonitoredTrainingSession", "MonitoredSession", "SingularMonitoredSession")
_REMEDIES = {
    **dict.fromkeys(_SESSIONS, "Give the session hooks=[nbtrain.RunHook(run)]."),
    "Coordinator": "Ask run.should_stop() in its place.",
    "Supervisor": "Make it an nbtrain.Supervisor.",
}


def unheard(tree: ast.Module, names: Mapping[str, Any]) -> str | None:
    """Why a run would not hear of the steps of a cell's loop, and what to write; else None.

    Args:
        tree: The cell, which does not use `run`.
        names: The notebook's names.
    """
    cell = _Cell(tree, names)
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    kinds = {
        ast.unparse(node): cell.kind(node.value) for node in asked if node.attr in ASKS | _OPENS
    }
    if not kinds or not all(kinds.values()):
        return None
    asker, kind = next(iter(kinds.items()))
    return (
        f"The cell asks {asker}(), and that of a {kind} is no step boundary: the run would neither "
        f"count its steps nor stop when it is asked to. {_REMEDIES[str(kind)]}"
    )


class _Cell:
    """What the expressions of a cell stand for, as far as can be told before it runs."""

    def __init__(self, tree: ast.Module, names: Mapping[str, Any]) -> None:
        self._names = names
        self._bound: dict[str, list[ast.expr]] = defaultdict(list)
        for target, value in _bindings(tree):
            if isinstance(target, ast.Name) and value is not None:
                self._bound[target.id].append(value)

    def kind(self, node: ast.expr) -> str | None:
        """The class of TensorFlow's that an expression gives; None for any other, or unknown."""
        match node:
            case ast.Name(name) if name in self._bound:
                values = self._bound[name]
                kinds = {self.kind(each) for each in values if not _names(each, name)}
                return kinds.pop() if len(kinds) == 1 else None
            case ast.Call(func):
                return self._made_by(func)
            case ast.Attribute(attr="coord"):
                return "Coordinator"
            case ast.Name() | ast.Attribute():
                return _class_of(type(self._object(node)))
        return None

    def _made_by(self, function: ast.expr) -> str | None:
        """The same of a call."""
        made = self._object(function)
        if isinstance(made, type):
            return _class_of(made)
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        return name if name in _REMEDIES and name != "Supervisor" else None

    def _object(self, node: ast.expr) -> object:
        """What a name or an attribute of one stands for in the notebook; None where unknown."""
        match node:
            case ast.Name(name) if name not in self._bound:
                return self._names.get(name)
            case ast.Attribute(value, attr):
                return getattr(self._object(value), attr, None)
        return None


def _class_of(kind: type) -> str | None:
    """By what name TensorFlow knows a class whose loop a run does not hear."""
    if any(each.__name__ == "Supervisor" and _is_ours(each) for each in kind.__mro__):
        return None
    for each in kind.__mro__:
        if each.__name__ in _REMEDIES and each.__module__.startswith(("tensorflow", "nbtrain")):
            return each.__name__
    return None


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "nbtrain"


def _names(node: ast.expr, name: str) -> bool:
    """Whether an expression uses a name, as one that binds it anew may."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _bindings(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The targets that a cell binds, and to what."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets, value):
                yield from ((target, value) for target in targets)
            case ast.AnnAssign(target, _, value) | ast.NamedExpr(target, value):
                yield target, value
            case ast.withitem(value, ast.expr() as target):
                yield target, value
