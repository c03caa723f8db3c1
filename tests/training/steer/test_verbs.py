"""An entry of the table of verbs is a verb in a cell, in completion, in a terminal, for agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import nbtrain
from nbtrain.core.commands import Set
from nbtrain.notebook.completion import candidates
from nbtrain.steer.verbs import HYPERPARAMETER, POSITIVE, VERBS, Argument, Verb
from nbtrain.terminal.main import main
from nbtrain.terminal.mcp import server
from tests.gate import SOON
from tests.models import Line, applied
from tests.shells import own_shell

LOWER = Verb(
    "lower",
    "lower a hyperparameter",
    lambda to, name: Set({name: to}),
    (
        Argument("to", POSITIVE, "its new value"),
        Argument("name", HYPERPARAMETER, "the one to lower", "learning_rate", option="--of"),
    ),
    more="Everything else stays.",
)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """A shell with the extension loaded."""
    with own_shell(tmp_path / "ipython") as shell:
        shell.run_line_magic("load_ext", "nbtrain")
        yield shell


def asked_for_help(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Returns the help that the command line prints."""
    with pytest.raises(SystemExit):
        main([*words, "-h"])
    return " ".join(capsys.readouterr().out.split())


async def tools() -> dict[str, Any]:
    """Returns the tools of an agent that may steer, by name."""
    async with Client(server(Path(), allow_steering=True)) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_one_in_a_cell_in_completion_in_a_terminal_and_for_an_agent(
    name: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = VERBS[name]
    tool = asyncio.run(tools())[name]
    assert tool.description == verb.about
    assert [*tool.input_schema["properties"]] == [
        "run",
        *(each.name for each in verb.arguments),
        "timeout",
    ]
    assert (verb.in_cell or name) in candidates(["%nbtrain"], {})
    for word in {name, verb.in_cell or name}:
        shell.run_line_magic("nbtrain", f"{word} -h")
        in_cell = " ".join(capsys.readouterr().out.split())
        in_terminal = asked_for_help(capsys, word)
        assert verb.about in in_cell
        assert verb.about in in_terminal
        for argument in verb.arguments:
            assert argument.help in in_cell
            assert argument.help in in_terminal


def test_an_entry_of_the_table_is_enough_for_a_new_verb(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(VERBS, "lower", LOWER)
    line = Line()
    rate = {"learning_rate": line.optimizer.learning_rate}
    run = nbtrain.train(line.step, hyperparameters=rate, name="mine")

    receipt = shell.run_line_magic("nbtrain", f"lower mine --to 0.25 --timeout {SOON}")
    assert applied(receipt).edits[0].new == 0.25
    assert "lower" in candidates(["%nbtrain"], {})
    assert {"mine", "--to", "--of"} <= {*candidates(["%nbtrain", "lower"], {})}
    assert candidates(["%nbtrain", "lower", "--of"], {}) == ["learning_rate"]

    assert main(["lower", str(run.logdir), "--to", "0.125"]) == 0
    assert "learning_rate 0.25 → 0.125" in capsys.readouterr().out
    assert "lower a hyperparameter" in asked_for_help(capsys)

    async def lower() -> Any:
        async with Client(server(Path("runs"), allow_steering=True)) as client:
            wrong = await client.call_tool("lower", {"run": "mine", "to": 0})
            done = await client.call_tool("lower", {"run": "mine", "to": 0.0625})
            return wrong, done.structured_content

    wrong, told = asyncio.run(lower())
    assert wrong.is_error
    assert told["edits"] == {"learning_rate": [0.125, 0.0625]}
    schema = asyncio.run(tools())["lower"].input_schema
    assert schema["required"] == ["run", "to"]
    assert schema["properties"]["name"]["default"] == "learning_rate"
    run.request_stop()
    run.wait(SOON)
