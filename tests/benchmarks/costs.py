"""Measures costs that are not those of steps: updates, memory, reading, import, bursts, drains."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from nbtrain.core.commands import NO_SENDER, Command, Sender
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase, Status
from nbtrain.core.text.log_lines import LogLines
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.mailbox import Address

Figures = dict[str, Any]

# The records that steps of 120 µs bring between two ticks.
NEW_POINTS = 850


def filled(points: int) -> ScalarStore:
    """A store with so many points of one tag."""
    store, rng = ScalarStore(), np.random.default_rng(0)
    for begin in range(0, points, 1000):
        steps = np.arange(begin, min(points, begin + 1000), dtype=np.int64)
        store.extend("loss", steps, steps.astype(np.float64), rng.random(len(steps)))
    return store


class Training:
    """A source for a panel: a run of so many points that goes on when told."""

    def __init__(self, points: int) -> None:
        self.scalars = filled(points)
        self.marks, self.log = Marks(), LogLines()
        self.media = RunMedia("no/such/folder")
        self.receipts: Sequence[Receipt] = ()
        self.mailbox: Address | None = None
        self.trained_by: str | None = None
        self.most_checkpoints: int | None = None
        self._rng = np.random.default_rng(1)
        self._points = points
        self._phase = Phase.RUNNING

    def go_on(self) -> None:
        """Records the points between two ticks."""
        steps = np.arange(self._points, self._points + NEW_POINTS, dtype=np.int64)
        self.scalars.extend("loss", steps, steps.astype(np.float64), self._rng.random(NEW_POINTS))
        self._points += NEW_POINTS

    def end(self) -> None:
        """Finish."""
        self._phase = Phase.FINISHED

    def post(self, command: Command, *, sender: Sender = NO_SENDER) -> Receipt:
        """Nobody clicks."""
        raise NotImplementedError

    @property
    def status(self) -> Status:
        """The status; its numbers change at every tick, like those of a run."""
        return Status(
            "digits",
            "step function",
            self._phase,
            step=self._points,
            total_steps=10**8,
            steps_per_s=8500.0 + self._points % 997,
            eta_s=1e4 - self._points / NEW_POINTS,
            elapsed_s=self._points / NEW_POINTS,
            values=self.scalars.last_values(),
        )


class Updates:
    """Updates of a panel in the calling cell's kernel, on a thread as a run's looper.

    CPU is that of the whole process, so the thread that talks to the socket is in it:
    turns with an update less turns without, which record and sleep all the same.
    """

    def __init__(self, points: int, turns: int = 150) -> None:
        from IPython.display import display

        from nbtrain.panel.live.panel import Panel

        self._training = Training(points)
        self._panel = Panel(self._training)
        self._turns = turns
        self._cpus: dict[bool, list[float]] = {True: [], False: []}
        self._own: list[float] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        view = {"model_id": self._panel.model_id, "version_major": 2, "version_minor": 0}
        display({"application/vnd.jupyter.widget-view+json": view, "text/plain": ""}, raw=True)
        self._thread.start()

    def figures(self) -> Figures:
        """Milliseconds of CPU an update, in all and on the calling thread."""
        self._thread.join()
        whole = statistics.mean(self._cpus[True]) - statistics.mean(self._cpus[False])
        return {"cpu_ms": whole * 1e3, "thread_ms": statistics.median(self._own) * 1e3}

    def _work(self) -> None:
        while not self._panel._wire.seq:  # until a page has said hello, and was answered
            time.sleep(0.05)
        self._panel.tick()
        for turn in range(2 * self._turns):
            update = turn % 2 == 0
            begin = time.process_time()
            self._training.go_on()
            if update:
                own = time.thread_time()
                self._panel.tick()
                self._own.append(time.thread_time() - own)
            time.sleep(0.02)
            self._cpus[update].append(time.process_time() - begin)
        self._training.end()
        self._panel.tick()


def memory(points: int = 1_000_000) -> Figures:
    """Megabytes that so many points keep, and milliseconds that reading them takes."""
    tracemalloc.start()
    store = filled(points)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    out: Figures = {"kept_mb": kept / 1e6, "peak_mb": peak / 1e6, "rss_mb": _fresh(_RSS) / 1e6}
    for name, known in (("few", filled(1000)), ("all", store)):
        out[f"view_ms_{name}"] = best_ms(known.curves)
        out[f"read_ms_{name}"] = best_ms(lambda known=known: known["loss"])  # type: ignore[misc]
    return out


def best_ms(do: Callable[[], object], repeats: int = 7) -> float:
    """Milliseconds of the quickest of some calls."""
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        do()
        found.append(time.perf_counter() - begin)
    return min(found) * 1e3


_RSS = """
import psutil
from tests.benchmarks.costs import filled
filled(1000)
before = psutil.Process().memory_info().rss
store = filled(1_000_000)
print(psutil.Process().memory_info().rss - before)
"""

_IMPORT = """
import sys, time
begin = time.perf_counter()
import nbtrain
print((time.perf_counter() - begin) * 1e3)
"""


def _fresh(code: str) -> float:
    """The number that code prints in a fresh process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def import_figures(repeats: int = 9) -> Figures:
    """Median milliseconds of `import nbtrain` in a fresh process, and what it loads."""
    count = "import sys, nbtrain; print(len(sys.modules))"
    heavy = (
        "import sys, nbtrain; print(len({'tensorflow', 'ipywidgets', 'anywidget', 'matplotlib', "
        "'numpy'} & set(sys.modules)))"
    )
    return {
        "ms": statistics.median(_fresh(_IMPORT) for _ in range(repeats)),
        "modules": int(_fresh(count) - _fresh("import sys; print(len(sys.modules))")),
        "heavy": int(_fresh(heavy)),
    }


