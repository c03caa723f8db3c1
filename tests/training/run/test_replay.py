"""Replay: what was done to a run is told, and done again to a new one, to the last bit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import config

import nbtrain
from nbtrain.core.commands import Command, Pause, Replay, Restore, Save, Set, Try
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.keras.fit import FitRun
from nbtrain.run.run import Run
from tests import fitted
from tests.diverging import BAD, Regression
from tests.gate import SOON, Gate
from tests.models import Counter, Line, applied, reached, refused
from tests.on_disk import journal

RATE = "learning_rate"


@pytest.fixture
def determinism() -> Iterator[None]:
    """TensorFlow's operations give the same bits at every run."""
    tf.config.experimental.enable_op_determinism()
    yield
    config.disable_op_determinism()


class Weighted(Line):
    """A line whose loss has a weight: a variable that no checkpoint holds."""

    def __init__(self) -> None:
        keras.utils.set_random_seed(7)
        super().__init__(compiled=True)
        self.weight = tf.Variable(1.0)
        self.step = tf.function(self._weighted)

    def _weighted(self) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            error = self.model(self._x) - tf.reduce_sum(self._x, axis=1, keepdims=True)
            loss = self.weight * tf.reduce_mean(error**2)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return {"loss": loss}

    def run(self, name: str, steps: int = 40) -> Run:
        """A run of it, not started."""
        held = {RATE: self.optimizer.learning_rate, "weight": self.weight}
        return nbtrain.train(
            self.step,
            steps=steps,
            checkpoint=self.checkpoint,
            hyperparameters=held,
            name=name,
            start=False,
        )


def trained(run: Run, *plan: tuple[int, Command]) -> Run:
    """A run to its end, steered after these steps."""
    receipts = [run.post(command, at=step) for step, command in plan]
    run.start().wait(SOON)
    assert all(receipt.outcome and receipt.outcome.applied for receipt in receipts), receipts
    return run


def rate(value: float) -> Set:
    return Set({RATE: value})


def weight(value: float) -> Set:
    return Set({"weight": value})


def replayed(name: str, steps: int = 40, of: str = "a") -> tuple[Weighted, list[tuple[int, Any]]]:
    """A new training after the course of a run, and the edits that were made to it."""
    line = Weighted()
    run = line.run(name, steps)
    receipt = nbtrain.replay(f"runs/{of}").apply(run)
    run.start().wait(SOON)
    applied(receipt)
    lines = journal(run, "set")
    assert all(entry["applied"] for entry in lines)
    return line, [
        (entry["step"], {name: new for name, (_, new) in entry["edits"].items()}) for entry in lines
    ]


def written(folder: str, *lines: dict[str, Any]) -> Path:
    """A folder with these lines."""
    path = Path(folder)
    path.mkdir(parents=True)
    text = "".join(json.dumps({"wall_time": 5.0, **line}) + "\n" for line in lines)
    (path / "steering.jsonl").write_text(text, encoding="utf-8")
    return path


def same(one: Line, other: Line) -> None:
    """Two trainings ended alike, to the last bit."""
    for mine, yours in zip(one.state(), other.state(), strict=True):
        np.testing.assert_array_equal(mine, yours)


# --- the same weights -------------------------------------------------------------


@pytest.mark.usefixtures("determinism")
def test_a_replayed_step_function_ends_with_the_same_weights() -> None:
    line = Weighted()
    plan = ((3, rate(0.2)), (10, Save()), (13, rate(0.7)), (21, Restore(10)), (27, rate(0.01)))
    trained(line.run("a"), *plan)
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(3, {RATE: 0.2}), (27, {RATE: 0.01})]
    untouched = Weighted()
    trained(untouched.run("c"))
    assert not np.array_equal(untouched.state()[0], line.state()[0]), "the edits made a difference"


