"""The names that a program binds and lacks."""

from __future__ import annotations

import pytest

from nbtrain.notebook.program import bound_in, lacking


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("import math\nprint(math.pi, step)", ["step"]),
        ("print(x)\nx = 1", ["x"]),
        ("x = x + 1", ["x"]),
        ("def f(): return x\nx = 1\nf()", []),
        ("def f(a, *b, c=1, **d): return a, b, c, d, e", ["e"]),
        ("def f(x: Kind) -> None: pass", ["Kind"]),
        ("[y for y in data if y > low]", ["data", "low"]),
        ("class A(B):\n    c = d\n    def f(self): return g, c", ["B", "d", "g", "c"]),
        ("for i in range(3):\n    total = i\nprint(total, __file__, __name__)", []),
        ("with open('x') as file: pass\nfile", []),
        ("try:\n    x\nexcept NameError:\n    x = 0", []),
        ("def f():\n    global x\n    x = 1\nf()\nprint(x)", []),
        ("from nowhere import *\nprint(anything)", []),
        ("print(y := 3)\ny", []),
        ("while True:\n    count += 1\n    del cache, rows[0]", ["count", "cache", "rows"]),
        ("def f():\n    n = 0\n    n += 1\n    m.x += 1", ["m"]),
    ],
)
def test_a_program_lacks_what_nothing_in_it_binds(source: str, missing: list[str]) -> None:
    assert sorted(lacking(source)) == sorted(missing)


def test_a_program_binds_names_at_its_top() -> None:
    source = "import os.path as p, re\ndef f(a): b = 1\nx, (y, *z) = 1, (2,)\nclass C: d = 1"
    assert bound_in(source) == {"p", "re", "f", "x", "y", "z", "C"}
    assert bound_in("x += 1\ny.z = 2") == set()
    assert bound_in("this is no program") == set()
