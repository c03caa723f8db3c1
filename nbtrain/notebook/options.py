"""The verbs and options of `%nbtrain` and `%%nbtrain`, and their help."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable
from typing import Any, NoReturn

from IPython.core.error import UsageError

from nbtrain.core.log_lines import LEVELS, SOURCES

# The tabs that a board can open first.
TABS = {
    "scalars": "show the scalars of a logdir: what its event files hold",
    "images": "show the images of a logdir",
    "histograms": "show the histograms of a logdir",
    "distributions": "show the distributions of a logdir: the percentiles of its histograms",
    "text": "show the text of a logdir",
    "audio": "show the audio of a logdir",
    "hparams": "show a logdir's runs with their hyperparameters and metrics",
    "custom_scalars": "show the charts that a logdir's layouts name",
    "compare": "show a logdir's runs side by side",
}
CURVES = ("scalars", "custom_scalars", "compare")  # the tabs that draw curves

# The values of on_nan that a cell may give.
ON_NAN = ("pause", "recover", "none")

_RUN = "a run's name; not needed where one run lives"

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
    "log": "show the newest lines that a run has printed and logged",
    **TABS,
}


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises an error in the cell instead of ending the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")

    def exit(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise HelpShown


class _Values(argparse.Action):
    """Parses `[NAME] learning_rate=1e-4 ...`: a run's name, then numbers by name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        words: Any,
        _option: str | None = None,
    ) -> None:
        named = [] if "=" in words[0] else [words.pop(0)]
        namespace.name = named[0] if named else None
        namespace.values = dict(map(self._pair, words))
        if not words:
            parser.error("give what to set, such as learning_rate=1e-4")

    def _pair(self, word: str) -> tuple[str, float | str | list[float | str]]:
        name, equals, text = word.partition("=")
        if not equals:
            raise argparse.ArgumentError(
                self, f"{word!r} sets nothing: give a name and a value, such as learning_rate=1e-4"
            )
        return name, self._value(text)

    def _value(self, text: str) -> float | str | list[float | str]:
        return _number_in(text)


class _Tried(_Values):
    """Parses the same, with several values of a name: `learning_rate=3e-4,1e-3`."""

    def _value(self, text: str) -> float | str | list[float | str]:
        return [*map(_number_in, text.split(","))] if "," in text else _number_in(text)


class _Numbered(argparse.Action):
    """Parses `[NAME] [NUMBER]`: a run's name, and the number of an action."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        words: Any,
        _option: str | None = None,
    ) -> None:
        namespace.number = int(words.pop()) if words and words[-1].isdecimal() else None
        namespace.name = words.pop(0) if words else None
        if words:
            parser.error(
                f"{words[0]!r} is not the number of an action; %nbtrain actions lists them"
            )


class HelpShown(Exception):  # noqa: N818 - no error: the help was asked for
    """The help was printed, and there is nothing more to do."""


def line_parser() -> argparse.ArgumentParser:
    """The parser of `%nbtrain`."""
    parser = _Parser(prog="%nbtrain", description="Steer runs.")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    for verb, text in VERBS.items():
        add_arguments(verbs.add_parser(verb, help=text, description=text), verb)
    return parser


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Adds the arguments of a verb."""
    if verb == "list":
        return
    if verb == "runs":
        parser.add_argument("logdir", nargs="?", help="the folder; runs, where none is given")
        return
    if verb == "open":
        parser.add_argument("logdir", help="the folder of a run, such as runs/digits")
        return
    if verb == "replay":
        parser.add_argument("logdir", help="the folder of a run, such as runs/digits")
        parser.add_argument("name", nargs="?", metavar="RUN", help="a live run to make the edits")
        parser.add_argument("--timeout", type=_seconds, help="seconds to wait at most")
        return
    if verb in TABS:
        _add_board(parser.add_argument, verb)
        return
    if verb in ("set", "try"):
        # The name is parsed with the values: as a separate argument, argparse would take the first
        # value for it.
        parser.add_argument(
            "values",
            nargs="+",
            action=_Tried if verb == "try" else _Values,
            metavar="[RUN] NAME=VALUE",
            help=f"{_RUN}; then hyperparameters, such as learning_rate=1e-4"
            + (", or several values of one: learning_rate=3e-4,1e-3" if verb == "try" else ""),
        )
    elif verb == "actions":
        told = f"{_RUN}; then the number of an action"
        parser.usage = "%(prog)s [-h] [--timeout TIMEOUT] [RUN] [NUMBER]"
        parser.add_argument(
            "name", nargs="*", action=_Numbered, metavar="[RUN] [NUMBER]", help=told
        )
    else:
        parser.add_argument("name", nargs="?", help=_RUN)
    if verb == "log":
        _add_log(parser.add_argument)
        return
    if verb == "try":
        _add_trial(parser.add_argument)
    if verb == "find_learning_rate":
        add_range_test(parser.add_argument)
    if verb == "restore":
        parser.add_argument(
            "--step",
            type=_step_or_best,
            help="the checkpoint of this step, or `best`; else the latest",
        )
    if verb != "show":
        parser.add_argument("--timeout", type=_seconds, help="seconds to wait at most")


