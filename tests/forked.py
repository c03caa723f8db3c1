"""A process of its own for a test, without the seconds that an import of TensorFlow takes.

Each child is forked off one process, the server, in which TensorFlow, Keras and nbtrain are
imported and nothing of TensorFlow has run yet. The first child of a session waits for the
imports of the server; each further one starts within a tenth of a second.

    def train(pipe: Connection, steps: int) -> None:  # of the test's module; in the child
        run = nbtrain.train(step, steps=steps, name="killed")
        pipe.send("started")
        print(pipe.recv())
        run.wait()

    def test_a_killed_run_leaves_its_checkpoints() -> None:
        with Forked(train, 100) as child:
            assert child.answer() == "started"
            child.send("go on")
            child.kill()
        assert child.exitcode == -signal.SIGKILL
        assert child.out == "go on\\n"

    def test_a_script_runs_to_its_end() -> None:
        assert printed(script, 3) == "done\\n"

A child has the module path and the folder of the test and the environment of the server. It ends
as a process of `multiprocessing` does, by `os._exit`; with `finalize=True` it ends as a script
does: it shows its error, waits for threads that are no daemons, calls what `atexit` holds and
finalizes Python. A
test of how modules are imported, of options of the interpreter, or of what is to be set before
TensorFlow is imported needs a fresh interpreter instead.
"""

from __future__ import annotations

import _thread
import ctypes
import faulthandler
import gc
import io
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from typing_extensions import Self

from tests.gate import SOON

SERVER = multiprocessing.get_context("forkserver")
# Most children use these. They import the rest themselves, each of them again.
PRELOADED = ["tensorflow", "keras", "pytest", "nbtrain.run.run", "nbtrain.keras.fit"]
SERVER.set_forkserver_preload(PRELOADED)


class Forked:
    """A child that calls a function; it is killed at the end of the `with` block or the test run.

    Args:
        target: A function of a module, called as `target(pipe, *args)`.
        args: Pickled.
        folder: In which the child works; None: in the test's.
        finalize: Whether the child ends as a script does.
    """

    def __init__(
        self,
        target: Callable[..., object],
        *args: Any,
        folder: Path | None = None,
        finalize: bool = False,
    ) -> None:
        self._texts = _Text(), _Text()
        self._pipe, theirs = SERVER.Pipe()
        given = theirs, self._texts, folder or Path.cwd(), finalize, target, args
        self._process = SERVER.Process(target=_lived, args=given, daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def exitcode(self) -> int | None:
        """Its exit code; minus the number of the signal that ended it; None while it lives."""
        return self._process.exitcode

    @property
    def out(self) -> str:
        """Everything that it has printed so far."""
        return self._texts[0].read()

    @property
    def err(self) -> str:
        """The same of its standard error, where the traceback of its error stands."""
        return self._texts[1].read()

    def send(self, value: Any) -> None:
        """Send it something, which its `pipe.recv()` returns."""
        self._pipe.send(value)

    def answer(self) -> Any:
        """The next thing that it sends; an error that it sends fails the test."""
        if not self._pipe.poll(SOON):
            self.signal(signal.SIGABRT)  # it shows where each thread stands
            raise AssertionError(f"no answer: exit code {self.wait()} of a hang\n{self.err}")
        try:
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise AssertionError(f"no answer, but exit code {self.wait()}\n{self.err}") from None
        assert not isinstance(answer, BaseException), answer
        return answer

    def wait(self, secs: float = SOON) -> int | None:
        """Its exit code, once it has ended by itself; None if it does not end."""
        self._process.join(secs)
        return self.exitcode

    def leave(self) -> int | None:
        """Close the pipe, so that its `pipe.recv()` raises EOFError; its exit code."""
        self._pipe.close()
        return self.wait()

    def signal(self, number: int) -> None:
        """Send it a signal, such as `signal.SIGTERM`."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it by SIGKILL, as a machine that is switched off."""
        if self._process.is_alive():
            self.signal(signal.SIGKILL)
            self._process.join(SOON)
        self._pipe.close()
        for text in self._texts:
            text.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()


def printed(target: Callable[..., object], *args: Any, folder: Path | None = None) -> str:
    """Returns the prints of a function in a child; fails unless the child runs to its end."""
    with Forked(target, *args, folder=folder) as child:
        # It does the work of a whole test, for which pytest's own limit is 300 s.
        assert child.wait(2 * SOON) == 0, f"exit code {child.exitcode}\n{child.err}"
        return child.out


class _Text:
    """A file without a name, to which the child prints, and which outlives it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
        self._text: str | None = None

    def read(self) -> str:
        """All of it; the file's position is the child's."""
        if self._text is not None:
            return self._text
        number = self._file.fileno()
        return os.pread(number, os.fstat(number).st_size, 0).decode()

    def close(self) -> None:
        """Keep the text, and close the file."""
        self._text = self.read()
        self._file.close()

    def __reduce__(self) -> Any:
        """In the child it is the number of the open file."""
        return _Text.opened, (reduction.DupFd(self._file.fileno()),)

    @staticmethod
    def opened(handle: Any) -> int:
        """The file's number in this process."""
        return int(handle.detach())


# --- in the child -------------------------------------------------------------------


def _end_with(parent: int) -> None:
    """Kill this process once the test run is gone, which cannot end it any more."""
    wait([parent])
    os.kill(os.getpid(), signal.SIGKILL)


def _lived(
    pipe: Connection,
    texts: tuple[int, int],
    folder: Path,
    finalize: bool,
    target: Callable[..., object],
    args: tuple[Any, ...],
) -> None:
    """Call the target in its folder, with standard output and error in files."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        os.dup2(texts[number - 1], number)
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=True)
    faulthandler.enable()
    os.chdir(folder)
    gc.freeze()  # what was imported is not searched, nor freed at the end, which takes a second
    parent = multiprocessing.parent_process()
    assert parent is not None
    _thread.start_new_thread(_end_with, (parent.sentinel,))  # unseen by tests that list threads
    status: Any = 0
    try:
        target(pipe, *args)
    except SystemExit as left:
        if not finalize:
            raise
        status = left.code
    except BaseException:
        if not finalize:
            raise
        sys.excepthook(*sys.exc_info())
        status = 1
    if finalize:
        ctypes.pythonapi.Py_Exit(status)
