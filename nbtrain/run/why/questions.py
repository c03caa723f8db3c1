"""Answers questions about a training by experiments at a step boundary.

outcome = questions.ask(receipt)  # takes steps again or once more, then restores the present

If a tracked loop of the program takes the steps, there is no outcome yet:

outcome = questions.go_on()       # at each boundary: in the end the outcome
questions.give_up(why)            # the loop has ended before
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import tensorflow as tf

from nbtrain.core.commands import LookInside, WhyNan, WhySlow
from nbtrain.core.errors import CheckpointError, PhaseError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.core.text.tracebacks import named
from nbtrain.media.samples import kept_copy
from nbtrain.recording.loss_monitor import Anomaly
from nbtrain.run.beside.time_usage import ASKED, EVALUATE, PAUSED, RESTORE, SAVE
from nbtrain.run.context import Context
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.run.tuning.control import HyperparameterControl
from nbtrain.run.why.experiment import Course, Experiment, LoopSource, Visits
from nbtrain.run.why.inside import INSIDE, TABLE, InsideQuestion
from nbtrain.run.why.nan_question import NanQuestion
from nbtrain.run.why.pipeline import check_cache, variables_in
from nbtrain.run.why.slow_answer import Usual
from nbtrain.run.why.slow_question import SlowQuestion

# Takes steps from the present state until an experiment is over; counts and records none.
Take = Callable[[Experiment], None]


@dataclass(frozen=True, slots=True)
class Taker:
    """The part of a run that takes the steps of experiments.

    Attributes:
        take: Takes them.
        source: The elements that the steps draw; None if unknown, or if `take` takes parts itself.
        data: Returns what `take` draws from, if it takes parts of steps itself; otherwise None.
    """

    take: Take
    source: LoopSource | None = None
    data: Callable[[], Any] = lambda: None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question whose steps a loop of the program takes.

    Attributes:
        receipt: The receipt of the command.
        experiment: The steps.
        present: Closed at the end; restores the present state.
        step: Closed after each step; has what is around the step.
    """

    receipt: Receipt
    experiment: Experiment
    present: contextlib.ExitStack
    step: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)


