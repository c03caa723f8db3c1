"""A run that has gone back behind a checkpoint neither goes on from it, nor takes it unasked."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbtrain
from nbtrain.folder.way import ways_back
from nbtrain.run import Run
from nbtrain.saving.checkpoints import delete_all
from nbtrain.saving.listing import counting, latest
from nbtrain.states import Checkpoint
from nbtrain.steering.commands import Pause, Restore, Save, Try
from tests.gate import SOON
from tests.models import Count, Counter, applied, reached
from tests.training.test_trial import Tried


def held(step: int, at: float) -> Checkpoint:
    return Checkpoint(step, f"ckpt-{step}", at)


@pytest.mark.parametrize(
    ("saved", "backs", "left"),
    [
        ([(5, 1), (9, 2)], [], []),
        ([(5, 1), (9, 2)], [(5, 3)], [9]),
        ([(5, 1), (9, 2), (7, 4)], [(5, 3)], [9]),
        ([(5, 1), (9, 2), (7, 4), (8, 6)], [(5, 3), (7, 5)], [9]),
        ([(5, 1), (9, 2), (7, 4)], [(5, 3), (9, 5)], [7]),  # on again, where it had been left
        ([(3, 1), (5, 2), (9, 3), (6, 5)], [(5, 4), (3, 6)], [5, 9, 6]),
        ([(9, 2), (7, 4)], [(5, 3)], [9]),  # what it went back to is not there any more
        ([(0, 1), (9, 2)], [(0, 3)], [9]),
    ],
)
def test_what_counts_is_on_the_way_to_where_the_run_is(
    saved: list[tuple[int, float]], backs: list[tuple[int, float]], left: list[int]
) -> None:
    every = [held(step, at) for step, at in saved]
    assert counting(every, backs) == tuple(each for each in every if each.step not in left)


def gone_back(run: Run) -> Path:
    """The folder of a run as a kill leaves it that went back from step 25 to 5, beyond 20."""
    for step, command in ((5, Save()), (20, Save()), (25, Restore(5))):
        run.post(command, at=step)
    paused = run.post(Pause(), at=25)
    run.start()
    applied(paused)
    reached(run, lambda run: bool(ways_back(run.logdir)))
    run.life._recorder.drain()  # what the next tick would write
    return Path(shutil.copytree(run.logdir, "runs/copy"))


def trained(counter: Counter, name: str, *, start: bool = True, **options: Any) -> Run:
    return nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, name=name, start=start, **options
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
    reached(run, lambda run: bool(ways_back(run.logdir)))
    shutil.copytree(run.logdir, "runs/copy")
    run.request_stop()
    run.wait(SOON)
    again = Tried()
    copied = trained(again, "copy", steps=40, start=False)
    found = latest(copied.logdir / "checkpoints")
    assert found is not None
    assert Path(found.path).parent.name == "last_good"  # as where the trial began is gone
    assert found.wall_time > ways_back(copied.logdir)[-1][1]
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


def test_where_nothing_counts_any_more_the_newest_is_taken() -> None:
    run = trained(Counter(), "went", start=False, on_nan=None)
    folder = gone_back(run)
    for path in (folder / "checkpoints").glob("ckpt-5.*"):
        path.unlink()
    delete_all(folder / "checkpoints" / "last_good")
    again = trained(Counter(), "copy", steps=30).wait(SOON)
    assert "ckpt-20:" in str(again.status.notice)
    run.request_stop()
    run.wait(SOON)
