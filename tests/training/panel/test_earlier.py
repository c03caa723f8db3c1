"""Earlier lives: a new run of a folder shows the curves and marks that another kernel's left."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause, Restore, Save, Set
from nbtrain.notebook.display import picture_of
from nbtrain.panel.live.view import fields
from nbtrain.panel.live.wire import Wire
from nbtrain.recording.store import Columns, ScalarStore
from nbtrain.run.run import Run
from nbtrain.rundir.entries import entries
from nbtrain.rundir.journal import Marks
from nbtrain.tfevents.writer import EventWriter
from tests.event_files import simple, written
from tests.front_end import FrontEnd
from tests.gate import SOON
from tests.models import Counter, applied, reached, ticked
from tests.stores import add
from tests.training.hooked import Loop
from tests.wires import assert_equal, send

FOLDER = Path("runs/a")


def counted(steps: int, *, pause_at: int | None = None, **options: Any) -> Run:
    """A run that has counted up to this step, in a folder that may have counted before."""
    counter = Counter()
    run = nbtrain.train(
        counter.step, steps=steps, checkpoint=counter.checkpoint, name="a", start=False, **options
    )
    if pause_at is not None:
        run.post(Save(), at=pause_at)
    return run.start().wait(SOON)


def points(columns: Columns) -> list[tuple[int, float, int, bool]]:
    """Step, value, segment, and whether it was abandoned."""
    rows = (columns.steps, columns.values, columns.segments, columns.abandoned)
    return [*zip(*(row.tolist() for row in rows), strict=True)]


def test_a_run_that_goes_on_has_the_whole_curve() -> None:
    counted(3)
    run = counted(5)
    assert points(run.scalars["count"]) == [
        (1, 1.0, -1, False),
        (2, 2.0, -1, False),
        (3, 3.0, -1, False),
        (4, 4.0, 0, False),
        (5, 5.0, 0, False),
    ]
    assert run.status.values == {"count": 5.0}
    (tail,) = [c for c in counted(6).scalars.curves() if c.segment == 0]
    assert tail.buckets.steps.tolist() == [6.0], "of three lives each has its own part"


def test_a_start_that_failed_takes_no_curves_and_marks_from_the_next() -> None:
    nbtrain.background(Loop(), name="a", steps=3, save_steps=1).wait(SOON)
    failures = iter([ValueError("not yet")])

    def train(run: Run) -> None:
        for failure in failures:
            raise failure
        Loop()(run)

    run = nbtrain.background(train, name="a", steps=4, save_steps=1)
    with pytest.raises(ValueError, match="not yet"):
        run.wait(SOON)
    assert [mark.event for mark in run.marks] == ["failed"]
    run.start().wait(SOON)
    events = [mark.event for mark in run.marks]
    assert events == [*3 * ["checkpoint"], "resume", "checkpoint"]
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4]


def test_a_command_before_the_session_takes_no_curves_and_marks_of_earlier_starts() -> None:
    nbtrain.background(Loop(), name="a", steps=3, save_steps=1).wait(SOON)
    rate = tf.Variable(0.5)

    def train(run: Run) -> None:
        run.should_stop()
        Loop()(run)

    run = nbtrain.background(
        train, name="a", steps=4, save_steps=1, hyperparameters={"rate": rate}, start=False
    )
    edit = run.post(Set({"rate": 0.25}), at=0)
    run.start().wait(SOON)
    applied(edit)
    events = [mark.event for mark in run.marks]
    assert events == [*3 * ["checkpoint"], "set", "resume", "checkpoint"]
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4]
    assert [held.step for held in run.checkpoints] == [1, 2, 3, 4]
    assert all(line["event"] != "found" for line in entries(run.logdir))


def test_a_value_of_an_earlier_start_is_shown_with_its_step() -> None:
    counted(3, evaluate=lambda: {"count": 7.0}, evaluate_steps=3)
    run = counted(5)
    assert run.status.values == {"count": 5.0, "val_count": 7.0}
    assert run.status.values_at == {"val_count": 3}
    assert fields(run.status)["last"] == {"count": "5", "val_count": "7 (step 3)"}
    run = counted(7, evaluate=lambda: {"count": 8.0}, evaluate_steps=2)
    assert fields(run.status)["last"] == {"count": "7", "val_count": "8"}


def test_points_beyond_the_restored_checkpoint_are_abandoned() -> None:
    counted(8, pause_at=4)
    for path in (FOLDER / "checkpoints").glob("ckpt-8.*"):
        path.unlink()  # as of a kernel that was killed before it could save
    run = counted(6)
    assert points(run.scalars["count"]) == [
        *((step, float(step), -1, step > 4) for step in range(1, 9)),
        (5, 5.0, 0, False),
        (6, 6.0, 0, False),
    ]


def test_a_run_that_starts_over_has_only_its_own_curve() -> None:
    """As where a name is used again and again, and nothing is saved."""
    counted(4)
    shutil.rmtree(FOLDER / "checkpoints")
    run = counted(2)
    assert points(run.scalars["count"]) == [(1, 1.0, 0, False), (2, 2.0, 0, False)]
    assert [mark.event for mark in run.marks] == ["checkpoint"]


def test_one_that_goes_on_from_step_0_abandons_all_of_it() -> None:
    counted(4, pause_at=0)
    for path in (FOLDER / "checkpoints").glob("ckpt-4.*"):
        path.unlink()
    run = counted(2)
    assert points(run.scalars["count"]) == [
        *((step, float(step), -1, True) for step in range(1, 5)),
        (1, 1.0, 0, False),
        (2, 2.0, 0, False),
    ]


def test_a_restore_of_an_earlier_start_counts_as_a_restore() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=6, checkpoint=counter.checkpoint, name="a", start=False)
    run.post(Save(), at=2)
    back = run.post(Restore(2), at=4)
    run.start().wait(SOON)
    applied(back)
    there = points(run.scalars["count"])
    run = counted(7)
    assert points(run.scalars["count"]) == [
        *((step, value, segment - 2, gone) for step, value, segment, gone in there),
        (7, 7.0, 0, False),
    ]


def went_on_where_it_had_left(
    meanwhile: Callable[[], object] = lambda: None,
) -> list[tuple[int, float, int, bool]]:
    """The curve of a life that went back from step 7 to 2, and from 4 to 6 again."""
    counter = Counter()
    run = nbtrain.train(counter.step, steps=8, checkpoint=counter.checkpoint, name="a", start=False)
    commands = ((2, Save()), (6, Save()), (7, Pause()), (7, Restore(2)))
    *_, back = [run.post(command, at=step) for step, command in commands]
    run.start()
    applied(back)
    meanwhile()
    again = run.post(Restore(6), at=4)
    run.resume()
    applied(again)
    run.wait(SOON)
    return points(run.scalars["count"])


def test_abandoned_points_count_again_when_the_run_goes_back_to_them() -> None:
    there = went_on_where_it_had_left()
    assert [(step, segment) for step, _, segment, gone in there if not gone] == [
        *((step, 0) for step in range(1, 7)),
        *((step, 2) for step in (7, 8)),
    ]
    run = counted(9)
    assert points(run.scalars["count"]) == [
        *((step, value, segment - 3, gone) for step, value, segment, gone in there),
        (9, 9.0, 0, False),
    ]


def test_a_kill_before_the_mark_of_a_restore_was_written_abandons_only_what_was_left() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, name="a", start=False)
    commands = ((2, Save()), (6, Save()), (7, Pause()), (7, Restore(2)))
    *_, back = [run.post(command, at=step) for step, command in commands]
    run.start()
    applied(back)
    paused = run.post(Pause(), at=4)
    run.resume()
    applied(paused)
    ticked(run)
    events = run.attempt.context.recorder.event_file
    assert events is not None
    written_then = events.stat().st_size
    applied(run.restore(6))
    run.request_stop()
    run.wait(SOON)
    os.truncate(events, written_then)  # the journal has the restore, the event file has not
    run = counted(9)
    there, read = run.scalars["count"], nbtrain.scalars(run.logdir)[".", "count"]
    expected = [*((step, False) for step in range(1, 7)), (7, True), (3, True), (4, True)]
    expected += [(7, False), (8, False), (9, False)]
    for steps, abandoned in ((there.steps, there.abandoned), (read.steps, read.abandoned)):
        assert [*zip(steps.tolist(), abandoned.tolist(), strict=True)] == expected


def test_a_life_that_was_killed_before_its_first_checkpoint_is_abandoned_and_nothing_else() -> None:
    nbtrain.train(Counter().step, steps=3, name="a").wait(SOON)
    there = went_on_where_it_had_left()
    read = nbtrain.scalars(FOLDER)[".", "count"]
    assert read.steps.tolist() == [1, 2, 3, *(step for step, *_ in there)]
    assert read.abandoned.tolist() == [True, True, True, *(gone for *_, gone in there)]


def test_the_segment_of_an_earlier_point_does_not_depend_on_a_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.time
    with monkeypatch.context() as clock:
        there = went_on_where_it_had_left(
            lambda: clock.setattr(time, "time", lambda: now() - 3600.0)
        )
    assert points(counted(8).scalars["count"]) == [
        (step, value, segment - 3, gone) for step, value, segment, gone in there
    ]


@pytest.mark.parametrize("hours", [0, 1])
def test_a_logdir_has_the_same_abandoned_points_as_its_run(
    monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """Also if the clock is set back in between: the journal tells, and not the wall times."""
    now = time.time
    with monkeypatch.context() as clock:
        went_on_where_it_had_left(
            lambda: clock.setattr(time, "time", lambda: now() - 3600.0 * hours)
        )
    run = counted(9)
    there, read = run.scalars["count"], nbtrain.scalars(run.logdir)[".", "count"]
    assert read.steps.tolist() == there.steps.tolist()
    assert read.abandoned.tolist() == there.abandoned.tolist()


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_users_own_file_in_the_folder_keeps_what_was_trained_last(order: str) -> None:
    """The journal counts the run's own files only; others follow TensorBoard's rule."""
    counter, extra = Counter(), []

    def step() -> dict[str, Any]:
        values = counter.step()
        extra.append(simple("extra", int(counter.count), 1.0, time.time()))
        return values

    run = nbtrain.train(step, steps=8, checkpoint=counter.checkpoint, name="a", start=False)
    run.post(Save(), at=2)
    back = run.post(Restore(2), at=7)
    run.start().wait(SOON)
    applied(back)
    time_in_name = {"before": 1, "after": 9_999_999_999}[order]
    written(FOLDER / f"events.out.tfevents.{time_in_name:010d}.here", extra)
    found = nbtrain.scalars(FOLDER)
    for tag in ("count", "extra"):
        points = found[".", tag]
        assert points.steps.tolist() == [*range(1, 8), *range(3, 9)]
        assert points.abandoned.tolist() == [*2 * [False], *5 * [True], *6 * [False]]


def test_a_cell_that_is_run_again_when_all_is_trained_has_the_curve() -> None:
    counted(5)
    run = counted(5)
    assert run.status.step == 5
    assert run.scalars["count"].steps.tolist() == [1, 2, 3, 4, 5]


def test_a_second_start_of_the_same_run_has_everything_once() -> None:
    counted(3)
    run = counted(4)
    run.start().wait(SOON)
    assert run.scalars["count"].steps.tolist() == [1, 2, 3, 4]


def test_event_files_of_others_are_not_taken_for_the_runs_own() -> None:
    counted(3)
    theirs = EventWriter(FOLDER)
    theirs.scalars(np.array([1]), np.array([1.0]), {"theirs": np.array([7.0])})
    theirs.close()
    theirs.path.rename(FOLDER / "events.out.tfevents.1700000000.host")
    assert list(counted(4).scalars) == ["count"]


def test_tags_come_in_the_order_in_which_they_came() -> None:
    counted(1)
    writer, half = EventWriter(FOLDER), np.array([0.5])
    for step in range(1, 300):
        writer.scalars(np.array([step]), np.array([float(step)]), {"batch_loss": half})
        if step % 45 == 0:
            writer.scalars(np.array([step]), np.array([step + 0.5]), {"epoch_loss": half})
    writer.close()
    assert list(counted(2).scalars) == ["batch_loss", "epoch_loss", "count"]


def test_a_file_that_cannot_be_read_is_told_and_the_run_trains() -> None:
    counted(3)
    (FOLDER / "events.out.tfevents.1.host.nbtrain").mkdir()
    run = counted(4)
    assert "Some recorded curves cannot be read: " in (run.status.message or "")
    assert run.scalars["count"].steps.tolist() == [1, 2, 3, 4]


def test_a_failure_during_a_read_stays_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a tenth of a second: it is tried once."""
    counted(3)

    def recall(_store: ScalarStore, _earlier: ScalarStore, **_options: bool) -> None:
        raise ValueError("of no sense")

    monkeypatch.setattr(ScalarStore, "recall", recall)
    run = counted(4)
    told = "Some recorded curves cannot be read: ValueError: of no sense."
    assert told in (run.status.message or "")
    assert run.scalars["count"].steps.tolist() == [4]


