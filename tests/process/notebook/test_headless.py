"""A notebook that is executed without a page, and ends without `run.wait()`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kernels import executed, forked_kernels

CELLS = [
    """\
import threading, time
import nbtrain
gate, reached = threading.Semaphore(0), threading.Event()
count = 0
def step():
    global count
    if count == 3:
        reached.set()
        time.sleep(0.01)
    elif gate.acquire(timeout=60):
        count += 1
        print("done", count)
    return {"loss": 1.0 / (1 + count)}
run = nbtrain.train(step, name="headless")""",
    "gate.release(3)\nreached.wait(60)\nNone",
]
# Something is printed before each output, as by a step, and the end of the run is captured.
CAPTURED = [
    """\
import nbtrain
def beside(message):
    print("beside")
    return message
publisher = get_ipython().display_pub
publisher.register_hook(beside)
run = nbtrain.train(lambda: {"loss": 1.0}, name="captured")
display(run)
_ = publisher.unregister_hook(beside)""",
    "%%capture told\nrun.request_stop()\n_ = run.wait(60)",
    "print(len(told.outputs))",
]


@pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings
def test_the_notebook_keeps_the_picture_and_the_prints_of_its_run(tmp_path: Path) -> None:
    first: list[Any] = []
    pictures: list[str] = []

    def note(cell: Any, **_more: Any) -> None:
        first.append(cell)
        _panel, shown, _line = first[0].outputs
        pictures.append(shown.data["image/png"])

    with forked_kernels():
        cells = executed(CELLS, tmp_path, on_cell_executed=note)
    started, ended = pictures
    assert started != ended, "it is drawn at the end of each cell"
    (printed,) = cells[1].outputs
    assert printed.text == "done 1\ndone 2\ndone 3\n"


@pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings
def test_the_last_picture_is_kept_between_prints_and_where_the_end_is_captured(
    tmp_path: Path,
) -> None:
    with forked_kernels():
        cells = executed(CAPTURED, tmp_path)
    outputs = cells[0].outputs
    assert [each.get("name") for each in outputs] == 3 * [None, "stdout"]
    gone, picture, _ = (each.data for each in outputs[::2])
    assert set(gone) == set(picture) == {"image/png", "text/plain"}, "and no dead widget"
    assert len(gone["image/png"]) < 200 < 1000 < len(picture["image/png"])
    (count,) = cells[2].outputs
    assert count.text == "0\n"
