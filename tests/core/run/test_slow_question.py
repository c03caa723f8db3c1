"""The course of `why_slow`: what is said of the times of input, step and both."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError, PhaseError
from nbtrain.run.why.answer import Answer
from nbtrain.run.why.experiment import StepPart, Visits
from nbtrain.run.why.slow_question import SlowQuestion

# A pipeline in which nothing is to be named.
DATA = tf.data.Dataset.range(3)


class Times(Visits):
    """Steps whose parts take given milliseconds; the data end after some of them."""

    def __init__(self, ms: dict[StepPart, float], elements: int = 10**6) -> None:
        super().__init__(lambda _checkpoint: None)
        self.now = 0.0
        self.taken: list[StepPart] = []
        self._ms, self._elements = ms, elements

    def clock(self) -> float:
        return self.now

    def answer(self, count: int = 10, data: Any = DATA) -> Answer:
        steps = StepCounter()
        course = SlowQuestion(steps).course(self, count, data)
        wanted, left = next(course), self._elements
        while True:
            self.taken.append(wanted.part)
            visits = self.count
            over = wanted.part is StepPart.INPUT and left == 0
            left -= wanted.part is StepPart.INPUT
            self.now += 0 if over else self._ms[wanted.part] / 1e3
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
            ms(1, 10, 14),
            "elements",
            "input 1 ms, step 10 ms, together 14 ms",
            "other elements take longer than the one that was trained again and again",
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
    assert answer["step"]["count"] == 7, "after five that are not measured"
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


def test_too_few_steps_are_an_error() -> None:
    with pytest.raises(ArgumentError, match="steps=4: give a whole number of at least 5"):
        Times(ms(1, 1, 1)).answer(count=4)


def test_data_that_end_at_once_are_an_error() -> None:
    course = SlowQuestion(StepCounter()).course(Times(ms(1, 1, 1)), 5, None)
    next(course)
    with pytest.raises(PhaseError, match="The data end before anything is measured"):
        course.send(None)
