"""Steps that a run takes again, or once more, to answer a question about it.

The question is a generator, its course: it yields before each step, and gets the scalars of the
step. The part that takes the steps of the run takes those of an experiment too:

while not experiment.is_over:
    with experiment.step():
        values = step()
    experiment.took(values)
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol, SupportsFloat

import numpy as np
import tensorflow as tf

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import PhaseError
from nbtrain.core.states import Checkpoint
from nbtrain.recording.tags import by_tag
from nbtrain.run.why.answer import Answer


class LoopSource(Protocol):
    """The elements of a loop.

    Attributes:
        elements: The iterator to draw from; another one after a restore.
    """

    elements: Iterator[Any]

    @property
    def passes(self) -> int:
        """The passes over the data that have ended; 0 if a loop ends with them."""

    @property
    def data(self) -> Any:
        """The object that the elements are of."""


class StepPart(Enum):
    """The part of a step that is taken."""

    WHOLE = auto()
    INPUT = auto()  # an element is drawn, and nothing is trained
    STEP = auto()  # the element that was drawn last is trained again
    HALF = auto()  # the first half of its rows is trained again


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step to take.

    Attributes:
        around: Is entered during the step.
        part: The part to take.
    """

    around: AbstractContextManager[object] = field(default_factory=contextlib.nullcontext)
    part: StepPart = StepPart.WHOLE


# Gets the scalars of each step by tag; None if the data have ended.
Course = Generator[NextStep, dict[str, float] | None, Answer]


class Visits:
    """Restores states of the run; training thread only.

    Args:
        visit: Restores a checkpoint, or the present state if it is given None.

    Attributes:
        count: The number of restores.
        passes: The number of passes over the data that have begun.
    """

    def __init__(self, visit: Callable[[Checkpoint | None], object]) -> None:
        self.count = self.passes = 0
        self._visit = visit
        self._secs = 0.0

    def __call__(self, checkpoint: Checkpoint | None) -> None:
        """Restores a checkpoint; None for the present state."""
        self.count += 1
        began = time.perf_counter()
        self._visit(checkpoint)
        self._secs += time.perf_counter() - began

    def clock(self) -> float:
        """Returns the seconds of a clock that stands still during a restore."""
        return time.perf_counter() - self._secs