class Questions:
    """The questions about one start of a run; training thread only.

    Attributes:
        open: The question whose steps a loop of the program takes at present; None without one.
        sources: The elements of the program's tracked loops that are open, the innermost last.
    """

    def __init__(
        self, context: Context, policy: CheckpointPolicy, control: HyperparameterControl
    ) -> None:
        self.open: OpenQuestion | None = None
        self.sources: list[LoopSource] = []
        self._taker: Taker | None = None
        self._context = context
        self._policy = policy
        self._control = control
        self._steps = context.steps
        self._nan = NanQuestion(context, policy, control)
        self._inside = InsideQuestion(context.steps)
        self._slow = SlowQuestion(context.steps, context.folder.path)

    @contextlib.contextmanager
    def taken_by(
        self, take: Take, source: LoopSource | None = None, data: Callable[[], Any] = lambda: None
    ) -> Iterator[None]:
        """Has a function take the steps of experiments within a block; see `Taker`."""
        self._taker = Taker(take, source, data)
        try:
            yield
        finally:
            self._taker = None

    def ask(self, receipt: Receipt) -> Outcome | None:
        """Answers a question.

        Returns:
            The outcome; None if a tracked loop has to take the steps, which `go_on` follows.

        Raises:
            PhaseError: The steps of this run cannot be taken again, one of them has failed, the
                question has no object at present, or the run was asked to stop meanwhile.
            CheckpointError: There is no good state, or the present one cannot be left.
        """
        command = receipt.command
        self._check_taken(receipt.name)
        check_cache(self._data())
        if not isinstance(command, WhyNan):
            self._policy.aside.check_leaving(other_data=True)
        if isinstance(command, LookInside):
            inside, weights = self._inside, self._policy.weights()
            return self._answer(
                receipt, inside.busy, lambda _visit: inside.course(weights), measures=True
            )
        if isinstance(command, WhySlow):
            data, taker = self._data(), self._taker
            slow, usual = self._slow, self._usual()
            return self._answer(
                receipt,
                slow.busy,
                lambda visit: slow.course(
                    visit, command.steps, data, usual, may_fail=taker is not None
                ),
                measures=True,
            )
        assert isinstance(command, WhyNan)
        nan, good = self._nan, self._nan.good(self._policy.anomaly)
        return self._answer(receipt, nan.busy, lambda visit: nan.course(visit, good))

    def _answer(
        self,
        receipt: Receipt,
        busy: str,
        course: Callable[[Visits], Course],
        *,
        measures: bool = False,
    ) -> Outcome | None:
        """Takes the steps of a question.

        Args:
            receipt: The receipt of the command.
            busy: The notice that is shown meanwhile.
            course: Returns the course of the question.
            measures: Whether any steps will do, and not only those that were taken before: the data
                are drawn from the present again where they end.
        """
        with contextlib.ExitStack() as present:
            present.enter_context(self._unrecorded(busy))
            present.callback(self._set_back, self._control.now())
            for variable in variables_in(self._data()):
                present.callback(variable.assign, variable.numpy())
            visit = Visits(present.enter_context(self._policy.aside.visiting(other_data=measures)))
            experiment = Experiment(
                course(visit),
                self._steps,
                visit,
                self._check_going_on,
                self._source,
                stays=measures,
            )
            present.callback(experiment.close)
            if self._taker is None:
                self.open = OpenQuestion(receipt, experiment, present.pop_all())
                return None
            with self._failing(numbered=not measures):
                self._taker.take(experiment)
        return self._outcome(experiment)

    def _usual(self) -> Usual | None:
        """Returns the speed of the run, now or before a pause; None if it is too young."""
        monitor = self._context.monitor
        speed, shares = monitor.throughput.last_steps_per_s, monitor.time_usage.shares
        if speed is None:
            return None
        ms = 1e3 / speed
        trained = 1.0 - sum(shares.get(kind, 0.0) for kind in (PAUSED, ASKED, RESTORE))
        if trained <= 0:
            return Usual(ms, 0.0, 0.0)
        return Usual(ms, *(ms * shares.get(kind, 0.0) / trained for kind in (EVALUATE, SAVE)))

    def _source(self) -> LoopSource | None:
        """The elements that the next step draws from; None if unknown."""
        if self._taker is not None:
            return self._taker.source
        return self.sources[-1] if self.sources else None

    def _data(self) -> Any:
        """The object that the next step draws from; None if unknown."""
        source = self._source()
        return source.data if source else self._taker.data() if self._taker else None

    def go_on(self) -> Outcome | None:
        """Handles a boundary of the loop that takes the steps; returns the outcome at the end.

        Raises:
            PhaseError: The run was asked to stop; the present is restored.
            CheckpointError: The present cannot be restored.
        """
        assert self.open is not None, "a question is open"
        experiment = self.open.experiment
        if not experiment.was_counted:
            return None
        try:
            self.open.step.close()
            experiment.took_counted(self._steps.repeated)
            self._steps.repeated = {}
            if not experiment.is_over:
                self.open.step.enter_context(experiment.step())
                return None
        except BaseException:
            self._close()
            raise
        self._close()
        return self._outcome(experiment)

    def draw_again(self) -> bool:
        """Goes back to the present where the data of a loop end, if a question is open.

        Returns:
            Whether the loop goes on.
        """
        return self.open is not None and self.open.experiment.draw_again()

    def give_up(self, why: str) -> NoReturn:
        """Restores the present, because the loop takes no further steps; raises a PhaseError."""
        self._close()
        raise PhaseError(why)

    def _close(self) -> None:
        asked, self.open = self.open, None
        assert asked is not None, "a question is open"
        with asked.present:
            asked.step.close()

    def _outcome(self, experiment: Experiment) -> Outcome:
        assert experiment.answer is not None, "the steps are taken until there is one"
        text, answer = experiment.answer
        if (found := answer.get(TABLE)) is not None:
            self._context.recorder.add_sample(
                INSIDE, self._steps.step, time.time(), *kept_copy(INSIDE, found)
            )
        return Outcome(True, self._steps.step, text, answer=answer)

    def _check_taken(self, name: str) -> None:
        """Raises a PhaseError if nothing takes the steps of experiments."""
        if self._taker is None and not self._steps.tracked:
            raise PhaseError(
                f"The steps of this run cannot be taken again: {name} needs a step function, as "
                "nbtrain.train(step, checkpoint=...) calls it, nbtrain.fit, or a loop over "
                "nbtrain.track or run.track that is under way."
            )

    def _check_going_on(self) -> None:
        """Raises a PhaseError if the run was asked to stop."""
        if self._context.lifecycle.phase is Phase.STOPPING:
            raise PhaseError("The run was asked to stop before the answer was found.")

    @contextlib.contextmanager
    def _failing(self, *, numbered: bool) -> Iterator[None]:
        """Raises a PhaseError for an error of a step within a block.

        Args:
            numbered: Whether the steps are those that were taken before, with their numbers.
        """
        try:
            yield
        except (PhaseError, CheckpointError):
            raise
        except Exception as error:
            step = f"Step {self._steps.step + 1:,}" if numbered else "A step"
            raise PhaseError(f"{step} failed when taken again: {named(error)}") from error

    def _set_back(self, before: Mapping[str, float]) -> None:
        """Sets hyperparameters back that the checkpoint of the present state lacks."""
        now = self._control.now()
        if changed := {name: old for name, old in before.items() if old != now[name]}:
            self._control.hyperparameters.set_back(changed)

    def can_explain(self, anomaly: Anomaly) -> bool:
        """Returns whether `why_nan` could be asked about what has gone bad."""
        try:
            self._check_taken("why_nan")
            self._nan.good(anomaly)
        except (PhaseError, CheckpointError):
            return False
        return True

    @contextlib.contextmanager
    def _unrecorded(self, busy: str) -> Iterator[None]:
        """Records and shows nothing of what the step itself records, within a block."""
        steps, monitor = self._steps, self._context.monitor
        steps.present, steps.repeated, steps.thread = steps.step, {}, 0
        try:
            with (
                monitor.time_usage.asked(),
                monitor.notices.muted(busy),
                tf.summary.record_if(False),
            ):
                yield
        finally:
            steps.present = steps.values = None
            steps.samples.clear()
