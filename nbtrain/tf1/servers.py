"""Calls the servers of a session's cluster, which may be dead, and waits for them.

TensorFlow has no timeout for a call, and a call that waits for a dead server cannot be ended. So
such a call runs in a thread of its own, which is abandoned if there is no answer.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any, TypeVar

import tensorflow as tf

from nbtrain.run.boundary.session_host import warn

Made = TypeVar("Made")

# Seconds for a server to answer. A dead one never does, and no call to it ends.
SERVER_SECS = 10.0
# Errors after which the server with the variables is gone.
LOST = (tf.errors.AbortedError, tf.errors.UnavailableError)
# The advice for that case.
REMEDY = "Once it has been started again, the training can continue from the latest checkpoint."
# The end of a message about a session that no server answers for.
UNSAVED = "The steps since the latest checkpoint are lost."
# Seconds between two checks for the end of an attempt or a request to stop.
_PATIENCE_SECS = 0.05
# Seconds between two calls of servers while one does not listen.
_AGAIN_SECS = 0.2
# Seconds that a running attempt may exceed the time to wait.
_ATTEMPT_SECS = 5.0
# Seconds until the next attempt to make a session, doubled after each failure.
_FIRST_WAIT_SECS = 0.1
_LONGEST_WAIT_SECS = 30.0
# Seconds after which waiting for a server is reported: the first answer takes a moment.
_LATE_SECS = 1.0
# TensorFlow's name for the server that was called.
_CALLED = re.compile(r"remote target (/job:\S+)")

# Reports the state of a session under this topic; None withdraws the report.
Note = Callable[[str, str | None], object]


def _ignore(_made: object) -> None:
    """Does nothing with the late result of an abandoned call."""


def _aside(act: Callable[[], Made], discard: Callable[[Made], object] = _ignore) -> Any:
    """Calls `act` in a thread; to abandon it, cancel the future that is returned."""
    answer: futures.Future[Made] = futures.Future()

    def call() -> None:
        try:
            made = act()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            if answer.set_running_or_notify_cancel():
                answer.set_exception(error)
            return
        if answer.set_running_or_notify_cancel():
            answer.set_result(made)
        elif made is not None:  # an attempt that has made nothing
            discard(made)

    threading.Thread(target=call, name="nbtrain attempt", daemon=True).start()
    return answer


def unanswered(sess: tf.compat.v1.Session, *asked: Any) -> str | None:
    """Returns which server of a session's cluster is lost or silent, in words; None if all answer.

    A session in this process needs no server. The operations `asked` together call every known
    server with variables.
    """
    if not sess.sess_str:
        return None
    answer = _aside(lambda: sess.run([op for op in asked if op is not None]))
    if not futures.wait([answer], SERVER_SECS).done:
        return f"a server of {_master(sess)} has not answered within {SERVER_SECS:g} s"
    return lost(sess, answer.exception())


def lost(sess: tf.compat.v1.Session, error: BaseException | None) -> str | None:
    """Returns the message that a server of a session's cluster is lost; None for other errors."""
    if not sess.sess_str or not isinstance(error, LOST):
        return None
    called = _CALLED.search(error.message)
    server = f"the server {called.group(1)}" if called else "a server"
    return f"{server} of {_master(sess)} is lost"


def ask_all(master: str, config: Any) -> bool:
    """Calls every server that a session needs; returns True when all have answered.

    Uses its own graph: a session that waits for a server blocks threads that add to its graph.
    """
    with tf.Graph().as_default():
        nothing = tf.no_op()
        with tf.compat.v1.Session(master, config=config) as sess:
            sess.run(nothing)
    return True


def _master(sess: tf.compat.v1.Session) -> str:
    return str(tf.compat.as_str(sess.sess_str))


# --- waiting ------------------------------------------------------------------------


def wait_secs(failed: int) -> float:
    """Returns the seconds to wait after a failed attempt; `failed` others have failed before."""
    return float(min(_FIRST_WAIT_SECS * 2.0 ** min(failed, 16), _LONGEST_WAIT_SECS))


