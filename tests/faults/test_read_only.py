"""A folder that may not be written: said in words, and written to once that is allowed again."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from tests.faults import rounds
from tests.forked import Forked
from tests.gate import SOON
from tests.models import Counter
from tests.on_disk import journal

STEPS = 300
FOLDER = Path("runs/frozen")
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may come to: those of pytest are the user's alone."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o777)
        yield Path(path)


def be_no_root() -> None:
    """Be a user whom the permissions of a file bind."""
    codecs.lookup("ascii")  # from a folder of Python's that this user may not be able to read
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def permit(folder: Path, *, writing: bool) -> None:
    """Allow or forbid to write to a folder and to all that is in it, or to a file."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod((0o755 if path.is_dir() else 0o644) if writing else 0o555)


def trained(
    at_step: Callable[[int], object] = lambda _count: None,
    *,
    steps: int = STEPS,
    data: bool = False,
) -> nbtrain.Run:
    """A run of so many steps, with or without a place in data; it has not started."""
    counter = Counter(at_step)
    return nbtrain.train(
        (lambda _element: counter.step()) if data else counter.step,
        data=tf.data.Dataset.range(STEPS) if data else None,
        checkpoint=counter.checkpoint,
        hyperparameters={"rate": tf.Variable(0.5)},
        steps=steps,
        save_steps=10,
        name=FOLDER.name,
        start=False,
    )


def frozen_meanwhile(pipe: Connection, begin: int, length: int, data: bool) -> None:
    """Train in a folder that is read-only for some steps; tell what was said of that."""
    be_no_root()
    told: list[str] = []

    def at_step(count: int) -> None:
        if count == begin:
            permit(FOLDER, writing=False)
        if count == begin + 1:
            run.set(rate=0.25)
        if count == begin + length:
            told.append(str(run.status.message))
            permit(FOLDER, writing=True)

    run = trained(at_step, data=data)
    run.start().wait(SOON)
    pipe.send((told[0], run.status.message, [held.step for held in run.checkpoints]))


@pytest.mark.parametrize("data", [False, True])
def test_a_training_goes_on_while_its_folder_is_read_only(folder: Path, data: bool) -> None:
    for number, draw in enumerate(rounds(1)):
        own = folder / str(number)
        own.mkdir()
        own.chmod(0o777)
        # Beside data the file that names the first checkpoint is mended before the second.
        begin, length = draw.randint(11, 19 if data else 100), draw.randint(20, 100)
        with Forked(frozen_meanwhile, begin, length, data, folder=own) as child:
            told, message, steps = child.answer()
        denied = "cannot be written: Permission denied. "
        assert "No checkpoint at step" in told
        assert f"{FOLDER / 'checkpoints'} {denied}Make room or mend the folder" in told
        assert f"steering.jsonl {denied}Its lines wait in memory." in told
        assert message is None
        assert steps[-3:] == [STEPS - 20, STEPS - 10, STEPS]
        (edit,) = journal(own / FOLDER, "set")
        assert (edit["step"], edit["edits"]) == (begin + 1, {"rate": [0.5, 0.25]})
        saved = nbtrain.scalars(own / "runs")[FOLDER.name, "count"]
        assert saved.steps.tolist() == list(range(1, STEPS + 1))


def frozen_before(pipe: Connection, what: str) -> None:
    """Go on in a folder of which a part is read-only; tell what was said of that."""
    be_no_root()
    trained(steps=10).start().wait(SOON)
    permit(FOLDER / what, writing=False)
    told: list[str] = []

    def at_step(count: int) -> None:
        if count == STEPS - 50:
            told.append(str(run.status.message))
            permit(FOLDER / what, writing=True)

    try:
        run = trained(at_step)
    except ArgumentError as error:
        told.append(str(error))
        permit(FOLDER / what, writing=True)
        run = trained()
    run.start().wait(SOON)
    pipe.send((told[0], run.status.message, run.checkpoints[-1].step))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (".", "Mend that, or give another name= or logdir=."),
        ("checkpoints", "No checkpoint at step"),
        ("steering.jsonl", "Its lines wait in memory."),
    ],
)
def test_a_start_in_a_folder_that_is_read_only_says_so(folder: Path, what: str, said: str) -> None:
    with Forked(frozen_before, what, folder=folder) as child:
        told, message, step = child.answer()
    assert said in told
    assert f"{what.rstrip('.')} cannot be written: Permission denied. " in told
    assert (message, step) == (None, STEPS)
    lives = [entry["event"] for entry in journal(folder / FOLDER, "start", "finished")]
    assert lives == ["start", "finished"] * 2
    scalars: Any = nbtrain.scalars(folder / "runs")
    assert scalars[FOLDER.name, "count"].steps.tolist() == list(range(1, STEPS + 1))
