"""Ends a hook that waits for something before the first step, such as a GlobalStepWaiterHook."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf


class StoppableCalls:
    """Lets a call of this thread raise StopIteration once a stop was requested.

    A hook that waits looks at the session in a loop, and asks for no stop; a MonitoredSession takes
    StopIteration for the end of its input.

    Args:
        session: The session; its `run` is replaced until `end`, or until it raises an error.
        asked_to_stop: Tells if a stop was requested.
    """

    def __init__(self, session: tf.compat.v1.Session, asked_to_stop: Callable[[], bool]) -> None:
        self._session: Any = session
        self._before = session.run
        self._asked_to_stop = asked_to_stop
        self._thread = threading.get_ident()
        session.run = self._run

    def end(self) -> None:
        """Restores the session's method; does nothing the second time."""
        session, self._session = self._session, None
        if session is not None:
            session.run = self._before

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != self._thread:  # such as one that closes a queue
            return self._before(*args, **kwargs)
        try:
            if self._asked_to_stop():
                raise StopIteration
            return self._before(*args, **kwargs)
        except BaseException:
            self.end()
            raise
