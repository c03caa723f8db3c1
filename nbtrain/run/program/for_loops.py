"""Finds the `for` loops of a program's source, and writes their lines with `track`."""

from __future__ import annotations

import ast
import threading
from collections.abc import Collection
from types import CodeType, FunctionType
from typing import TypeGuard

# Functions that draw from their first argument, and from nothing else.
_WRAPPERS = frozenset({"enumerate", "tqdm"})

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

# The parts of an expression, besides names, that have the same value each time.
_FIXED = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.expr_context)


# Python before 3.13 counts the depth of a tree for all threads together, so that two threads that
# parse at the same time may fail with a SystemError.
_parsing = threading.Lock()


def parsed(source: str) -> ast.Module | None:
    """Returns the tree of a program; None if it cannot be parsed."""
    try:
        with _parsing:
            return ast.parse(source)
    except (SyntaxError, ValueError, SystemError):
        return None


def around(tree: ast.AST, line: int) -> list[ast.For]:
    """Returns the loops that have a line in their bodies, in the same function; innermost first.

    A lambda counts as part of the function around it: it may be an argument of a call in the line.
    """
    found: list[ast.For] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for part in ast.iter_child_nodes(node):
            if not _spans(part, line):
                continue
            if isinstance(part, _SCOPES):
                found = []
            elif isinstance(part, ast.For) and has_in_body(part, line):
                found.insert(0, part)
            waiting.append(part)
    return found


def has_in_body(loop: ast.For, line: int) -> bool:
    """Returns whether a line is in the body of a loop; a line of its head is not."""
    return line > _last_of_head(loop) and any(_spans(each, line) for each in loop.body)


def are_fixed(loop: ast.For, line: int, arguments: Collection[str]) -> bool:
    """Returns whether a call in the body of a loop has the same arguments in every turn.

    Args:
        loop: The loop.
        line: A line of the call.
        arguments: The names of the arguments. An argument that the call omits counts as the same.

    Returns:
        False if the call has none of them, or if it is not known, as for `next(names)`.
    """
    inside = [*ast.walk(loop)]
    bound = {each.id for each in inside if _is_name(each, ast.Store)}
    calls = [each for each in inside if isinstance(each, ast.Call) and _spans(each, line)]
    given = [part.value for call in calls for part in call.keywords if part.arg in arguments]
    parts = [part for value in given for part in ast.walk(value)]
    return bool(given) and all(
        isinstance(part, _FIXED) or (_is_name(part, ast.Load) and part.id not in bound)
        for part in parts
    )


def begun_at(tree: ast.AST, line: int) -> ast.For | None:
    """Returns a loop that has a line in its head; None if there is none."""
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.For))
    return next((loop for loop in loops if loop.lineno <= line <= _last_of_head(loop)), None)


def as_function(loop: ast.For, filename: str, names: dict[str, object]) -> FunctionType | None:
    """Returns a function of a loop, which is only examined and never called.

    Args:
        filename: The file of the program.
        names: What the names around the loop refer to.

    Returns:
        None if the loop is only possible in the function around it.
    """
    for head in ("def loop(): pass", "async def loop(): pass"):
        tree = parsed(head)
        assert tree is not None
        (definition,) = tree.body
        assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
        definition.body = [loop]
        try:
            code = compile(tree, filename, "exec")
        except SyntaxError:
            continue
        (own,) = (const for const in code.co_consts if isinstance(const, CodeType))
        return FunctionType(own, names)
    return None


def tracked_line(loop: ast.For, source: str, call: str) -> tuple[str, str | None]:
    """Returns the line of a loop, and the same line with the call that tracks it.

    Args:
        source: The text of the program.
        call: For example `run.track`.

    Returns:
        The second is None if the line cannot be changed alone.
    """
    line = source.splitlines()[loop.lineno - 1].strip()
    found = ast.get_source_segment(source, _innermost(loop.iter))
    if found and line.count(found) == 1 and loop.iter.end_lineno == loop.lineno:
        return line, line.replace(found, f"{call}({found})")
    return line, None


def _is_name(node: ast.AST, context: type[ast.expr_context]) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def _last_of_head(loop: ast.For) -> int:
    return loop.iter.end_lineno or loop.lineno


def _spans(node: ast.AST, line: int) -> bool:
    """Returns whether a node has this line, or has no lines, so that its parts decide."""
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is None or last is None or first <= line <= last


def _innermost(node: ast.expr) -> ast.expr:
    """Returns the data of a loop over `enumerate(data)`: their position can be saved exactly."""
    while isinstance(node, ast.Call) and node.args:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in _WRAPPERS:
            break
        node = node.args[0]
    return node
