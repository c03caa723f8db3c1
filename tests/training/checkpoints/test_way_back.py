"""A run goes on from what it has saved or gone back to last, whatever a clock says."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import delete_all, listed
from nbtrain.checkpoints.listing import latest
from nbtrain.core.commands import Pause, Restore, Save, Try
from nbtrain.run.run import Run
from nbtrain.rundir.entries import entries
from tests.gate import SOON
from tests.models import Count, Counter, applied
from tests.on_disk import copy_of
from tests.room import no_room
from tests.training.tried import Tried

# A run's folder as it was left by the version of 2026-11-23, which ordered by clocks.
EARLIER = Path(__file__).parent / "earlier_run"

# One as the present version left it: it went back from step 22 to 5, and from 13 to 20.
BRANCHED = Path(__file__).parent / "branched_run"


def gone_back(run: Run) -> Path:
    """The folder of a run as a kill leaves it that went back from step 25 to 5, beyond 20."""
    for step, command in ((5, Save()), (20, Save()), (25, Restore(5))):
        run.post(command, at=step)
    paused = run.post(Pause(), at=25)
    run.start()
    applied(paused)
    run.attempt.context.recorder.drain()  # what the next tick would write
    return copy_of(run.logdir, "runs/copy")


def trained(counter: Counter, name: str, *, start: bool = True, **options: Any) -> Run:
    return nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, name=name, start=start, **options
    )


def trained_alone(name: str, **options: Any) -> Run:
    return trained(Counter(), name, **options)


def trained_with_data(name: str, *, start: bool = True, **options: Any) -> Run:
    counter = Counter()

    def step(_element: object) -> dict[str, Any]:
        return counter.step()

    return nbtrain.train(
        step, data=[1.0] * 100, checkpoint=counter.checkpoint, name=name, start=start, **options
    )


def supervised(name: str, *, start: bool = True, **options: Any) -> Run:
    return nbtrain.supervise(Count().train_op, name=name, start=start, **options)


def monitored(name: str, *, start: bool = True, **options: Any) -> Run:
    return nbtrain.monitor(Count().train_op, name=name, start=start, **options)


@pytest.mark.parametrize("make", [supervised, monitored])
def test_a_graph_whose_run_was_killed_after_a_restore_goes_on_from_there(
    make: Callable[..., Run],
) -> None:
    run = make("went", start=False)
    gone_back(run)
    run.request_stop()
    run.wait(SOON)
    again = make("copy", steps=30).wait(SOON)
    assert "model.ckpt-5:" in str(again.status.notice)


def test_a_run_that_was_killed_after_a_restore_goes_on_from_there() -> None:
    run = trained(Counter(), "went", start=False)
    folder = gone_back(run)
    assert [each.step for each in run.checkpoints if each.step] == [5, 20]
    counter = Counter()
    again = trained(counter, "copy", steps=30, start=False)
    found = latest(folder / "checkpoints")
    assert found is not None
    assert found.step == 5
    again.start().wait(SOON)
    assert "ckpt-5:" in str(again.status.notice)
    assert len(again.scalars["count"]) == 25 + 20 + 25
    run.request_stop()
    run.wait(SOON)


def test_a_run_that_was_killed_after_an_undone_trial_goes_on_from_where_that_began() -> None:
    tried = Tried()
    options: dict[str, Any] = {"name": "went", "hyperparameters": {"rate": tried.rate}}
    run = nbtrain.train(tried.step, checkpoint=tried.checkpoint, start=False, **options)
    trial = run.post(Try({"rate": 0.75}, 20, "loss"), at=5)
    run.post(Save(), at=15)
    paused = run.post(Pause(), at=25)
    run.start()
    assert "back to step 5" in applied(trial).text
    applied(paused)
    copy_of(run.logdir, "runs/copy")
    run.request_stop()
    run.wait(SOON)
    again = Tried()
    copied = trained(again, "copy", steps=40, start=False)
    found = latest(copied.logdir / "checkpoints")
    assert found is not None
    assert Path(found.path).parent.name == "last_good"  # as where the trial began is gone
    copied.start().wait(SOON)
    assert float(again.rate.numpy()) == 0.5


def test_a_restore_that_names_nothing_takes_what_counts() -> None:
    run = trained(Counter(), "went", start=False)
    gone_back(run)
    assert applied(run.restore()).text.startswith("restored ckpt-5:")
    assert applied(run.restore(20)).text.startswith("restored ckpt-20:")
    assert applied(run.restore()).text.startswith("restored ckpt-20:")
    run.request_stop()
    run.wait(SOON)


def test_if_every_checkpoint_was_abandoned_the_newest_is_restored() -> None:
    run = trained(Counter(), "went", start=False, on_nan=None)
    folder = gone_back(run)
    for path in (folder / "checkpoints").glob("ckpt-5.*"):
        path.unlink()
    delete_all(folder / "checkpoints" / "last_good")
    again = trained(Counter(), "copy", steps=30).wait(SOON)
    assert "ckpt-20:" in str(again.status.notice)
    run.request_stop()
    run.wait(SOON)


# --- no clock -----------------------------------------------------------------------------


@pytest.fixture
def falling(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Sets the clock back by an hour at each call, for this process."""
    now, back = time.time, [0.0]

    def fall() -> None:
        back[0] += 3600.0

    monkeypatch.setattr(time, "time", lambda: now() - back[0])
    return fall


