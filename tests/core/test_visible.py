"""No text of another process reaches a terminal with sequences that the terminal would obey."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest
from rich.console import Console

from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.tasks import Task, TaskState
from nbtrain.core.text.visible import on_one_line, say, visible
from nbtrain.remote.attach import opened
from nbtrain.rundir import status_file
from nbtrain.rundir.status_file import SignOfLife, Writer
from nbtrain.terminal.main import main
from nbtrain.terminal.watch import picture

CLEAR, TITLE = "\x1b[2J\x1b[H", "\x1b]0;mine\x07"
HOSTILE = f"{CLEAR}{TITLE}\x9b31m\x07\r\x08\u202e\udcff"
OBEYED = "\x1b\x07\x08\x9b\r\u202e\udcff"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("digits, Größe 3 µs → 数字", "digits, Größe 3 µs → 数字"),
        ("a line\n\tanother", "a line\n\tanother"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        (f"{CLEAR}a{TITLE}b", "ab"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(0line\x1bc", "line"),
        ("\x9b2Ja", "a"),
        ("\x1b]0;without an end", "�]0;without an end"),
        ("\x1b", "�"),
        ("a\x00b\x07c\x7fd\x85e", "a�b�c�d�e"),
        ("a\r\nb\rc", "a\nb�c"),
        ("half \ud800", "half �"),
        ("\u202eback", "�back"),
    ],
)
def test_a_text_is_shown_without_what_a_terminal_obeys(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_name_is_one_line() -> None:
    assert on_one_line("a\nb\tc\x1b[2J") == "a b c"


def test_what_a_stream_cannot_encode_is_an_escape() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii")
    say("Größe\x1b[2J", stream, flush=True)
    assert raw.getvalue() == b"Gr\\xf6\\xdfe\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run with hostile names, tags and messages."""
    folder = tmp_path / "run"
    (folder / "mailbox").mkdir(parents=True)
    status = Status(
        f"name{HOSTILE}",
        f"engine{HOSTILE}",
        Phase.FINISHED,
        3,
        values={f"loss{HOSTILE}": 0.5},
        values_at={f"loss{HOSTILE}": 2},
        checkpoints=(Checkpoint(3, f"{folder}/ckpt{HOSTILE}-3", 1.0),),
        threads=(f"thread{HOSTILE}",),
        message=f"message{HOSTILE}",
        notice=f"notice{HOSTILE}",
        error=f"error{HOSTILE}",
        failure=f"failure{HOSTILE}",
        log=(f"log{HOSTILE}",),
        mirror=f"mirror{HOSTILE}",
        tasks=(Task(f"worker{HOSTILE}", 0, TaskState.LOST, f"address{HOSTILE}", log=HOSTILE),),
        tags=(f"tag{HOSTILE}",),
    )
    writer = Writer("a1", f"host{HOSTILE}", 4711, time.time())
    status_file.write(folder, SignOfLife(writer, time.time(), status))
    note = {"event": "note", "step": 3, "text": f"note{HOSTILE}", "applied": True}
    (folder / "steering.jsonl").write_text(json.dumps(note) + "\n")
    (folder / "log.txt").write_text(f"a line{HOSTILE}\nlast", errors="replace")
    return folder


@pytest.mark.parametrize(
    "words",
    [("ls", "."), ("status", "run"), ("log", "run"), ("pause", "run"), ("watch", "run")],
)
def test_no_verb_sends_sequences_to_the_terminal(
    run: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    main(words)
    out, err = capsys.readouterr()
    assert out + err
    assert not [char for char in OBEYED if char in out + err]


def test_the_live_picture_has_no_sequences_of_the_run(run: Path) -> None:
    console = Console(file=io.StringIO(), width=80, color_system=None, force_terminal=False)
    with opened(run) as attached:
        attached.read(60.0)
        console.print(picture(attached, 80))
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        assert "\x1b" not in repr(attached.status) + repr(attached.marks) + repr(attached.log)
    assert "name" in shown
    assert "note" in shown
    assert not [char for char in OBEYED if char in shown]


def test_a_name_that_ascii_lacks_is_listed_into_a_pipe(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps({**told, "name": "Größe", "host": "lab"}))
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, "ascii", write_through=True))
    assert main(["ls", "."]) == 0
    assert b"Gr\\xf6\\xdfe" in raw.getvalue()
