"""The verbs that steer a run: each sends one command and prints its answer."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtrain.core import command_states
from nbtrain.core.commands import NO_SENDER, Sender, Set, Try
from nbtrain.core.errors import ArgumentError, WaitError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.text.visible import say
from nbtrain.rundir.answers import fields_of
from nbtrain.steer.requests import Asked, post
from nbtrain.terminal.exits import DONE, NO_ANSWER, REFUSED, run_in

# Seconds of waiting for an answer that is delayed, if nobody sees the reason of the delay.
_HELD_SECS = 1.0

_CODES = {
    command_states.APPLIED: DONE,
    command_states.REFUSED: REFUSED,
    command_states.UNANSWERED: NO_ANSWER,
}


def send(options: argparse.Namespace) -> int:
    """Sends the command of a line, waits for the answer and prints the answer."""
    answer = posted(options.folder, asked(options), options.timeout)
    if options.json:
        say(json.dumps(answer.fields), sys.stdout)
    elif answer.late:
        say(f"no answer within {options.timeout:g} s: {answer.outcome.text}")
    else:
        say(answer.outcome, sys.stdout if answer.outcome.applied else sys.stderr)
        if answer.outcome.table:
            say(answer.outcome.table, sys.stdout)
    return _CODES[answer.state]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a command.

    Attributes:
        name: The command's name.
        outcome: The result; not applied if no answer has come in time.
        late: Whether no answer has come in time.
    """

    name: str
    outcome: Outcome
    late: bool

    @property
    def state(self) -> str:
        """The state of the command; unanswered if the answer is late, even after a withdrawal."""
        return command_states.UNANSWERED if self.late else self.outcome.state

    @property
    def fields(self) -> dict[str, Any]:
        """The answer for JSON."""
        return fields_of(self.name, self.outcome) | {"state": self.state}


def posted(
    folder: str | Path,
    asked: Asked,
    timeout: float,
    sender: Sender = NO_SENDER,
    *,
    is_seen: bool = True,
) -> Answer:
    """Sends a command to the run in a folder, and waits for the answer.

    After `timeout` seconds the command is withdrawn, unless the run has received it already.

    Args:
        asked: The command, or a function that makes the command for the run.
        is_seen: Whether a reader sees meanwhile what delays the answer, such as a pause. If not,
            this function waits at most a second for a delayed answer.

    Raises:
        ArgumentError: There is no such command for this run.
        NoRunError: There is no run.
    """
    late, held = False, ""
    with run_in(folder) as run:
        receipt = post(run, asked, sender=sender)
        try:
            _wait(receipt, timeout, is_seen=is_seen)
        except WaitError:
            late, held = True, receipt.held()
    # A command without an answer by now was withdrawn, or the run has received it.
    outcome = receipt.wait()
    if late and held:
        outcome = replace(outcome, text=f"{outcome.text} {held}")
    return Answer(receipt.name, outcome, late and not outcome.applied)


def _wait(receipt: Receipt, timeout: float, *, is_seen: bool) -> None:
    first = timeout if is_seen else min(timeout, _HELD_SECS)
    try:
        receipt.wait(first)
    except WaitError:
        if first == timeout or receipt.held():
            raise
        receipt.wait(timeout - first)


def asked(options: argparse.Namespace) -> Asked:
    """Returns the command of a line, or a function that makes it for the run.

    Raises:
        ArgumentError: The line cannot be parsed, or a value is not a number.
    """
    command: Asked = options.steers.read(vars(options))
    if isinstance(command, Set | Try):
        for name, value in command.values.items():
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, str):
                    raise ArgumentError(
                        f"{f'{name}={each}'!r} sets nothing: give a name and a number, such as "
                        "learning_rate=1e-4."
                    )
    return command
