"""A process that prints to the `log.txt` of its run, as a launched one does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nbtrain.rundir.log_file import LogTail
from tests.gate import SOON

SCRIPT = """
import os, sys
import nbtrain

def step():
    print("of the run")
    os.write(2, b"of the process\\n")
    return {"loss": 1.0}

print("before the run")
nbtrain.train(step, steps=2, logdir=sys.argv[1]).wait()
"""


def test_a_process_that_prints_to_the_file_writes_each_line_there_once(tmp_path: Path) -> None:
    folder = tmp_path / "launched"
    folder.mkdir()
    with open(folder / "log.txt", "ab") as log:
        subprocess.run(
            [sys.executable, "-u", "-c", SCRIPT, folder],
            stdout=log, stderr=log, check=True, timeout=SOON,
        )  # fmt: skip
    lines = LogTail(folder / "log.txt").poll()

    def seen(text: str) -> list[tuple[int, str]]:
        return [(line.step, line.source) for line in lines if text in line.text]

    assert seen("before the run") == [(0, "process")]
    assert seen("of the run") == [(0, "print"), (1, "print")]
    assert seen("of the process") == [(0, "process"), (1, "process")]
