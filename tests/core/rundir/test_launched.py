"""The folder of a launched process, which its first run takes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase, Status
from nbtrain.rundir import mailbox, status_file
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.launched import VARIABLE
from nbtrain.rundir.status_file import LAUNCH, SignOfLife, Writer

WRITER = Writer(f"{LAUNCH}1", "lab-3", 4711, 1.0)


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a launch, as the launched process finds it."""
    folder = Path.cwd() / "runs" / "train-1"
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("begun\n")
    mailbox.make(folder)
    mailbox.send(folder, "a1", {"command": "pause"})
    status_file.write(folder, SignOfLife(WRITER, 2.0, Status("x", "script", Phase.PREPARING)))
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def test_the_first_run_without_a_folder_takes_that_of_the_launch(launch: Path) -> None:
    first = Logdir(None, None, kind="train")
    first.acquire()
    second = Logdir(None, None, kind="train")
    assert (first.path, first.name) == (launch, "train-1")
    assert second.path.name == "train-2"
    assert VARIABLE not in os.environ
    first.release()


def test_a_first_run_of_another_name_moves_the_launch_to_its_folder(launch: Path) -> None:
    run = Logdir(None, "own", kind="train")
    (run.path / "log.txt").write_text("earlier\n")
    run.acquire()
    assert launch.readlink() == Path("own")
    assert (launch / "log.txt").read_text() == "earlier\nbegun\n"
    assert status_file.read(launch).writer == WRITER
    assert (run.path / "mailbox" / "a1.json").exists()
    run.release()


def test_a_command_that_is_being_written_moves_with_the_launch(
    launch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, left = (launch / "mailbox" / f".{key}.json-0badcafe" for key in ("a2", "a3"))
    written.write_text("{}")
    left.write_text("{")  # its sender was killed
    now = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    meanwhile = iter([lambda: written.replace(launch / "mailbox" / "a2.json")])
    monkeypatch.setattr(time, "sleep", lambda _secs: next(meanwhile, bool)())
    run = Logdir(None, "own", kind="train")
    run.acquire()
    assert launch.readlink() == Path("own")
    moved = sorted(path.name for path in (run.path / "mailbox").iterdir())
    assert moved == ["a1.json", "a2.json"]
    run.release()


def test_a_launch_does_not_leave_the_folder_of_an_earlier_run(launch: Path) -> None:
    (launch / "steering.jsonl").touch()
    run = Logdir(None, "own", kind="train")
    with pytest.raises(ArgumentError, match=r"holds more than this launch \(steering\.jsonl\)"):
        run.acquire()
    assert not Path("runs/own").exists()
    assert (launch / "log.txt").read_text() == "begun\n"


def test_a_launch_whose_run_has_begun_elsewhere_waits_no_longer(launch: Path) -> None:
    begun = Writer("other", "lab-3", 4712, 1.0)
    status_file.write(launch, SignOfLife(begun, 2.0, Status("x", "script", Phase.RUNNING)))
    assert Logdir(None, None, kind="train").path.name == "train-2"
