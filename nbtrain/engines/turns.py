"""Turns at a session: what must happen between two `run` calls of the thread that trains.

A checkpoint that another thread takes during a training step holds a mixture of two.
Here it waits for its turn: the training thread takes it before its next call, or,
where that thread does something else, the waiting thread takes it at once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import tensorflow as tf

# Seconds between two looks at whether the training thread has left the session alone.
_PATIENCE_SECS = 0.05


class Turns:
    """The turns at one session, owned by the thread that makes this object.

    Calls of other threads (input queues, loopers) pass as ever: they may be what the
    training thread waits for.

    Args:
        sess: The session; its `run` is replaced by one that keeps the turns.

    Attributes:
        before_run: Called by the owner before each `run` of its own; cheap, or None.
    """

    def __init__(self, sess: tf.compat.v1.Session) -> None:
        self.before_run: Callable[[], object] | None = None
        self._run = sess.run
        self._owner = threading.get_ident()
        self._waiting: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._turn = threading.RLock()  # held during a call of the owner's, and during what waits
        self._taking = False
        sess.run = self._run_in_turn

    def take(self, act: Callable[[], Any]) -> Any:
        """Do something while the owner is between two calls, and return its result; any thread.

        Raises:
            BaseException: What `act` raised, in the thread that asked for it.
        """
        if threading.get_ident() == self._owner:
            return act()
        done: Future[Any] = Future()
        self._waiting.append((act, done))
        while not done.done():
            if self._turn.acquire(timeout=_PATIENCE_SECS):
                try:
                    self._take_waiting()
                finally:
                    self._turn.release()
        return done.result()

    def _run_in_turn(self, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != self._owner:
            return self._run(*args, **kwargs)
        with self._turn:
            if not self._taking:
                if self._waiting:
                    self._take_waiting()
                if self.before_run is not None:
                    self._taking = True
                    try:
                        self.before_run()
                    finally:
                        self._taking = False
            return self._run(*args, **kwargs)

    def _take_waiting(self) -> None:
        self._taking = True
        try:
            while self._waiting:
                act, done = self._waiting.popleft()
                try:
                    done.set_result(act())
                except BaseException as error:  # noqa: BLE001 - raised where it was asked for
                    done.set_exception(error)
        finally:
            self._taking = False
