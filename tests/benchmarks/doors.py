"""Measures how quickly runs of other processes are seen and steered through their folders."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from nbtrain.cluster import task_file
from nbtrain.cluster.description import described
from nbtrain.cluster.own_cluster import TasksOnDisk
from nbtrain.cluster.task_file import State, TaskStatus
from nbtrain.core.commands import NO_SENDER, Command, Sender
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase, Status
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.remote.attach import opened
from nbtrain.run.outside.mail import TICK_SECS, Mail
from nbtrain.rundir import mailbox, status_file
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.status_file import SignOfLife, Writer

# Seconds between two looks for an answer.
_POLL_SECS = 0.002


def _sign(step: int) -> SignOfLife:
    process = psutil.Process()
    writer = Writer("a1", socket.gethostname(), process.pid, process.create_time())
    values = {"loss": 0.3, "accuracy": 0.9}
    status = Status(name="far", engine="train", phase=Phase.RUNNING, step=step, values=values)
    return SignOfLife(writer, time.time(), status)


def polls(count: int, repeats: int) -> dict[str, list[float]]:
    """Seconds of CPU to look at the status files of so many tasks: all new, half of them, none."""
    found: dict[str, list[float]] = {"all": [], "half": [], "none": []}
    with tempfile.TemporaryDirectory() as base:
        cluster = described({"worker": [f"lab-{number}:2222" for number in range(count)]})
        for task in cluster.tasks:
            task_file.folder_of(Path(base), task).mkdir(parents=True)
        tasks = TasksOnDisk(cluster, Path(base))
        for repeat in range(repeats):
            every = cluster.tasks
            for name, changed in (("all", every), ("half", every[::2]), ("none", ())):
                for task in changed:
                    sign = TaskStatus(*(task.job, task.index, task.address, State.SERVING))
                    sign = replace(sign, host="elsewhere", process=1, alive=float(repeat))
                    task_file.write(task_file.folder_of(Path(base), task), sign)
                began = time.thread_time()
                assert len(tasks()) == count
                found[name].append(time.thread_time() - began)
    return found


class _Idle:
    """A run that trains, and refuses nothing."""

    def __init__(self) -> None:
        self.status = _sign(1).status

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Takes a command."""
        return Receipt(command, sender=sender)


def idle_share(secs: float) -> float:
    """The share of a core that status and mailbox take while nothing is asked."""
    with tempfile.TemporaryDirectory() as base:
        folder = Logdir(base, "far", kind="train")
        mail = Mail(_Idle(), folder, lambda *_: None, lambda: False)
        mail.tick()
        never = threading.Event()
        began, used = time.perf_counter(), time.thread_time()
        while time.perf_counter() < began + secs:
            mail.tick()
            never.wait(TICK_SECS)
        return (time.thread_time() - used) / (time.perf_counter() - began)


def _train(folder: str, ready: Any, end: Any) -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    import nbtrain

    rate = tf.Variable(0.5)

    def step() -> dict[str, Any]:
        end.wait(0.001)
        return {"rate": rate.read_value()}

    run = nbtrain.train(step, logdir=folder, hyperparameters={"rate": rate})
    while run.status.step < 1:
        time.sleep(0.01)
    ready.set()
    end.wait()
    run.request_stop()
    run.wait()


def _ask(folder: str, name: str, count: int, *, at_once: bool) -> list[float]:
    """Sends commands, and returns the seconds to the answer of each."""
    path, sent, took = Path(folder), {}, []
    for number in range(count):
        key = f"{name}-{number}"
        sent[key] = time.perf_counter()
        mailbox.send(path, key, {"command": "set", "values": {"rate": 0.1 + number / count}})
        if not at_once:
            took.append(_until_answered(path, key) - sent[key])
            time.sleep(0.01 * (number % 23))  # wherever between two looks of the run
    return took or [_until_answered(path, key) - at for key, at in sent.items()]


def _until_answered(folder: Path, key: str) -> float:
    while (told := mailbox.answer_to(folder, key)) is None or told["state"] == "requested":
        time.sleep(_POLL_SECS)
    if told["state"] != "applied":
        raise RuntimeError(told)
    return time.perf_counter()


@contextlib.contextmanager
def training_elsewhere(folder: str) -> Iterator[None]:
    """A run that trains in a process of its own for as long as the block lasts."""
    context = get_context("spawn")
    ready, end = context.Event(), context.Event()
    trains = context.Process(target=_train, args=(folder, ready, end))
    trains.start()
    ready.wait()
    try:
        yield
    finally:
        end.set()
        trains.join()


def commands(alone: int, at_once: int, senders: int) -> tuple[list[float], float, int]:
    """Measures how long commands take.

    Returns:
        Seconds to the answer of each of `alone` commands; seconds until `at_once` commands of
        several processes are answered; and the number of their lines in the journal.
    """
    with tempfile.TemporaryDirectory() as base:
        with training_elsewhere(base):
            single = _ask(base, "alone", alone, at_once=False)
            with futures.ProcessPoolExecutor(senders, get_context("spawn")) as pool:
                list(pool.map(abs, range(senders)))  # the processes are there
                began = time.perf_counter()
                each = at_once // senders
                asked = [
                    pool.submit(_ask, base, f"s{number}", each, at_once=True)
                    for number in range(senders)
                ]
                futures.wait(asked)
                took = time.perf_counter() - began
                for one in asked:
                    one.result()
        lines = (Path(base) / "steering.jsonl").read_text(encoding="utf-8").splitlines()
    return single, took, sum('"event": "set", ' in line and '"id": "s' in line for line in lines)


def until_attached(points: int) -> tuple[float, float]:
    """Seconds until a run with so many points is attached, and until all of them are there."""
    with tempfile.TemporaryDirectory() as base:
        recorder = Recorder(ScalarStore(), Path(base))
        for begin in range(0, points, 10_000):
            for step in range(begin, begin + 10_000):
                recorder.queue.append(step + 1, float(step), {"loss": float(np.sin(step))})
            recorder.drain()
        recorder.close()
        status_file.write(Path(base), _sign(points))
        began = time.perf_counter()
        with opened(base) as run:
            attached = time.perf_counter() - began
            run.read(60.0)
            return attached, time.perf_counter() - began
