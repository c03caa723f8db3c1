"""The course of `why_slow`: what is said of the times of input, step and both."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError, PhaseError
from nbtrain.run.why.answer import Answer
from nbtrain.run.why.experiment import Course, StepPart, Visits
from nbtrain.run.why.slow_answer import Usual
from nbtrain.run.why.slow_question import SlowQuestion

# A pipeline in which nothing is to be named.
DATA = tf.data.Dataset.range(3)


class Times(Visits):
    """Steps whose parts take given milliseconds; the data end after some of them.

    Args:
        ms: The milliseconds of each part.
        elements: The elements up to the end of the data.
        size: The steps of a pass; None if a measurement is within one.
        begin_ms: The milliseconds that the first step of a pass takes longer.
    """

    def __init__(
        self,
        ms: dict[StepPart, float],
        elements: int = 10**6,
        size: int | None = None,
        begin_ms: float = 0.0,
    ) -> None:
        super().__init__(lambda _checkpoint: None)
        self.now = 0.0
        self.taken: list[StepPart] = []
        self._ms, self._elements = ms, elements
        self._size, self._begin_ms = size, begin_ms

    def clock(self) -> float:
        return self.now

    def answer(
        self,
        count: int = 10,
        data: Any = DATA,
        usual: Usual | None = None,
        *,
        may_fail: bool = False,
    ) -> Answer:
        with tempfile.TemporaryDirectory() as folder:
            steps = StepCounter()
            course = SlowQuestion(steps, Path(folder)).course(
                self, count, data, usual, may_fail=may_fail
            )
            return self._followed(course, steps)

    def _followed(self, course: Course, steps: StepCounter) -> Answer:
        wanted, left = next(course), self._elements
        while True:
            self.taken.append(wanted.part)
            visits = self.count
            over = wanted.part is StepPart.INPUT and left == 0
            left -= wanted.part is StepPart.INPUT
            self.now += 0 if over else self._ms[wanted.part] / 1e3
            if self._size and steps.step % self._size == 0:
                self.passes += 1
                self.now += self._begin_ms / 1e3
            steps.step += 1
            try:
                wanted = course.send(None if over else {})
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            if self.count > visits:
                left = self._elements


def ms(drawn: float, step: float, whole: float) -> dict[StepPart, float]:
    return {StepPart.INPUT: drawn, StepPart.STEP: step, StepPart.WHOLE: whole}


@pytest.mark.parametrize(
    ("times", "bound", "shown", "verdict"),
    [
        (
            ms(14.1, 5.2, 14.3),
            "input",
            "input 14.1 ms, step 5.2 ms, together 14.3 ms",
            "the input holds the training back; at best 2.8 times faster",
        ),
        (
            ms(0.9, 0.0024, 0.91),
            "input",
            "input 900 µs, step 2.4 µs, together 910 µs",
            "the input holds the training back; at best 379 times faster",
        ),
        (
            ms(90, 1100, 1120),
            "step",
            "input 90 ms, step 1.1 s, together 1.12 s",
            "the step takes the time, and faster input would not help",
        ),
        (
            ms(10, 10, 19),
            "turns",
            "input 10 ms, step 10 ms, together 19 ms",
            "input and step do not overlap; at best 1.9 times faster",
        ),
        (
            ms(9, 1, 11),
            "input",
            "input 9 ms, step 1 ms, together 11 ms",
            "the input holds the training back; at best 11 times faster",
        ),
        (
            ms(1, 10, 15),
            "elements",
            "input 1 ms, step 10 ms, together 15 ms",
            (
                "together they take longer than one after the other, so other elements take longer "
                "than the one that was trained again and again, or both need the same cores"
            ),
        ),
        (
            ms(10, 10, 15),
            "cores",
            "input 10 ms, step 10 ms, together 15 ms",
            "input and step need the same cores; at best 1.5 times faster",
        ),
    ],
)
def test_the_longer_part_holds_the_training_back(
    times: dict[StepPart, float], bound: str, shown: str, verdict: str
) -> None:
    said, answer = Times(times).answer(count=5)
    assert said == f"{shown}: {verdict}"
    assert answer["bound"] == bound
    assert answer["input"]["ms"] == pytest.approx(times[StepPart.INPUT])
    assert answer["step"]["count"] == answer["together"]["count"] == 5


def test_long_measurements_end_after_ten_seconds_but_not_before_five_steps() -> None:
    _, answer = Times(ms(1, 900, 3000)).answer(count=1000)
    assert answer["step"]["count"] == 8, "after four that are not measured, for three seconds"
    assert answer["together"]["count"] == 5


def test_the_input_is_measured_again_from_the_present_where_the_data_end() -> None:
    times = Times(ms(14.1, 5.2, 14.3), elements=8)
    _, answer = times.answer(count=20)
    assert times.count > 1
    assert answer["input"]["count"] >= 10
    assert answer["input"]["ms"] == pytest.approx(14.1)


def test_data_that_nobody_draws_are_not_measured() -> None:
    times = Times(ms(1, 1, 7))
    said, answer = times.answer(data=None)
    assert said.startswith("a step takes 7 ms, and draws its data itself")
    assert answer.keys() == {"together", "causes"}
    assert {*times.taken} == {StepPart.WHOLE}


def test_the_begin_of_a_pass_is_put_aside_and_told_where_it_takes_a_part_of_the_time() -> None:
    said, answer = Times(ms(1, 5, 5.1), size=4, begin_ms=20).answer(count=12)
    assert answer["together"]["ms"] == pytest.approx(5.1)
    assert answer["input"]["ms"] == pytest.approx(1)
    assert answer["first"]["ms"] == pytest.approx(25.1)
    (cause,) = answer["causes"]
    assert cause["text"].startswith(
        "The first step of a pass over the data takes 25.1 ms, and 3 of 15 steps were the first"
    )
    assert cause["text"] in said


def test_the_begin_of_a_pass_is_not_named_where_it_takes_little() -> None:
    _, answer = Times(ms(1, 5, 5.1), size=30, begin_ms=1).answer(count=50)
    assert answer["first"]["count"] == 1
    assert not answer["causes"]


def test_passes_of_one_step_are_measured_with_their_begin() -> None:
    said, answer = Times(ms(1, 5, 5.1), size=1, begin_ms=20).answer(count=10)
    assert "input 21 ms, step 25 ms, together 25.1 ms: the step takes the time" in said
    assert answer["first"]["count"] == 10
    assert answer["causes"] == []


def test_a_run_that_takes_longer_than_its_steps_has_the_rest_by_kind() -> None:
    said, answer = Times(ms(1, 5, 5)).answer(usual=Usual(20.0, 4.0, 0.1))
    assert said.endswith(
        "most of the time goes to what is around the steps. In the run, a step has taken 20 ms, "
        "with 4 ms of evaluation and 10.9 ms around it (callbacks, code of the loop, the begin of "
        "a pass, slower steps)"
    )
    assert answer["bound"] == "beside"
    assert answer["run"] == {"ms": 20.0, "evaluate_ms": 4.0, "save_ms": 0.1}


def test_a_run_that_takes_as_long_as_its_steps_has_no_rest_to_tell() -> None:
    said, answer = Times(ms(1, 5, 5)).answer(usual=Usual(5.2, 0.0, 0.0))
    assert "In the run" not in said
    assert answer["run"]["ms"] == 5.2


@pytest.mark.parametrize(("half", "is_small"), [(3.0, False), (4.5, True)])
def test_a_batch_is_small_if_half_of_it_takes_nearly_as_long(half: float, is_small: bool) -> None:
    times = {**ms(1, 5, 5.1), StepPart.HALF: half}
    said, answer = Times(times).answer(may_fail=True)
    assert answer["half"]["ms"] == pytest.approx(half)
    text = "With half of the rows, the step takes 4.5 ms, so most of its time does not depend on"
    assert (text in said) is is_small


def test_a_run_that_a_step_could_end_tries_no_other_batch() -> None:
    times = Times(ms(1, 5, 5.1))
    times.answer()
    assert StepPart.HALF not in times.taken


def test_too_few_steps_are_an_error() -> None:
    with pytest.raises(ArgumentError, match="steps=4: give a whole number of at least 5"):
        Times(ms(1, 1, 1)).answer(count=4)


def test_data_that_end_at_once_are_an_error() -> None:
    question = SlowQuestion(StepCounter(), Path("nowhere"))
    course = question.course(Times(ms(1, 1, 1)), 5, None)
    next(course)
    with pytest.raises(PhaseError, match="The data end before anything is measured"):
        course.send(None)
