"""Starts the tasks of a cluster on the engines of an ipyparallel cluster.

ipyparallel starts engines over SSH, Slurm, PBS, Kubernetes or MPI; each engine starts one task.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from nbtrain.cluster import on_engine
from nbtrain.cluster.description import Description, TaskAddress
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.cluster.this_machine import HOST, check_counts, new_folder, words_of
from nbtrain.core.errors import ArgumentError

# ipyparallel's sockets belong to one thread at a time.
_SENDING = threading.Lock()
# The exit code of a task whose engine does not answer.
_ENGINE_GONE = 255
# Seconds between two polls of the tasks.
_POLL_SECS = 1.0
# Seconds for an engine to answer, and for a task to end after it was asked to.
_ANSWER_SECS, _END_SECS = 30.0, 10.0


class EngineProcess:
    """The process of a task on an engine.

    Args:
        view: The ipyparallel view of the engine.
        key: Identifies the task on the engine.
        pid: The number of the process on the engine's machine.
    """

    def __init__(self, view: Any, key: str, pid: int) -> None:
        self._view, self._key = view, key
        self.pid = pid
        self.code: int | None = None

    def poll(self) -> None:
        """Asks the engine for the exit code, which also shows that this process still runs."""
        self._ask(on_engine.poll, self._key)

    def terminate(self) -> None:
        """Asks the process to end, and kills it if it still runs after ten seconds."""
        self._ask(on_engine.end, self._key, _END_SECS)

    def kill(self) -> None:
        """Kills the process."""
        self._ask(on_engine.end, self._key, 0.0)

    def _ask(self, function: Any, *args: Any) -> None:
        if self.code is None:
            try:
                self.code = call(self._view, function, *args)
            except Exception:  # noqa: BLE001 - ipyparallel raises many if an engine is gone
                self.code = _ENGINE_GONE

    def join(self, secs: float) -> bool:
        """Waits until the process has ended; returns whether it has."""
        until = time.monotonic() + secs
        while self.code is None and time.monotonic() < until:
            self.poll()
        return self.code is not None


def ipyparallel(
    client: Any,
    ps: int = 0,
    workers: int = 1,
    *,
    program: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    folder: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    restart: bool = False,
) -> LaunchedCluster:
    """Starts a cluster on the engines of an ipyparallel cluster, one task on each engine.

    nbtrain must be installed on the engines, and `folder` must be on a disk that they share with
    this machine. If this process is killed, the engines end the tasks within half a minute.

    Args:
        client: An `ipyparallel.Client` that no other code uses until the cluster is closed, or an
            `ipyparallel.Cluster` that was started.
        ps: The number of parameter servers.
        workers: The number of workers.
        program: What the workers run: a script, or a list of a script and its arguments. By
            default each worker is a TensorFlow server, as parameter servers always are.
        folder: The folder for the logs of the tasks; None creates a new one, `runs/cluster-1`.
        env: Environment variables of the tasks that differ from those of the engine.
        restart: Whether to restart a task that has died, at most five times each.

    Returns:
        The cluster, a context manager that ends the tasks; the engines keep running.

    Raises:
        ArgumentError: A number is impossible, or there are fewer engines than tasks.

    Example:
        >>> engines = ipyparallel.Cluster(engines="slurm", n=9).start_and_connect_sync()
        >>> cluster = nbtrain.cluster.ipyparallel(engines, ps=1, workers=8)
    """
    check_counts(ps, workers)
    words = words_of(program)
    places = [("ps", number) for number in range(ps)]
    places += [("worker", number) for number in range(workers)]
    views = _views(client, len(places))
    path = new_folder(folder)
    prefix = secrets.token_hex(4)
    keys = {place: f"{prefix}-{place[0]}-{place[1]}" for place in places}
    view_of = dict(zip(places, views, strict=False))
    description = _description(view_of, keys)
    started: dict[tuple[str, int], EngineProcess] = {}

    def start(task: TaskAddress) -> EngineProcess:
        place = task.job, task.index
        own = words if task.job == "worker" else ()
        config = description.as_task(*place).tf_config
        pid = call(view_of[place], on_engine.start, keys[place], config, str(path), own, env)
        started[place] = EngineProcess(view_of[place], keys[place], pid)
        return started[place]

    over = threading.Event()

    def watch() -> None:
        while not over.wait(_POLL_SECS):
            for process in list(started.values()):
                process.poll()

    def free() -> None:
        over.set()
        for place, view in view_of.items():
            with contextlib.suppress(Exception):  # the engine is gone, and its ports too
                call(view, on_engine.release, keys[place])

    threading.Thread(target=watch, name="nbtrain engines", daemon=True).start()
    return LaunchedCluster(description, path, description.tasks, start, free, restart=restart)


def call(view: Any, function: Any, *args: Any) -> Any:
    """Calls a function of `on_engine` on an engine, and returns the result."""
    with _SENDING:
        answer = view.apply_async(function, *args)
    return answer.get(_ANSWER_SECS)


def _views(client: Any, count: int) -> list[Any]:
    """Returns a view of each engine; raises an ArgumentError if there are too few."""
    client = client.connect_client_sync() if hasattr(client, "connect_client_sync") else client
    views = [client[number] for number in client.ids]
    if len(views) < count:
        raise ArgumentError(
            f"There are {len(views)} engines, and each runs one of {count} tasks: start more, or "
            "give smaller ps= and workers=."
        )
    return views


def _description(
    view_of: Mapping[tuple[str, int], Any], keys: Mapping[tuple[str, int], str]
) -> Description:
    """Reserves a port on each engine, and returns the description with the addresses."""
    hosts = {place: str(call(view, on_engine.host)) for place, view in view_of.items()}
    here = set(hosts.values()) == {socket.gethostname()}
    jobs: dict[str, tuple[str, ...]] = {}
    for place, view in view_of.items():
        port = call(view, on_engine.reserve, keys[place], HOST if here else "")
        host = HOST if here else hosts[place]
        jobs[place[0]] = (*jobs.get(place[0], ()), f"{host}:{port}")
    return Description(jobs)
