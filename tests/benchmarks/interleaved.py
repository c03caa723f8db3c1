"""Measures what a step costs more: bare steps and others take turns in one training thread.

Two whole trainings compared differ by more than nbtrain costs. So, executed inside a
real kernel by `run.py`, with the panel shown and a page that looks at it:

- chunks of some milliseconds tell what is added to the training thread: ratio of the
  median chunks, ratio of the totals, and CPU of the thread a step. The looper's ticks
  fall on every way alike.
- blocks of a second tell what everything costs, the looper, the panel's messages and
  the event file included: the ticks come in the run's own blocks only. The first part
  of a block is not clocked: there the last block's rest is still written and sent.
  Windows of one tick each are compared, quiet ones with quiet ones.
  Stalls are taken here, for in chunks they would hit the bare steps as well.

Bare against itself, in the same loop, is the control.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nbtrain
from nbtrain.core.values.arrays import FloatArray
from nbtrain.engines.loops import LoopRun
from nbtrain.notebook.display import display_of
from nbtrain.run.run import Run
from tests.benchmarks.steps import GraphStep, Step
from tests.benchmarks.ways import (
    PEERS,
    Driven,
    ForegroundLoop,
    OwnLoop,
    Supervised,
    SupervisorLoop,
    TrackedLoop,
    Way,
    monitored,
)

Figures = dict[str, Any]

CHUNK_SECS = 0.007
# The steps of a chunk: entering the loop of `train` costs about as much as ten of them.
FEWEST_STEPS = 50
BLOCK_SECS = 0.8
SETTLE_SECS = 0.25
STALL_SECS = 0.005
QUARTILES = [25, 50, 75]
# One tick of the looper.
WINDOW_SECS = 0.1


class Interleaved:
    """One interleaved measurement, in the background of the calling cell.

    Args:
        make: Makes the step function.
        chunks: Turns of chunks.
        rounds: Turns of blocks.
        peer: One of `PEERS`, which takes the turns in the place of nbtrain's loops: it may leave
            threads behind.
        session: "RunHook" or "monitor": MonitoredSessions take the turns, not loops.
    """

    def __init__(
        self,
        make: Callable[[], Step],
        *,
        chunks: int,
        rounds: int,
        peer: str | None = None,
        session: str | None = None,
    ) -> None:
        self._step = make()
        for _ in range(200):
            self._step()
        self._sizes = chunks, rounds
        self._peer = peer
        self._way = PEERS[peer](self._step, tempfile.mkdtemp(dir=".")) if peer else None
        self._session = session
        self._figures: Figures = {}
        name = f"bench-{session or make.__name__}"
        self._run: Run = nbtrain.background(self._measure, name=name, start=False)
        self._ticking = True
        display_of(self._run).show()
        self._run.start()

    def figures(self) -> Figures:
        """The figures, once the run has ended; blocks until then."""
        self._run.wait()
        recorded = 0 if self._way else len(self._run.scalars["loss"])
        return {**self._figures, "recorded": recorded, "message": self._run.status.message}

    def _ways(self, run: Run, stack: contextlib.ExitStack) -> dict[str, Way]:
        step = self._step
        ways = {"bare": Way(step), "again": Way(step)}
        if self._peer and self._way:
            return ways | {self._peer: self._way}
        if self._session is not None:
            assert isinstance(step, GraphStep), "a session runs a graph"
            return ways | monitored(step, run, self._session, stack)
        ways |= {"own loop": OwnLoop(step, run), "train": Driven(step, run)}
        if isinstance(run, LoopRun):
            ways["track"] = TrackedLoop(step, run)
            ways["track in the foreground"] = ForegroundLoop(step, run)
        if isinstance(step, GraphStep):
            ways["supervise"] = Supervised(step, run, None)
            ways["supervise with a feed"] = Supervised(step, run, dict)
            ways["Supervisor"] = SupervisorLoop(step)
        return ways

    def _measure(self, run: Run) -> None:
        watch: Any = run.attempt.context.monitor
        tick = watch.tick
        # Only the run's own blocks have ticks: a bare block is bare.
        watch.tick = lambda *args: tick(*args) if self._ticking else None
        with contextlib.ExitStack() as stack:
            self._loop(self._ways(run, stack))

    def _loop(self, ways: dict[str, Way]) -> None:
        each = float(np.median(ways["bare"].take(500)))
        chunks, rounds = self._sizes
        walls, cpus = _chunks(ways, chunks, max(FEWEST_STEPS, round(CHUNK_SECS / each)))
        self._ticking = False
        cpu, gaps = self._blocks(ways, rounds, max(1, round(0.01 / each)))
        self._ticking = True
        taken = sum(way.taken for way in ways.values() if way.ticks)
        self._figures = {
            "taken": taken,
            "step_us": float(np.median(walls["bare"])) * 1e6,
            "typical": {name: np.median(t) / np.median(walls["bare"]) for name, t in walls.items()},
            "mean": {name: sum(t) / sum(walls["bare"]) for name, t in walls.items()},
            "cpu_us": {
                name: list(
                    (np.percentile(t, QUARTILES) - np.percentile(cpus["bare"], QUARTILES)) * 1e6
                )
                for name, t in cpus.items()
            },
            "everything": {name: _ratios(gaps, name) for name in gaps},
            "process_us": {name: _process(cpu, name) for name in cpu},
            "stalls": {name: _stalls(gaps[name]) for name in gaps},
        }

    def _blocks(
        self, ways: dict[str, Way], rounds: int, count: int
    ) -> tuple[dict[str, FloatArray], dict[str, list[FloatArray]]]:
        """For each way and round: the process's CPU seconds a step; the seconds of every step."""
        order, chance = list(ways), random.Random(0)
        cpus: dict[str, list[float]] = {name: [] for name in ways}
        gaps: dict[str, list[FloatArray]] = {name: [] for name in ways}
        for _ in range(rounds):
            chance.shuffle(order)
            for name in order:
                way = ways[name]
                self._ticking = way.ticks
                _for_secs(way, SETTLE_SECS, count)
                cpu = time.process_time()
                taken = _for_secs(way, BLOCK_SECS, count)
                cpus[name].append((time.process_time() - cpu) / len(taken))
                self._ticking = False
                gaps[name].append(taken)
        return {name: np.array(rows) for name, rows in cpus.items()}, gaps


