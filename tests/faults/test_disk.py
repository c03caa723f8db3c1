"""A disk that fails under a training: it goes on, says so, and saves again once that can be."""

from __future__ import annotations

import contextlib
import resource
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.inner.tensorflow import eagerly
from tests.faults import rounds
from tests.forked import Forked
from tests.gate import SOON
from tests.models import Counter
from tests.room import no_room

STEPS = 300
FOLDER = Path("runs/faulty")


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    """No further file can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # those are open for ever
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def a_file_in_its_place() -> Iterator[None]:
    """There is a file where the folder of the checkpoints was."""
    checkpoints, kept = FOLDER / "checkpoints", FOLDER / "kept"
    checkpoints.rename(kept)
    checkpoints.touch()
    try:
        yield
    finally:
        checkpoints.unlink()
        kept.rename(checkpoints)


@contextlib.contextmanager
def vanished() -> Iterator[None]:
    """The folder of the run is gone."""
    FOLDER.rename("runs/gone")  # at once: the run may write to it meanwhile
    shutil.rmtree("runs/gone", ignore_errors=True)
    yield


@contextlib.contextmanager
def exchanged() -> Iterator[None]:
    """Another folder stands in the place of that of the run."""
    FOLDER.rename("runs/moved")
    FOLDER.mkdir()
    yield


Fault = Callable[[], AbstractContextManager[None]]


def train(pipe: Connection, fault: Fault, begin: int, length: int) -> None:
    """Train under a fault for some steps; tell what became of it."""
    stack = contextlib.ExitStack()
    told: list[str] = []
    runs = nbtrain.runs  # imported now: it could not be later

    def at_step(count: int) -> None:
        if count == begin:
            stack.enter_context(fault())
        if count == begin + length:
            told.append(str(runs()["faulty"].status.message))
            stack.close()

    counter = Counter(at_step)
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        steps=STEPS,
        save_steps=10,
        name="faulty",
    ).wait(SOON)
    pipe.send((run.status.step, int(counter.count.numpy()), str(run.status.phase)))
    pipe.send(told[0])


@pytest.mark.parametrize(
    "fault", [no_room, no_descriptors, a_file_in_its_place, vanished, exchanged]
)
def test_a_training_goes_on_where_its_disk_fails(fault: Fault, tmp_path: Path) -> None:
    for number, draw in enumerate(rounds(1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        begin, length = draw.randint(11, 100), draw.randint(20, 100)
        with Forked(train, fault, begin, length, folder=folder) as child:
            assert child.answer() == (STEPS, STEPS, "finished"), child.err
            told = child.answer()
            assert child.wait() == 0, child.err
        if fault not in (vanished, exchanged):
            assert "No checkpoint at step" in told
            saved = nbtrain.scalars(folder / "runs")["faulty", "count"]
            assert saved.steps[-1] == STEPS
            with Forked(gone_on, folder=folder) as child:
                assert child.answer() == STEPS + 5


def operate(pipe: Connection) -> None:
    """Execute an operation in a new thread, with no file to open and then again."""
    told: list[str] = []

    def act() -> None:
        try:
            with eagerly():
                told.append(str(float(tf.constant(1.0) + 1.0)))
        except OSError as error:
            told.append(str(error))

    for fault in (no_descriptors, contextlib.nullcontext):
        thread = threading.Thread(target=act)
        with fault():
            thread.start()
            thread.join()
    pipe.send(told)


def test_an_operation_in_a_new_thread_is_refused_where_it_would_end_the_process(
    tmp_path: Path,
) -> None:
    with Forked(operate, folder=tmp_path) as child:
        assert child.answer() == ["[Errno 24] Too many open files: '/dev/urandom'", "2.0"]


def gone_on(pipe: Connection) -> None:
    """Train on from the last checkpoint."""
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=STEPS + 5, name="faulty")
    run.wait(SOON)
    pipe.send(int(counter.count.numpy()))
