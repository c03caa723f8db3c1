"""The door of a run: what cannot be written holds up nothing else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nbtrain.core.commands import NO_SENDER, Command, Sender
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase, Status
from nbtrain.run.outside.mail import Mail
from nbtrain.rundir import status_file
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.mailbox import answer_to, send

PAUSE = {"command": "pause"}


class Run:
    """A run that does at once what it is asked."""

    def __init__(self) -> None:
        self.step = 0
        self.at_post: Callable[[], object] = lambda: None

    @property
    def status(self) -> Status:
        return Status(name="a", engine="b", phase=Phase.RUNNING, step=self.step)

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        self.step += 1
        self.at_post()
        receipt = Receipt(command, sender=sender)
        receipt.answer(Outcome(applied=True, step=self.step, text="done"))
        return receipt


class Clock:
    """A clock that goes on by a tenth of a second each time it is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.1
        return self.now


@pytest.fixture
def logdir(tmp_path: Path) -> Iterator[Logdir]:
    """The folder of a run, locked."""
    made = Logdir(tmp_path / "run", None, kind="run")
    made.acquire()
    yield made
    made.release()


class Door:
    """The door of a run, and the messages that it shows."""

    def __init__(self, logdir: Logdir) -> None:
        self.run, self.notes, self.signs = Run(), dict[str, str | None](), list[int]()
        self.folder = logdir.path
        self.mail = Mail(self.run, logdir, self.note, lambda: False, clock=Clock())

    def note(self, topic: str, text: str | None) -> None:
        self.notes[topic] = text

    def state(self, key: str) -> object:
        """The state in the last answer to a command."""
        return (answer_to(self.folder, key) or {}).get("state")


def test_an_answer_that_cannot_be_written_holds_up_no_other(logdir: Logdir) -> None:
    door = Door(logdir)
    door.mail.tick()
    send(logdir.path, "a", PAUSE)
    send(logdir.path, "b", PAUSE)
    blocked = logdir.path / "mailbox" / "answers" / "a.json"
    door.run.at_post = lambda: blocked.mkdir(exist_ok=True)
    door.mail.tick()
    assert door.state("b") == "applied"
    assert "a.json cannot be written: Is a directory" in (door.notes["mailbox"] or "")
    door.run.at_post = lambda: None
    send(logdir.path, "e", PAUSE)
    door.mail.tick()
    assert door.state("e") == "applied"
    assert status_file.read(logdir.path).status.step == door.run.step
    blocked.rmdir()
    door.mail.tick()
    assert door.state("a") == "applied"
    assert door.notes["mailbox"] is None


def test_a_status_that_cannot_be_written_holds_up_no_answer(logdir: Logdir) -> None:
    door = Door(logdir)
    (logdir.path / "status.json").mkdir()
    door.mail.tick()
    send(logdir.path, "a", PAUSE)
    door.mail.tick()
    assert door.state("a") == "applied"
    assert "status.json cannot be written: Is a directory" in (door.notes["mailbox"] or "")


def test_the_message_about_what_cannot_be_written_stays_the_same(logdir: Logdir) -> None:
    door = Door(logdir)
    door.mail.tick()
    (logdir.path / "status.json").unlink()
    (logdir.path / "status.json").mkdir()
    told = set()
    for _ in range(12):
        door.mail.tick()
        told.add(door.notes["mailbox"])
    assert len(told - {None}) == 1


@pytest.mark.parametrize("early", [False, True])
def test_many_commands_hold_up_no_sign_of_life(
    logdir: Logdir, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    door, written = Door(logdir), list[int]()
    write, answers = status_file.write, logdir.path / "mailbox" / "answers"

    def noted(folder: Path, sign: status_file.SignOfLife) -> None:
        written.append(len(list(answers.iterdir())) if answers.is_dir() else 0)
        write(folder, sign)

    monkeypatch.setattr(status_file, "write", noted)
    if not early:
        door.mail.tick()
    (logdir.path / "mailbox").mkdir(exist_ok=True)
    for number in range(300):
        (logdir.path / "mailbox" / f"{number:03}.json").write_text(json.dumps(PAUSE))
    door.mail.tick()
    # The clock goes on with each answer: a sign of life is due after ten of them.
    assert max(later - sooner for sooner, later in itertools.pairwise(written)) <= 64


def test_what_was_sent_before_the_start_is_refused_in_turns(logdir: Logdir) -> None:
    (logdir.path / "mailbox").mkdir()
    for number in range(300):
        (logdir.path / "mailbox" / f"{number:03}.json").write_text(json.dumps(PAUSE))
    door = Door(logdir)
    door.mail.tick()
    assert door.state("000") == "refused"
    assert "before the run was started again" in str(answer_to(logdir.path, "000"))
    door.mail.tick()
    assert door.state("299") == "refused"
    assert door.run.step == 0
