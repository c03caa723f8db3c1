"""Executes the verbs of `%nbtrain` that concern runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from nbtrain.core.errors import WaitError
from nbtrain.core.receipts import Receipt
from nbtrain.core.text.log_lines import selected
from nbtrain.core.text.text_table import in_columns
from nbtrain.core.text.visible import say
from nbtrain.notebook.display import AnyRun, show, show_panel
from nbtrain.notebook.kernel import attached, find_run, named_runs
from nbtrain.notebook.listed_actions import action_by_number, list_actions
from nbtrain.notebook.run_tree import tree
from nbtrain.remote.attach import attach
from nbtrain.steer import run_folders
from nbtrain.steer.replay import replay
from nbtrain.steer.requests import Asked, post
from nbtrain.steer.verbs import Verb, named

# Seconds to wait for an answer, so that the cell can show it; most steps are shorter.
_ANSWER_SECS = 1.0


def execute(options: argparse.Namespace) -> Any:
    """Executes a line, prints or shows the answer, and returns the value of the cell."""
    __tracebackhide__ = True
    if options.verb in (None, "list"):
        say(table(named_runs()), sys.stdout)
        return None
    if options.verb == "runs":
        say(tree(options.logdir, options.tag, options.search, options.by), sys.stdout)
        return None
    if options.verb == "replay":
        plan = replay(options.logdir)
        if options.run is None:
            return plan
        return _answered(plan.apply(find_run(options.run)), options.timeout)
    if options.verb == "open":
        return show(_opened(options.logdir))
    if options.verb in ("delete", "rename"):
        say(_change_folder(options), sys.stdout)
        return None
    names = [None, *(run.name for run in named_runs())]
    if options.verb == "actions" and options.run not in names:
        raise UsageError(
            f"{options.run!r} is neither a run of this kernel nor the number of an action: "
            "%nbtrain actions lists the numbers"
        )
    if verb := named(options.verb):
        asked = _asked(verb, options)
        return _answered(post(find_run(options.run), asked), options.timeout)
    run = find_run(options.run)
    if options.verb == "show":
        show_panel(run)
        return None
    if options.verb == "log":
        _print_log(run, options)
        return None
    if options.verb == "wait":
        return run.wait(options.timeout)
    if options.number is not None:
        return _answered(run.do(action_by_number(run, options.number)), options.timeout)
    say(list_actions(run), sys.stdout)
    return None


def _opened(logdir: str) -> AnyRun:
    """Returns the attached run of a folder; attaches it if it is not attached yet."""
    folder = Path(logdir).expanduser().absolute()
    return next((run for run in attached() if run.logdir == folder), None) or attach(logdir)


def _change_folder(options: argparse.Namespace) -> str:
    """Deletes or renames a run; returns what was done."""
    if options.verb == "delete":
        return run_folders.delete(options.logdir, asks=not options.yes)
    return run_folders.rename(options.logdir, options.name)


def _print_log(run: AnyRun, options: argparse.Namespace) -> None:
    lines = selected(run.log, level=options.level, source=options.source, text=options.search)
    shown = lines[max(0, len(lines) - max(0, options.lines)) :]
    say("\n".join(map(str, shown)), sys.stdout)


def _asked(verb: Verb, options: argparse.Namespace) -> Asked:
    """Returns the command of a line; in `[RUN] NAME=VALUE ...`, first separates the run."""
    if verb.sets_values:
        options.run = None if "=" in options.values[0] else options.values.pop(0)
        if not options.values:
            raise UsageError(
                f"%nbtrain {options.verb} {options.run}: give a name and a value, "
                "such as learning_rate=1e-4."
            )
    return verb.read(vars(options))


def _answered(receipt: Receipt, timeout: float | None) -> Receipt:
    """Waits for the answer to a command, and returns its receipt.

    With `timeout` None, waits one second and raises no error if there is no answer.

    Raises:
        WaitError: There is no answer after `timeout` seconds.
    """
    try:
        receipt.wait(_ANSWER_SECS if timeout is None else timeout)
    except WaitError:
        if timeout is not None:
            raise
    return receipt


def table(listed: Sequence[AnyRun]) -> str:
    """Formats runs as a table: name, phase, step and folder."""
    if not listed:
        return "No run has been started in this kernel."
    rows = [("run", "phase", "step", "folder")]
    for run in listed:
        total = f" of {run.total_steps:,}" if run.total_steps else ""
        step = f"{run.status.step:,}{total}"
        rows.append((run.name, str(run.status.phase), step, os.path.relpath(run.logdir)))
    return in_columns(rows)
