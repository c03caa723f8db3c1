"""A run's folder that is deleted or renamed while the run trains in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.errors import BusyError, CheckpointError
from nbtrain.core.states import Phase
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.beside.folder_watch import FolderWatch
from nbtrain.rundir.folder import Logdir
from tests.gate import SOON, Gate
from tests.models import Counter, applied, reached, refused
from tests.on_disk import copy_of, delete, journal


class Watched:
    """A held folder, its recorder, its watch, and what that said last."""

    def __init__(self) -> None:
        self.folder = Logdir(None, "watched", kind="train")
        self.folder.acquire()
        self.recorder = Recorder(ScalarStore(), self.folder.path)
        self.said: list[tuple[int, str]] = []
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


def test_a_folder_deleted_while_a_run_trains_is_told_once_and_nothing_more_is_written(
    gate: Gate,
) -> None:
    run = saved_run(gate)
    delete(run.logdir)
    text = (
        f"The folder {run.logdir} was deleted or renamed. From step 1 on this run writes nothing "
        "there, neither scalars nor checkpoints. The training continues in memory: save it "
        "yourself, then start it under another name=."
    )
    assert told(run) == text
    receipt = run.save()
    gate.open()
    assert text in refused(receipt).text
    reached(run, lambda run: run.status.step > 10)
    assert text in refused(run.save()).text, "of the step at which it was found, not of the save"
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert text in str(run.status.message)
    assert run.scalars["count"].steps.tolist() == list(range(1, run.status.step + 1))
    assert run.checkpoints == ()
    assert not run.logdir.exists()


def test_a_folder_renamed_while_a_run_trains_is_left_as_it_was_and_free_for_another_run(
    gate: Gate,
) -> None:
    run = saved_run(gate)
    kept = run.logdir.rename(run.logdir.with_name("b"))
    told(run)
    other = Logdir(kept, None, kind="train")
    other.acquire()
    other.release()
    gate.open()
    reached(run, lambda run: run.status.step > 10)
    run.request_stop()
    run.wait(SOON)
    assert written(kept) == [1]
    assert [checkpoint.step for checkpoint in listed(kept / "checkpoints")] == [1]
    assert events(kept) == ["start", "save"]
    assert not run.logdir.exists()


def test_a_run_that_lost_its_folder_is_started_again_in_a_new_one(gate: Gate) -> None:
    run = saved_run(gate)
    delete(run.logdir)
    told(run)
    run.request_stop()
    gate.open()
    run.wait(SOON)
    run.start()
    reached(run, lambda run: run.status.step > 3)
    run.request_stop()
    run.wait(SOON)
    assert run.status.message is None
    assert run.checkpoints


def test_a_deleted_checkpoint_is_not_listed_and_cannot_be_restored(gate: Gate) -> None:
    run = saved_run(gate)
    delete(run.logdir / "checkpoints")
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
    delete(run.logdir)
    other = Logdir(run.logdir, "thief", kind="train")
    other.acquire()
    assert "From step 1 on this run writes nothing there" in told(run)
    receipt = run.save()
    gate.open()
    assert "was deleted or renamed" in refused(receipt).text
    reached(run, lambda run: run.status.step > 10)
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert run.scalars["count"].steps.tolist() == list(range(1, run.status.step + 1))
    assert sorted(path.name for path in run.logdir.iterdir()) == ["run.json", "run.lock"]
    with pytest.raises(BusyError, match="'thief'"):
        Logdir(run.logdir, "third", kind="train").acquire()
    other.release()


def taken_run(gate: Gate) -> tuple[nbtrain.Run, Path]:
    """A run that is paused at its save, and whose folder became another run's; its own folder."""
    run = saved_run(gate)
    receipts = [run.pause(), run.save()]
    gate.open()
    assert [applied(receipt).step for receipt in receipts] == [2, 2]
    kept = run.logdir.rename(run.logdir.with_name("b"))
    copy_of(kept, run.logdir)
    told(run)
    return run, kept


def test_the_checkpoints_of_a_run_that_took_the_folder_are_left_to_it(gate: Gate) -> None:
    run, _ = taken_run(gate)
    copies = run.logdir / "checkpoints" / "last_good"
    assert listed(copies)
    files = sorted(run.logdir.rglob("*"))
    reached(run, lambda run: run.checkpoints == ())
    run.request_stop()
    run.wait(SOON)
    assert sorted(run.logdir.rglob("*")) == files
    assert run.checkpoints == ()