@pytest.mark.parametrize("make", [trained_with_data, trained_alone, supervised, monitored])
def test_a_checkpoint_saved_after_the_clock_was_set_back_is_the_latest(
    make: Callable[..., Run], falling: Callable[[], None]
) -> None:
    run = make("set", start=False)
    run.post(Save(), at=5)
    paused = run.post(Pause(), at=10)
    run.start()
    applied(paused)  # the first state was copied, before the clock falls
    falling()
    assert applied(run.save()).text.endswith("-10")
    assert [each.step for each in run.checkpoints if each.step] == [5, 10]
    falling()
    assert applied(run.restore()).text.split(":")[0].endswith("-10")
    folder = copy_of(run.logdir, "runs/copy")
    run.request_stop()
    run.wait(SOON)
    falling()
    again = make("copy", steps=15).wait(SOON)
    assert "-10:" in str(again.status.notice)
    steps = [each.step for each in listed(folder / "checkpoints")]
    assert steps == [5, 10, 15], "TensorFlow's file still names those of before"


def test_points_beyond_a_restore_are_abandoned_whatever_the_clock_says(
    falling: Callable[[], None],
) -> None:
    run = trained_alone("set", start=False)
    for step, command in ((5, Save()), (20, Save()), (25, Restore(5))):
        run.post(command, at=step)
    run.post(Save(), at=22)
    paused = run.post(Pause(), at=25)
    falling()
    run.start()
    applied(paused)
    falling()
    assert applied(run.restore(22)).text.startswith("restored ckpt-22:")
    falling()
    assert applied(run.restore(5)).text.startswith("restored ckpt-5:")
    falling()
    found = latest(run.logdir / "checkpoints")
    assert found is not None
    assert found.step == 5
    run.request_stop()
    run.wait(SOON)


def test_the_folder_of_an_earlier_version_is_gone_on_with() -> None:
    """The run was killed at step 5, after going back there from 9, 20 and 25."""
    shutil.copytree(EARLIER, "runs/earlier")
    found = latest(Path("runs/earlier/checkpoints"))
    assert found is not None
    assert found.step == 5
    counter = Counter()
    run = trained(counter, "earlier", steps=8, start=False)
    saved = run.post(Save(), at=7)
    run.start().wait(SOON)
    applied(saved)
    assert "ckpt-5:" in str(run.status.notice)
    assert int(counter.count.numpy()) == 8
    assert latest(run.logdir / "checkpoints") == run.checkpoints[-1]
    assert run.checkpoints[-1].step == 8


