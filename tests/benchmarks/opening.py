"""Measures how soon a fresh kernel shows a widget: a bare one, a board, an attached run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.doors import training_elsewhere
from tests.benchmarks.kernel import Kernel, kernel
from tests.benchmarks.reading import ONE, write
from tests.benchmarks.watching import ask, index_of

RUNS, SCALARS = 5, 1_000

BARE = """\
import anywidget
from IPython.display import display

class Bare(anywidget.AnyWidget):
    _esm = "export default { render() {} }"

display(Bare())"""
LOAD = "%load_ext nbtrain\n"


def bare(repeats: int, before: str = "") -> list[float]:
    """Seconds until a page has an anywidget that holds nothing, after some other code."""
    return _each(repeats, f"{before}\n{BARE}", lambda _fresh: None)


def board(repeats: int) -> list[float]:
    """Seconds until a page has the first curves of a board of a few runs."""
    with tempfile.TemporaryDirectory() as logdir:
        for number in range(RUNS):
            write(Path(logdir) / f"run{number}", SCALARS, ONE, modern=True)
        code = f"{LOAD}%nbtrain scalars {logdir}"
        return _each(repeats, code, lambda fresh: ask(fresh, index_of(fresh)["tags"][0]))


def attached(repeats: int) -> list[float]:
    """Seconds until a page has the curves of a run that trains in another process."""
    with tempfile.TemporaryDirectory() as folder, training_elsewhere(folder):
        return _each(repeats, f"{LOAD}%nbtrain open {folder}", _ask_panel)


def _ask_panel(fresh: Kernel) -> None:
    fresh.send({"t": "hello"})
    fresh.wait_for("snap")


def _each(repeats: int, code: str, look: Callable[[Kernel], None]) -> list[float]:
    found = []
    for _ in range(repeats):
        with kernel() as fresh:
            began = time.perf_counter()
            fresh.start(code)
            look(fresh)
            found.append(time.perf_counter() - began)
    return found