def test_a_torn_file_gives_what_it_has() -> None:
    counted(3)
    (file,) = FOLDER.glob("*.nbtrain")
    file.write_bytes(file.read_bytes()[:-3])
    assert 4 in counted(4).scalars["count"].steps


def test_marks_of_earlier_starts_come_first() -> None:
    counted(8, pause_at=4)
    for path in (FOLDER / "checkpoints").glob("ckpt-8.*"):
        path.unlink()
    run = counted(9)
    assert [(mark.event, mark.step) for mark in run.marks] == [
        ("save", 4),
        ("checkpoint", 8),
        ("resume", 4),
        ("checkpoint", 9),
    ]


def test_marks_are_told_once_over_two_starts_of_one_run() -> None:
    counted(3)
    run = counted(4)
    before = len(run.marks)
    run.start().wait(SOON)
    assert [mark.event for mark in list(run.marks)[before:]] == ["resume"]


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "save", "step": 2}',
        '{"event": "restore", "step": 2, "to": "one", "wall_time": "now", "edits": 3}',
        '{"event": "set", "step": 2, "edits": {"rate": [1]}, "text": null}',
        '{"event": "nan", "step": 2, "applied": 0',
        "[]",
    ],
)
def test_a_line_that_is_not_as_it_should_be_holds_up_nothing(line: str) -> None:
    counted(3)
    with open(FOLDER / "steering.jsonl", "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    run = counted(4)
    assert (run.status.step, run.scalars["count"].steps.tolist()) == (4, [1, 2, 3, 4])
    assert [mark.event for mark in run.marks][-2:] == ["resume", "checkpoint"]
    assert picture_of(run)["image/png"]


def test_a_page_is_given_what_was_recalled_whole() -> None:
    earlier, store, page = ScalarStore(), ScalarStore(), FrontEnd()
    add(earlier, "loss", 1, *np.linspace(1.0, 0.5, 500))
    earlier.open_segment(300)
    add(earlier, "loss", 301, *np.linspace(0.6, 0.4, 400))
    store.open_segment(600)
    add(store, "loss", 601, 0.4)
    wire = Wire(store, Marks())
    page.receive(*wire.snapshot({}))
    store.recall(earlier)
    add(store, "accuracy", 602, 0.5)
    while send(wire, page, {}):
        pass
    assert_equal(page, store)
    assert [
        (c.segment, c.abandoned, len(c.buckets.steps)) for c in store.curves() if c.tag == "loss"
    ] == [
        (0, False, 1),
        (-2, False, 300),
        (-2, True, 200),
        (-1, False, 300),
        (-1, True, 100),
    ]


@pytest.mark.parametrize("late", [False, True])
def test_earlier_points_are_the_same_whenever_they_arrive(*, late: bool) -> None:
    earlier, store = ScalarStore(), ScalarStore()
    add(earlier, "loss", 1, 4.0, 3.0, 2.0, 1.0)
    add(earlier, "val_loss", 2, 5.0, 4.0)
    if not late:
        store.recall(earlier)
    store.open_segment(2)
    add(store, "loss", 3, 2.5)
    if late:
        store.recall(earlier)
    assert store.last_values() == {"loss": 2.5, "val_loss": 5.0}
    assert store["loss"].abandoned.tolist() == [False, False, True, True, False]
    assert store["loss"].segments.tolist() == [-1, -1, -1, -1, 0]
    store.open_segment(1)
    add(store, "loss", 2, 3.5)
    assert store["loss"].abandoned.tolist() == [False, True, True, True, True, False]


def test_a_long_curve_is_read_while_it_trains() -> None:
    """All of a hundred thousand points are kept, and assigned to earlier starts."""
    counted(1)
    steps, writer = np.arange(2, 100_001), EventWriter(FOLDER)
    writer.scalars(steps, np.full(len(steps), time.time()), {"count": steps / 1.0})
    writer.close()
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, name="a")
    reached(run, lambda run: len(run.scalars.get("count", ())) > 100_000)
    run.request_stop()
    run.wait(SOON)
    columns = run.scalars["count"]
    np.testing.assert_array_equal(columns.values[columns.segments == -1], np.arange(1, 100_001))
    assert columns.steps[columns.segments == 0][0] == 2
