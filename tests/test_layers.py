"""The house: imports point to lower floors only, and each room keeps to its own matters."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(importlib.import_module("nbtrain").__file__ or "").parent

# From the ground up. A room may import from the floors below its own.
FLOORS = (
    "errors options records events.layout events.tensors",
    "hyperparameters engines.schedules spending frames",
    "states commands cadence buckets pace claims lock tags threads events.crc log",
    "alarm parts",
    "usage steering command_queue",
    "store cells logdir settings names checkpoints smoothing engines.graph.turns panel.validations",
    "engines.graph.servers",
    "events.writer events.framing engines.hyperparameters ring listing",
    "engines.graph.fitting engines.graph.below engines.graph.event_file",
    "engines.graph.finalized engines.graph.global_step",
    "events.decode events.series engines.iterators",
    "engines.graph.queues events.tail events.index events.pictures",
    "journal panel.comm panel.view owner engines.graph.services events.folders",
    "events.event_run events.values events.extent events.text_table",
    "engines.object_saver engines.graph.waiting engines.calls engines.trace events.reader",
    "events.history",
    "engines.keras.number engines.keras.input engines.keras.memory",
    "engines.keras.arrays engines.keras.guard engines.keras.loss engines.keras.thread",
    "engines.keras.validation engines.keras.numbers",
    "engines.graph.in_graph events.selection events.custom_scalars engines.keras.data",
    "engines.graph.savers engines.place_saver events.scalars",
    "engines.keras.batches engines.keras.stream",
    "engines.keras.arguments engines.keras.place engines.graph.saver",
    "engines.graph.session_saver engines.graph.supervisor events.sessions events.summaries",
    "panel.marks",
    "earlier",
    "recorder panel.source panel.wire panel.figure panel.curves panel.contents",
    "engines.graph.attempts",
    "panel.histograms panel.samples panel.layouts events.hparams events.comparison",
    "folder_watch panel.panel panel.tables",
    "listeners way",
    "watch panel.answers panel.board_figure panel.cards_figure",
    "branches course keeper tuner evaluator panel.board engines.graph.arguments",
    "trial boards",
    "helm",
    "rescue",
    "boundary",
    "host",
    "life",
    "run engines.passes",
    "engines.keras.callback engines.keras.steered engines.loops",
    "kernel engines.steps engines.graph.engine engines.graph.run_hook",
    "engines.graph.eval_hook",
    "engines.keras.engine",
    "engines.keras.fit",
    "notebook completion family engines.graph.monitored",
    "magics",
    "",  # nbtrain itself
)
PURE = [
    "errors",
    "states",
    "commands",
    "command_queue",
    "cadence",
    "buckets",
    "store",
    "settings",
    "pace",
    "cells",
]
PURE += ["smoothing", "hyperparameters", "alarm", "parts"]
TRAINING = [
    "run",
    "steering",
    "life",
    "host",
    "boundary",
    "helm",
    "evaluator",
    "trial",
    "journal",
    "keeper",
    "ring",
    "listing",
    "rescue",
    "tuner",
    "watch",
    "spending",
    "usage",
    "recorder",
    "checkpoints",
    "threads",
    "logdir",
    "lock",
]
# What starts threads, tells the time, or weighs more than numbers do.
NOT_PURE = {"tensorflow", "time", "asyncio", "ipywidgets", "anywidget", "IPython", "matplotlib"}
WIDGETS = {"ipywidgets", "anywidget", "IPython", "comm", "ipykernel", "matplotlib"}


def room_of(path: Path) -> str:
    """A file's room: its module below nbtrain."""
    parts = path.relative_to(HOUSE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


ROOMS = {room_of(path): path for path in HOUSE.rglob("*.py")}
PACKAGES = {room for room, path in ROOMS.items() if path.name == "__init__.py"}
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in (rooms.split() or [""])}


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


def test_every_room_has_its_floor() -> None:
    assert set(FLOOR) == set(ROOMS) - (PACKAGES - {""})


@pytest.mark.parametrize("room", sorted(FLOOR))
def test_imports_point_to_lower_floors(room: str) -> None:
    above = {other for other in inside(room) if FLOOR[other] >= FLOOR[room]}
    assert not above, f"{room or 'nbtrain'} imports {above}"


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


@pytest.mark.parametrize("room", sorted(room for room in FLOOR if room.startswith("panel.")))
def test_the_panel_knows_neither_tensorflow_nor_a_run(room: str) -> None:
    assert "tensorflow" not in outside(room)
    assert not inside(room) & {"run", "boundary", "checkpoints", "notebook", "threads", "recorder"}
    assert not any(other.startswith("engines") for other in inside(room))


@pytest.mark.parametrize("room", [*TRAINING, *sorted(r for r in FLOOR if r[:8] == "engines.")])
def test_what_trains_knows_no_widget(room: str) -> None:
    assert not outside(room) & WIDGETS
    assert not any(other.startswith(("panel", "notebook")) for other in inside(room))


def test_only_the_notebook_knows_both_a_run_and_the_panel() -> None:
    both = {
        room
        for room in FLOOR
        if "run" in inside(room) and any(other.startswith("panel.p") for other in inside(room))
    }
    assert both == {"notebook"}


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
