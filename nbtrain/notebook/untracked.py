"""Finds the loop of a cell whose turns are the steps, if the cell does not tell its run so."""

from __future__ import annotations

import ast

# Functions that draw from their first argument, and from nothing else.
_WRAPPERS = frozenset({"enumerate", "tqdm"})


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
    line = source.splitlines()[loop.lineno - 1].strip()
    iterable = _innermost(loop.iter)
    found = ast.get_source_segment(source, iterable)
    given = f"write run.track(...) around what it loops over, such as `{_rewritten(loop)}`"
    if found and line.count(found) == 1 and loop.iter.end_lineno == loop.lineno:
        given = f"write `{line.replace(found, f'run.track({found})')}`"
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


def _innermost(node: ast.expr) -> ast.expr:
    """Returns the data of a loop over `enumerate(data)`: their position can be saved exactly."""
    while isinstance(node, ast.Call) and node.args:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in _WRAPPERS:
            break
        node = node.args[0]
    return node


def _rewritten(loop: ast.For) -> str:
    return f"for {ast.unparse(loop.target)} in run.track({ast.unparse(loop.iter)}):"
