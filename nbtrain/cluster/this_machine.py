"""Starts the tasks of a cluster on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbtrain.cluster.description import Description, TaskAddress
from nbtrain.cluster.launched import LaunchedCluster, Restart
from nbtrain.cluster.ports import HeldPort
from nbtrain.cluster.process import TaskProcess
from nbtrain.core.errors import ArgumentError

HOST = "127.0.0.1"


def local(
    ps: int = 0,
    workers: int = 1,
    *,
    chief: bool = False,
    program: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    folder: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    restart: Restart = False,
) -> LaunchedCluster:
    """Starts a cluster of processes on this machine, and returns at once.

    Args:
        ps: The number of parameter servers.
        workers: The number of workers.
        chief: Whether to reserve an address for a chief. This process is the chief: the
            description contains its address, and no further process is started.
        program: What the workers run: a script, or a list of a script and its arguments. By
            default each worker is a TensorFlow server, as parameter servers always are.
        folder: The folder for the logs of the tasks; None creates a new one, `runs/cluster-1`.
        env: Environment variables of the tasks that differ from those of this process.
        restart: Whether to restart a task that has died, at most five times each. "all" restarts
            all tasks, for a program that uses MultiWorkerMirroredStrategy: its workers wait for
            each other, and one alone cannot join again. Once the program of the first worker has
            ended, the others are ended.

    Returns:
        The cluster, a context manager that ends the tasks. They also end with this process.

    Raises:
        ArgumentError: A number is impossible, or the folder cannot be written.

    Example:
        >>> with nbtrain.cluster.local(ps=1, workers=2) as cluster:
        ...     run = nbtrain.train(build, cluster=cluster, steps=1000)
        ...     run.wait()
    """
    check_counts(ps, workers)
    if restart not in (True, False, "all"):
        raise ArgumentError(f'restart={restart!r}: give True, False or "all".')
    words = words_of(program)
    path = new_folder(folder)
    counts = {"chief": int(chief), "ps": ps, "worker": workers}
    held = {job: [HeldPort(HOST) for _ in range(count)] for job, count in counts.items() if count}
    description = Description(
        {job: tuple(f"{HOST}:{port.number}" for port in ports) for job, ports in held.items()}
    )

    def start(task: TaskAddress) -> TaskProcess:
        held[task.job][task.index].lend()
        own = words if task.job == "worker" else ()
        return TaskProcess(description.as_task(task.job, task.index), path, own, env)

    def free() -> None:
        for port in (port for ports in held.values() for port in ports):
            port.release()

    tasks = [task for task in description.tasks if task.job != "chief"]
    return LaunchedCluster(description, path, tasks, start, free, restart=restart)


def check_counts(ps: int, workers: int) -> None:
    """Raises an ArgumentError for impossible numbers of tasks."""
    for name, count in (("ps", ps), ("workers", workers)):
        if type(count) is not int or count < 0:
            raise ArgumentError(f"{name}={count!r}: give the number of tasks, 0 or more.")
    if ps + workers == 0:
        raise ArgumentError("The cluster has no task: give ps=1, workers=2 or the like.")


def words_of(
    program: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> tuple[str, ...]:
    """Returns the absolute path of a script, and its arguments; empty if there is no program.

    Raises:
        ArgumentError: There is no such script.
    """
    given = [program] if isinstance(program, (str, os.PathLike)) else list(program)
    if not given:
        return ()
    script = Path(given[0]).expanduser().absolute()
    if not script.is_file():
        raise ArgumentError(
            f"There is no script {str(given[0])!r}: give the path of a Python script. The working "
            f"folder is {Path.cwd()}."
        )
    return (str(script), *(str(os.fspath(each)) for each in given[1:]))


def new_folder(given: str | os.PathLike[str] | None) -> Path:
    """Creates the folder of a cluster; by default `runs/cluster-1`, or the next free number.

    Raises:
        ArgumentError: The folder cannot be written.
    """
    number = 0
    while True:
        number += 1
        path = Path("runs", f"cluster-{number}") if given is None else Path(given).expanduser()
        try:
            path.mkdir(parents=True, exist_ok=given is not None)
        except FileExistsError as error:
            if given is None:
                continue
            raise ArgumentError(f"folder={str(given)!r} is a file: give a folder.") from error
        except OSError as error:
            raise ArgumentError(f"{path} cannot be written: {error.strerror}.") from error
        return path.absolute()
