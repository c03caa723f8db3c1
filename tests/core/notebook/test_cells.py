"""A cell as a function of `run`: its own run, and otherwise the notebook's names."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.notebook.cells import loop_of, uses_run


@pytest.fixture
def names() -> dict[str, Any]:
    """The names of a notebook in which `run` is something else."""
    return {"__name__": "__main__", "run": "the notebook's"}


def called(source: str, names: dict[str, Any], run: object = "mine") -> dict[str, Any]:
    """Returns the notebook's names after calling the cell with its run."""
    loop_of(source, "<cell>", names)(run)
    return names


@pytest.mark.parametrize(
    "source",
    [
        "seen = run",
        "seen = [run for _ in range(1)][0]",
        "def f():\n    return run\nseen = f()",
        "def f():\n    def g():\n        return run\n    return g\nseen = f()()",
        "seen = (lambda: run)()",
        "class C:\n    own = run\nseen = C.own",
        "class C:\n    def f(self):\n        return run\nseen = C().f()",
    ],
)
def test_run_means_the_cells_own_run_everywhere_in_the_cell(
    names: dict[str, Any], source: str
) -> None:
    assert called(source, names)["seen"] == "mine"
    assert names["run"] == "the notebook's"


def test_concurrent_cells_have_their_own_names(names: dict[str, Any]) -> None:
    cell = """
def seen():
    return run.name, x
x = run.name
run.other()
for i in (x,):
    run.other()
    run.seen = (*seen(), x, i)
"""

    class Named:
        def __init__(self, name: str, other: object = None) -> None:
            self.name, self._other = name, other
            self.seen: tuple[str, ...] = ()

        def other(self) -> None:
            if self._other is not None:
                called(cell, names, self._other)

    second = Named("second")
    first = Named("first", second)
    called(cell, names, first)
    assert first.seen == ("first",) * 4
    assert second.seen == ("second",) * 4


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("x = 3", 3),
        ("x: int = 3", 3),
        ("(x) = y = 3", 3),
        ("x = 1\nx += 2", 3),
        ("for x in range(4): pass", 3),
        ("x = 0\nwhile (x := x + 1) < 3: pass", 3),
        ("x = y = 3\ndel y", 3),
        ("try:\n    1 / 0\nexcept ZeroDivisionError as y:\n    x = 3", 3),
        ("def x(): return 3\nx = x()", 3),
        ("class x: y = 3\nx = x.y", 3),
        ("x = 0\ndef f():\n    global x\n    x += 3\nf()\nx", 3),
        ("[x := i for i in range(4)]", 3),
        ("if (x := 3): pass", 3),
        ("with open(__import__('os').devnull) as x: x = 3", 3),
        ("def f():\n    global x\n    x = 3\nf()", 3),
        ("match 3:\n    case x: pass", 3),
        ("from math import *\nx = floor(3.5)", 3),
        ("if True:\n    from math import *\nx = floor(3.5)", 3),
        ("import os.path as x\nx = 3", 3),
        ("x = sorted(name for name in globals() if name == 'x') or 3", 3),
    ],
)
def test_names_bound_by_a_cell_reach_the_notebook(
    names: dict[str, Any], source: str, value: object
) -> None:
    assert called("run\n" + source, names)["x"] == value


def test_the_notebook_sees_new_bindings_while_the_cell_runs(names: dict[str, Any]) -> None:
    seen = []
    called("x = 1\nrun()\nx = 2\nrun()\n", names, lambda: seen.append(names["x"]))
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("for x in range(3):\n    run()", [0, 1, 2]),
        ("while (x := x + 1) < 3:\n    run()", [1, 2]),
        ("with open(__import__('os').devnull) as x:\n    run()", ["file"]),
        ("def x(): pass\nrun()", ["function"]),
        ("x, *y = 1, 2\nrun()", [1]),
    ],
)
def test_a_binding_reaches_the_notebook_at_once(
    names: dict[str, Any], source: str, told: list[object]
) -> None:
    seen: list[object] = []

    def look() -> None:
        x = names["x"]
        kind = "file" if hasattr(x, "read") else "function"
        seen.append(x if isinstance(x, int) else kind)

    names["x"] = 0
    called(source, names, look)
    assert seen == told


def test_a_cell_starts_with_the_notebooks_values(names: dict[str, Any]) -> None:
    names["x"] = 1
    assert called("run\nx += 2", names)["x"] == 3


def test_a_running_cell_sees_new_names_of_the_notebook(names: dict[str, Any]) -> None:
    names["x"] = 1
    called("before = x\nrun()\nafter = x\n", names, lambda: names.update(x=2))
    assert (names["before"], names["after"]) == (1, 2)


