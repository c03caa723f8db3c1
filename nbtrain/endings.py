"""The end of the process: every run stops at a step boundary and saves before it.

endings.enlist(life, threads)  # a run starts: it ends before the process does
endings.dismiss(life)          # it has ended by itself

The interpreter calls `_end_all` at its own end: the end of a script, `sys.exit`, an error of the
main thread, the polite shutdown of a kernel. SIGTERM and SIGHUP call it too, and then do what they
would have done without it: they call the handler that the program had set, or end the process.
`os._exit`, SIGKILL and a crash cannot be helped.

A thread that returns from C++ once the interpreter is gone aborts the process. So the threads of
every run are joined here.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from types import FrameType
from typing import Protocol

# When to say what is not saved yet. Jupyter kills a kernel 5 s after it was asked to end, Docker
# a container after 10 s: nothing can be said after that.
_SAY_SECS = 4.0

# Beyond the grace: for what the ending itself does.
_MARGIN_SECS = 1.0

_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # Windows has no SIGHUP


class Life(Protocol):
    """One start of a run.

    Attributes:
        ended: Set when the run has ended.
    """

    ended: threading.Event

    @property
    def grace(self) -> float:
        """Seconds that the end of the process waits for it."""

    def stop(self) -> None:
        """Ask it to stop; any thread."""

    def say_unsaved(self, when: str) -> str:
        """Write down what is not saved, and return that in words; any thread."""


_living: set[Life] = set()
_threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()

# What a signal does without nbtrain, by its number; only the main thread changes it.
_before: dict[int, object] = {}

_ending = False  # no Event: a handler may interrupt one that holds its lock


def enlist(life: Life, threads: Iterable[threading.Thread]) -> None:
    """End a life, and then its threads, before the process ends; any thread.

    The first time in the main thread it takes SIGTERM and SIGHUP. A signal that is ignored, as
    under `nohup`, stays ignored. A handler that the program sets later replaces this one.
    """
    _living.add(life)
    _threads.update(threads)
    if threading.current_thread() is not threading.main_thread():
        return  # Python sets handlers in the main thread only
    for number in _SIGNALS:
        before = signal.getsignal(number)
        # None: set by a library in C, and cannot be called from here.
        if number not in _before and before not in (signal.SIG_IGN, None):
            _before[number] = before
            signal.signal(number, _on_signal)


def dismiss(life: Life) -> None:
    """Forget a life that has ended; any thread. Its threads are still joined."""
    _living.discard(life)


def _on_signal(number: int, frame: FrameType | None) -> None:
    """End all runs, then do what the signal does without nbtrain; main thread."""
    if _ending:
        return  # asked again, as Jupyter does after 2.5 s: the end goes on
    secs = max((life.grace for life in list(_living)), default=0.0)
    done = _thread.allocate_lock()
    done.acquire()

    def end() -> None:
        try:
            _end_all()
        finally:
            done.release()

    # In a thread of its own: this handler may have interrupted the main thread while it held a
    # lock, which `_end_all` then waits for. Starting a `threading.Thread` takes such a lock too.
    _thread.start_new_thread(end, ())
    if not done.acquire(timeout=secs + _MARGIN_SECS):
        _print(
            "the process ends, though its runs have not stopped: the main thread is in their way"
        )
    before = _before[number]
    if callable(before):
        before(number, frame)
    else:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


@atexit.register
def _end_all() -> None:
    """Stop every run, wait for its last checkpoint within its grace, and join its threads."""
    global _ending
    began, _ending = time.monotonic(), True
    living = list(_living)
    try:
        for life in living:
            life.stop()
        for life in _late([life for life in living if life.grace > _SAY_SECS], began, _SAY_SECS):
            _print(life.say_unsaved("The process ends"))
        for life in _late(living, began):
            _print(life.say_unsaved(f"The process has ended after grace={life.grace:g} s"))
        until = began + max((life.grace for life in living), default=_SAY_SECS)
        for thread in list(_threads):
            if thread.is_alive():  # one that could not be started cannot be joined
                thread.join(max(0.0, until - time.monotonic()))
    finally:
        _ending = False


def _late(living: Iterable[Life], began: float, most: float = float("inf")) -> list[Life]:
    """Those that do not end within their grace, or sooner: within `most` seconds."""
    late = []
    for life in living:
        until = began + min(life.grace, most)
        if not life.ended.wait(max(0.0, until - time.monotonic())):
            late.append(life)
    return late


def _print(text: str) -> None:
    """Say something where a host keeps it: a kernel's own stderr ends with its connection."""
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError, ValueError):  # it is closed: nobody can be told
            print(f"nbtrain: {text}", file=sys.__stderr__, flush=True)


def _forget() -> None:
    """A forked process has none of the threads: nothing to end, and the signals as before."""
    global _ending
    _ending = False
    _living.clear()
    _threads.clear()
    for number, before in _before.items():
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, before)  # type: ignore[arg-type]
    _before.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
