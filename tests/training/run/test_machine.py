"""The use of the machine is recorded beside the training, and is no metric of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.core.values.side_tags import metrics
from nbtrain.panel.live.lines import lines_of
from nbtrain.panel.live.view import fields
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.beside import machine
from nbtrain.run.beside.gpus import Gpus
from nbtrain.run.beside.machine import POLL_SECS, Machine
from nbtrain.terminal.progress import described
from tests.gate import SOON, eventually
from tests.models import applied

USUAL = {"cpu_percent", "process_cpu_percent", "memory_gb", "process_memory_gb", "disk_free_gb"}


class Training:
    """A state that the test changes, a clock, and what was recorded."""

    def __init__(self, folder: Path, gpus: Gpus | None = None) -> None:
        self.now, self.phase, self.step = 0.0, Phase.RUNNING, 0
        self.recorded: list[tuple[int, dict[str, float]]] = []
        self.machine = Machine(
            folder,
            self._record,
            lambda: (self.phase, self.step),
            clock=lambda: self.now,
            find_gpus=lambda: gpus,
        )

    def _record(self, values: Mapping[str, float], step: Callable[[], int]) -> None:
        self.recorded.append((step(), dict(values)))

    def look(self, step: int, secs: float = POLL_SECS) -> None:
        self.now, self.step = self.now + secs, step
        self.machine.tick()


def test_the_use_is_recorded_at_the_present_step_every_few_seconds(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.look(3, secs=POLL_SECS / 2)
    assert training.recorded == []
    training.look(7)
    training.look(9)
    assert [step for step, _ in training.recorded] == [7, 9]
    names = {tag.removeprefix("system/") for tag in training.recorded[0][1]}
    assert names >= USUAL
    assert all(np.isfinite(value) for _, values in training.recorded for value in values.values())


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.PAUSED, Phase.STOPPING, Phase.FINISHED])
def test_nothing_is_recorded_unless_the_run_trains(tmp_path: Path, phase: Phase) -> None:
    training = Training(tmp_path)
    training.phase = phase
    training.look(7)
    assert training.recorded == []


def test_nothing_is_recorded_twice_for_a_step(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.look(7)
    training.look(7)
    assert [step for step, _ in training.recorded] == [7]


def test_the_use_of_all_cores_is_that_since_the_loopers_thread_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[int] = set()

    def since_the_call_before(_interval: None) -> float:
        """Answers as psutil does, which tells each thread the use since its own last call."""
        is_first = threading.get_ident() not in asked
        asked.add(threading.get_ident())
        return 0.0 if is_first else 50.0

    monkeypatch.setattr(psutil, "cpu_percent", since_the_call_before)
    training = Training(tmp_path)

    def loop() -> None:
        training.look(1, secs=0.0)
        training.look(7)

    looper = threading.Thread(target=loop)
    looper.start()
    looper.join(SOON)
    ((_, values),) = training.recorded
    assert values["system/cpu_percent"] == 50.0


def test_a_folder_that_is_gone_and_unknown_disks_leave_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "disk_io_counters", lambda: None)
    training = Training(tmp_path / "none")
    training.look(7)
    ((_, values),) = training.recorded
    assert set(values) == {f"system/{name}" for name in USUAL - {"disk_free_gb"}}


class Nvml:
    """The module `pynvml` with two GPUs, of which the second does not report its power."""

    NVML_TEMPERATURE_GPU = 0

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        return number

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> Any:
        return SimpleNamespace(gpu=40 + gpu)

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:
        return SimpleNamespace(used=3_000_000_000 * (gpu + 1))

    def nvmlDeviceGetTemperature(self, gpu: int, sensor: int) -> int:
        assert sensor == self.NVML_TEMPERATURE_GPU
        return 60 + gpu

    def nvmlDeviceGetPowerUsage(self, gpu: int) -> int:
        if gpu:
            raise RuntimeError("Not Supported")
        return 250_000


def test_each_gpu_has_what_it_reports(tmp_path: Path) -> None:
    training = Training(tmp_path, Gpus(Nvml()))
    training.look(7)
    ((_, values),) = training.recorded
    assert {tag: value for tag, value in values.items() if "gpu" in tag} == {
        "system/gpu0_percent": 40.0,
        "system/gpu0_memory_gb": 3.0,
        "system/gpu0_temperature_c": 60.0,
        "system/gpu0_power_w": 250.0,
        "system/gpu1_percent": 41.0,
        "system/gpu1_memory_gb": 6.0,
        "system/gpu1_temperature_c": 61.0,
    }


def test_what_is_recorded_beside_is_after_the_records_that_wait(tmp_path: Path) -> None:
    store = ScalarStore()
    recorder = Recorder(store, tmp_path)
    recorder.queue.append(4, 1.7e9, {"loss": 1.0})
    recorder.aside({"system/cpu_percent": 50.0}, lambda: 4)
    recorder.close()
    assert list(store) == ["loss", "system/cpu_percent"]
    read = nbtrain.scalars(tmp_path)
    assert list(read[".", "system/cpu_percent"].steps) == [4]


def test_what_comes_while_the_run_goes_back_is_dropped() -> None:
    store = ScalarStore()
    recorder = Recorder(store, None)

    def step() -> int:
        recorder.open_segment(2)
        return 9

    recorder.aside({"system/cpu_percent": 50.0}, step)
    assert list(store) == []


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at every tick."""
    monkeypatch.setattr(machine, "POLL_SECS", 0.0)


