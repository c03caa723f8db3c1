"""Measures the reading of event files: nbtrain's reader beside those that there are.

Every reader works in a process of its own on the same files, checksums verified, one
after the other, and keeps every point. Figures are seconds of CPU of all its threads.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Figures = dict[str, Any]

EVENTS = 1_000_000
SMALL = 600  # scalars of a small run
ONE = ["loss"]
TEN = [
    *("train/loss", "train/accuracy", "lr", "grad_norm", "val/loss", "val/accuracy"),
    *("val/auc", "weights/mean", "weights/std", "throughput"),
]


def measure(events: int = EVENTS) -> Iterator[tuple[str, int, dict[str, Figures]]]:
    """For each layout of files, their events, and what each reader took."""
    small = 3 * events // 1000
    with tempfile.TemporaryDirectory() as folder:
        for name, runs, tags, modern in (
            ("TF1, one tag", 1, ONE, False),
            ("TF2, one tag", 1, ONE, True),
            ("TF1, ten tags", 1, TEN, False),
            ("20 runs of ten tags", 20, TEN, True),
            (f"{small:,} runs of one tag", small, ONE, True),
            (f"{small:,} runs of ten tags", small, TEN, True),
        ):
            logdir = Path(folder) / name.replace(" ", "-")
            count = SMALL if runs == small else events // runs
            for run in range(runs):
                write(logdir / f"run{run}", count, tags, modern=modern)
            yield name, count * runs, {reader: _measured(reader, logdir) for reader in READERS}


def write(folder: Path, count: int, tags: list[str], *, modern: bool) -> None:
    """An event file of scalars, each in an event of its own, by TensorFlow's writer."""
    import tensorflow as tf

    v1 = tf.compat.v1
    folder.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(0).random(count).tolist()
    with tf.io.TFRecordWriter(str(folder / "events.out.tfevents.1700000000.here")) as writer:
        first = v1.Event(wall_time=1.7e9, file_version="brain.Event:2")
        writer.write(first.SerializeToString())
        for index, number in enumerate(values):
            event = v1.Event(wall_time=1.7e9 + index * 0.00123, step=index // len(tags))
            value = event.summary.value.add(tag=tags[index % len(tags)])
            if modern:
                value.metadata.plugin_data.plugin_name = "scalars"
                value.tensor.dtype = 1
                value.tensor.tensor_shape.SetInParent()
                value.tensor.float_val.append(number)
            else:
                value.simple_value = number
            writer.write(event.SerializeToString())


def nbtrain_reader(logdir: str) -> Any:
    """nbtrain's own."""
    import tensorflow.compat.v1  # noqa: F401 - in a notebook it is there

    from nbtrain.logdir.reader import Reader

    def load() -> Any:
        reader = Reader(logdir)
        reader.scan()
        reader.read()
        return reader

    return load


def event_accumulator(logdir: str) -> Any:
    """TensorBoard's reader in Python, told to keep all points."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    keep = {"scalars": 0, "tensors": 0}

    def load() -> Any:
        folders = sorted(Path(logdir).iterdir())
        return [EventAccumulator(str(folder), keep).Reload() for folder in folders]

    return load


def summary_iterator(logdir: str) -> Any:
    """TensorFlow's iterator; the points are kept in lists."""
    import tensorflow as tf

    def load() -> Any:
        points = []
        for path in sorted(Path(logdir).glob("*/*")):
            for event in tf.compat.v1.train.summary_iterator(str(path)):
                points += [(event.step, event.wall_time, each) for each in event.summary.value]
        return points

    return load


READERS = {
    "nbtrain": nbtrain_reader,
    "EventAccumulator": event_accumulator,
    "summary_iterator": summary_iterator,
    "data server": None,
}


def _measured(reader: str, logdir: Path) -> Figures:
    if reader == "data server":
        return _data_server(logdir)
    root = str(Path(__file__).parents[2])
    code = f"from tests.benchmarks import reading; reading.report({reader!r}, {str(logdir)!r})"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": root, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def report(reader: str, logdir: str) -> None:
    """Measure one reader in this process, and print its figures."""
    load = READERS[reader](logdir)  # type: ignore[misc]
    before, began = _resident(), time.process_time()
    kept = load()
    secs = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(json.dumps({"secs": secs, "kept": _resident() - before, "peak": peak}))
    del kept


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def _data_server(logdir: Path) -> Figures:
    """TensorBoard's data server in Rust: until it has read, and its processor rests."""
    from tensorboard_data_server import server_binary

    command = [server_binary(), "--logdir", str(logdir), "--reload", "once", "--port", "0"]
    command += ["--samples-per-plugin", "scalars=all"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        secs = -1.0
        while (now := _secs(server.pid)) != secs or now == 0:
            secs = now
            time.sleep(0.5)
        pages = Path(f"/proc/{server.pid}/statm").read_text(encoding="ascii").split()[1]
        server.terminate()
    memory = int(pages) * resource.getpagesize()
    return {"secs": secs, "kept": memory, "peak": memory}


def _secs(pid: int) -> float:
    """Seconds of CPU that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
