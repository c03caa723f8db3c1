"""Serves runs to an agent, by the Model Context Protocol over standard input and output.

nbtrain mcp runs                     # list_runs, get_status, get_curves, get_journal, get_log
nbtrain mcp runs --allow-steering    # and the verbs that steer a run

No port is opened, and only runs below the folder are visible. Every command is answered, and the
run's journal names the client that has sent it. While the server runs, the protocol's library
redirects all other standard output to the standard error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ParamSpec

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.rundir.status_file import plain
from nbtrain.steer.verbs import VERBS
from nbtrain.terminal.exits import DONE
from nbtrain.terminal.mcp_tools import Fields, FolderTools, Reading, Steering

_INSTRUCTIONS = (
    "Trainings by TensorFlow, each in a folder. list_runs returns their names for the other tools. "
    "Steps are counted from 1. A point, mark or checkpoint is abandoned if the run has restored an "
    "earlier step since. NaN and infinities are the words NaN, Infinity and -Infinity."
)
_STEERING = (
    " Commands are executed between two steps of the training, and answered. To change a "
    "hyperparameter, prefer trial to set: a trial undoes its change unless a metric is at least "
    "as good as before."
)

_READING = (
    " This server only reads. A server started with --allow-steering also pauses, saves, sets, "
    "restores and stops."
)

_Parameters = ParamSpec("_Parameters")


class _Server(MCPServer[Any]):
    """A server that refuses unknown arguments.

    The protocol's library drops unknown arguments: `restore(step=1200)` would restore the latest
    checkpoint.
    """

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        for tool in await self.list_tools():
            if tool.name == name:
                _check(name, arguments, list(tool.input_schema.get("properties", ())))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_lacks(name, error.__cause__)) from error
            raise


def serve(base: Path, *, allow_steering: bool) -> int:
    """Serves the runs below a folder until the client closes the standard input.

    Raises:
        ArgumentError: There is no such folder.
    """
    if not base.is_dir():
        raise ArgumentError(f"There is no folder {str(base)!r}: give one with runs in it.")
    server(base, allow_steering=allow_steering).run("stdio")
    return DONE


def server(base: Path, *, allow_steering: bool) -> MCPServer[Any]:
    """Returns the server with its tools."""
    text = _INSTRUCTIONS + (_STEERING if allow_steering else _READING)
    made = _Server("nbtrain", instructions=text, log_level="WARNING")
    reading = Reading(FolderTools(base))
    _add(
        made,
        ToolAnnotations(read_only_hint=True, open_world_hint=False),
        *(reading.list_runs, reading.get_status, reading.get_curves),
        *(reading.get_journal, reading.get_log),
    )
    if allow_steering:
        steering = Steering(FolderTools(base))
        # Tools whose effect can be undone come first.
        for verb in sorted(VERBS.values(), key=lambda verb: verb.is_destructive):
            hints = ToolAnnotations(destructive_hint=verb.is_destructive, open_world_hint=False)
            _add(made, hints, steering.tool(verb))
    return made


def _add(made: MCPServer[Any], hints: ToolAnnotations, *tools: Callable[..., Fields]) -> None:
    for tool in tools:
        about = inspect.cleandoc(tool.__doc__ or "")
        made.add_tool(_answering(tool), description=about, annotations=hints)


def _check(tool: str, arguments: Iterable[str], known: Sequence[str]) -> None:
    unknown = [name for name in arguments if name not in known]
    if unknown:
        has = f"its arguments: {', '.join(known)}" if known else "it has none"
        raise ToolError(f"{tool} has no argument {unknown[0]!r}; {has}. Nothing was done.")


def _lacks(tool: str, error: ValidationError) -> str:
    """Returns a text that names the wrong arguments."""
    lacks = {
        ".".join(map(str, each["loc"])): each["msg"][:1].lower() + each["msg"][1:]
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    }
    words = "; ".join(f"{where}: {what}" for where, what in lacks.items())
    return f"{tool} was called with wrong arguments: {words}. Nothing was done."


def _answering(tool: Callable[_Parameters, Fields]) -> Callable[_Parameters, Fields]:
    """Returns a tool that answers errors in words, without a traceback."""

    @functools.wraps(tool)
    def answer(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Fields:
        try:
            found: Fields = plain(tool(*args, **kwargs))
        except (NbtrainError, OSError) as error:
            raise ToolError(str(error)) from error
        return found

    return answer
