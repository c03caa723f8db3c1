"""Who trains in the calling thread: known to what a loop of the user's own opens in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol, SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.run.threads import Coordinator


class Owner(Protocol):
    """A run, as a Supervisor sees it whose session is opened in its training thread."""

    @property
    def name(self) -> str:
        """The name of the run."""

    def should_stop(self) -> bool:
        """The step boundary."""

    def lead(self, coord: Coordinator, left_open: Callable[[], object]) -> None:
        """Stop a Supervisor with the run, also while its session is prepared.

        Args:
            coord: Its coordinator.
            left_open: Called at the end of the run, if it has not been released.
        """

    def asked_to_stop(self) -> bool:
        """Whether a stop was requested; unlike `should_stop` at any time, in any thread."""

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every, step: int | None) -> None:
        """Take a session under the run: their stops are one, and its saver is the run's."""

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Before each call of the session: do what a loop that never asks would not.

        Args:
            recount: Gives the session's own step, where this one is expected.
        """

    def release(self, coord: Coordinator) -> None:
        """Let go of a Supervisor and its session, after a last checkpoint."""

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Record scalars that were computed at a step, in any thread."""

    def note(self, topic: str, text: str | None) -> None:
        """Warn of something in the panel, until (None) there is nothing to warn of."""


class EngineOwner:
    """The owner of a session of the run's own engine, which saves and loops by itself.

    Args:
        run: The run.
        tags: What the run records at every step.
    """

    def __init__(self, run: Owner, tags: frozenset[str]) -> None:
        self._run = run
        self._tags = tags

    @property
    def name(self) -> str:
        """The name of the run."""
        return self._run.name

    def should_stop(self) -> bool:
        """Whether a stop was requested: the boundary is the engine's."""
        return self._run.asked_to_stop()

    def asked_to_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._run.asked_to_stop()

    def lead(self, coord: Coordinator, left_open: Callable[[], object]) -> None:
        """Nothing: it is the run's own."""

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every, step: int | None) -> None:
        """Nothing: it is the run's already."""

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """Nothing: the engine asks."""

    def release(self, coord: Coordinator) -> None:
        """Nothing: the run lets go of it when the loop is over."""

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Record scalars, except those that the run records at every step."""
        self._run.add(step, {tag: value for tag, value in values.items() if tag not in self._tags})

    def note(self, topic: str, text: str | None) -> None:
        """Warn of something in the panel."""
        self._run.note(topic, text)


class _OfThread(threading.local):
    """The owner of what the calling thread opens.

    No thread that it starts inherits it, nor does a copy of its context.
    """

    _owner: Owner | None = None

    def get(self) -> Owner | None:
        """The run that trains in this thread, or None."""
        return self._owner

    def set(self, owner: Owner | None) -> None:
        """Set it for this thread."""
        self._owner = owner


owner = _OfThread()


def tell(topic: str, text: str | None) -> None:
    """Warn in the panel of the run that trains in this thread; where there is none, in the log."""
    run = owner.get()
    if run is not None:
        run.note(topic, text)
    elif text is not None:
        tf.compat.v1.logging.warning(text)
