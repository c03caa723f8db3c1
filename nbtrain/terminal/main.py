"""The command line: `nbtrain status runs/digits`, `nbtrain pause runs/digits`, and so on.

The exit code tells what became of it: 0 done, or the run is well; 1 refused, or the run has failed;
2 the line cannot be understood; 3 there is no such run; 4 no answer, or no sign of life, in time;
130 ended by Ctrl-C.
"""

from __future__ import annotations

import argparse
import math
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.core.text.log_lines import LEVELS, SOURCES
from nbtrain.core.text.visible import say
from nbtrain.terminal import commands, listing, log, watch
from nbtrain.terminal.exits import INTERRUPTED, NO_RUN, REFUSED, USAGE, NoRunError

_FOLDER = "the folder of a run, such as runs/digits"

# The commands without arguments of their own.
_PLAIN = {
    "pause": "take no further step until resumed",
    "resume": "go on after a pause",
    "stop": "end the run after the step at hand, with a last checkpoint",
    "save": "write a checkpoint",
    "evaluate": "evaluate now, also while paused",
}

_MCP = "serve the runs below a folder to an agent, by the Model Context Protocol over stdio"


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        prog="nbtrain",
        description="See and steer trainings from a terminal, through the folders of their runs.",
        epilog="Exit codes: 0 done, 1 refused or failed, 2 usage, 3 no such run, 4 no answer or "
        "no sign of life in time, 130 ended by Ctrl-C.",
    )
    verbs = made.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_looking(verbs)
    _add_steering(verbs)
    return made


def _add(
    verbs: Any, verb: str, text: str, act: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(
        verb, help=text, description=text[0].upper() + text[1:] + "."
    )
    made.set_defaults(act=act)
    return made


def _add_looking(verbs: Any) -> None:
    """Adds the verbs that show runs."""

    def add(
        verb: str, text: str, act: Callable[[argparse.Namespace], int], *, below: bool = False
    ) -> argparse.ArgumentParser:
        sub = _add(verbs, verb, text, act)
        sub.add_argument("--json", action="store_true", help="print JSON")
        if below:
            sub.add_argument("folder", nargs="?", default="runs", help="the folder (runs)")
            sub.add_argument("--tag", action="append", default=[], help="only runs with this tag")
        else:
            sub.add_argument("folder", help=_FOLDER)
        return sub

    add("ls", "list the runs below a folder", listing.ls, below=True)
    add("status", "show how a run stands", listing.status)
    add("watch", "show a run live, until it ends or Ctrl-C", watch.watch)
    sub = add("log", "show what a run has printed and logged", log.show)
    sub.add_argument("-n", "--lines", type=int, default=20, help="the number of lines (20)")
    _filters(sub.add_argument)
    sub.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")
    sub = _add(verbs, "mcp", _MCP, _mcp)
    sub.add_argument("folder", nargs="?", default="runs", help="the folder of the runs (runs)")
    sub.add_argument(
        "--allow-steering", action="store_true", help="offer the commands that steer runs, too"
    )


def _add_steering(verbs: Any) -> None:
    """Adds the verbs that send a command to a run."""

    def add(verb: str, text: str) -> argparse.ArgumentParser:
        sub = _add(verbs, verb, text, commands.send)
        sub.add_argument("--json", action="store_true", help="print JSON")
        sub.add_argument("folder", help=_FOLDER)
        sub.add_argument(
            "--timeout", type=_seconds, default=30.0, metavar="SECS", help="seconds to wait (30)"
        )
        return sub

    for verb, text in _PLAIN.items():
        add(verb, text)
    sub = add("restore", "go back to a checkpoint")
    told = "its step or path, or `best`; without it, the latest"
    sub.add_argument("checkpoint", nargs="?", help=told)
    sub.add_argument("--halve", metavar="NAME", help="halve this hyperparameter afterwards")
    sub = add("note", "add a note to the history of a run, also after its end")
    sub.add_argument("text", nargs="+", help="the note")
    sub = add("tag", "give a run these tags in place of those that it has")
    sub.add_argument("tags", nargs="*", metavar="TAG", help="a word, such as baseline")
    _values(add("set", "give hyperparameters other values, all or none"))
    sub = add(
        "trial", "train some steps with another value, or several, then keep the best or go back"
    )
    _values(sub, ", or several values of one: learning_rate=3e-4,1e-3")
    sub.add_argument("--steps", type=int, default=200, help="the number of steps (200)")
    told = "a scalar that must not get worse: TAG, max:TAG or min:TAG (val_loss)"
    sub.add_argument("--keep-if", metavar="TAG", help=told)
    sub.add_argument("--repeats", type=int, default=1, help="how often each is tried (1)")
    sub = add(
        "find_learning_rate",
        "suggest a learning rate by a range test, then go back",
    )
    sub.add_argument("--low", type=float, default=1e-6, help="the rate of the first step (1e-6)")
    sub.add_argument("--high", type=float, default=1.0, help="the rate of the last step (1.0)")
    sub.add_argument("--steps", type=int, default=200, help="the number of steps (200)")
    sub.add_argument("--tag", help="the recorded loss (loss, or the first with loss in its name)")
    told = "the hyperparameter (the learning rate of the run)"
    sub.add_argument("--rate", metavar="NAME", help=told)


def _filters(add: Callable[..., object]) -> None:
    """Adds the options that choose lines of a log."""
    add("--level", choices=LEVELS, type=str.upper, default="DEBUG", help="the least level")
    add("--source", choices=SOURCES, help="lines of this source")
    add("--search", default="", metavar="TEXT", help="lines that contain this, in any case")


def _mcp(options: argparse.Namespace) -> int:
    """Serves runs to an agent.

    Raises:
        NbtrainError: The protocol's library is not installed.
    """
    try:
        import mcp  # noqa: F401 - its own imports would hide which one is missing
    except ImportError:
        raise NbtrainError(
            'the Model Context Protocol needs a library: pip install "nbtrain[mcp]"'
        ) from None
    from nbtrain.terminal.mcp import serve

    return serve(Path(options.folder).expanduser(), allow_steering=options.allow_steering)


def _seconds(text: str) -> float:
    """Returns seconds to wait.

    Raises:
        ArgumentTypeError: The text is no number, or a wait cannot be as long.
    """
    try:
        secs = float(text)
    except ValueError:
        secs = math.nan
    if not 0 <= secs <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r}: give seconds, 0 or more.")
    return secs


def _values(sub: argparse._ActionsContainer, more: str = "") -> None:
    told = f"such as learning_rate=1e-4{more}"
    sub.add_argument("values", nargs="+", metavar="NAME=VALUE", help=told)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, and returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        return int(options.act(options))
    except NbtrainError as error:
        say(f"nbtrain {options.verb}: {error}")
        if isinstance(error, NoRunError):
            return NO_RUN
        return USAGE if isinstance(error, ArgumentError) else REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `nbtrain ls | head`
        sys.stderr.close()
        return 0
