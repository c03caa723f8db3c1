"""Runs a cell as a program in a separate process: `%%nbtrain --detach`.

The program is `script.py` in the run's folder: the sources of the cells that `--with` names, then
the cell. If the cell is the loop of a run, it is saved as `cell.py`, and the program loads it.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from nbtrain.notebook.cells import loop_of, uses_run
from nbtrain.notebook.options import EXPRESSIONS
from nbtrain.remote.attached import AttachedRun
from nbtrain.remote.launch import Program, started
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.launched import CELL, SCRIPT
from nbtrain.steer.options import Settings

_WAIT = """
# Waits for the runs that are still training.
import nbtrain

for run in nbtrain.runs().values():
    if not run.status.phase.ended:
        run.wait()
"""

_LOOP = """
# The cell is the loop of a run.
import pathlib

import nbtrain
import nbtrain.notebook.cells

cell = pathlib.Path(__file__).with_name({cell!r})
loop = nbtrain.notebook.cells.loop_of(cell.read_text("utf-8"), str(cell), globals())
nbtrain.background(loop, {options}).wait()
"""


def detached(shell: Any, options: dict[str, Any], cell: str) -> AttachedRun:
    """Starts a cell as a program in a separate process, and attaches its run.

    Raises:
        UsageError: The program cannot run; nothing was started.
        ArgumentError: The folder cannot be written, or an option cannot be used.
        BusyError: A run that has not ended uses the folder.
    """
    numbers = _numbers(options.pop("cells", ""), shell)
    history = shell.history_manager.input_hist_raw
    parts = [_python(history[number], f"cell {number}") for number in numbers]
    parts = [f"# In [{number}]\n{part}" for number, part in zip(numbers, parts, strict=True)]
    cell = _python(cell, "the cell")
    before = "\n\n".join(parts)
    is_loop = uses_run(f"{before}\n{cell}")
    logdir, name = options.pop("logdir", None), options.pop("name", None)
    given = arguments_of(options)
    if is_loop:
        files = {SCRIPT: before + "\n" + _LOOP.format(cell=CELL, options=given), CELL: cell}
        _check_loop(cell)
    elif given:
        raise UsageError(
            f"{given}: only the loop of a run has these options, and the cell does not use `run`. "
            "Give them to nbtrain.train, fit or background in the cell."
        )
    else:
        files = {SCRIPT: "\n\n".join([*parts, f"# The cell\n{cell}"]) + "\n" + _WAIT}
    _compiled(files[SCRIPT], "the program")
    folder = Logdir(logdir, name, kind="loop" if is_loop else "cell", launches=True)
    # As in the notebook, modules of the working folder can be imported.
    path = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH"))))
    return started(Program(Path(SCRIPT), env={"PYTHONPATH": path}, files=files), folder)


def _numbers(text: str, shell: Any) -> list[int]:
    """Returns the numbers of cells in a text such as "1-3,5".

    Raises:
        UsageError: The text is not a list of numbers, or there is no such cell.
    """
    last = shell.execution_count - 1
    numbers: list[int] = []
    for part in filter(None, text.replace(" ", "").split(",")):
        if not (found := re.fullmatch(r"(\d+)(?:-(\d+))?", part)):
            raise UsageError(f"--with {text}: give the numbers of cells, such as 1-3,5.")
        first, end = int(found[1]), int(found[2] or found[1])
        if not 1 <= first <= end <= last:
            done = f"cells 1 to {last}" if last else "no cells"
            raise UsageError(f"--with {text}: there is no cell {part}; {done} were executed.")
        numbers += range(first, end + 1)
    return list(dict.fromkeys(numbers))


def _python(source: str, where: str) -> str:
    """Checks that a source is Python, and returns it without blank lines around it.

    Raises:
        UsageError: The source is not Python, perhaps because it contains IPython's syntax.
    """
    _compiled(source, where)
    return source.strip("\n") + "\n"


def _compiled(source: str, where: str) -> None:
    try:
        compile(source, where, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()
        advice = ""
        if re.match(r"(\w+\s*=\s*)?[%!]|\?|.*\?$", line):
            advice = " Magics, `!` and `?` work only in IPython, not in a program: remove the line."
        raise UsageError(
            f"Line {error.lineno} of {where} is not Python: {line}\n{error.msg}.{advice}"
        ) from error


def _check_loop(cell: str) -> None:
    """Checks that a cell can be the loop of a run.

    Raises:
        UsageError: The cell is not valid Python, or has a `return` or `await` outside a function.
        ArgumentError: The cell has no step boundary.
    """
    try:
        loop_of(cell, CELL, {})
    except SyntaxError as error:
        raise UsageError(f"Line {error.lineno} of the cell: {error.msg}") from error


def arguments_of(options: dict[str, Any]) -> str:
    """Returns the options of the loop as arguments of a call.

    Raises:
        ArgumentError: An option cannot be used.
    """
    Settings(**{name: value for name, value in options.items() if name not in EXPRESSIONS})
    return ", ".join(
        f"{name}={value if name in EXPRESSIONS else _literal(value)}"
        for name, value in options.items()
    )


def _literal(value: Any) -> str:
    """Returns a value as Python source."""
    is_number = not isinstance(value, float) or math.isfinite(value)
    return repr(value) if is_number else f'float("{value}")'
