"""Waits for what another process prepares; a stop ends the wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any, TypeVar

import tensorflow as tf

from nbtrain.engines.graph.servers import ask_all, close_session
from nbtrain.run.session_host import tell

Made = TypeVar("Made")

# Seconds between two checks if an attempt has ended or a stop was requested.
_PATIENCE_SECS = 0.05
_UNSAVED = "What was trained since the latest checkpoint is lost."
# Seconds that a running attempt may exceed the time to wait.
_ATTEMPT_SECS = 5.0
# Seconds after which waiting for a server is reported: the first answer takes a moment.
_TELL_SECS = 1.0


def wait_for(
    attempt: Callable[[], Made | None],
    coord: tf.train.Coordinator,
    *,
    every_secs: float,
    max_wait_secs: float,
    discard: Callable[[Made], object] = lambda _made: None,
    late: Callable[[], object] = lambda: None,
) -> Made | None:
    """Attempts something until it succeeds.

    Args:
        attempt: Returns None while it is not ready. Called in its own thread, because it may never
            return if a server does not answer.
        coord: The coordinator whose stop ends the wait.
        every_secs: Seconds between two attempts.
        max_wait_secs: Seconds in all.
        discard: Called with the late result of an abandoned attempt.
        late: Called once in each attempt that takes long.

    Returns:
        The result of the attempt; None if it was not ready in time.

    Raises:
        tf.errors.CancelledError: A stop was requested.
    """
    deadline = time.monotonic() + max_wait_secs
    while True:
        made = _attempted(attempt, coord, deadline, discard, late)
        left = deadline - time.monotonic()
        if made is not None or left <= 0:
            return made
        if coord.wait_for_stop(min(every_secs, left)):
            raise _stopped()


def ready_session(
    attempt: Callable[[], tf.compat.v1.Session],
    graph: tf.Graph,
    coord: tf.train.Coordinator,
    *,
    master: str,
    config: Any,
    every_secs: float,
    max_wait_secs: float,
) -> tf.compat.v1.Session:
    """Returns the session that another thread or process prepares.

    Args:
        attempt: Returns the session, or raises a `tf.errors.DeadlineExceededError` at once.
        graph: Its graph.
        coord: The coordinator whose stop ends the wait.
        master: Address of the TensorFlow master.
        config: The session's `ConfigProto`, or None.
        every_secs: Seconds between two attempts.
        max_wait_secs: Seconds in all.

    Raises:
        tf.errors.CancelledError: A stop was requested.
        tf.errors.DeadlineExceededError: It was not ready in time.
    """
    wait_for_servers(master, config, coord, max_wait_secs)

    def attempt_in_graph() -> tf.compat.v1.Session | None:
        if master:  # a server may have died since
            ask_all(master, config)
        with graph.as_default():
            try:
                return attempt()
            except tf.errors.DeadlineExceededError:
                return None

    sess = wait_for(
        attempt_in_graph,
        coord,
        every_secs=every_secs,
        max_wait_secs=max_wait_secs,
        discard=close_session,
    )
    if sess is None:
        raise tf.errors.DeadlineExceededError(
            None,
            None,
            f"The chief has not made the session ready within {max_wait_secs:g} s: see "
            "whether it runs, and uses the same master and the same variables.",
        )
    return sess


def wait_for_servers(
    master: str, config: Any, coord: tf.train.Coordinator, max_wait_secs: float = float("inf")
) -> None:
    """Waits until every server that a session needs answers, as making the session needs one to.

    Args:
        master: Address of the TensorFlow master; "" for this process, which needs no server.
        config: The session's `ConfigProto`, whose `device_filters` say which are needed; or None.
        coord: The coordinator whose stop ends the wait.
        max_wait_secs: Seconds to wait.

    Raises:
        tf.errors.CancelledError: A stop was requested.
        tf.errors.DeadlineExceededError: One has not answered in time.
    """
    if not master:
        return
    silent = f"A server that a session at {master} needs does not answer"
    told: list[str] = []

    def late() -> None:
        told.append(silent)
        tell(
            "servers",
            f"{silent}, and is waited for: start it, or name in ConfigProto(device_filters=...) "
            "those that are needed. A stop ends the waiting.",
        )

    try:
        answered = wait_for(
            lambda: ask_all(master, config),
            coord,
            every_secs=0.0,
            max_wait_secs=max_wait_secs,
            late=late,
        )
    except tf.errors.CancelledError:
        if told:
            tell("servers", f"{silent}: stopped without a session. {_UNSAVED}")
        raise
    tell("servers", None)
    if answered is None:
        text = f"{silent}, for {max_wait_secs:g} s."
        raise tf.errors.DeadlineExceededError(None, None, text)


def _attempted(
    attempt: Callable[[], Made | None],
    coord: tf.train.Coordinator,
    deadline: float,
    discard: Callable[[Made], object],
    late: Callable[[], object],
) -> Made | None:
    answer: futures.Future[Made | None] = futures.Future()

    def call() -> None:
        made, error = None, None
        try:
            made = attempt()
        except BaseException as raised:  # noqa: BLE001 - raised where it is waited for
            error = raised
        if not answer.set_running_or_notify_cancel():
            if made is not None:
                discard(made)
        elif error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(made)

    threading.Thread(target=call, name="nbtrain attempt", daemon=True).start()
    tell_at = time.monotonic() + _TELL_SECS
    while not futures.wait([answer], _PATIENCE_SECS).done:
        if time.monotonic() > tell_at:
            tell_at = float("inf")
            late()
        if coord.should_stop() and answer.cancel():
            raise _stopped()
        if time.monotonic() > deadline + _ATTEMPT_SECS and answer.cancel():
            return None
    return answer.result()


def _stopped() -> tf.errors.CancelledError:
    return tf.errors.CancelledError(
        None, None, "A stop was requested while the session was waited for."
    )
