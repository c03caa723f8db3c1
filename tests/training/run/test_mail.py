"""Another process steers a run through its folder: files in, files out, one answer each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import nbtrain
from nbtrain.core.commands import Pause, Sender
from nbtrain.core.states import Phase
from nbtrain.remote.attach import opened
from nbtrain.rundir import status_file
from nbtrain.rundir.mailbox import answer_to, send
from tests.gate import eventually
from tests.models import Counter, Line
from tests.on_disk import delete, journal


@pytest.fixture
def run() -> Iterator[nbtrain.Run]:
    line = Line()
    run = nbtrain.train(
        line.step,
        checkpoint=line.checkpoint,
        hyperparameters={"learning_rate": line.optimizer.learning_rate},
        name="sent",
    )
    eventually(lambda: told(run) is Phase.RUNNING)
    yield run
    run.request_stop()
    run.wait()


def told(run: nbtrain.Run) -> Phase | None:
    """The phase in the run's status file."""
    try:
        return status_file.read(run.logdir).status.phase
    except FileNotFoundError:
        return None


def answered(folder: Path, key: str) -> dict[str, Any]:
    """The last answer to a command."""

    def last() -> dict[str, Any] | None:
        found = answer_to(folder, key)
        return dict(found) if found is not None and found["state"] != "requested" else None

    return dict(eventually(last))


def test_a_command_in_the_mailbox_is_executed_and_answered(run: nbtrain.Run) -> None:
    send(run.logdir, "a1", {"command": "set", "values": {"learning_rate": 0.01}, "by": "ada"})
    reply = answered(run.logdir, "a1")
    assert reply["state"] == "applied"
    assert reply["command"] == "set"
    assert reply["edits"] == {"learning_rate": [pytest.approx(0.05), pytest.approx(0.01)]}
    assert run.hyperparameters["learning_rate"] == pytest.approx(0.01)
    (line,) = journal(run.logdir, "set")
    assert (line["id"], line["by"]) == ("a1", "ada")
    assert [receipt.name for receipt in run.receipts] == ["set"]


def test_a_file_written_by_hand_is_a_command(run: nbtrain.Run) -> None:
    (run.logdir / "mailbox" / "mine.json").write_text('{"command": "pause"}\n')
    assert answered(run.logdir, "mine")["text"] == "paused"
    assert run.status.phase is Phase.PAUSED
    (line,) = journal(run.logdir, "pause")
    assert line["by"] == "another process"


def ports() -> set[Any]:
    """The ports on which this process listens, perhaps for an earlier test."""
    found = psutil.Process().net_connections("inet")
    return {each.laddr for each in found if each.status == psutil.CONN_LISTEN}


def test_no_port_is_opened_for_commands() -> None:
    before = ports()
    run = nbtrain.train(Counter().step, name="closed")
    eventually((run.logdir / "mailbox" / "answers").is_dir)
    send(run.logdir, "a1", {"command": "stop"})
    answer = answered(run.logdir, "a1")
    assert answer["state"] == "applied", answer
    assert ports() <= before
    run.wait()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": "explode"}, "There is no command 'explode'"),
        ({"command": "set", "values": {"speed": 3}}, "speed"),
        ({"command": "set", "values": {"learning_rate": "fast"}}, "fast"),
        ({"command": "restore", "checkpoint": 77}, "77"),
        ({"command": "resume"}, "Cannot resume while running"),
        ({"command": "pause", "at": "soon"}, "at='soon'"),
        ({"command": "pause", "at": True}, "at=True"),
        ({"command": "stop", "at": 9}, "cannot be planned"),
        ({"command": "pause", "attempt": "another"}, "earlier start"),
        ([], "not a JSON object"),
    ],
)
def test_a_command_that_cannot_be_done_is_refused_in_words(
    run: nbtrain.Run, fields: Any, said: str
) -> None:
    (run.logdir / "mailbox" / "bad.json").write_text(json.dumps(fields))
    reply = answered(run.logdir, "bad")
    assert reply["state"] == "refused"
    assert said in reply["text"]
    assert run.status.phase is Phase.RUNNING


def test_a_command_restores_no_checkpoint_of_another_folder(run: nbtrain.Run) -> None:
    run.save().wait()
    own, elsewhere = Path(run.checkpoints[-1].path), run.logdir.parent / "elsewhere"
    shutil.copytree(own.parent, elsewhere)
    (run.logdir / "link").symlink_to(elsewhere)
    away = (elsewhere, run.logdir / "link", run.logdir / ".." / "elsewhere")
    for number, folder in enumerate(away):
        command = {"command": "restore", "checkpoint": str(folder / own.name)}
        send(run.logdir, f"a{number}", command)
        reply = answered(run.logdir, f"a{number}")
        assert reply["state"] == "refused"
        assert "is outside of the folder of the run" in reply["text"]
    send(run.logdir, "own", {"command": "restore", "checkpoint": str(own)})
    assert answered(run.logdir, "own")["state"] == "applied"
    assert run.restore(str(elsewhere / own.name)).wait().applied


def test_a_click_that_comes_both_ways_is_done_once(run: nbtrain.Run) -> None:
    first = run.post(Pause(), sender=Sender("click-1"))
    first.wait()
    send(run.logdir, "click-1", {"command": "pause"})
    assert answered(run.logdir, "click-1")["state"] == "applied"
    assert run.post(Pause(), sender=Sender("click-1")) is first
    assert len(journal(run.logdir, "pause")) == 1


