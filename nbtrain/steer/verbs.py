"""The verbs that steer a run: one table, of which every place to steer from is a view.

The places are `%nbtrain` and its completion, `nbtrain` in a terminal, and the tools of `nbtrain
mcp`. A new verb is a new entry of `VERBS`, and a command of `core/commands.py` if it needs one.

verb = VERBS["restore"]
verb.make(checkpoint=300, halve=None)      # Restore(300): an agent sends values
verb.read({"checkpoint": 300, ...})        # the same, from the parsed words of a line
"""

from __future__ import annotations

import argparse
import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtrain.core import commands
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.labels import checked, checked_note
from nbtrain.core.text.log_lines import LEVELS, SOURCES
from nbtrain.steer.learning_rate import range_test
from nbtrain.steer.posting import Asked, Steered

# The default of an argument that must be given.
REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument.

    Attributes:
        metavar: Its name in the help of a line.
        type: The type of its values, for a schema.
        read: Reads a value from a word of a line, or from a list of `words`.
        words: How many words it takes, as `nargs` of argparse; None for the one behind an option.
        example: What the help of a line adds, as an agent does not write it so.
        bounds: The bounds of its values for a schema, in the words of pydantic's `Field`.
    """

    metavar: str
    type: Any
    read: Callable[[Any], Any]
    words: str | None = None
    example: str = ""
    bounds: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a verb.

    Attributes:
        name: Its name for the command and for an agent.
        kind: Its kind.
        help: Its meaning, as the part of a sentence.
        default: Its value if it is left out.
        option: Its option in a line; "" for one with its own name.
        bare: Whether a terminal takes it without the option.
    """

    name: str
    kind: Kind
    help: str
    default: Any = REQUIRED
    option: str = ""
    bare: bool = False

    @property
    def flag(self) -> str:
        """Its option in a line, such as `--keep-if`."""
        return self.option or f"--{self.name.replace('_', '-')}"

    @property
    def help_text(self) -> str:
        """Its meaning in the help of a line, with the example of its kind and its default."""
        default = "" if self.default in (REQUIRED, None) else f" ({self.default})"
        return f"{self.help}{self.kind.example}{default}"

    def add_to(self, parser: argparse.ArgumentParser, *, bare: bool, **more: Any) -> None:
        """Adds the argument to the parser of a line.

        Args:
            bare: Whether an argument that is `bare` takes a word without its option.
            more: Arguments of `add_argument` that this parser has differently.
        """
        is_required = self.default is REQUIRED
        more = {"metavar": self.kind.metavar, "help": self.help_text, **more}
        if self.kind.words:
            parser.add_argument(self.name, nargs=self.kind.words, **more)
            return
        more |= {"type": self.kind.read, "default": None if is_required else self.default}
        if bare and self.bare:
            parser.add_argument(self.name, nargs=None if is_required else "?", **more)
        else:
            parser.add_argument(self.flag, dest=self.name, required=is_required, **more)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb that steers a run.

    Attributes:
        name: Its name.
        help: What it does, as the part of a sentence.
        make: Makes the command, or the function that makes it for a run, of the arguments by name.
        arguments: Its arguments.
        more: Further sentences about it.
        in_cell: Its usual name in a cell, if that is another one; both are taken everywhere.
        secs: Seconds that an agent waits for the answer, unless it gives them.
        is_destructive: Whether no other verb undoes it, which an agent is told.
    """

    name: str
    help: str
    make: Callable[..., Asked]
    arguments: tuple[Argument, ...] = ()
    more: str = ""
    in_cell: str = ""
    secs: float = 30.0
    is_destructive: bool = False

    @property
    def about(self) -> str:
        """Its meaning, in sentences."""
        return f"{sentence(self.help)} {self.more}".strip()

    @property
    def words(self) -> Argument | None:
        """The argument that takes the words of a line; None if it has none."""
        return next((each for each in self.arguments if each.kind.words), None)

    @property
    def sets_values(self) -> bool:
        """True if these words are `NAME=VALUE ...`."""
        return self.words is not None and self.words.kind in (VALUES, TRIED)

    def read(self, given: Mapping[str, Any]) -> Asked:
        """Returns the command of a parsed line.

        Raises:
            ArgumentError: It makes none.
        """
        values = {each.name: given[each.name] for each in self.arguments}
        if self.words is not None:
            values[self.words.name] = self.words.kind.read(values[self.words.name])
        return self.make(**values)


def named(name: str) -> Verb | None:
    """Returns the verb with one of its names; None if it is not in the table."""
    return next((each for each in VERBS.values() if name in (each.name, each.in_cell)), None)


def sentence(text: str) -> str:
    """Returns the part of a sentence as a whole one."""
    return f"{text[0].upper()}{text[1:]}."


def seconds(text: str) -> float:
    """Reads the seconds to wait."""
    return number(text, threading.TIMEOUT_MAX, "time: give seconds, 0 or more")


def number(text: str, limit: float, wanted: str) -> float:
    """Reads a number from 0 to below a limit.

    Raises:
        ArgumentTypeError: It is none; the message says what is wanted.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < limit:
        raise argparse.ArgumentTypeError(f"{text!r} is no {wanted}")
    return found


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose lines of a log, which a cell and a terminal show alike."""
    add = parser.add_argument
    add("-n", "--lines", type=int, default=20, help="the number of lines (20)")
    add("--level", choices=LEVELS, type=str.upper, default="DEBUG", help="the least level")
    add("--source", choices=SOURCES, help="lines of this source")
    add("--search", default="", metavar="TEXT", help="lines that contain this, in any case")


def _checkpoint(text: str) -> int | str:
    plain = text.replace(",", "")
    if plain.isdecimal():
        return int(plain)
    if text == "best" or any(map(str.isdecimal, text)):  # the path of each has its step
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is no checkpoint: give its step, or best, or its path"
    )


def _pair(word: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not (name and equals):
        raise ArgumentError(
            f"{word!r} sets nothing: give a name and a value, such as learning_rate=1e-4."
        )
    return name, text


def _value(text: str) -> float | str:
    """Returns the number in a text, or the text, which the run refuses with a message."""
    try:
        return float(text)
    except ValueError:
        return text


def _several(text: str) -> float | str | list[float | str]:
    return [*map(_value, text.split(","))] if "," in text else _value(text)


def _values(words: Sequence[str]) -> dict[str, float | str]:
    return {name: _value(text) for name, text in map(_pair, words)}


def _tried(words: Sequence[str]) -> dict[str, float | str | list[float | str]]:
    return {name: _several(text) for name, text in map(_pair, words)}


COUNT = Kind("N", int, int, bounds={"ge": 1})
MANY = Kind("N", int, int, bounds={"ge": 10})
POSITIVE = Kind("X", float, float, bounds={"gt": 0})
SCALAR = Kind("TAG", str, str)
HYPERPARAMETER = Kind("NAME", str, str)
CHECKPOINT = Kind("STEP", int | str, _checkpoint)
_SOME, _EXAMPLE = {"min_length": 1}, ", such as learning_rate=1e-4"
VALUES = Kind("NAME=VALUE", dict[str, float], _values, "+", _EXAMPLE, _SOME)
_EXAMPLES = f"{_EXAMPLE}, or several of one: learning_rate=3e-4,1e-3"
TRIED = Kind("NAME=VALUE", dict[str, float | list[float]], _tried, "+", _EXAMPLES, _SOME)
TEXT = Kind("TEXT", str, " ".join, "+")
TAGS = Kind("TAG", list[str], list, "*")


def _range_test(**limits: Any) -> Callable[[Steered], commands.Try]:
    return lambda run: range_test(run.status, **limits)


_TABLE = (
    Verb(
        "pause",
        "take no further step until resumed",
        commands.Pause,
        more="Saving, restoring and evaluating still work.",
    ),
    Verb("resume", "continue after a pause", commands.Resume),
    Verb(
        "stop",
        "end the run after the step at hand, with a last checkpoint",
        commands.Stop,
        more="No verb starts it again.",
        secs=60.0,
        is_destructive=True,
    ),
    Verb("save", "write a checkpoint now", commands.Save),
    Verb(
        "restore",
        "go back to a checkpoint",
        commands.Restore,
        (
            Argument(
                "checkpoint",
                CHECKPOINT,
                "its step or path, or best; the latest if left out",
                None,
                option="--step",
                bare=True,
            ),
            Argument("halve", HYPERPARAMETER, "a hyperparameter to halve afterwards", None),
        ),
        more="Later points and checkpoints are abandoned, and stay.",
        is_destructive=True,
    ),
    Verb(
        "set",
        "give hyperparameters other values, all of them or none",
        commands.Set,
        (Argument("values", VALUES, "new values of hyperparameters, by name"),),
        more="Nothing undoes this by itself: use trial first if you do not know that it helps.",
        is_destructive=True,
    ),
    Verb(
        "trial",
        "train some steps with another value, or several, then keep the best or go back",
        commands.Try,
        (
            Argument(
                "values",
                TRIED,
                "values to try, by name; each of a list is tried from the same state",
            ),
            Argument("steps", COUNT, "the number of steps", 200),
            Argument(
                "keep_if",
                SCALAR,
                "a scalar that must not get worse: TAG, or max:TAG or min:TAG if the run does not "
                "know which is better (val_loss; without it, several values are only compared, "
                "the run goes back, and its actions are the choice)",
                None,
            ),
            Argument("repeats", COUNT, "how often each is tried", 1),
        ),
        more="Prefer this to set: it undoes the change unless it helped. The run saves its state, "
        "trains with the new values, and compares a scalar before and after. If it got worse, the "
        "run restores state and values. The answer comes at the end of the trial. Several values "
        "are compared: each trains from the same state on the same batches, and the best goes on.",
        in_cell="try",
        secs=300.0,
    ),
    Verb(
        "find_learning_rate",
        "suggest a learning rate by a range test, then go back",
        _range_test,
        (
            Argument("low", POSITIVE, "the rate of the first step", 1e-6),
            Argument("high", POSITIVE, "the rate of the last step", 1.0),
            Argument("steps", MANY, "the number of steps", 200),
            Argument(
                "tag", SCALAR, "the recorded loss (loss, or the first with loss in its name)", None
            ),
            Argument(
                "name",
                HYPERPARAMETER,
                "the hyperparameter (the learning rate of the run)",
                None,
                option="--rate",
            ),
        ),
        more="The rate grows from step to step. Nothing is changed: use set with the suggestion.",
        secs=300.0,
    ),
    Verb(
        "evaluate",
        "evaluate now, also while paused",
        commands.Evaluate,
        more="The run must have been started with something to evaluate.",
        secs=300.0,
    ),
    Verb(
        "note",
        "add a note to the history of a run, also after its end",
        lambda text: commands.Note(checked_note(text)),
        (Argument("text", TEXT, "the note"),),
    ),
    Verb(
        "tag",
        "give a run these tags in place of those that it has",
        lambda tags: commands.Tag(checked(tags)),
        (Argument("tags", TAGS, "words by which it can be found again, such as baseline"),),
        is_destructive=True,
    ),
)
VERBS: dict[str, Verb] = {verb.name: verb for verb in _TABLE}
