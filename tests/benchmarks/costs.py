"""Costs that need no kernel, and those of an update within one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import numpy as np

from nbtrain.panel.view import fields
from nbtrain.panel.wire import Wire
from nbtrain.states import Phase, Status
from nbtrain.store import ScalarStore

Values = dict[str, Any]


def filled(points: int) -> ScalarStore:
    """A store with so many points of one tag."""
    store, rng = ScalarStore(), np.random.default_rng(0)
    for begin in range(0, points, 1000):
        steps = np.arange(begin, min(points, begin + 1000), dtype=np.int64)
        store.extend("loss", steps, steps.astype(np.float64), rng.random(len(steps)))
    return store


def update(points: int, send: Any = None, repeats: int = 200) -> Values:
    """CPU and bytes of one panel update of a curve of this length, 850 new points each."""
    store, rng = filled(points), np.random.default_rng(1)
    wire = Wire(store)
    status = Status("digits", "step function", Phase.RUNNING, step=points, total_steps=10**8)
    wire.snapshot(fields(status))
    cpu, sizes = [], []
    for turn in range(repeats):
        steps = np.arange(points + 850 * turn, points + 850 * (turn + 1), dtype=np.int64)
        store.extend("loss", steps, steps.astype(np.float64), rng.random(850))
        begin = time.process_time()
        now = Status(
            "digits",
            "step function",
            Phase.RUNNING,
            step=int(steps[-1]),
            total_steps=10**8,
            steps_per_s=8500.0 + turn,
            eta_s=1000.0 - turn,
            elapsed_s=float(turn),
            values=store.last_values(),
        )
        message = wire.update(fields(now))
        if message is not None and send is not None:
            send(*message)
        cpu.append(time.process_time() - begin)
        content, buffers = message or ({}, [])
        sizes.append(len(json.dumps(content)) + sum(map(len, buffers)))
    begin = time.perf_counter()
    wire.snapshot(fields(status))
    return {
        "cpu_ms": float(np.median(cpu)) * 1e3,
        "bytes": max(sizes),
        "snapshot_ms": (time.perf_counter() - begin) * 1e3,
    }


def memory(points: int = 1_000_000) -> Values:
    """Memory that so many points keep, and how long reading them takes."""
    tracemalloc.start()
    store = filled(points)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    begin = time.perf_counter()
    store.curves()
    view = time.perf_counter() - begin
    begin = time.perf_counter()
    store["loss"]
    read = time.perf_counter() - begin
    return {
        "kept_mb": kept / 1e6,
        "peak_mb": peak / 1e6,
        "view_ms": view * 1e3,
        "read_ms": read * 1e3,
    }


def import_ms(repeats: int = 9) -> Values:
    """Median time of `import nbtrain` in a new process, and what must not be loaded by it."""
    code = (
        "import time; t = time.perf_counter(); import nbtrain; d = time.perf_counter() - t\n"
        "import sys; print(d * 1e3, [m for m in ('tensorflow', 'ipywidgets', 'matplotlib') "
        "if m in sys.modules])"
    )
    lines = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    times = [float(line.stdout.split()[0]) for line in lines]
    return {"ms": float(np.median(times)), "heavy": lines[0].stdout.split(" ", 1)[1].strip()}


def burst(secs: float = 3.0) -> Values:
    """A loop of nothing but records: faster than they can be converted."""
    import nbtrain
    from nbtrain.records import LIMIT
    from nbtrain.run import Run

    out: Values = {}

    @nbtrain.background(start=False)
    def run(run: Run) -> None:
        begin = before = time.perf_counter()
        longest, step = 0.0, 0
        while before - begin < secs and not run.should_stop():
            step += 1
            run.record(loss=float(step % 1000), other=1.0)
            after = time.perf_counter()
            longest, before = max(longest, after - before), after
        out.update(steps_per_s=step / (before - begin), longest_ms=longest * 1e3)

    run.start().wait()
    out["kept"] = len(run.scalars["loss"])
    out["steps"] = run.status.step
    out["limit"] = LIMIT
    out["message"] = run.status.message
    return out