def test_a_long_outcome_goes_on_below_itself_and_a_row_fits_into_a_cell(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    said = " ".join(f"word{n}" for n in range(40))
    lines = [{"event": "start", "step": 0}, {"event": "save", "step": 7, "text": said}]
    (folder / "steering.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for table in (nbtrain.replay(folder).table(), nbtrain.replay(folder).table(clock=True)):
        _, _, first, *more = table.splitlines()
        column = first.index("word0")
        assert len(more) > 2
        assert all(line[:column].isspace() for line in more)
        assert " ".join(line[column:] for line in (first, *more)) == said
        assert max(map(len, (first, *more))) <= column + 60


def test_the_edits_of_a_replay_are_made_again_where_the_run_goes_back() -> None:
    trained(Weighted().run("a"), (10, weight(2.0)), (20, weight(3.0)))
    line = Weighted()
    run = line.run("b")
    nbtrain.replay("runs/a").apply(run)
    trained(run, (5, Save()), (15, weight(7.0)), (25, Restore(5)))
    sets = journal(run, "set")
    made = [(line["step"], line["edits"]["weight"][1]) for line in sets]
    assert made == [(10, 2.0), (15, 7.0), (20, 3.0), (10, 2.0), (20, 3.0)]


def test_an_edit_of_a_replay_that_led_to_a_checkpoint_is_not_made_again_after_it() -> None:
    trained(Weighted().run("a"), (10, weight(2.0)), (20, weight(3.0)))
    run = Weighted().run("b")
    nbtrain.replay("runs/a").apply(run)
    commands = ((5, Save()), (15, Save()), (25, Pause()), (25, Restore(5)))
    *_, back = [run.post(command, at=step) for step, command in commands]
    run.start()
    applied(back)
    applied(run.restore(15))
    run.resume()
    run.wait(SOON)
    made = [(line["step"], line["edits"]["weight"][1]) for line in journal(run, "set")]
    assert made == [(10, 2.0), (20, 3.0), (20, 3.0)]


def test_an_edit_of_a_replay_that_a_recovery_has_gone_back_behind_is_not_made_again() -> None:
    line = Counter()
    held = tf.Variable(1.0)

    def step() -> dict[str, Any]:
        line.step()
        bad = held.numpy() >= 8 and line.count.numpy() > 12
        return {"loss": float("nan") if bad else 0.5}

    whole = tf.train.Checkpoint(count=line.count, held=held)
    run = nbtrain.train(
        step,
        steps=40,
        checkpoint=whole,
        hyperparameters={RATE: held},
        on_nan="recover",
        name="b",
        save_steps=10,
        keep=None,
        start=False,
    )
    receipt = run.post(Replay(((10, {RATE: 8.0}), (30, {RATE: 2.0})), "two"), at=0)
    run.start().wait(SOON)
    applied(receipt)
    sets = journal(run, "set")
    made = [(line["step"], line["edits"][RATE][1]) for line in sets]
    assert made == [(10, 8.0), (10, 0.5), (30, 2.0)]
    assert run.status.step == 40


def test_the_edits_of_a_replay_go_on_where_the_run_is_started_again() -> None:
    trained(Weighted().run("a"), (10, weight(2.0)), (20, weight(3.0)))
    line = Weighted()
    run = line.run("b")
    nbtrain.replay("runs/a").apply(run)
    pause = run.post(Pause(), at=15)
    run.start()
    applied(pause)
    run.request_stop()
    run.wait(SOON)
    assert (run.status.step, line.weight.numpy()) == (15, 2.0)
    assert run.status.message == (
        "The run ended at step 15, before edits that are planned for later: they are made if "
        "it is started again and reaches their steps."
    )
    run.start().wait(SOON)
    assert (run.status.step, line.weight.numpy()) == (40, 3.0)
    assert run.status.message is None


@pytest.mark.usefixtures("determinism")
def test_an_edit_made_by_a_recovery_is_replayed() -> None:
    """The run goes back to a copy of a good state, which is in its own folder."""

    def run(name: str, regression: Regression) -> Run:
        return nbtrain.train(
            regression.step,
            steps=200,
            checkpoint=regression.checkpoint,
            hyperparameters=regression.optimizer,
            on_nan="recover",
            name=name,
            start=False,
        )

    one, other = Regression(BAD), Regression(BAD)
    run("a", one).start().wait(SOON)
    again = run("b", other)
    nbtrain.replay("runs/a").apply(again)
    again.start().wait(SOON)
    assert not journal(again, "nan")
    for mine, yours in zip(one.model.get_weights(), other.model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, yours)


def fit(name: str) -> tuple[Any, FitRun]:
    """A Keras fit over shuffled arrays, with dropout; not started."""
    model = fitted.classifier()
    return model, nbtrain.fit(model, **fitted.KINDS["arrays"](), epochs=4, name=name, start=False)


@pytest.mark.usefixtures("determinism")
def test_a_replayed_fit_ends_with_the_same_weights() -> None:
    model, run = fit("a")
    plan = ((5, rate(0.03)), (15, Save()), (17, rate(0.5)), (21, Restore(15)), (33, rate(0.001)))
    trained(run, *plan)
    again, new = fit("b")
    receipt = nbtrain.replay(run.logdir).apply(new)
    new.start().wait(SOON)
    assert applied(receipt).text == "2 edits of a, of steps 5 to 33"
    fitted.assert_same(model, again)
    assert new.history == run.history
    untouched, plain = fit("c")
    plain.start().wait(SOON)
    assert not np.array_equal(fitted.state(untouched)[0], fitted.state(model)[0])


# --- the course that led to the end -------------------------------------------------


@pytest.mark.usefixtures("determinism")
def test_a_value_that_no_checkpoint_holds_outlives_a_restore_and_is_replayed() -> None:
    line = Weighted()
    plan = ((4, weight(2.0)), (10, Save()), (13, weight(5.0)), (13, rate(0.3)), (20, Restore(10)))
    trained(line.run("a"), *plan)
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(4, {"weight": 2.0}), (10, {"weight": 5.0})]


@pytest.mark.usefixtures("determinism")
def test_a_restore_to_an_abandoned_checkpoint_takes_up_its_course() -> None:
    line = Weighted()
    plan = ((5, Save()), (7, rate(0.2)), (15, Save()), (18, Restore(5)))
    run = line.run("a")
    for step, command in plan:
        run.post(command, at=step)
    back, pause = run.post(Pause(), at=18), run.post(Pause(), at=30)
    run.start()
    applied(back)
    run.post(rate(0.4), at=9)  # of the second course
    run.resume()
    applied(pause)
    applied(run.restore(15))  # of the first
    run.resume()
    run.wait(SOON)
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(7, {RATE: 0.2})]


