"""Starts a script in a new process, and attaches its run.

run = nbtrain.launch("train.py", "--epochs", 3)    # returns at once
run.set(learning_rate=1e-4)                        # waits until the run has started
"""

from __future__ import annotations

import os
import secrets
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path

import psutil

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.states import Phase, Status
from nbtrain.remote.attach import opened
from nbtrain.remote.attached import AttachedRun
from nbtrain.remote.liveness import has_ended
from nbtrain.rundir import mailbox, status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.folder import Logdir, shown, unwritable
from nbtrain.rundir.launched import FIRST_LINE, VARIABLE
from nbtrain.rundir.names import LOG, MAILBOX
from nbtrain.rundir.status_file import LAUNCH, SignOfLife, Writer
from nbtrain.steer import surroundings


@dataclass(frozen=True, slots=True)
class Program:
    """The program that a process runs.

    Attributes:
        script: The script; a relative one is in the run's folder.
        words: Its arguments.
        env: Environment variables that differ from those of this process.
        files: Texts to write into the run's folder first, by their names.
    """

    script: Path
    words: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def launch(
    script: str | os.PathLike[str],
    *arguments: str | os.PathLike[str] | float,
    name: str | None = None,
    logdir: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> AttachedRun:
    """Starts a Python script in a new process, and attaches the run that it will start.

    The process continues if this one ends, restarts or is killed; `nbtrain.attach` then finds its
    run again. Its prints are appended to `log.txt` in the run's folder.

    The first run of the script trains in the folder of this call. If the script sets its own name
    or logdir, the run trains there, and the folder of this call becomes a symbolic link to it.

    Args:
        script: The script, such as "train.py".
        arguments: Its arguments: texts, paths and numbers.
        name: The run's name; None means the script's name with a number.
        logdir: The run's folder; None means `runs/<name>`.
        env: Environment variables that differ from those of this process.

    Returns:
        The run, before it has started: commands wait until it has. If the script ends before that,
        the run has failed, and `run.status.failure` has the end of the log.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended uses the folder, or is being started there.

    Example:
        >>> run = nbtrain.launch("train.py", "--epochs", 3, name="digits")
        >>> run.wait()
    """
    program = Program(_script(script), _words(arguments), env or {})
    return started(program, Logdir(logdir, name, kind=program.script.stem, launches=True))


def started(program: Program, folder: Logdir) -> AttachedRun:
    """Starts a program, and attaches the run that it will start in the folder.

    Raises:
        ArgumentError: The folder cannot be written, or the process cannot be started.
        BusyError: A run that has not ended uses the folder, or is being started there.
    """
    path = folder.path
    folder.acquire()  # so that two launches do not use it at once
    before = {each.name for each in path.iterdir()}
    try:
        last = _last(path)
        mailbox.make(path)
        for name, text in program.files.items():
            (path / name).write_text(text, encoding="utf-8")
        process = _process(program, path)
        try:
            status_file.write(path, _first(program, process, folder.name, last))
        except BaseException:  # nothing would show the process
            process.kill()
            process.wait()
            raise
    except BaseException as error:
        _clear(path, {LOG, MAILBOX, *program.files} - before)
        folder.discard()
        if isinstance(error, OSError):
            raise unwritable(path, error) from None
        raise
    folder.release()
    # Reads the exit code, so that no zombie is left.
    wait = threading.Thread(target=process.wait, name=f"nbtrain launched {path.name}", daemon=True)
    wait.start()
    run = opened(path)
    surroundings.current.show_attached(run)
    return run


def _clear(folder: Path, names: set[str]) -> None:
    """Deletes the files of a failed launch."""
    for path in (folder / name for name in names):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


def _last(folder: Path) -> Status | None:
    """Returns the last status of a folder that has had a run; None if it had none.

    Raises:
        BusyError: A process that was launched is about to start a run there.
    """
    try:
        sign = status_file.read(folder)
    except (OSError, Untrusted):
        return None
    if sign.writer.launched and not has_ended(sign):
        raise BusyError(
            f"{folder} is held by {sign.writer}, which was launched and is about to start its "
            f"run. Stop it first: run = nbtrain.attach({shown(folder)!r}); run.request_stop(); "
            "run.wait(). Or give another name= or logdir=."
        )
    return sign.status


def _process(program: Program, folder: Path) -> subprocess.Popen[bytes]:
    """Starts the process, in a new session."""
    command = [sys.executable, "-u", str(folder / program.script), *program.words]
    # The figures of a script are not shown below a cell.
    inline = os.environ.get("MPLBACKEND", "").startswith("module://matplotlib_inline")
    left_out = {"MPLBACKEND"} if inline else set()
    environment = {name: text for name, text in os.environ.items() if name not in left_out}
    environment |= {**program.env, VARIABLE: str(folder)}
    with own_files.opened(folder / LOG, own_files.APPEND) as log:
        when = time.strftime("%Y-%m-%d %H:%M:%S")
        line = f"{FIRST_LINE} at {when}: {shlex.join(command[2:])}\n"
        log.write(line.encode())
        return subprocess.Popen(  # noqa: S603 - the user's own script
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )


def _first(
    program: Program, process: subprocess.Popen[bytes], name: str, last: Status | None
) -> SignOfLife:
    """Returns the status until the run writes its own."""
    script = program.script.name
    status = Status(
        name=name,
        engine=f"script {script}",
        phase=Phase.PREPARING,
        step=last.step if last else 0,
        checkpoints=last.checkpoints if last else (),
        notice=f"Process {process.pid} executes {script}, and has not started its run yet.",
    )
    begun = psutil.Process(process.pid).create_time()
    attempt = f"{LAUNCH}{secrets.token_hex(4)}"
    return SignOfLife(
        Writer(attempt, socket.gethostname(), process.pid, begun), time.time(), status
    )


# --- arguments ----------------------------------------------------------------------------


def _script(script: object) -> Path:
    try:
        path = Path(script).expanduser().absolute()  # type: ignore[arg-type]
    except (TypeError, RuntimeError):  # no path; an unknown home
        raise ArgumentError(
            f"launch({script!r}): give the path of a Python script, such as 'train.py'."
        ) from None
    if not path.is_file():
        name = repr(shown(path))
        why = f"{name} is a folder" if path.is_dir() else f"There is no script {name}"
        raise ArgumentError(
            f"{why}: give the path of a Python script. The working folder is {Path.cwd()}."
        )
    return path


def _words(arguments: Sequence[object]) -> list[str]:
    words = []
    for number, each in enumerate(arguments, 1):
        if isinstance(each, os.PathLike):
            words.append(str(os.fspath(each)))
        elif isinstance(each, str | Real) and not isinstance(each, bool):
            words.append(str(each))
        else:
            raise ArgumentError(
                f"Argument {number} of the script is {each!r}: give a text, a path or a number."
            )
    return words
