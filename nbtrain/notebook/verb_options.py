"""The arguments of the verbs of `%nbtrain`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

from nbtrain.core.text.log_lines import LEVELS, SOURCES

# The tabs that a board can open first.
TABS = {
    "scalars": "show the scalars of a logdir: what its event files hold",
    "images": "show the images of a logdir",
    "histograms": "show the histograms of a logdir",
    "distributions": "show the distributions of a logdir: the percentiles of its histograms",
    "text": "show the text of a logdir",
    "audio": "show the audio of a logdir",
    "pr_curves": "show the precision-recall curves of a logdir",
    "graphs": "show the graphs and Keras models of a logdir",
    "hparams": "show a logdir's runs with their hyperparameters and metrics",
    "custom_scalars": "show the charts that a logdir's layouts name",
    "compare": "show a logdir's runs side by side",
}
CURVES = ("scalars", "custom_scalars", "compare")  # the tabs that draw curves

_RUN = "a run's name; not needed where one run lives"


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


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Adds the arguments of a verb."""
    if verb == "list":
        return
    add = parser.add_argument
    if verb in ("runs", "open", "replay") or verb in TABS:
        _add_folder(add, verb)
        return
    if verb in ("note", "tag"):
        _add_annotation(add, verb)
        return
    if verb in ("set", "try"):
        # The name is parsed with the values: as a separate argument, argparse would take the first
        # value for it.
        add(
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
        add("name", nargs="*", action=_Numbered, metavar="[RUN] [NUMBER]", help=told)
    else:
        add("name", nargs="?", help=_RUN)
    more = {"log": _add_log, "try": _add_trial, "find_learning_rate": _add_range_test}
    if verb in more:
        more[verb](add)
    if verb == "restore":
        told = "the checkpoint of this step, or `best`; else the latest"
        add("--step", type=_step_or_best, help=told)
    if verb not in ("show", "log"):
        add("--timeout", type=_seconds, help="seconds to wait at most")


def _add_folder(add: Callable[..., object], verb: str) -> None:
    """Adds the arguments of a verb about a folder."""
    if verb in TABS:
        _add_board(add, verb)
    elif verb == "runs":
        add("logdir", nargs="?", help="the folder; runs, where none is given")
        add("--tag", help="only runs with this tag")
        told = "only runs with this in their names, tags or notes"
        add("--search", default="", metavar="TEXT", help=told)
    else:
        add("logdir", help="the folder of a run, such as runs/digits")
    if verb == "replay":
        add("name", nargs="?", metavar="RUN", help="a live run to make the edits")
        add("--timeout", type=_seconds, help="seconds to wait at most")


def _add_annotation(add: Callable[..., object], verb: str) -> None:
    """Adds the arguments of a note or of tags."""
    if verb == "note":
        add("words", nargs="+", metavar="TEXT", help="the note")
    else:
        add("words", nargs="*", metavar="TAG", help="a word, such as baseline")
    add("--run", dest="name", help=_RUN)
    add("--timeout", type=_seconds, help="seconds to wait at most")


def _add_range_test(add: Callable[..., object]) -> None:
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
        help="a scalar that must not have got worse: TAG, max:TAG or min:TAG (val_loss; with "
        "several values, none: the run goes back, and its actions are the choice)",
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
