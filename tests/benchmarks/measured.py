"""The figures that both the table and the page show: each is measured once."""

from __future__ import annotations

import functools
from typing import Any

from tests.benchmarks import opening, reading
from tests.benchmarks.kernel import kernel

Figures = dict[str, Any]

ONE_THREAD = (
    "import tensorflow as tf\n"
    "tf.config.threading.set_intra_op_parallelism_threads(1)\n"
    "tf.config.threading.set_inter_op_parallelism_threads(1)\n"
    "from tests.benchmarks import costs, interleaved, steps\n"
)


@functools.cache
def steps(make: str, *, quick: bool) -> Figures:
    """Ways of nbtrain's beside bare steps, and the messages that a page gets meanwhile."""
    chunks, rounds = (60, 5) if quick else (600, 40)
    with kernel() as fresh:
        fresh.execute(
            f"{ONE_THREAD}bench = interleaved.Interleaved(steps.{make}, chunks={chunks}, "
            f"rounds={rounds})"
        )
        messages = fresh.look()
        out: Figures = fresh.execute("out = bench.figures()")
    return out | {"messages": messages}


@functools.cache
def peer_steps(peer: str, *, quick: bool) -> Figures | None:
    """One of `PEERS` beside bare steps of a graph; None if it is not installed."""
    chunks, rounds = (60, 5) if quick else (600, 15)
    return _of_peer(
        f"interleaved.Interleaved(steps.GraphStep, chunks={chunks}, rounds={rounds}, peer={peer!r})"
    )


@functools.cache
def fits(way: str, *, quick: bool) -> Figures | None:
    """One of the ways to watch a Keras fit beside a bare one; None if it is not installed."""
    return _of_peer(f"keras_fit.Fits({way!r}, rounds={8 if quick else 60})")


def _of_peer(made: str) -> Figures | None:
    """The figures of a benchmark, in a kernel of its own: some tools leave threads behind."""
    with kernel() as fresh:
        fresh.execute(
            f"{ONE_THREAD}from tests.benchmarks import keras_fit\n"
            f"try:\n    bench = {made}\nexcept ImportError:\n    bench = None"
        )
        out: Figures | None = fresh.execute("out = bench and bench.figures()")
    return out


@functools.cache
def readers(layout: str, *, quick: bool) -> tuple[int, int, dict[str, Figures]]:
    """The number of runs and events in a layout of event files, and what each reader took."""
    return reading.measure(layout, reading.EVENTS // (10 if quick else 1))


@functools.cache
def pictures(*, quick: bool) -> dict[str, list[float]]:
    """Seconds until the first picture in a fresh kernel, which has imported nothing."""
    repeats = 3 if quick else 15
    return {
        "an empty anywidget": opening.bare(repeats),
        "`import numpy` and an empty anywidget": opening.bare(repeats, "import numpy"),
        "a board of 5 runs": opening.board(repeats),
        "a run of another process": opening.attached(repeats),
    }