@pytest.mark.usefixtures("determinism")
def test_a_run_that_was_stopped_and_started_again_is_replayed_as_one() -> None:
    line = Weighted()
    run = line.run("a", steps=20)
    trained(run, (3, rate(0.2)))
    line.weight.assign(3.0)  # in a cell between
    trained(line.run("a", steps=40), (30, rate(0.01)))
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(3, {RATE: 0.2}), (20, {"weight": 3.0}), (30, {RATE: 0.01})]


@pytest.mark.usefixtures("determinism")
@pytest.mark.parametrize("keep", [True, False])
def test_only_the_kept_part_of_a_trial_is_replayed(*, keep: bool) -> None:
    line = Weighted()
    run = line.run("a")
    run.post(rate(0.1), at=8)
    trial = Try({"weight": 2.0}, steps=6, keep_if=lambda _before, _after: keep)
    run.post(trial, at=10)
    run.post(rate(0.6), at=13)  # in the midst of it
    run.start().wait(SOON)
    again, edits = replayed("b")
    same(line, again)
    tried = [(10, {"weight": 2.0}), (13, {RATE: 0.6})] if keep else []
    assert edits == [(8, {RATE: 0.1}), *tried]


@pytest.mark.usefixtures("determinism")
@pytest.mark.parametrize("best", [0, 1, 2])
def test_only_the_best_value_of_a_trial_is_replayed(best: int) -> None:
    line = Weighted()
    run = line.run("a")
    run.post(rate(0.1), at=8)
    rates = [0.4, 0.5, 0.6]
    rates[best] = 0.05  # the others are too high for this step
    run.post(Try({RATE: rates}, steps=6, keep_if="loss"), at=10)
    run.post(weight(3.0), at=30)
    run.start().wait(SOON)
    assert line.optimizer.learning_rate.numpy() == pytest.approx(0.05)
    again, edits = replayed("b")
    same(line, again)
    assert edits == [
        (8, {RATE: 0.1}),
        (10, {RATE: pytest.approx(0.05)}),
        (30, {"weight": 3.0}),
    ]


@pytest.mark.usefixtures("determinism")
@pytest.mark.parametrize("named", [False, True])
def test_only_the_best_setting_of_a_grid_is_replayed(*, named: bool) -> None:
    line = Weighted()
    run = line.run("a")
    grid: dict[str, Any] = {"values": {RATE: [0.4, 0.04], "weight": [0.5, 1.0]}}
    settings = {"high": {RATE: 0.4, "weight": 1.0}, "low": {RATE: 0.04, "weight": 0.5}}
    asked = {"values": {}, "settings": settings} if named else grid
    trial = run.post(Try(**asked, steps=6, keep_if="loss", repeats=2), at=10)
    run.start().wait(SOON)
    applied(trial)
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(10, {RATE: pytest.approx(0.04), "weight": 0.5})]


@pytest.mark.usefixtures("determinism")
def test_a_trial_that_leaves_the_choice_replays_as_the_choice() -> None:
    line = Weighted()
    run = line.run("a")
    trial = run.post(Try({RATE: [0.4, 0.04]}, steps=6), at=10)
    run.post(Pause(), at=20)
    run.start()
    applied(trial)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    choice = next(each for each in run.actions() if str(each) == f"Go on with {RATE} 0.04")
    applied(run.post(choice.command))
    run.resume()
    run.wait(SOON)
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(20, {RATE: pytest.approx(0.04)})]


