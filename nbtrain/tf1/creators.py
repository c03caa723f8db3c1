"""TensorFlow's session creators, which a stop of the run ends between two attempts.

A MonitoredSession calls its creator to make its session, and again when the session is lost.
TensorFlow's creators ignore a stop: a call to a server that does not answer never returns, a failed
attempt is repeated at once, and a worker checks twice a minute if its chief is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbtrain.run.boundary.session_host import owner, warn
from nbtrain.run.thread.threads import Coordinator
from nbtrain.tf1.graphs import BUILD_AGAIN, adding_to
from nbtrain.tf1.saving.in_graph import SessionManager
from nbtrain.tf1.servers import LOST, UNSAVED, wait_secs
from nbtrain.tf1.signatures import taking

v1 = tf.compat.v1

# Seconds between two checks of a worker for whether its chief has prepared the session.
_RECOVERY_WAIT_SECS = 1.0
# The attribute of a session that holds its creator.
_CREATOR = "_nbtrain_creator"


class ChiefSessionCreator(tf.compat.v1.train.ChiefSessionCreator):
    """A `tf.compat.v1.train.ChiefSessionCreator` for a run.

    It has the same arguments. Three things differ:

    - A stop of the run ends the wait for a server, and the attempts to make a session.
    - On a cluster it initializes the variables from the run's latest checkpoint. Otherwise workers
      would train the initial values until a hook restores the checkpoint.
    - A checkpoint of another model raises an error before anything is restored, as in `Saver`.

    Args:
        args, kwargs: TensorFlow's arguments.

    Attributes:
        restored: The run's checkpoint that the variables were initialized from, or None.

    Example:
        >>> creator = nbtrain.tf1.ChiefSessionCreator(master=server.target)
        >>> with tf.compat.v1.train.MonitoredSession(creator, [nbtrain.tf1.RunHook(run)]) as sess:
        ...     ...
    """

    _checkpoint_filename_with_path: str | None

    @taking(v1.train.ChiefSessionCreator.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.restored: str | None = None
        self._has_own = bool(self._checkpoint_dir or self._checkpoint_filename_with_path)

    def create_session(self) -> tf.compat.v1.Session:
        """Returns a session with initialized or restored variables.

        Raises:
            tf.errors.CancelledError: A stop was requested first.
        """
        _finalize(self._scaffold)
        run = owner.get()
        if run is not None and self._master and not self._has_own:
            self.restored = run.initial(self._scaffold.saver)
            self._checkpoint_filename_with_path = self.restored
        return _made(self, super().create_session)

    def _get_session_manager(self) -> SessionManager:
        return _session_manager(self._scaffold)


class WorkerSessionCreator(tf.compat.v1.train.WorkerSessionCreator):
    """A `tf.compat.v1.train.WorkerSessionCreator` for a run.

    It has the same arguments. Two things differ: a stop of the run ends the wait for a server or
    for the chief, and the chief is polled once a second.

    Args:
        args, kwargs: TensorFlow's arguments.
    """

    def create_session(self) -> tf.compat.v1.Session:
        """Returns a session whose variables the chief has initialized.

        Raises:
            tf.errors.CancelledError: A stop was requested first.
            tf.errors.DeadlineExceededError: The chief was not ready within `max_wait_secs`.
        """
        _finalize(self._scaffold)
        return _made(self, super().create_session)

    def _get_session_manager(self) -> SessionManager:
        return _session_manager(self._scaffold)


def creator_of(sess: Any) -> ChiefSessionCreator | WorkerSessionCreator | None:
    """Returns the creator that made a session; None if it is not nbtrain's."""
    creator: ChiefSessionCreator | WorkerSessionCreator | None = getattr(sess, _CREATOR, None)
    return creator


def _finalize(scaffold: tf.compat.v1.train.Scaffold) -> None:
    with adding_to(v1.get_default_graph(), "the session", BUILD_AGAIN):
        scaffold.finalize()


def _made(creator: Any, create: Callable[[], tf.compat.v1.Session]) -> tf.compat.v1.Session:
    """Attempts to make a session until it succeeds or a stop is requested."""
    failed = 0
    while True:
        try:
            sess = create()
            break
        except LOST:
            secs = wait_secs(failed)
            failed += 1
        warn(
            "attempts",
            f"Attempt {failed} to make a session has failed: a server of its cluster does not "
            "answer, or fails while it is initialized. The next attempt is made in "
            f"{secs:g} s; a stop ends them.",
        )
        if _coord().wait_for_stop(secs):
            warn("attempts", f"Stopped without a session. {UNSAVED}")
            raise tf.errors.CancelledError(None, None, "A stop was requested without a session.")
    if failed:
        warn("attempts", None)
    setattr(sess, _CREATOR, creator)
    return sess


def _session_manager(scaffold: tf.compat.v1.train.Scaffold) -> SessionManager:
    return SessionManager(
        scaffold.local_init_op,
        scaffold.ready_op,
        scaffold.ready_for_local_init_op,
        v1.get_default_graph(),
        _RECOVERY_WAIT_SECS,
        coord=_coord(),
        local_init_feed_dict=scaffold.local_init_feed_dict,
    )


def _coord() -> tf.train.Coordinator:
    """Returns the coordinator of this thread's run; without a run, one that never stops."""
    run = owner.get()
    return Coordinator() if run is None else run.coord
