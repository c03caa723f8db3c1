"""Loops of the program over tracked iterables, whose turns are the steps of a run.

for epoch in run.track(range(50)):      # contains a tracked loop: its turns are not steps
    for batch in run.track(dataset):    # each turn is a step, and its end a step boundary
        run.record(loss=step(batch))    # a stop ends both loops
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from threading import get_ident
from time import time
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.boundary.loop import Counting, Loop
from nbtrain.run.context import Context
from nbtrain.run.program.leaving import left_by
from nbtrain.run.why.experiment import LoopSource

_BY_TURNS = (
    "Two tracked loops are drawn from by turns, as by zip(run.track(a), run.track(b)): each would "
    "count the steps, and one would lose its position. Track what the loop draws from as one: "
    "`for x, y in run.track(zip(a, b)):`."
)


class ProgramEnd(BaseException):
    """Ends a program that begins another tracked loop when the run must end."""


class LoopEnd(Enum):
    """How a tracked loop has ended."""

    COMPLETED = auto()  # its elements or the run have ended
    BROKEN = auto()  # the program has left it
    FAILED = auto()  # an error within a turn
    CUT = auto()  # an error between two turns, such as one of the data


class TrackLoop:
    """The tracked loops of one attempt of a run; training thread only.

    Attributes:
        ends_program: Whether the run executes a whole program. Once the run must end, the next
            tracked loop ends the program; otherwise that loop is skipped.
        abandoned_by: The error, or the end of the process, after which nobody continues the open
            loops, although something still refers to them; otherwise None.
    """

    def __init__(
        self,
        context: Context,
        boundary: Boundary,
        loop: Loop,
        is_own_thread: Callable[[], bool],
    ) -> None:
        self._context = context
        self._boundary = boundary
        self._loop = loop
        self._is_own_thread = is_own_thread
        self.ends_program = False
        self.abandoned_by: BaseException | None = None
        self._nested: list[bool] = []  # for each open loop, whether its turn has had a loop in it
        self._questions = boundary.executor.questions
        self._left = False  # whether a `break` has left a step that recorded something

    @property
    def must_end(self) -> bool:
        """True once a boundary has ended a loop."""
        return self._boundary.must_end

    def _check(self) -> None:
        """Checks that a loop can begin here.

        Raises:
            ArgumentError: The calling thread does not train the run, or the loop around this one
                counts the steps.
        """
        name = self._context.folder.name
        if not self._is_own_thread():
            raise ArgumentError(
                f"track() of the run {name!r} was used outside of its training thread: write the "
                "loop in the function or the cell that the run runs."
            )
        if not self._nested and self._loop.counting is not Counting.NOBODY:
            raise ArgumentError(
                f"track() of the run {name!r} was used within a loop that asks run.should_stop(), "
                "which counts the steps already: use one of the two. A stop ends a tracked loop."
            )

    def turns(
        self, enter: Callable[[], LoopSource], leave: Callable[[LoopEnd], object]
    ) -> Iterator[Any]:
        """Yields the elements of a loop, with a boundary after each.

        Does the same as `should_stop` once per turn, but faster: a generator keeps its locals.

        Args:
            enter: Begins the loop, and returns its elements.
            leave: Ends the loop; called with how it ended.

        Raises:
            ProgramEnd: The run must end, and it executes a whole program.
            ArgumentError: The program draws from this loop and from another one by turns.
        """
        self._check()
        if self.ends_program and self.must_end:
            raise ProgramEnd
        steps, boundary, nested = self._context.steps, self._boundary, self._nested
        items, most_items, act = steps.items, steps.most_items, boundary.act
        ident, depth = get_ident(), len(nested)
        how = LoopEnd.COMPLETED
        source = enter()
        self._questions.sources[depth:] = [source]
        try:
            if self._begin():
                return
            while True:
                elements = source.elements
                for element in elements:
                    yield element
                    if nested[depth]:
                        nested[depth] = False
                        del nested[depth + 1 :]  # left open, or drawn from by turns with this one
                        self._queue_left()
                        if boundary.must_end or (steps.step >= steps.next and act()):
                            return
                        break
                    if steps.thread != ident:
                        if self._loop.count_and_act():
                            return
                        break
                    steps.step = number = steps.step + 1
                    values = steps.values
                    if values is not None:
                        if len(items) < most_items:
                            steps.values = None
                            if values:
                                items.extend((steps.tags, number, time(), *values))
                        else:
                            boundary.queue_record()
                    if number >= steps.next:
                        if act():
                            return
                        break  # a restore may have gone to other elements
                else:
                    if not self._questions.draw_again():
                        return
        except GeneratorExit:  # a `break`, or an error in the body
            is_broken = (self.abandoned_by or left_by()) is None
            how = LoopEnd.BROKEN if is_broken else LoopEnd.FAILED
            raise
        except BaseException as error:
            if isinstance(error, IndexError) and len(nested) <= depth:
                how = LoopEnd.FAILED
                raise ArgumentError(_BY_TURNS) from None
            how = LoopEnd.CUT
            raise
        finally:
            self._end(depth, how)
            leave(how)

    def _begin(self) -> bool:
        """Begins a loop; returns whether it must end at once.

        A nested loop has at least one turn otherwise: the code after it may need it.
        """
        steps = self._context.steps
        self._queue_left()
        self._nested.append(False)
        if len(self._nested) == 1:
            must_end = self._loop.count_and_act()
            steps.tracked = True
            return must_end
        self._nested[-2] = True
        return self.must_end

    def _end(self, depth: int, how: LoopEnd) -> None:
        """Ends a loop, and all loops within it that are still open."""
        if not self._is_own_thread():
            return  # an error has ended the run, and its frames are being dropped
        steps = self._context.steps
        within = how in (LoopEnd.BROKEN, LoopEnd.FAILED) and len(self._nested) > depth
        self._left = within and steps.is_recorded and not any(self._nested[depth:])
        del self._nested[depth:], self._questions.sources[depth:]
        if not self._nested:
            steps.tracked = False
            self._loop.end_counting()
            self._loop.is_counted = not self._left
            # Without a step the latest checkpoint stays: it may contain the position of a loop that
            # has not begun.
            if steps.steps_done == 0:
                self._loop.may_have_trained = False

    def _queue_left(self) -> None:
        """Queues what was recorded since the last loop; counts the step that a `break` has left.

        An error leaves its loop in the same way, but nothing comes after it.
        """
        self._context.steps.step += self._left
        self._left = False
        if self._nested:
            self._boundary.queue_record()
