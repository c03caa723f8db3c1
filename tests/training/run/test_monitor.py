"""The watch: what it tells the user, and that nothing which fails here reaches the training."""

from __future__ import annotations

import json
import shutil
import threading
from typing import Any

import pytest

from nbtrain.core.states import Phase
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.beside.notices import NOTICE_SECS, PREPARING_SECS
from nbtrain.run.beside.throughput import Throughput
from nbtrain.run.monitor_threads import MonitorThread
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import MOST_MARKS, Marks
from tests.gate import SOON, Gate


@pytest.fixture
def folder() -> Logdir:
    """A run's folder."""
    return Logdir(None, "watched", kind="train")


def watch_of(folder: Logdir, recorder: Recorder | None = None, grace_secs: float = 5.0) -> Monitor:
    """A watch of a recorder without a file."""
    return Monitor(
        recorder or Recorder(ScalarStore(), None), folder, Marks(), grace_secs=grace_secs
    )


def test_a_tick_drains_the_record(folder: Logdir) -> None:
    store = ScalarStore()
    recorder = Recorder(store, None)
    watch = watch_of(folder, recorder)
    recorder.queue.append(1, 0.0, {"loss": 0.5})
    watch.tick(Phase.RUNNING, 1, 1, None)
    assert store["loss"].values.tolist() == [0.5]
    assert watch.notices.message is None


def test_a_thinned_record_is_told_with_its_numbers(folder: Logdir) -> None:
    recorder = Recorder(ScalarStore(), None, limit=10)
    watch = watch_of(folder, recorder)
    for step in range(1, 2011):
        recorder.queue.append(step, 0.0, {"loss": 0.5})
    watch.tick(Phase.RUNNING, 2010, 2010, None)
    assert watch.notices.message == (
        "Steps come faster than they can be recorded: of 2,000 of them only the first, last, "
        "lowest and highest values were kept."
    )


def test_errors_of_the_recorder_are_shown(folder: Logdir) -> None:
    recorder = Recorder(ScalarStore(), None)
    watch = watch_of(folder, recorder)
    recorder.queue.append(1, 0.0, {"loss": "no number"})  # type: ignore[dict-item]
    watch.tick(Phase.RUNNING, 1, 1, None)
    assert watch.notices.message is not None
    assert watch.notices.message.startswith("'loss' at step 1 is no scalar, kept as NaN")


def test_a_run_that_does_not_come_to_its_first_step_is_found_by_its_stack(folder: Logdir) -> None:
    now, arrived, gate = [100.0], threading.Event(), threading.Event()
    watch = Monitor(
        Recorder(ScalarStore(), None), folder, Marks(), grace_secs=5.0, clock=lambda: now[0]
    )

    def loads_the_data() -> None:
        arrived.set()
        gate.wait()

    thread = threading.Thread(target=loads_the_data, daemon=True)
    thread.start()
    arrived.wait()
    now[0] += PREPARING_SECS - 1
    watch.tick(Phase.PREPARING, 0, 0, thread)
    assert watch.notices.message is None
    now[0] += 1
    watch.tick(Phase.PREPARING, 0, 0, thread)
    assert str(watch.notices.message).startswith("Preparing for 15 s.")
    assert "in loads_the_data" in str(watch.notices.message)
    watch.tick(Phase.RUNNING, 0, 0, thread)
    assert watch.notices.message is None
    gate.set()
    thread.join()


def test_several_notes_are_told_and_each_can_be_cleared(folder: Logdir) -> None:
    watch = watch_of(folder)
    watch.notices.note("save", "No checkpoint at step 3.")
    watch.notices.note("resume", "Continues from ckpt-2.")
    assert watch.notices.message == "No checkpoint at step 3.\nContinues from ckpt-2."
    watch.notices.note("save", None)
    watch.notices.note("never", None)
    assert watch.notices.message == "Continues from ckpt-2."


def test_a_notice_is_no_warning_and_goes_after_it_could_be_read(folder: Logdir) -> None:
    now = [100.0]
    watch = Monitor(
        Recorder(ScalarStore(), None), folder, Marks(), grace_secs=5.0, clock=lambda: now[0]
    )
    watch.notices.inform("Continues from ckpt-2.")
    assert watch.notices.message is None
    for phase in (Phase.PREPARING, Phase.RUNNING):  # the running counts, from its first moment
        watch.tick(phase, 2, 2, None)
        assert watch.notices.notice == "Continues from ckpt-2."
        now[0] += NOTICE_SECS - 1
    watch.tick(Phase.RUNNING, 3, 3, None)
    assert watch.notices.notice == "Continues from ckpt-2."
    now[0] += 1
    watch.tick(Phase.RUNNING, 4, 4, None)
    assert watch.notices.notice is None


