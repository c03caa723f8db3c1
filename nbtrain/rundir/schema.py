"""Makes objects from the JSON of another process: each field has the type of its dataclass.

made(Status, {"name": "digits", "engine": "fit", "phase": "running", "step": "x"})
# Misfit: step: "x" is no whole number

Known types: `str`, `bool`, `int`, `float`, the `Value` of a config, enums, dataclasses,
`X | None`, `tuple[X, ...]`, `Mapping[str, X]` and `dict[str, X]`. A whole number fits into 64 bits.
A float may be one of the words of `plain`: "NaN", "Infinity". Fields that the class lacks are
ignored.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar, cast

from nbtrain.core.values.config import Value

Made = TypeVar("Made")

_Reader = Callable[[Any], Any]

# JSON has no names for these.
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

# Whole numbers are counted in 64 bits.
_MOST = 2**63

# Characters of a value that a message shows.
_SHOWN = 60


class Misfit(ValueError):  # noqa: N818 - the reason is the message
    """A value of another type than its field; the message names both."""


def made(kind: type[Made], value: object) -> Made:
    """Returns an object of a dataclass or another known type.

    Raises:
        Misfit: The value, or a part of it, has another type.
    """
    return cast(Made, _reader(cast(Any, kind))(value))


@functools.cache
def _reader(kind: Any) -> _Reader:
    """Returns the function that reads a type; made once, because many files are read a second."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return functools.partial(_member, kind)
    if kind == Value:
        return _value
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union) and len(arguments) == 2:
        (wanted,) = (each for each in arguments if each is not type(None))
        return functools.partial(_or_none, _reader(wanted))
    if origin is tuple and arguments[1:] == (...,):
        return functools.partial(_list, _reader(arguments[0]))
    if origin in (Mapping, dict) and arguments[:1] == (str,):
        return functools.partial(_mapping, _reader(arguments[1]))
    raise TypeError(f"{kind} is no type of a field")


def _object(kind: Any) -> _Reader:
    hints = typing.get_type_hints(kind)
    readers = [
        (each.name, _reader(hints[each.name]), _is_needed(each))
        for each in dataclasses.fields(kind)
    ]

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _misfit(value, f"no {kind.__name__}")
        given = {}
        for name, reader, needed in readers:
            if name in value:
                given[name] = _within(name, reader, value[name])
            elif needed:
                raise Misfit(f"{name} is missing")
        return kind(**given)

    return read


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _within(name: object, reader: _Reader, value: Any) -> Any:
    try:
        return reader(value)
    except Misfit as error:
        raise Misfit(f"{name}: {error}") from None


def _list(reader: _Reader, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _misfit(value, "no list")
    return tuple(_within(number, reader, each) for number, each in enumerate(value))


def _mapping(reader: _Reader, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _misfit(value, "no object")
    return {name: _within(name, reader, each) for name, each in value.items()}


def _or_none(reader: _Reader, value: Any) -> Any:
    return None if value is None else reader(value)


def _member(kind: type[Enum], value: Any) -> Enum:
    if isinstance(value, str):
        for each in kind:
            if each.value == value:
                return each
    raise _misfit(value, f"none of {', '.join(each.value for each in kind)}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _misfit(value, "no text")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _misfit(value, "neither true nor false")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not -_MOST <= value < _MOST:
        raise _misfit(value, "no whole number")
    return value


def _value(value: Any) -> Value:
    if isinstance(value, bool | str):
        return value
    return _whole(value) if type(value) is int else _number(value)


def _number(value: Any) -> float:
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    if type(value) is float:
        return value
    if type(value) is int and -_MOST <= value < _MOST:
        return float(value)
    raise _misfit(value, "no number")


_SIMPLE: dict[Any, _Reader] = {str: _text, bool: _truth, int: _whole, float: _number}


def _misfit(value: object, why: str) -> Misfit:
    shown = repr(value) if not isinstance(value, Mapping | list) else type(value).__name__
    return Misfit(f"{shown[:_SHOWN]} is {why}")
