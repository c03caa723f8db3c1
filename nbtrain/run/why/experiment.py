"""Steps that a run takes again, or once more, to answer a question about it.

The question is a generator: it yields before each step, and gets the scalars of the step. The part
that takes the steps of the run takes those of an experiment too:

while not experiment.is_over:
    with experiment.step():
        values = step()
    experiment.took(values)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, SupportsFloat

import numpy as np

from nbtrain.core.current_step import StepCounter
from nbtrain.recording.tags import by_tag
from nbtrain.run.why.answer import Answer

# Yields what is entered during the next step, or None; gets the scalars of the step by tag.
Course = Generator[AbstractContextManager[object] | None, dict[str, float], Answer]


class Experiment:
    """The steps that a question needs; training thread only.

    Attributes:
        answer: The answer to the question; None before the last step.
    """

    def __init__(self, course: Course, steps: StepCounter) -> None:
        self.answer: Answer | None = None
        self._course, self._steps = course, steps
        self._around: AbstractContextManager[object] | None = None
        self._at = 0  # the step from which the next is taken
        self._go_on(lambda: next(course))

    @property
    def is_over(self) -> bool:
        """True after the last step."""
        return self.answer is not None

    def step(self) -> AbstractContextManager[object]:
        """Returns the context in which to take the next step."""
        return self._around or contextlib.nullcontext()

    def took(self, values: Mapping[str, SupportsFloat], count: int = 1) -> None:
        """Counts a step, or several that were executed at once, with the scalars of the last."""
        self._steps.move_to(self._steps.step + count)
        numbers = dict(_numbers(by_tag(values)))
        self._go_on(lambda: self._course.send(numbers))

    @property
    def was_counted(self) -> bool:
        """True if a loop has counted a step since the last was taken."""
        return self._steps.step > self._at

    def took_counted(self, values: Mapping[str, Any]) -> None:
        """Takes over what a loop has counted, with what it has recorded for the last step."""
        count = self._steps.step - self._at
        self._steps.step = self._at
        self.took(values, count)

    def _go_on(self, call: Callable[[], Any]) -> None:
        try:
            self._around = call()
        except StopIteration as end:
            self._around, self.answer = None, end.value
        self._at = self._steps.step


def _numbers(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yields the scalars among recorded values."""
    for tag, value in values.items():
        if np.ndim(value) == 0:
            with contextlib.suppress(TypeError, ValueError):  # a figure or a text
                yield tag, float(value)
