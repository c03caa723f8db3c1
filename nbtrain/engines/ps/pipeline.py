"""Keeps the workers of a cluster busy: a few steps for each are scheduled at any time.

TensorFlow sends each new function to all workers, and informs them when a function is deleted. It
waits for their answers with Python's lock held, so a halted worker would halt this process too.
Therefore functions are made only for a command, after all workers have answered.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from nbtrain.engines.ps import servers
from nbtrain.engines.ps.connection import CALLER, Connection
from nbtrain.inner.tensorflow import is_fetched
from nbtrain.run.boundary.remote_loop import RemoteLoop

# Scheduled steps for each worker: the one that it executes, and two that wait, so that a worker
# need not wait until the coordinator has noticed that it is done. A command waits for all of them.
_AHEAD = 3
# Seconds between two polls for completed steps: less than the time of the waiting steps.
_POLL_SECS = 0.02
# Seconds without a completed step after which the workers are checked.
_IDLE_SECS = 0.5
# While a command waits for steps, silent workers are ended or reported after this many seconds
# without a completed step, or after this multiple of the longest step: TensorFlow waits for ever
# for a worker that is halted.
_PATIENCE_SECS, _PATIENCE = 10.0, 3.0
# The same before the first step is done, which is traced.
_FIRST_PATIENCE_SECS = 60.0


class _Scheduled(NamedTuple):
    """A step under way: its `RemoteValue`, and when it was scheduled."""

    remote: Any
    at: float


class Pipeline:
    """Schedules steps, and returns their values one by one; training thread only.

    Args:
        loop: The loop of the run.
        connection: The cluster.
        note: Shows a message about a topic, or (None) clears it.

    Attributes:
        connection: The cluster, which another one replaces after a loss.
    """

    def __init__(
        self,
        loop: RemoteLoop,
        connection: Connection,
        note: Callable[[str, str | None], object],
    ) -> None:
        self.connection = connection
        self._loop = loop
        self._workers = len(connection.description.of("worker"))
        self._note = note
        self._in_flight: list[_Scheduled] = []
        self._longest = 0.0  # seconds that a step has taken
        self._ready: deque[Mapping[str, Any]] = deque()
        self._error: BaseException | None = None
        self._is_lost = False

    def __call__(self) -> Mapping[str, Any]:
        """Returns the values of a completed step; waits until there is one.

        Raises:
            StopIteration: The run must end: a command has ended it that was executed while no step
                was completed, or has counted the last step.
            Exception: The error of a step, or of a lost parameter server.
        """
        while not self._ready:
            self._raise()
            if self._loop.steps_left <= 0:
                raise StopIteration
            self._fill()
            self._wait()
            if self._ready:
                try:
                    self._fill()  # before the boundary handles them
                except Exception as error:  # noqa: BLE001 - raised once they are counted
                    self._error = error
        return self._ready.popleft()

    def complete(self) -> None:
        """Waits for all scheduled steps and counts them; the next call raises their error."""
        if self._is_lost:
            return
        self._count()
        since = time.monotonic()
        try:
            while self._in_flight and not self._stands_still():
                self._wait(answering=False)
                since = time.monotonic() if self._ready else since
                self._count()
                if time.monotonic() - since > self._patience:
                    since = time.monotonic()
                    self._end_silent(", ".join(self._loop.lost_tasks) or "a worker")
            self._wait_for_answers()
            self._note("silent", None)
        except Exception as error:  # noqa: BLE001 - raised by the next call
            self._error = error
            self._count()

    def _wait_for_answers(self) -> None:
        """Waits until all workers answer; then functions can be made for a command."""
        for worker, asked in enumerate([_ask(worker) for worker in range(self._workers)]):
            asked.join(self._patience)
            while asked.is_alive():
                self._check_servers()
                self._end_silent(f"worker {worker}")
                asked.join(self._patience)

    def lose(self) -> None:
        """Gives up the steps of the connection, which is lost."""
        self._is_lost = True
        self._in_flight, self._error = [], None
        self._ready.clear()

    def reset(self, connection: Connection) -> None:
        """Starts again with another connection."""
        self.connection, self._is_lost = connection, False

    def _count(self) -> None:
        while self._ready:
            self._loop.count(self._ready.popleft())

    @property
    def _patience(self) -> float:
        if not self._longest:
            return _FIRST_PATIENCE_SECS
        return max(_PATIENCE_SECS, _PATIENCE * self._longest)

    def _end_silent(self, silent: str) -> None:
        """Ends silent workers of this process, so others execute their steps; or notes them."""
        if ended := self._loop.end_silent():
            text = f"{', '.join(ended)} gave no sign of life while a command waited: it was ended."
            self._note("ended", text)
            return
        steps = "1 step" if len(self._in_flight) == 1 else f"{len(self._in_flight)} steps"
        waits = f"{steps} under way" if self._in_flight else "the workers"
        self._note(
            "silent",
            f"A command waits for {waits}, and {silent} gives no answer. If it is halted or out of "
            "reach, end its process, and start it again.",
        )

    def _check_servers(self) -> None:
        """Raises an UnavailableError if a parameter server is out of reach.

        Without this check, a step would wait for the server in a worker, whose connections have no
        time limit.
        """
        description = self.connection.description
        servers.limit_silence(description.tasks)
        for server in servers.silent(servers.silent(description.of("ps"))):
            self._loop.lose(f"{server} is out of reach; nothing can be saved or changed.")
            device = f"/job:ps/replica:0/task:{server.index}"
            raise tf.errors.UnavailableError(None, None, f"{device} is out of reach.")

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _fill(self) -> None:
        """Schedules as many steps as the workers need."""
        left = self._loop.steps_left - len(self._ready)
        for _ in range(min(_AHEAD * self._workers, left) - len(self._in_flight)):
            self._in_flight.append(_Scheduled(self.connection.schedule(), time.monotonic()))

    def _wait(self, *, answering: bool = True) -> None:
        """Waits until a step is completed, or for a while; then checks the servers.

        Args:
            answering: Whether to execute commands if no step is completed for a while.
        """
        idle_at = time.monotonic() + _IDLE_SECS
        while not self._collect():
            if self.connection.coordinator.done():  # raises the error of a step
                self._collect()
                self._in_flight = []  # cancelled after an earlier error
                return
            if time.monotonic() > idle_at:
                self._check_servers()
                if answering and self._loop.answer():
                    raise StopIteration
                return
            time.sleep(_POLL_SECS)

    def _collect(self) -> bool:
        """Moves the values of completed steps to the ready ones; returns whether any are ready."""
        still = []
        for each in self._in_flight:
            if is_fetched(each.remote):
                try:
                    self._ready.append(each.remote.fetch())
                except tf.errors.OpError:
                    still.append(each)  # its error is that of the coordinator
                else:
                    self._longest = max(self._longest, time.monotonic() - each.at)
            else:
                still.append(each)
        self._in_flight = still
        return bool(self._ready)

    def _stands_still(self) -> bool:
        """Returns whether all workers are lost."""
        return len(self.connection.lost_workers()) >= self._workers


def _ask(worker: int) -> threading.Thread:
    """Returns a thread that ends once the worker has executed an operation, or cannot.

    The operation waits without holding Python's lock. For a worker that is gone, the system answers
    with an error.
    """

    def ask() -> None:
        with contextlib.suppress(tf.errors.OpError), tf.device(f"/job:worker/task:{worker}"):
            tf.raw_ops.NoOp()

    thread = threading.Thread(target=ask, name=f"{CALLER}: worker {worker}", daemon=True)
    thread.start()
    return thread
