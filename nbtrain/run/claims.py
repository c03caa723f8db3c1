"""What the live runs of this kernel hold: their names, and the models they train."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from nbtrain.core.errors import BusyError


class _Claim:
    """What one live run holds.

    Attributes:
        known: The models, as far as they could be found.
        describe: Says how the run stands.
    """

    def __init__(self, models: Callable[[], list[object]], describe: Callable[[], str]) -> None:
        self.known = models()
        self.describe = describe
        self._models = models

    def look_again(self) -> None:
        """Find the models anew; what the run's own objects raise at that keeps the known."""
        with contextlib.suppress(Exception):
            self.known = self._models()


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
    wanted = _Claim(models, describe)
    with _lock:
        others = list(_held.values())
    for claim in others:  # without the lock: this runs code of the user's
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
    """Let go of what the run of this name holds; it has ended."""
    with _lock:
        _held.pop(name, None)


def _shared(one: list[object], other: list[object]) -> bool:
    return not {id(model) for model in one}.isdisjoint(id(model) for model in other)
