"""The verbs of `%nbtrain` and their arguments: those of the common table, and a cell's own."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from nbtrain.steer.verbs import VERBS, Verb, add_log_options, named, number, seconds

# The tabs that a board can open first.
TABS = {
    "scalars": "show the scalars of a logdir, from its event files",
    "images": "show the images of a logdir",
    "histograms": "show the histograms of a logdir",
    "distributions": "show the distributions of a logdir: the percentiles of its histograms",
    "text": "show the text of a logdir",
    "audio": "show the audio of a logdir",
    "pr_curves": "show the precision-recall curves of a logdir",
    "graphs": "show the graphs and Keras models of a logdir",
    "hparams": "show a logdir's runs with their hyperparameters and metrics",
    "custom_scalars": "show the charts that a logdir's layouts define",
    "compare": "show a logdir's runs side by side",
}
CURVES = ("scalars", "custom_scalars", "compare")  # the tabs that draw curves

# The verbs about the folder of a run.
FOLDERS = ("open", "replay", "delete", "rename")

# The verbs that are not in the table, because they need the kernel, or send no command.
OWN = {
    "list": "list the runs of this kernel, and those attached",
    "runs": "list the runs below a folder, from every kernel, each branch below its parent",
    "open": "attach a run of another process by its folder, and show it",
    "show": "show the panel of a run",
    "actions": "list the actions of the newest marks with their numbers; with NUMBER, execute one",
    "replay": "show the history of a run; with RUN, repeat its edits in that run",
    "wait": "wait for the end of a run, and show the run",
    "log": "show the newest lines of the log of a run",
    "delete": "ask, then delete the folder of a run that has ended",
    "rename": "rename a run that has ended, and its folder",
    **TABS,
}

_RUN = "the name of a run; not needed if one run is live"


def verbs() -> dict[str, str]:
    """Returns the help of every verb of `%nbtrain`, by its usual name in a cell."""
    return {verb.in_cell or verb.name: verb.help for verb in VERBS.values()} | OWN


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
        namespace.run = words.pop(0) if words else None
        if words:
            parser.error(
                f"{words[0]!r} is not the number of an action: %nbtrain actions lists the numbers"
            )


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds the arguments of a verb."""
    verb, add = named(name), parser.add_argument
    if verb is not None:
        _add_steering(parser, verb)
    elif name in TABS:
        _add_board(add, name)
    elif name == "runs":
        add("logdir", nargs="?", help="the folder (runs)")
        add("--tag", help="only runs with this tag")
        text = "only runs with this in their names, config, tags or notes"
        add("--search", default="", metavar="TEXT", help=text)
        text = "sort the runs by the best value of a metric, such as val_loss or max:val_f1"
        add("--by", metavar="METRIC", help=text)
    elif name in FOLDERS:
        add("logdir", help="the folder of a run, such as runs/digits")
        if name == "replay":
            add("run", nargs="?", metavar="RUN", help="the live run that repeats the edits")
        elif name == "delete":
            add("--yes", action="store_true", help="delete without a question")
        elif name == "rename":
            add("name", help="the new name")
    elif name == "actions":
        text = f"{_RUN}; then the number of an action"
        parser.usage = "%(prog)s [-h] [--timeout TIMEOUT] [RUN] [NUMBER]"
        add("run", nargs="*", action=_Numbered, metavar="[RUN] [NUMBER]", help=text)
    elif name != "list":
        add("run", nargs="?", metavar="RUN", help=_RUN)
        if name == "log":
            add_log_options(parser)
    if verb is not None or name in ("actions", "replay", "wait"):
        add("--timeout", type=seconds, help="the most seconds to wait")


def _add_steering(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Adds the name of a run, and the arguments of a verb of the table."""
    if verb.words is None:
        parser.add_argument("run", nargs="?", metavar="RUN", help=_RUN)
    elif not verb.sets_values:
        parser.add_argument("--run", metavar="NAME", help=_RUN)
    for argument in verb.arguments:
        more = {}
        if argument is verb.words and verb.sets_values:
            # The name is parsed with the values: argparse would use the first value as the name.
            more = {"metavar": "[RUN] NAME=VALUE", "help": f"{_RUN}; then {argument.help_text}"}
        argument.add_to(parser, bare=False, **more)


def _add_board(add: Callable[..., object], tab: str) -> None:
    add("logdir", help="a folder with runs in it or below it")
    add("--runs", metavar="RE", help="only runs whose names match this regular expression")
    add("--tags", metavar="RE", help="only tags that match this regular expression")
    add("--follow", action="store_true", help="follow files that are being written")
    if tab not in CURVES:
        return
    add("--smooth", type=_weight, default=0.0, metavar="S", help="smoothing, 0 to below 1 (0)")
    add("--x", choices=("step", "relative", "wall"), default="step", help="the axis (step)")


def _weight(text: str) -> float:
    return number(text, 1, "a weight: give 0 or more, below 1")
