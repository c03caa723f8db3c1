"""Measures the resources of a run: the time of its training thread, and CPU and memory.

resource_usage = ResourceUsage(time_usage)
resource_usage.beside(0.001)   # the looper, at every tick: CPU seconds of the tick
resource_usage.measure(phase)  # the looper, at every tick: measures once a second
resource_usage.usage           # any thread
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import psutil
import tensorflow as tf

from nbtrain.core.states import Phase, Usage
from nbtrain.inner.tensorflow import has_runtime
from nbtrain.run.beside.time_usage import WINDOW_LOOKS, TimeUsage

POLL_SECS = 1.0

# The memory limit of a container, in the two versions of control groups. Without a limit, the
# content is "max" or a number beyond all memory.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class ResourceUsage:
    """Measures the resources of a run; the looper's thread."""

    def __init__(
        self,
        time_usage: TimeUsage,
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.usage: Usage | None = None
        self._time_usage = time_usage
        self._clock, self._cpu_clock = clock, cpu_clock
        self._due = clock()
        self._display = 0.0
        # Time, CPU seconds of the process, CPU seconds of the ticks.
        self._looks: deque[tuple[float, float, float]] = deque(maxlen=WINDOW_LOOKS + 1)
        self._process = psutil.Process()
        self._memory_limit = memory_limit()

    def beside(self, cpu_secs: float) -> None:
        """Adds the CPU time of a tick, which records and displays."""
        self._display += cpu_secs

    def measure(self, phase: Phase) -> None:
        """Measures once a second; after the end always, and for the whole time of the run."""
        now = self._clock()
        if now < self._due and not phase.ended:
            return
        self._due = now + POLL_SECS
        self._looks.append((now, self._cpu_clock(), self._display))
        self._time_usage.update(whole=phase.ended)
        (then, cpu_then, display_then), (_, cpu, display) = self._looks[0], self._looks[-1]
        if not self._time_usage.shares or now <= then:
            return
        self.usage = Usage(
            seconds=dict(self._time_usage.seconds),
            shares=dict(self._time_usage.shares),
            display=(display - display_then) / (now - then),
            cpu=(cpu - cpu_then) / (now - then),
            memory=self._process.memory_info().rss,
            memory_limit=self._memory_limit,
            gpu_memory=gpu_memory(),
        )


def memory_limit() -> int:
    """Returns the memory limit of the container, or the memory of the machine, in bytes."""
    limit = int(psutil.virtual_memory().total)
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):
            limit = min(limit, int(Path(path).read_text()))
    return limit


def gpu_memory() -> int | None:
    """Returns the bytes of TensorFlow's tensors on all GPUs; None without a GPU in use."""
    # Asking initializes the GPUs; the program must be able to configure them before that.
    if not has_runtime():
        return None
    try:
        gpus = tf.config.list_logical_devices("GPU")
        taken = [tf.config.experimental.get_memory_info(gpu.name)["current"] for gpu in gpus]
    except (RuntimeError, ValueError, KeyError, tf.errors.OpError):
        return None  # this kind of GPU does not report its memory
    return sum(taken) if taken else None
