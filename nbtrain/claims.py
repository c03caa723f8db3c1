"""What the live runs of this kernel hold: their names, and the models they train."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from nbtrain.errors import BusyError


@dataclass(frozen=True, slots=True)
class _Claim:
    models: Callable[[], list[object]]
    describe: Callable[[], str]


_held: dict[str, _Claim] = {}
_lock = threading.Lock()  # protects it


def enter(name: str, models: Callable[[], list[object]], describe: Callable[[], str]) -> None:
    """Hold a name and some models until `leave`.

    Args:
        name: The run's name.
        models: Gives the objects that only one run at a time may train, compared by
            identity. Asked again whenever another run starts: by its names a function may
            have come to train another model.
        describe: Says how the run stands, for whoever is refused.

    Raises:
        BusyError: A live run has this name, or holds one of the models.
    """
    with _lock:
        wanted = models()
        for other, claim in _held.items():
            if other == name or _shared(wanted, claim.models()):
                why = "has this name" if other == name else "is still training this model"
                raise BusyError(
                    f"The run {other!r} {why} ({claim.describe()}). Stop it first: "
                    f"nbtrain.runs()[{other!r}].request_stop().wait(); "
                    f"%nbtrain show {other} shows it.",
                    run=other,
                )
        _held[name] = _Claim(models, describe)


def leave(name: str) -> None:
    """Let go of what the run of this name holds; it has ended."""
    with _lock:
        _held.pop(name, None)


def _shared(one: list[object], other: list[object]) -> bool:
    return not {id(model) for model in one}.isdisjoint(id(model) for model in other)
