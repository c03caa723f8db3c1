"""The folder of a run: numbered, named, writable, and held by one run at a time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from filelock import FileLock

from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.lock import RunLock
from tests import ROOT
from tests.gate import SOON
from tests.room import no_room

HOLDER = """
import sys
from nbtrain.rundir.folder import Logdir
folder = Logdir(sys.argv[1], None, kind="train")
folder.acquire()
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def other_process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which holds the folder `held` until told otherwise."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "held")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def folders() -> list[str]:
    """The contents of runs/."""
    return sorted(path.name for path in Path("runs").glob("*"))


def test_without_a_name_each_run_gets_a_new_numbered_folder() -> None:
    names = [Logdir(None, None, kind="train").name for _ in range(3)]
    assert names == ["train-1", "train-2", "train-3"]
    assert folders() == names


def test_numbering_skips_existing_folders() -> None:
    Path("runs/train-1").mkdir(parents=True)
    assert Logdir(None, None, kind="train").name == "train-2"


def test_a_name_takes_its_folder_under_runs() -> None:
    folder = Logdir(None, "digits", kind="train")
    assert folder.path == Path("runs/digits").absolute()
    assert folder.name == "digits"
    assert folder.checkpoints == folder.path / "checkpoints"


def test_a_logdir_is_used_as_given_and_names_the_run(tmp_path: Path) -> None:
    folder = Logdir(tmp_path / "deep" / "down", None, kind="train")
    assert folder.path == tmp_path / "deep" / "down"
    assert folder.path.is_dir()
    assert folder.name == "down"
    assert Logdir(str(folder.path), "digits", kind="train").name == "digits"
    assert folders() == []


def test_a_run_has_a_name_wherever_its_folder_is(tmp_path: Path) -> None:
    (tmp_path / "home" / "below").mkdir(parents=True)
    os.chdir(tmp_path / "home" / "below")
    assert Logdir("..", None, kind="train").name == "home"
    assert Logdir(".", None, kind="train").name == "below"


def test_the_path_stays_when_the_working_folder_changes(tmp_path: Path) -> None:
    folder = Logdir("mine", None, kind="train")
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    folder.log(event="save")
    assert (tmp_path / "mine" / "steering.jsonl").exists()


@pytest.mark.parametrize(
    "name", ["", "a/b", "../up", ".hidden", "-x", "a\nb", "a:b", "a\0b", "\ud800", 5, b"a", True]
)
def test_an_invalid_folder_name_raises_and_creates_nothing(name: Any) -> None:
    with pytest.raises(ArgumentError) as refusal:
        Logdir(None, name, kind="train")
    assert f"name={name!r} cannot name a folder: use letters, digits" in str(refusal.value)
    assert not Path("runs").exists()


def test_a_name_of_more_than_a_hundred_characters_raises_and_creates_nothing() -> None:
    assert Logdir(None, "x" * 100, kind="train").path.is_dir()
    with pytest.raises(ArgumentError, match=r"name='x{20}'\.\.\. has 300 characters: use 100 at"):
        Logdir(None, "x" * 300, kind="train")
    assert folders() == ["x" * 100]


def test_a_name_too_long_for_the_disk_raises_and_creates_nothing() -> None:
    with pytest.raises(ArgumentError, match="cannot be written: File name too long"):
        Logdir(None, "損" * 100, kind="train")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "logdir",
    ["", 5, b"runs", True, ["runs"], "gs://bucket/runs", "a\0b", "\ud800", "~nobody-x/runs"],
)
def test_a_remote_logdir_raises(logdir: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError) as refusal:
        Logdir(logdir, None, kind="train")
    assert f"logdir={logdir!r} is no folder of this machine: give a path" in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unnamed_function_runs_in_a_folder_named_run() -> None:
    assert Logdir(None, None, kind="<lambda>").name == "run-1"


@pytest.mark.parametrize("name", ["digits", "Größe 2", "adam@1e-3", "v1.2+b=4"])
def test_ordinary_names_are_accepted(name: str) -> None:
    assert Logdir(None, name, kind="train").path.name == name


def test_a_folder_that_cannot_be_created_raises_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(
        ArgumentError, match=r"file/run cannot be written: one of the folders above"
    ):
        Logdir(tmp_path / "file" / "run", None, kind="train")
    with pytest.raises(ArgumentError, match=r"file cannot be written: there is a file of this"):
        Logdir(tmp_path / "file", None, kind="train")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "no folder"


def test_a_folder_that_is_not_writable_raises() -> None:
    with pytest.raises(ArgumentError, match=r"/proc/self cannot be written"):
        Logdir("/proc/self", None, kind="train")


@pytest.mark.parametrize("where", [("deep/down", None), (None, "digits"), (None, None)])
def test_a_full_disk_raises_and_leaves_no_folder(
    where: tuple[str | None, str | None], tmp_path: Path
) -> None:
    with no_room(), pytest.raises(ArgumentError) as refusal:
        Logdir(*where, kind="train")
    assert "cannot be written: File too large. Mend that, or give another" in str(refusal.value)
    assert "During handling" not in "".join(traceback.format_exception(refusal.value))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_full_at_the_start_raises_and_leaves_no_lock(tmp_path: Path) -> None:
    folder = Logdir(None, "digits", kind="train")
    with no_room(), pytest.raises(ArgumentError, match="cannot be written: File too large"):
        folder.acquire()
    assert not Path("runs").exists()
    folder.acquire()
    folder.release()


def test_the_error_says_that_runs_is_a_file() -> None:
    Path("runs").write_text("no folder", encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"The folder runs/train cannot be written: one of"):
        Logdir(None, None, kind="train")
    with pytest.raises(ArgumentError, match=r"The folder runs/digits cannot be written: one of"):
        Logdir(None, "digits", kind="train")


