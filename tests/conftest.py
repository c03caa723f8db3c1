"""Fixtures of every test: its own folder, and the check that it leaves no run alive."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import profiles as profiles
from tests.gate import Gate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Before TensorFlow is imported by whichever test needs it first.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


# Under nohup, or in the background of a script, both signals are ignored,
# and processes of the tests would inherit that.
for number, default in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, default)

# No deadline: a clock says nothing on a shared machine.
settings.register_profile("nbtrain", deadline=None, database=None)
settings.load_profile("nbtrain")

# In a worker of pytest-xdist it lacks what multiprocessing looks for in every program.
vars(sys.modules["__main__"]).setdefault("__spec__", None)


@pytest.fixture(autouse=True, scope="module")
def main_stays() -> Iterator[None]:
    """A shell of IPython's puts a module of its own in the place of the program's."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own: `runs/` never lands in the repository."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def no_run_is_left_alive() -> Iterator[None]:
    """Stop the runs that a test left alive, and fail it for them."""
    yield
    room = sys.modules.get("nbtrain.run.run")
    if room is None:  # a test of a pure floor: nothing was imported that could run
        return
    if attached := sys.modules.get("nbtrain.remote.attached"):
        attached._last_ended.clear()
    left = [run for run in room.registry.runs.values() if not run.status.phase.ended]
    for run in left:
        run.coord.request_stop()
    stuck = [run.name for run in left if not run.attempt.ended.wait(20.0)]
    room.registry.runs.clear()
    room.registry._claims.clear()
    if left:
        names = [run.name for run in left]
        pytest.fail(f"The test left runs alive: {names}; of these do not end: {stuck}.")


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate in the step, shut; opened when the test is over, whatever became of it."""
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The one Chromium of the session; Playwright is loaded for who asks for it."""
    from tests.chromium import launched

    with launched() as browser:
        yield browser