def test_a_trial_whose_folder_another_run_took_leaves_that_its_own(gate: Gate) -> None:
    tuned, counter = tf.Variable(0.5), Counter(gate)
    run = nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, name="a", hyperparameters={"rate": tuned}
    )
    trial = run.trial(rate=0.25, steps=2, keep_if=lambda _before, _after: True)
    gate.allow(1)
    gate.wait_for_arrivals(2)
    reached(run, lambda run: (run.logdir / "checkpoints" / "trial").exists())
    kept = run.logdir.rename(run.logdir.with_name("b"))
    copy_of(kept, run.logdir)
    told(run)
    gate.open()
    applied(trial)
    assert listed(run.logdir / "checkpoints" / "trial")
    run.request_stop()
    run.wait(SOON)


def test_a_run_that_lost_its_folder_restores_only_checkpoints_of_other_folders(gate: Gate) -> None:
    run, kept = taken_run(gate)
    for wanted in (None, 1, "checkpoints/ckpt-1", str(run.logdir / "checkpoints" / "ckpt-1")):
        text = refused(run.restore(wanted)).text
        assert text.startswith(f"The file {run.logdir / 'run.lock'} was deleted or renamed.")
    applied(run.restore(str(kept / "checkpoints" / "ckpt-1")))
    assert run.status.step == 1
    run.request_stop()
    run.wait(SOON)


def test_a_checkpoint_is_not_saved_into_a_folder_taken_a_moment_ago(gate: Gate) -> None:
    run = saved_run(gate)
    receipt = run.save()
    delete(run.logdir)
    other = Logdir(run.logdir, "thief", kind="train")
    other.acquire()
    gate.open()
    assert "was deleted or renamed" in refused(receipt).text
    run.request_stop()
    run.wait(SOON)
    assert not (run.logdir / "checkpoints").exists()
    other.release()


def test_a_folder_deleted_just_before_the_end_is_told(gate: Gate) -> None:
    run = saved_run(gate, steps=2)
    delete(run.logdir)
    gate.open()
    run.wait(SOON)
    assert "was deleted or renamed" in str(run.status.message)
    assert run.scalars["count"].steps.tolist() == [1, 2]


def test_an_event_file_deleted_alone_is_told_and_checkpoints_are_saved(gate: Gate) -> None:
    run = saved_run(gate)
    (file,) = run.logdir.glob("events.*.nbtrain")
    file.unlink()
    assert told(run) == (
        f"The file {file} was deleted or renamed. From step 1 on the scalars are in run.scalars "
        "only."
    )
    receipt = run.save()
    gate.open()
    applied(receipt)
    run.request_stop()
    run.wait(SOON)
    assert written(run.logdir) == []
    assert run.scalars["count"].steps.tolist() == list(range(1, run.status.step + 1))
    assert run.checkpoints[0].step == 1
    assert events(run.logdir)[-1] == "stopped"


# --- the watch ------------------------------------------------------------------


def test_a_folder_in_its_place_is_no_news(watched: Watched) -> None:
    for step in range(5):
        watched.watch.poll(step)
        watched.watch.check(step)
    assert watched.said == []


def test_a_folder_that_is_away_for_one_look_stays_held(watched: Watched) -> None:
    away = watched.folder.path.rename("away")
    watched.watch.poll(1)
    away.rename(watched.folder.path)
    watched.watch.poll(2)
    watched.watch.poll(3)
    assert watched.said == []
    watched.record(4)
    assert written(watched.folder.path) == [4]
    with pytest.raises(BusyError):
        Logdir(watched.folder.path, None, kind="train").acquire()


def test_a_lock_deleted_alone_is_told(watched: Watched) -> None:
    (watched.folder.path / "run.lock").unlink()
    watched.watch.poll(1)
    watched.watch.poll(2)
    ((step, text),) = watched.said
    assert step == 2
    assert text.startswith(f"The file {watched.folder.path / 'run.lock'} was deleted or renamed.")


def test_a_folder_once_taken_by_another_run_stays_left_to_it(watched: Watched) -> None:
    delete(watched.folder.path)
    other = Logdir(watched.folder.path, "thief", kind="train")
    other.acquire()
    watched.watch.poll(1)
    watched.watch.poll(2)
    other.release()
    watched.watch.poll(3)
    watched.watch.poll(4)
    with pytest.raises(CheckpointError, match="was deleted or renamed"):
        watched.watch.check(4)
    assert len(watched.said) == 1
    assert watched.watch.lost


def test_a_watch_of_a_folder_that_was_released_makes_nothing(watched: Watched) -> None:
    watched.recorder.close()
    watched.folder.release()
    delete(watched.folder.path)
    watched.watch.poll(1)
    watched.watch.poll(2)
    watched.watch.check(2)
    assert not watched.folder.path.exists()
    assert watched.said == []