def test_a_start_without_a_checkpoint_begins_a_new_course() -> None:
    for value in (0.2, 0.3):
        line = Weighted()
        held = {RATE: line.optimizer.learning_rate}
        run = nbtrain.train(line.step, steps=8, hyperparameters=held, name="a", start=False)
        trained(run, (3, rate(value)))
    assert nbtrain.replay("runs/a").edits == ((3, {RATE: 0.3}),)


@pytest.mark.usefixtures("determinism")
def test_steps_after_the_last_checkpoint_of_a_killed_run_are_not_replayed() -> None:
    run = Weighted().run("live")
    plan = ((3, rate(0.2)), (10, Save()), (13, rate(0.7)), (13, weight(5.0)), (14, Pause()))
    receipts = [run.post(command, at=step) for step, command in plan]
    run.start()
    for receipt in receipts:
        applied(receipt)
    journal = run.logdir / "steering.jsonl"
    reached(run, lambda run: "weight 1" in journal.read_text(encoding="utf-8"))
    shutil.copytree(run.logdir, "runs/a")  # as a kill leaves it
    applied(run.request_stop())
    run.wait(SOON)
    with Path("runs/a/steering.jsonl").open("a") as file:
        file.write('{"wall_time": 1, "event": "se')  # cut short
    line = Weighted()
    trained(line.run("a"), (27, rate(0.01)))
    again, edits = replayed("b")
    same(line, again)
    assert edits == [(3, {RATE: 0.2}), (27, {RATE: 0.01})]


# --- what is refused ----------------------------------------------------------------


def test_a_run_that_has_passed_a_step_is_refused_and_trains_on_as_it_was(gate: Gate) -> None:
    trained(Weighted().run("a"), (3, rate(0.2)), (35, rate(0.1)))
    counter = Counter(gate)
    held = {RATE: tf.Variable(1.0)}
    run = nbtrain.train(counter.step, hyperparameters=held, name="late")
    pause = run.pause()
    gate.allow(1)
    applied(pause)
    course = nbtrain.replay("runs/a")
    applied(course.apply(run))  # at step 1 it is not too late
    pause = run.post(Pause(), at=4)
    run.resume()
    gate.open()
    applied(pause)
    text = refused(course.apply(run)).text
    assert text.startswith("Cannot replay at step 4: the first edit is of step 3. Make the run")
    run.request_stop()
    run.wait(SOON)
    edits = journal(run, "set")
    assert [entry["step"] for entry in edits if entry["applied"]] == [3]


def test_a_run_without_the_hyperparameter_is_refused() -> None:
    trained(Weighted().run("a"), (3, rate(0.2)))
    counter = Counter()
    run = nbtrain.train(counter.step, steps=5, name="b", start=False)
    receipt = nbtrain.replay("runs/a").apply(run)
    run.start().wait(SOON)
    assert refused(receipt).text.startswith("There is no hyperparameter 'learning_rate'")


def test_an_argument_that_is_not_a_run_raises() -> None:
    trained(Weighted().run("a"), (10, weight(2.0)))
    with pytest.raises(ArgumentError, match=r"apply\(3\): give the run that is to make the edits"):
        nbtrain.replay("runs/a").apply(3)  # type: ignore[arg-type]


def test_a_run_that_has_ended_is_refused() -> None:
    run = trained(Weighted().run("a"), (3, rate(0.2)))
    assert refused(nbtrain.replay("runs/a").apply(run)).text == "the run has ended"


def test_a_run_that_goes_on_from_a_checkpoint_is_refused() -> None:
    run = trained(Weighted().run("a", steps=20), (3, rate(0.2)))
    further = Weighted().run("a", steps=25)
    receipt = nbtrain.replay(run.logdir).apply(further)
    further.start().wait(SOON)
    assert refused(receipt).text.startswith("Cannot replay at step 20: ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("runs/none", "runs/none is no folder of a run: there is none. Give one"),
        (".", "it has no steering.jsonl. Give one in which a run has trained"),
        (3, "logdir=3: give the folder of a run, such as 'runs/digits'."),
        ("broken", "broken is no folder of a run: its steering.jsonl cannot be read: Is a dir"),
    ],
)
def test_a_folder_without_a_run_raises_with_a_reason(given: Any, words: str) -> None:
    Path("broken/steering.jsonl").mkdir(parents=True)
    with pytest.raises(ArgumentError) as raised:
        nbtrain.replay(given)
    assert words in str(raised.value)


