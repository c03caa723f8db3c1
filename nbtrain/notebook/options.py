"""The parsers of `%nbtrain` and `%%nbtrain`, and their help."""

from __future__ import annotations

import argparse
import contextlib
import functools
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin

from IPython.core.error import UsageError

from nbtrain.notebook.verb_options import add_arguments, verbs
from nbtrain.steer.verbs import named, sentence

if TYPE_CHECKING:
    from nbtrain.steer.options import Option

# Options of a cell that are expressions with the notebook's names, and their values.
EXPRESSIONS = {
    "checkpoint": "a tf.train.Checkpoint of this notebook, with the objects to save",
    "hyperparameters": "a dict of this notebook, from names to variables that can be set",
    "config": "a dict of this notebook, with what the run is made with",
    "evaluate": "a function of this notebook that evaluates and returns scalars by name",
}


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises an error in the cell instead of ending the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")

    def exit(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise HelpShown


class HelpShown(Exception):  # noqa: N818 - no error: the user requested the help
    """The help was printed; nothing else is executed."""


def line_parser() -> argparse.ArgumentParser:
    """Returns the parser of `%nbtrain`."""
    parser = _Parser(prog="%nbtrain", description="Steer runs.")
    subparsers = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    for name, text in verbs().items():
        verb = named(name)
        about = verb.about if verb else sentence(text)
        others = [verb.name] if verb and verb.in_cell else []
        made = subparsers.add_parser(name, aliases=others, help=text, description=about)
        add_arguments(made, name)
    return parser


def cell_parser() -> argparse.ArgumentParser:
    """Returns the parser of `%%nbtrain`; its result lacks options that are not given."""
    from nbtrain.steer.options import LoopOptions, options_of  # a board needs none of them

    parser = _Parser(
        prog="%%nbtrain",
        argument_default=argparse.SUPPRESS,
        description="Run the cell in the background as the loop of a run. The cell loops over "
        "run.track(...), or calls run.should_stop() before each step, and records by "
        "run.record(loss=...). `run` and the names that the cell binds are local, as in a "
        "function; each new value is copied to the notebook.",
        epilog="nbtrain.background? explains the options in full. Write none for None, as in "
        "--keep none.",
    )
    add = parser.add_argument
    program = "Runs the cell as a program in a separate process, which outlives this kernel."
    add("--detach", action="store_true", help=program)
    cells = "Executed cells with which the program of --detach begins, such as 1-3,5."
    add("--with", dest="cells", metavar="CELLS", help=cells)
    for name, text in EXPRESSIONS.items():
        add(f"--{name}", metavar="EXPR", help=f"{text[:1].upper()}{text[1:]}.")
    for option in options_of(LoopOptions):
        if option.name not in EXPRESSIONS:
            _add_option(add, option)
    return parser


def _add_option(add: Callable[..., object], option: Option) -> None:
    """Adds an option of a run, with the first sentence of its docstring as help."""
    name, kind, default, meaning = option
    words = name.replace("_", "-")
    text = " ".join(re.split(r"(?<=\.)\s", meaning)[0].split()).replace("%", "%%")
    if kind is bool:
        flag, action = (f"--no-{words}", "store_false") if default else (f"--{words}", "store_true")
        add(flag, dest=name, action=action, help=f"{name}={not default}. {text}")
        return
    kinds = get_args(kind) if NoneType in get_args(kind) else (kind,)
    choices = [value for each in kinds if get_origin(each) is Literal for value in get_args(each)]
    metavar = name.rpartition("_")[2].upper()
    if choices:
        choices += [None] * (NoneType in kinds)
        metavar = f"{{{','.join(map(word_of, choices))}}}"
    elif get_origin(kind) is Sequence:
        metavar = "A,B"
    text += f" Default: {default}." if default else ""
    convert = functools.partial(_value, kinds=kinds)
    add(f"--{words}", type=convert, choices=choices or None, metavar=metavar, help=text)


def _value(text: str, kinds: Collection[Any]) -> object:
    """Converts a text to one of the types; returns other texts, which the run refuses."""
    if NoneType in kinds and text.lower() == "none":
        return None
    for number in {int, float}.intersection(kinds):
        with contextlib.suppress(ValueError):
            return number(text)
    return text.split(",") if any(get_origin(each) is Sequence for each in kinds) else text


def word_of(choice: object) -> str:
    """Returns the word that stands for an option's value in a line."""
    return "none" if choice is None else str(choice)


def parsed(parser: argparse.ArgumentParser, line: str) -> argparse.Namespace:
    """Parses a line.

    Raises:
        UsageError: The line cannot be understood.
        HelpShown: The line requested the help, which was printed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{parser.prog} {line.strip()}: {error}; close the quotes.") from error
    return parser.parse_args(words)


def in_options(text: str) -> str:
    """Returns a message with the options of a cell in place of arguments such as `name=`."""
    options = {each.dest: each.option_strings[-1] for each in cell_parser()._actions}
    return re.sub(rf"\b({'|'.join(options)})=(?=[\s.,;)])", lambda found: options[found[1]], text)
