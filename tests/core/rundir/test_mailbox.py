"""The mailbox of a folder: one rename decides, and what cannot be trusted is refused in words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.rundir import files
from nbtrain.rundir import mailbox as mail
from nbtrain.rundir.mailbox import (
    MOST_BYTES,
    WRITING_SECS,
    Letter,
    Mailbox,
    answer_to,
    send,
    withdraw,
)

PAUSE = {"command": "pause"}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def box(tmp_path: Path, clock: Clock) -> Mailbox:
    opened = Mailbox(tmp_path, "now", clock=clock)
    assert opened.open() == []
    return opened


def put(folder: Path, name: str, content: str) -> Path:
    """A file in the mailbox, written long ago by the clock of its share."""
    path = folder / "mailbox" / name
    path.write_text(content)
    os.utime(path, (1e9, 1e9))
    return path


def test_a_command_is_taken_once_and_its_answers_are_read(box: Mailbox, tmp_path: Path) -> None:
    send(tmp_path, "a1", {**PAUSE, "by": "ada"})
    (letter,) = box.receive()
    assert (letter.id, letter.fields["by"], letter.refusal) == ("a1", "ada", "")
    assert box.receive() == []
    assert answer_to(tmp_path, "a1") is None
    box.answer("a1", {"state": "requested"})
    told = answer_to(tmp_path, "a1")
    assert told is not None
    assert told["state"] == "requested"
    box.close("a1", {"state": "applied", "step": 3})
    assert answer_to(tmp_path, "a1") == {"nbtrain": 1, "id": "a1", "state": "applied", "step": 3}


def test_commands_are_taken_in_the_order_of_their_writing(box: Mailbox, tmp_path: Path) -> None:
    for age, name in enumerate(["c", "a", "b"]):
        path = put(tmp_path, f"{name}.json", json.dumps(PAUSE))
        os.utime(path, (1e9 + age, 1e9 + age))
    assert [letter.id for letter in box.receive()] == ["c", "a", "b"]


def test_more_than_wanted_waits_in_the_mailbox(box: Mailbox, tmp_path: Path) -> None:
    for name in "abc":
        send(tmp_path, name, PAUSE)
    assert [letter.id for letter in box.receive(2)] == ["a", "b"]
    assert box.receive(0) == []
    assert [letter.id for letter in box.receive(2)] == ["c"]


def test_a_withdrawn_command_is_not_taken_and_a_taken_one_not_withdrawn(
    box: Mailbox, tmp_path: Path
) -> None:
    send(tmp_path, "a1", PAUSE)
    assert withdraw(tmp_path, "a1")
    assert box.receive() == []
    send(tmp_path, "a2", PAUSE)
    assert len(box.receive()) == 1
    assert not withdraw(tmp_path, "a2")


def test_of_two_processes_that_read_one_mailbox_one_takes_a_command(
    box: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, read, taken = Mailbox(tmp_path, "now"), files.read, list[Letter]()

    def read_while_the_first_takes_it(path: Path, **more: Any) -> dict[str, Any]:
        fields = read(path, **more)
        monkeypatch.setattr(files, "read", read)
        taken.extend(box.receive())
        return fields

    assert other.open() == []
    send(tmp_path, "a1", PAUSE)
    monkeypatch.setattr(files, "read", read_while_the_first_takes_it)
    assert other.receive() == []
    assert [letter.id for letter in taken] == ["a1"]


def test_an_answered_id_is_not_executed_again(box: Mailbox, tmp_path: Path) -> None:
    send(tmp_path, "a1", PAUSE)
    box.receive()
    box.close("a1", {"state": "applied"})
    send(tmp_path, "a1", {"command": "stop"})
    assert box.receive() == []
    told = answer_to(tmp_path, "a1")
    assert told is not None
    assert told["state"] == "applied"
    assert not (tmp_path / "mailbox" / "a1.json").exists()


def test_the_next_start_finds_what_was_taken_and_what_was_not(box: Mailbox, tmp_path: Path) -> None:
    send(tmp_path, "taken", PAUSE)
    box.receive()
    send(tmp_path, "waits", PAUSE)
    later = Mailbox(tmp_path, "later")
    assert later.open() == ["taken"]
    assert later.receive() == [Letter("waits", {}, is_early=True)]
    send(tmp_path, "new", PAUSE)
    assert later.receive() == [Letter("new", {"nbtrain": 1, **PAUSE})]


@pytest.mark.parametrize("attempt", [{}, {"attempt": "now"}])
def test_the_next_start_takes_a_note_that_was_sent_as_the_process_ended(
    box: Mailbox, tmp_path: Path, attempt: dict[str, str]
) -> None:
    note = {"command": "note", "text": "the loss is flat", **attempt}
    send(tmp_path, "early", note)
    later = Mailbox(tmp_path, "later")
    assert later.open() == []
    send(tmp_path, "late", note)
    letters = [(letter.id, letter.refusal, letter.is_early) for letter in later.receive()]
    assert letters == [("early", "", False), ("late", "", False)]


def test_a_refused_file_stays_until_its_answer_is_written(box: Mailbox, tmp_path: Path) -> None:
    put(tmp_path, "a1.json", "[1]")
    (first,) = box.receive()
    start = Mailbox(tmp_path, "later")
    assert start.open() == []  # the first start was killed
    (later,) = start.receive()
    assert first == later
    assert "not a JSON object" in later.refusal


def test_a_command_with_its_last_answer_gets_no_other_one_from_the_next_start(
    box: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(tmp_path, "a1", PAUSE)
    box.receive()
    with monkeypatch.context() as killed:
        killed.setattr(Path, "unlink", lambda *_, **__: None)
        box.close("a1", {"state": "refused", "text": "why"})
    assert Mailbox(tmp_path, "later").open() == []
    assert (answer_to(tmp_path, "a1") or {})["text"] == "why"
    assert list((tmp_path / "mailbox" / "taken").iterdir()) == []


def test_what_killed_processes_were_writing_is_deleted(box: Mailbox, tmp_path: Path) -> None:
    old = [put(tmp_path, name, "{") for name in (".a1.json-0badcafe", "answers/.a2.json-0badcafe")]
    new = put(tmp_path, ".a3.json-0badcafe", "{")
    os.utime(new)
    box.open()
    assert [path.exists() for path in (*old, new)] == [False, False, True]


def test_a_command_for_an_earlier_start_is_refused(box: Mailbox, tmp_path: Path) -> None:
    send(tmp_path, "a1", {**PAUSE, "attempt": "before"})
    send(tmp_path, "a2", {**PAUSE, "attempt": "now"})
    refused, taken = sorted(box.receive(), key=lambda letter: letter.id)
    assert (refused.id, refused.fields) == ("a1", {})
    assert "earlier start" in refused.refusal
    assert (taken.id, taken.refusal) == ("a2", "")


def link(path: Path) -> None:
    target = path.parent.parent / "elsewhere.json"
    target.write_text(json.dumps(PAUSE))
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_text("{"), "not JSON"),
        (lambda path: path.write_text("[" * 100_000), "not JSON"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "not JSON"),
        (lambda path: path.write_text("[1]"), "not a JSON object"),
        (lambda path: path.write_text(" " * (MOST_BYTES + 1)), "the most"),
        (link, "symbolic link"),
        (os.mkfifo, "not a file"),
    ],
)
def test_what_cannot_be_a_command_is_refused_and_removed(
    box: Mailbox, tmp_path: Path, clock: Clock, make: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "mailbox" / "bad.json"
    make(path)
    letters = box.receive()
    clock.now = WRITING_SECS
    (letter,) = letters or box.receive()
    assert letter.id == "bad"
    assert letter.fields == {}
    assert said in letter.refusal
    assert box.receive() == []
    box.close("bad", {"state": "refused"})
    assert not path.is_symlink()
    assert not path.exists()
    assert (tmp_path / "elsewhere.json").exists() == (make is link)


def test_a_file_that_comes_in_parts_is_taken_once_it_is_whole(
    box: Mailbox, tmp_path: Path, clock: Clock
) -> None:
    whole = json.dumps(PAUSE)
    for length in range(len(whole)):
        put(tmp_path, "a1.json", whole[:length])
        assert box.receive() == []
        clock.now += 0.9 * WRITING_SECS
    put(tmp_path, "a1.json", whole)
    assert [letter.fields for letter in box.receive()] == [PAUSE]


def test_a_file_that_stays_a_part_is_refused(box: Mailbox, tmp_path: Path, clock: Clock) -> None:
    put(tmp_path, "a1.json", '{"command": ')
    assert box.receive() == []
    clock.now += WRITING_SECS
    (letter,) = box.receive()
    assert "not JSON" in letter.refusal


def test_a_file_that_cannot_be_taken_yet_is_taken_later(box: Mailbox, tmp_path: Path) -> None:
    send(tmp_path, "a1", PAUSE)
    taken, away = tmp_path / "mailbox" / "taken", tmp_path / "away"
    taken.rename(away)
    taken.write_text("")  # a file in its place: a rename into it fails
    assert box.receive() == []
    taken.unlink()
    away.rename(taken)
    assert [letter.id for letter in box.receive()] == ["a1"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can chown")
def test_a_command_of_another_user_is_refused(box: Mailbox, tmp_path: Path) -> None:
    path = put(tmp_path, "a1.json", json.dumps(PAUSE))
    os.chown(path, 12345, -1)
    (letter,) = box.receive()
    assert "belongs to user 12345" in letter.refusal


@pytest.mark.parametrize("name", [".hidden.json", "a1.json.tmp", "notes.txt"])
def test_other_files_are_no_commands(box: Mailbox, tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, json.dumps(PAUSE))
    assert box.receive() == []
    assert path.exists()


@pytest.mark.parametrize("name", ["my pause", 81 * "a", 250 * "a"])
def test_a_command_in_a_file_of_another_name_is_refused_and_answered(
    box: Mailbox, tmp_path: Path, name: str
) -> None:
    path = put(tmp_path, f"{name}.json", json.dumps(PAUSE))
    (letter,) = box.receive()
    assert letter.refusal.startswith(f"its name is {name!r}: give letters, digits, - and _")
    box.close(letter.id, {"state": "refused"})
    assert (tmp_path / "mailbox" / "answers" / path.name).exists()
    assert not path.exists()


def test_a_folder_of_a_commands_name_does_no_harm(box: Mailbox, tmp_path: Path) -> None:
    (tmp_path / "mailbox" / "a1.json").mkdir()
    (letter,) = box.receive()
    assert letter.refusal
    box.close("a1", {"state": "refused"})
    assert box.receive() == []
    send(tmp_path, "a2", PAUSE)
    assert [letter.id for letter in box.receive() if not letter.refusal] == ["a2"]


@pytest.mark.parametrize("key", ["", "../a", "a b", "x" * 81, ".a", "a/b"])
def test_an_id_that_cannot_be_a_file_name_is_not_sent(
    box: Mailbox, tmp_path: Path, key: str
) -> None:
    with pytest.raises(ArgumentError, match="letters, digits"):
        send(tmp_path, key, PAUSE)


def test_a_folder_without_a_mailbox_takes_no_commands(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        send(tmp_path, "a1", PAUSE)
    assert answer_to(tmp_path, "a1") is None


def test_a_command_sent_as_soon_as_the_folders_exist_is_for_this_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Mailbox(tmp_path, "first")
    create = box.create

    def create_and_get_a_command() -> None:
        create()
        mail.send(tmp_path, "a1", {"command": "stop"})

    monkeypatch.setattr(box, "create", create_and_get_a_command)
    box.open()
    assert [letter.is_early for letter in box.receive()] == [False]


@pytest.mark.parametrize("name", ["mailbox", "mailbox/taken", "mailbox/answers"])
def test_a_mailbox_that_is_a_link_is_not_used(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "run" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        Mailbox(tmp_path / "run", "now").open()


def test_old_answers_are_deleted_and_new_ones_and_open_ones_stay(
    box: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "ANSWERS_KEPT", 1)
    send(tmp_path, "open", PAUSE)
    box.receive()
    for key in ("open", "old", "new"):
        box.answer(key, {"state": "requested"})
    answers = tmp_path / "mailbox" / "answers"
    for key in ("open", "old"):
        os.utime(answers / f"{key}.json", (1e9, 1e9))
    box.tidy()
    assert sorted(path.name for path in answers.glob("*.json")) == ["new.json", "open.json"]
