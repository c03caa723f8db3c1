"""Controls the attempts to make a MonitoredSession, which TensorFlow neither ends nor reports.

If a session cannot be made because its server does not answer, TensorFlow retries at once and
forever. A worker waits half an hour for its chief, and checks twice a minute. TensorFlow ignores a
stop during all that; here a stop ends it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import tensorflow as tf

from nbtrain.engines.graph.graphs import BUILD_AGAIN, cannot_add
from nbtrain.engines.graph.in_graph import SessionManager
from nbtrain.engines.graph.servers import UNSAVED, Tell

v1 = tf.compat.v1

# Seconds until the next attempt, doubled after each failure.
_FIRST_WAIT_SECS = 0.1
_LONGEST_WAIT_SECS = 30.0
# Seconds between two checks of a worker for whether its chief has prepared the session.
_RECOVERY_WAIT_SECS = 1.0


class NoSession(StopIteration):
    """A stop was requested while there was no session.

    A subclass, because for a bare StopIteration TensorFlow calls each hook's `end` with a session,
    and none is open.
    """


class SessionRetry:
    """The attempts to make the session of a graph, with pauses that a stop ends.

    TensorFlow does not report a failed attempt. But each begins with `Scaffold.finalize`, which
    finalizes the graph. So until `end`, the graph's own `finalize` makes the pause, and gives the
    creator of the session a session manager that reacts to a stop.

    Args:
        latest: Returns the checkpoint that a saver can initialize all variables from, or None.

    Attributes:
        for_worker: Whether the session is a worker's, whose variables its chief initializes.
        restored: The checkpoint that a chief's session was initialized from, or None.
        lost: Sessions in a row that were lost without completing a step.
    """

    def __init__(
        self,
        graph: tf.Graph,
        coord: tf.train.Coordinator,
        tell: Tell,
        latest: Callable[[Any], str | None],
    ) -> None:
        self.for_worker = False
        self.lost = 0
        self._latest = latest
        self.restored: str | None = None
        self._graph = graph
        self._coord = coord
        self._tell = tell
        self._failed = 0
        self._under_way = False
        self._was_finalized = graph.finalized
        graph.finalize = self._begin
        if graph.finalized:
            graph._check_not_finalized = self._refuse

    def succeeded(self) -> None:
        """Notes that the session has been made."""
        self._under_way = False
        self._allow()
        if self._failed:
            self._failed = 0
            self._tell("attempts", None)

    def end(self) -> None:
        """Restores the graph's methods."""
        self._allow()
        if self._graph.finalize == self._begin:  # and not replaced by another
            del self._graph.finalize

    def reopen(self) -> None:
        """Makes the graph open to additions again, as TensorFlow does when it closes a session."""
        if self._graph.finalized and not self._was_finalized:
            self._graph._unsafe_unfinalize()

    def wait_after_loss(self) -> None:
        """Waits after a session was lost; a stop ends the wait and the training.

        Raises:
            StopIteration: A stop was requested.
        """
        secs = wait_secs(self.lost)
        self.lost += 1
        if self._coord.wait_for_stop(secs):
            raise StopIteration

    def _refuse(self) -> None:
        """Replaces TensorFlow's error, which does not say who adds to the graph."""
        if self._graph.finalized:
            raise cannot_add("the session", BUILD_AGAIN)

    def _allow(self) -> None:
        with contextlib.suppress(AttributeError):  # nothing was replaced
            del self._graph._check_not_finalized

    def _begin(self) -> None:
        """Begins an attempt, after a pause if the last one has not succeeded.

        Raises:
            NoSession: A stop was requested.
        """
        if self._under_way:
            secs = wait_secs(self._failed)
            self._failed += 1
            self._tell(
                "attempts",
                f"No session after {self._failed} attempts: a server of its cluster does not "
                f"answer, or fails while it is initialized. The next attempt is made in {secs:g} "
                "s; a stop ends them.",
            )
            if self._coord.wait_for_stop(secs):
                self._tell(
                    "attempts",
                    f"Stopped after {self._failed} attempts to make a session, none of which "
                    f"succeeded. {UNSAVED}",
                )
                raise NoSession
        self._under_way = True
        tf.Graph.finalize(self._graph)
        self._meet(_creator())

    def _meet(self, creator: Any) -> None:
        """Finds out for whom a session is made, and gives its creator a session manager."""
        self.for_worker = isinstance(creator, v1.train.WorkerSessionCreator)
        if creator is None:
            return
        scaffold = creator._scaffold
        if creator._master and not self.for_worker:
            self._lend_checkpoint(creator)
        if creator._session_manager is None:
            creator._session_manager = SessionManager(
                scaffold.local_init_op,
                scaffold.ready_op,
                scaffold.ready_for_local_init_op,
                self._graph,
                _RECOVERY_WAIT_SECS,
                coord=self._coord,
                local_init_feed_dict=scaffold.local_init_feed_dict,
            )

    def _lend_checkpoint(self, creator: Any) -> None:
        """Makes a chief restore before workers see its variables and train initial values."""
        own = creator._checkpoint_dir or creator._checkpoint_filename_with_path
        if not own or own == self.restored:
            self.restored = self._latest(creator._scaffold.saver)
            creator._checkpoint_filename_with_path = self.restored


def wait_secs(attempts: int) -> float:
    """Returns the seconds to wait after `attempts` failed attempts."""
    return float(min(_FIRST_WAIT_SECS * 2.0 ** min(attempts, 16), _LONGEST_WAIT_SECS))


def _creator() -> Any:
    """Returns the current session creator; None if it is not TensorFlow's.

    Only the call stack knows it: a MonitoredSession does not tell its hooks.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, (v1.train.ChiefSessionCreator, v1.train.WorkerSessionCreator)):
            return caller
        frame = frame.f_back
    return None
