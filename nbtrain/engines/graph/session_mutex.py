"""A mutex for a session: runs functions between two calls of the training thread.

A checkpoint that another thread takes during a training step would hold a mixture of two steps.
Here the other thread waits. The training thread does the work before its next call; if it is busy
elsewhere, the waiting thread does it at once.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.run.threads import serves

# Seconds between two checks if the training thread has left the session alone.
_PATIENCE_SECS = 0.05
# Part of TensorFlow's message about an operation of another graph.
_STRANGE = "is not an element of this graph"
# The attribute of a session that holds its mutex.
_TURNS = "_nbtrain_turns"


class SessionMutex:
    """The mutex of one session, owned by the thread that makes this object.

    Calls of other threads (input queues, loopers) are not delayed: the training thread may be
    waiting for them.

    Args:
        sess: The session; its `run` and `make_callable` use the mutex until `end`.

    Attributes:
        sess: The session.
        before_run: Called by the owner, holding the mutex, before each call of its own; cheap.
    """

    def __init__(self, sess: tf.compat.v1.Session) -> None:
        self.sess = sess
        self.before_run: list[Callable[[], object]] = []
        self._owner = threading.get_ident()
        self._waiting: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._turn = threading.RLock()  # held during the owner's calls and the waiting work
        self._taker: int | None = None  # the thread that does the waiting work, or `before_run`
        self._other: int | None = None  # the program's thread that last called besides the owner
        self._calling: set[int] = set()  # threads in a call that began without the mutex
        setattr(sess, _TURNS, self)
        make_callable = sess.make_callable
        sess.run = self._in_turn(sess.run)
        sess.make_callable = lambda *args, **kwargs: self._in_turn(make_callable(*args, **kwargs))

    def end(self) -> None:
        """Restores the session's methods; waiting work is done at once."""
        self.before_run.clear()
        for name in ("run", "make_callable", _TURNS):
            vars(self.sess).pop(name, None)

    def take(self, act: Callable[[], Any], give_up: Callable[[], bool] = lambda: False) -> Any:
        """Does something while the owner is between two calls, and returns its result; any thread.

        Args:
            act: The function to call.
            give_up: Asked during the owner's call; once it returns True, nothing is done.

        Returns:
            The result of `act`; None if it was given up.

        Raises:
            BaseException: The error of `act`, in the thread that asked for it.
        """
        if threading.get_ident() == self._owner:
            return act()
        done: Future[Any] = Future()
        self._waiting.append((act, done))
        while not done.done():
            if self._owner in self._calling:
                time.sleep(_PATIENCE_SECS)
                if give_up():
                    done.cancel()
            elif self._turn.acquire(timeout=_PATIENCE_SECS):
                try:
                    self._take_waiting()
                finally:
                    self._turn.release()
            elif give_up():
                done.cancel()  # unless it has begun
        with contextlib.suppress(CancelledError):
            return done.result()

    def hand_over(self) -> bool:
        """Passes the mutex to the program's thread that last called besides the owner.

        Returns:
            Whether there is one; False during a call of the owner, for which it would have to wait.
        """
        if self._other is None or threading.get_ident() == self._owner:
            return False
        other, self._other = self._other, None
        self._owner = other
        return True

    def _in_turn(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a call so that, for the owner, waiting work is done first."""

        def called(*args: Any, **kwargs: Any) -> Any:
            caller = threading.get_ident()
            if caller != self._owner:
                if caller == self._taker or serves(threading.current_thread()):
                    return call(*args, **kwargs)
                self._other = caller
                self._calling.add(caller)
                try:
                    if caller != self._owner:  # still: hand_over() must see that it is calling
                        return call(*args, **kwargs)
                finally:
                    self._calling.discard(caller)
            with self._turn:
                if self._taker is None:
                    if self._waiting:
                        self._take_waiting()
                    if self.before_run:
                        self._look(caller)
                try:
                    return call(*args, **kwargs)
                except ValueError as error:
                    if _STRANGE in str(error):
                        raise strange(error) from None
                    raise

        return called

    def _look(self, caller: int) -> None:
        self._taker = caller
        try:
            for act in self.before_run:
                act()
        finally:
            self._taker = None

    def _take_waiting(self) -> None:
        self._taker = threading.get_ident()
        try:
            while self._waiting:
                act, done = self._waiting.popleft()
                if not done.set_running_or_notify_cancel():
                    continue
                try:
                    done.set_result(act())
                except BaseException as error:  # noqa: BLE001 - raised where it was asked for
                    done.set_exception(error)
        finally:
            self._taker = None


def strange(error: Exception) -> ArgumentError:
    """Returns the error for a fetch that a session does not know."""
    found = re.search(r'[Nn]ame: "?([^"\n]+)|Tensor\("?([^",]+)', str(error))
    name = repr(found[1] or found[2]) if found else "What was fetched"
    return ArgumentError(
        f"{name} is of another graph than the session: was the graph built again, and its "
        "Supervisor not? Run that cell again too, and then this one."
    )


def turns_at(sess: Any) -> SessionMutex | None:
    """Returns the mutex of a session; None if it has none."""
    turns: SessionMutex | None = getattr(sess, _TURNS, None)
    return turns