def wait_for(
    attempt: Callable[[], Made | None],
    coord: tf.train.Coordinator,
    *,
    every_secs: float,
    max_wait_secs: float,
    discard: Callable[[Any], object] = _ignore,
    late: Callable[[], object] = lambda: None,
) -> Made | None:
    """Attempts something until it succeeds.

    Args:
        attempt: Returns None while it is not ready. Called in its own thread, because it may never
            return if a server does not answer.
        coord: The coordinator whose stop ends the wait.
        every_secs: Seconds between two attempts.
        max_wait_secs: Seconds in all; after that, the result is None.
        discard: Called with the late result of an abandoned attempt.
        late: Called once if the wait takes long.

    Raises:
        tf.errors.CancelledError: A stop was requested.
    """
    deadline = time.monotonic() + max_wait_secs
    late_at = time.monotonic() + _LATE_SECS
    while True:
        answer = _aside(attempt, discard)
        while not futures.wait([answer], _PATIENCE_SECS).done:
            if time.monotonic() > late_at:
                late_at = float("inf")
                late()
            if coord.should_stop() and answer.cancel():
                raise _stopped()
            if time.monotonic() > deadline + _ATTEMPT_SECS and answer.cancel():
                return None
        made: Made | None = answer.result()
        left = deadline - time.monotonic()
        if made is not None or left <= 0:
            return made
        if time.monotonic() > late_at:
            late_at = float("inf")
            late()
        if coord.wait_for_stop(min(every_secs, left)):
            raise _stopped()


def wait_for_servers(
    master: str, config: Any, coord: tf.train.Coordinator, max_wait_secs: float = float("inf")
) -> None:
    """Waits until every server that a session needs answers, or `coord` stops.

    The master "" is this process, which needs no server. For other masters, the `device_filters` of
    the config name the needed servers.

    Raises:
        tf.errors.CancelledError: A stop was requested.
        tf.errors.DeadlineExceededError: A server has not answered in time.
    """
    if not master:
        return
    silent = f"A server that a session at {master} needs does not answer"
    waiting = False

    def late() -> None:
        nonlocal waiting
        waiting = True
        warn(
            "servers",
            f"{silent}, and is waited for: start it, or name in ConfigProto(device_filters=...) "
            "those that are needed. A stop ends the waiting.",
        )

    def attempt() -> bool | None:
        try:
            return ask_all(master, config)
        except tf.errors.UnavailableError:  # with GRPC_FAIL_FAST, from one that does not listen yet
            return None

    try:
        answered = wait_for(
            attempt, coord, every_secs=_AGAIN_SECS, max_wait_secs=max_wait_secs, late=late
        )
    except tf.errors.CancelledError:
        if waiting:
            warn("servers", f"{silent}: stopped without a session. {UNSAVED}")
        raise
    warn("servers", None)
    if answered is None:
        text = f"{silent}, for {max_wait_secs:g} s."
        raise tf.errors.DeadlineExceededError(None, None, text)


def _stopped() -> tf.errors.CancelledError:
    return tf.errors.CancelledError(
        None, None, "A stop was requested while the session was waited for."
    )


# --- closing ------------------------------------------------------------------------


def close_in_time(
    close: Callable[[], object], report: Callable[[str], object] = tf.compat.v1.logging.warning
) -> None:
    """Calls a function that closes a session; if it takes too long, abandons it and reports it."""
    if not futures.wait([_aside(close)], SERVER_SECS).done:
        report(
            f"The session has not closed within {SERVER_SECS:g} s, and is left to itself: a "
            "server of its cluster does not answer."
        )


def limit_closing(sess: tf.compat.v1.Session, note: Note) -> None:
    """Makes a session's `close` return in time for any caller; reports an abandoned session."""
    close: Any = sess.close

    def close_once() -> None:
        sess.close = lambda: None  # a second caller need not wait again
        if sys.is_finalizing():  # threads no longer run, and the process ends anyway
            return
        close_in_time(close, lambda text: note("close", text))

    sess.close = close_once