def test_checking_for_write_access_leaves_nothing_behind() -> None:
    assert list(Logdir(None, "digits", kind="train").path.iterdir()) == []


def test_a_folder_held_in_the_same_kernel_raises_with_the_holder() -> None:
    first, second = Logdir(None, "digits", kind="train"), Logdir("runs/digits", "other", kind="x")
    first.acquire()
    with pytest.raises(
        BusyError, match=rf"held by the run 'digits' in this kernel \(process {os.getpid()} on "
    ):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_a_folder_held_by_another_process_raises_with_the_reason(
    tmp_path: Path, other_process: subprocess.Popen[str]
) -> None:
    folder = Logdir(tmp_path / "held", "mine", kind="train")
    before = (folder.path / "run.json").read_text(encoding="utf-8")
    with pytest.raises(
        BusyError,
        match=rf"held by the run 'held' in another process \(process {other_process.pid} on .*"
        r"Stop it first: run = nbtrain\.attach\('.*held'\); run\.request_stop\(\); run\.wait\(\)\. "
        r"Or give another name= or logdir=",
    ):
        folder.acquire()
    assert (folder.path / "run.json").read_text(encoding="utf-8") == before


def test_the_holder_of_a_folder_is_known_while_it_is_held() -> None:
    folder = Logdir(None, "digits", kind="train")
    folder.acquire()
    folder.release()
    with FileLock(folder.path / "run.lock"):  # a run that has not written its name yet
        with pytest.raises(BusyError, match="held by another run, just starting") as refusal:
            folder.acquire()
        assert refusal.value.run is None


@pytest.mark.parametrize(
    ("told", "holder"),
    [
        ({"host": "elsewhere"}, "the run 'theirs' in another process"),
        ({"process": 1}, "the run 'theirs' in another process"),
        (
            {},
            r"the run 'theirs' in this kernel .*: run = nbtrain\.runs\(\)\['theirs'\]; run\.req",
        ),
        ([], "another run, just starting"),
    ],
)
def test_this_kernel_is_this_process_of_this_host(told: Any, holder: str) -> None:
    folder = Logdir(None, "digits", kind="train")
    here = {"name": "theirs", "process": os.getpid(), "host": socket.gethostname(), "since": "now"}
    text = json.dumps({**here, **told} if isinstance(told, dict) else told)
    with FileLock(folder.path / "run.lock"):
        (folder.path / "run.json").write_text(text, encoding="utf-8")
        with pytest.raises(BusyError, match=f"is held by {holder}"):
            folder.acquire()


def test_killing_the_process_frees_its_folder(
    tmp_path: Path, other_process: subprocess.Popen[str]
) -> None:
    other_process.kill()
    other_process.wait(SOON)
    folder = Logdir(tmp_path / "held", "mine", kind="train")
    folder.acquire()
    assert json.loads((folder.path / "run.json").read_text("utf-8"))["process"] == os.getpid()
    folder.release()


def test_a_folder_created_for_a_failed_start_is_deleted() -> None:
    folder = Logdir(None, None, kind="train")
    folder.acquire()
    folder.discard()
    assert not Path("runs").exists()
    folder.acquire()
    assert folders() == ["train-1"], "a later start makes it again"
    folder.release()


def test_an_existing_folder_survives_a_failed_start() -> None:
    Path("runs/digits").mkdir(parents=True)
    folder = Logdir(None, "digits", kind="train")
    folder.acquire()
    folder.discard()
    assert folders() == ["digits"]


def test_a_used_folder_is_never_deleted() -> None:
    folder = Logdir(None, None, kind="train")
    folder.acquire()
    folder.release()
    folder.acquire()
    folder.discard()
    assert (folder.path / "run.lock").exists()


def test_the_journal_has_one_line_per_entry() -> None:
    folder = Logdir(None, "digits", kind="train")
    folder.log(event="save", step=10, text="Größe")
    folder.log(event="stop", step=20)
    lines = (folder.path / "steering.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"event": "save", "step": 10, "text": "Größe"},
        {"event": "stop", "step": 20},
    ]


def test_a_torn_last_line_does_not_spoil_others() -> None:
    folder = Logdir(None, "digits", kind="train")
    folder.log(event="start")
    with (folder.path / "steering.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"event": "sa')
    folder.log(event="start")
    folder.log(event="save")
    lines = (folder.path / "steering.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in (lines[0], *lines[2:])] == [
        "start",
        "start",
        "save",
    ]
    assert lines[1] == '{"event": "sa'


def test_an_entry_unknown_to_json_is_written_as_text() -> None:
    folder = Logdir(None, "digits", kind="train")
    folder.log(event="restore", wanted=Path("runs/a"))
    assert json.loads((folder.path / "steering.jsonl").read_text())["wanted"] == "runs/a"


def test_a_folder_is_in_place_while_its_lock_is_taken(tmp_path: Path) -> None:
    """Looks after every line of `RunLock.acquire`, as the monitor of the last start may."""
    folder = Logdir(tmp_path / "run", None, kind="train")
    looks: list[bool] = []

    def look(frame: FrameType, _event: str, _argument: object) -> Any:
        if frame.f_code is not RunLock.acquire.__code__:
            return None
        frame.f_trace_opcodes = True  # the fields of one line are set one after the other
        sys.settrace(None)
        looks.append(folder.lock.in_place)
        sys.settrace(look)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        folder.acquire()
    finally:
        sys.settrace(before)
        folder.release()
    assert len(looks) > 3
    assert all(looks)
