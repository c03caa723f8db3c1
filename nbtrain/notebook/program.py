"""Finds the names that the source of a program binds, and those that it lacks.

lacking("import math; print(math.pi, train_step)")    # ["train_step"]
bound_in("import math; pi = math.pi")                 # {"math", "pi"}

A statement at the top needs what it reads to be bound before it. A function needs it once it is
called, so anywhere.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator
from typing import TypeAlias

# Names that every script has.
_ALWAYS = {*dir(builtins), "__file__", "__builtins__", "__annotations__"}

# A scope, and if its code runs later than the statement.
_Scope: TypeAlias = tuple[symtable.SymbolTable, bool]

# Python's names for scopes whose code runs at once.
_AT_ONCE = {"listcomp", "setcomp", "dictcomp", "genexpr"}


def lacking(source: str) -> list[str]:
    """Returns the names that a program reads and nothing in it binds, in the order of their use.

    Returns:
        The names; none if the program has an import with a star, which may bind anything.

    Raises:
        SyntaxError: It is not Python.
    """
    known, missing, later = set(_ALWAYS), dict[str, None](), dict[str, None]()
    for statement in _parsed(source).body:
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            return []
        table = _table(statement)
        own = _bound(table)
        before = known if _reads_first(statement) else known | own
        missing |= dict.fromkeys(name for name in _read(table) if name not in before)
        later |= dict.fromkeys(_read_later(table))
        known |= own
    return [*missing, *(name for name in later if name not in {*known, *missing})]


def bound_in(source: str) -> set[str]:
    """Returns the names that a program binds; none if it is not Python."""
    try:
        return _bound(_table(_parsed(source)))
    except (SyntaxError, ValueError):
        return set()


class _PlainReads(ast.NodeTransformer):
    """Replaces `name += 1` and `del name`, which bind nothing new, by reads of the name."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        return ast.Expr(ast.BinOp(ast.Name(node.target.id), node.op, node.value))

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        return ast.Expr(ast.Tuple(node.targets))


def _parsed(source: str) -> ast.Module:
    parsed: ast.Module = _PlainReads().visit(ast.parse(source))
    return parsed


def _table(part: ast.AST) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(part), "<program>", "exec")


def _reads_first(statement: ast.stmt) -> bool:
    """Tells if a statement reads all its names before it binds one."""
    plain = isinstance(statement, ast.Assign | ast.AnnAssign)
    return plain and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(statement))


def _scopes(table: symtable.SymbolTable, *, later: bool = False) -> Iterator[_Scope]:
    """Yields a scope and those in it, and if their code runs later."""
    yield table, later
    for child in table.get_children():
        at_once = str(child.get_type()) == "class" or child.get_name().strip("<>") in _AT_ONCE
        yield from _scopes(child, later=later or not at_once)


def _bound(table: symtable.SymbolTable) -> set[str]:
    """The names that are bound at the top; functions may bind them by `global`, or by `:=`."""
    return {
        symbol.get_name()
        for scope, _ in _scopes(table)
        for symbol in scope.get_symbols()
        if (symbol.is_assigned() or symbol.is_imported())
        and (scope is table or symbol.is_declared_global())
    }


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that are read at once."""
    for scope, later in _scopes(table):
        if not later:
            yield from _globals_of(scope, top=scope is table)


def _read_later(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that are read when a function is called."""
    for scope, later in _scopes(table):
        if later:
            yield from _globals_of(scope, top=False)


def _globals_of(scope: symtable.SymbolTable, *, top: bool) -> Iterator[str]:
    for symbol in scope.get_symbols():
        if symbol.is_referenced() and (top or symbol.is_global()):
            yield symbol.get_name()
