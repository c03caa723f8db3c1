"""Turns a cell into a function of `run`: the loop of a run.

Two such cells can train at the same time in one notebook. So the names that a cell binds are local,
as in a function, and each new value is copied to the notebook.

    %%nbtrain                           def loop(run):
    def report(loss):                       def report(loss): run.record(loss=loss)
        run.record(loss=loss)               names["report"] = report
    while not run.should_stop():            while not run.should_stop():
        loss = train_step()                     loss = train_step()
        report(loss)                            names["loss"] = loss
                                                report(loss)

Another cell that runs at the same time may have its own `loss`, `report` and `run`. Names that a
cell does not bind, such as `train_step` here, are looked up in the notebook when they are used.
"""

from __future__ import annotations

import ast
import codeop
import symtable
from collections.abc import Callable, Iterable
from typing import Any

from nbtrain.core.errors import ArgumentError

_RUN = "run"

# A cell that names one of these is trusted to have a step boundary.
_BOUNDARIES = frozenset({"track", "should_stop", "ShouldStop"})

# Python's name for the code of a cell: tracebacks then show its lines as those of a cell.
_CODE = "<module>"

# Parameters of the function: the notebook's names, and `_binding(names)`.
_NAMES, _BIND = "__nbtrain_names__", "__nbtrain_bind__"


def loop_of(
    source: str, filename: str, names: dict[str, Any], compiler: Callable[..., Any] | None = None
) -> Callable[[Any], None]:
    """Returns a function that runs a cell as the loop of the run passed to it.

    Args:
        compiler: A function like `compile` that knows the notebook's `__future__` imports; None for
            a notebook without such imports.

    Raises:
        SyntaxError: The cell is not valid Python, or has a `return` or `await` outside a function.
        ArgumentError: The cell has no step boundary.
    """
    compiled: Callable[..., Any] = compiler or codeop.Compile()
    compiled(source, filename, "exec")  # checked as a cell before it becomes a function body
    table = symtable.symtable(source, filename, "exec")
    tree = ast.parse(source, filename)
    _check_use(table, tree)
    future = [node for node in tree.body if _is_future(node)]
    tree.body = [node for node in tree.body if not _is_future(node)]
    bound = {symbol.get_name() for symbol in table.get_symbols() if _is_bound(symbol)}
    shared = _shared(tree)
    own = bound - shared - {_RUN}
    (function,) = ast.parse(f"def loop({_RUN}, {_NAMES}, {_BIND}): pass").body
    assert isinstance(function, ast.FunctionDef)
    function.name = _CODE
    first = [f"global {name}" for name in sorted(bound & shared)]
    first += [f"if {name!r} in {_NAMES}: {name} = {_NAMES}[{name!r}]" for name in sorted(own)]
    function.body = ast.parse("\n".join([*first, "pass"])).body
    function.body += _Body(own).visit(tree).body
    tree.body = [*future, function]
    made: dict[str, Any] = {}
    exec(compiled(ast.fix_missing_locations(tree), filename, "exec"), names, made)  # noqa: S102
    loop: Any = made[_CODE]
    loop.__name__ = loop.__qualname__ = "loop"
    loop.__defaults__ = (names, _binding(names))
    return loop  # type: ignore[no-any-return]


def uses_run(source: str) -> bool:
    """Returns whether a program uses `run` but does not bind it, as the loop of a run does.

    Raises:
        SyntaxError: The program is not Python.
    """
    table = symtable.symtable(source, "<program>", "exec")
    is_bound = _RUN in table.get_identifiers() and _is_bound(table.lookup(_RUN))
    return not is_bound and any(_uses_run(part) for part in _parts(table))


