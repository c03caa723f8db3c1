"""Calls to the servers of a session's cluster, any of which may be dead.

TensorFlow has no timeout for a call, and a call that waits for a dead server cannot be ended. So
calls with a timeout run in a thread of their own, which is abandoned if there is no answer.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

# Seconds for a server to answer. A dead one never does, and no call to it ends.
SERVER_SECS = 10.0
# Errors after which the server with the variables is gone.
LOST = (tf.errors.AbortedError, tf.errors.UnavailableError)
# What to do then.
REMEDY = "Once it has been started again, the training can go on from the latest checkpoint."
# Seconds for threads to end that were waiting for what the closing cancels.
_LAST_SECS = 1.0
# TensorFlow's name for the server that was called.
_CALLED = re.compile(r"remote target (/job:\S+)")

# Reports the state of a session under this topic; None withdraws the report.
Tell = Callable[[str, str | None], object]


def unanswered(sess: tf.compat.v1.Session, *asked: Any) -> str | None:
    """Says which server of a session's cluster is lost or silent; None if all answer.

    Args:
        sess: The session; one in this process needs no server.
        asked: Operations that together call every known server with variables.
    """
    ops = [op for op in asked if op is not None]
    errors: list[Exception] = []
    if not sess.sess_str:
        return None
    if not ends_soon(lambda: sess.run(ops), errors.append):
        return f"a server of {_master(sess)} has not answered within {SERVER_SECS:g} s"
    return lost(sess, errors[0]) if errors else None


def lost(sess: tf.compat.v1.Session, error: BaseException | None) -> str | None:
    """Says that a server of a session's cluster is lost; None for any other error."""
    if not sess.sess_str or not isinstance(error, LOST):
        return None
    called = _CALLED.search(error.message)
    server = f"the server {called.group(1)}" if called else "a server"
    return f"{server} of {_master(sess)} is lost"


def ends_soon(
    ask: Callable[[], object], failed: Callable[[Exception], object] = lambda _error: None
) -> bool:
    """Tells if a server answers within `SERVER_SECS`; an error counts, and goes to `failed`."""

    def asking() -> None:
        try:
            ask()
        except Exception as error:  # noqa: BLE001 - as TensorFlow's closing: nobody is to tell
            failed(error)

    thread = threading.Thread(target=asking, name="nbtrain asking", daemon=True)
    thread.start()
    thread.join(SERVER_SECS)
    return not thread.is_alive()


def ask_all(master: str, config: Any) -> bool:
    """Calls every server that a session needs; returns when all have answered.

    Uses its own graph: a session that waits for a server blocks whoever adds to its graph.
    """
    with tf.Graph().as_default():
        nothing = tf.no_op()
        with tf.compat.v1.Session(master, config=config) as sess:
            sess.run(nothing)
    return True


# --- closing ------------------------------------------------------------------------


def close_session(sess: tf.compat.v1.Session) -> None:
    """Closes a session, which may take forever in a cluster with a dead server."""
    close_in_time(sess.close, tf.compat.v1.logging.warning)


def close_in_time(close: Callable[[], object], tell: Callable[[str], object]) -> None:
    """Calls a function that closes a session; if it takes too long, abandons it and says so."""
    if not ends_soon(close):
        tell(
            f"The session has not closed within {SERVER_SECS:g} s, and is left to itself: a "
            "server of its cluster does not answer."
        )


def limit_closing(
    sess: tf.compat.v1.Session, tell: Tell, threads: Iterable[threading.Thread] = ()
) -> None:
    """Makes a session's `close` return in time for any caller, and reports what is left behind.

    Args:
        sess: The session; its own `close` is called once, with the time that a server has to
            answer.
        tell: Reports a session that has not closed, and threads that have not ended.
        threads: The session's threads, which should have stopped when it is closed.
    """
    close: Any = sess.close

    def close_once() -> None:
        sess.close = _nothing  # a second caller need not wait again
        if sys.is_finalizing():  # threads no longer run, and nothing is left behind
            return
        close_in_time(close, lambda text: tell("close", text))
        if alive := _still_alive(threads):
            tell(
                "threads",
                f"The session is closed, and of its threads {', '.join(alive)} still run: they "
                "wait for something else than the session, and are left to themselves.",
            )

    sess.close = close_once


def _still_alive(threads: Iterable[threading.Thread]) -> list[str]:
    """The names of threads that do not end although their session is closed."""
    deadline = time.monotonic() + _LAST_SECS
    me = threading.current_thread()
    alive = [thread for thread in threads if thread.is_alive() and thread is not me]
    for thread in alive:
        thread.join(max(0.0, deadline - time.monotonic()))
    return sorted(thread.name for thread in alive if thread.is_alive())


def _master(sess: tf.compat.v1.Session) -> str:
    return str(tf.compat.as_str(sess.sess_str))


def _nothing() -> None:
    """Does nothing: the session is already closed."""
