"""Replaces methods of one object for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def replaced(owner: Any, **methods: Any) -> Callable[[], None]:
    """Replaces methods of a Keras object; returns a function that restores them.

    A method that the object had as an attribute of its own becomes that attribute again.
    """
    own = {name: vars(owner).get(name) for name in methods}
    for name, method in methods.items():
        setattr(owner, name, method)

    def restore() -> None:
        for name, method in own.items():
            vars(owner).pop(name, None)
            if method is not None:
                setattr(owner, name, method)

    return restore
