"""How long the making and the closing of a session may last: TensorFlow sets no limit.

A MonitoredSession that cannot be made, as its server does not answer, is attempted again
at once and for ever, and no stop is heard between. A session of a server that has died
never closes.

What goes on inside one call of TensorFlow's cannot be ended: a dead server fails a step, or
an attempt, only where GRPC_FAIL_FAST=true stood in the environment when TensorFlow was
imported. Without it the call lasts until the server is back, and the panel shows where.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Thread, current_thread
from typing import Any

import tensorflow as tf

from nbtrain.engines.turns import close_in_time

# Seconds until the next attempt: doubled each time, as long as none succeeds.
_FIRST_WAIT_SECS = 0.1
_LONGEST_WAIT_SECS = 30.0
# Seconds in which threads end that have waited for what the closing cancels.
_LAST_SECS = 1.0

# Where a session stands is told under this topic; None: there is nothing to tell any more.
Tell = Callable[[str, str | None], object]


class NoSession(StopIteration):
    """A stop was requested while there was no session.

    A subclass: on a bare StopIteration TensorFlow calls each hook's `end` with a session,
    and there is none that is open.
    """


class Attempts:
    """The attempts to make the session of a graph; each after a pause that a stop ends.

    TensorFlow tells nobody of an attempt that failed. But each begins with
    `Scaffold.finalize`, which finalizes the graph: this is where the pause is made, in the
    graph's own `finalize`, until `end`.

    Args:
        graph: The graph.
        coord: Whose stop ends a pause, and the attempts.
        tell: Is told how it stands.
    """

    def __init__(self, graph: tf.Graph, coord: tf.train.Coordinator, tell: Tell) -> None:
        self._graph = graph
        self._coord = coord
        self._tell = tell
        self._failed = 0
        self._under_way = False
        graph.finalize = self._begin

    def succeeded(self) -> None:
        """The session has been made."""
        self._under_way = False
        if self._failed:
            self._failed = 0
            self._tell("attempts", None)

    def end(self) -> None:
        """Leave the graph as it was."""
        if self._graph.finalize == self._begin:  # and not another's
            del self._graph.finalize

    def _begin(self) -> None:
        """An attempt begins; it is not the first if the one before has not succeeded.

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
                    "succeeded: what was trained since the latest checkpoint is lost.",
                )
                raise NoSession
        self._under_way = True
        tf.Graph.finalize(self._graph)


def wait_secs(attempts: int) -> float:
    """How long to wait before an attempt, after so many others that were in vain."""
    return float(min(_FIRST_WAIT_SECS * 2.0 ** min(attempts, 16), _LONGEST_WAIT_SECS))


def limit_closing(sess: tf.compat.v1.Session, tell: Tell, threads: Iterable[Thread] = ()) -> None:
    """Have a session's `close` return in time, whoever calls it, and say what is left behind.

    Args:
        sess: The session; its own `close` is called once, and waited for as long as a server
            has to answer.
        tell: Is told of a session that has not closed, and of threads that have not ended.
        threads: The session's, looked at when it is closed: they have been stopped by then.
    """
    close: Any = sess.close

    def close_once() -> None:
        sess.close = _nothing  # whoever comes second need not wait again
        close_in_time(close, lambda text: tell("close", text))
        if alive := _still_alive(threads):
            tell(
                "threads",
                f"The session is closed, and of its threads {', '.join(alive)} still run: they "
                "wait for something else than the session, and are left to themselves.",
            )

    sess.close = close_once


def _still_alive(threads: Iterable[Thread]) -> list[str]:
    """The names of threads that do not end although their session is closed."""
    deadline = time.monotonic() + _LAST_SECS
    alive = [thread for thread in threads if thread.is_alive() and thread is not current_thread()]
    for thread in alive:
        thread.join(max(0.0, deadline - time.monotonic()))
    return sorted(thread.name for thread in alive if thread.is_alive())


def _nothing() -> None:
    """Closed already."""
