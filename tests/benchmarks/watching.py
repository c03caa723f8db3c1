"""Measures what following a logdir costs, and how soon its curves reach a page."""

from __future__ import annotations

import os
import tempfile
import time
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.logdir.scalars import scalars
from nbtrain.tfevents.writer import EventWriter
from tests.benchmarks.kernel import Kernel, kernel
from tests.benchmarks.reading import TEN, write

FILES, FILE_BYTES = 200, 5_000_000
LONG_AGO = 1.7e9


def idle_polls(polls: int) -> list[float]:
    """Seconds that a poll with nothing new takes: 200 runs of one file, 1 GB in all."""
    event = tf.compat.v1.Event(wall_time=LONG_AGO)
    event.summary.value.add(tag="image").image.encoded_image_string = bytes(FILE_BYTES)
    with tempfile.TemporaryDirectory() as logdir:
        first = Path(logdir) / "events.out.tfevents.1.here"
        with tf.io.TFRecordWriter(str(first)) as writer:
            writer.write(event.SerializeToString())
        for run in range(FILES):
            folder = Path(logdir) / f"run{run}"
            folder.mkdir()
            (folder / first.name).hardlink_to(first)
            os.utime(folder, (LONG_AGO, LONG_AGO))
        first.unlink()
        os.utime(logdir, (LONG_AGO, LONG_AGO))
        log = scalars(logdir)
        return timeit.repeat(log.refresh, number=1, repeat=polls)


def until_seen(events: int) -> list[float]:
    """Seconds from the flush of an event until its curve reaches a page that follows."""
    with tempfile.TemporaryDirectory() as logdir, kernel() as fresh:
        writer = EventWriter(Path(logdir))
        _write(writer, 0)
        fresh.start(f"%load_ext nbtrain\n%nbtrain scalars {logdir} --follow")
        tag = index_of(fresh)["tags"][0]
        found = []
        for step, pause in enumerate(np.random.default_rng(0).uniform(0, 0.5, events), 1):
            time.sleep(pause)  # wherever between two polls
            fresh.send({"t": "alive"})
            began = time.perf_counter()
            _write(writer, step)
            fresh.wait_for("grew")
            ask(fresh, tag)
            found.append(time.perf_counter() - began)
        writer.close()
        return found


def first_picture(events: int) -> tuple[float, float]:
    """Seconds from the call until the first curves reach a page, and until all is read."""
    with tempfile.TemporaryDirectory() as logdir, kernel() as fresh:
        write(Path(logdir) / "run", events, TEN, modern=True)
        fresh.execute("get_ipython().run_line_magic('load_ext', 'nbtrain')")
        began = time.perf_counter()
        fresh.start(f"%nbtrain scalars {logdir}")
        index = index_of(fresh)
        ask(fresh, index["tags"][0])
        first = time.perf_counter() - began
        while index["reading"]:
            index = fresh.wait_for("grew", "index")
        return first, time.perf_counter() - began


def index_of(fresh: Kernel) -> dict[str, Any]:
    """Returns the snapshot for a new page, once there are tags."""
    fresh.send({"t": "hello"})
    index = fresh.wait_for("index")
    while not index["tags"]:
        index = fresh.wait_for("index")
    return index


def ask(fresh: Kernel, tag: str) -> None:
    """Asks for the curves of a tag, and waits for them."""
    fresh.send({"t": "want", "id": 1, "tag": tag})
    fresh.wait_for("curves")


def _write(writer: EventWriter, step: int) -> None:
    one = np.array([step])
    writer.scalars(one, one + LONG_AGO, {"loss": np.array([0.5])})
