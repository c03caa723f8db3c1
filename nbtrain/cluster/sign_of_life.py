"""Writes the status of a task about once a second, from a thread of its process."""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil

from nbtrain.cluster import task_file
from nbtrain.cluster.description import TaskAddress
from nbtrain.cluster.task_file import ALIVE_SECS, State, TaskStatus


class TaskSigns:
    """The status file of the task that this process runs; any thread.

    Args:
        task: The task.
        folder: The folder of the task; None writes nothing.
    """

    def __init__(self, task: TaskAddress, folder: Path | None) -> None:
        self._folder = folder
        process = psutil.Process()
        self._status = TaskStatus(
            job=task.job,
            index=task.index,
            address=task.address,
            state=State.STARTING,
            host=socket.gethostname(),
            process=process.pid,
            process_started=process.create_time(),
        )
        self._writing = threading.Lock()  # the last state is written last
        self._is_failing = False
        self.write(State.STARTING)
        if folder is not None:
            threading.Thread(target=self._beat, name="nbtrain task", daemon=True).start()

    def write(self, state: State, reason: str = "") -> None:
        """Writes a state at once; ignores it if the task has ended."""
        with self._writing:
            if not self._status.state.over:
                self._status = replace(self._status, state=state, reason=reason)
                self._write()

    def _beat(self) -> None:
        pid = os.getpid()
        while os.getpid() == pid and not self._status.state.over:
            time.sleep(ALIVE_SECS)
            with self._writing:
                self._write()

    def _write(self) -> None:
        if self._folder is None:
            return
        try:
            task_file.write(self._folder, replace(self._status, alive=round(time.time(), 3)))
        except OSError as error:  # a full disk does not end a task
            if not self._is_failing:
                self._is_failing = True
                print(f"The status of the task cannot be written: {error}", flush=True)  # noqa: T201
        else:
            self._is_failing = False
