"""The verbs that steer a run: each sends one command and prints its answer."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtrain.core import command_states
from nbtrain.core.command_json import command_of
from nbtrain.core.commands import NO_SENDER, Command, Sender
from nbtrain.core.errors import ArgumentError, WaitError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.text.visible import say
from nbtrain.remote.attached import AttachedRun
from nbtrain.rundir.answers import fields_of
from nbtrain.steer.held_trial import post
from nbtrain.steer.learning_rate import range_test
from nbtrain.terminal.exits import DONE, NO_ANSWER, REFUSED, run_in

# Seconds of waiting for an answer that is held up, if nobody sees that it is.
_HELD_SECS = 1.0

_CODES = {
    command_states.APPLIED: DONE,
    command_states.REFUSED: REFUSED,
    command_states.UNANSWERED: NO_ANSWER,
}


def send(options: argparse.Namespace) -> int:
    """Sends the command of a line, waits for the answer and prints it."""
    told = posted(options.folder, asked(options), options.timeout)
    if options.json:
        say(json.dumps(told.fields), sys.stdout)
    elif told.late:
        say(f"no answer within {options.timeout:g} s: {told.outcome.text}")
    else:
        say(told.outcome, sys.stdout if told.outcome.applied else sys.stderr)
        if told.outcome.table:
            say(told.outcome.table, sys.stdout)
    return _CODES[told.state]


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
        """The state of the command; a late one is unanswered, whether it was taken back or not."""
        return command_states.UNANSWERED if self.late else self.outcome.state

    @property
    def fields(self) -> dict[str, Any]:
        """The answer for JSON."""
        return fields_of(self.name, self.outcome) | {"state": self.state}


def posted(
    folder: str | Path,
    command: Command | Callable[[AttachedRun], Command],
    timeout: float,
    sender: Sender = NO_SENDER,
    *,
    is_seen: bool = True,
) -> Answer:
    """Sends a command to the run in a folder, and waits for the answer.

    After `timeout` seconds the command is taken back, unless the run has taken it.

    Args:
        command: The command, or a function that returns it for the run.
        is_seen: Whether somebody sees meanwhile what holds the answer up, such as a pause. Else it
            is waited for no longer than a second.

    Raises:
        ArgumentError: There is no such command for this run.
        NoRunError: There is no run.
    """
    late, held = False, ""
    with run_in(folder) as run:
        given = command(run) if callable(command) else command
        receipt = post(run, given, sender=sender)
        try:
            _wait(receipt, timeout, is_seen=is_seen)
        except WaitError:
            late, held = True, receipt.held()
    # A command without an answer by now was taken back, or taken by the run.
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


def asked(options: argparse.Namespace) -> Command | Callable[[AttachedRun], Command]:
    """Returns the command of a line, or a function that returns it for a run.

    Raises:
        ArgumentError: It is not understood.
    """
    given = vars(options)
    if options.verb == "find_learning_rate":
        limits = {name: given[name] for name in ("low", "high", "steps", "tag", "rate")}
        return functools.partial(tested, **limits)
    fields = {"command": {"trial": "try"}.get(options.verb, options.verb)}
    fields |= {
        name: given[name] for name in ("steps", "keep_if", "halve", "repeats") if name in given
    }
    if "text" in given:
        fields["text"] = " ".join(options.text)
    if "tags" in given:
        fields["tags"] = options.tags
    if "values" in given:
        pair = _tried if options.verb == "trial" else _pair
        fields["values"] = dict(map(pair, options.values))
    if given.get("checkpoint") is not None:
        text = options.checkpoint.replace(",", "")
        fields["checkpoint"] = int(text) if text.isdecimal() else options.checkpoint
    return command_of(fields)


def tested(
    run: AttachedRun, low: float, high: float, steps: int, tag: str | None, rate: str | None
) -> Command:
    """Returns the command of a range test.

    Raises:
        ArgumentError: The run has no learning rate.
    """
    return range_test(run.status, low, high, steps=steps, tag=tag, name=rate)


def _pair(word: str) -> tuple[str, float]:
    name, equals, text = word.partition("=")
    try:
        if equals and name:
            return name, float(text)
    except ValueError:
        pass
    raise ArgumentError(
        f"{word!r} sets nothing: give a name and a number, such as learning_rate=1e-4."
    )


def _tried(word: str) -> tuple[str, float | list[float]]:
    """Parses a pair with one value or several: `learning_rate=3e-4,1e-3`."""
    name, _, text = word.partition("=")
    if "," not in text:
        return _pair(word)
    return name, [_pair(f"{name}={each}")[1] for each in text.split(",")]