class _Body(ast.NodeTransformer):
    """Rewrites the statements of a cell as a function body that copies bindings to the notebook."""

    def __init__(self, own: set[str]) -> None:
        self._own = own

    def visit_Assign(self, node: ast.Assign | ast.AugAssign) -> list[ast.stmt]:
        """Handles `x = 3` and `x += 3`."""
        self.generic_visit(node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [node, *self._copied_names(_stored(targets), node)]

    visit_AugAssign = visit_Assign  # noqa: N815 - the names of a NodeTransformer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        """Handles `x: int = 3`: drops the annotation, which is an error for a `global` name."""
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        """Handles `(x := 3)`."""
        self.generic_visit(node)
        if node.target.id in self._own:
            name, bind = ast.Constant(node.target.id), ast.Name(_BIND, ast.Load())
            node.value = ast.copy_location(ast.Call(bind, [name, node.value], []), node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Handles `for x in data:`."""
        self.generic_visit(node)
        node.body[:0] = self._copied_names(_stored([node.target]), node)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        """Handles `with open(path) as x:`."""
        self.generic_visit(node)
        targets = [item.optional_vars for item in node.items if item.optional_vars]
        node.body[:0] = self._copied_names(_stored(targets), node)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """Handles `import os.path`."""
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        return [node, *self._copied_names(names, node)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """Handles `from math import pi`; `import *`, illegal in functions, runs in the notebook."""
        if node.names[0].name == "*":
            return _parsed(f"exec({ast.unparse(node)!r}, {_NAMES})", node)
        return [
            node,
            *self._copied_names([alias.asname or alias.name for alias in node.names], node),
        ]

    def visit_FunctionDef(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> list[ast.stmt]:
        """Handles `def f(): ...`: picklable as if defined in a cell, with an unchanged body."""
        renamed = f"{node.name}.__qualname__ = {node.name!r}"
        rename = [] if node.decorator_list else _parsed(renamed, node)
        return [node, *rename, *self._copied_names([node.name], node)]

    visit_ClassDef = visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - as above

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Does not change a lambda, because its bindings are local."""
        return node

    def _copied_names(self, names: Iterable[str], node: ast.stmt) -> list[ast.stmt]:
        copies = [f"{_NAMES}[{name!r}] = {name}" for name in names if name in self._own]
        return _parsed("\n".join(copies), node)


def _binding(names: dict[str, Any]) -> Callable[[str, Any], Any]:
    """Returns a function that binds a name of the notebook to a value, and returns the value."""

    def bind(name: str, value: Any) -> Any:
        names[name] = value
        return value

    return bind


def _parsed(source: str, place: ast.stmt) -> list[ast.stmt]:
    """Parses statements and gives them the position of `place` for tracebacks."""
    statements = ast.parse(source).body
    for statement in statements:
        for part in ast.walk(statement):
            ast.copy_location(part, place)
    return statements


def _stored(targets: Iterable[ast.AST]) -> list[str]:
    parts = (part for target in targets for part in ast.walk(target))
    return [p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)]


def _shared(tree: ast.AST) -> set[str]:
    """Returns the names of a cell that remain names of the notebook and do not become local.

    These are names declared `global` in one of the cell's functions and, for simplicity, names
    bound or unbound by a `del`, an `except` or a `case`.
    """
    shared: set[str | None] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Global(names):
                shared.update(names)
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                shared.add(name)
            case ast.MatchMapping(rest=name) | ast.Name(id=name, ctx=ast.Del()):
                shared.add(name)
    return {name for name in shared if name is not None}


def _check_use(table: symtable.SymbolTable, tree: ast.Module) -> None:
    """Checks that the cell can be a loop: it has a step boundary, or passes its run to one."""
    names = (getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(tree))
    has_boundary = not _BOUNDARIES.isdisjoint(names)
    if has_boundary or (
        any(_uses_run(part) for part in _parts(table))
        and not (_only_records(tree) and _loops(tree))
    ):
        return
    raise ArgumentError(
        "The cell has no step boundary: the run could neither count its steps nor stop. Loop over "
        "the batches by `for batch in run.track(dataset):` or `while not run.should_stop():` (or "
        "`sv.should_stop()` of an nbtrain.tf1.Supervisor), or pass `run` to the function that "
        "does."
    )


def _parts(table: symtable.SymbolTable) -> list[symtable.SymbolTable]:
    return [table, *(part for child in table.get_children() for part in _parts(child))]


def _uses_run(table: symtable.SymbolTable) -> bool:
    if _RUN not in table.get_identifiers():
        return False
    symbol = table.lookup(_RUN)
    return symbol.is_global() and symbol.is_referenced()


def _only_records(tree: ast.AST) -> bool:
    """Returns whether `run` is only used to call its `record`."""
    nodes = list(ast.walk(tree))
    uses = sum(isinstance(node, ast.Name) and node.id == _RUN for node in nodes)
    records = sum(
        isinstance(node, ast.Attribute) and ast.unparse(node) == f"{_RUN}.record" for node in nodes
    )
    return uses == records


def _loops(tree: ast.AST) -> bool:
    return any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(tree))


def _is_bound(symbol: symtable.Symbol) -> bool:
    """Returns whether the cell binds the name; `:=` in a comprehension declares it global."""
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_declared_global()


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
