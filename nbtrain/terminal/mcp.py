"""Runs for an agent, by the Model Context Protocol over standard input and output.

nbtrain mcp runs                     # list_runs, get_status, get_curves, get_journal, get_log
nbtrain mcp runs --allow-steering    # and pause, resume, save, evaluate, trial, restore, set, stop

No port is opened, and only runs below the folder can be seen. Every command is answered, and the
run's journal tells which client has asked. While the server runs, the protocol's library moves the
standard output of everything else to the standard error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.rundir.status_file import plain
from nbtrain.terminal.exits import DONE
from nbtrain.terminal.mcp_tools import Fields, Folders, Reading, Steering

_INSTRUCTIONS = (
    "Trainings of TensorFlow, each in a folder. list_runs names them; the other tools take such a "
    "name. Steps are counted from 1. A point, mark or checkpoint is abandoned if the run has gone "
    "back behind it. NaN and infinities are the words NaN, Infinity and -Infinity."
)
_STEERING = (
    " Commands are executed between two steps of the training, and answered. To change a "
    "hyperparameter, prefer trial to set: a trial undoes itself unless a metric is at least as "
    "good as before."
)

_Parameters = ParamSpec("_Parameters")


def serve(base: Path, *, allow_steering: bool) -> int:
    """Serves the runs below a folder until the client closes the standard input.

    Raises:
        ArgumentError: There is no such folder.
    """
    if not base.is_dir():
        raise ArgumentError(f"There is no folder {str(base)!r}: give one that holds runs.")
    server(base, allow_steering=allow_steering).run("stdio")
    return DONE


def server(base: Path, *, allow_steering: bool) -> MCPServer[Any]:
    """Returns the server with its tools."""
    text = _INSTRUCTIONS + _STEERING if allow_steering else _INSTRUCTIONS
    made: MCPServer[Any] = MCPServer("nbtrain", instructions=text, log_level="WARNING")
    reading = Reading(Folders(base))
    _add(
        made,
        ToolAnnotations(read_only_hint=True, open_world_hint=False),
        *(reading.list_runs, reading.get_status, reading.get_curves),
        *(reading.get_journal, reading.get_log),
    )
    if allow_steering:
        steering = Steering(Folders(base))
        # Tools that can be undone stand before those that cannot.
        _add(
            made,
            ToolAnnotations(destructive_hint=False, open_world_hint=False),
            *(steering.pause, steering.resume, steering.save, steering.evaluate),
            *(steering.trial, steering.find_learning_rate),
        )
        _add(
            made,
            ToolAnnotations(destructive_hint=True, open_world_hint=False),
            *(steering.restore, steering.set, steering.stop),
        )
    return made


def _add(made: MCPServer[Any], hints: ToolAnnotations, *tools: Callable[..., Fields]) -> None:
    for tool in tools:
        about = inspect.cleandoc(tool.__doc__ or "")
        made.add_tool(_answering(tool), description=about, annotations=hints)


def _answering(tool: Callable[_Parameters, Fields]) -> Callable[_Parameters, Fields]:
    """Returns a tool whose errors are answers in words, without a traceback."""

    @functools.wraps(tool)
    def answer(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Fields:
        try:
            found: Fields = plain(tool(*args, **kwargs))
        except (NbtrainError, OSError) as error:
            raise ToolError(str(error)) from error
        return found

    return answer