def add_range_test(add: Callable[..., object]) -> None:
    """Adds the arguments of a range test."""
    add("--low", type=float, default=1e-6, help="the rate of the first step (1e-6)")
    add("--high", type=float, default=1.0, help="the rate of the last step (1.0)")
    add("--steps", type=int, default=200, help="how many (200)")
    add("--tag", help="the recorded loss (loss, or the first with loss in its name)")
    add("--rate", metavar="NAME", help="the hyperparameter (the learning rate of the run)")
def _add_log(add: Callable[..., object]) -> None:
    add("-n", "--lines", type=int, default=20, help="the number of lines (20)")
    add("--level", choices=LEVELS, type=str.upper, default="DEBUG", help="the least level")
    add("--source", choices=SOURCES, help="lines of this source")
    add("--search", default="", metavar="TEXT", help="lines that contain this, in any case")


def _add_trial(add: Callable[..., object]) -> None:
    add("--steps", type=int, default=200, help="how many (200)")
    add(
        "--keep-if",
        metavar="TAG",
        help="a scalar that must not have got worse (val_loss; with several values, none: the "
        "run goes back, and its actions are the choice)",
    )
    add("--repeats", type=int, default=1, help="how often each is tried (1)")


def _add_board(add: Callable[..., object], tab: str) -> None:
    add("logdir", help="a folder; every run below it is shown")
    add("--runs", metavar="RE", help="runs in whose names this regular expression is found")
    add("--tags", metavar="RE", help="tags in which this regular expression is found")
    add("--follow", action="store_true", help="show what is being written")
    if tab not in CURVES:
        return
    add("--smooth", type=_weight, default=0.0, metavar="S", help="smoothing, 0 to below 1 (0)")
    add("--x", choices=("step", "relative", "wall"), default="step", help="the axis (step)")


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
    add("--evaluate-secs", type=float, help="seconds between two evaluations")
    add("--evaluate-steps", type=int, help="steps between two evaluations")
    add("--save-secs", type=float, default=600.0, help="seconds between two checkpoints (600)")
    add("--save-steps", type=int, help="steps between two checkpoints")
    add("--keep", type=int, default=5, help="how many checkpoints stay (5)")
    nan = "what to do where the loss is NaN or infinite (pause)"
    add("--on-nan", choices=ON_NAN, default="pause", help=nan)
    add("--jump", type=float, metavar="FACTOR", help="so many times the recent loss is bad as well")
    add("--grace", type=float, default=10.0, help="seconds that the kernel waits at its end (10)")
    add("--keep-best", metavar="TAG", help="keep the state with the best value of this scalar")
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
    return parser


def _number_in(text: str) -> float | str:
    """Returns the number in a text, or the text, which the run refuses with a message."""
    try:
        return float(text)
    except ValueError:
        return text


def _step_or_best(text: str) -> int | str:
    if text == "best":
        return text
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no checkpoint: give its step, or best"
        ) from None


def _seconds(text: str) -> float:
    return _number(text, math.inf, "time: give seconds, 0 or more")


def _weight(text: str) -> float:
    return _number(text, 1, "weight: give 0 or more, below 1")


def _number(text: str, limit: float, wanted: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < limit:
        raise argparse.ArgumentTypeError(f"{text!r} is no {wanted}")
    return number


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
