"""Files that were damaged: read as far as they can be, or refused in words."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import NbtrainError
from tests.event_files import simple, written
from tests.faults import rounds
from tests.gate import SOON
from tests.models import Counter

JUNK = [b"", b"\0" * 64, b"[" * 5000, b'{"event": [], "step": 1}\n', b"9" * 400, "Größe".encode()]


def mutated(data: bytes, draw: Random) -> bytes:
    """The same bytes, one to four parts of them changed, lost, doubled or put in."""
    for _ in range(draw.randint(1, 4)):
        at, size = draw.randint(0, len(data)), draw.randint(0, 60)
        part = data[at : at + size]
        match draw.randint(0, 4):
            case 0:
                data = data[:at] + draw.randbytes(len(part)) + data[at + size :]
            case 1:
                data = data[:at] + data[at + size :]
            case 2:
                data = data[:at] + part + data[at:]
            case 3:
                data = data[:at]
            case _:
                data = data[:at] + draw.choice(JUNK) + data[at:]
    return data


def mutate(file: Path, draw: Random) -> None:
    """Change a file in place."""
    file.write_bytes(mutated(file.read_bytes(), draw))


def test_the_readable_part_of_a_damaged_event_file_is_read(tmp_path: Path) -> None:
    whole = written(
        tmp_path / "whole" / "events.out.tfevents.1.host",
        [simple(f"tag{n % 3}", n, float(n), 1.7e9 + n) for n in range(100)],
    )
    data = whole.read_bytes()
    for number, draw in enumerate(rounds(150)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / whole.name).write_bytes(mutated(data, draw))
        scalars = nbtrain.scalars(folder)
        for tag in list(scalars):
            assert len(scalars[tag].steps) == len(scalars[tag].values)
        nbtrain.summaries(folder, "images")
        shutil.rmtree(folder)


def test_damaged_runs_among_many_small_ones_are_read_as_each_alone(tmp_path: Path) -> None:
    whole = written(
        tmp_path / "whole" / "events.out.tfevents.1.host",
        [simple(f"tag{n % 3}", n, float(n), 1.7e9 + n) for n in range(100)],
    )
    data = whole.read_bytes()
    for number, draw in enumerate(rounds(8)):
        logdir = tmp_path / str(number)
        for run in range(30):
            (logdir / str(run)).mkdir(parents=True)
            content = mutated(data, draw) if draw.random() < 0.5 else data
            (logdir / str(run) / whole.name).write_bytes(content)
        together = nbtrain.scalars(logdir)
        for run in range(30):
            alone = nbtrain.scalars(logdir / str(run))
            tags = [tag for name, tag in together if name == str(run)]
            assert tags == [tag for _, tag in alone]
            for tag in tags:
                found, wanted = together[str(run), tag], alone[".", tag]
                for column in ("steps", "wall_times", "values"):
                    ours, theirs = getattr(found, column), getattr(wanted, column)
                    assert ours.tobytes() == theirs.tobytes()
            assert together.reader.skipped().get(str(run)) == alone.reader.skipped().get(".")
        shutil.rmtree(logdir)


def trained(steps: int, name: str = "damaged") -> nbtrain.Run:
    """A run in this folder, from its latest checkpoint to its end."""
    counter = Counter()
    rate = tf.Variable(0.1)
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        hyperparameters={"rate": rate},
        steps=steps,
        save_steps=5,
        name=name,
    )
    ended: nbtrain.Run = run.wait(SOON)
    assert int(counter.count.numpy()) == steps, "it counts on from what it has restored"
    return ended


@pytest.mark.parametrize("what", ["steering.jsonl", "checkpoints"])
def test_a_run_of_a_damaged_folder_goes_on_or_says_why_not(what: str, tmp_path: Path) -> None:
    whole = trained(20).logdir
    for draw in rounds(12):
        damaged = tmp_path / "runs" / "again"
        shutil.copytree(whole, damaged)
        files = [damaged / what]
        if what == "checkpoints":
            files = sorted(path for path in (damaged / what).iterdir() if path.is_file())
        for file in draw.sample(files, draw.randint(1, min(2, len(files)))):
            mutate(file, draw)
        try:
            trained(30, "again")
        except NbtrainError as error:
            print(error)
        nbtrain.scalars(damaged)
        shutil.rmtree(damaged)
