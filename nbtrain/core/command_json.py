"""Commands as plain data, as a page, a file or another process sends them.

fields_of(Set({"learning_rate": 1e-3}))     # {"command": "set", "values": {"learning_rate": 0.001}}
command_of({"command": "restore", "checkpoint": 300})   # Restore(300)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

from nbtrain.core.commands import (
    WITHOUT_ARGUMENTS,
    Command,
    Note,
    Replay,
    Restore,
    Set,
    Tag,
    Try,
    WhySlow,
    name_of,
)
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.labels import checked, checked_note
from nbtrain.core.values.rate_range import no_range

# The names of each command's arguments; `needed` is for the run that sets values at its start.
_ARGUMENTS = {
    name_of(kind): [each.name for each in dataclasses.fields(kind) if each.name != "needed"]
    for kind in get_args(Command)
}
# The names that each command in a file may have: see docs/other_processes.md.
_COMMON = ("at", "by", "attempt")
_HEAD = ("command", "nbtrain")

# The types of two numbers.
_NUMBERS = [[one, other] for one in (int, float) for other in (int, float)]


def fields_of(command: Command) -> dict[str, Any]:
    """Returns a command as fields that JSON can hold.

    Raises:
        ArgumentError: A part of the command cannot be sent to another process.
    """
    fields: dict[str, Any] = {"command": name_of(type(command))}
    match command:
        case Restore(checkpoint, halve):
            fields |= {"checkpoint": checkpoint, "halve": halve}
        case Set(values):
            fields |= {"values": _numbers(values)}
        case Try(values, steps, keep_if, settings, repeats, sweep):
            if callable(keep_if):
                raise ArgumentError(
                    f"keep_if={keep_if!r} is a function, which cannot be sent to another process: "
                    'give the tag of a scalar, such as "val_loss".'
                )
            fields |= {"values": _numbers(values), "steps": steps, "keep_if": keep_if}
            if settings:
                fields["settings"] = {name: _numbers(each) for name, each in settings.items()}
            if repeats != 1:
                fields["repeats"] = repeats
            if sweep is not None:
                fields["sweep"] = [*sweep]
        case WhySlow(steps):
            fields |= {"steps": steps}
        case Replay(edits, text):
            made = [[step, _numbers(values)] for step, values in edits]
            fields |= {"edits": made, "text": text}
        case Note(text):
            fields |= {"text": text}
        case Tag(tags):
            fields |= {"tags": [*tags]}
    return fields


def command_of(fields: Mapping[str, Any]) -> Command:
    """Returns the command that some fields ask for.

    Raises:
        ArgumentError: The fields ask for no command; the message says what is wrong.
    """
    match fields:
        case {"command": "restore"}:
            checkpoint, halve = fields.get("checkpoint"), fields.get("halve")
            _check("checkpoint", checkpoint, _is_checkpoint(checkpoint), "a step, a path or null")
            _check("halve", halve, isinstance(halve, str | None), "a hyperparameter's name or null")
            return Restore(checkpoint, halve)
        case {"command": "set"}:
            return Set(_values(fields))
        case {"command": "try"}:
            return _trial(fields)
        case {"command": "replay"}:
            edits, text = fields.get("edits"), fields.get("text", "")
            _check("edits", edits, _are_edits(edits), "a list of [step, {name: number}]")
            _check("text", text, isinstance(text, str), "text")
            return Replay(tuple((step, dict(values)) for step, values in edits or ()), text)
        case {"command": "why_slow"}:
            steps = fields.get("steps", 50)
            _check("steps", steps, type(steps) is int, "a number of steps")
            return WhySlow(steps)
        case {"command": "note"}:
            return Note(checked_note(fields.get("text")))
        case {"command": "tag"}:
            return Tag(checked(fields.get("tags")))
        case {"command": str(name)} if name in WITHOUT_ARGUMENTS:
            return WITHOUT_ARGUMENTS[name]()
    raise ArgumentError(
        f"There is no command {fields.get('command')!r:.80}: give one of {', '.join(_ARGUMENTS)}."
    )


def letter_of(fields: Mapping[str, Any]) -> Command:
    """Returns the command that a file asks for, as `command_of`.

    Raises:
        ArgumentError: The file asks for no command, or has a name that the command does not know:
            to ignore a misspelt name would execute another command than was meant.
    """
    command = command_of(fields)
    verb = fields["command"]
    known = (*_ARGUMENTS[verb], *_COMMON)
    for name in fields:
        if name not in known and name not in _HEAD:
            raise ArgumentError(f"{verb} has no {name!r:.80}: give {', '.join(known)}.")
    return command


def _trial(fields: Mapping[str, Any]) -> Try:
    steps, keep_if = fields.get("steps", 200), fields.get("keep_if")
    settings, repeats = fields.get("settings") or {}, fields.get("repeats", 1)
    _check("steps", steps, type(steps) is int, "a number of steps")
    _check("keep_if", keep_if, isinstance(keep_if, str | None), "a tag or null")
    _check("settings", settings, _are_settings(settings), "numbers by name, by setting")
    _check("repeats", repeats, type(repeats) is int, "how often each is tried")
    sweep = fields.get("sweep")
    if isinstance(sweep, list) and len(sweep) == 2 and not _is_pair(sweep):
        raise no_range(*(f"{limit!r:.80}" for limit in sweep))
    _check("sweep", sweep, sweep is None or _is_pair(sweep), "the first and the last value")
    values = _values(fields) if not settings or fields.get("values") else {}
    both = None if sweep is None else (float(sweep[0]), float(sweep[1]))
    return Try(values, steps, keep_if, settings, repeats, both)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and [*map(type, pair)] in _NUMBERS


def _are_settings(settings: object) -> bool:
    return isinstance(settings, Mapping) and all(
        isinstance(values, Mapping) for values in settings.values()
    )


def _values(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    values = fields.get("values")
    _check("values", values, isinstance(values, Mapping) and bool(values), "numbers by name")
    return dict(values or {})


def _check(name: str, value: object, right: bool, wanted: str) -> None:
    if not right:
        raise ArgumentError(f"{name}: {value!r:.80} is no use here: give {wanted}.")


def _is_checkpoint(value: object) -> bool:
    return value is None or type(value) is int or isinstance(value, str)


def _are_edits(edits: object) -> bool:
    return isinstance(edits, list) and all(
        isinstance(edit, list)
        and len(edit) == 2
        and type(edit[0]) is int
        and isinstance(edit[1], Mapping)
        for edit in edits
    )


def _numbers(values: Mapping[str, object]) -> dict[str, object]:
    """Returns values as numbers; others become text, which the run refuses."""
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return [_number(each) for each in value]
    try:
        return float(value)
    except (TypeError, ValueError):
        return repr(value)
