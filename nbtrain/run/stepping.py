"""The methods that the training thread of a run calls, once per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import get_ident
from time import time
from typing import Any, SupportsFloat

from nbtrain.core.at_hand import AtHand
from nbtrain.core.errors import ArgumentError
from nbtrain.run.attempt import Attempt
from nbtrain.run.boundary.loops import StepLoop
from nbtrain.run.boundary.session_host import owner
from nbtrain.run.handle import LoopHandle
from nbtrain.steer.requests import NO_VALUES


class Stepping:
    """The step boundary of a run, for the program and for the engine."""

    name: str
    attempt: Attempt
    _at_hand: AtHand

    @property
    def handle(self) -> LoopHandle:
        """The loop as the engine sees it."""
        return self.attempt.handle

    def should_stop(self) -> bool:
        """Tells if the loop must end.

        In the training thread, once per step, this is the step boundary: it counts the step,
        queues its record, saves if due, executes commands, and blocks while paused. Another
        thread only gets the answer.
        """
        at_hand = self._at_hand
        if get_ident() != at_hand.thread or at_hand.tracked:
            return self._ask()
        at_hand.step = step = at_hand.step + 1
        values = at_hand.values
        if values is not None:
            items = at_hand.items
            if len(items) < at_hand.most_items:
                at_hand.values = None
                if values:
                    items.extend((at_hand.tags, step, time(), *values))
            else:
                self.attempt.boundary.hand_over()
        return step >= at_hand.next and self.attempt.boundary.look_up()

    def _ask(self) -> bool:
        """Handles the other cases: the first call, another loop, or another thread."""
        attempt = self.attempt
        if get_ident() == attempt.ident:
            return attempt.loop.reach()
        return bool(self.attempt.context.coord.should_stop())

    def record(
        self,
        values: Mapping[str, Any] = NO_VALUES,
        /,
        *,
        step: int | None = None,
        **scalars: Any,
    ) -> None:
        """Records scalars, pictures and media of the current step; training thread only.

        Another thread converts and encodes them. Tensors are kept as they are. The numbers of
        arrays and variables are copied at once, which takes 1 to 2 ms for each MB. A figure is
        drawn later, as it is then: make a new one for each step.

        Args:
            values: Values by tag. A scalar is a number, or a tensor or array of shape (). Images
                have the shape (height, width, channels), (batch, height, width, channels) or
                (batch, height, width), as uint8 or as floats from 0 to 1; the first 12 of a batch
                are kept. There may also be Matplotlib figures, texts, and what `nbtrain.media` has
                for histograms, sounds, confusion matrices and PR curves.
            step: The number of this step if the program counts its steps itself.
            scalars: More of them, by keyword.

        Raises:
            ArgumentError: `values` is not a mapping of strings to such values, or another thread
                calls this.

        Example:
            >>> run.record(loss=loss, samples=images, note="after a *restart*")
        """
        at_hand = self._at_hand
        given = scalars or values
        if (
            type(given) is dict
            and (*given,) == at_hand.tags
            and get_ident() == at_hand.thread
            and at_hand.values is None
            and step is None
            and (given is values or values is NO_VALUES)
        ):
            at_hand.values = (*given.values(),)
            return
        attempt = self.attempt
        if get_ident() != attempt.ident:
            raise ArgumentError(f"record() of the run {self.name!r} was called {self._called()}")
        attempt.loop.record(values, scalars, step)

    def _called(self) -> str:
        """Says from where `record` was called, and where it can be called."""
        other = owner.get()
        if other is not None and other is not self.handle.host:
            return (
                f"in the loop of the run {other.name!r}: give that run a name, as in `run = "
                "nbtrain.track(...)` and `for batch in run:`, and record with it."
            )
        if self.attempt.in_foreground:
            return "outside of its loop: record in the body of `for batch in run:`."
        return (
            "by another thread than its training thread: record in the loop that asks "
            "should_stop()."
        )

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """Calls `step` and records its result until the run stops; training thread only.

        The same as `while not run.should_stop(): run.record(step())`, but faster.
        """
        attempt = self.attempt
        StepLoop(attempt.context, attempt.boundary, attempt.session, attempt.loop).drive(step)
