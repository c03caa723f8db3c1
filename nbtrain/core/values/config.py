"""The config of a run: what it was made with, as one table of names and values.

flat({"units": 64, "data": {"name": "digits", "crop": (24, 24)}})
# {"units": 64, "data.name": "digits", "data.crop": "(24, 24)"}
"""

from __future__ import annotations

import argparse
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.visible import on_one_line, visible

Value = bool | int | float | str
Config = Mapping[str, Value]

_KINDS = (bool, int, float, str)

# A status is written every second while a run trains, with its config.
MOST_ENTRIES = 500

# The most characters of a name and of a value; a longer value is cut.
MOST_NAME_CHARS = 100
MOST_CHARS = 200

_MOST_NUMBER = 2**63
_MOST_DEPTH = 20


def flat(config: object) -> dict[str, Value]:
    """Returns the entries of a config, those of a nested one with the names before a dot.

    Args:
        config: A mapping, an object of a dataclass or an `argparse.Namespace`, nested or not.

    Raises:
        ArgumentError: It is nothing of that kind, or cannot be stored.
    """
    if _entries(config) is None:
        raise ArgumentError(
            f"config={_cut(repr(config))}: give a dict of what the run is made with, such as "
            '{"units": 64, "dropout": 0.1}, an object of a dataclass, or an argparse.Namespace.'
        )
    found: dict[str, Value] = {}
    for name, value in _leaves(config, ""):
        if not _is_name(name):
            raise ArgumentError(
                f"config= has an entry with the name {_cut(name)!r}: give names of 1 to "
                f"{MOST_NAME_CHARS} characters."
            )
        if name in found:
            raise ArgumentError(
                f"config= has two entries with the name {name!r}: a nested entry gets the names "
                "before it and dots. Rename one of them."
            )
        found[name] = value
        if len(found) > MOST_ENTRIES:
            raise ArgumentError(
                f"config= has more than {MOST_ENTRIES:,} entries: give those by which runs are to "
                "be compared."
            )
    return found


def word_of(value: Value) -> str:
    """Returns a value as a list of runs or the panel shows it."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def merged(before: Config, given: object) -> dict[str, Value]:
    """Returns a config after an entry of the journal, whose values replace those before."""
    found = given.items() if isinstance(given, Mapping) else ()
    kept = [(name, value) for name, value in found if isinstance(value, _KINDS)]
    return {**before, **{name: value_of(value) for name, value in kept if _is_name(name)}}


def value_of(value: object) -> Value:
    """Returns a value that JSON and TensorBoard can store: what they cannot becomes words."""
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        value = value.item()
    match value:
        case Enum():
            return value_of(value.value)
        case bool():
            return value
        case int() if abs(value) < _MOST_NUMBER:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
    return _cut(_words(value))


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MOST_NAME_CHARS


def _entries(value: object) -> dict[Any, Any] | None:
    """Returns the entries of a config; None if the value is no config."""
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, argparse.Namespace | types.SimpleNamespace):
        return dict(vars(value))
    return None


def _leaves(value: object, name: str, depth: int = 0) -> Iterator[tuple[str, Value]]:
    if depth > _MOST_DEPTH:
        raise ArgumentError(
            f"config= is nested more than {_MOST_DEPTH} times at {_cut(name)!r}, or contains "
            "itself: give fewer levels."
        )
    entries = _entries(value)
    if depth and not entries:
        yield name, "{}" if entries == {} else value_of(value)
        return
    for key, each in (entries or {}).items():
        word = on_one_line(str(key))
        yield from _leaves(each, f"{name}.{word}" if depth else word, depth + 1)


def _words(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        words = [str(value_of(each)) for each in value]
        if isinstance(value, set | frozenset):  # in another order in each process
            return f"{{{', '.join(sorted(words))}}}"
        return f"[{', '.join(words)}]" if isinstance(value, list) else f"({', '.join(words)})"
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return value.__name__
    try:
        is_plain = type(value).__repr__ is object.__repr__  # it has only an address
        return type(value).__name__ if is_plain else str(value)
    except Exception:  # noqa: BLE001 - the class is the user's own
        return type(value).__name__


def _cut(text: str) -> str:
    said = visible(text).replace("\0", "")
    return said if len(said) <= MOST_CHARS else f"{said[: MOST_CHARS - 1]}…"
