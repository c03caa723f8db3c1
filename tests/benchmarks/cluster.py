"""Measures a step on parameter servers, and how many workers one coordinator keeps busy.

python -m tests.benchmarks.cluster           # about two minutes; it starts up to six processes
python -m tests.benchmarks.cluster faults    # kills a worker and a parameter server
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing

import nbtrain
from nbtrain.engines.ps.connection import Connection

STEPS, ROUNDS, SLEEP_SECS = 1500, 3, 0.05


def build() -> Any:
    """A small model."""
    weights = tf.Variable(tf.zeros((64, 64)))
    taken = tf.Variable(0, dtype=tf.int64)

    def step(*_element: Any) -> dict[str, Any]:
        taken.assign_add(1)
        loss = tf.reduce_sum((weights - 1.0) ** 2)
        weights.assign_sub(0.001 * (weights - 1.0))
        return {"loss": loss}

    return step, tf.train.Checkpoint(weights=weights, iterations=taken)


def sleeping() -> tf.data.Dataset:
    """An element that a worker waits for, instead of computing."""
    return tf.data.Dataset.range(2**40).apply(testing.sleep(int(SLEEP_SECS * 1e6)))


def by_hand(cluster: Any, *, reads: bool) -> float:
    """Steps a second of the loop in TensorFlow's documentation.

    Args:
        reads: Whether it reads the loss of each step, as a run does; else no value leaves its
            worker.
    """
    connection = Connection(cluster.description, build, None)
    coordinator, step = connection.coordinator, connection.step
    for _ in range(100):
        coordinator.schedule(step)
    coordinator.join()
    began = time.perf_counter()
    scheduled = (coordinator.schedule(step) for _ in range(STEPS))
    kept = [*scheduled] if reads else deque(scheduled, maxlen=0)
    coordinator.join()
    for each in kept:
        each.fetch()
    speed = STEPS / (time.perf_counter() - began)
    connection.close()
    return speed


def by_run(cluster: Any, data: Any = None, steps: int = STEPS + 100) -> tuple[float, float]:
    """Steps a second of a run, and the seconds of this process's CPU for each."""
    run = nbtrain.train(build, cluster=cluster, data=data, steps=steps)
    first = min(100, steps // 5)
    while run.status.step < first:
        time.sleep(0.05)
    cpu, step = time.process_time(), run.status.step
    run.wait()
    times = run.scalars["loss"].wall_times[first:]
    cpu = time.process_time() - cpu
    return (len(times) - 1) / (times[-1] - times[0]), cpu / (steps - step)


def seconds_until(ready: Callable[[], object]) -> float:
    """Seconds until something is so."""
    began = time.perf_counter()
    while not ready():
        time.sleep(0.01)
    return time.perf_counter() - began


def faults() -> None:
    """Prints how soon the loss of a task is told, and how soon the training goes on."""
    with nbtrain.cluster.local(ps=1, workers=2) as cluster:
        cluster.wait_until_ready()
        run = nbtrain.train(build, cluster=cluster, save_steps=500)
        seconds_until(lambda: run.checkpoints)

        def marks() -> list[str]:
            return [mark.event for mark in run.marks]

        def goes_on() -> float:
            step = run.status.step
            return seconds_until(lambda: run.status.step > step + 6)  # more than were under way

        cluster.kill("worker", 1)
        print(f"a worker is killed: others go on after {goes_on():.2f} s", end=", ")
        print(f"told after {seconds_until(lambda: 'lost' in marks()):.2f} s more")
        cluster.restart("worker", 1)
        ready = seconds_until(lambda: cluster.tasks[2].state == "serving")
        back = seconds_until(lambda: "returned" in marks())
        print(f"started again: serves after {ready:.2f} s, is used again after {back:.2f} s more")
        cluster.kill("ps")
        told = seconds_until(lambda: "was lost" in (run.status.message or ""))
        step, saved = run.status.step, run.checkpoints[-1].step
        print(f"a parameter server is killed: told after {told:.2f} s at step {step}", end="; ")
        cluster.restart("ps")
        ready = seconds_until(lambda: cluster.tasks[0].state == "serving")
        more = seconds_until(lambda: "continues from step" in (run.status.notice or ""))
        print(f"serves after {ready:.2f} s, goes on after {more:.2f} s more from ckpt-{saved}")
        run.request_stop()
        run.wait()


def _rounded(speeds: Iterable[float]) -> list[int]:
    return [round(each) for each in speeds]


def main() -> None:
    """Prints the figures."""
    os.chdir(tempfile.mkdtemp())
    if sys.argv[1:] == ["faults"]:
        faults()
        return
    with nbtrain.cluster.local(ps=1, workers=2) as cluster:
        cluster.wait_until_ready()
        blind, hand, run = [], [], []
        for _ in range(ROUNDS):
            blind.append(by_hand(cluster, reads=False))
            hand.append(by_hand(cluster, reads=True))
            run.append(by_run(cluster)[0])
        print(f"by hand, no value read {_rounded(blind)} steps/s")
        print(f"by hand, each loss read {_rounded(hand)} steps/s")
        ratio, other = (
            statistics.median(each / base for each, base in zip(run, bases, strict=True))
            for bases in (hand, blind)
        )
        print(f"nbtrain {_rounded(run)} steps/s, median {ratio:.1%} of reading, {other:.1%} of not")
    for workers in (1, 2, 3, 4):
        with nbtrain.cluster.local(ps=1, workers=workers) as cluster:
            cluster.wait_until_ready()
            speed, cpu = by_run(cluster, sleeping, steps=workers * 100)
        ideal = workers / SLEEP_SECS
        print(
            f"{workers} workers, steps of {SLEEP_SECS * 1e3:.0f} ms: {speed:.1f} steps/s, "
            f"{speed / ideal:.0%} of the ideal; {cpu * 1e3:.2f} ms of the coordinator for a step"
        )
    for many in (100, 1000):
        print(f"{many:,} workers are kept busy by steps of {many * cpu:.2f} s and more")


if __name__ == "__main__":
    main()
