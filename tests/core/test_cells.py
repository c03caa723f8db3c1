"""A cell as a function of `run`: its own run, and otherwise the notebook's names."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.notebook.cells import loop_of


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


@pytest.mark.parametrize("source", ["", "# nothing", "x = 1", "run = 3", "def f(run):\n    run"])
def test_a_cell_that_does_not_use_its_run_raises(names: dict[str, Any], source: str) -> None:
    with pytest.raises(ArgumentError, match="The cell does not use `run`"):
        loop_of(source, "<cell>", names)


@pytest.mark.parametrize(
    ("line", "tracked"),
    [
        ("for batch in ds:", "for batch in run.track(ds):"),
        ("for a, b in zip(x, y):", "for a, b in run.track(zip(x, y)):"),
        ("for n, b in enumerate(ds.take(3)):", "for n, b in enumerate(run.track(ds.take(3))):"),
        ("for b in tqdm(ds, desc='a'):", "for b in tqdm(run.track(ds), desc='a'):"),
    ],
)
@pytest.mark.parametrize(
    "cell",
    [
        "{line}\n    run.record(loss=step())",
        "x = 1\nfor epoch in range(5):\n    {line}\n        for part in parts:\n            part()",
        "with strategy.scope():\n    if ready:\n        {line}\n            step()",
    ],
)
def test_a_for_loop_that_is_not_tracked_raises_with_the_line_to_write(
    names: dict[str, Any], cell: str, line: str, tracked: str
) -> None:
    source = cell.format(line=line)
    number = next(at for at, text in enumerate(source.splitlines(), 1) if line in text)
    with pytest.raises(ArgumentError) as raised:
        loop_of(source, "<cell>", names)
    assert f"Line {number}, `{line}`: write `{tracked}`." in str(raised.value)


def test_a_loop_over_several_lines_is_shown_on_one(names: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"such as `for x in run\.track\(f\(1, 2\)\):`"):
        loop_of("for x in f(\n    1,\n    2,\n):\n    pass", "<cell>", names)


@pytest.mark.parametrize(
    "source",
    [
        "for batch in run.track(ds): run.record(loss=1)",
        "for batch in nbtrain.track(ds): step(batch)",
        "for batch in ds:\n    if run.should_stop(): break",
        "for batch in ds:\n    train(run)",
        "for batch in ds:\n    if sv.should_stop(): break",
    ],
)
def test_a_for_loop_whose_steps_are_told_is_taken(names: dict[str, Any], source: str) -> None:
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


def tensorflows(name: str, module: str = "tensorflow.python.training") -> type:
    """Makes a class like TensorFlow's."""
    return type(name, (), {"__module__": module, "should_stop": lambda _self: True})


class Own:
    """An object of the user's, whose property must not be read."""

    @property
    def sv(self) -> Any:
        raise RuntimeError("not yet")


MONITORED = "with {} as sess:\n    while not sess.should_stop():\n        sess.run(1)\n"


@pytest.mark.parametrize(
    ("source", "asker", "remedy"),
    [
        (
            MONITORED.format("tf.train.MonitoredTrainingSession(checkpoint_dir='x')"),
            r"sess\.should_stop\(\), and that of a MonitoredTrainingSession",
            r"Give the session hooks=\[nbtrain\.tf1\.RunHook\(run\)\]",
        ),
        (
            "sess = SingularMonitoredSession()\nwhile not sess.should_stop(): sess.run(1)",
            r"sess\.should_stop\(\), and that of a SingularMonitoredSession",
            r"Give the session hooks=",
        ),
        (
            "coord = tf.train.Coordinator()\nwhile not coord.should_stop(): step()",
            r"coord\.should_stop\(\), and that of a Coordinator",
            r"Ask run\.should_stop\(\) in its place",
        ),
        ("while not mine.should_stop(): step()", r"mine\.should_stop\(\)", "hooks="),
        ("while not sv.coord.should_stop(): step()", r"sv\.coord\.should_stop", "in its place"),
        (
            "sv = Supervisor()\nwith sv.managed_session() as s:\n  while not sv.should_stop(): 1",
            r"and that of a Supervisor is no step boundary",
            r"Make it an nbtrain\.tf1\.Supervisor",
        ),
    ],
)
def test_a_loop_that_the_run_would_miss_raises_with_advice(
    names: dict[str, Any], source: str, asker: str, remedy: str
) -> None:
    names["mine"] = tensorflows("MonitoredSession")()
    names["Supervisor"] = tensorflows("Supervisor")
    with pytest.raises(ArgumentError, match=rf"The cell asks .*{asker}.*{remedy}"):
        loop_of(source, "<cell>", names)


@pytest.mark.parametrize(
    "source",
    [
        MONITORED.format("tf.train.MonitoredTrainingSession(hooks=[nbtrain.RunHook(run)])"),
        "sv = nbtrain.Supervisor()\nwhile not sv.should_stop(): step()",
        "sv = ours()\nwhile not sv.should_stop(): step()",
        "while not unknown.should_stop(): step()",
        "with sv.managed_session() as s:\n    while not coord.should_stop(): s.run(1)",
        "def loop(coord):\n    while not coord.should_stop(): step()\nloop(mine)",
        "(lambda coord: [step() for _ in iter(coord.should_stop, True)])(mine)",
        "coord, x = make()\nwhile not coord.should_stop(): step()",
        "for coord in [make()]:\n    while not coord.should_stop(): step()",
        "with make() as (coord, x):\n    while not coord.should_stop(): step()",
        "from mine import coord\nwhile not coord.should_stop(): step()",
        "def coord(): pass\nwhile not coord.should_stop(): step()",
        "match make():\n    case coord:\n        while not coord.should_stop(): step()",
        "coord = mine(coord)\nwhile not coord.should_stop(): step()",
        "class Coordinator: pass\nmine = Coordinator()\nwhile not mine.should_stop(): step()",
        "a = b\nb = a\nwhile not a.should_stop(): step()",
        "while not own.sv.should_stop(): step()",
    ],
)
def test_a_loop_that_is_a_boundary_or_unknown_is_accepted(
    names: dict[str, Any], source: str
) -> None:
    names["coord"] = tensorflows("Coordinator")()
    names["ours"] = tensorflows("Supervisor", "nbtrain.engines.graph.supervisor")
    names["own"] = Own()
    loop_of(source, "<cell>", names)
