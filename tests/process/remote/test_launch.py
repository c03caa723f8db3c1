"""`nbtrain.launch`: a script in a process of its own, attached from the start."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

import nbtrain
from nbtrain.core.errors import ArgumentError, BusyError, RunFailedError
from nbtrain.core.states import Phase
from nbtrain.remote.attached import AttachedRun
from nbtrain.remote.launch import launch
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.models import applied

TRAIN = """
import os, sys
import tensorflow as tf
import nbtrain

print("given", sys.argv[1:], os.environ["SEED"], flush=True)
rate = tf.Variable(0.5)
run = nbtrain.train(lambda: {"rate": rate.read_value()}, name=os.environ["NAME"])
run.wait()
print("over", run.status.phase)
"""
SLEEP = "import signal; signal.pause()"


@pytest.fixture
def processes() -> Iterator[list[AttachedRun]]:
    """Launched runs, whose processes are ended."""
    runs: list[AttachedRun] = []
    yield runs
    for run in runs:
        run.close()
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(run.sign.writer.process).kill()


def log(run: AttachedRun) -> str:
    """Returns what the process has printed."""
    return (run.logdir / "log.txt").read_text()


def is_over(process: int) -> bool:
    """Returns whether a process has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(process).status() == psutil.STATUS_ZOMBIE)
    return True


def launch_and_wait(pipe: Connection) -> None:
    """Launches a script, and stays until it is killed."""
    run = launch("train.py", "--epochs", 3, Path("data"), env={"SEED": "7", "NAME": "own"})
    pipe.send((str(run.logdir), run.status.phase, run.sign.writer.process))
    pipe.recv()


def test_a_launched_script_outlives_its_kernel_and_commands_wait_for_its_run(
    processes: list[AttachedRun],
) -> None:
    Path("train.py").write_text(TRAIN)
    with Forked(launch_and_wait) as kernel:
        folder, phase, process = kernel.answer()
        assert (Path(folder), phase) == (Path.cwd() / "runs" / "train-1", Phase.PREPARING)
        kernel.kill()
    run = nbtrain.attach(folder)
    assert isinstance(run, AttachedRun)
    processes.append(run)
    pause = run.pause()
    assert run.status.phase is Phase.PREPARING
    assert applied(pause).text == "paused"
    assert (run.name, run.status.notice, run.status.message) == ("own", None, None)
    assert (run.sign.writer.process, os.getsid(process)) == (process, process)
    assert Path(folder).readlink() == Path("own"), "the script has named the run"
    applied(run.request_stop())
    assert run.wait(SOON).status.phase is Phase.STOPPED
    eventually(lambda: is_over(process))
    assert "given ['--epochs', '3', 'data'] 7\n" in log(run)
    assert log(run).endswith("over stopped\n")


@pytest.mark.parametrize(
    ("script", "error", "last"),
    [
        ("print('begun')\nx = = 3", "line 2\n    x = = 3", "SyntaxError: invalid syntax"),
        ("import nowhere", "line 1, in <module>", "ModuleNotFoundError: No module named 'nowhere'"),
        ("print('trained nothing')", "trained nothing", "trained nothing"),
    ],
)
def test_a_script_that_ends_before_it_starts_a_run_has_failed(
    script: str, error: str, last: str, processes: list[AttachedRun]
) -> None:
    Path("short.py").write_text(script)
    run = launch("short.py", name="short")
    processes.append(run)
    resume = run.resume()
    with pytest.raises(RunFailedError):
        run.wait(SOON)
    process = f"Process {run.sign.writer.process} on {socket.gethostname()}"
    said = f"{process} ended before it started a run. The last line of runs/short/log.txt: {last}"
    assert run.status.failure == said
    assert error in (run.status.error or "")
    assert said in resume.wait(SOON).text
    assert said in run.pause().wait(SOON).text
    again = nbtrain.attach("runs/short")
    assert isinstance(again, AttachedRun)
    processes.append(again)
    assert again.status.failure == said


def test_a_script_that_ends_without_a_word_has_failed(processes: list[AttachedRun]) -> None:
    Path("short.py").write_text("")
    run = launch("short.py")
    processes.append(run)
    with pytest.raises(RunFailedError, match=r"and printed nothing to runs/short-1/log\.txt"):
        run.wait(SOON)


def test_only_one_launch_at_a_time_takes_a_folder(processes: list[AttachedRun]) -> None:
    Path("sleep.py").write_text(SLEEP)
    run = launch("sleep.py", name="one")
    processes.append(run)
    with pytest.raises(BusyError, match="was launched and is about to start its run") as refusal:
        launch("sleep.py", logdir="runs/one")
    assert "run = nbtrain.attach('runs/one'); run.request_stop(); run.wait()." in str(refusal.value)
    first = run.sign.writer.process  # the run is of the folder, and follows the next one too
    psutil.Process(first).kill()
    eventually(lambda: run.status.phase is Phase.FAILED)
    processes.append(launch("sleep.py", name="one"))
    assert processes[1].sign.writer.process != first


@pytest.mark.parametrize(
    ("script", "arguments", "text"),
    [
        ("none.py", (), "There is no script 'none.py'"),
        (".", (), "'.' is a folder: give the path"),
        (3, (), r"launch\(3\): give the path"),
        ("short.py", ("a", None), "Argument 2 of the script is None"),
        ("short.py", (True,), "Argument 1 of the script is True"),
    ],
)
def test_what_cannot_be_launched_is_refused_and_leaves_no_folder(
    script: object, arguments: tuple[object, ...], text: str
) -> None:
    Path("short.py").touch()
    with pytest.raises(ArgumentError, match=text):
        launch(script, *arguments)  # type: ignore[arg-type]
    assert not Path("runs").exists()


def test_a_process_that_cannot_be_started_leaves_no_folder() -> None:
    Path("short.py").touch()
    with pytest.raises(TypeError):
        launch("short.py", env={"SEED": 1})  # type: ignore[dict-item]
    assert not Path("runs").exists()
