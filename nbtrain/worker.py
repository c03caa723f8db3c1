"""The program of a cluster's task: runs a TensorFlow server, or a script.

python -m nbtrain.worker                     # the task that TF_CONFIG names: a server
python -m nbtrain.worker train.py --fast     # this program, as the task that TF_CONFIG names
python -m nbtrain.worker --cluster '{"ps": [...], "worker": [...]}' --job worker --index 0

It ends by SIGTERM. With `--folder runs/cluster-1` it prints to `tasks/worker-0/log.txt` below that
folder, and writes its state to `task.json` beside it about once a second.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from nbtrain.cluster import lifeline, own_cluster, ports, task_file
from nbtrain.cluster.description import TF_CONFIG, Description, TaskAddress, described
from nbtrain.cluster.sign_of_life import TaskSigns
from nbtrain.cluster.task_file import State
from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError

# Seconds for a program to end by itself after its parent has ended.
_GRACE_SECS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the task until it ends; returns the exit code of its program."""
    given = _parser().parse_args(arguments)
    try:
        task, description = _task(given)
    except ArgumentError as error:
        print(f"nbtrain.worker: {error}", file=sys.stderr)  # noqa: T201
        return 2
    folder = None
    if given.folder is not None:
        folder = task_file.folder_of(given.folder.absolute(), task)
        folder.mkdir(parents=True, exist_ok=True)
        _print_to(folder / task_file.LOG)
    # Set first, because TensorFlow reads this when it connects. Without it a call to a server that
    # does not exist waits forever.
    os.environ.setdefault("GRPC_FAIL_FAST", "true")
    os.environ[TF_CONFIG] = description.tf_config
    sign = TaskSigns(task, folder)
    if given.lifeline:
        lifeline.watch(lambda: _end_program(sign) if given.program else _exit(sign))
    if given.program:
        if given.folder is not None:
            own_cluster.join(description, given.folder.absolute())
        return _run(given.program, sign)
    return _serve(task, description, sign)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m nbtrain.worker", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cluster", help="the addresses by job as JSON; or else TF_CONFIG")
    parser.add_argument("--job", help="the job of this task, such as worker")
    parser.add_argument("--index", type=int, default=0, help="its number in the job")
    parser.add_argument("--folder", type=Path, help="the folder for its log and its status")
    parser.add_argument("--lifeline", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a script and its arguments")
    return parser


def _task(given: argparse.Namespace) -> tuple[TaskAddress, Description]:
    if given.cluster is None and not os.environ.get(TF_CONFIG):
        raise ArgumentError(
            f"No cluster is described: set {TF_CONFIG}, or give --cluster, such as --cluster "
            '\'{"worker": ["10.0.0.3:2222"]}\' --job worker.'
        )
    description = described(given.cluster)
    if given.job is not None:
        description = description.as_task(given.job, given.index)
    if description.job is None:
        raise ArgumentError(
            f"Which task is this? Give --job and --index, or a task in {TF_CONFIG}."
        )
    if description.job == "evaluator" and not description.of("evaluator"):
        return TaskAddress("evaluator", description.index, ""), description
    return description.task(description.job, description.index), description


def _print_to(log: Path) -> None:
    """Redirects the prints of this process, also from C++, to the end of a file."""
    descriptor = own_files.descriptor(log, own_files.APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (1, 2):
        os.dup2(descriptor, number)
    os.close(descriptor)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _serve(task: TaskAddress, description: Description, sign: TaskSigns) -> NoReturn:
    """Runs a server until SIGTERM or SIGINT."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        ports.check_free(task.address)
    except OSError as error:
        sys.exit(_fail(sign, f"{task} cannot start: {error.strerror}"))
    # A server only runs graphs. Without Keras, TensorFlow is imported twice as fast.
    sys.modules.setdefault("keras", None)  # type: ignore[arg-type]
    import tensorflow as tf

    if ended.is_set():
        _exit(sign)
    jobs: Any = {job: list(addresses) for job, addresses in description.jobs.items()}
    try:
        server = tf.distribute.Server(
            tf.train.ClusterSpec(jobs), job_name=task.job, task_index=task.index, protocol="grpc"
        )
    except tf.errors.OpError as error:
        sys.exit(_fail(sign, f"{task} cannot start at {task.address}: {error.message}"))
    sign.write(State.SERVING)
    ended.wait()
    _exit(sign, server)


def _run(program: Sequence[str], sign: TaskSigns) -> int:
    """Runs a script as `python script.py ...` does."""
    script = Path(program[0])
    if not script.is_file():
        return _fail(sign, f"There is no script {program[0]!r} in {Path.cwd()}.")
    sys.argv = [*program]
    sys.path.insert(0, str(script.absolute().parent))
    sign.write(State.RUNNING)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as left:
        if left.code:
            sign.write(State.FAILED, f"{script.name} left with {left.code!r}.")
        raise
    except BaseException as error:
        sign.write(State.FAILED, f"{type(error).__name__}: {error}")
        raise
    finally:
        sign.write(State.ENDED)  # unless it has failed
    return 0


def _fail(sign: TaskSigns, reason: str) -> int:
    print(reason, flush=True)  # noqa: T201
    sign.write(State.FAILED, reason)
    return 1


def _exit(sign: TaskSigns, _server: object = None) -> NoReturn:
    """Ends the process without finalizing: a server cannot be stopped, and its threads continue."""
    sign.write(State.ENDED)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)


def _end_program(sign: TaskSigns) -> None:
    """Asks a program and its processes to end, because its parent has ended; then kills them."""
    number, own = signal.SIGTERM, os.getsid(0) == os.getpid()
    for secs in (_GRACE_SECS, 0.0):
        if own:
            os.killpg(0, number)
        else:
            os.kill(os.getpid(), number)
        time.sleep(secs)
        sign.write(State.ENDED)
        number = signal.SIGKILL


if __name__ == "__main__":
    sys.exit(main())
