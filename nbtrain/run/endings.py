"""The end of the process: every run stops at a step boundary and saves before it.

endings.enlist(life, thread)   # a run starts: it ends before the process does
endings.dismiss(life)          # it has ended by itself

The interpreter calls `_at_exit` at its own end: the end of a script, `sys.exit`, an error of the
main thread, the polite shutdown of a kernel. SIGTERM and SIGHUP end all runs too where they end
the process. A handler of the program's own decides by itself whether the process ends: every run
saves before it is called, and trains on. `os._exit`, SIGKILL and a crash cannot be helped.

A thread that returns from C++ once the interpreter is gone aborts the process. So all threads of
nbtrain's, which have names that say so, are stopped and joined here; see `parting` for one that
does not end.
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
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Protocol, runtime_checkable

from nbtrain.run import parting

# When to say what is not saved yet. Jupyter kills a kernel 5 s after it was asked to end, Docker
# a container after 10 s: nothing can be said after that.
_SAY_SECS = 4.0

# Beyond the grace: for what the ending itself does.
_MARGIN_SECS = 1.0

_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # Windows has no SIGHUP

# How the names of nbtrain's threads begin.
NAME = "nbtrain"


class Unsaved(Protocol):
    """What is not saved of a run."""

    def say(self, when: str, *, yet: bool) -> str:
        """Write down what is not saved (yet), and return that in words; any thread."""

    def say_saved(self) -> str | None:
        """Write down that this is saved now, and return that; None where that goes unsaid."""


class Attempt(Protocol):
    """One start of a run.

    Attributes:
        ended: Set when the run has ended.
    """

    ended: threading.Event

    @property
    def unsaved(self) -> Unsaved:
        """Tells of what is not saved."""

    @property
    def grace(self) -> float:
        """Seconds that the end of the process waits for it."""

    @property
    def step(self) -> int:
        """Steps that it has completed."""

    def stop(self) -> None:
        """Ask it to stop; any thread."""

    def save(self) -> Callable[[float], bool]:
        """Ask it to save; any thread. Returns what waits so many seconds for the answer."""


@runtime_checkable
class Stoppable(Protocol):
    """A thread that can be asked to stop."""

    def request_stop(self) -> None:
        """Ask it to stop; any thread."""


_living: dict[Attempt, threading.Thread] = {}  # and the training thread of each

# Those whose grace is over, at the step that they were at: it is not waited for twice.
_late: dict[Attempt, int] = {}

# No Event: a handler may interrupt one that holds its lock.
_ending = False
_calling = False  # a handler of the program's


def enlist(attempt: Attempt, thread: threading.Thread) -> bool:
    """End a life, which trains in this thread, before the process ends; any thread.

    In the main thread it takes SIGTERM and SIGHUP, each time that the program has set a handler
    since. A signal that is ignored, as under `nohup`, stays ignored.

    Returns:
        Whether the signals are taken.
    """
    _living[attempt] = thread
    taken = True
    for number in _SIGNALS:
        before = signal.getsignal(number)
        # None: set by a library in C, and cannot be called from here.
        if isinstance(before, _Handler) or before in (signal.SIG_IGN, None):
            continue
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, _Handler(before))
        else:
            taken = False  # Python sets handlers in the main thread only
    return taken


def dismiss(attempt: Attempt) -> None:
    """Forget a life that has ended; any thread. Its threads are still joined."""
    _living.pop(attempt, None)
    _late.pop(attempt, None)


def say(text: str) -> None:
    """Say something where a host keeps it: a kernel's own stderr ends with its connection."""
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError, ValueError):  # it is closed: nobody can be told
            print(f"nbtrain: {text}", file=sys.__stderr__, flush=True)


