"""`run.why_nan` of tracked loops: the program's loop takes the steps again, and goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import WhyNan
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.engines.loops import LoopRun
from tests.gate import SOON
from tests.models import applied, reached, refused
from tests.training import faulty
from tests.training.faulty import BAD, BATCH, Faulty, line_of

STEPS = 2 * BAD  # of an epoch


def same(before: Sequence[Any], after: Sequence[Any]) -> None:
    for was, now in zip(before, after, strict=True):
        np.testing.assert_array_equal(was, now)


def in_background(training: Faulty, run_name: str, *, steps: int | None = None) -> LoopRun:
    """A run of two tracked loops, one in the other."""

    @nbtrain.background(
        checkpoint=training.checkpoint,
        hyperparameters={"learning_rate": training.optimizer.learning_rate},
        name=run_name,
        steps=steps,
    )
    def loops(run: LoopRun) -> None:
        for _ in run.track(range(10**6)):
            for batch in run.track(training.data):
                run.record(**training.step(batch), extra=1.0, note="a text")
                tf.summary.scalar("mine", 1.0, step=run.status.step)

    made: LoopRun = loops
    return made


def at_nan(run: LoopRun) -> LoopRun:
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    return run


def ended(run: LoopRun) -> None:
    run.request_stop()
    run.wait(SOON)


def test_the_line_is_found_and_nothing_is_recorded() -> None:
    training = Faulty(faulty.log_of, 0.0, guarded=True)
    run = at_nan(in_background(training, "found"))
    refused(run.save())  # all is recorded then
    before, step, seen = training.state(), run.status.step, run.status.message
    counts = {tag: run.scalars[tag].steps.tolist() for tag in ("loss", "extra", "mine")}
    marks = len(run.marks)
    outcome = applied(run.why_nan())
    place = f"log of 0 in log_of (faulty.py, line {line_of(faulty.log_of, 'log(')}) at step {BAD}"
    assert outcome.text == f"{place}: 1 of {BATCH} values is 0"
    assert (outcome.step, run.status.step, run.status.phase) == (step, step, Phase.PAUSED)
    same(before, training.state())
    assert run.status.message == seen
    assert {tag: run.scalars[tag].steps.tolist() for tag in counts} == counts
    assert [(mark.event, mark.step) for mark in run.marks][marks:] == [("why_nan", step)]
    ended(run)


def test_a_run_that_was_asked_ends_as_one_that_was_not() -> None:
    states, scalars, steps_done = [], [], []
    for asks in (False, True):
        training = Faulty(faulty.log_of, 0.0, guarded=True)
        run = in_background(training, f"asks-{asks}", steps=3 * STEPS)
        answers = []
        while not run.status.phase.ended:
            reached(run, lambda run: run.status.phase is Phase.PAUSED or run.status.phase.ended)
            if run.status.phase is Phase.PAUSED:
                answers += [applied(run.why_nan()).text] if asks else []
                run.resume().wait(SOON)
        assert len(answers) >= asks
        assert all(text.startswith("log of 0 in log_of") for text in answers)
        states.append(training.state())
        scalars.append((run.scalars["loss"].steps, run.scalars["loss"].values))
        steps_done.append(run.handle.steps_done)
    same(*states)
    same(*scalars)
    assert steps_done == [3 * STEPS, 3 * STEPS]


def asked_at_nan(run: LoopRun, answers: list[Outcome]) -> threading.Thread:
    """A thread that asks once the run has paused, and stops it then."""

    def ask() -> None:
        answers.append(run.why_nan().wait(SOON))
        run.request_stop()

    def look() -> None:
        if run.status.phase is Phase.PAUSED and not thread.is_alive() and not answers:
            thread.start()

    thread = threading.Thread(target=ask)
    run.on_tick(look)
    return thread


def test_a_loop_in_the_foreground_answers_while_its_cell_is_busy() -> None:
    training, answers = Faulty(faulty.division_by, 0.0, guarded=True), list[Outcome]()
    passes = training.data.repeat()
    run = nbtrain.track(passes, checkpoint=training.checkpoint, name="foreground")
    thread = asked_at_nan(run, answers)
    for batch in run:
        run.record(**training.step(batch))
    thread.join(SOON)
    assert answers[0].text.startswith("division by 0 in division_by (faulty.py, line ")


def test_commands_that_the_loop_gives_are_not_given_again() -> None:
    training = Faulty(faulty.square_of, 1.0)
    receipts: list[Receipt] = []
    asked: list[bool] = []

    @nbtrain.background(
        checkpoint=training.checkpoint,
        hyperparameters={"learning_rate": training.optimizer.learning_rate},
        name="commands",
    )
    def loops(run: LoopRun) -> None:
        for number, batch in enumerate(run.track(training.data.repeat())):
            if number == 20 or asked:
                receipts.append(run.set(learning_rate=1e25))
            run.record(**training.step(batch))

    run = at_nan(loops)
    asked.append(True)
    rates = run.scalars["hyperparameters/learning_rate"].values.tolist()
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("overflow of ")
    assert outcome.answer["step"] > 20
    assert "the step is taken again for a question" in refused(receipts[1]).text
    assert run.receipts[-1].name == "why_nan", "of those the run keeps none"
    assert run.scalars["hyperparameters/learning_rate"].values.tolist() == rates
    assert run.hyperparameters["learning_rate"] == pytest.approx(1e25)
    ended(run)


def fails(training: Faulty, asked: list[bool]) -> Callable[[Any], dict[str, Any]]:
    step = training.step

    def failing(batch: Any) -> dict[str, Any]:
        if asked:
            raise RuntimeError("no disk")
        return step(batch)

    return failing


def test_an_error_in_a_step_taken_again_is_that_of_the_loop_and_the_present_is_there() -> None:
    training, asked = Faulty(faulty.log_of, 0.0, guarded=True), list[bool]()
    training.step = fails(training, asked)  # type: ignore[method-assign,assignment]
    run = at_nan(in_background(training, "fails"))
    before, step = training.state(), run.status.step
    asked.append(True)
    receipt = run.why_nan()
    with pytest.raises(RuntimeError, match="no disk"):
        run.wait(SOON)
    assert refused(receipt).text == "The loop ended before the answer was found"
    assert run.status.step == step
    same(before, training.state())


def test_a_stop_ends_the_question() -> None:
    training, asked = Faulty(faulty.log_of, 0.0, guarded=True), list[bool]()
    step = training.step

    def stopping(batch: Any) -> dict[str, Any]:
        if asked:
            run.request_stop()
        return step(batch)

    training.step = stopping  # type: ignore[method-assign]
    run = at_nan(in_background(training, "stops"))
    before, at = training.state(), run.status.step
    asked.append(True)
    assert "asked to stop before the answer was found" in refused(run.why_nan()).text
    run.wait(SOON)
    assert (run.status.step, run.status.phase) == (at, Phase.STOPPED)
    same(before, training.state())


def test_an_iterator_is_left_alone() -> None:
    def batches() -> Iterator[Any]:
        while True:
            yield from iter(training.data)

    training = Faulty(faulty.log_of, 0.0)

    @nbtrain.background(checkpoint=training.checkpoint, name="iterator")
    def loop(run: LoopRun) -> None:
        for batch in run.track(batches()):
            run.record(**training.step(batch))

    run = at_nan(loop)
    assert all(action.command != WhyNan() for action in run.actions())
    assert "could not come back: an iterator cannot go back" in refused(run.why_nan()).text
    ended(run)


def test_the_question_is_offered_where_it_can_be_asked() -> None:
    run = at_nan(in_background(Faulty(faulty.log_of, 0.0), "offered"))
    assert any(action.command == WhyNan() for action in run.actions())
    ended(run)


def bad_step(run: LoopRun) -> int:
    """The first step whose recorded loss is not finite."""
    loss = run.scalars["loss"]
    return int(loss.steps[~np.isfinite(loss.values)][0])


def numbers(*, bad: int, size: int = 20) -> tf.data.Dataset:
    """Numbers in a new order in each pass, one of them 0."""
    values = np.arange(1.0, size + 1, dtype=np.float32)
    values[bad] = 0.0
    return tf.data.Dataset.from_tensor_slices(values).shuffle(size, seed=1)


class Slow:
    """A step that gives the run time to look at what was recorded, such as its first copy."""

    def __init__(self) -> None:
        self.weight = tf.Variable(1.0)
        self.checkpoint = tf.train.Checkpoint(weight=self.weight)

    @tf.function
    def step(self, x: Any) -> Any:
        self.weight.assign_add(0.001)
        return tf.math.log(x) * tf.stop_gradient(self.weight)


def test_data_in_a_new_order_in_each_pass_come_again() -> None:
    slow, data = Slow(), numbers(bad=3)

    @nbtrain.background(checkpoint=slow.checkpoint, name="passes")
    def loops(run: LoopRun) -> None:
        for _ in run.track(range(10**6)):
            for x in run.track(data):
                run.record(loss=slow.step(x) if run.status.step > 20 else 1.0)

    run = at_nan(loops)
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("log of 0 in step (test_track_why_nan.py, line ")
    assert outcome.answer["step"] == bad_step(run)
    ended(run)


@pytest.mark.parametrize(("last", "stride"), [(6, 1), (19, 5)])
def test_a_step_that_a_break_leaves_and_one_with_a_number_of_its_own_are_counted(
    last: int, stride: int
) -> None:
    slow, count = Slow(), tf.Variable(0)

    @nbtrain.background(checkpoint=tf.train.Checkpoint(weight=slow.weight, count=count))
    def loops(run: LoopRun) -> None:
        for _ in run.track(range(10**6)):
            for at in run.track(range(20)):
                now = int(count.assign_add(1).numpy())
                own = {} if stride == 1 else {"step": stride * now}
                run.record(loss=slow.step(tf.constant(float(now != BAD))), **own)
                if at == last:
                    break

    run = at_nan(loops)
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("log of 0 in step (test_track_why_nan.py, line ")
    assert outcome.answer["step"] == bad_step(run)
    assert outcome.step == run.status.step
    ended(run)


def test_steps_that_come_in_another_loop_are_said_to_differ() -> None:
    weight = tf.Variable(4.0)

    @nbtrain.background(checkpoint=tf.train.Checkpoint(weight=weight), name="phases")
    def phases(run: LoopRun) -> None:
        for _ in run.track(range(30)):
            weight.assign_sub(0.1)
            run.record(loss=weight)
        for at in run.track(range(10**6)):
            root = tf.sqrt(3.0 - weight)
            run.record(loss=tf.math.log(root * (at != 15)))

    run = at_nan(phases)
    assert bad_step(run) == 46
    outcome = applied(run.why_nan())
    assert outcome.text.startswith("no cause found: the steps 1 to ")
    assert outcome.answer == {"differs": 1}
    ended(run)
