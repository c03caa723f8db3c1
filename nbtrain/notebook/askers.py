"""Whom the loop of a cell asks whether to stop: not everybody's answer is a step boundary."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, cast

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
        self._bound: dict[str, list[ast.expr | None]] = defaultdict(list)  # None: to who knows what
        for name, value in _bindings(tree):
            self._bound[name].append(value)
        self._imported = set(_imported(tree))

    def kind(self, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> str | None:
        """The class of TensorFlow's that an expression gives; None for any other, or unknown.

        Args:
            node: The expression.
            seen: Names that it is the value of: `a = b; b = a` tells nothing.
        """
        match node:
            case ast.Name(name) if name in seen:
                return None
            case ast.Name(name) if name in self._bound:
                kinds = {self.kind(value, seen | {name}) for value in self._bound[name]}
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
        if issubclass(type(made), type):  # isinstance() may ask the object, which is the user's
            return _class_of(cast("type", made))
        if isinstance(function, ast.Name) and function.id in self._bound.keys() - self._imported:
            return None
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        return name if name in _REMEDIES and name != "Supervisor" else None

    def _object(self, node: ast.expr) -> object:
        """What a name or an attribute of one stands for in the notebook; None where unknown.

        No code of the user's runs for it, such as that of a property.
        """
        match node:
            case ast.Name(name) if name not in self._bound:
                return self._names.get(name)
            case ast.Attribute(value, attr):
                return inspect.getattr_static(self._object(value), attr, None)
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


def _imported(tree: ast.Module) -> Iterator[str]:
    aliases = (node for node in ast.walk(tree) if isinstance(node, ast.alias))
    return (alias.asname or alias.name.partition(".")[0] for alias in aliases)


def _bindings(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a cell binds, and to what: None for a parameter, an element and so on."""
    values: dict[ast.expr, ast.expr | None] = {}
    for node in ast.walk(tree):  # a statement before its targets
        match node:
            case ast.Assign(targets, value):
                values |= dict.fromkeys(targets, value)
            case ast.AnnAssign(target, _, value) | ast.NamedExpr(target, value):
                values[target] = value
            case ast.withitem(value, ast.expr() as target):
                values[target] = value
            case ast.Name(name, ast.Store() | ast.Del()):
                yield name, values.get(node)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name, None
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.arg(name):
                yield name, None
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, None
    yield from ((name, None) for name in _imported(tree))
