"""Deleting and renaming runs, by a line of a cell and by the command line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

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
from nbtrain.steer.housekeeping import delete, rename
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
    assert delete("runs/a", asks=True) == "runs/a stays."
    assert asked == [f"runs/a: {count} files, 0.0 MB. Delete it? [y/N] "]
    assert "a" in nbtrain.runs()
    answering(monkeypatch, " Yes")
    assert delete("runs/a/", asks=True) == "runs/a is deleted."
    assert not run.logdir.exists()
    assert "a" not in nbtrain.runs()
    again = nbtrain.train(Counter().step, steps=2, name="a").wait(SOON)
    assert again.status.step == 2, "nothing of the deleted run is left"


@pytest.mark.parametrize("kind", [EOFError, StdinNotImplementedError])
def test_where_nobody_can_answer_nothing_is_deleted(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def nobody(_question: str) -> str:
        raise kind

    monkeypatch.setattr("builtins.input", nobody)
    nbtrain.train(Counter().step, steps=3, name="a").wait(SOON)
    with pytest.raises(ArgumentError, match=r"it\? \[y/N\] Nobody can answer here: add --yes"):
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
    assert capsys.readouterr().out == "runs/a is runs/first-try now.\n"
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
    assert asked[0].endswith("Its branches stay, without what led to them: b. Delete it? [y/N] ")
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
    assert said == ["runs/a is runs/b now.", "runs/b stays.", "runs/b is deleted."]
    assert not Path("runs/b").exists()
