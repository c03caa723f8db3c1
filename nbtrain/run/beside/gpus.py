"""Reads the use of each NVIDIA GPU, if there is one and `nvidia-ml-py` is installed."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

# The most GPUs that are read: more than a machine has.
_MOST = 16


class Gpus:
    """The GPUs of the machine.

    Args:
        nvml: The module `pynvml`, which is initialized.
    """

    def __init__(self, nvml: Any) -> None:
        count = min(int(nvml.nvmlDeviceGetCount()), _MOST)
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]

    def values(self) -> dict[str, float]:
        """Returns percent, gigabytes, degrees Celsius and watts, as far as a GPU reports them."""
        nvml, found = self._nvml, dict[str, float]()
        for number, gpu in enumerate(self._handles):
            reads: dict[str, Callable[[Any], float]] = {
                "percent": lambda gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
                "memory_gb": lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used / 1e9,
                "temperature_c": lambda gpu: nvml.nvmlDeviceGetTemperature(
                    gpu, nvml.NVML_TEMPERATURE_GPU
                ),
                "power_w": lambda gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3,
            }
            for name, read in reads.items():
                with contextlib.suppress(Exception):  # not every GPU reports everything
                    found[f"gpu{number}_{name}"] = float(read(gpu))
        return found


@functools.cache
def gpus() -> Gpus | None:
    """Returns the GPUs; None if there is no GPU, no driver, or no `nvidia-ml-py`."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        found = Gpus(nvml)
    except Exception:  # noqa: BLE001 - NVMLError, whose class is in the module
        return None
    return found if found.values() else None
