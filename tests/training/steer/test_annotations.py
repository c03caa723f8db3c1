"""Notes and tags: at any time, in the journal, and found again in the lists of runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import nbtrain
from nbtrain.core.commands import Note, Tag
from nbtrain.core.errors import ArgumentError
from nbtrain.notebook.run_tree import tree
from nbtrain.remote.attach import attach
from nbtrain.remote.attached import AttachedRun
from nbtrain.rundir.entries import entries
from nbtrain.terminal.main import main
from tests.gate import SOON, Gate, eventually
from tests.models import applied


def ended(name: str = "noted", **options: Any) -> nbtrain.Run:
    """An ended run of three steps."""
    return nbtrain.train(lambda: {"loss": 1.0}, steps=3, name=name, **options).wait(SOON)


def noted(run: nbtrain.Run | AttachedRun) -> list[tuple[int, str]]:
    """Step and text of the notes among the marks of a run."""
    return [(mark.step, mark.text) for mark in run.marks if mark.event == "note"]


def logged(folder: Path, event: str) -> list[dict[str, Any]]:
    """The lines of the journal with an event."""
    return [dict(entry) for entry in entries(folder) if entry["event"] == event]


def test_a_note_is_a_mark_at_its_step_and_in_the_journal(gate: Gate) -> None:
    def step() -> dict[str, float]:
        gate()
        return {"loss": 1.0}

    run = nbtrain.train(step, steps=3, name="noted")
    gate.wait_for_arrivals()
    receipt = run.note("the loss is\n flat")
    gate.open()
    assert receipt.wait(SOON).text == "the loss is flat"
    run.wait(SOON)
    assert noted(run) == [(1, "the loss is flat")]
    (line,) = logged(run.logdir, "note")
    assert (line["step"], line["text"], line["applied"]) == (1, "the loss is flat", True)


def test_a_run_that_has_ended_can_be_noted_and_tagged() -> None:
    run = ended()
    assert applied(run.note("good")).step == 3
    assert applied(run.tag("best")).text == "best"
    assert (noted(run), run.tags, run.status.tags) == ([(3, "good")], ("best",), ("best",))
    assert [line["text"] for line in logged(run.logdir, "note")] == ["good"]
    assert run.receipts[-1].name == "tag"
    assert run.status.phase == "finished"


def test_an_attached_run_that_has_ended_can_be_noted_and_tagged() -> None:
    attached = attach(ended().logdir)
    assert isinstance(attached, AttachedRun)
    with attached:
        applied(attached.note("from afar"))
        applied(attached.tag("seen"))
        assert eventually(lambda: noted(attached) == [(3, "from afar")])
        assert eventually(lambda: attached.tags == ("seen",))


def test_a_note_on_a_folder_that_is_gone_or_in_use_is_refused(gate: Gate) -> None:
    run = ended("used")
    again = nbtrain.train(lambda: gate() or {"loss": 1.0}, name="used")  # type: ignore[func-returns-value]
    refused = run.note("late").wait(SOON)
    again.request_stop()
    gate.open()
    again.wait(SOON)
    assert not refused.applied
    assert "is held by the run 'used'" in refused.text
    gone = ended("gone")
    shutil.rmtree(gone.logdir)
    refused = gone.note("late").wait(SOON)
    assert not refused.applied
    assert "is gone" in refused.text
    assert not gone.logdir.exists()


def test_the_tags_of_a_start_stay_until_others_are_given() -> None:
    first = ended(tags=["baseline", "adam", "baseline"])
    assert first.tags == ("baseline", "adam")
    nbtrain.runs().clear()
    again = nbtrain.train(lambda: {"loss": 1.0}, steps=6, name="noted").wait(SOON)
    assert again.tags == ("baseline", "adam")
    applied(again.tag())
    assert again.tags == ()
    assert json.loads((again.logdir / "status.json").read_text())["tags"] == []


@pytest.mark.parametrize(
    "tags", [3, [3], ["a,b"], [""], ["x" * 41], ["a\nb"], list(map(str, range(21)))]
)
def test_what_is_no_tag_is_refused(tags: Any) -> None:
    with pytest.raises(ArgumentError, match="tag"):
        nbtrain.train(lambda: {"loss": 1.0}, steps=1, tags=tags)
    assert not Path("runs").exists()


@pytest.mark.parametrize("text", ["", " \n", None, 3, "x" * 1001])
def test_what_is_no_note_is_refused(text: Any) -> None:
    run = ended()
    with pytest.raises(ArgumentError, match="note"):
        run.note(text)
    assert noted(run) == []


def test_commands_for_notes_and_tags_are_plain_data() -> None:
    from nbtrain.core.command_json import command_of, fields_of

    for command in (Note("good"), Tag(("a", "b"))):
        assert command_of(json.loads(json.dumps(fields_of(command)))) == command


def test_the_runs_of_a_folder_are_found_by_tag_and_by_what_was_noted() -> None:
    applied(ended("one", tags=["adam"]).note("The loss is flat"))
    ended("two", tags=["sgd"])
    listed = tree("runs").splitlines()
    assert listed[0].split() == ["run", "phase", "step", "branch", "tags", "last", "note"]
    assert "adam" in listed[1]
    assert listed[1].endswith("The loss is flat")
    assert [line.split()[0] for line in tree("runs", tag="sgd").splitlines()] == ["run", "two"]
    assert [line.split()[0] for line in tree("runs", search="LOSS").splitlines()] == ["run", "one"]
    assert tree("runs", tag="none").endswith("has the tag 'none'.")


def test_without_tags_and_notes_the_list_has_no_columns_for_them() -> None:
    ended()
    assert tree("runs").splitlines()[0].split() == ["run", "phase", "step", "branch"]


def test_a_terminal_notes_tags_and_lists_by_tag(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(ended("one", tags=["adam"]).logdir)
    ended("two")
    assert main(["note", folder, "a", "good", "one"]) == 0
    assert capsys.readouterr().out == "applied at step 3: a good one\n"
    assert main(["ls", "runs", "--tag", "adam"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "tags"
    assert row.split()[0] == "one"
    assert row.split()[-1] == "adam"
    assert main(["ls", "runs", "--tag", "none"]) == 0
    assert capsys.readouterr().out == "No run below runs has 'none'.\n"
    assert main(["tag", folder, "best"]) == 0
    assert [line["tags"] for line in logged(Path(folder), "tag")] == [["best"]]
