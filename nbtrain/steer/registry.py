"""The runs that this process has started, and the names and models that live runs have claimed."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from nbtrain.core.errors import BusyError

# The number of ended runs to keep: each keeps its model in memory.
_ENDED_KEPT = 8

# The runs in the order of their starts.
runs: dict[str, Any] = {}


class _Claim:
    """The models of one live run."""

    def __init__(self, models: Callable[[], list[object]], describe: Callable[[], str]) -> None:
        self.known = models()
        self.describe = describe
        self._models = models

    def find_again(self) -> None:
        """Finds the models again; keeps the known ones if the user's objects raise an error."""
        with contextlib.suppress(Exception):
            self.known = self._models()


_claims: dict[str, _Claim] = {}
_lock = threading.Lock()  # protects _claims


def _forget() -> None:
    """Clears the state in a forked process, which has none of the threads of its parent.

    One of these threads may have held the lock, and cannot release it in the forked process.
    """
    global _lock
    runs.clear()
    _claims.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)


def enlist(run: Any) -> None:
    """Adds a starting run at the end, and removes runs that ended long ago."""
    runs.pop(run.name, None)
    runs[run.name] = run
    ended = [name for name, other in list(runs.items()) if other.status.phase.ended]
    for name in ended[:-_ENDED_KEPT]:
        runs.pop(name, None)


def claim(name: str, models: Callable[[], list[object]], describe: Callable[[], str]) -> None:
    """Claims a name and some models until `release`.

    Args:
        models: Returns the objects that only one run at a time may train, compared by identity.
            Called again whenever another run starts, because a function may reach another model
            by now.
        describe: Returns the state of the run in words, for the error message of another run.

    Raises:
        BusyError: A live run has this name, or has claimed one of the models.
    """
    wanted = _Claim(models, describe)
    with _lock:
        others = list(_claims.values())
    for held in others:  # without the lock: this runs the user's code
        held.find_again()
    with _lock:
        for other, held in _claims.items():
            if other == name or not {*map(id, wanted.known)}.isdisjoint(map(id, held.known)):
                why = "has this name" if other == name else "is still training this model"
                raise BusyError(
                    f"The run {other!r} {why} ({held.describe()}). Stop it first: "
                    f"run = nbtrain.runs()[{other!r}]; run.request_stop(); run.wait(). "
                    f"nbtrain.runs()[{other!r}] at the end of a cell shows it.",
                    run=other,
                )
        _claims[name] = wanted


def release(name: str) -> None:
    """Releases the name and the models of a run that has ended."""
    with _lock:
        _claims.pop(name, None)


@contextlib.contextmanager
def naming_new_objects() -> Iterator[None]:
    """Adds to a BusyError the names that refer to new objects since the live run has started."""
    try:
        yield
    except BusyError as busy:
        other = runs.get(busy.run or "")
        new = other.attempt.context.bindings.new_names() if other is not None else ""
        if not new:
            raise
        raise BusyError(
            f"{busy} {new}, which the run {busy.run!r} does not train; no name refers to the "
            "model that it trains any more. If it saves checkpoints, stop it, wait for its end, "
            "and run the cell again: it continues from the last one.",
            run=busy.run,
        ) from None
