"""The names and models that the live runs of this kernel hold."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from nbtrain.core.errors import BusyError


class _Claim:
    """The models of one live run."""

    def __init__(self, models: Callable[[], list[object]], describe: Callable[[], str]) -> None:
        self.known = models()
        self.describe = describe
        self._models = models

    def look_again(self) -> None:
        """Finds the models again; keeps the known ones if the user's objects raise an error."""
        with contextlib.suppress(Exception):
            self.known = self._models()


_held: dict[str, _Claim] = {}
_lock = threading.Lock()  # protects _held


def enter(name: str, models: Callable[[], list[object]], describe: Callable[[], str]) -> None:
    """Holds a name and some models until `leave`.

    Args:
        models: Returns the objects that only one run at a time may train, compared by identity.
            Called again whenever another run starts, because a function may reach another model
            by now.

    Raises:
        BusyError: A live run has this name, or holds one of the models.
    """
    wanted = _Claim(models, describe)
    with _lock:
        others = list(_held.values())
    for claim in others:  # without the lock: this runs the user's code
        claim.look_again()
    with _lock:
        for other, claim in _held.items():
            if other == name or _shared(wanted.known, claim.known):
                why = "has this name" if other == name else "is still training this model"
                raise BusyError(
                    f"The run {other!r} {why} ({claim.describe()}). Stop it first: "
                    f"run = nbtrain.runs()[{other!r}]; run.request_stop(); run.wait(). "
                    f"nbtrain.runs()[{other!r}] at the end of a cell shows it.",
                    run=other,
                )
        _held[name] = wanted


def leave(name: str) -> None:
    """Releases the name and the models of a run that has ended."""
    with _lock:
        _held.pop(name, None)


def _shared(one: list[object], other: list[object]) -> bool:
    return not {id(model) for model in one}.isdisjoint(id(model) for model in other)
