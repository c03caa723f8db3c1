"""What a step costs more under a run: executed inside a real kernel by `run.py`.

Two whole trainings compared differ by more than nbtrain costs. So bare steps and
recorded steps take turns in one loop on one training thread:

- chunks of some milliseconds tell what is added to the training thread: ratio of the
  median chunks, and CPU of the thread a step;
- blocks of a second tell what everything costs, the LooperThread, the panel's messages
  and the event file included: median over the ratios of neighbouring blocks. In a bare
  block nothing is recorded, so that there is nothing to convert, write or send.

Bare against itself, in the same loop, is the control.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.notebook import display_of
from nbtrain.run import Run

Values = dict[str, Any]
Step = Callable[[], Values]

CHUNK_SECS = 0.007
BLOCK_SECS = 1.0


def graph_step() -> tuple[Step, Step]:
    """A training step of a graph, of about 120 µs, by `session.run` and as `supervise` does it."""
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(np.random.default_rng(0).random((96, 64)), tf.float32)
        w = v1.get_variable("w", [64, 64], initializer=v1.glorot_uniform_initializer(seed=1))
        loss = tf.reduce_mean(tf.square(x @ w - 1.0))
        step = v1.train.get_or_create_global_step()
        train_op = v1.train.AdamOptimizer(1e-4).minimize(loss, global_step=step)
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        session = v1.Session(graph=graph, config=config)
        session.run(v1.global_variables_initializer())
    fetches = {"train_op": train_op, "loss": loss}
    called = session.make_callable([train_op, loss])
    return lambda: {"loss": session.run(fetches)["loss"]}, lambda: {"loss": called()[1]}


def function_step() -> tuple[Step, Step]:
    """A training step of a `tf.function`, of a millisecond or two; `train` calls it as it is."""
    x = tf.constant(np.random.default_rng(0).random((256, 256)), tf.float32)
    layers = [tf.keras.layers.Dense(256, "relu") for _ in range(2)]
    model = tf.keras.Sequential([tf.keras.Input((256,)), *layers])
    optimizer = tf.keras.optimizers.Adam(1e-4)

    @tf.function
    def update() -> Values:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - 1.0))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}

    step = lambda: dict(update())  # noqa: E731 - the same step twice
    return step, step


class Clocked:
    """Bare steps, with the times of their chunks and the longest step."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.walls: list[float] = []
        self.cpus: list[float] = []
        self.longest = 0.0

    def chunk(self, count: int) -> None:
        """Take so many steps, clocked."""
        cpu, begin = time.thread_time(), time.perf_counter()
        gap = self.take(count)
        self.walls.append((time.perf_counter() - begin) / count)
        self.cpus.append((time.thread_time() - cpu) / count)
        self.longest = max(self.longest, gap)

    def block(self, secs: float) -> float:
        """Step for some seconds; returns the seconds a step took."""
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < secs:
            self.take(50)
            count += 50
        return (time.perf_counter() - begin) / count

    def take(self, count: int) -> float:
        """So many steps; returns the longest, in seconds."""
        step, now, longest = self.step, time.perf_counter, 0.0
        before = now()
        for _ in range(count):
            step()
            after = now()
            longest = max(longest, after - before)
            before = after
        return longest


class Recorded(Clocked):
    """The same in a loop of the user's own under a run."""

    def __init__(self, step: Step, run: Run) -> None:
        super().__init__(step)
        self._run = run

    def take(self, count: int) -> float:
        """So many steps; returns the longest, in seconds."""
        step, now, longest = self.step, time.perf_counter, 0.0
        should_stop, record = self._run.should_stop, self._run.record
        before = now()
        for _ in range(count):
            should_stop()
            record(step())
            after = now()
            longest = max(longest, after - before)
            before = after
        return longest


class Driven(Recorded):
    """The same in the loop that `nbtrain.train` and `nbtrain.supervise` drive.

    The step itself keeps the clock, as it does in the bare loop, and takes a turn's end
    for the end of an input.
    """

    def take(self, count: int) -> float:
        """So many steps; returns the longest, in seconds."""
        step, now = self.step, time.perf_counter
        before, longest, left = now(), 0.0, count

        def clocked() -> Values:
            nonlocal before, longest, left
            if not left:
                raise StopIteration
            left -= 1
            values = step()
            after = now()
            longest = max(longest, after - before)
            before = after
            return values

        with contextlib.suppress(StopIteration):
            self._run.drive(clocked)
        return longest


def measure(make: Callable[[], tuple[Step, Step]], *, chunks: int, pairs: int) -> Values:
    """The cost of a step of a run that is shown in this cell, its viewer fresh."""
    step, own = make()
    for _ in range(200):
        step()
        own()
    out: Values = {}

    @nbtrain.background(name=f"bench-{make.__name__}", start=False)
    def run(run: Run) -> None:
        ways = {
            "bare": Clocked(step),
            "again": Clocked(step),
            "own loop": Recorded(step, run),
            "driven": Driven(step, run),
            "nbtrain's whole way": Driven(own, run),
        }
        begin = time.perf_counter()
        for _ in range(200):
            step()
        each = (time.perf_counter() - begin) / 200
        count = max(1, round(CHUNK_SECS / each))
        for _ in range(chunks):
            for way in ways.values():
                way.chunk(count)
        blocks = [[way.block(BLOCK_SECS) for way in ways.values()] for _ in range(pairs)]
        out.update(ways=_summary(ways, np.array(blocks)), step_us=each * 1e6)

    display = display_of(run)
    display.show()
    run.start()
    with _watched(display):
        run.wait()
    out["recorded"] = len(run.scalars["loss"])
    out["message"] = run.status.message
    return out


def _summary(ways: dict[str, Clocked], blocks: Any) -> Values:
    bare = ways["bare"]
    base = blocks[:, :2].mean(axis=1)
    return {
        name: {
            "typical": np.median(way.walls) / np.median(bare.walls),
            "mean": sum(way.walls) / sum(bare.walls),
            "cpu_us": (np.median(way.cpus) - np.median(bare.cpus)) * 1e6,
            "all": list(np.percentile(blocks[:, number] / base, [25, 50, 75])),
            "longest_ms": way.longest * 1e3,
        }
        for number, (name, way) in enumerate(ways.items())
    }


class _watched:  # noqa: N801 - reads as what it does
    """A viewer that is always there: says hello, and that it lives, as a page does."""

    def __init__(self, display: Any) -> None:
        self._panel = display.panel
        self._gone = threading.Event()

    def __enter__(self) -> None:
        self._panel._on_message(None, {"t": "hello"}, [])
        threading.Thread(target=self._live, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._gone.set()

    def _live(self) -> Iterator[None] | None:
        for _ in itertools.count():
            if self._gone.wait(2.0):
                return None
            self._panel._on_message(None, {"t": "alive", "seq": self._panel._wire.seq}, [])
        return None
