"""Who trains in the calling thread: known to what a loop of the user's own opens in it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Protocol, SupportsFloat

from nbtrain.cadence import Every
from nbtrain.checkpoints import Saver
from nbtrain.threads import Coordinator


class Owner(Protocol):
    """A run, as a Supervisor sees it whose session is opened in its training thread."""

    def should_stop(self) -> bool:
        """The step boundary."""

    def lead(self, coord: Coordinator) -> None:
        """Stop a Supervisor with the run, also while its session is prepared."""

    def asked_to_stop(self) -> bool:
        """Whether a stop was requested; unlike `should_stop` at any time, in any thread."""

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every) -> None:
        """Take a session under the run: its stops are one, and its saver is the run's."""

    def release(self) -> None:
        """Let go of the session, after a last checkpoint."""

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Record scalars that were computed at a step, in any thread."""

    def note(self, topic: str, text: str | None) -> None:
        """Warn of something in the panel, until (None) there is nothing to warn of."""


# Set in the context of a training thread; threads that it starts do not inherit it.
owner: ContextVar[Owner | None] = ContextVar("owner", default=None)
