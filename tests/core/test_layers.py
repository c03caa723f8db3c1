"""The packages: imports point only to lower layers, and each package stays independent."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(importlib.import_module("nbtrain").__file__ or "").parent

# From the bottom up: each package imports only from those before it. `nbtrain` and the packages in
# PUBLIC have the public names.
LAYERS = [
    "core",
    "inner",
    "tfevents",
    "rundir",
    "cluster",
    "logdir",
    "media",
    "recording",
    "checkpoints",
    "steer",
    "run",
    "remote",
    "engines",
    "keras",
    "tf1",
    "panel",
    "notebook",
    "terminal",
    "__main__",
    "worker",
    "nbtrain",
]
# The rooms of `run`, in the same order, and the module with the parts that an attempt shares.
ROOMS_OF_RUN = [
    "process",
    "thread",
    "beside",
    "program",
    "outside",
    "tuning",
    "context",
    "saving",
    "trials",
    "why",
    "boundary",
    "output",
]
# The packages whose file has public names.
PUBLIC = {"", "cluster", "media", "tf1"}
# Inner modules of libraries, and the modules that alone may name what is private there.
INNER = re.compile(r"(tensorflow\.(python|core|compiler)|keras\.src)\b")
INSIDERS = {"inner.tensorflow", "inner.keras", "panel.comm"}
# Objects with private names of Python's own, and of the class at hand.
PYTHON = {"sys", "threading", "argparse", "self", "cls"}
# Modules that keep time, start threads, or are heavier than NumPy.
NOT_PURE = {"tensorflow", "time", "asyncio", "ipywidgets", "anywidget", "IPython", "matplotlib"}
WIDGETS = {"ipywidgets", "anywidget", "IPython", "comm", "ipykernel", "matplotlib"}


def name_of(path: Path) -> str:
    """The module of a file, below `nbtrain`; "" for `nbtrain/__init__.py`."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py")}
PACKAGES = {module for module, path in MODULES.items() if path.name == "__init__.py"}


def in_layers(*layers: str) -> list[str]:
    """The modules of some layers."""
    return sorted(module for module in MODULES if layer_of(module) in layers)


def layer_of(module: str) -> str:
    """The name of a module's layer."""
    return module.split(".")[0] or "nbtrain"


