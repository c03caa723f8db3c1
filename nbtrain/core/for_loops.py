"""The `for` loops of a program's source, and how their lines are written to be tracked."""

from __future__ import annotations

import ast
import threading

# Functions that draw from their first argument, and from nothing else.
_WRAPPERS = frozenset({"enumerate", "tqdm"})

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


# Python before 3.13 counts the depth of a tree for all threads together, so that two that parse at
# the same time may fail with a SystemError.
_parsing = threading.Lock()


def parsed(source: str) -> ast.Module | None:
    """Returns the tree of a program; None if it cannot be parsed."""
    try:
        with _parsing:
            return ast.parse(source)
    except (SyntaxError, ValueError, SystemError):
        return None


def around(tree: ast.AST, line: int) -> ast.For | None:
    """Returns the innermost loop that has a line in its body, in the same function; or None."""
    found, waiting = None, [tree]
    while waiting:
        node = waiting.pop()
        for part in ast.iter_child_nodes(node):
            if not _spans(part, line):
                continue
            if isinstance(part, _SCOPES):
                found = None
            elif isinstance(part, ast.For) and _has_in_body(part, line):
                found = part
            waiting.append(part)
    return found


def tracked_line(loop: ast.For, source: str, call: str) -> tuple[str, str | None]:
    """Returns the line of a loop, and the same with the call that tracks it.

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


def _has_in_body(loop: ast.For, line: int) -> bool:
    """Tells if a line is in the body of a loop; its first line may be both, and is not."""
    head = loop.iter.end_lineno or loop.lineno
    return line > head and any(_spans(each, line) for each in loop.body)


def _spans(node: ast.AST, line: int) -> bool:
    """Tells if a node has this line; one without lines has those of its parts."""
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
