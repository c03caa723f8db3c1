"""`tests.forked`: a child does what a process of its own would do."""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests import ROOT
from tests.forked import Forked, printed
from tests.gate import SOON


def talk(pipe: Connection) -> None:
    print("begun")
    print("in words", file=sys.stderr)
    while True:
        pipe.send((pipe.recv(), Path.cwd(), "tensorflow" in sys.modules))


def test_a_child_answers_in_its_folder_prints_and_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "its"
    folder.mkdir()
    with Forked(talk, folder=folder) as child:
        child.send("hello")
        assert child.answer() == ("hello", folder, True)
        assert (child.out, child.err) == ("begun\n", "in words\n")
        assert child.exitcode is None
        child.kill()
    assert child.exitcode == -signal.SIGKILL
    assert (child.out, child.err) == ("begun\n", "in words\n")


def test_a_child_whose_pipe_is_closed_may_end_by_itself() -> None:
    with Forked(talk) as child:
        assert child.leave() == 1
        assert "EOFError" in child.err


def fail(pipe: Connection) -> None:
    raise ValueError("its own mistake")


def test_a_child_that_fails_fails_the_test_in_its_words() -> None:
    with Forked(fail) as child, pytest.raises(AssertionError, match="its own mistake"):
        child.answer()
    with pytest.raises(AssertionError, match=r"(?s)exit code 1\n.*its own mistake"):
        printed(fail)


def script(pipe: Connection, word: str) -> None:
    atexit.register(os.write, 1, b"at its exit\n")
    print(word)


def test_a_child_ends_as_a_script_where_that_is_asked_for() -> None:
    assert printed(script, "done") == "done\n"
    with Forked(script, "done", finalize=True) as child:
        assert child.wait() == 0
        assert child.out == "done\nat its exit\n"


def test_a_child_that_fails_ends_as_a_script_where_that_is_asked_for() -> None:
    with Forked(fail, finalize=True) as child:
        assert child.wait() == 1
        assert child.err.endswith("ValueError: its own mistake\n")


def test_a_child_is_ended_by_a_signal() -> None:
    with Forked(talk) as child:
        child.send("hello")
        child.answer()
        child.signal(signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM


def stay(pipe: Connection, told: str) -> None:
    with open(told, "w") as file:
        print(os.getpid(), file=file, flush=True)
        threading.Event().wait()


# A test run with one child, whose imports are left out.
SESSION = """
import sys
from tests import forked
from tests.process.test_forked import stay
forked.SERVER.set_forkserver_preload([])
forked.Forked(stay, sys.argv[1]).wait()
"""


def test_a_child_ends_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    command = [sys.executable, "-c", SESSION, str(told)]
    with subprocess.Popen(command, cwd=ROOT) as session, open(told) as file:
        child = int(file.readline())
        session.terminate()
        session.wait(SOON)
        ended, _, _ = select.select([file], [], [], SOON)
        if not ended:
            os.kill(child, signal.SIGKILL)
        assert ended
