"""The verbs of `%nbtrain`, the options of `%%nbtrain`, and their help."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from typing import Any, NoReturn

from IPython.core.error import UsageError

from nbtrain.notebook.verb_options import TABS, add_arguments

# The values of on_nan that a cell may give.
ON_NAN = ("pause", "recover", "none")

VERBS = {
    "list": "list the runs of this kernel, and the attached ones",
    "runs": "show the runs below a folder, of every kernel, each branch below its parent",
    "open": "show a run of another process by its folder, and steer it",
    "show": "show the panel",
    "pause": "take no further step until resumed",
    "resume": "go on after a pause",
    "stop": "end the run after the step at hand, with a last checkpoint",
    "save": "write a checkpoint now",
    "restore": "go back to a checkpoint",
    "set": "give hyperparameters other values, all of them or none",
    "try": "train some steps with another value, or with several, then keep the best or go back",
    "find_learning_rate": "suggest a learning rate by a range test, then go back",
    "evaluate": "evaluate now, also while paused",
    "actions": "list the actions of the newest marks, numbered; with NUMBER, carry one out",
    "replay": "show what was done to a run; with RUN, do its edits again at the same steps",
    "wait": "wait for the end, and show it",
    "note": "add a note to the history of a run",
    "tag": "give a run these tags in place of those that it has",
    "log": "show the newest lines that a run has printed and logged",
    **TABS,
}


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises an error in the cell instead of ending the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")

    def exit(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise HelpShown


class HelpShown(Exception):  # noqa: N818 - no error: the help was asked for
    """The help was printed, and there is nothing more to do."""


def line_parser() -> argparse.ArgumentParser:
    """The parser of `%nbtrain`."""
    parser = _Parser(prog="%nbtrain", description="Steer runs.")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    for verb, text in VERBS.items():
        add_arguments(verbs.add_parser(verb, help=text, description=text), verb)
    return parser


def cell_parser() -> argparse.ArgumentParser:
    """The parser of `%%nbtrain`."""
    parser = _Parser(
        prog="%%nbtrain",
        description="Run the cell in the background as the loop of a run. The cell loops over "
        "run.track(...), or asks run.should_stop() once a step, and records with "
        "run.record(loss=...). In it, `run` and "
        "the names that it binds are its own, as in a function; the notebook sees them too.",
    )
    add = parser.add_argument
    add("--name", help="the run's name; without it, a new numbered one")
    add("--logdir", help="the run's folder; without it, runs/NAME")
    add(
        "--detach",
        action="store_true",
        help="run the cell as a program in a process of its own, which outlives this kernel",
    )
    cells = "cells that the program begins with, such as 1-3,5 (with --detach)"
    add("--with", dest="cells", metavar="CELLS", help=cells)
    add("--steps", type=int, help="the step at which the run finishes")
    add("--checkpoint", metavar="EXPR", help="what to save: a tf.train.Checkpoint of this notebook")
    add("--hyperparameters", metavar="EXPR", help="what can be set: a dict, name to variable")
    add(
        "--evaluate", metavar="EXPR", help="what evaluates: a function that returns scalars by name"
    )
    _add_settings(add)
    return parser


def _add_settings(add: Callable[..., object]) -> None:
    """Adds the options that are settings of the run."""
    add("--evaluate-secs", type=float, help="seconds between two evaluations")
    add("--evaluate-steps", type=int, help="steps between two evaluations")
    add("--save-secs", type=float, default=600.0, help="seconds between two checkpoints (600)")
    add("--save-steps", type=int, help="steps between two checkpoints")
    add("--keep", type=int, default=5, help="how many checkpoints stay (5)")
    nan = "what to do where the loss is NaN or infinite (pause)"
    add("--on-nan", choices=ON_NAN, default="pause", help=nan)
    add("--jump", type=float, metavar="FACTOR", help="so many times the recent loss is bad as well")
    add("--grace", type=float, default=10.0, help="seconds that the kernel waits at its end (10)")
    best = "keep the state with the best value of this scalar: TAG, max:TAG or min:TAG"
    add("--keep-best", metavar="TAG", help=best)
    add("--stage", help="the name of this stage: another one begins with a new optimizer")
    add("--patience", type=int, help="finish after this many values of it that are no better")
    add("--fresh", action="store_true", help="move an earlier run in the folder aside")
    prints = "where prints are shown: under this cell and in the log, or only in the log (cell)"
    add("--prints", choices=("cell", "log"), default="cell", help=prints)
    add(
        "--no-system",
        dest="system",
        action="store_false",
        help="do not record the use of the machine",
    )
    tags = "words by which the run can be found again, such as baseline,adam"
    add("--tags", type=lambda text: text.split(","), default=(), help=tags)
    add("--mirror", metavar="ADDRESS", help="a folder in a store to copy the run to: s3://...")


def parsed(parser: argparse.ArgumentParser, line: str) -> argparse.Namespace:
    """Parses a line.

    Raises:
        UsageError: The line cannot be understood.
        HelpShown: The line asked for the help, which was printed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{parser.prog} {line.strip()}: {error}; close the quotes.") from error
    return parser.parse_args(words)


def in_options(text: str) -> str:
    """Returns a message that names arguments, such as `name=`, with the options of a cell."""
    known = "|".join(vars(cell_parser().parse_args([])))
    return re.sub(
        rf"\b({known})=(?=[\s.,;)])", lambda found: f"--{found[1].replace('_', '-')}", text
    )
