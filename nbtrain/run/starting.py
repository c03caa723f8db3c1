"""Checks before a start trains: the first step, and the names that refer to new objects."""

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
    """Adds to a BusyError the names that refer to new objects since the live run has started.

    Raises:
        BusyError: As raised inside the block.
    """
    try:
        yield
    except BusyError as busy:
        other = roster.runs.get(busy.run or "")
        anew = other.attempt.context.bindings.new_names() if other is not None else ""
        if not anew:
            raise
        raise BusyError(
            f"{busy} {anew}, which the run {busy.run!r} does not train: what it has trained is no "
            "more reached by name. Where it saves checkpoints, stop it, wait for its end, and run "
            "the cell again: that goes on from the last one.",
            run=busy.run,
        ) from None


def first_step(engine: Engine[Any]) -> int:
    """Returns the step from which an engine will continue; 0 if it is not known in advance."""
    if engine.resumes is None:
        return 0
    try:
        held = latest(engine.resumes)
    except OSError:  # the training thread will meet this error too, and report it
        return 0
    if held is not None:
        return held.step
    return step_in_name(engine.origin or "") or 0
