"""The answers to commands: requested, then applied at a step, or refused with a reason.

receipt = queue.post(Save())      # any thread: requested
receipt.answer(...)               # training thread: applied at step N, or refused
receipt.wait()                    # any thread: the outcome
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbtrain.core.command_states import APPLIED, REFUSED, UNANSWERED
from nbtrain.core.commands import NO_SENDER, Command, Sender, Try, name_of
from nbtrain.core.errors import WaitError
from nbtrain.core.text.visible import say
from nbtrain.core.values.arms import ArmResult, table
from nbtrain.core.values.hyperparameters import Edit

# Seconds between two checks of what delays an answer.
_POLL_SECS = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command.

    Attributes:
        applied: Whether the command was done; False means refused, and nothing has changed.
        step: Steps completed at that moment.
        text: What was done, or why it was refused.
        edits: The hyperparameters that were set, with old and new value.
        kept: For a decided trial, whether its values stay; else None.
        arms: For a trial of several values, the result of each; for a range test, the suggestion.
        curve: For a range test, pairs of a learning rate and the smoothed loss after its step.
        answer: For a question such as `why_nan`, what was found: numbers, texts and lists by name.
        answered: False if nobody answers; `applied` is then False, though the command may have been
            done.
    """

    applied: bool
    step: int
    text: str
    edits: tuple[Edit, ...] = field(default=(), repr=False)  # part of the text
    kept: bool | None = field(default=None, repr=False)  # also in the text
    arms: tuple[ArmResult, ...] = field(default=(), repr=False)
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    answer: Mapping[str, Any] = field(default_factory=dict, repr=False)
    answered: bool = field(default=True, repr=False)

    @property
    def state(self) -> str:
        """The state of the command; see `command_states`."""
        return APPLIED if self.applied else REFUSED if self.answered else UNANSWERED

    @property
    def table(self) -> str:
        """The results of a trial of several values as a table; empty for other commands."""
        return table(self.arms)

    def __str__(self) -> str:
        """Returns the outcome in a sentence: `applied at step 1,240: saved ckpt-1240`."""
        return f"{self.state} at step {self.step:,}: {self.text}"


class Receipt:
    """The answer to one command: requested, then applied at a step, or refused with a reason.

    Args:
        thread: Identity of the thread that will answer.
        sender: The origin of the command.

    Attributes:
        number: The receipt's number in the order of posting, from 1, in this process.
        order: The place of the execution in the run's timeline; 0.0 before it.
        held: Returns what delays the answer, in words; "" for nothing.
    """

    _numbers = itertools.count(1)

    def __init__(self, command: Command, *, thread: int = 0, sender: Sender = NO_SENDER) -> None:
        self.command = command
        self.sender = sender
        self._thread = thread
        self.number = next(self._numbers)
        self.order = 0.0
        self.held: Callable[[], str] = str
        self._outcome: Outcome | None = None
        self._answered = threading.Event()

    @property
    def name(self) -> str:
        """The command's name: "stop", "pause", "resume", "save", "restore", "set" etc."""
        return name_of(type(self.command))

    @property
    def takes_steps(self) -> bool:
        """Whether the command is a trial, which is answered after its last step."""
        return isinstance(self.command, Try)

    @property
    def outcome(self) -> Outcome | None:
        """The result; None while it waits for a step boundary."""
        return self._outcome

    def answer(self, outcome: Outcome) -> None:
        """Sets the outcome, once; called where the command was executed or refused."""
        self._outcome = outcome
        self._answered.set()

    def complete(self, text: str) -> None:
        """Updates the text of an applied command: a stop is answered before its last checkpoint."""
        if self._outcome is not None:
            self._outcome = replace(self._outcome, text=text)

    def wait(self, timeout: float | None = None) -> Outcome:
        """Blocks until the command has been answered.

        Args:
            timeout: Seconds to wait at most; None waits as long as the step takes.

        Raises:
            WaitError: No answer came in time; the command stays in the queue.
        """
        if self._outcome is None and threading.get_ident() == self._thread:
            raise WaitError(
                f"The training thread cannot wait for {self.name}, which it does itself at the "
                "next step boundary: leave out wait() here."
            )
        if not self._has_answer_within(timeout) or self._outcome is None:
            why = "the training has not come to a step boundary since; the command stays queued"
            if self.takes_steps:
                why = self.held().rstrip(".") or "a trial is answered at its end"
            text = f"No answer to {self.name} within {timeout:g} s: {why}"
            raise WaitError(f"{text}. Wait again, or look at run.status.message.")
        return self._outcome

    def _has_answer_within(self, timeout: float | None) -> bool:
        """Waits for the answer; writes what delays it to the standard error, once for each delay.

        Returns:
            Whether it has come within `timeout` seconds; None waits as long as it takes.
        """
        left, delay = math.inf if timeout is None else timeout, ""
        while not self._answered.wait(max(0.0, min(left, _POLL_SECS))):
            left -= _POLL_SECS
            if left <= 0:
                return False
            before, delay = delay, self.held()
            if delay and not before:
                say(f"nbtrain: {delay}")
        return True

    def __repr__(self) -> str:
        """Shows the command with its state, and the table of a trial of several values."""
        outcome = self._outcome
        text = f"<{self.name}: {outcome or '. '.join(filter(None, ['requested', self.held()]))}>"
        return f"{text}\n{outcome.table}" if outcome is not None and outcome.table else text