class _Handler:
    """The handler of a signal: the work is saved, then it does what it does without nbtrain.

    Args:
        before: That: a handler of the program's, or `signal.SIG_DFL`, which ends the process.
    """

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal; main thread."""
        if _ending:
            return  # asked again, as Jupyter does after 2.5 s: the end goes on
        if not callable(self.before):
            _apart(_end_all)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif _calling:  # by the program's newer handler
            self.before(number, frame)
        else:
            _apart(lambda: _save_all(signal.Signals(number).name))
            self._call(number, frame)

    def _call(self, number: int, frame: FrameType | None) -> None:
        global _calling
        _calling = True
        try:
            self.before(number, frame)
        finally:
            _calling = False


def _apart(act: Callable[[], None]) -> None:
    """Do something about all runs in a thread of its own, and wait for it; main thread.

    A handler may have interrupted the main thread while it held a lock, which the act then waits
    for. Starting a `threading.Thread` takes such a lock too.
    """
    if not _living:
        return
    secs = max([_SAY_SECS, *(attempt.grace for attempt in list(_living))]) + _MARGIN_SECS
    done = _thread.allocate_lock()
    done.acquire()

    def call() -> None:
        try:
            act()
        finally:
            done.release()

    _thread.start_new_thread(call, ())
    if not done.acquire(timeout=min(secs, threading.TIMEOUT_MAX)):
        say("a signal has come, and the main thread is in the way of saving its runs")


def _save_all(name: str) -> None:
    """Have every run save, and wait for it within its grace."""
    global _ending
    began, _ending = time.monotonic(), True
    try:
        living = _not_late()
        _settle({attempt: attempt.save() for attempt in living}, began, name)
    finally:
        _ending = False


def _end_all() -> None:
    """Stop every run, wait for its last checkpoint within its grace, and join all threads."""
    global _ending
    began, _ending = time.monotonic(), True
    try:
        living = _not_late()
        for attempt in list(_living):
            attempt.stop()
        _settle({attempt: attempt.ended.wait for attempt in living}, began)
        stuck = [_living[attempt] for attempt in list(_late) if attempt in _living]
        _join([thread for thread in _threads() if thread not in stuck], began + _SAY_SECS)
    finally:
        _ending = False


@atexit.register
def _at_exit() -> None:
    """End the runs; the interpreter ends afterwards."""
    _end_all()
    if _threads():
        parting.take()


def _not_late() -> list[Attempt]:
    """The lives that have not used up their grace at the step at which they still are."""
    return [attempt for attempt in list(_living) if _late.get(attempt) != attempt.step]


def _settle(
    asked: dict[Attempt, Callable[[float], bool]], began: float, signal_name: str | None = None
) -> None:
    """Wait for what each was asked for, within its grace, and tell what is not saved."""
    happens = f"{signal_name} has come" if signal_name else "The process ends"
    patient = {attempt: wait for attempt, wait in asked.items() if attempt.grace > _SAY_SECS}
    for attempt in _behind(patient, began, _SAY_SECS):
        say(attempt.unsaved.say(happens, yet=True))
    behind = _behind(asked, began)
    for attempt in behind:
        _late[attempt] = attempt.step
        happened = happens if signal_name else "The process has ended"
        say(attempt.unsaved.say(f"{happened} after grace={attempt.grace:g} s", yet=False))
    for attempt in asked:
        if attempt not in behind and (text := attempt.unsaved.say_saved()):
            say(text)


def _behind(
    asked: dict[Attempt, Callable[[float], bool]], began: float, most: float = float("inf")
) -> list[Attempt]:
    """Those that do not answer within their grace, or sooner: within `most` seconds."""
    behind = []
    for attempt, wait in asked.items():
        until = began + min(attempt.grace, most)
        if not wait(max(0.0, until - time.monotonic())):
            behind.append(attempt)
    return behind


def _threads() -> list[threading.Thread]:
    """The live threads of nbtrain's."""
    return [each for each in threading.enumerate() if each.name.startswith(NAME)]


def _join(threads: Iterable[threading.Thread], until: float) -> None:
    """Stop these threads and wait for their ends; also where the time is over, for a moment."""
    for thread in threads:
        if isinstance(thread, Stoppable):
            thread.request_stop()
    until = max(until, time.monotonic() + _MARGIN_SECS)
    for thread in threads:
        if thread.is_alive():  # one that could not be started cannot be joined
            thread.join(max(0.0, until - time.monotonic()))


def _forget() -> None:
    """A forked process has none of the threads: nothing to end, and the signals as before."""
    global _ending, _calling
    _ending = _calling = False
    _living.clear()
    _late.clear()
    for number in _SIGNALS:
        if isinstance(handler := signal.getsignal(number), _Handler):
            signal.signal(number, handler.before)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
