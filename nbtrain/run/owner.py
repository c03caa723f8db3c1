"""The run that trains in the calling thread, for the sessions that the user's loop opens there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol, SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.run.threads import Coordinator


class Owner(Protocol):
    """A run as seen by a Supervisor that opens its session in the training thread."""

    @property
    def name(self) -> str:
        """The name of the run."""

    def should_stop(self) -> bool:
        """The step boundary; tells if the loop must end."""

    def lead(self, coord: Coordinator, left_open: Callable[[], object]) -> None:
        """Links a Supervisor to the run: both stop together, even while its session is prepared.

        Args:
            coord: The Supervisor's coordinator.
            left_open: Called at the end of the run if the Supervisor was not released.
        """

    def asked_to_stop(self) -> bool:
        """Tells if a stop was requested; unlike `should_stop`, in any thread at any time."""

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every, step: int | None) -> None:
        """Accepts a session: it and the run stop together, and its saver becomes the run's."""

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Handles the boundary before a call of the session, for a loop that never asks.

        Args:
            recount: Returns the session's own step for an expected one.
        """

    def release(self, coord: Coordinator) -> None:
        """Releases a Supervisor and its session, after a last checkpoint."""

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Records scalars of a step; any thread."""

    def note(self, topic: str, text: str | None) -> None:
        """Shows a warning in the panel; None clears it."""


class EngineOwner:
    """The owner of a session of the run's own engine, which saves and loops by itself.

    Args:
        run: The run.
        tags: The tags that the run records at every step.
    """

    def __init__(self, run: Owner, tags: frozenset[str]) -> None:
        self._run = run
        self._tags = tags

    @property
    def name(self) -> str:
        """The name of the run."""
        return self._run.name

    def should_stop(self) -> bool:
        """Tells if a stop was requested; the engine handles the boundary."""
        return self._run.asked_to_stop()

    def asked_to_stop(self) -> bool:
        """Tells if a stop was requested."""
        return self._run.asked_to_stop()

    def lead(self, coord: Coordinator, left_open: Callable[[], object]) -> None:
        """Does nothing: the session belongs to the run."""

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every, step: int | None) -> None:
        """Does nothing: the session belongs to the run already."""

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Does nothing: the engine calls the boundary."""

    def release(self, coord: Coordinator) -> None:
        """Does nothing: the run releases the session when the loop is over."""

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Records scalars, except those that the run records at every step."""
        self._run.add(step, {tag: value for tag, value in values.items() if tag not in self._tags})

    def note(self, topic: str, text: str | None) -> None:
        """Shows a warning in the panel; None clears it."""
        self._run.note(topic, text)


class _OfThread(threading.local):
    """The owner of the sessions that the calling thread opens.

    Neither new threads nor copies of the thread's context inherit it.
    """

    _owner: Owner | None = None

    def get(self) -> Owner | None:
        """Returns the run that trains in this thread, or None."""
        return self._owner

    def set(self, owner: Owner | None) -> None:
        """Sets the owner for this thread."""
        self._owner = owner


owner = _OfThread()


def tell(topic: str, text: str | None) -> None:
    """Shows a warning in the panel of this thread's run; without a run, logs it."""
    run = owner.get()
    if run is not None:
        run.note(topic, text)
    elif text is not None:
        tf.compat.v1.logging.warning(text)
