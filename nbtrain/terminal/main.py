"""The command line: `nbtrain status runs/digits`, `nbtrain pause runs/digits`, and so on.

The exit codes are: 0 done, or the run is well; 1 refused, or the run has failed; 2 the line cannot
be parsed; 3 there is no such run; 4 no answer, or no sign of life, in time; 130 ended by Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.core.text.visible import say
from nbtrain.steer import run_folders
from nbtrain.steer.verbs import VERBS, add_log_options, seconds, sentence
from nbtrain.terminal import commands, listing, log, watch
from nbtrain.terminal.exits import DONE, INTERRUPTED, NO_RUN, REFUSED, USAGE, NoRunError, run_in

_FOLDER = "the folder of a run, such as runs/digits"

_MCP = "serve the runs below a folder to an agent over stdio, by the Model Context Protocol"


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="nbtrain",
        description="Watch and steer trainings from a terminal, through the folders of their runs.",
        epilog="Exit codes: 0 done, 1 refused or failed, 2 usage, 3 no such run, 4 no answer or "
        "no sign of life in time, 130 ended by Ctrl-C.",
    )
    verbs = made.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_looking(verbs)
    _add_changing(verbs)
    _add_steering(verbs)
    return made


def _add(
    verbs: Any, verb: str, text: str, act: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(verb, help=text, description=sentence(text))
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
    add("status", "show the status of a run", listing.status)
    add("watch", "show a run live until its end or Ctrl-C", watch.watch)
    sub = add("log", "show the log of a run", log.show)
    add_log_options(sub)
    sub.add_argument(
        "-f", "--follow", action="store_true", help="show new lines until the run ends"
    )
    sub = _add(verbs, "mcp", _MCP, _mcp)
    sub.add_argument("folder", nargs="?", default="runs", help="the folder of the runs (runs)")
    sub.add_argument(
        "--allow-steering", action="store_true", help="offer the commands that steer runs, too"
    )


def _add_changing(verbs: Any) -> None:
    """Adds the verbs that change the folder of a run that has ended."""
    sub = _add(verbs, "delete", "ask, then delete the folder of a run that has ended", _delete)
    sub.add_argument("folder", help=_FOLDER)
    sub.add_argument("--yes", action="store_true", help="delete without a question")
    sub = _add(verbs, "rename", "rename a run that has ended, and its folder", _rename)
    sub.add_argument("folder", help=_FOLDER)
    sub.add_argument("name", help="the new name")


def _add_steering(verbs: Any) -> None:
    """Adds the verbs that send a command to a run."""
    for verb in VERBS.values():
        others = [verb.in_cell] if verb.in_cell else []
        sub = verbs.add_parser(verb.name, aliases=others, help=verb.help, description=verb.about)
        sub.set_defaults(act=commands.send, steers=verb)
        sub.add_argument("--json", action="store_true", help="print JSON")
        sub.add_argument("folder", help=_FOLDER)
        secs = "seconds to wait (30)"
        sub.add_argument("--timeout", type=seconds, default=30.0, metavar="SECS", help=secs)
        for argument in verb.arguments:
            argument.add_to(sub, bare=True)


def _require_run(folder: str) -> None:
    """Raises NoRunError unless a folder contains a run."""
    run_in(folder).close()


def _delete(options: argparse.Namespace) -> int:
    """Deletes the folder of a run."""
    _require_run(options.folder)
    say(run_folders.delete(options.folder, asks=not options.yes), sys.stdout)
    return DONE


def _rename(options: argparse.Namespace) -> int:
    """Renames a run."""
    _require_run(options.folder)
    say(run_folders.rename(options.folder, options.name), sys.stdout)
    return DONE


def _mcp(options: argparse.Namespace) -> int:
    """Serves runs to an agent.

    Raises:
        NbtrainError: The protocol's library is not installed.
    """
    try:
        import mcp  # noqa: F401 - its own imports would hide which one is missing
    except ImportError:
        raise NbtrainError(
            'The Model Context Protocol needs a library: pip install "nbtrain[mcp]"'
        ) from None
    from nbtrain.terminal.mcp import serve

    return serve(Path(options.folder).expanduser(), allow_steering=options.allow_steering)


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
