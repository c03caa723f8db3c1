"""Finds loops of a cell whose stop condition is not a step boundary of the run."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, cast

ASKS = frozenset({"should_stop", "ShouldStop"})

# Methods that open a session which is itself a step boundary, whatever its loop asks.
_OPENS = frozenset({"managed_session", "prepare_or_wait_for_session", "PrepareSession"})

_SESSIONS = ("MonitoredTrainingSession", "MonitoredSession", "SingularMonitoredSession")
_REMEDIES = {
    **dict.fromkeys(_SESSIONS, "Give the session hooks=[nbtrain.RunHook(run)]."),
    "Coordinator": "Ask run.should_stop() in its place.",
    "Supervisor": "Make it an nbtrain.Supervisor.",
}


def unheard(tree: ast.Module, names: Mapping[str, Any]) -> str | None:
    """Returns why a run would miss the steps of a cell's loop, and what to write instead.

    Args:
        tree: The cell, which does not use `run`.
        names: The notebook's names.

    Returns:
        The message; None if the run sees the steps.
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
    """Infers what the expressions of a cell refer to, without running it."""

    def __init__(self, tree: ast.Module, names: Mapping[str, Any]) -> None:
        self._names = names
        self._bound: dict[str, list[ast.expr | None]] = defaultdict(list)  # None: value unknown
        for name, value in _bindings(tree):
            self._bound[name].append(value)
        self._imported = set(_imported(tree))

    def kind(self, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> str | None:
        """Returns the name of the TensorFlow class of an expression's value; None if unknown.

        Args:
            node: The expression.
            seen: Names already followed, so that `a = b; b = a` ends.
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
        """Returns the same for the value of a call to `function`."""
        made = self._object(function)
        if issubclass(type(made), type):  # isinstance() may run the user's code
            return _class_of(cast("type", made))
        if isinstance(function, ast.Name) and function.id in self._bound.keys() - self._imported:
            return None
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        return name if name in _REMEDIES and name != "Supervisor" else None

    def _object(self, node: ast.expr) -> object:
        """Returns the notebook's object for a name or an attribute; None if unknown.

        Runs none of the user's code, such as a property.
        """
        match node:
            case ast.Name(name) if name not in self._bound:
                return self._names.get(name)
            case ast.Attribute(value, attr):
                return inspect.getattr_static(self._object(value), attr, None)
        return None


def _class_of(kind: type) -> str | None:
    """Returns TensorFlow's name for a class whose loop a run does not see."""
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
    """Yields the names that a cell binds with their values; None for parameters, elements etc."""
    values: dict[ast.expr, ast.expr | None] = {}
    for node in ast.walk(tree):  # statements come before their targets
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
