"""Evaluates the model of a run between two steps, by cadence and on request.

evaluator.if_due()      # by cadence
evaluator.now()         # {"val_loss": 0.31}, recorded at this step
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

from nbtrain.core.cadence import Every
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.tracebacks import error_text
from nbtrain.media.samples import kept_copy
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.tags import KnownTags
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.beside.time_usage import EVALUATE

# The prefix of the names that an evaluation returns, as in Keras.
PREFIX = "val_"

Evaluation = Callable[[], Mapping[str, SupportsFloat]]


class Evaluator:
    """Evaluates the model of one start of a run; training thread only.

    Args:
        judge: Called after each evaluation, before anything changes the state that was evaluated.
    """

    def __init__(
        self,
        evaluate: Evaluation | None,
        due: Every,
        recorder: Recorder,
        monitor: Monitor,
        steps: StepCounter,
        judge: Callable[[], object],
    ) -> None:
        self._evaluate = evaluate
        self._due = due
        self._recorder = recorder
        self._monitor = monitor
        self._steps = steps
        self._judge = judge
        self.tags: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """True if there is something to evaluate."""
        return self._evaluate is not None

    @property
    def next_step(self) -> float:
        """Step at which the next evaluation is due."""
        return self._due.next_step

    def start(self) -> None:
        """Starts the cadence at the current step and at the present time."""
        self._due.start(self._steps.step, time.monotonic())

    def if_due(self) -> None:
        """Evaluates if an evaluation is due; an error becomes a message."""
        step = self._steps.step
        if self._evaluate is None or not self._due.soon(step, time.monotonic()):
            return
        try:
            values = self.now()
        except Exception as error:  # noqa: BLE001 - the training continues
            self._monitor.notices.note(
                "evaluate", f"No evaluation at step {step:,}: {error_text(error)}"
            )
        else:
            self._monitor.log(event="evaluated", step=self._steps.step, text=described(values))
        self.start()

    def now(self) -> dict[str, float]:
        """Evaluates, and records the result.

        Raises:
            ArgumentError: There is nothing to evaluate, or the result is not scalars by name.
            Exception: The evaluation has raised it.
        """
        if self._evaluate is None:
            raise ArgumentError(
                "This run has nothing to evaluate: start it with evaluate=, a function that "
                "returns scalars by name; a Keras fit with validation_data=, a MonitoredSession "
                "with an nbtrain.tf1.EvalHook."
            )
        self._steps.complete()
        step, spent = self._steps.step, self._monitor.time_usage.during(EVALUATE)
        with self._monitor.notices.busy(f"Evaluating at step {step:,}"), spent:
            values, samples = parted(self._evaluate())
        self._monitor.notices.note("evaluate", None)
        now = time.time()
        self._recorder.queue.append(step, now, values)
        for tag, value in samples.items():
            self._recorder.add_sample(tag, step, now, *kept_copy(tag, value))
        self._recorder.drain()  # write before the answer, as it may have taken long
        self.tags |= values.keys()
        self._judge()
        return values


def parted(given: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """Returns the scalars and the samples of an evaluation by the tags of their curves.

    Raises:
        ArgumentError: The result is not a dict or is empty, or a value is neither.
    """
    if not isinstance(given, Mapping) or not given:
        raise ArgumentError(
            f"evaluate() returns {given if given == {} else type(given).__name__}: return a dict "
            'of scalars, such as {"loss": loss}.'
        )
    scalars, samples = KnownTags().part(given)
    KnownTags().admit(scalars)
    return (
        {_validating(tag): float(value) for tag, value in scalars.items()},
        {_validating(tag): value for tag, value in samples.items()},
    )


def _validating(tag: str) -> str:
    return tag if tag.startswith(PREFIX) else PREFIX + tag


def described(values: Mapping[str, float]) -> str:
    """Returns the scalars in one line of text."""
    said = ", ".join(f"{tag} {value:.4g}" for tag, value in values.items())
    return said or "pictures and media alone"