def test_a_notice_stays_when_the_run_is_over_before_it_could_be_read(folder: Logdir) -> None:
    now = [100.0]
    watch = Monitor(
        Recorder(ScalarStore(), None), folder, Marks(), grace_secs=5.0, clock=lambda: now[0]
    )
    watch.notices.inform("Continues from ckpt-2.")
    watch.tick(Phase.RUNNING, 2, 2, None)
    now[0] += 10 * NOTICE_SECS
    watch.tick(Phase.FINISHED, 3, 3, None)
    assert watch.notices.notice == "Continues from ckpt-2."


def test_the_journal_is_written_at_a_tick(folder: Logdir) -> None:
    watch = watch_of(folder)
    watch.log(event="save", step=3)
    assert not (folder.path / "steering.jsonl").exists()
    watch.tick(Phase.RUNNING, 3, 3, None)
    (line,) = (folder.path / "steering.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["event"] == "save"


def test_a_journal_that_cannot_be_written_is_told_and_the_display_goes_on(folder: Logdir) -> None:
    watch = watch_of(folder)
    (folder.path / "steering.jsonl").mkdir()
    ticks: list[int] = []
    watch.listeners = [lambda: ticks.append(1)]
    watch.log(event="save", step=3)
    watch.tick(Phase.RUNNING, 3, 3, None)
    assert (watch.notices.message or "").startswith("steering.jsonl cannot be written: Is a")
    assert ticks == [1]


def test_no_line_is_written_to_a_folder_that_another_run_took(folder: Logdir) -> None:
    now = [100.0]
    watch = Monitor(
        Recorder(ScalarStore(), None), folder, Marks(), grace_secs=5.0, clock=lambda: now[0]
    )
    folder.acquire()
    shutil.rmtree(folder.path)
    other = Logdir(folder.path, "thief", kind="train")
    other.acquire()
    for _ in range(30):
        watch.log(event="pause", step=3)
        watch.tick(Phase.RUNNING, 3, 3, None)
        now[0] += 0.1
    assert not (folder.path / "steering.jsonl").exists()
    other.release()
    folder.release()


def test_a_line_waits_until_the_folder_is_there_again(folder: Logdir) -> None:
    watch = watch_of(folder)
    folder.acquire()
    away = folder.path.rename("away")
    watch.log(event="pause", step=3)
    watch.tick(Phase.PAUSED, 3, 3, None)
    away.rename(folder.path)
    watch.tick(Phase.PAUSED, 3, 3, None)
    lines = (folder.path / "steering.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["pause"]
    assert watch.notices.message is None
    folder.release()


def test_a_listener_that_raises_silences_no_other(folder: Logdir) -> None:
    watch = watch_of(folder)
    ticks: list[int] = []

    def draw() -> None:
        raise RuntimeError("no canvas")

    watch.listeners = [draw, lambda: ticks.append(1)]
    watch.tick(Phase.RUNNING, 3, 3, None)
    assert ticks == [1]
    assert "RuntimeError: no canvas" in (watch.notices.message or "")


def test_the_error_of_each_listener_is_shown_until_it_works_again(folder: Logdir) -> None:
    watch = watch_of(folder)
    broken = {"canvas", "page"}

    def draw(name: str) -> None:
        if name in broken:
            raise RuntimeError(f"no {name}")

    watch.listeners = [lambda: draw("canvas"), lambda: draw("page"), lambda: draw("magic")]
    told = []
    for mended in ("none", "canvas", "page"):
        broken.discard(mended)
        watch.tick(Phase.RUNNING, 3, 3, None)
        told.append(watch.notices.message or "")
    assert ["no canvas" in text for text in told] == [True, False, False]
    assert ["no page" in text for text in told] == [True, True, False]
    assert watch.notices.message is None


def test_a_stack_that_cannot_be_read_silences_nothing_else(folder: Logdir) -> None:
    class Loader:
        """Raises: the source of the training thread's module is unavailable."""

        def get_source(self, _name: str) -> str:
            raise ValueError("no source")

    gate, ticks = Gate(), list[int]()
    names: dict[str, Any] = {"__name__": "lost", "__loader__": Loader(), "gate": gate}
    exec(compile("def waits(): gate()", "lost.py", "exec"), names)
    thread = threading.Thread(target=names["waits"], daemon=True)
    thread.start()
    gate.wait_for_arrivals()
    watch = watch_of(folder, grace_secs=0.0)
    watch.listeners = [lambda: ticks.append(1)]
    watch.notices.stop_asked()
    watch.tick(Phase.STOPPING, 1, 1, thread)
    assert ticks == [1]
    assert "ValueError: no source" in (watch.notices.message or "")
    gate.open()
    thread.join(SOON)


def test_a_speed_that_cannot_be_told_silences_nothing_else(folder: Logdir) -> None:
    class NoPace(Throughput):
        def update(self, step: int, now: float) -> None:
            raise ArithmeticError(f"{step} steps in {now} s")

    watch, ticks = watch_of(folder), list[int]()
    watch.throughput = NoPace()
    watch.listeners = [lambda: ticks.append(1)]
    watch.tick(Phase.RUNNING, 3, 3, None)
    assert ticks == [1]
    assert "ArithmeticError: 3 steps" in (watch.notices.message or "")


def test_the_speed_is_of_running_only(folder: Logdir) -> None:
    watch = watch_of(folder)
    watch.tick(Phase.RUNNING, 1, 1, None)
    watch.tick(Phase.RUNNING, 100, 100, None)
    watch.tick(Phase.RUNNING, 200, 200, None)
    assert watch.throughput.steps_per_s is not None
    watch.tick(Phase.PAUSED, 100, 100, None)
    assert watch.throughput.steps_per_s is None


def test_steps_that_a_restore_has_gone_forward_are_no_speed(folder: Logdir) -> None:
    now = 0.0
    recorder = Recorder(ScalarStore(), None)
    watch = Monitor(recorder, folder, Marks(), grace_secs=5.0, clock=lambda: now)
    for step, done in ((0, 0), (10, 10), (20, 20), (5030, 30), (5040, 40)):
        watch.tick(Phase.RUNNING, step, done, None)
        now += 1.0
    assert watch.throughput.steps_per_s == pytest.approx(10.0)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.STOPPING])
