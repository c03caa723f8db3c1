"""Measures what nbtrain costs, and prints one table; asserts nothing.

python tests/benchmarks/run.py [--quick] [--out FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
Row = tuple[str, str, str]


def in_kernel(code: str) -> Any:
    """Execute code in a fresh ipykernel; returns what it leaves in `out`."""
    from jupyter_client.manager import start_new_kernel

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        manager, client = start_new_kernel(kernel_name="python3", cwd=folder, env=environment)
        try:
            code += "\nimport json; open('out.json', 'w').write(json.dumps(out, default=float))"
            reply = client.execute_interactive(code, timeout=900, output_hook=lambda _: None)
            if reply["content"]["status"] != "ok":
                raise RuntimeError("\n".join(reply["content"]["traceback"]))
            return json.loads(Path(folder, "out.json").read_text())
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def step_rows(quick: bool) -> Iterable[Row]:
    """What a step costs more: a graph's, and a function's."""
    chunks, pairs = (60, 4) if quick else (500, 20)
    for make, words, wall in (
        ("graph_step", "graph step", "1.03"),
        ("function_step", "tf.function step", "1.005"),
    ):
        out = in_kernel(
            "import tensorflow as tf\n"
            "tf.config.threading.set_intra_op_parallelism_threads(1)\n"
            "tf.config.threading.set_inter_op_parallelism_threads(1)\n"
            "from tests.benchmarks import steps\n"
            f"out = steps.measure(steps.{make}, chunks={chunks}, pairs={pairs})"
        )
        name = f"{words} of {out['step_us']:,.0f} µs"
        for way, found in out["ways"].items():
            if way == "bare":
                continue
            control = way == "again"
            what = f"{name}, {'bare against itself' if control else way}"
            low, middle, high = found["all"]
            aim = "1" if control else wall
            yield f"{what}: all, wall", f"{middle:.3f} [{low:.3f} to {high:.3f}]", aim
            turns = f"{found['typical']:.3f} typical, {found['mean']:.3f} mean"
            yield f"{what}: training thread, wall", turns, aim
            yield f"{what}: its CPU", f"{found['cpu_us']:+.2f} µs", "0" if control else "3 µs"
            bare = out["ways"]["bare"]["longest_ms"]
            stall = f"{found['longest_ms']:.1f} ms (bare {bare:.1f})"
            yield f"{what}: longest step", stall, "" if control else "bare + 5 ms"


def other_rows() -> Iterable[Row]:
    """Updates, memory, import, bursts."""
    for points in (1_000, 100_000, 1_000_000):
        out = in_kernel(
            "import tensorflow, anywidget\nfrom tests.benchmarks import costs\n"
            "widget = anywidget.AnyWidget(_esm='export default {}')\n"
            f"out = costs.update({points}, widget.send)"
        )
        name = f"panel update at {points:,} points"
        yield f"{name}: CPU of the kernel", f"{out['cpu_ms']:.2f} ms", "1 ms"
        yield f"{name}: content and buffers", f"{out['bytes']:,} bytes", "2 kB with envelope"
        yield f"{name}: a whole snapshot", f"{out['snapshot_ms']:.2f} ms", ""
    from tests.benchmarks import costs

    out = costs.memory()
    yield (
        "a million points: memory",
        f"{out['kept_mb']:.1f} MB (peak {out['peak_mb']:.1f})",
        "40 MB",
    )
    yield (
        "a million points: view, all columns",
        f"{out['view_ms']:.2f}, {out['read_ms']:.1f} ms",
        "",
    )
    out = costs.import_ms()
    yield "import nbtrain", f"{out['ms']:.1f} ms; of the heavy ones: {out['heavy']}", "50 ms; none"
    out = in_kernel("from tests.benchmarks import costs\nout = costs.burst()")
    speed = f"{out['steps_per_s']:,.0f} steps/s, longest {out['longest_ms']:.1f} ms"
    yield "burst of records", speed, "never blocks"
    yield "burst of records: kept", f"{out['kept']:,} of {out['steps']:,}", "thinned, and said so"
    yield "burst of records: told", str(out["message"]), ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what nbtrain costs.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, noisier figures")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    lines = [
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "",
    ]
    lines += ["| what | measured | aim |", "|---|---|---|"]
    print("\n".join(lines))
    for row in itertools.chain(step_rows(options.quick), other_rows()):
        lines.append("| " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(ROOT))
    main()
