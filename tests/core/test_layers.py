"""The house: imports point to lower floors only, and each room keeps to its own matters."""

from __future__ import annotations

import ast
import graphlib
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(importlib.import_module("nbtrain").__file__ or "").parent

# From the ground up: packages, and rooms that stand by themselves. Each may import from the
# floors below its own. Rooms of one package, or single rooms of one floor, may import each
# other, yet never in a circle.
FLOORS = (
    "errors frames parting",
    "traced walk names",
    "threads states cadence claims log hyperparameters ranges roster endings",
    "at_hand switching",
    "curves",
    "events",
    "folder",
    "recording",
    "saving",
    "steering",
    "settings owner boundary host life run",
    "panel engines",
    "notebook",
    "nbtrain",
)
PURE = [
    "errors",
    "states",
    "cadence",
    "hyperparameters",
    "ranges",
    "settings",
    "notebook.askers",
    "notebook.cells",
]
PURE += ["at_hand"]
PURE += ["curves.buckets", "curves.parts", "curves.smoothing", "curves.store"]
PURE += ["recording.alarm", "recording.pace", "steering.commands", "steering.command_queue"]
# What runs beside a training or in it, and what trains.
TRAINING: tuple[str, ...] = ("boundary", "host", "life", "run", "threads", "owner", "settings")
TRAINING += ("folder", "recording", "saving", "steering", "engines")
# What starts threads, tells the time, or weighs more than numbers do.
NOT_PURE = {"tensorflow", "time", "asyncio", "ipywidgets", "anywidget", "IPython", "matplotlib"}
WIDGETS = {"ipywidgets", "anywidget", "IPython", "comm", "ipykernel", "matplotlib"}


def room_of(path: Path) -> str:
    """A file's room: its module below nbtrain."""
    parts = path.relative_to(HOUSE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


ROOMS = {room_of(path): path for path in HOUSE.rglob("*.py")}
PACKAGES = {room for room, path in ROOMS.items() if path.name == "__init__.py"}
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names.split()}


def imports(room: str) -> Iterator[str]:
    """Every module that a room's source names in an import, wherever it stands."""
    for node in ast.walk(ast.parse(ROOMS[room].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix("nbtrain.")
                yield f"nbtrain.{inner}" if inner in ROOMS else str(node.module)


def inside(room: str) -> set[str]:
    """The rooms that a room imports."""
    names = {name for name in imports(room) if name.split(".")[0] == "nbtrain"}
    return {name.removeprefix("nbtrain").removeprefix(".") for name in names}


def outside(room: str) -> set[str]:
    """The libraries that a room imports, by their first name."""
    return {name.split(".")[0] for name in imports(room)} - {"nbtrain"}


def package_of(room: str) -> str:
    """The package of a room, or the room itself that stands in none."""
    return room.split(".")[0] or "nbtrain"


def are_neighbours(room: str, other: str) -> bool:
    """Whether both are of one package, or single rooms of one floor."""
    ours, theirs = package_of(room), package_of(other)
    single = not {ours, theirs} & PACKAGES
    return ours == theirs or (single and FLOOR[ours] == FLOOR[theirs])


def test_every_room_has_its_floor() -> None:
    assert set(FLOOR) == {package_of(room) for room in ROOMS}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_imports_point_to_lower_floors(room: str) -> None:
    above = {
        other
        for other in inside(room)
        if FLOOR[package_of(other)] >= FLOOR[package_of(room)] and not are_neighbours(room, other)
    }
    assert not above, f"{room or 'nbtrain'} imports {above}"


def test_no_imports_go_in_a_circle() -> None:
    graphlib.TopologicalSorter({room: inside(room) for room in ROOMS}).prepare()


@pytest.mark.parametrize("package", sorted(PACKAGES - {""}))
def test_a_package_of_rooms_is_only_its_docstring(package: str) -> None:
    assert list(imports(package)) == []


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_knows_no_tensorflow_no_widget_and_no_clock(room: str) -> None:
    assert not outside(room) & NOT_PURE


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_starts_no_thread(room: str) -> None:
    source = ROOMS[room].read_text(encoding="utf-8")
    for word in ("threading.Thread", "threading.Timer", "LooperThread", "concurrent.futures"):
        assert word not in source


@pytest.mark.parametrize("room", sorted(room for room in ROOMS if room.startswith("panel.")))
def test_the_panel_knows_neither_tensorflow_nor_a_run(room: str) -> None:
    assert "tensorflow" not in outside(room)
    apart = {"run", "life", "boundary", "threads", "recording", "saving", "engines", "notebook"}
    assert not {package_of(other) for other in inside(room)} & apart


@pytest.mark.parametrize("room", sorted(room for room in ROOMS if package_of(room) in TRAINING))
def test_what_trains_knows_no_widget(room: str) -> None:
    assert not outside(room) & WIDGETS
    assert not any(other.startswith(("panel", "notebook")) for other in inside(room))


def test_only_the_notebook_knows_both_a_run_and_the_panel() -> None:
    both = {
        room
        for room in ROOMS
        if "run" in inside(room) and any(other.startswith("panel.p") for other in inside(room))
    }
    assert both == {"notebook.display"}


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("nbtrain", ["tensorflow", "ipywidgets", "anywidget", "numpy", "matplotlib"]),
        (",".join(f"nbtrain.{room}" for room in PURE), ["tensorflow", "ipywidgets"]),
        (
            "nbtrain.panel.panel,nbtrain.panel.figure,nbtrain.panel.cards_figure",
            ["tensorflow", "matplotlib.pyplot"],
        ),
        (
            "nbtrain.run,nbtrain.engines.graph.engine",
            ["ipywidgets", "anywidget", "nbtrain.notebook"],
        ),
    ],
)
def test_importing_loads_no_more_than_is_needed(modules: str, absent: list[str]) -> None:
    code = f"import sys, {modules}\nprint(*({absent!r} & sys.modules.keys()))"
    code = code.replace(repr(absent), repr(set(absent)))
    environment = {**os.environ, "PYTHONPATH": str(HOUSE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert done.stdout.split() == []
