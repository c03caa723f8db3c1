"""Measures the memory that an hour of a run adds to its page and to its kernel.

An hour passes in a few minutes: the panel and its page have the clock of the benchmark.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.kernel import kernel

MINUTES = 60
EACH = 10  # seconds between two pictures of each tag


def page(minutes: int = MINUTES) -> Iterator[dict[str, int]]:
    """Yields the counts of a page with every section open after each tenth of the time."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tests.chromium import launched
    from tests.page.bare import BarePage
    from tests.page.kernel import Kernel
    from tests.page.panel.opened import OpenedPanel
    from tests.page.shell import page_shell

    other_end = Kernel()
    with (
        tempfile.TemporaryDirectory() as folder,
        launched() as browser,
        page_shell(other_end, Path(folder)) as shell,
    ):
        shown = BarePage(browser.new_page(), other_end, shell)
        opened = OpenedPanel(shown, Path(folder) / "lively")
        for second in range(1, 60 * minutes + 1):
            opened.pass_second(pictures=second % EACH == 0)
            if second % (6 * minutes) == 0:
                yield opened.held().counts()
        opened.run.close()
        shown.page.close()
    other_end.close()


_TRAINING = """
import json, os, gc, time
import numpy as np, psutil
import nbtrain
own, found = psutil.Process(), []
steps = {steps}

def train(run):
    noise = np.random.default_rng(0)
    for step in range(1, steps + 1):
        if run.should_stop():
            break
        run.record({{f"part{{n}}/loss": float(value) for n, value in enumerate(noise.random(10))}})
        if step % 10 == 0:
            print(f"step {{step}} of the training")
        if step % 100 == 0:
            run.record(samples=noise.random((4, 28, 28, 1)))
        if step % (steps // 10) == 0:
            time.sleep(2)  # what is queued is written
            gc.collect()
            found.append(own.memory_info().rss)

run = nbtrain.background(train, name="hour")
"""


def resident(minutes: int = MINUTES) -> list[int]:
    """Bytes of a kernel's process after every tenth part of a run of ten steps a second."""
    with kernel() as fresh:
        fresh.execute(_TRAINING.format(steps=600 * minutes) + "display(run)\n")
        fresh.look()
        return list(map(int, fresh.execute("run.wait()\nout = found")))
