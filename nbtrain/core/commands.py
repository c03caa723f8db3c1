"""Commands: the only way into a training thread.

Any thread may post a command; the training thread executes it at a step boundary:

    receipt = queue.post(Save())      # any thread; for the receipt, see `receipts`
    receipt = queue.get()             # training thread, at the boundary
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nbtrain.core.values.arms import frozen, is_list


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the run after the current step, with a last checkpoint."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Pauses the run before its next step, until resumed; saving and restoring still work."""


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
        halve: A hyperparameter to halve afterwards: the lower of its values before and after the
            restore is halved.
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

    @property
    def names(self) -> tuple[str, ...]:
        """The hyperparameters that it sets."""
        return (*self.values,)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Evaluates the model, at this boundary."""


@dataclass(frozen=True, slots=True)
class WhyNan:
    """Finds where a NaN or an infinity comes from, by taking the last steps again."""


@dataclass(frozen=True, slots=True)
class WhySlow:
    """Measures where the time of a step goes, by some steps that are taken back.

    Attributes:
        steps: The number of steps of each measurement.
    """

    steps: int = 50


@dataclass(frozen=True, slots=True)
class LookInside:
    """Looks at the layers in a step that is taken back."""


@dataclass(frozen=True, slots=True)
class Try:
    """Sets hyperparameters for some steps, then keeps them or goes back.

    Several values are tried one after the other, from the same state.

    Attributes:
        values: Name to number; all of them, or none. Each number of a list is tried; with several
            lists, each combination.
        steps: The number of steps.
        keep_if: Tag of a scalar that must not have got worse, with "max:" or "min:" before it if
            its direction is not known otherwise; or a function of the scalars before and after.
            None for the validation loss; with several values, None goes back.
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
    """Replaces the tags of the run."""

    tags: tuple[str, ...]


Command = (
    Stop
    | Pause
    | Resume
    | Save
    | Restore
    | Set
    | Evaluate
    | WhyNan
    | WhySlow
    | LookInside
    | Try
    | Replay
    | Note
    | Tag
)

# The commands that can be posted without arguments.
_Plain = Stop | Pause | Resume | Save | Restore | Evaluate | WhyNan | WhySlow | LookInside


def name_of(command: type[Command]) -> str:
    """Returns the name of a kind of command: "restore", "why_nan"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", command.__name__).lower()


# The same, by name.
WITHOUT_ARGUMENTS: dict[str, type[_Plain]] = {
    "stop": Stop,
    "pause": Pause,
    "resume": Resume,
    "save": Save,
    "restore": Restore,
    "evaluate": Evaluate,
    "why_nan": WhyNan,
    "why_slow": WhySlow,
    "look_inside": LookInside,
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
