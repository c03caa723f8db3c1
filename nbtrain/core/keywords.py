"""Refuses arguments that a public function does not take, and names the nearest one that it takes.

train = refusing(train, "nbtrain")
train(step, log_dir="a")   # UnknownArgumentError: ... does not take log_dir=. Did you mean logdir=?
train(step, data, 500)     # UnknownArgumentError: ... takes step without a name ...
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nbtrain.core.errors import UnknownArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def refusing(function: Callable[_P, _R], home: str) -> Callable[_P, _R]:
    """Returns the function, which then says what to type instead of an unknown argument.

    Args:
        home: The module from which it is called, such as "nbtrain".
    """
    parameters = inspect.signature(function).parameters
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes = [name for name, each in parameters.items() if each.kind in named]
    kinds = [each.kind for each in parameters.values()]
    only = kinds.count(inspect.Parameter.KEYWORD_ONLY)
    most = math.inf if inspect.Parameter.VAR_POSITIONAL in kinds else len(kinds) - only

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        called = f"{home}.{function.__name__}()"
        refusals = []
        for name in kwargs:
            if name not in takes:
                near = difflib.get_close_matches(name, takes, n=1)
                advice = f"Did you mean {near[0]}=?" if near else _all_of(takes)
                if name in parameters:
                    advice = "Give it first, without a name."
                refusals.append(f"{called} does not take {name}=. {advice}")
        if len(args) > most:
            first = ", ".join(list(parameters)[: int(most)]) or "no argument"
            given = "1 argument has" if len(args) == 1 else f"{len(args)} arguments have"
            others = takes[len(takes) - only :]
            refusals.append(
                f"{called} takes {first} without a name, but {given} none. {_all_of(others)}"
            )
        if refusals:
            raise UnknownArgumentError("\n".join(refusals))
        return function(*args, **kwargs)

    call.__module__ = home
    return call


def _all_of(takes: list[str]) -> str:
    return f"It takes {', '.join(takes)} by name." if takes else "It takes no arguments by name."
