"""Deleting and renaming runs, by a line of a cell and by the command line."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from IPython.core.error import StdinNotImplementedError

import nbtrain
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.notebook.options import line_parser, parsed
from nbtrain.notebook.run_tree import tree
from nbtrain.notebook.verbs import execute
from nbtrain.rundir import status_file
from nbtrain.rundir.entries import entries
from nbtrain.rundir.lineage import Lineage
from nbtrain.rundir.lock import RunLock
from nbtrain.rundir.status_file import Writer
from nbtrain.steer.run_folders import delete, rename
from nbtrain.terminal.main import main
from tests.gate import SOON, Gate
from tests.models import Counter
from tests.training.branches import parent


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> list[str]:
    """Answer questions; returns those that were asked."""
    asked: list[str] = []

    def respond(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("builtins.input", respond)
    return asked


def line(text: str) -> Any:
    """Execute a line of `%nbtrain`."""
    return execute(parsed(line_parser(), text))


def test_a_run_is_deleted_only_after_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    run = nbtrain.train(Counter().step, steps=3, name="a").wait(SOON)
    count = sum(path.is_file() for path in run.logdir.rglob("*"))
    asked = answering(monkeypatch, "")
    assert delete("runs/a", asks=True) == "Nothing was deleted."
    assert asked == [f"runs/a: {count} files, 0.0 MB. Delete it? [y/N] "]
    assert "a" in nbtrain.runs()
    answering(monkeypatch, " Yes")
    assert delete("runs/a/", asks=True) == "Deleted runs/a."
    assert not run.logdir.exists()
    assert "a" not in nbtrain.runs()
    again = nbtrain.train(Counter().step, steps=2, name="a").wait(SOON)
    assert again.status.step == 2, "nothing of the deleted run is left"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (EOFError, "^Nobody can answer here: add --yes"),  # the question was shown
        (StdinNotImplementedError, r"it\? \[y/N\] Nobody can answer here: add --yes"),
    ],
)
def test_where_nobody_can_answer_nothing_is_deleted(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception], said: str
) -> None:
    def nobody(_question: str) -> str:
        raise kind

    monkeypatch.setattr("builtins.input", nobody)
    nbtrain.train(Counter().step, steps=3, name="a").wait(SOON)
    with pytest.raises(ArgumentError, match=said):
        line("delete runs/a")
    assert Path("runs/a").is_dir()
    line("delete runs/a --yes")
    assert not Path("runs/a").exists()


def test_a_renamed_run_goes_on_and_leads_to_its_branches(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, paced = parent()
    run.branch(10, name="b").wait(SOON)
    before = tree().splitlines()[1:]
    capsys.readouterr()
    line("rename runs/a first-try")
    assert capsys.readouterr().out == "Renamed runs/a to runs/first-try.\n"
    assert [line.split() for line in tree().splitlines()[1:]] == [
        [word.replace("a", "first-try") if word == "a" else word for word in line.split()]
        for line in before
    ]
    assert Lineage(Path("runs/b")).state.gap == ""
    assert status_file.read(Path("runs/first-try")).status.name == "first-try"
    assert list(nbtrain.runs()) == ["b"]
    options: dict[str, Any] = {"checkpoint": paced.checkpoint, "steps": 25}
    again = nbtrain.train(paced.step, name="first-try", **options).wait(SOON)
    assert again.status.step == 25
    segments = [entry["step"] for entry in entries(again.logdir) if entry["event"] == "segment"]
    assert segments == [0, 20], "from the checkpoint of its last step"


def test_a_deleted_run_is_named_with_the_branches_that_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, _ = parent()
    run.branch(10, name="b").wait(SOON)
    asked = answering(monkeypatch, "y")
    delete(run.logdir, asks=True)
    assert asked[0].endswith("but lose their history up to the branch: b. Delete it? [y/N] ")
    assert "goes on from ../a/" in Lineage(Path("runs/b")).state.gap


def test_a_run_that_trains_is_neither_deleted_nor_renamed(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, name="a")
    gate.wait_for_arrivals()
    for text in ("delete runs/a --yes", "rename runs/a b"):
        with pytest.raises(BusyError, match="is held by the run 'a' in this kernel"):
            line(text)
    gate.open()
    run.request_stop()
    run.wait(SOON)
    assert Path("runs/a/steering.jsonl").is_file()


def test_only_the_folder_of_one_run_is_deleted(own_folder: Path) -> None:
    Path("mine").mkdir()
    with pytest.raises(ArgumentError, match="mine is not the folder of a run: it has no steering"):
        delete("mine", asks=False)
    with pytest.raises(ArgumentError, match="There is no folder nowhere"):
        delete("nowhere", asks=False)
    nbtrain.train(Counter().step, steps=1, name="a").wait(SOON)
    with pytest.raises(ArgumentError, match="runs is not the folder of a run"):
        delete("runs", asks=False)
    shutil.copy("runs/a/steering.jsonl", "runs/steering.jsonl")
    with pytest.raises(ArgumentError, match="There are other runs in runs: runs/a"):
        delete("runs", asks=False)
    Path("link").symlink_to("runs/a")
    with pytest.raises(ArgumentError, match="link is a link"):
        delete("link", asks=False)
    assert Path("runs/a/steering.jsonl").is_file()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("b", "runs/b is there already: give another name"),
        ("../b", "cannot name a folder"),
        ("", "cannot name a folder"),
    ],
)
def test_a_name_that_cannot_be_used_changes_nothing(name: str, why: str) -> None:
    for each in ("a", "b"):
        nbtrain.train(Counter().step, steps=1, name=each).wait(SOON)
    with pytest.raises(ArgumentError, match=why):
        rename("runs/a", name)
    assert Path("runs/a/steering.jsonl").is_file()


def test_the_command_line_deletes_and_renames(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nbtrain.train(Counter().step, steps=1, name="a").wait(SOON)
    assert main(["rename", "runs/a", "b"]) == 0
    assert main(["delete", "runs/a"]) == 3
    answering(monkeypatch, "n")
    assert main(["delete", "runs/b"]) == 0
    assert main(["delete", "runs/b", "--yes"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == ["Renamed runs/a to runs/b.", "Nothing was deleted.", "Deleted runs/b."]
    assert not Path("runs/b").exists()


def test_links_beside_the_run_follow_it(own_folder: Path) -> None:
    run, _ = parent()
    run.branch(10, name="b").wait(SOON)
    Path("runs/latest").symlink_to("a", target_is_directory=True)
    Path("runs/other").symlink_to("b", target_is_directory=True)
    rename("runs/a", "c")
    assert Path("runs/latest").resolve() == Path("runs/c").resolve()
    assert Lineage(Path("runs/b")).state.gap == ""
    assert not Path("runs/c/run.json").exists()
    delete("runs/c", asks=False)
    assert not Path("runs/latest").is_symlink()
    assert {path.name for path in Path("runs").iterdir()} == {"b", "other"}


def test_a_launched_process_and_a_held_folder_of_checkpoints_are_respected(
    own_folder: Path,
) -> None:
    run = nbtrain.train(Counter().step, steps=1, name="a").wait(SOON)
    (run.logdir / "ckpts").mkdir()
    further = RunLock(run.logdir / "ckpts", "a")
    further.acquire()
    with pytest.raises(BusyError, match="ckpts is held by the run 'a'") as refusal:
        delete("runs/a", asks=False)
    assert "name=" not in str(refusal.value)
    assert "In a terminal: nbtrain stop runs/a. nbtrain." in str(refusal.value)
    further.release()
    sign = status_file.read(run.logdir)
    process = psutil.Process()
    writer = Writer("launch-1", sign.writer.host, process.pid, process.create_time())
    status_file.write(run.logdir, replace(sign, writer=writer, alive=time.time()))
    with pytest.raises(BusyError, match="which was launched and is about to start its run"):
        rename("runs/a", "b")
    assert Path("runs/a/steering.jsonl").is_file()


def test_the_name_of_a_run_alone_is_answered_with_its_folder() -> None:
    nbtrain.train(Counter().step, steps=1, name="a").wait(SOON)
    with pytest.raises(ArgumentError, match=r"There is no folder a\. Give the folder .*: runs/a\."):
        rename("a", "b")


def test_a_long_line_of_a_branch_stays_as_it_is() -> None:
    run, _ = parent()
    run.branch(10, name="b").wait(SOON)
    journal = Path("runs/b/steering.jsonl")
    long = b'{"event": "note", "step": 1, "text": "' + b"x" * (1 << 21) + b'"}\n'
    journal.write_bytes(journal.read_bytes() + long)
    before = journal.read_bytes().splitlines()
    rename("runs/a", "c")
    after = journal.read_bytes().splitlines()
    changed = [
        at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other
    ]
    assert changed
    assert all(b"../c" in after[at] for at in changed)


def test_the_working_folder_is_not_deleted(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = nbtrain.train(Counter().step, steps=1, name="a").wait(SOON)
    monkeypatch.chdir(run.logdir)
    with pytest.raises(ArgumentError, match="contains the working folder"):
        delete(".", asks=False)
    assert run.logdir.is_dir()


def test_two_dots_lead_where_the_system_leads(own_folder: Path) -> None:
    nbtrain.train(Counter().step, steps=1, name="a").wait(SOON)
    nbtrain.train(Counter().step, steps=1, logdir="data/a").wait(SOON)
    Path("data/x").mkdir()
    Path("runs/link").symlink_to(Path("data/x").absolute(), target_is_directory=True)
    assert delete("runs/link/../a", asks=False) == "Deleted data/a."
    assert Path("runs/a").is_dir()
