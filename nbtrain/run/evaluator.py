"""Evaluation of what a run trains, between two of its steps: now and then, and when asked for.

evaluator.if_due(step)      # by cadence
evaluator.now(step)         # {"val_loss": 0.31}, recorded at this step
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError
from nbtrain.core.tracebacks import told
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.tags import KnownTags
from nbtrain.run.monitor import Monitor
from nbtrain.run.time_usage import EVALUATE

# Before the names that an evaluation gives, as in Keras.
PREFIX = "val_"

Evaluation = Callable[[], Mapping[str, SupportsFloat]]


class Evaluator:
    """Evaluates what one start of a run trains; training thread only.

    Args:
        evaluate: Gives scalars by name; None where there is nothing to evaluate.
        due: When to.
        recorder: Takes the scalars.
        watch: Is told what should be known.

    Attributes:
        tags: Of the curves that the evaluations have given so far.
    """

    def __init__(
        self, evaluate: Evaluation | None, due: Every, recorder: Recorder, watch: Monitor
    ) -> None:
        self._evaluate = evaluate
        self._due = due
        self._recorder = recorder
        self._monitor = watch
        self.tags: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether there is something to evaluate."""
        return self._evaluate is not None

    @property
    def next_step(self) -> float:
        """Step at which the next evaluation is due."""
        return self._due.next_step

    def start(self, step: int) -> None:
        """Count from this step, and from now, when the next is due."""
        self._due.start(step, time.monotonic())

    def if_due(self, step: int) -> None:
        """Evaluate by cadence: what fails becomes a message."""
        if self._evaluate is None or not self._due.soon(step, time.monotonic()):
            return
        try:
            values = self.now(step)
        except Exception as error:  # noqa: BLE001 - the training goes on
            self._monitor.note("evaluate", f"No evaluation at step {step:,}: {told(error)}")
        else:
            self._monitor.log(event="evaluated", step=step, text=described(values))
        self.start(step)

    def now(self, step: int) -> dict[str, float]:
        """Evaluate, and record what that gives.

        Raises:
            ArgumentError: There is nothing to evaluate, or it gives no scalars by name.
            Exception: What the evaluation has raised.
        """
        if self._evaluate is None:
            raise ArgumentError(
                "This run has nothing to evaluate: start it with evaluate=, a function that "
                "returns scalars by name; a Keras fit with validation_data=, a MonitoredSession "
                "with an nbtrain.EvalHook."
            )
        spent = self._monitor.time_usage.during(EVALUATE)
        with self._monitor.busy(f"Evaluating at step {step:,}"), spent:
            values = scalars(self._evaluate())
        self._monitor.note("evaluate", None)
        self._recorder.queue.append(step, time.time(), values)
        self._recorder.drain()  # what has taken so long is on disk before it is answered
        self.tags |= values.keys()
        return values


def scalars(given: Any) -> dict[str, float]:
    """What an evaluation gave, under the tags of its curves.

    Raises:
        ArgumentError: It is no mapping of names to scalars, or an empty one.
    """
    if not isinstance(given, Mapping) or not given:
        raise ArgumentError(
            f"evaluate() returns {given if given == {} else type(given).__name__}: return a dict "
            'of scalars, such as {"loss": loss}.'
        )
    KnownTags().admit(given)
    return {
        tag if tag.startswith(PREFIX) else PREFIX + tag: float(value)
        for tag, value in given.items()
    }


def described(values: Mapping[str, float]) -> str:
    """The scalars in a line."""
    return ", ".join(f"{tag} {value:.4g}" for tag, value in values.items())