def test_an_older_journal_is_shown_and_not_replayed() -> None:
    older: dict[str, Any] = {
        "event": "set",
        "step": 9,
        "applied": True,
        "text": "learning_rate 0.01 → 0.001",
    }
    written("old", {"event": "start", "step": 0}, older, {"event": "finished", "step": 20})
    course = nbtrain.replay("old")
    assert repr(course).splitlines()[2].split() == ["9", "set", *older["text"].split()]
    with pytest.raises(ArgumentError, match="does not tell the values that were set at step 9"):
        course.apply(Weighted().run("b"))


@pytest.mark.parametrize(
    "line",
    [
        {"event": "set", "step": 9, "edits": {"rate": [1.0]}},
        {"event": "set", "step": 9, "edits": "rate"},
        {"event": "start", "step": 0, "parent": {"step": "x"}},
        {"event": "start", "step": 0, "parent": 3},
        {"event": "segment", "step": 9, "values": [1]},
        {"event": "origin", "step": 9, "checkpoint": None},
        {"event": "save", "step": 9, "wall_time": "now"},
        {"event": 3, "step": 9},
    ],
)
def test_a_line_that_nobody_wrote_makes_no_error(line: dict[str, Any]) -> None:
    written("odd", {"event": "start", "step": 0}, line)
    assert repr(nbtrain.replay("odd")).startswith("step  event")


# --- the table ------------------------------------------------------------------------


def test_the_table_tells_what_was_done_and_what_became_of_it() -> None:
    line = Weighted()
    run = line.run("a")
    plan = ((3, rate(0.2)), (10, Save()), (13, rate(0.7)), (13, weight(5.0)), (20, Restore(10)))
    wrong = run.post(rate(-1.0), at=4)
    trained(run, *plan)
    refused(wrong)
    course = nbtrain.replay("runs/a")
    lines = [line.split() for line in repr(course).splitlines()]
    assert lines[0] == ["step", "event", "hyperparameter", "old", "new", "outcome"]
    assert lines[2] == ["3", "set", RATE, "0.05", "0.2", "applied"]
    assert lines[3][:4] == ["4", "set", "refused:", "learning_rate=-1:"]
    assert lines[4] == ["10", "save", "saved", "ckpt-10"]
    undone = ["applied;", "undone", "by", "a", "restore", "or", "a", "new", "start"]
    assert lines[5] == ["13", "set", RATE, "0.2", "0.7", *undone]
    assert lines[7][:5] == ["10", "segment", "weight", "1", "5"]
    assert lines[8][:4] == ["20", "restore", "restored", "ckpt-10:"]
    assert lines[-1] == ["40", "finished"]
    assert repr(nbtrain.replay("runs/a")) == repr(course), "the same on every execution"
    clock = [line.split()[0] for line in course.table(clock=True).splitlines()]
    assert clock[:2] == ["seconds", "0.0"]


@pytest.mark.usefixtures("determinism")
def test_a_rate_that_the_program_itself_has_set_is_in_the_checkpoint_and_is_told_so() -> None:
    def lowered(line: Weighted) -> Weighted:
        learn = line.step

        def step() -> dict[str, Any]:
            if line.optimizer.iterations == 5:
                line.optimizer.learning_rate.assign(0.02)
            return dict(learn())

        line.step = step
        return line

    line = lowered(Weighted())
    later = ((13, rate(0.7)), (13, weight(5.0)), (20, Restore(10)))
    again = ((25, rate(0.3)), (30, Restore(10)))
    trained(line.run("a"), (3, rate(0.2)), (10, Save()), *later, *again)
    course = nbtrain.replay("runs/a")
    rows = [row.split(maxsplit=5) for row in repr(course).splitlines()]
    assert [row[2:] for row in rows if row[1] == "segment"] == [
        [RATE, "0.2", "0.02", "the program itself has set it"],
        ["weight", "1", "5", "is in no checkpoint: goes on with"],
        ["weight", "1", "5", "is in no checkpoint: goes on with"],
    ]
    other = lowered(Weighted())
    run = other.run("b")
    course.apply(run)
    run.start().wait(SOON)
    same(line, other)


def test_a_folder_that_an_earlier_version_made_again_is_not_replayed(tmp_path: Path) -> None:
    lines = [
        {"wall_time": 1.0, "event": "folder", "step": 7, "name": "run"},
        {"wall_time": 2.0, "event": "stopped", "step": 9},
    ]
    (tmp_path / "steering.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(ArgumentError, match="the folder that it had up to step 7 was deleted"):
        nbtrain.replay(tmp_path).apply(nbtrain.train(Counter().step, start=False))
