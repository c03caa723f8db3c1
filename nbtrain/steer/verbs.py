"""The table of the verbs that steer a run.

`%nbtrain` and its completion, `nbtrain` in a terminal, and the tools of `nbtrain mcp` read this
table. A new verb is a new entry of `VERBS`, and a command of `core/commands.py` if it needs one.

verb = VERBS["restore"]
verb.make(checkpoint=300, halve=None)      # Restore(300), from the values that an agent sends
verb.read({"checkpoint": 300, ...})        # the same, from the parsed words of a line
"""

from __future__ import annotations

import argparse
import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbtrain.core import commands
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.labels import checked, checked_note
from nbtrain.core.text.log_lines import LEVELS, SOURCES
from nbtrain.steer.learning_rate import range_test

if TYPE_CHECKING:
    from nbtrain.steer.requests import Asked, Requests

# The default of an argument that must be given.
REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument.

    Attributes:
        metavar: The placeholder for a value in the help of a line.
        type: The type of the values, for a schema.
        read: Reads a value from a word of a line, or from a list of `words`.
        words: The number of words of a line, as `nargs` of argparse; None for one word after an
            option.
        example: An example for the help of a line; an agent writes values in another form.
        bounds: The bounds of the values for a schema, as arguments of pydantic's `Field`.
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
        name: The name for the command and for an agent.
        kind: The kind.
        help: The meaning, as a part of a sentence.
        default: The default; `REQUIRED` if there is none.
        option: The option in a line; "" for `--` and the name.
        bare: Whether the argument needs no option in a terminal.
    """

    name: str
    kind: Kind
    help: str
    default: Any = REQUIRED
    option: str = ""
    bare: bool = False

    @property
    def flag(self) -> str:
        """The option in a line, such as `--keep-if`."""
        return self.option or f"--{self.name.replace('_', '-')}"

    @property
    def help_text(self) -> str:
        """The meaning in the help of a line, with the example of the kind and the default."""
        default = "" if self.default in (REQUIRED, None) else f" ({self.default})"
        return f"{self.help}{self.kind.example}{default}"

    def add_to(self, parser: argparse.ArgumentParser, *, bare: bool, **more: Any) -> None:
        """Adds the argument to the parser of a line.

        Args:
            bare: Whether the parser reads `bare` arguments without their options.
            more: Arguments of `add_argument` that replace those of the table.
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
        name: The name.
        help: The effect, as a part of a sentence.
        make: Makes the command from the arguments by name, or a function that makes the command for
            a run.
        arguments: The arguments.
        more: Further sentences about the effect.
        in_cell: The usual name in a cell, if it is another one; a line may use both names.
        secs: Seconds that an agent waits for the answer by default.
        is_destructive: Whether no other verb can undo the effect; a hint for agents.
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
        """The effect, in sentences."""
        return f"{sentence(self.help)} {self.more}".strip()

    @property
    def words(self) -> Argument | None:
        """The argument that takes the words of a line; None if it has none."""
        return next((each for each in self.arguments if each.kind.words), None)

    @property
    def sets_values(self) -> bool:
        """True if the words of a line are `NAME=VALUE ...`."""
        return self.words is not None and self.words.kind in (VALUES, TRIED)

    def read(self, given: Mapping[str, Any]) -> Asked:
        """Returns the command of a parsed line.

        Raises:
            ArgumentError: The values are those of no command.
        """
        values = {each.name: given[each.name] for each in self.arguments}
        if self.words is not None:
            values[self.words.name] = self.words.kind.read(values[self.words.name])
        return self.make(**values)


def named(name: str) -> Verb | None:
    """Returns the verb with this name; None if it is not in the table."""
    return next((each for each in VERBS.values() if name in (each.name, each.in_cell)), None)