@pytest.mark.parametrize(
    ("folder", "checkpoints", "marks", "last"),
    [
        (BRANCHED, [12], [22, 22, 5, 12, 13, 13, 20, 23], {-3: 20, 0: 23}),
        (EARLIER, [9, 20, 25], [9, 20, 25, 25, 25, 25, 20, 9], {-5: 5, 0: 8}),
    ],
    ids=["present", "earlier"],
)
def test_a_folder_tells_what_was_abandoned(
    folder: Path, checkpoints: list[int], marks: list[int], last: dict[int, int]
) -> None:
    """Steps of the checkpoints and marks that were; of each segment the last step that was not."""
    shutil.copytree(folder, "runs/copy")
    found = latest(Path("runs/copy/checkpoints"))
    assert found is not None
    run = trained(Counter(), "copy", steps=found.step + 3).wait(SOON)
    assert [each.step for each in run.checkpoints if each.abandoned] == checkpoints
    assert [each.step for each in run.marks if each.abandoned] == marks
    columns = run.scalars["count"]
    counting = zip(columns.segments.tolist(), columns.steps.tolist(), strict=True)
    assert {
        segment: step
        for (segment, step), gone in zip(counting, columns.abandoned.tolist(), strict=True)
        if not gone
    } == last


def test_a_run_continues_from_the_checkpoint_of_another_until_it_saves() -> None:
    other = trained(Counter(), "other", steps=3).wait(SOON)
    run = trained(Counter(), "went", start=False)
    run.post(Save(), at=5)
    paused = run.post(Pause(), at=5)
    run.start()
    applied(paused)
    applied(run.restore(other.checkpoints[-1]))
    found = latest(run.logdir / "checkpoints")
    assert found is not None
    assert found.path == other.checkpoints[-1].path
    applied(run.save())
    found = latest(run.logdir / "checkpoints")
    assert found is not None
    assert Path(found.path).parent == run.logdir / "checkpoints"
    assert found.step == 3
    run.request_stop()
    run.wait(SOON)


def test_on_a_full_disk_a_command_is_answered_and_its_line_waits_in_its_order() -> None:
    run = trained(Counter(), "full", start=False, hyperparameters={"rate": tf.Variable(0.5)})
    paused = run.post(Pause(), at=5)
    run.start()
    applied(paused)
    with no_room():
        applied(run.set(rate=0.25))
        applied(run.set(rate=0.125))
        assert "steering.jsonl cannot be written: File too large." in str(run.status.message)
    applied(run.resume())
    assert "cannot be written" not in str(run.status.message)
    edits = [line["text"] for line in entries(run.logdir) if line["event"] == "set"]
    assert edits == ["rate 0.5 → 0.25", "rate 0.25 → 0.125"]
    run.request_stop()
    run.wait(SOON)


def test_checkpoints_that_the_journal_does_not_have_are_marks_and_can_be_restored() -> None:
    run = trained_alone("mine", steps=9, save_steps=3).wait(SOON)
    (run.logdir / "steering.jsonl").unlink()
    again = trained_alone("mine", steps=12, start=False)
    paused = again.post(Pause(), at=11)
    again.start()
    applied(paused)
    found = [mark for mark in again.marks if mark.event == "checkpoint"]
    assert [(mark.step, mark.text) for mark in found] == [(n, f"ckpt-{n}") for n in (3, 6, 9)]
    assert [mark.wall_time for mark in found] == [
        round(held.wall_time, 3) for held in again.checkpoints if "last_good" not in held.path
    ]
    (oldest,) = (each for each in again.actions() if each.text == "Restore step 3")
    applied(again.do(oldest))
    assert again.status.step == 3
    again.request_stop()
    again.wait(SOON)


def test_a_run_goes_on_from_a_known_checkpoint_though_the_journal_lacks_earlier_ones() -> None:
    run = trained_alone("mine", steps=9, save_steps=3).wait(SOON)
    file = run.logdir / "steering.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    gap = [line for line in lines if "ckpt-3" not in line and "ckpt-6" not in line]
    assert len(gap) == len(lines) - 2
    file.write_text("".join(gap), encoding="utf-8")
    again = trained_alone("mine", steps=12).wait(SOON)
    assert "ckpt-9:" in str(again.status.notice)
    assert [held.step for held in again.checkpoints] == [3, 6, 9, 12]
