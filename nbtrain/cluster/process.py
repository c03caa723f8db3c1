"""A process of this machine that runs a task: `python -m nbtrain.worker`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from nbtrain.cluster import task_file
from nbtrain.cluster.description import TF_CONFIG, Description
from nbtrain.core import own_files


class TaskProcess:
    """The process of one task; it ends when this process ends, if not before.

    Args:
        description: The cluster and the task; see `Description.as_task`.
        folder: The folder of the cluster, for log and status.
        program: A script and its arguments; empty for a server.
        env: Environment variables that differ from those of this process.

    Raises:
        OSError: The folder cannot be written, or the process cannot be started.
    """

    def __init__(
        self,
        description: Description,
        folder: Path,
        program: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        assert description.job is not None, "the description of a task"
        own = task_file.folder_of(folder, description.task(description.job, description.index))
        own.mkdir(parents=True, exist_ok=True)
        (own / task_file.FILE).unlink(missing_ok=True)  # an earlier process wrote it
        command = [sys.executable, "-u", "-m", "nbtrain.worker", "--lifeline"]
        command += ["--folder", str(folder), *program]
        # A notebook's backend shows figures below a cell, and a script has none.
        left_out = {"MPLBACKEND"} if "inline" in os.environ.get("MPLBACKEND", "") else set()
        environment = {name: text for name, text in os.environ.items() if name not in left_out}
        environment |= {TF_CONFIG: description.tf_config, **(env or {})}
        with own_files.opened(own / task_file.LOG, own_files.APPEND) as log:
            # In a session of its own: an interrupt of the kernel goes to the kernel's session.
            self._process = subprocess.Popen(  # noqa: S603 - the user's own script
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, or minus the signal that has ended the process; None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Asks the process and its children to end; kills them if the process is halted."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL if self._is_halted else signal.SIGTERM)

    def kill(self) -> None:
        """Kills the process and its children."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
        self._process.wait()
        self._close()

    def join(self, secs: float) -> bool:
        """Waits until the process has ended, then kills its children; returns whether it ended."""
        try:
            self._process.wait(max(0.0, secs))
        except subprocess.TimeoutExpired:
            return False
        self._close()
        return True

    @property
    def _is_halted(self) -> bool:
        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED)
        return False

    def _signal(self, number: signal.Signals) -> None:
        """Sends a signal to the session of the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _close(self) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()
            self._signal(signal.SIGKILL)