def test_a_click_in_an_attached_panel_that_comes_both_ways_is_done_once(run: nbtrain.Run) -> None:
    with opened(run.logdir) as attached:
        assert attached.mailbox == run.mailbox
        send(run.logdir, "click-1", {"command": "pause"})
        assert answered(run.logdir, "click-1")["state"] == "applied"
        run.resume().wait()
        receipt = attached.post(Pause(), sender=Sender("click-1"))
        assert receipt.wait().text == "paused"
    assert run.status.phase is Phase.RUNNING
    assert len(journal(run.logdir, "pause")) == 1


def test_each_of_more_commands_than_the_queue_holds_is_executed(run: nbtrain.Run) -> None:
    values = {f"a{number}": (number + 1) / 1000 for number in range(200)}
    for key, value in values.items():
        send(run.logdir, key, {"command": "set", "values": {"learning_rate": value}})
    assert {answered(run.logdir, key)["state"] for key in values} == {"applied"}
    assert sorted(line["id"] for line in journal(run.logdir, "set")) == sorted(values)


def test_commands_for_later_steps_leave_room_for_others(run: nbtrain.Run) -> None:
    planned = [f"p{number}" for number in range(40)]
    for key in planned:
        send(run.logdir, key, {"command": "save", "at": 10**9})
    send(run.logdir, "a1", {"command": "pause"})
    assert answered(run.logdir, "a1")["state"] == "applied"
    eventually(lambda: all(answer_to(run.logdir, key) for key in planned))


def test_each_start_of_a_run_has_a_mailbox_of_its_own(run: nbtrain.Run) -> None:
    first = run.mailbox
    assert first is not None
    assert (first.folder, first.attempt) == (run.logdir, attempt(run))
    send(run.logdir, "a1", {"command": "stop", "attempt": first.attempt})
    run.wait()
    run.start()
    assert run.mailbox not in (None, first)
    eventually(lambda: told(run) is Phase.RUNNING)
    assert run.mailbox.attempt == attempt(run)
    send(run.logdir, "a2", {"command": "stop", "attempt": first.attempt})
    assert "earlier start" in answered(run.logdir, "a2")["text"]


def test_a_note_for_an_earlier_start_is_a_mark_of_the_next(run: nbtrain.Run) -> None:
    first = attempt(run)
    run.request_stop().wait()
    run.wait()
    note = {"command": "note", "text": "the loss is flat", "attempt": first}
    send(run.logdir, "a1", note)
    run.start()
    assert answered(run.logdir, "a1")["state"] == "applied"
    assert [line["text"] for line in journal(run.logdir, "note")] == ["the loss is flat"]


def attempt(run: nbtrain.Run) -> str:
    """The start in the run's status file."""
    return status_file.read(run.logdir).writer.attempt


def test_a_stop_is_answered_with_how_the_run_ended(run: nbtrain.Run) -> None:
    send(run.logdir, "a1", {"command": "stop"})
    run.wait()
    reply = answered(run.logdir, "a1")
    assert reply["text"].startswith("stopped, saved as ckpt-")
    sign = status_file.read(run.logdir)
    assert sign.status.phase is Phase.STOPPED
    assert sign.status.step == run.status.step


def test_the_status_file_follows_the_run(run: nbtrain.Run) -> None:
    first = status_file.read(run.logdir)
    assert first.status.name == "sent"
    assert first.status.phase is Phase.RUNNING
    later = eventually(  # a new step is counted before its values are drained
        lambda: (
            (sign := status_file.read(run.logdir)).status.step > first.status.step
            and "loss" in sign.status.values
            and sign
        )
    )
    assert later.alive > first.alive
    assert later.writer == first.writer
    run.pause().wait()
    eventually(lambda: told(run) is Phase.PAUSED)


def test_what_was_sent_to_an_ended_run_is_refused_at_its_next_start() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=3, name="ended").wait()
    before = status_file.read(run.logdir).writer.attempt
    send(run.logdir, "late", {"command": "pause"})
    run = nbtrain.train(counter.step, steps=9, name="ended").wait()
    reply = answered(run.logdir, "late")
    assert reply["state"] == "refused"
    assert "before the run was started again" in reply["text"]
    assert status_file.read(run.logdir).writer.attempt != before


def test_a_disk_that_fails_for_a_moment_refuses_nothing(run: nbtrain.Run) -> None:
    send(run.logdir, "a1", {"command": "save", "at": 10**9})
    eventually(lambda: answer_to(run.logdir, "a1"))
    status = run.logdir / status_file.FILE

    def is_blocked() -> bool:
        status.unlink()
        try:
            status.mkdir()
        except FileExistsError:  # the run has written it in between
            return False
        return True

    eventually(is_blocked)
    eventually(lambda: "cannot be written" in (run.status.message or ""))
    send(run.logdir, "a2", {"command": "pause"})
    status.rmdir()
    assert answered(run.logdir, "a2")["text"] == "paused"
    told = answer_to(run.logdir, "a1")
    assert told is not None
    assert told["state"] == "requested"


def test_a_mailbox_deleted_while_the_run_trains_is_created_again(run: nbtrain.Run) -> None:
    delete(run.logdir / "mailbox")
    eventually((run.logdir / "mailbox").exists)
    send(run.logdir, "a1", {"command": "pause"})
    assert answered(run.logdir, "a1")["state"] == "applied"
    assert run.status.message is None


def test_a_run_without_room_for_a_mailbox_trains_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "runs" / "odd").mkdir(parents=True)
    (tmp_path / "runs" / "odd" / "mailbox").write_text("a file")
    run = nbtrain.train(Counter().step, logdir=tmp_path / "runs" / "odd")
    eventually(lambda: "mailbox cannot be written: File exists" in (run.status.message or ""))
    run.request_stop()
    run.wait()
