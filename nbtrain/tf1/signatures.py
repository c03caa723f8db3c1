"""The signatures of TensorFlow's classes, for the classes that replace them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


def taking(theirs: Callable[..., Any]) -> Callable[[_Method], _Method]:
    """Makes a method's signature show TensorFlow's parameters, then its own keyword parameters."""
    # Unwrapped: some are decorated with TensorFlow's advice to use something else.
    parameters = inspect.signature(inspect.unwrap(theirs)).parameters.values()

    def show(own: _Method) -> _Method:
        added = [
            parameter
            for parameter in inspect.signature(own).parameters.values()
            if parameter.kind is parameter.KEYWORD_ONLY
        ]
        own.__signature__ = inspect.Signature([*parameters, *added])  # type: ignore[attr-defined]
        return own

    return show


def bound(kind: type[Any], *args: Any, **kwargs: Any) -> inspect.BoundArguments:
    """Returns the arguments of TensorFlow's class by name, with its defaults, without `self`.

    Raises:
        TypeError: The class does not take these arguments.
    """
    try:
        given = inspect.signature(kind).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{kind.__name__}() {error}") from None
    given.apply_defaults()
    return given