def sentence(text: str) -> str:
    """Turns a part of a sentence into a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def seconds(text: str) -> float:
    """Reads the seconds to wait."""
    return number(text, threading.TIMEOUT_MAX, "a time: give seconds, 0 or more")


def number(text: str, limit: float, wanted: str) -> float:
    """Reads a number from 0 to below a limit.

    Raises:
        ArgumentTypeError: The text is not such a number; the message asks for what is `wanted`.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < limit:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return found


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that select lines of a log, for a cell or a terminal."""
    add = parser.add_argument
    add("-n", "--lines", type=int, default=20, help="the number of lines (20)")
    add("--level", choices=LEVELS, type=str.upper, default="DEBUG", help="the lowest level")
    add("--source", choices=SOURCES, help="only lines of this source")
    add("--search", default="", metavar="TEXT", help="only lines that contain this, in any case")


def _checkpoint(text: str) -> int | str:
    plain = text.replace(",", "")
    if plain.isdecimal():
        return int(plain)
    if text == "best" or any(map(str.isdecimal, text)):  # the path of each has its step
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a checkpoint: give its step, its path, or best"
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
FEW = Kind("N", int, int, bounds={"ge": 5})
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


def _range_test(**limits: Any) -> Callable[[Requests], commands.Try]:
    return lambda run: range_test(run.status, **limits)


_TABLE = (
    Verb(
        "pause",
        "pause the training until it is resumed",
        commands.Pause,
        more="Saving, restoring and evaluating still work.",
    ),
    Verb("resume", "continue after a pause", commands.Resume),
    Verb(
        "stop",
        "end the run after the current step, with a last checkpoint",
        commands.Stop,
        more="No verb can start the run again.",
        secs=60.0,
        is_destructive=True,
    ),
    Verb("save", "write a checkpoint now", commands.Save),
    Verb(
        "restore",
        "restore a checkpoint",
        commands.Restore,
        (
            Argument(
                "checkpoint",
                CHECKPOINT,
                "its step, its path, or best; by default, the latest",
                None,
                option="--step",
                bare=True,
            ),
            Argument("halve", HYPERPARAMETER, "a hyperparameter to halve afterwards", None),
        ),
        more="Later points and checkpoints are abandoned, but not deleted.",
        is_destructive=True,
    ),
    Verb(
        "set",
        "set hyperparameters: all that are given, or none",
        commands.Set,
        (Argument("values", VALUES, "new values of hyperparameters, by name"),),
        more="The change stays until the next one: if it may not help, use trial first.",
        is_destructive=True,
    ),
    Verb(
        "trial",
        "train some steps with one or more new values, then keep the best or rewind",
        commands.Try,
        (
            Argument(
                "values",
                TRIED,
                "values to try, by name; each value of a list is tried from the same state",
            ),
            Argument("steps", COUNT, "the number of steps", 200),
            Argument(
                "keep_if",
                SCALAR,
                "a scalar that must not get worse: TAG, or max:TAG or min:TAG if the run does not "
                "know its direction (val_loss; without it, several values are only compared: the "
                "run rewinds, and its actions offer them)",
                None,
            ),
            Argument("repeats", COUNT, "how often each value is tried", 1),
        ),
        more="Prefer trial to set: a trial undoes the change if it did not help. The run saves its "
        "state, trains with the new values, and compares a scalar before and after. If the scalar "
        "got worse, the run restores state and values. The answer comes at the end of the trial. "
        "Several values are compared: each is trained from the same state on the same batches, "
        "and the run continues with the best.",
        in_cell="try",
        secs=300.0,
    ),
    Verb(
        "find_learning_rate",
        "suggest a learning rate by a range test, then rewind",
        _range_test,
        (
            Argument("low", POSITIVE, "the rate of the first step", 1e-6),
            Argument("high", POSITIVE, "the rate of the last step", 1.0),
            Argument("steps", MANY, "the number of steps", 200),
            Argument(
                "tag", SCALAR, "the recorded loss (loss, or the first tag with loss in it)", None
            ),
            Argument(
                "name",
                HYPERPARAMETER,
                "the hyperparameter (the learning rate of the run)",
                None,
                option="--rate",
            ),
        ),
        more="The rate grows from step to step. The test changes nothing: set the suggestion.",
        secs=300.0,
    ),
    Verb(
        "evaluate",
        "evaluate now, also while paused",
        commands.Evaluate,
        more="The start of the run defines what to evaluate.",
        secs=300.0,
    ),
    Verb(
        "why_nan",
        "find the operation and the line from which a NaN comes",
        commands.WhyNan,
        more="Ask while the run is paused at a NaN. The run takes its last steps again from a good "
        "state and watches their operations; afterwards it is where it was.",
        secs=300.0,
    ),
    Verb(
        "why_slow",
        "measure where the time of a step goes, and what would make it shorter",
        commands.WhySlow,
        (Argument("steps", FEW, "the number of steps of each measurement", 50),),
        more="The run draws some elements of its data without training, takes some steps, and "
        "trains one element again and again; afterwards it is where it was.",
        secs=300.0,
    ),
    Verb(
        "look_inside",
        "look at the activations, gradients and updates of the layers",
        commands.LookInside,
        more="The run takes a step, measures it, and takes it back. What stands out is named, such "
        "as dead ReLUs and gradients that vanish.",
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
        "replace the tags of a run",
        lambda tags: commands.Tag(checked(tags)),
        (
            Argument(
                "tags",
                TAGS,
                "words by which the run can be found again, such as baseline; without any, it has "
                "none afterwards",
            ),
        ),
        is_destructive=True,
    ),
)
VERBS: dict[str, Verb] = {verb.name: verb for verb in _TABLE}
