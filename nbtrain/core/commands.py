"""Commands and their receipts: the only way into a training thread.

Any thread may post a command; the training thread executes it at a step boundary:

    receipt = queue.post(Save())      # any thread: requested
    receipt = queue.take()            # training thread, at the boundary
    receipt.answer(...)               # training thread: applied at step N, or refused
    receipt.wait()                    # any thread: the outcome
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from nbtrain.core.arms import ArmResult, frozen, is_list, table
from nbtrain.core.command_states import APPLIED, REFUSED, UNANSWERED
from nbtrain.core.errors import WaitError
from nbtrain.core.held_up import waited
from nbtrain.core.hyperparameters import Edit


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the run after the current step, with a last checkpoint."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Takes no further step until resumed; saving and restoring still work."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Continues with the next step."""


@dataclass(frozen=True, slots=True)
class Save:
    """Writes a checkpoint at this boundary."""


@dataclass(frozen=True, slots=True)
class Restore:
    """Goes back to a checkpoint.

    Attributes:
        checkpoint: Its step, its path, or None for the latest.
        halve: A hyperparameter to halve afterwards: of its values before and after, the lower one.
    """

    checkpoint: int | str | None = None
    halve: str | None = None


@dataclass(frozen=True, slots=True)
class Set:
    """Sets hyperparameters; all of them, or none.

    Attributes:
        values: Name to number.
        needed: Whether the run pauses if it is refused, instead of training without it.
    """

    values: Mapping[str, object]
    needed: bool = False

    def __post_init__(self) -> None:
        """Copies the values as they are now."""
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Evaluates what is trained, at this boundary."""


@dataclass(frozen=True, slots=True)
class Try:
    """Sets hyperparameters for some steps, then keeps them or goes back.

    Several values are tried one after the other, from the same state.

    Attributes:
        values: Name to number; all of them, or none. A list of numbers has each of them tried,
            several lists each combination.
        steps: The number of steps.
        keep_if: Tag of a scalar that must not have got worse; or a function of the scalars before
            and after. None for the validation loss; with several values, None goes back.
        settings: Values to try together, by the name of the setting.
        repeats: How often each is tried.
        sweep: The first and the last value of a range test: the only value of `values` grows from
            step to step, and the run goes back. None for other trials.
    """

    values: Mapping[str, object]
    steps: int = 200
    keep_if: str | Callable[[Mapping[str, float], Mapping[str, float]], object] | None = None
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    repeats: int = 1
    sweep: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Copies the values as they are now."""
        object.__setattr__(self, "values", MappingProxyType(frozen(self.values)))
        settings = {name: MappingProxyType(dict(each)) for name, each in self.settings.items()}
        object.__setattr__(self, "settings", MappingProxyType(settings))

    @property
    def is_comparison(self) -> bool:
        """True if several values are tried, or one several times."""
        return self.leaves_choice or self.repeats != 1 or self._has_several

    @property
    def leaves_choice(self) -> bool:
        """True if nothing decides between several values."""
        return self.sweep is not None or (self.keep_if is None and self._has_several)

    @property
    def names(self) -> tuple[str, ...]:
        """The hyperparameters that it sets."""
        return tuple(dict.fromkeys([*self.values, *(n for s in self.settings.values() for n in s)]))

    @property
    def _has_several(self) -> bool:
        return bool(self.settings) or any(map(is_list, self.values.values()))


@dataclass(frozen=True, slots=True)
class Replay:
    """Makes edits at the ends of later steps: all of them, or none if one is past.

    Attributes:
        edits: Step, and names with their new values, in order.
        text: The origin of the edits.
    """

    edits: tuple[tuple[int, Mapping[str, float]], ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Adds a note to the history, at this boundary."""

    text: str


@dataclass(frozen=True, slots=True)
class Tag:
    """Gives the run these tags in place of those that it has."""

    tags: tuple[str, ...]


Command = Stop | Pause | Resume | Save | Restore | Set | Evaluate | Try | Replay | Note | Tag
# The commands without arguments, by name.
COMMANDS: dict[str, type[Stop | Pause | Resume | Save | Restore | Evaluate]] = {
    each.__name__.lower(): each for each in (Stop, Pause, Resume, Save, Restore, Evaluate)
}


@dataclass(frozen=True, slots=True)
class Sender:
    """The origin of a command.

    Attributes:
        id: Identifies the command: a second one with the same id is not executed again. "" for a
            command that is posted only once.
        by: Who asked, in words, for the journal; "" for the program or the panel itself.
    """

    id: str = ""
    by: str = ""

    @property
    def entry(self) -> dict[str, str]:
        """The fields of a journal's line; empty for the program or the panel itself."""
        return {"id": self.id, "by": self.by} if self.by else {}


NO_SENDER = Sender()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command.

    Attributes:
        applied: Whether it was done; False means refused, and nothing has changed.
        step: Steps completed at that moment.
        text: What was done, or why it was refused.
        edits: The hyperparameters that were set, with old and new value.
        kept: For a decided trial, whether its values stay; else None.
        arms: For a trial of several values, the result of each; for a range test, the suggestion.
        curve: For a range test, pairs of a learning rate and the smoothed loss after its step.
        answered: False if nobody answers; `applied` is then False, though it may have been done.
    """

    applied: bool
    step: int
    text: str
    edits: tuple[Edit, ...] = field(default=(), repr=False)  # part of the text
    kept: bool | None = field(default=None, repr=False)  # also in the text
    arms: tuple[ArmResult, ...] = field(default=(), repr=False)
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    answered: bool = field(default=True, repr=False)

    @property
    def state(self) -> str:
        """See `command_states`."""
        return APPLIED if self.applied else REFUSED if self.answered else UNANSWERED

    @property
    def table(self) -> str:
        """The results of a trial of several values as a table; empty for other commands."""
        return table(self.arms)

    def __str__(self) -> str:
        """Returns all of it in a sentence: `applied at step 1,240: saved ckpt-1240`."""
        return f"{self.state} at step {self.step:,}: {self.text}"


class Receipt:
    """The answer to one command: requested, then applied at a step, or refused with a reason.

    Args:
        thread: Identity of the thread that will answer.
        sender: Where the command comes from.

    Attributes:
        number: The receipt's number in the order of posting, from 1, in this process.
        order: The place of the execution in the run's timeline; 0.0 before it.
        held: Returns what holds the answer up, in words; "" for nothing.
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
        return type(self.command).__name__.lower()

    @property
    def outcome(self) -> Outcome | None:
        """The result; None while it waits for a step boundary."""
        return self._outcome

    def answer(self, outcome: Outcome) -> None:
        """Gives the outcome, once; called where the command was executed or refused."""
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
            WaitError: Still unanswered; the command stays in the queue.
        """
        if self._outcome is None and threading.get_ident() == self._thread:
            raise WaitError(
                f"The training thread cannot wait for {self.name}, which it does itself at the "
                "next step boundary: leave out wait() here."
            )
        if not waited(self._answered, timeout, self.held) or self._outcome is None:
            why = "the training has not come to a step boundary since; the command stays queued"
            if isinstance(self.command, Try):
                why = self.held().rstrip(".") or "a trial is answered at its end"
            text = f"No answer to {self.name} within {timeout:g} s: {why}"
            raise WaitError(f"{text}. Wait again, or look at run.status.message.")
        return self._outcome

    def __repr__(self) -> str:
        """Shows the command with its state, and the table of a trial of several values."""
        outcome = self._outcome
        text = f"<{self.name}: {outcome or '. '.join(filter(None, ['requested', self.held()]))}>"
        return f"{text}\n{outcome.table}" if outcome is not None and outcome.table else text
