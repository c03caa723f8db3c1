"""Commands as plain data: what can be sent arrives as it was, the rest is refused in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.command_json import command_of, fields_of, letter_of
from nbtrain.core.commands import (
    Command,
    Evaluate,
    LookInside,
    Pause,
    Replay,
    Restore,
    Resume,
    Save,
    Set,
    Stop,
    Try,
    WhyNan,
    WhySlow,
    name_of,
)
from nbtrain.core.errors import ArgumentError

names = st.text(min_size=1, max_size=20)
values = st.dictionaries(names, st.floats(allow_nan=False), min_size=1, max_size=4)
steps = st.integers(0, 2**40)
numbers = st.floats(allow_nan=False)
tried = st.dictionaries(names, numbers | st.lists(numbers, max_size=3), min_size=1, max_size=4)
commands: st.SearchStrategy[Command] = st.one_of(
    st.sampled_from([Stop(), Pause(), Resume(), Save(), Evaluate(), WhyNan(), LookInside()]),
    st.builds(WhySlow, steps),
    st.builds(Restore, st.none() | steps | names, st.none() | names),
    st.builds(Set, values),
    st.builds(Try, values, steps, st.none() | names),
    st.builds(
        Try, tried, steps, st.none() | names, st.dictionaries(names, values), st.integers(1, 9)
    ),
    st.builds(Try, values, steps, st.none() | names, sweep=st.none() | st.tuples(numbers, numbers)),
    st.builds(
        Replay, st.lists(st.tuples(steps, values), max_size=3).map(tuple), st.text(max_size=9)
    ),
)


@given(commands)
def test_a_command_arrives_as_it_was_sent(command: Command) -> None:
    assert command_of(json.loads(json.dumps(fields_of(command)))) == command


@pytest.mark.parametrize("name", [*map(name_of, get_args(Command))])
def test_each_command_is_documented(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "other_processes.md"
    table = page.read_text("utf-8").partition("| command | further names |")[2]
    first = re.findall(r"^\| (.*?) \|", table, re.M)
    assert f"`{name}`" in ", ".join(first).split(", ")


def test_numbers_of_any_kind_are_sent_as_numbers() -> None:
    class Half:
        def __float__(self) -> float:
            return 0.5

    assert fields_of(Set({"rate": Half(), "size": 3}))["values"] == {"rate": 0.5, "size": 3.0}


def test_a_value_that_is_no_number_is_sent_as_text_for_the_run_to_refuse() -> None:
    assert fields_of(Set({"rate": "fast", "size": [1]}))["values"] == {
        "rate": "fast",
        "size": "[1]",
    }


def test_a_function_cannot_be_sent() -> None:
    with pytest.raises(ArgumentError, match=r"function, which cannot be sent.*give the tag"):
        fields_of(Try({"rate": 0.1}, keep_if=lambda before, after: True))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "no command None: give one of stop, pause"),
        ({"command": "explode"}, "no command 'explode'"),
        ({"command": 7}, "no command 7"),
        ({"command": "set"}, "values: None is no use here: give numbers by name"),
        ({"command": "set", "values": {}}, "values"),
        ({"command": "set", "values": [1]}, "values"),
        ({"command": "try", "values": {"a": 1}, "steps": "many"}, "steps: 'many'"),
        ({"command": "try", "values": {"a": 1}, "keep_if": 3}, "keep_if: 3"),
        ({"command": "restore", "checkpoint": 1.5}, r"checkpoint: 1.5 .* a step, a path or null"),
        ({"command": "restore", "checkpoint": True}, "checkpoint: True"),
        ({"command": "restore", "halve": 1}, "halve: 1"),
        ({"command": "why_slow", "steps": "many"}, "steps: .many"),
        ({"command": "replay"}, "edits: None"),
        ({"command": "replay", "edits": [[1.5, {}]]}, "edits"),
        ({"command": "replay", "edits": [], "text": 1}, "text: 1"),
    ],
)
def test_other_fields_are_refused_in_words(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        command_of(fields)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": "restore", "chekpoint": 9}, "restore has no 'chekpoint': give checkpoint, "),
        ({"command": "pause", "values": {"a": 1}}, "pause has no 'values': give at, by, attempt."),
        ({"command": "explode", "x": 1}, "no command 'explode'"),
    ],
)
def test_a_file_with_a_name_that_its_command_lacks_is_refused(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        letter_of(fields)


@given(commands)
def test_a_file_may_have_all_names_that_are_documented(command: Command) -> None:
    more = {"nbtrain": 1, "at": 7, "by": "me", "attempt": "a1"}
    assert letter_of(json.loads(json.dumps(fields_of(command))) | more) == command


def test_settings_need_no_other_values() -> None:
    fields = {"command": "try", "settings": {"calm": {"rate": 0.1}}}
    assert command_of(fields) == Try({}, settings={"calm": {"rate": 0.1}})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"settings": {"calm": 3}}, "settings: {'calm': 3} is no use here"),
        ({"settings": [1]}, "settings: [1] is no use here"),
        ({"sweep": [1.0]}, "sweep: [1.0] is no use here"),
        ({"sweep": [1.0, "x"]}, "The learning rate cannot grow from 1.0 to 'x': give two positive"),
        ({"repeats": "two"}, "repeats: 'two' is no use here"),
        ({"settings": {}}, "values: None is no use here"),
    ],
)
def test_a_trial_that_is_no_trial_is_refused(more: dict[str, Any], says: str) -> None:
    fields = {"command": "try", **({} if more == {"settings": {}} else {"values": {"rate": 1.0}})}
    with pytest.raises(ArgumentError) as error:
        command_of({**fields, **more})
    assert str(error.value).startswith(says)
