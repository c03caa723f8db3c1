"""Finds the loop of a cell whose turns are the steps, if the cell does not tell its run so."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from nbtrain.core.for_loops import tracked_line


def untracked(tree: ast.Module, source: str) -> str | None:
    """Returns why a run would miss the steps of a `for` loop, and the line that makes them known.

    Args:
        tree: The cell, which asks nobody whether to stop, and uses `run` for records at most.
        source: Its text.

    Returns:
        The message; None if the cell has no `for` loop outside of functions.
    """
    loop = _steps_of(tree.body)
    if loop is None:
        return None
    line, tracked = tracked_line(loop, source, "run.track")
    given = f"write run.track(...) around what it loops over, such as `{_rewritten(loop)}`"
    if tracked is not None:
        given = f"write `{tracked}`"
    return (
        f"The cell does not tell its run what a step is, so that the run could neither count nor "
        f"stop. Line {loop.lineno}, `{line}`: {given}. Each turn is then a step, and a stop ends "
        "the loop. A run.track(...) in the loop around it, too, counts epochs."
    )


def records_at_most(tree: ast.AST, name: str) -> bool:
    """Tells if a name is only used to call `record` of it, or not at all."""
    records = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "record"
    }
    uses = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    return all(id(node) in records for node in uses)


def tracks_by_name(tree: ast.AST, names: Mapping[str, Any]) -> bool:
    """Tells if a cell uses `nbtrain.track`, which needs no `run`.

    Args:
        names: The notebook's names.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(name), "track"):
                module = names.get(name)
                if name == "nbtrain" or getattr(module, "__name__", None) == "nbtrain":
                    return True
            case ast.Name(name) if getattr(names.get(name), "__name__", None) == "track":
                if getattr(names[name], "__module__", "").startswith("nbtrain."):
                    return True
    return False


def _steps_of(body: list[ast.stmt]) -> ast.For | None:
    """Returns the first loop, or the first one within it: a third one is a part of a step."""
    outer = _first(body)
    return outer and (_first(outer.body) or outer)


def _first(body: list[ast.stmt]) -> ast.For | None:
    for statement in body:
        if isinstance(statement, ast.For):
            return statement
        if isinstance(statement, (ast.If, ast.With, ast.Try)):
            found = _first(statement.body)
            if found is not None:
                return found
    return None


def _rewritten(loop: ast.For) -> str:
    return f"for {ast.unparse(loop.target)} in run.track({ast.unparse(loop.iter)}):"