@functools.cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def _names_of(tree: ast.Module) -> Iterator[str]:
    """Yields the names that a module binds: functions, classes, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.attr] if ast.unparse(node.value) in ("self", "cls") else []


OWN_NAMES = {name for module in MODULES.keys() - INSIDERS for name in _names_of(tree_of(module))}


# Private names of other objects in the modules that may use them, whoever binds the same name.
FOREIGN_NAMES = {
    node.attr
    for module in INSIDERS
    for node in ast.walk(tree_of(module))
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in PYTHON
}


@functools.cache
def imports(module: str) -> frozenset[str]:
    """The modules that a source file imports: at its top, in functions, or by name."""
    return frozenset(_imports(module))


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix("nbtrain.")
                yield f"nbtrain.{inner}" if inner in MODULES else str(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


def inside(module: str) -> set[str]:
    """The modules of this package that a module imports."""
    names = {name for name in imports(module) if name.split(".")[0] == "nbtrain"}
    return {name.removeprefix("nbtrain").removeprefix(".") for name in names}


def room_of(module: str, package: str) -> str:
    """The part of a package to which a module belongs: a room, or a module beside the rooms."""
    return module.removeprefix(f"{package}.").split(".")[0]


def outside(module: str) -> set[str]:
    """The first names of the libraries that a module imports."""
    return {name.split(".")[0] for name in imports(module)} - {"nbtrain"}


def test_the_layers_list_every_package() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_to_lower_layers(layer: str) -> None:
    higher = {*LAYERS[LAYERS.index(layer) + 1 :]}
    for module in in_layers(layer):
        above = {other for other in inside(module) if layer_of(other) in higher}
        assert not above, f"{module or 'nbtrain'} imports {above}"


def test_no_imports_form_a_cycle() -> None:
    graphlib.TopologicalSorter({module: inside(module) for module in MODULES}).prepare()


@pytest.mark.parametrize("package", sorted(PACKAGES - {""}))
def test_no_imports_between_the_rooms_of_a_package_form_a_cycle(package: str) -> None:
    rooms: dict[str, set[str]] = {}
    for module in MODULES:
        if module.startswith(f"{package}."):
            room = room_of(module, package)
            others = {name for name in inside(module) if name.startswith(f"{package}.")}
            rooms.setdefault(room, set()).update({room_of(name, package) for name in others})
    graphlib.TopologicalSorter({room: to - {room} for room, to in rooms.items()}).prepare()


@pytest.mark.parametrize("room", ROOMS_OF_RUN)
def test_imports_between_the_rooms_of_a_run_point_downwards(room: str) -> None:
    higher = {*ROOMS_OF_RUN[ROOMS_OF_RUN.index(room) + 1 :]}
    for module in (name for name in in_layers("run") if room_of(name, "run") == room):
        above = {other for other in inside(module) if room_of(other, "run") in higher}
        assert not above, f"{module} imports {above}"


@pytest.mark.parametrize("package", sorted(PACKAGES - PUBLIC))
def test_a_package_file_has_only_a_docstring(package: str) -> None:
    assert not imports(package)


def test_the_core_imports_no_tensorflow_widget_or_clock() -> None:
    for module in in_layers("core"):
        assert not outside(module) & NOT_PURE, module
        source = MODULES[module].read_text(encoding="utf-8")
        for word in ("threading.Thread(", "threading.Timer", "LooperThread(", "concurrent.futures"):
            assert word not in source, module


def private_names(module: str) -> set[str]:
    """The private names of other packages in a module; its classes may name what they inherit."""
    found = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in PYTHON:
            found.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            found |= {str(each.value) for each in node.args[1:2] if isinstance(each, ast.Constant)}
    own = OWN_NAMES - FOREIGN_NAMES | {"_asdict"}  # of a named tuple
    return {name for name in found if re.match("_(?!nbtrain)[a-z]", name)} - own


@pytest.mark.parametrize("layer", LAYERS)
def test_others_insides_are_named_in_one_place(layer: str) -> None:
    for module in {*in_layers(layer)} - INSIDERS:
        inner = {name for name in imports(module) if INNER.match(name)} | private_names(module)
        assert not inner, f"{module} names {inner}"


def test_the_panel_imports_neither_tensorflow_nor_a_run() -> None:
    for module in in_layers("panel"):
        assert "tensorflow" not in outside(module), module
        layers = {layer_of(other) for other in inside(module)}
        assert not layers & {"inner", "run", "checkpoints", "engines", "keras", "tf1"}, module
        assert "recording.recorder" not in inside(module), module


@pytest.mark.parametrize("layer", LAYERS[: LAYERS.index("panel")])
def test_engines_import_no_widget(layer: str) -> None:
    for module in in_layers(layer):
        drawing = {"matplotlib"} if module == "media.drawing" else set()
        assert not outside(module) & (WIDGETS - drawing), module


def test_one_module_shows_a_run_in_a_panel() -> None:
    both = {module for module in MODULES if {"run.run", "panel.live.panel"} <= inside(module)}
    assert both == {"notebook.display"}


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("nbtrain", {"tensorflow", "ipywidgets", "anywidget", "numpy", "matplotlib"}),
        (
            ",".join(f"nbtrain.{module}" for module in in_layers("core")),
            {"tensorflow", "ipywidgets"},
        ),
        (
            ",".join(
                f"nbtrain.{module}" for module in in_layers("steer", "remote", "cluster", "worker")
            ),
            {"tensorflow", "keras", "ipywidgets", "IPython", "matplotlib", "nbtrain.run"},
        ),
        (
            "nbtrain.panel.live.panel,nbtrain.panel.figure,nbtrain.panel.board.picture",
            {"tensorflow", "matplotlib.pyplot"},
        ),
        ("nbtrain.logdir.scalars", {"tensorflow", "filelock", "google.protobuf"}),
        (
            "nbtrain.terminal.main",
            {"tensorflow", "keras", "ipywidgets", "IPython", "matplotlib"},
        ),
        # `import nbtrain` in IPython.
        ("nbtrain.notebook.surroundings", {"nbtrain.core.states", "nbtrain.panel", "ipywidgets"}),
    ],
)
def test_importing_loads_only_what_is_needed(modules: str, absent: set[str]) -> None:
    code = f"import sys, {modules}\nprint(*({absent!r} & sys.modules.keys()))"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert done.stdout.split() == []


def test_no_test_module_imports_another() -> None:
    for path in Path(__file__).parents[1].rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not re.match(r"tests\..*\btest_", found), f"{path} imports {found}"