class Experiment:
    """The steps that a question needs; training thread only.

    Args:
        course: The course of the question.
        steps: The current step of the run.
        visit: Restores other states of the run.
        check: Is called before each step; an error ends the experiment.
        source: Returns the elements that the next step draws from; None if what takes the steps
            takes parts of them too, or if no part can be taken alone.
        stays: Whether the data are drawn again from the present where they end, so that no loop
            ends; otherwise the experiment goes on in the next loop.

    Attributes:
        answer: The answer to the question; None before the last step.
        part: The part of the next step to take.
    """

    def __init__(
        self,
        course: Course,
        steps: StepCounter,
        visit: Visits,
        check: Callable[[], object] = lambda: None,
        source: Callable[[], LoopSource | None] = lambda: None,
        *,
        stays: bool = False,
    ) -> None:
        self.answer: Answer | None = None
        self.part = StepPart.WHOLE
        self._course, self._steps, self._check, self._source = course, steps, check, source
        self._visit = visit
        self._stays = stays
        self._is_fresh = False  # whether no step was taken since the present was restored
        self._next = NextStep()
        self._drawn: Any = None  # the last element that was drawn alone
        self._held = contextlib.ExitStack()  # closed when the steps get other elements again
        self._at = 0  # the step from which the next is taken
        self._passes: int | None = None  # the passes that had ended at the last step
        self._go_on(lambda: next(course))

    def close(self) -> None:
        """Ends the course where it is."""
        self._held.close()
        self._drawn = None
        self._course.close()

    @property
    def is_over(self) -> bool:
        """True after the last step."""
        return self.answer is not None

    def step(self) -> AbstractContextManager[object]:
        """Returns the context in which to take the next step."""
        return self._next.around

    def took(self, values: Mapping[str, SupportsFloat], count: int = 1) -> None:
        """Counts a step, or several that were executed at once, with the scalars of the last."""
        self._steps.move_to(self._steps.step + count)
        self._is_fresh = False
        self._note_pass()
        numbers = dict(_numbers(by_tag(values)))
        self._go_on(lambda: self._course.send(numbers))

    def began_pass(self) -> None:
        """Notes that the last step has begun a pass over the data, or that the next one does."""
        self._visit.passes += 1

    def failed(self, error: Exception) -> None:
        """Gives an error of the last step to the course; raises it if it is of no use there."""
        self._held.close()
        self._go_on(lambda: self._course.throw(error))

    @property
    def was_counted(self) -> bool:
        """True if a loop has counted a step since the last was taken."""
        return self._steps.step > self._at

    def took_counted(self, values: Mapping[str, Any]) -> None:
        """Takes over what a loop has counted, with what it has recorded for the last step."""
        count = self._steps.step - self._at
        self._steps.step = self._at
        self.took(values, count)

    def draw_again(self) -> bool:
        """Goes back to the present where the data end, so that the loop does not end with them.

        Returns:
            Whether there is an element left to draw.
        """
        if not self._stays or self._is_fresh:
            return False
        self._visit(None)
        self._is_fresh, self._at = True, self._steps.step
        return True

    def _note_pass(self) -> None:
        source = self._source()
        passes = source.passes if source else None
        if passes != self._passes:
            self._passes = passes
            self.began_pass()

    def _go_on(self, call: Callable[[], NextStep]) -> None:
        try:
            wanted = call()
            self._check()
            while (more := self._follow(wanted)) is not None:
                wanted = more
                self._check()
        except StopIteration as end:
            wanted, self.answer = NextStep(), end.value
            self._held.close()
        self._next, self.part = wanted, wanted.part
        self._at = self._steps.step

    def _follow(self, wanted: NextStep) -> NextStep | None:
        """Prepares a step; returns the one after it if it was taken here, or cannot be."""
        source = self._source()
        if wanted.part is StepPart.INPUT and source is not None:
            return self._course.send(self._draw(source))
        if wanted.part is self.part:
            return None
        self._held.close()
        if wanted.part not in (StepPart.STEP, StepPart.HALF) or source is None:
            return None
        element = self._drawn if wanted.part is StepPart.STEP else halved(self._drawn)
        if element is None:
            return self._course.throw(PhaseError("An element has no rows."))
        self._held.enter_context(_holding(source, element))
        return None

    def _draw(self, source: LoopSource) -> dict[str, float] | None:
        """Draws an element alone; returns None if there is none."""
        element = next(source.elements, self)
        if element is self:
            self._is_fresh = True  # the course goes back
            return None
        self._note_pass()
        self._drawn = element
        self._steps.move_to(self._steps.step + 1)
        return {}


@contextlib.contextmanager
def _holding(source: LoopSource, element: Any) -> Iterator[None]:
    """Lets a loop draw the same element again and again, within a block."""
    before, source.elements = source.elements, map(_copied, itertools.repeat(element))
    try:
        yield
    finally:
        source.elements = before


def halved(element: Any) -> Any:
    """Returns the first half of the rows of an element; None if it has none."""
    parts = tf.nest.flatten(element)
    counts = {len(each) if np.ndim(each) else 0 for each in parts if _is_array(each)}
    if len(counts) != 1 or not all(map(_is_array, parts)) or (count := counts.pop()) < 2:
        return None
    return tf.nest.map_structure(lambda part: part[: count // 2], element)


def _is_array(part: Any) -> bool:
    return isinstance(part, (np.ndarray, tf.Tensor))


def _copied(element: Any) -> Any:
    """Returns an element that a step may change: new containers and arrays of NumPy."""
    kind = type(element)
    if kind is dict:
        return {key: _copied(part) for key, part in element.items()}
    if kind is list or kind is tuple:
        return kind(map(_copied, element))
    return element.copy() if kind is np.ndarray else element


def _numbers(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yields the scalars among recorded values."""
    for tag, value in values.items():
        if np.ndim(value) == 0:
            with contextlib.suppress(TypeError, ValueError):  # a figure or a text
                yield tag, float(value)