def _chunks(
    ways: dict[str, Way], turns: int, count: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds, and seconds of CPU, that a step took in each chunk of each way."""
    walls: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    order, chance = list(ways), random.Random(1)
    for _ in range(turns):
        chance.shuffle(order)
        for name in order:
            way = ways[name]
            cpu, begin = time.thread_time(), time.perf_counter()
            way.take(count)
            walls[name].append((time.perf_counter() - begin) / count)
            cpus[name].append((time.thread_time() - cpu) / count)
    return walls, cpus


def _for_secs(way: Way, secs: float, count: int) -> FloatArray:
    end, taken = time.perf_counter() + secs, []
    while time.perf_counter() < end:
        taken.append(np.array(way.take(count)))
    return np.concatenate(taken)


def _windows(gaps: Sequence[FloatArray]) -> FloatArray:
    """Seconds a step took in each window as long as the looper's tick is."""
    found = []
    for block in gaps:
        ends = np.flatnonzero(np.diff((np.cumsum(block) / WINDOW_SECS).astype(int)))
        found += [part.mean() for part in np.split(block, ends + 1)[:-1]]
    return np.array(found)


def _ratios(gaps: dict[str, list[FloatArray]], name: str) -> list[float]:
    """Wall against bare: of the first quarter, the median, the mean of the windows.

    Where others use the machine, its quiet windows are the ones that can be compared.
    """
    own, bare = _windows(gaps[name]), _windows(gaps["bare"])
    ratios = np.percentile(own, [25, 50]) / np.percentile(bare, [25, 50])
    return [*map(float, ratios), float(own.mean() / bare.mean())]


def _process(cpus: dict[str, FloatArray], name: str) -> float:
    """Microseconds of CPU a step, of all threads, beyond the bare ones."""
    return float(np.median(cpus[name]) - np.median(cpus["bare"])) * 1e6


def _stalls(gaps: Sequence[FloatArray]) -> dict[str, float]:
    """Returns the excess of the longest steps over a usual one, in milliseconds."""
    every = np.concatenate(gaps)
    beyond = every - np.median(every)
    longest = sorted(float(part.max() - np.median(every)) * 1e3 for part in gaps)
    return {
        "longest_ms": longest[-1],
        "block_ms": float(np.median(longest)),
        "p9999_ms": float(np.percentile(beyond, 99.99)) * 1e3,
        "per_minute": float((beyond > STALL_SECS).sum() / every.sum() * 60.0),
    }