def burst(secs: float = 3.0) -> Figures:
    """A loop of nothing but records: faster than they can be converted."""
    import nbtrain
    from nbtrain.run.run import Run

    out: Figures = {}

    def loop(run: Run) -> None:
        begin = before = time.perf_counter()
        longest, step = 0.0, 0
        while before - begin < secs and not run.should_stop():
            step += 1
            run.record(loss=float(step % 1000))
            after = time.perf_counter()
            longest, before = max(longest, after - before), after
        out.update(steps_per_s=step / (before - begin), longest_ms=longest * 1e3)

    def bare() -> float:
        begin = before = time.perf_counter()
        longest = 0.0
        while before - begin < secs:
            after = time.perf_counter()
            longest, before = max(longest, after - before), after
        return longest * 1e3

    out["bare_longest_ms"] = bare()
    run: Run = nbtrain.background(loop, name="burst", start=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run.start().wait()
    out["peak_mb"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    out["kept"], out["steps"] = len(run.scalars["loss"]), run.status.step
    out["kept_mb"] = out["kept"] * 24 / 1e6
    out["thinned"] = run.attempt.context.recorder.thinned_steps
    out["message"] = run.status.message
    return out


def drains(count: int = 5000, repeats: int = 7) -> Figures:
    """Records a second that `drain` converts, stores and writes; the best of some."""
    import tensorflow as tf

    eager, number = tf.constant(1.5), np.float32(1.5)
    makes: dict[str, Callable[[], SupportsFloat]] = {
        "floats": lambda: number,
        "eager tensors": lambda: tf.identity(eager),
    }
    out: Figures = {}
    for kind, make in makes.items():
        for written in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                recorder = Recorder(ScalarStore(), Path(folder) if written else None)
                rates = []
                for turn in range(repeats):
                    for i in range(count):
                        recorder.queue.append(turn * count + i + 1, 1e9 + i, {"loss": make()})
                    begin = time.perf_counter()
                    recorder.drain()
                    rates.append(count / (time.perf_counter() - begin))
                recorder.close()
                out[f"{kind}, {'with' if written else 'without'} event file"] = max(rates)
    return out
