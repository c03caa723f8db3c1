"""Branches: a new run from a checkpoint of another, in a folder of its own."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.commands import Save, Set
from nbtrain.core.errors import ArgumentError, BusyError, CheckpointError, NbtrainError, PhaseError
from nbtrain.core.states import Phase
from nbtrain.keras.fit import FitRun
from nbtrain.run.run import Run
from nbtrain.rundir.names import LAST_GOOD
from tests import fitted
from tests.gate import SOON, Gate
from tests.models import Count, Line, applied, refused
from tests.on_disk import journal, saved
from tests.training.branches import Paced, parent

RATE = "learning_rate"


def counted(run: Run) -> tuple[list[int], list[float]]:
    """The curve of the count."""
    columns = run.scalars["count"]
    return columns.steps.tolist(), columns.values.tolist()


# --- a branch ------------------------------------------------------------------------


def test_a_branch_goes_on_from_the_checkpoint_with_other_values_from_its_first_step_on() -> None:
    run, _ = parent()
    child = run.branch(10, name="fast", pace=5)
    assert child.wait(SOON).status.phase is Phase.FINISHED
    assert counted(child) == ([*range(11, 21)], [10.0 + 5 * n for n in range(1, 11)])
    assert child.logdir == run.logdir.parent / "fast"
    assert saved(child) == [20], "none of its parent's"
    assert saved(run) == [10, 20]


def test_a_branch_that_goes_back_to_its_begin_has_its_values_again(gate: Gate) -> None:
    run, paced = parent()
    paced._at_step = lambda count: gate() if count > 15 else None
    child = run.branch(10, name="fast", pace=5)
    gate.wait_for_arrivals()
    receipt = child.restore(10)
    gate.open()
    applied(receipt)
    child.wait(SOON)
    assert counted(child)[1][-10:] == [10.0 + 5 * n for n in range(1, 11)]


def test_a_branch_records_its_parent_and_the_edits_as_marks() -> None:
    run, _ = parent()
    child = run.branch(10, name="b", pace=5).wait(SOON)
    (start,) = journal(child, "start")
    assert start["parent"] == {"logdir": "../a", "checkpoint": "ckpt-10", "step": 10}
    (edit,) = journal(child, "set")
    assert (edit["step"], edit["edits"]) == (10, {"pace": [1.0, 5.0]})
    assert [mark.edits for mark in child.marks if mark.event == "set"] == [(("pace", 1.0, 5.0),)]
    assert len(nbtrain.scalars("runs")["b", "count"].steps) == 10, "it begins at the branch"


def test_without_a_name_it_gets_a_number_and_without_a_checkpoint_it_takes_the_latest() -> None:
    _, paced = parent(steps=15, at=5)
    longer = nbtrain.train(paced.step, steps=30, checkpoint=paced.checkpoint, name="a", start=False)
    child = longer.branch()  # of a run that was not started: by what its folder has
    assert child.wait(SOON).name == "a-1"
    assert counted(child)[0] == [*range(16, 31)]
    assert longer.branch(5).wait(SOON).name == "a-2"


def test_a_checkpoint_of_another_run_can_be_given_by_its_path() -> None:
    run, _ = parent()
    first = run.branch(10, name="b", pace=5).wait(SOON)
    path = str(first.logdir / "checkpoints" / "ckpt-20")
    longer = nbtrain.train(Paced().step, name="c", start=False)
    with pytest.raises(ArgumentError, match="saves none by itself"):
        longer.branch(path)
    with pytest.raises(ArgumentError, match="of step 20 of 20: to a branch of it nothing is left"):
        run.branch(path)
    earlier = str(run.logdir / "checkpoints" / "ckpt-10")
    child = first.branch(earlier, name="d").wait(SOON)
    assert journal(child, "start")[0]["parent"]["logdir"] == "../a"
    assert counted(child)[0][0] == 11


def test_a_listed_checkpoint_can_be_given_as_it_is() -> None:
    run, _ = parent()
    assert counted(run.branch(run.checkpoints[0]).wait(SOON))[0][0] == 11


def test_the_parent_can_be_started_again_after_its_branch() -> None:
    run, paced = parent(steps=20)
    run.branch(10, pace=5).wait(SOON)
    paced.pace.assign(1)
    assert int(paced.count.numpy()) == 60
    run.start().wait(SOON)
    assert int(paced.count.numpy()) == 20


def test_the_users_own_loop_can_branch() -> None:
    line = Line()

    @nbtrain.background(checkpoint=line.checkpoint, hyperparameters=line.optimizer, name="own")
    def run(run: Run) -> None:
        while not run.should_stop() and run.status.step < 12:
            run.record(line.step())

    run.wait(SOON)
    child = run.branch(name="slow", learning_rate=1e-4)
    child.wait(SOON)
    assert child.logdir.name == "slow"
    assert journal(child, "start")[0]["parent"]["step"] == journal(run, "finished")[0]["step"]


def test_a_fit_branches_in_the_middle_of_an_epoch_and_trains_the_same_batches() -> None:
    model = fitted.classifier(dropout=0.0)
    arrays = fitted.KINDS["arrays"]()
    run = nbtrain.fit(model, **arrays, epochs=3, name="a", start=False)
    run.post(Save(), at=15)
    run.start().wait(SOON)
    whole, history = fitted.state(model), run.history
    same = run.branch(15, name="same").wait(SOON)
    for mine, its in zip(fitted.state(model), whole, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert isinstance(same, FitRun)
    assert same.history == history == run.history
    assert same.scalars["batch_loss"].steps[0] == 16
    other = run.branch(15, name="other", learning_rate=1e-4).wait(SOON)
    assert journal(other, "set")[0]["edits"] == {RATE: [0.01, 0.0001]}
    assert not np.array_equal(fitted.state(model)[0], whole[0])
    assert run.history == history, "the parent keeps its own"


def test_a_supervised_graph_branches_with_its_global_step() -> None:
    graph = Count()
    with graph.graph.as_default():
        rate = tf.compat.v1.get_variable("rate", initializer=0.5, trainable=False)
    run = nbtrain.supervise(
        graph.train_op,
        scalars={"loss": graph.loss},
        steps=20,
        name="a",
        start=False,
        hyperparameters={"rate": rate},
    )
    run.post(Save(), at=8)
    run.start().wait(SOON)
    child = run.branch(8, name="b", rate=0.25).wait(SOON)
    assert child.scalars["loss"].steps.tolist() == [*range(9, 21)]
    np.testing.assert_array_equal(child.scalars["loss"].values, run.scalars["loss"].values[8:])
    assert journal(child, "set")[0]["edits"] == {"rate": [0.5, 0.25]}
    assert saved(child) == [20]


# --- its second start ------------------------------------------------------------------


def test_a_second_start_goes_on_from_its_own_checkpoint() -> None:
    run, _ = parent()
    child = run.branch(10, name="b", pace=5)
    child.wait(SOON)
    child.start().wait(SOON)
    resumed = [entry["step"] for entry in journal(child, "resume")]
    assert resumed == [10, 20]
    assert len(journal(child, "set")) == 1


def test_without_one_of_its_own_it_begins_again_at_its_parents_with_its_edits(
    gate: Gate,
) -> None:
    run, paced = parent()
    paced._at_step = lambda count: 1 / 0 if count == 20 else None
    child = run.branch(10, name="b", pace=5)
    with pytest.raises(ZeroDivisionError):
        child.wait(SOON)
    for checkpoint in listed(child.logdir / "checkpoints"):
        for file in Path(checkpoint.path).parent.glob("*"):
            file.unlink()
    paced._at_step = lambda _count: None
    paced.pace.assign(1)
    child.start().wait(SOON)
    assert int(paced.count.numpy()) == 60
    assert [entry["step"] for entry in journal(child, "set")] == [10, 10]


def copied(run: Run, paced: Paced, step: int) -> None:
    """Leave a run a copy of a good state, in place of its checkpoints."""
    checkpoints = run.logdir / "checkpoints"
    shutil.rmtree(checkpoints)
    copies = tf.train.CheckpointManager(
        paced.checkpoint, str(checkpoints / LAST_GOOD), max_to_keep=1
    )
    copies.save(checkpoint_number=step)


def test_a_second_start_from_a_copy_of_a_further_step_makes_no_edit() -> None:
    run, paced = parent()
    child = run.branch(10, name="b", pace=5).wait(SOON)
    copied(child, paced, 15)
    paced.pace.assign(2)
    child.start().wait(SOON)
    assert len(journal(child, "set")) == 1
    assert int(paced.pace.numpy()) == 2


def test_a_copy_is_branched_by_its_step() -> None:
    run, paced = parent()
    copied(run, paced, 15)
    assert counted(run.branch(15).wait(SOON))[0][0] == 16


def test_a_branch_that_was_stopped_before_its_first_step_still_gets_its_edits() -> None:
    paced, go = Paced(), threading.Event()
    held = {"pace": paced.pace}

    def loop(run: Run) -> None:
        assert go.wait(SOON)
        while not run.should_stop():
            run.record(paced.step())

    options: dict[str, Any] = {"checkpoint": paced.checkpoint, "hyperparameters": held, "name": "a"}
    go.set()
    nbtrain.background(loop, steps=10, **options).wait(SOON)
    longer = nbtrain.background(loop, steps=20, start=False, **options)
    go.clear()
    child = longer.branch(10, name="b", pace=5)
    child.request_stop()
    go.set()
    assert child.wait(SOON).status.phase is Phase.STOPPED
    assert (saved(child), int(paced.pace.numpy())) == ([10], 1)
    child.start().wait(SOON)
    assert int(paced.count.numpy()) == 60


def test_a_parents_checkpoint_that_was_deleted_meanwhile_fails_the_branch_in_words() -> None:
    run, _ = parent()
    child = run.branch(10, name="b").wait(SOON)
    for folder in (run, child):
        for file in (folder.logdir / "checkpoints").glob("*"):
            file.unlink()
    with pytest.raises(CheckpointError, match="ckpt-10 cannot be read"):
        child.start().wait(SOON)


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize("paused", [False, True])
def test_a_live_parent_is_refused(gate: Gate, *, paused: bool) -> None:
    paced = Paced(gate)
    run = nbtrain.train(paced.step, checkpoint=paced.checkpoint, name="a")
    gate.wait_for_arrivals()
    if paused:
        pause = run.pause()
        gate.open()
        applied(pause)
    with pytest.raises(PhaseError) as raised:
        run.branch()
    assert str(raised.value) == (
        f"Cannot branch while {'paused' if paused else 'running'}: the branch trains the same "
        "model. Call run.request_stop(), then run.wait(); all its checkpoints can be branched."
    )
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_branch_of_a_branch_waits_for_the_first_to_end(gate: Gate) -> None:
    run, paced = parent()
    paced._at_step = gate
    first = run.branch(10, name="b")
    gate.wait_for_arrivals()
    with pytest.raises(BusyError, match="The run 'b' is still training this model"):
        run.branch(10, name="c")
    assert not (run.logdir.parent / "c").exists()
    gate.open()
    first.wait(SOON)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"pace": 1.5}, ArgumentError, "its variable holds whole numbers"),
        ({"pace": "fast"}, ArgumentError, "'fast' is no number"),
        ({"rate": 1}, ArgumentError, "There is no hyperparameter 'rate' in this run; it has: pace"),
        ({"name": "../b"}, ArgumentError, "cannot name a folder"),
        ({"name": "a"}, ArgumentError, "is there already, and a branch begins in a new folder"),
        ({"checkpoint": 11}, CheckpointError, "no checkpoint 11; there are those of steps: 10, 20"),
        ({"checkpoint": "nowhere/ckpt-3"}, CheckpointError, "There is no checkpoint 'nowhere"),
        ({"checkpoint": 20}, ArgumentError, "of step 20 of 20: to a branch of it nothing is left"),
        ({"checkpoint": None}, ArgumentError, "nothing is left to train"),
    ],
)
def test_an_impossible_branch_starts_nothing_and_leaves_no_folder(
    given: dict[str, Any], error: type[NbtrainError], words: str
) -> None:
    run, _ = parent()
    before, known = sorted(Path("runs").rglob("*")), nbtrain.runs()
    with pytest.raises(error) as raised:
        run.branch(**{"checkpoint": 10, **given})
    assert words in str(raised.value)
    assert sorted(Path("runs").rglob("*")) == before
    assert nbtrain.runs() == known


def test_a_run_that_saves_nothing_cannot_be_branched() -> None:
    run = nbtrain.train(Paced().step, steps=3, name="a").wait(SOON)
    with pytest.raises(ArgumentError, match="this run saves none by itself: start it with check"):
        run.branch()
    assert not Path("runs/a-1").exists()


def test_a_supervisor_that_was_given_and_a_monitored_session_cannot_be_branched() -> None:
    graph = Count()
    with graph.graph.as_default():
        supervisor = nbtrain.Supervisor(logdir="mine", save_model_secs=0)
    run = nbtrain.supervise(graph.train_op, supervisor=supervisor, steps=3).wait(SOON)
    with pytest.raises(ArgumentError, match="This run's Supervisor was made for its own folder"):
        run.branch()
    graph = Count()
    monitored = nbtrain.monitor(graph.train_op, steps=3, name="m").wait(SOON)
    with pytest.raises(ArgumentError, match=r"A run of nbtrain.tf1.monitor cannot be branched"):
        monitored.branch()
    assert not list(Path().glob("**/m-1"))


def test_a_branch_whose_first_edit_is_refused_pauses_before_its_first_step() -> None:
    line = Line()
    held = {RATE: line.optimizer.learning_rate}
    run = nbtrain.train(
        line.step, steps=9, checkpoint=line.checkpoint, hyperparameters=held, name="a", start=False
    )
    run.post(Save(), at=4)
    run.start().wait(SOON)
    child = run.branch(4, learning_rate=1e39)
    (receipt,) = child.receipts
    assert "its variable cannot hold that" in refused(receipt).text
    assert (child.status.phase, child.status.step) == (Phase.PAUSED, 4)
    assert (child.status.message or "").startswith("Paused at step 4: an edit that this run needs ")
    applied(child.set(learning_rate=0.5))
    applied(child.resume())
    child.wait(SOON)
    assert child.status.message is None
    assert child.hyperparameters == {RATE: 0.5}


# --- replay of branches ---------------------------------------------------------------------


def test_the_replay_of_a_branch_begins_with_the_course_of_its_parent() -> None:
    paced = Paced()
    options: dict[str, Any] = {
        "checkpoint": paced.checkpoint,
        "hyperparameters": {"pace": paced.pace},
    }
    run = nbtrain.train(paced.step, steps=20, name="a", start=False, **options)
    for step, command in ((3, Set({"pace": 2})), (10, Save()), (12, Set({"pace": 9}))):
        run.post(command, at=step)
    run.start().wait(SOON)
    run.branch(10, name="b", pace=5).wait(SOON)
    end = int(paced.count.numpy())
    course = nbtrain.replay("runs/b")
    # A value that no checkpoint holds was 9 when the branch began.
    assert course.edits == ((3, {"pace": 2.0}), (10, {"pace": 9.0}), (10, {"pace": 5.0}))
    assert "a branch of ../a, from step 10" in repr(course)
    again = Paced()
    options = {"checkpoint": again.checkpoint, "hyperparameters": {"pace": again.pace}}
    new = nbtrain.train(again.step, steps=20, name="c", start=False, **options)
    course.apply(new)
    new.start().wait(SOON)
    assert int(again.count.numpy()) == end == 3 + 2 * 7 + 5 * 10


def test_the_replay_of_a_branch_whose_parent_is_gone_is_refused() -> None:
    run, _ = parent()
    run.branch(10, name="b", pace=5).wait(SOON)
    (run.logdir / "steering.jsonl").unlink()
    course = nbtrain.replay("runs/b")
    with pytest.raises(ArgumentError, match=r"at step 10 it goes on from \.\./a/checkpoints/ckpt"):
        course.apply(nbtrain.train(Paced().step, name="c", start=False))
