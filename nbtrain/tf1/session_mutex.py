"""A mutex for a session: runs functions between two calls of the training thread.

A checkpoint that another thread saves during a training step would contain a mixture of two steps.
Here the other thread waits. The training thread does the work before its next call; if that thread
is outside of a call, the waiting thread does the work at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

import tensorflow as tf

# Seconds between two checks whether the training thread is outside of a call.
_PATIENCE_SECS = 0.05
# The attribute of a session that holds its mutex.
_MUTEX = "_nbtrain_mutex"


class SessionMutex:
    """The mutex of one session; its owner is the training thread, which makes this object.

    Calls of other threads (input queues, loopers) are not delayed: the training thread may be
    waiting for them.

    Args:
        sess: The session; its `run` and `make_callable` use the mutex until `end`.

    Attributes:
        before_run: Called by the owner, holding the mutex, before each call of its own; cheap.
    """

    def __init__(self, sess: tf.compat.v1.Session) -> None:
        self.sess = sess
        self.before_run: list[Callable[[], object]] = []
        self._owner = threading.get_ident()
        self._waiting: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._lock = threading.RLock()  # held during the owner's calls and the waiting work
        self._working = False  # the waiting work or `before_run` is being done
        setattr(sess, _MUTEX, self)
        make_callable = sess.make_callable
        sess.run = self._guarded(sess.run)
        sess.make_callable = lambda *args, **kwargs: self._guarded(make_callable(*args, **kwargs))

    def end(self) -> None:
        """Restores the session's methods; waiting work is done at once."""
        self.before_run.clear()
        for name in ("run", "make_callable", _MUTEX):
            vars(self.sess).pop(name, None)

    @property
    def is_held(self) -> bool:
        """True while the owner is in a call, or the waiting work is being done; other threads."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return False
        return True

    def run_between(
        self, act: Callable[[], Any], give_up: Callable[[], bool] = lambda: False
    ) -> Any:
        """Calls `act` while the owner is between two calls, and returns its result; any thread.

        During a call of the owner, `give_up` is called repeatedly; once it returns True, `act` is
        not called, and the result is None. An error of `act` is raised here.
        """
        if threading.get_ident() == self._owner:
            return act()
        done: Future[Any] = Future()
        self._waiting.append((act, done))
        while not done.done():
            if self._lock.acquire(timeout=_PATIENCE_SECS):
                try:
                    self._work(())
                finally:
                    self._lock.release()
            elif give_up():
                done.cancel()  # unless it has begun
        with contextlib.suppress(CancelledError):
            return done.result()

    def _guarded(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a call so that, for the owner, waiting work is done first."""

        def called(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._owner:
                return call(*args, **kwargs)
            with self._lock:
                if (self._waiting or self.before_run) and not self._working:
                    self._work(self.before_run)
                return call(*args, **kwargs)

        return called

    def _work(self, then: list[Callable[[], object]] | tuple[()]) -> None:
        """Does the waiting work, and then calls these functions; holds the lock."""
        self._working = True
        try:
            while self._waiting:
                act, done = self._waiting.popleft()
                if not done.set_running_or_notify_cancel():
                    continue
                try:
                    done.set_result(act())
                except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                    done.set_exception(error)
            for act in then:
                act()
        finally:
            self._working = False


def mutex_of(sess: Any) -> SessionMutex | None:
    """Returns the mutex of a session; None if it has none."""
    mutex: SessionMutex | None = getattr(sess, _MUTEX, None)
    return mutex