def test_only_a_thread_that_was_asked_to_stop_is_late(folder: Logdir, phase: Phase) -> None:
    watch = watch_of(folder, grace_secs=0.0)
    watch.notices.stop_asked()
    watch.tick(Phase.STOPPING, 1, 1, threading.current_thread())
    assert "Asked to stop 0 s ago" in (watch.notices.message or "")
    watch.tick(phase, 1, 1, threading.current_thread())
    assert watch.notices.message is None


def test_the_stack_of_a_late_thread_is_taken_once_a_second(folder: Logdir) -> None:
    now = [100.0]
    watch = Monitor(
        Recorder(ScalarStore(), None), folder, Marks(), grace_secs=0.0, clock=lambda: now[0]
    )
    watch.notices.stop_asked()
    told = []
    for _ in range(31):
        watch.tick(Phase.STOPPING, 1, 1, threading.current_thread())
        told.append(watch.notices.message)
        now[0] += 0.125
    assert len(set(told)) == 4, "an update of the panel carries what is new"
    assert told[0] != told[-1]


def test_before_its_deadline_a_thread_is_not_late(folder: Logdir) -> None:
    watch = watch_of(folder, grace_secs=3600.0)
    watch.notices.stop_asked()
    watch.tick(Phase.STOPPING, 1, 1, threading.current_thread())
    assert watch.notices.message is None


def test_a_watch_thread_makes_a_last_round_when_it_stops() -> None:
    coord, rounds, first = Coordinator(), [], threading.Event()

    def look() -> None:
        rounds.append(bool(coord.should_stop()))
        first.set()

    thread = MonitorThread(coord, 3600.0, look, name="watch")
    thread.start()
    assert first.wait(30)
    coord.request_stop()
    thread.join(30)
    assert rounds == [False, True]


def test_events_that_slow_functions_have_missed_are_told_and_without_functions_none(
    folder: Logdir,
) -> None:
    watch = watch_of(folder)
    for step in range(MOST_MARKS + 2):
        watch.log(event="save", step=step)
    watch.notify(Phase.RUNNING)
    assert watch.notices.message is None
    watch.functions.add("save", lambda _mark: None)
    watch.notify(Phase.RUNNING)
    assert watch.notices.message == "Functions of run.on take too long: 2 events are lost."
