"""Refuses arguments that a public function does not take, and names the nearest one that it takes.

train = refusing(train, "nbtrain")
train(step, log_dir="a")   # UnknownArgumentError: ... does not take log_dir=. Did you mean logdir=?
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nbtrain.core.errors import UnknownArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def refusing(function: Callable[_P, _R], home: str) -> Callable[_P, _R]:
    """Makes a function refuse unknown arguments with an error that says what to type instead.

    Args:
        home: The module from which it is called, such as "nbtrain".
    """
    parameters = inspect.signature(function).parameters
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes = [name for name, each in parameters.items() if each.kind in named]
    all_of = f"It takes {', '.join(takes) or 'no arguments'} by name."

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        refusals = []
        for name in (each for each in kwargs if each not in parameters):
            near = difflib.get_close_matches(name, takes, n=1)
            advice = f"Did you mean {near[0]}=?" if near else all_of
            refusals.append(f"{home}.{function.__name__}() does not take {name}=. {advice}")
        if refusals:
            raise UnknownArgumentError("\n".join(refusals))
        return function(*args, **kwargs)

    call.__module__ = home
    return call
