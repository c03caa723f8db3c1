"""What a start finds out before it trains: from which step it goes on, and which names are new."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from nbtrain.checkpoints.files import step_in_name
from nbtrain.checkpoints.listing import latest
from nbtrain.core.errors import BusyError
from nbtrain.run import roster
from nbtrain.run.engine import Engine


@contextlib.contextmanager
def naming_what_is_new() -> Iterator[None]:
    """Say, where a live run refuses another, which names have come to stand for something new.

    Raises:
        BusyError: As raised within.
    """
    try:
        yield
    except BusyError as busy:
        other = roster.runs.get(busy.run or "")
        anew = other.attempt.context.bindings.anew() if other is not None else ""
        if not anew:
            raise
        raise BusyError(
            f"{busy} {anew}, which the run {busy.run!r} does not train: what it has trained is no "
            "more reached by name. Where it saves checkpoints, stop it, wait for its end, and run "
            "the cell again: that goes on from the last one.",
            run=busy.run,
        ) from None


def first_step(engine: Engine[Any]) -> int:
    """The step from which an engine will go on; 0 where that is not known before it trains."""
    if engine.resumes is None:
        return 0
    try:
        held = latest(engine.resumes)
    except OSError:  # the training thread finds that too, and tells
        return 0
    if held is not None:
        return held.step
    return step_in_name(engine.origin or "") or 0
