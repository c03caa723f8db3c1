"""What the live runs of this kernel hold: their names, and the models they train."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from nbtrain.errors import BusyError

_held: dict[str, tuple[list[object], Callable[[], str]]] = {}
_lock = threading.Lock()  # protects it


def enter(name: str, models: Iterable[object], describe: Callable[[], str]) -> None:
    """Hold a name and some models until `leave`.

    Args:
        name: The run's name.
        models: Objects that only one run at a time may train; compared by identity.
        describe: Says how the run stands, for whoever is refused.

    Raises:
        BusyError: A live run has this name, or holds one of the models.
    """
    models = list(models)
    wanted = {id(model) for model in models}
    with _lock:
        for other, (held, described) in _held.items():
            why = "has this name" if other == name else "is still training this model"
            if other == name or not wanted.isdisjoint(map(id, held)):
                raise BusyError(
                    f"The run {other!r} {why} ({described()}). Stop it first: "
                    f"nbtrain.runs()[{other!r}].request_stop().wait(); "
                    f"%nbtrain show {other} shows it."
                )
        _held[name] = models, describe


def leave(name: str) -> None:
    """Let go of what the run of this name holds; it has ended."""
    with _lock:
        _held.pop(name, None)
