"""The tools of an agent: their arguments, results and descriptions.

The descriptions are the docstrings of the tools, and the table of verbs. The tools raise errors,
and `mcp` turns them into answers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from nbtrain.core.commands import Sender
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.text_table import some
from nbtrain.remote.outbox import sender_here
from nbtrain.rundir.entries import entries
from nbtrain.rundir.names import LOG
from nbtrain.steer.requests import Asked
from nbtrain.steer.verbs import REQUIRED, Argument, Verb, sentence
from nbtrain.terminal import commands, listing, log
from nbtrain.terminal.exits import NoRunError, run_in
from nbtrain.terminal.summaries import summaries

# The most runs, checkpoints and characters of a log in an answer; seconds to wait for curves.
_RUNS, _CHECKPOINTS, _CHARS = 100, 10, 20_000
_READ_SECS = 60.0

# Bytes that are read at the end of a log: more than an answer contains.
_LOG_BYTES = 1 << 22

Fields = dict[str, Any]
Run = Annotated[str, Field(description="The name of the run from list_runs, such as digits.")]
Seconds = Annotated[float, Field(ge=0, le=3600, description="Seconds to wait for the answer.")]
Lines = Annotated[int, Field(ge=1, le=1000, description="The most lines to return, the newest.")]


class FolderTools:
    """The folders of the runs that are visible to an agent.

    Args:
        base: The folder that contains them.
    """

    def __init__(self, base: Path) -> None:
        self.base = base.resolve()

    def name(self, folder: Path) -> str:
        """Returns the name of a run."""
        return folder.relative_to(self.base).as_posix()

    def of(self, run: str) -> Path:
        """Returns the folder of a run.

        Raises:
            ArgumentError: The name is not that of a folder below `base`.
        """
        try:
            folder = (self.base / run).resolve()
        except (ValueError, OSError) as error:  # a null character, a loop of links
            raise ArgumentError(f"{run!r} names no run: {error}.") from None
        if not folder.is_relative_to(self.base):
            raise ArgumentError(
                f"{run!r} is not below {self.base}: give the name of a run as list_runs shows it."
            )
        if not folder.exists():
            runs = listing.runs_below(self.base)
            there = [repr(self.name(each.folder)) for each in runs]
            named = f" Runs there: {some(there)}." if there else ""
            raise ArgumentError(f"There is no folder {run!r}: give the name of a run.{named}")
        return folder


class Reading:
    """The tools that change nothing."""

    def __init__(self, folders: FolderTools) -> None:
        self._folders = folders

    def list_runs(self) -> Fields:
        """Lists the runs with their phases and steps, the latest sign of life first.

        `silent` means that a run has not ended, but its process gives no sign of life.
        """
        found = listing.runs_below(self._folders.base)
        runs = [
            {
                "run": self._folders.name(each.folder),
                "phase": each.status.phase,
                "step": each.status.step,
                "total_steps": each.status.total_steps,
                "epoch": each.status.epoch,
                "epochs": each.status.epochs,
                "seconds_since_sign_of_life": round(max(0.0, time.time() - each.sign.alive), 1),
                "silent": each.silent,
            }
            for each in found[:_RUNS]
        ]
        return {"folder": str(self._folders.base), "runs": runs, "more": len(found) - len(runs)}

    def get_status(self, run: Run) -> Fields:
        """Returns the status of a run.

        Includes phase, step, speed, last values, hyperparameters with their ranges, the newest
        checkpoints, messages, and the process that trains. `silent` means that the process gives
        no sign of life.
        """
        with run_in(self._folders.of(run)) as found:
            silent = listing.is_silent(found)
            fields = listing.fields_of(found.logdir, found.sign, found.status)
        return fields | {"checkpoints": fields["checkpoints"][-_CHECKPOINTS:], "silent": silent}

    def get_curves(
        self,
        run: Run,
        tags: Annotated[tuple[str, ...], Field(description="The tags; without any, all.")] = (),
        points: Annotated[
            int, Field(ge=2, le=1000, description="The most points of each curve.")
        ] = 20,
        from_step: Annotated[int, Field(ge=0, description="The first step to include.")] = 0,
    ) -> Fields:
        """Summarizes the recorded scalars of a run.

        For each tag, returns the number of points, how many of them are abandoned or not finite,
        the first, last, lowest and highest as [step, value], and points spread evenly over the
        curve. Abandoned points are only counted.
        """
        with run_in(self._folders.of(run)) as found:
            complete = found.read(_READ_SECS)
            fields = summaries(found.scalars, tags, points=points, from_step=from_step)
        return fields | {"complete": complete}

    def get_journal(self, run: Run, last: Lines = 20) -> Fields:
        """Returns the newest lines of a run's journal.

        Includes starts and ends, every command with its answer (`applied`, `text`) and its sender
        (`by`), checkpoints, and what the run did by itself.
        """
        folder = self._folders.of(run)
        with run_in(folder):  # raises an error if there is no run
            pass
        try:
            return {"lines": list(deque(entries(folder), last))}
        except FileNotFoundError:
            return {"lines": []}
        except OSError as error:
            raise NoRunError(f"{error.filename} cannot be read: {error.strerror}.") from None

    def get_log(self, run: Run, last: Lines = 50) -> Fields:
        """Returns the newest lines of the log of a run.

        Each line has its time, step, level and source.
        """
        with log.opened(self._folders.of(run) / LOG, _LOG_BYTES) as file:
            text = "".join(deque(log.lines_of(file), last))
        return {"text": text[-_CHARS:], "left_out_characters": max(0, len(text) - _CHARS)}


class Steering:
    """The tools that steer a run: each sends one command and returns its answer.

    `state` is applied, refused (`text` says why, and nothing has changed) or unanswered.
    """

    def __init__(self, folders: FolderTools) -> None:
        self._folders = folders

    def tool(self, verb: Verb) -> Callable[..., Fields]:
        """Returns the tool of a verb, with the signature that the protocol's library reads."""

        def call(run: str, context: Context[Any, Any], timeout: float, **given: Any) -> Fields:
            return self._send(verb.make(**given), run, context, timeout)

        kinds = {each.name: _annotated(each) for each in verb.arguments}
        kinds = {"run": Run, **kinds, "context": Context[Any, Any], "timeout": Seconds}
        defaults = {each.name: each.default for each in verb.arguments} | {"timeout": verb.secs}
        parameters = [
            Parameter(
                each, Parameter.KEYWORD_ONLY, default=defaults.get(each, REQUIRED), annotation=kind
            )
            for each, kind in kinds.items()
        ]
        call.__name__, call.__doc__, call.__annotations__ = verb.name, verb.about, kinds
        signature = Signature(parameters, return_annotation=Fields)
        call.__signature__ = signature  # type: ignore[attr-defined] # as PEP 362 has it
        return call

    def _send(self, asked: Asked, run: str, context: Context[Any, Any], secs: float) -> Fields:
        sender = Sender(by=f"mcp ({_client(context)}), {sender_here()}")
        answer = commands.posted(self._folders.of(run), asked, secs, sender, is_seen=False)
        if not answer.late:
            return answer.fields
        text = f"No answer in time: {answer.outcome.text.rstrip('.')}."
        if not answer.outcome.answered:
            text += " get_journal shows its answer later."
        return answer.fields | {"text": text}


def _annotated(argument: Argument) -> Any:
    """Returns the type of an argument with its description and its bounds."""
    kind = argument.kind.type if argument.default is not None else argument.kind.type | None
    return Annotated[kind, Field(description=sentence(argument.help), **argument.kind.bounds)]


def _client(context: Context[Any, Any]) -> str:
    """Returns the client's own name, without characters that cannot be printed."""
    known = context.session.client_params
    name = "" if known is None else "".join(filter(str.isprintable, known.client_info.name))
    return name[:80] or "a client without a name"
