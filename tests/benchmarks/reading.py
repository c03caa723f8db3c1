"""Measures the reading of event files: nbtrain's reader beside those that there are.

Every reader works in a process of its own on the same files, checksums verified, one
after the other, and keeps every point. Figures are seconds of CPU of all its threads.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Figures = dict[str, Any]

EVENTS = 1_000_000
WALK = "a walk over the records"
FRAME_BYTES = 16  # of a record: its length, and two checksums
SMALL = 600  # scalars of a small run
ONE = ["loss"]
TEN = [
    *("train/loss", "train/accuracy", "lr", "grad_norm", "val/loss", "val/accuracy"),
    *("val/auc", "weights/mean", "weights/std", "throughput"),
]


class Layout(NamedTuple):
    """How event files are laid out: the number of runs, their tags, and whether TF2 writes them.

    `runs` is None for so many runs of `SMALL` scalars that they are more than `EVENTS` in all.
    """

    runs: int | None
    tags: list[str]
    modern: bool


LAYOUTS = {
    "TF1, one tag": Layout(1, ONE, modern=False),
    "TF2, one tag": Layout(1, ONE, modern=True),
    "TF1, ten tags": Layout(1, TEN, modern=False),
    "20 runs of ten tags": Layout(20, TEN, modern=True),
    "many runs of one tag": Layout(None, ONE, modern=True),
    "many runs of ten tags": Layout(None, TEN, modern=True),
}


def measure(name: str, events: int = EVENTS) -> tuple[int, int, dict[str, Figures]]:
    """For a layout the number of runs and of events, and what each reader took."""
    layout = LAYOUTS[name]
    runs = layout.runs or 3 * events // 1000
    count = SMALL if layout.runs is None else events // runs
    with tempfile.TemporaryDirectory() as logdir:
        for run in range(runs):
            write(Path(logdir) / f"run{run}", count, layout.tags, modern=layout.modern)
        return runs, count * runs, {each: _measured(each, Path(logdir)) for each in READERS}


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


def tbparse_reader(logdir: str) -> Any:
    """tbparse, which gives a data frame."""
    reader = importlib.import_module("tbparse").SummaryReader
    return lambda: reader(logdir).scalars


def framing_walk(logdir: str) -> Any:
    """From record to record in a loop of Python, without a look at what they hold."""

    def load() -> int:
        count = 0
        for path in sorted(Path(logdir).glob("*/*")):
            data, at = path.read_bytes(), 0
            while at < len(data):
                at += struct.unpack_from("<Q", data, at)[0] + FRAME_BYTES
                count += 1
        return count

    return load


READERS = {
    "nbtrain": nbtrain_reader,
    WALK: framing_walk,
    "EventAccumulator": event_accumulator,
    "summary_iterator": summary_iterator,
    "data server": None,
}
if importlib.util.find_spec("tbparse"):
    READERS["tbparse"] = tbparse_reader


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
