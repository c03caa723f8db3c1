"""Records the use of the machine while a run trains, as scalars under `system/`.

cpu_percent, process_cpu_percent      of all cores; of one core
memory_gb, process_memory_gb          in use
disk_free_gb                          where the run's folder is
disk_read_mb_per_s, disk_write_mb_per_s
gpu0_percent, gpu0_memory_gb, gpu0_temperature_c, gpu0_power_w
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from nbtrain.core.states import Phase
from nbtrain.core.values.side_tags import SYSTEM
from nbtrain.run.beside.gpus import Gpus, gpus

# Seconds between two measurements. One takes about 2 ms of a core; the budget is 0.2 % of a core.
POLL_SECS = 5.0

Record = Callable[[Mapping[str, float], Callable[[], int]], object]


class Machine:
    """Records the use of the machine; the looper's thread.

    Args:
        folder: The run's folder.
        record: Records scalars at a step; see `Recorder.aside`.
        state: Returns the phase and the completed steps.
        clock: Returns seconds that never go backwards.
        find_gpus: Returns the GPUs.
    """

    def __init__(
        self,
        folder: Path,
        record: Record,
        state: Callable[[], tuple[Phase, int]],
        *,
        clock: Callable[[], float] = time.monotonic,
        find_gpus: Callable[[], Gpus | None] = gpus,
    ) -> None:
        self._folder, self._record, self._state = folder, record, state
        self._clock, self._find_gpus = clock, find_gpus
        self._due = clock() + POLL_SECS
        self._step = 0  # of the last measurement
        self._process = psutil.Process()
        self._begun = False
        self._disk = (clock(), *_disk_bytes())

    def tick(self) -> None:
        """Records the use every few seconds, if the run trains and has taken a step since."""
        if not self._begun:  # psutil returns to each thread the use since that thread's last call
            self._begun = True
            self._percents()
        now = self._clock()
        if now < self._due:
            return
        self._due = now + POLL_SECS
        phase, step = self._state()
        values = self._values(now)
        if phase is Phase.RUNNING and step != self._step:
            self._step = step
            scalars = {f"{SYSTEM}{name}": value for name, value in values.items()}
            self._record(scalars, lambda: self._state()[1])

    def _values(self, now: float) -> dict[str, float]:
        memory, found = psutil.virtual_memory(), self._percents()
        found["memory_gb"] = (memory.total - memory.available) / 1e9
        found["process_memory_gb"] = self._process.memory_info().rss / 1e9
        with contextlib.suppress(OSError):  # the folder is gone
            found["disk_free_gb"] = psutil.disk_usage(str(self._folder)).free / 1e9
        (then, *before), after = self._disk, _disk_bytes()
        self._disk = (now, *after)
        if before and after and now > then:
            for name, old, new in zip(("read", "write"), before, after, strict=True):
                found[f"disk_{name}_mb_per_s"] = max(0.0, (new - old) / (now - then) / 1e6)
        found_gpus = self._find_gpus()
        return found if found_gpus is None else found | found_gpus.values()

    def _percents(self) -> dict[str, float]:
        return {
            "cpu_percent": psutil.cpu_percent(None),
            "process_cpu_percent": self._process.cpu_percent(None),
        }


def _disk_bytes() -> tuple[float, ...]:
    """Returns the bytes read and written by all disks so far; empty if that is unknown."""
    try:
        counted = psutil.disk_io_counters()
    except (OSError, RuntimeError, ValueError):  # no disks, or no rights to ask
        return ()
    return () if counted is None else (counted.read_bytes, counted.write_bytes)
