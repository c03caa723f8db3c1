"""Finds loops of a cell whose stop condition is not a step boundary of the run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, cast

ASKS = frozenset({"should_stop", "ShouldStop"})

# Methods that open a session which is itself a step boundary, whatever its loop asks.
_OPENS = frozenset({"managed_session", "prepare_or_wait_for_session", "PrepareSession"})

_SESSIONS = ("MonitoredTrainingSession", "MonitoredSession", "SingularMonitoredSession")
_REMEDIES = {
    **dict.fromkeys(_SESSIONS, "Give the session hooks=[nbtrain.tf1.RunHook(run)]."),
    "Coordinator": "Ask run.should_stop() in its place.",
    "Supervisor": "Make it an nbtrain.tf1.Supervisor.",
}


def unheard(tree: ast.Module, names: Mapping[str, Any]) -> str | None:
    """Returns why a run would miss the steps of a cell's loop, and what to write instead.

    Args:
        tree: The cell, which does not use `run`. None of it is executed.
        names: The notebook's names.

    Returns:
        The message; None if the run sees the steps, or it is unknown.
    """
    bound = _bound(tree)
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    kinds = {
        ast.unparse(node): _kind(node.value, bound, names)
        for node in asked
        if node.attr in ASKS | _OPENS
    }
    if not kinds or not all(kinds.values()):
        return None
    asker, kind = next(iter(kinds.items()))
    return (
        f"The cell asks {asker}(), and that of a {kind} is no step boundary: the run would neither "
        f"count its steps nor stop when it is asked to. {_REMEDIES[str(kind)]}"
    )


def _kind(
    node: ast.expr, bound: Mapping[str, ast.AST | None], names: Mapping[str, Any]
) -> str | None:
    """Returns the name of the TensorFlow class of an expression's value; None if unknown."""
    match node:
        case ast.Attribute(attr="coord"):
            return "Coordinator"
        case ast.Name(name) if name not in bound:
            return _class_of(type(names.get(name)))
        case ast.Name(name):
            node = cast("ast.expr", bound[name])
    match node:
        case ast.Call(ast.Name(name)):
            made = names.get(name)
            if name not in bound and issubclass(type(made), type):  # isinstance() may run code
                return _class_of(cast("type", made))
            if name in bound and not isinstance(bound[name], ast.alias):
                return None
        case ast.Call(ast.Attribute(attr=name)):
            pass
        case _:
            return None
    return name if name in _REMEDIES and name != "Supervisor" else None


def _class_of(kind: type) -> str | None:
    """Returns TensorFlow's name for a class whose loop a run does not see."""
    for each in kind.__mro__:
        if each.__name__ == "Supervisor" and each.__module__.partition(".")[0] == "nbtrain":
            return None
        if each.__name__ in _REMEDIES and each.__module__.startswith(("tensorflow", "nbtrain")):
            return each.__name__
    return None


def _bound(tree: ast.Module) -> dict[str, ast.AST | None]:
    """The names that a cell binds: to an expression, by an import, or in another way (None)."""
    values: dict[ast.expr, ast.expr] = {}
    found: dict[str, ast.AST | None] = {}
    for node in ast.walk(tree):  # statements come before their targets
        bound: ast.AST | None = None
        match node:
            case ast.Assign(targets, value):
                values |= dict.fromkeys(targets, value)
                continue
            case ast.withitem(value, ast.expr() as target):
                values[target] = value
                continue
            case ast.Name(name, ast.Store() | ast.Del()):
                bound = values.get(node)
            case ast.alias():
                name, bound = node.asname or node.name.partition(".")[0], node
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                pass
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.arg(name):
                pass
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                pass
            case _:
                continue
        found[name] = None if name in found else bound
    return found
