"""A process that prints to the `log.txt` of its run, as a launched one does."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from pathlib import Path

import nbtrain
from nbtrain.rundir.log_file import LogTail
from tests.forked import Forked


def prints(pipe: Connection, folder: Path) -> None:
    """Trains with both streams of the process in the file."""

    def step() -> dict[str, float]:
        print("of the run")
        os.write(2, b"of the process\n")
        return {"loss": 1.0}

    with open(folder / "log.txt", "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    print("before the run")
    nbtrain.train(step, steps=2, logdir=str(folder)).wait()


def test_a_process_that_prints_to_the_file_writes_each_line_there_once(tmp_path: Path) -> None:
    folder = tmp_path / "launched"
    folder.mkdir()
    with Forked(prints, folder, finalize=True) as child:
        assert child.wait() == 0
    lines = LogTail(folder / "log.txt").poll()

    def seen(text: str) -> list[tuple[int, str]]:
        return [(line.step, line.source) for line in lines if text in line.text]

    assert seen("before the run") == [(0, "process")]
    assert seen("of the run") == [(0, "print"), (1, "print")]
    assert seen("of the process") == [(0, "process"), (1, "process")]
