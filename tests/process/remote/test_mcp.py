"""Runs as tools for an agent: the protocol's own client, the server, and a run, each a process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Implementation
from mcp_types.version import LATEST_MODERN_VERSION

from nbtrain.core.states import Phase
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.process.followed import phase, train

READING = ["list_runs", "get_status", "get_curves", "get_journal", "get_log"]
STEERING = [
    *("pause", "resume", "save", "trial", "find_learning_rate", "evaluate", "why_nan"),
    *("why_slow", "look_inside"),
    *("note", "stop", "restore", "set", "tag"),
]

# A server beside which something prints all the time.
NOISY = """
import sys, threading
from nbtrain.terminal.main import main

def print_on():
    while not threading.Event().wait(0.001):
        print("a line of another library", flush=True)

threading.Thread(target=print_on, daemon=True).start()
sys.exit(main(["mcp", "runs"]))
"""


@pytest.fixture
def far() -> Iterator[Forked]:
    """A run in another process."""
    with Forked(train) as child:
        child.answer()
        eventually(lambda: phase() is Phase.RUNNING)
        yield child


def connected(*words: str, version: str = "legacy") -> AbstractAsyncContextManager[Client]:
    """The protocol's client, connected to a server of its own.

    Args:
        version: Of the protocol. To ask the server for it would need an answer within ten seconds.
    """
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    asked = words or ("-m", "nbtrain", "mcp")
    server = StdioServerParameters(command=sys.executable, args=list(asked), env=environment)
    client = Implementation(name="tester", version="1")
    return Client(server, client_info=client, mode=version, read_timeout_seconds=SOON)


async def told(client: Client, tool: str, run: str = "far", **arguments: Any) -> Any:
    """Returns the answer of a tool."""
    result = await client.call_tool(tool, {"run": run, **arguments})
    assert not result.is_error, result
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The error that a tool returns."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error
    text = "\n".join(part.text for part in result.content if part.type == "text")
    assert "Traceback" not in text
    return text


def test_an_agent_sees_runs_and_steers_none(far: Forked) -> None:
    async def look() -> None:
        async with connected() as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == READING
            result = await client.call_tool("list_runs")
            assert result.structured_content is not None
            (run,) = result.structured_content["runs"]
            assert (run["run"], run["phase"]) == ("far", "running")
            status = await told(client, "get_status")
            assert (status["process"], status["phase"]) == (far.pid, "running")
            curves: dict[str, Any] = {}
            while "loss" not in curves or curves["loss"]["first"] == curves["loss"]["last"]:
                await asyncio.sleep(0.01)
                curves = (await told(client, "get_curves"))["curves"]
            loss = (await told(client, "get_curves", tags=["loss"], points=2))["curves"]["loss"]
            assert loss["points"] == [loss["first"], loss["last"]]
            assert loss["min"][1] <= loss["last"][1] <= loss["max"][1]
            assert (await told(client, "get_journal", last=9))["lines"][0]["event"] == "start"
            wrong = await refused(client, "get_status", run="runs/far")
            assert wrong.endswith("give the name of a run. Runs there: 'far'.")
            assert "is not below" in await refused(client, "get_status", run="../..")
            wrong = await refused(client, "get_curves", run="far", tags=["los"])
            assert "No scalar has the tag 'los'; recorded so far: " in wrong
            assert "points" in await refused(client, "get_curves", run="far", points=0)
            assert "There is no " in await refused(client, "get_log", run="far")
            assert "Unknown tool" in await refused(client, "pause", run="far")
            assert "--allow-steering" in (client.instructions or "")

    asyncio.run(look())


def test_an_agent_that_may_steer_gets_receipts_and_is_named_in_the_journal(far: Forked) -> None:
    async def steer() -> None:
        words = "-m", "nbtrain", "mcp", "--allow-steering"
        async with connected(*words, version=LATEST_MODERN_VERSION) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == READING + STEERING
            assert "Prefer trial to set" in (tools["trial"].description or "")
            assert (await told(client, "pause"))["state"] == "applied"
            edit = await told(client, "set", values={"learning_rate": 0.01})
            assert edit["edits"]["learning_rate"][1] == pytest.approx(0.01)
            wrong = await told(client, "set", values={"rate": 1})
            assert (wrong["state"], "rate" in wrong["text"]) == ("refused", True)
            saved = await told(client, "save")
            await told(client, "resume")
            back = await told(client, "restore", checkpoint=saved["step"])
            assert f"restored ckpt-{saved['step']}" in back["text"]
            marks = (await told(client, "get_journal", last=100))["lines"]
            wrong = await refused(client, "restore", run="far", step=1)
            assert wrong == (
                "restore has no argument 'step'; its arguments: run, checkpoint, halve, timeout. "
                "Nothing was done."
            )
            wrong = await refused(client, "set", run="far", values={"learning_rate": "high"})
            assert wrong.startswith("set was called with wrong arguments: values.learning_rate: ")
            assert "pydantic" not in wrong
            assert (await told(client, "get_journal", last=100))["lines"] == marks
            noted = await told(client, "note", text="the loss is flat")
            assert (noted["state"], noted["text"]) == ("applied", "the loss is flat")
            rate = {"learning_rate": 0.02}
            trial = await told(client, "trial", values=rate, steps=5, keep_if="error")
            assert trial["state"] == "applied"
            limits: Any = {"low": 1e-3, "high": 0.1, "steps": 20, "tag": "error"}
            limits["name"] = "learning_rate"
            found = await told(client, "find_learning_rate", **limits)
            assert found["state"] == "applied"
            assert "back to step" in found["text"]
            await told(client, "pause")
            rate = {"learning_rate": 0.03}
            held = await told(client, "trial", values=rate, steps=5, keep_if="error")
            assert held["state"] == "unanswered", "only this agent can resume, and it would wait"
            assert "The run is paused" in held["text"]
            await told(client, "resume")
            far.signal(signal.SIGSTOP)
            late = await told(client, "pause", timeout=0.1)
            assert late["state"] == "unanswered"
            assert late["text"].startswith("No answer in time: the command was ")
            assert late["text"].endswith(".")
            assert "detached" not in late["text"]
            far.signal(signal.SIGCONT)
            assert (await told(client, "stop"))["state"] == "applied"
            assert far.answer() == "ended"
            assert "the run has ended" in (await told(client, "pause"))["text"]
            lines = (await told(client, "get_journal", last=100))["lines"]
            asked = {line["event"]: line["by"] for line in lines if "by" in line}
            assert {"pause", "set", "save", "resume", "restore", "try", "stop"} <= asked.keys()
            assert all(by.startswith("mcp (tester), ") for by in asked.values())

    asyncio.run(steer())


def test_prints_do_not_disturb_the_protocol(own_folder: Path) -> None:
    (own_folder / "runs").mkdir()

    async def look() -> None:
        async with connected("-c", NOISY) as client:
            for _ in range(5):
                result = await client.call_tool("list_runs")
                assert (result.structured_content or {})["runs"] == []

    asyncio.run(look())


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("sys.modules['mcp'] = None; ", 'pip install "nbtrain[mcp]"'),
        ("", "There is no folder 'runs'"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_a_line(code: str, text: str) -> None:
    program = f"import sys; {code}from nbtrain.terminal.main import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode in (1, 2)
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