def trained(**options: Any) -> nbtrain.Run:
    """An ended run, which has recorded the machine if it ever does."""
    run = nbtrain.train(lambda: {"loss": 1.0}, name="watched", **options)
    while not (run.status.phase.ended or "system/cpu_percent" in run.scalars):
        if not options.get("system", True) and run.status.step > 100:
            break
    run.request_stop()
    return run.wait(SOON)


@pytest.mark.usefixtures("watched")
def test_the_use_is_in_the_scalars_and_the_event_file_and_is_no_metric() -> None:
    run = trained()
    status, curves = run.status, run.scalars.curves()
    assert (".", "system/memory_gb") in nbtrain.scalars(run.logdir)
    assert metrics(run.scalars) == ["loss"]
    assert [line.tag for lines in lines_of(curves) for line in lines] == ["loss"]
    assert "system" not in described(status)
    assert "system" not in repr(status)
    assert repr(nbtrain.scalars("runs")) == "<scalars of 1 run and 1 tag in 'runs'>"
    assert list(nbtrain.compare("runs").metrics) == ["loss"]
    assert fields(status)["higher"] == {"loss": False}


@pytest.mark.usefixtures("watched")
def test_a_run_can_leave_the_machine_out() -> None:
    run = trained(system=False)
    assert list(run.scalars) == ["loss"]


def test_system_is_true_or_false() -> None:
    with pytest.raises(ArgumentError, match="system='no': give True"):
        nbtrain.train(lambda: {"loss": 1.0}, steps=1, system="no")  # type: ignore[arg-type]


@pytest.mark.usefixtures("watched")
def test_a_trial_is_not_decided_by_the_machine() -> None:
    import tensorflow as tf

    rate, weight = tf.Variable(0.1), tf.Variable(1.0)

    def step() -> dict[str, Any]:
        weight.assign_sub(rate * weight)
        return {"misfit": weight * 1.0}

    run = nbtrain.train(
        step,
        name="tried",
        checkpoint=tf.train.Checkpoint(weight=weight, rate=rate),
        hyperparameters={"rate": rate},
    )
    eventually(lambda: {"system/cpu_percent", "misfit"} <= run.scalars.keys())
    outcome = applied(run.trial(rate=[0.2, 0.3], steps=20))
    run.request_stop()
    run.wait(SOON)
    assert "misfit" in outcome.text
