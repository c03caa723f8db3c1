"""The run of a `%%nbtrain` cell: its options, its loop, and the name `run` of the notebook."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbtrain.engines.loops import background
from nbtrain.notebook.cells import loop_of
from nbtrain.notebook.options import EXPRESSIONS

if TYPE_CHECKING:
    from nbtrain.run.run import Run


def start(shell: Any, options: dict[str, Any], cell: str) -> Run:
    """Starts a run whose loop is the cell; `run` of the notebook refers to it."""
    __tracebackhide__ = True
    if "cells" in options:
        raise UsageError("--with needs --detach: a cell of this kernel can use all its names.")
    names = shell.user_ns
    values = {name: _value(names, name, options[name]) for name in EXPRESSIONS if name in options}
    return _started(background(_loop(shell, cell), start=False, **{**options, **values}), names)


def _started(run: Run, names: dict[str, Any]) -> Run:
    """Starts a run, and binds the name `run` of the notebook to it."""
    __tracebackhide__ = True
    before = {"run": names["run"]} if "run" in names else {}
    names["run"] = run  # before the start: functions of other cells may look it up
    try:
        return run.start()
    except BaseException:
        del names["run"]
        names.update(before)
        raise


def _loop(shell: Any, cell: str) -> Callable[[Run], object]:
    """Compiles the cell into a function, with the line numbers that the user sees."""
    blank = cell[: len(cell) - len(cell.lstrip())].count("\n")  # IPython removes them
    source = "\n" * (1 + blank) + shell.transform_cell(cell)
    # IPython's own cache of cells: a traceback shows the cell's lines.
    number = len(shell.history_manager.input_hist_parsed) - 1  # the number in In[number]
    filename = shell.compile.cache(source, number)
    try:
        return loop_of(source, filename, shell.user_ns, shell.compile)
    except SyntaxError as error:
        raise UsageError(_explained(error)) from error


def _value(names: dict[str, Any], option: str, expression: str) -> Any:
    """Evaluates an option's expression with the notebook's names."""
    __tracebackhide__ = True
    try:
        return eval(expression, names)  # noqa: S307 - the user's own cell
    except Exception as error:
        below = error.__traceback__ and error.__traceback__.tb_next
        if below and below.tb_next:
            raise  # raised in a function that the expression calls: a traceback shows where
        raise UsageError(
            f"--{option} {expression}: {type(error).__name__}: {error}. Give "
            f"{EXPRESSIONS[option]}, or an expression with such a value."
        ) from error


def _explained(error: SyntaxError) -> str:
    """Returns a message with the line of a syntax error in a cell."""
    _, *shown = traceback.format_exception_only(SyntaxError, error)
    advice = "; the cell runs as a loop, in a separate thread" if "outside" in error.msg else ""
    return f"line {error.lineno} of the cell: {error.msg}{advice}\n{''.join(shown[:-1])}".rstrip()