def test_a_name_deleted_by_the_cell_is_gone(names: dict[str, Any]) -> None:
    assert "x" not in called("x = run\ndel x", names)


def test_an_annotation_alone_binds_nothing(names: dict[str, Any]) -> None:
    assert "x" not in called("run\nx: int", names)


def test_a_future_import_applies_to_the_cell(names: dict[str, Any]) -> None:
    source = "from __future__ import annotations\ndef f(x: Nowhere): return run"
    assert called(source, names)["f"].__annotations__ == {"x": "Nowhere"}


def test_future_imports_of_nbtrain_do_not_apply_to_the_cell(names: dict[str, Any]) -> None:
    assert called("def f(x: int): return run", names)["f"].__annotations__ == {"x": int}


def test_functions_and_classes_of_a_cell_can_be_pickled(
    names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    called("class C:\n    pass\ndef f():\n    return run\n", names)
    notebook = ModuleType("notebook")
    vars(notebook).update(names)
    monkeypatch.setitem(sys.modules, "notebook", notebook)
    for part in (names["C"], names["f"]):
        part.__module__ = "notebook"
        assert pickle.loads(pickle.dumps(part)) is part


@pytest.mark.parametrize("source", ["return run", "await run", "while run.x()\n    pass"])
def test_invalid_python_raises_a_syntax_error(names: dict[str, Any], source: str) -> None:
    with pytest.raises(SyntaxError):
        loop_of(source, "<cell>", names)
    assert set(names) == {"__name__", "run"}


@pytest.mark.parametrize(
    "source",
    [
        "",
        "# nothing",
        "x = 1",
        "run = 3",
        "def f(run):\n    run",
        "for batch in ds:\n    step(batch)",
        "for batch in ds:\n    run.record(loss=step(batch))",
        "while True:\n    run.record(loss=step())",
        "def log(loss): run.record(loss=loss)\nfor batch in ds: log(step(batch))",
    ],
)
def test_a_cell_without_a_step_boundary_raises_with_what_to_write(
    names: dict[str, Any], source: str
) -> None:
    with pytest.raises(ArgumentError) as raised:
        loop_of(source, "<cell>", names)
    assert str(raised.value) == (
        "The cell has no step boundary: the run could neither count its steps nor stop. Loop over "
        "the batches by `for batch in run.track(dataset):` or `while not run.should_stop():` (or "
        "`sv.should_stop()` of an nbtrain.tf1.Supervisor), or pass `run` to the function that "
        "does."
    )


@pytest.mark.parametrize(
    "source",
    [
        "for batch in run.track(ds): run.record(loss=1)",
        "for batch in nbtrain.track(ds): step(batch)",
        "for batch in ds:\n    if run.should_stop(): break",
        "for batch in ds:\n    train(run)",
        "for batch in ds:\n    if sv.should_stop(): break",
        "from nbtrain import track\nfor batch in track(ds): step(batch)",
        "with tf.train.MonitoredSession(hooks=[nbtrain.tf1.RunHook(run)]) as sess:\n    go(sess)",
        "train()\nrun.record(loss=1)",
    ],
)
def test_a_cell_with_a_step_boundary_is_taken(names: dict[str, Any], source: str) -> None:
    assert callable(loop_of(source, "<cell>", names))


def test_a_cell_may_loop_on_a_supervisor(names: dict[str, Any]) -> None:
    answers = iter([False, False, True])
    names["sv"] = SimpleNamespace(should_stop=lambda: next(answers))
    called("steps = 0\nwhile not sv.should_stop():\n    steps += 1\n", names)
    assert names["steps"] == 2


def test_an_error_names_the_line_of_the_cell(names: dict[str, Any]) -> None:
    loop = loop_of("\nrun\n\n1 / 0\n", "<cell>", names)
    with pytest.raises(ZeroDivisionError) as raised:
        loop(None)
    last = raised.traceback[-1]
    assert (last.frame.code.raw.co_filename, last.lineno + 1) == ("<cell>", 4)


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("while not run.should_stop(): step()", True),
        ("def loop():\n    run.record(loss=1)\nloop()", True),
        ("run = nbtrain.fit(model)\nrun.wait()", False),
        ("from mine import run\nrun()", False),
        ("def loop(run):\n    run.record(loss=1)", False),
        ("nbtrain.fit(model).wait()", False),
    ],
)
def test_a_program_that_looks_up_run_without_binding_it_is_a_loop(source: str, uses: bool) -> None:
    assert uses_run(source) is uses
