"""A run's folder that is deleted or renamed while the run trains in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.states import Phase
from nbtrain.notebook.run_tree import tree
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run import roster
from nbtrain.run.folder_watch import FolderWatch
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.lock import RunLock
from tests.gate import SOON, Gate
from tests.models import Count, Counter, applied, reached, refused
from tests.on_disk import journal


class Watched:
    """A held folder, its recorder, its watch, and what that said last."""

    def __init__(self) -> None:
        self.folder = Logdir(None, "watched", kind="train")
        self.folder.acquire()
        self.recorder = Recorder(ScalarStore(), self.folder.path)
        self.said: list[tuple[int, str | None]] = []
        self.watch = FolderWatch(
            self.folder, self.recorder, lambda step, text: self.said.append((step, text))
        )

    def record(self, *steps: int) -> None:
        """Record some steps, down to the event file."""
        for step in steps:
            self.recorder.queue.append(step, float(step), {"loss": 0.5})
        self.recorder.drain()


@pytest.fixture
def watched() -> Any:
    """A folder that is watched, and let go of in the end."""
    watched = Watched()
    yield watched
    watched.recorder.close()
    watched.folder.release()


def written(logdir: Path) -> list[int]:
    """The steps in the event files of a folder."""
    files = sorted(logdir.glob("events.out.tfevents.*.nbtrain"))
    events = [event for file in files for event in tf.compat.v1.train.summary_iterator(str(file))]
    return [event.step for event in events if event.HasField("summary")]


def events(logdir: Path) -> list[str]:
    """The events in the journal of a folder, but for copies and where its curves go on."""
    found = journal(logdir) if (logdir / "steering.jsonl").exists() else []
    return [each["event"] for each in found if each["event"] not in ("copy", "segment")]


def saved_run(gate: Gate, **options: Any) -> nbtrain.Run:
    """A run that has saved its first step and stands in the second."""
    counter = Counter(gate)
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, name="a", **options)
    gate.wait_for_arrivals()
    receipt = run.save()
    gate.allow()
    applied(receipt)
    gate.wait_for_arrivals()
    reached(run, lambda run: events(run.logdir) == ["start", "save"])
    return run


def told(run: nbtrain.Run) -> str:
    """The warning about the folder, once there is one."""
    reached(run, lambda run: "was deleted or renamed" in (run.status.message or ""))
    return str(run.status.message)


# --- a run ----------------------------------------------------------------------


def test_a_folder_deleted_while_a_run_trains_is_made_again_and_told(gate: Gate) -> None:
    run = saved_run(gate)
    shutil.rmtree(run.logdir)
    assert told(run) == (
        f"The folder {run.logdir} was deleted or renamed. Scalars from step "
        "1 on are in a new one, all of them in run.scalars; run.checkpoints has what is left, "
        "run.save() saves now."
    )
    with pytest.raises(BusyError, match="held by the run 'a' in this kernel"):
        Logdir(run.logdir, "other", kind="train").acquire()
    receipt = run.save()
    gate.open()
    step = applied(receipt).step
    assert step in [checkpoint.step for checkpoint in run.checkpoints]
    run.request_stop()
    run.wait(SOON)
    assert run.checkpoints == listed(run.logdir / "checkpoints")
    assert written(run.logdir) == list(range(2, run.status.step + 1))
    assert run.scalars["count"].steps.tolist() == list(range(1, run.status.step + 1))
    found = [event for event in events(run.logdir) if event != "checkpoint"]
    assert found == ["folder", "save", "stop", "stopped"]
    with pytest.raises(ArgumentError, match="the folder that it had up to step 1 was deleted"):
        nbtrain.replay(run.logdir).apply(nbtrain.train(Counter().step, start=False))


def test_a_folder_that_was_made_again_tells_whose_it_is_its_total_and_its_parent(
    gate: Gate,
) -> None:
    first = saved_run(gate, steps=9)
    first.request_stop()
    gate.allow()
    step = first.wait(SOON).status.step
    while gate.arrived.acquire(blocking=False):  # those of the first
        pass
    run = first.branch(1, name="b")
    gate.wait_for_arrivals()
    shutil.rmtree(run.logdir)
    told(run)
    assert json.loads((run.logdir / "run.json").read_text())["name"] == "b"
    gate.open()
    run.wait(SOON)
    roster.runs.clear()  # of an earlier kernel
    assert tree().splitlines()[1:] == [
        f"a     stopped   {step} of 9",
        "└─ b  finished  9 of 9  from step 1",
    ]
    assert "a branch of" not in str(nbtrain.replay(run.logdir))


def test_a_folder_renamed_while_a_run_trains_is_left_as_it_was(gate: Gate) -> None:
    run = saved_run(gate)
    kept = run.logdir.rename(run.logdir.with_name("b"))
    told(run)
    gate.open()
    applied(run.save())
    run.request_stop()
    run.wait(SOON)
    assert written(kept) == [1]
    assert [checkpoint.step for checkpoint in listed(kept / "checkpoints")] == [1]
    assert events(kept) == ["start", "save"]
    assert written(run.logdir) == list(range(2, run.status.step + 1))


def test_a_renamed_folder_is_free_for_another_run(gate: Gate) -> None:
    run = saved_run(gate)
    kept = run.logdir.rename(run.logdir.with_name("b"))
    told(run)
    other = Logdir(kept, None, kind="train")
    other.acquire()
    other.release()
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_what_was_deleted_is_no_longer_listed_and_cannot_be_restored(gate: Gate) -> None:
    run = saved_run(gate)
    shutil.rmtree(run.logdir / "checkpoints")
    reached(run, lambda run: run.checkpoints == ())
    assert run.status.checkpoints == ()
    receipt = run.restore()
    gate.open()
    assert "There is no checkpoint to restore yet" in refused(receipt).text
    run.request_stop()
    run.wait(SOON)
    assert run.status.message is None


def test_a_checkpoint_deleted_a_moment_ago_is_refused_by_those_that_are_left(gate: Gate) -> None:
    run = saved_run(gate)
    for file in (run.logdir / "checkpoints").glob("ckpt-1.*"):
        file.unlink()
    receipt = run.restore(1)
    gate.open()
    assert "There is no checkpoint" in refused(receipt).text
    run.request_stop()
    run.wait(SOON)


def test_a_folder_that_another_run_took_is_left_to_it(gate: Gate) -> None:
    run = saved_run(gate)
    shutil.rmtree(run.logdir)
    other = Logdir(run.logdir, "thief", kind="train")
    other.acquire()
    text = told(run)
    assert "From step 1 on this run writes nothing there, neither scalars nor checkpoints" in text
    assert "is held by the run 'thief' in this kernel" in text
    receipt = run.save()
    gate.open()
    assert "is held by the run 'thief'" in refused(receipt).text
    reached(run, lambda run: run.status.step > 10)
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert run.scalars["count"].steps.tolist() == list(range(1, run.status.step + 1))
    assert sorted(path.name for path in run.logdir.iterdir()) == ["run.json", "run.lock"]
    with pytest.raises(BusyError, match="'thief'"):
        Logdir(run.logdir, "third", kind="train").acquire()
    other.release()


def test_a_checkpoint_is_not_saved_into_a_folder_taken_a_moment_ago(gate: Gate) -> None:
    run = saved_run(gate)
    receipt = run.save()
    shutil.rmtree(run.logdir)
    other = Logdir(run.logdir, "thief", kind="train")
    other.acquire()
    gate.open()
    assert "is held by the run 'thief'" in refused(receipt).text
    run.request_stop()
    run.wait(SOON)
    assert not (run.logdir / "checkpoints").exists()
    other.release()


def test_a_folder_deleted_just_before_the_end_has_what_comes_after(gate: Gate) -> None:
    run = saved_run(gate, steps=2)
    shutil.rmtree(run.logdir)
    gate.open()
    run.wait(SOON)
    assert [checkpoint.step for checkpoint in listed(run.logdir / "checkpoints")] == [2]
    assert "was deleted or renamed" in str(run.status.message)
    assert events(run.logdir)[-1] == "finished"


def test_what_is_recorded_last_is_not_lost_with_the_folder(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, steps=2, name="a")
    gate.wait_for_arrivals()
    gate.allow()
    gate.wait_for_arrivals()
    reached(run, lambda run: len(run.scalars["count"]) == 1 if "count" in run.scalars else False)
    shutil.rmtree(run.logdir)
    gate.open()
    run.wait(SOON)
    assert written(run.logdir) == [2]


def test_an_event_file_deleted_alone_goes_on_in_a_new_one(gate: Gate) -> None:
    run = saved_run(gate)
    (file,) = run.logdir.glob("events.*.nbtrain")
    file.unlink()
    assert told(run) == (
        f"The file {file} was deleted or renamed. Scalars from step 1 on are "
        "in a new one, all of them in run.scalars."
    )
    gate.open()
    run.request_stop()
    run.wait(SOON)
    assert written(run.logdir) == list(range(2, run.status.step + 1))
    assert run.checkpoints[0].step == 1


def test_a_graph_saves_again_in_a_folder_that_was_deleted(gate: Gate) -> None:
    count = Count()

    def feed() -> dict[Any, Any]:
        gate()
        return {}

    run = nbtrain.supervise(count.train_op, scalars={"loss": count.loss}, name="a", feed=feed)
    gate.wait_for_arrivals()
    receipt = run.save()
    gate.allow()
    applied(receipt)
    gate.wait_for_arrivals()
    shutil.rmtree(run.logdir)
    told(run)
    receipt = run.save()
    gate.open()
    step = applied(receipt).step
    assert step in [checkpoint.step for checkpoint in listed(run.logdir / "checkpoints")]
    applied(run.restore(step))
    run.request_stop()
    run.wait(SOON)
    assert run.checkpoints == listed(run.logdir / "checkpoints")


# --- the watch ------------------------------------------------------------------


def test_a_folder_in_its_place_is_no_news(watched: Watched) -> None:
    for step in range(5):
        watched.watch.look(step)
        watched.watch.make_sure(step)
    assert watched.said == []


def test_a_folder_that_is_away_for_one_look_stays_held(watched: Watched) -> None:
    away = watched.folder.path.rename("away")
    watched.watch.look(1)
    away.rename(watched.folder.path)
    watched.watch.look(2)
    watched.watch.look(3)
    assert watched.said == []
    watched.record(4)
    assert written(watched.folder.path) == [4]
    with pytest.raises(BusyError):
        Logdir(watched.folder.path, None, kind="train").acquire()


def test_a_folder_that_is_back_when_it_is_taken_anew_was_never_free(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = watched.folder.lock
    away = watched.folder.path.rename("away")
    in_place = vars(RunLock)["in_place"].fget
    looks: list[bool] = []

    def away_then_back(lock: RunLock) -> bool:
        held = bool(in_place(lock))
        if not looks:
            away.rename(watched.folder.path)
        looks.append(held)
        return held

    monkeypatch.setattr(RunLock, "in_place", property(away_then_back))
    lock.take_anew()
    assert looks == [False, True]
    with pytest.raises(BusyError):
        Logdir(watched.folder.path, None, kind="train").acquire()


def test_a_lock_deleted_alone_is_taken_again_without_a_word(watched: Watched) -> None:
    (watched.folder.path / "run.lock").unlink()
    watched.watch.look(1)
    watched.watch.look(2)
    assert watched.said == []
    assert watched.folder.lock.in_place
    with pytest.raises(BusyError):
        Logdir(watched.folder.path, None, kind="train").acquire()


def test_a_folder_that_cannot_be_made_again_is_told_and_tried_again(watched: Watched) -> None:
    watched.record(1)
    path = watched.folder.path
    shutil.rmtree(path)
    path.write_text("no folder", encoding="utf-8")
    for step in (1, 2, 3):
        watched.watch.look(step)
    text = f"The folder {path} was deleted or renamed, and cannot be made"
    assert watched.said == [(step, f"{text} again: File exists.") for step in (2, 3)]
    path.unlink()
    watched.watch.look(4)
    watched.record(5)
    assert written(path) == [5]
    assert "Scalars from step 4 on are in a new one" in str(watched.said[-1][1])


def test_a_folder_that_could_not_be_made_and_is_back_by_itself_is_no_news(watched: Watched) -> None:
    path = watched.folder.path
    away = path.rename("away")
    path.write_text("no folder", encoding="utf-8")
    watched.watch.look(1)
    watched.watch.look(2)
    path.unlink()
    away.rename(path)
    watched.watch.look(3)
    assert watched.said[-1] == (3, None)
    watched.record(4)
    assert written(path) == [4]


def test_a_folder_once_taken_by_another_run_stays_left_to_it(watched: Watched) -> None:
    shutil.rmtree(watched.folder.path)
    other = Logdir(watched.folder.path, "thief", kind="train")
    other.acquire()
    watched.watch.look(1)
    watched.watch.look(2)
    other.release()
    watched.watch.look(3)
    watched.watch.look(4)
    with pytest.raises(BusyError, match="'thief'"):
        watched.watch.make_sure(4)
    assert len(watched.said) == 1
    assert watched.watch.lost


def test_a_watch_of_a_folder_that_was_released_makes_nothing(watched: Watched) -> None:
    watched.recorder.close()
    watched.folder.release()
    shutil.rmtree(watched.folder.path)
    watched.watch.look(1)
    watched.watch.look(2)
    watched.watch.make_sure(2)
    assert not watched.folder.path.exists()
    assert watched.said == []
