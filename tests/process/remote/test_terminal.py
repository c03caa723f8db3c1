"""The command line, on a run that trains in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nbtrain
from nbtrain.core.commands import Pause
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.rundir import status_file
from nbtrain.terminal import commands
from nbtrain.terminal.main import main
from tests.forked import Forked
from tests.gate import eventually
from tests.process.followed import FOLDER, phase, train


@pytest.fixture
def far() -> Iterator[Forked]:
    """A run in another process."""
    with Forked(train) as child:
        child.answer()
        eventually(lambda: phase() is Phase.RUNNING)
        # Before its first step it has no scalar by which a trial can be judged.
        eventually(lambda: status_file.read(Path(FOLDER)).status.step > 0)
        yield child


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Returns what a command line prints, which exits with a code."""
    assert main(words) == code
    out, err = capsys.readouterr()
    return out + err


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON that a command line prints."""
    return json.loads(said(capsys, *words, "--json", code=code))


def test_a_name_that_is_not_ascii_is_listed_in_a_pipe_of_ascii(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nbtrain.train(lambda: {"loss": 1.0}, steps=1, name="größe").wait()
    pipe = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", pipe)
    assert main(["ls", "runs"]) == 0
    pipe.seek(0)
    assert "gr\\xf6\\xdfe" in pipe.read()


def test_a_run_is_paused_edited_saved_restored_and_stopped(
    far: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ": paused\n" in said(capsys, "pause", FOLDER)
    assert phase() is Phase.PAUSED
    assert "Cannot pause" in told(capsys, "pause", FOLDER, code=1)["text"]
    edit = told(capsys, "set", FOLDER, "learning_rate=0.01")
    assert edit["edits"]["learning_rate"][1] == pytest.approx(0.01)
    saved = told(capsys, "save", FOLDER)
    assert (saved["state"], saved["text"]) == ("applied", f"saved ckpt-{saved['step']}")
    assert "running again" in told(capsys, "resume", FOLDER)["text"]
    back = told(capsys, "restore", FOLDER, str(saved["step"]))
    assert f"restored ckpt-{saved['step']}" in back["text"]
    words = "learning_rate=0.02", "--steps", "5", "--keep-if", "error"
    trial = told(capsys, "trial", FOLDER, *words)
    assert (trial["command"], "learning_rate 0.02" in trial["text"]) == ("try", True)
    several = "learning_rate=0.02,0.03", "--steps", "5", "--keep-if", "error", "--repeats", "2"
    compared = told(capsys, "trial", FOLDER, *several)
    assert [arm["name"] for arm in compared["arms"]] == [
        "learning_rate 0.02",
        "learning_rate 0.03",
    ]
    assert all(len(arm["after"]) == 2 for arm in compared["arms"])
    assert "error before" in said(capsys, "trial", FOLDER, *several)
    limits = "--low", "1e-3", "--high", "0.1", "--steps", "20", "--tag", "error"
    tested = told(capsys, "find_learning_rate", FOLDER, *limits)
    assert (tested["command"], "back to step" in tested["text"]) == ("try", True)
    wrong = said(capsys, "find_learning_rate", FOLDER, "--low", "1", "--high", "0.1", code=1)
    assert "give two positive numbers, the lower one first" in wrong
    late = said(capsys, "trial", FOLDER, *several[:1], "--steps", "50000", "--timeout", "1", code=4)
    assert late.startswith("no answer within 1 s: the command was sent, and may still be executed")
    assert "a trial of several values was left" in told(capsys, "pause", FOLDER)["text"]
    assert "running again" in told(capsys, "resume", FOLDER)["text"]
    assert "nothing to evaluate" in told(capsys, "evaluate", FOLDER, code=1)["text"]
    assert "stopp" in told(capsys, "stop", FOLDER)["text"]
    assert far.answer() == "ended"
    assert "the run has ended" in said(capsys, "pause", FOLDER, code=1)


def test_a_status_shows_the_run_and_its_process(
    far: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "status", FOLDER)
    assert "phase            running" in text
    assert f"from process {far.pid} on " in text
    fields = told(capsys, "status", FOLDER)
    assert (fields["name"], fields["phase"], fields["process"]) == ("far", "running", far.pid)


def test_runs_are_listed_with_their_phases(far: Forked, capsys: pytest.CaptureFixture[str]) -> None:
    head, row = said(capsys, "ls").splitlines()
    assert head.split() == ["run", "phase", "step", "speed", "process", "folder"]
    assert row.split()[:2] == ["far", "running"]
    assert [each["name"] for each in told(capsys, "ls", "runs")] == ["far"]


def test_a_killed_run_has_failed(far: Forked, capsys: pytest.CaptureFixture[str]) -> None:
    far.kill()
    eventually(lambda: told_phase(capsys) == "failed")
    assert "ended without a last status" in said(capsys, "status", FOLDER, code=1)
    assert "ended without a last status" in said(capsys, "resume", FOLDER, code=1)


def test_a_process_that_stands_still_is_listed_as_silent(
    far: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert far.pid is not None
    assert [each["silent"] for each in told(capsys, "ls")] == [False]
    os.kill(far.pid, signal.SIGSTOP)
    try:
        eventually(lambda: told(capsys, "ls")[0]["silent"])
        assert "running, no sign of life" in said(capsys, "ls")
    finally:
        os.kill(far.pid, signal.SIGCONT)
    eventually(lambda: not told(capsys, "ls")[0]["silent"])


def told_phase(capsys: pytest.CaptureFixture[str]) -> str:
    """The phase that a status tells, whatever the exit code."""
    main(["status", FOLDER, "--json"])
    return str(json.loads(capsys.readouterr().out)["phase"])


def test_a_trial_of_a_paused_run_says_that_it_waits_for_the_run(
    far: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "pause", FOLDER)
    waits = "learning_rate=0.02", "--steps", "50", "--keep-if", "error", "--timeout", "1"
    late = said(capsys, "trial", FOLDER, *waits, code=4)
    assert "nbtrain: The run is paused at step" in late
    assert re.search(r"no answer within 1 s: .* The run is paused at step .* is resumed", late)


def test_a_run_that_stands_still_answers_late_and_says_so(
    far: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    far.signal(signal.SIGSTOP)
    text = said(capsys, "pause", FOLDER, "--timeout", "0.2", code=4)
    assert text.startswith("no answer within 0.2 s: the command was not executed")
    late = told(capsys, "pause", FOLDER, "--timeout", "0.2", code=4)
    assert (late["state"], late["text"].partition(":")[0]) == (
        "unanswered",
        "the command was not executed",
    )
    eventually(lambda: main(["status", FOLDER]) == 4)
    assert "No sign of life" in capsys.readouterr().err
    far.signal(signal.SIGCONT)
    assert ": paused\n" in said(capsys, "pause", FOLDER)


def test_an_answer_that_comes_with_the_end_of_the_wait_is_not_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receipt = Receipt(Pause())

    @contextlib.contextmanager
    def answering(_folder: str) -> Iterator[Any]:
        yield SimpleNamespace(post=lambda *_, **__: receipt)
        receipt.answer(Outcome(applied=True, step=3, text="paused"))

    monkeypatch.setattr(commands, "run_in", answering)
    answer = commands.posted(FOLDER, Pause(), 0.0)
    assert (str(answer.outcome), answer.late) == ("applied at step 3: paused", False)


def test_a_terminal_of_80_columns_shows_every_value_and_the_end_of_its_curve(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with Forked(train, 400) as child:
        child.answer()
        text = said(capsys, "watch", FOLDER)
    begins = {line.split()[0] for line in text.splitlines()}
    assert {"loss", "error", "hyperparameters/learning_rate"} <= begins
    assert "…" not in text


def test_watching_shows_the_run_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    with Forked(train, 40) as child:
        child.answer()
        eventually(phase)
        text = said(capsys, "watch", FOLDER)
    assert "far finished · step 40 of 40" in text
    assert "loss" in text
    lines = [json.loads(line) for line in said(capsys, "watch", FOLDER, "--json").splitlines()]
    assert lines[-1]["phase"] == "finished"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("status", "runs/none"), 3, "no folder 'runs/none'"),
        (("pause", "."), 3, "has no status.json"),
        (("ls", "nowhere"), 3, "no folder 'nowhere'"),
        (("log", "."), 3, "There is no log.txt"),
        (("set", "runs/none", "learning_rate"), 2, "sets nothing"),
        (("set", "runs/none", "learning_rate=fast"), 2, "sets nothing"),
    ],
)
def test_a_line_that_cannot_be_done_says_why(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, text: str
) -> None:
    assert text in said(capsys, *words, code=code)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("explode",),
        ("pause",),
        ("log", ".", "-n", "some"),
        *(("pause", ".", "--timeout", secs) for secs in ("-1", "nan", "inf", "soon")),
    ],
)
def test_a_line_that_is_not_understood_shows_the_usage(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: nbtrain" in capsys.readouterr().err


def test_the_log_is_shown_from_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.txt").write_text("".join(f"line {number}\n" for number in range(30)))
    assert said(capsys, "log", str(tmp_path), "-n", "2") == "line 28\nline 29\n"
    assert told(capsys, "log", str(tmp_path))["lines"][0] == "line 10"


def test_the_log_of_a_run_is_followed_to_its_end(
    far: Forked, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(FOLDER, "log.txt")
    path.write_text("begun\n")
    out: Any = sys.stdout

    def end() -> None:
        eventually(lambda: "begun" in out.getvalue())
        with open(path, "a") as file:
            file.write("over\n")
        main(["stop", FOLDER, "--json"])

    thread = threading.Thread(target=end)
    thread.start()
    code = main(["log", FOLDER, "--follow"])
    thread.join()
    lines = capsys.readouterr().out.splitlines()
    assert (code, [line for line in lines if "{" not in line]) == (0, ["begun", "over"])


def test_the_module_is_the_command_line() -> None:
    asked = [sys.executable, "-m", "nbtrain", "--help"]
    text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "Watch and steer trainings from a terminal" in text
