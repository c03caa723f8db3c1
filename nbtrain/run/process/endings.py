"""Ends all runs before the process ends: each stops at a step boundary and saves.

endings.enlist(attempt, thread)   # a run starts: it will end before the process does
endings.dismiss(attempt)          # the run has ended by itself
endings.afterwards(clean_up)      # called at the end of the process, once all runs have ended

The interpreter calls `_at_exit` at its end: at the end of a script, `sys.exit`, an error in the
main thread, or the normal shutdown of a kernel. SIGTERM and SIGHUP also end all runs if they end
the process. If the program has its own signal handler, the handler decides whether the process
ends: every run saves before the handler is called, and continues to train. Nothing can be done
about `os._exit`, SIGKILL and crashes.

A thread that returns from C++ after the interpreter is gone aborts the process. So all threads of
nbtrain, known by their names, are stopped and joined here.

A loop in the foreground of the main thread continues to its next step boundary after the handler
has returned. Once its run has saved or ended, the signal is sent again.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from nbtrain.core.text import visible

# Seconds until a message says what is not saved yet. Jupyter kills a kernel 5 s after it was
# asked to end, Docker kills a container after 10 s.
_SAY_SECS = 4.0

# Seconds beyond the grace for the work of this module.
_MARGIN_SECS = 1.0

# Windows has no SIGHUP.
_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

# The prefix of the names of nbtrain's threads.
NAME = "nbtrain"

# Live attempts (`attempt.Attempt`) with their training threads.
_living: dict[Any, threading.Thread] = {}

# Held after a signal during a loop in the foreground, until the signal has been sent again.
_sending = _thread.allocate_lock()

# Attempts whose grace is over, with their step at that time. Nothing waits for them twice.
_late: dict[Any, int] = {}

# Functions to call once all runs have ended. The order in which `atexit` would call them depends on
# which module is imported first.
_afterwards: list[Callable[[], object]] = []

# No Event: a signal handler may interrupt a thread that holds the lock of the Event.
_ending = False
_calling = False  # a handler of the program is running


def enlist(attempt: Any, thread: threading.Thread) -> bool:
    """Registers an attempt to end before the process does; returns whether it handles the signals.

    In the main thread this also sets handlers for SIGTERM and SIGHUP, again if the program has
    replaced them. An ignored signal, as under `nohup`, stays ignored.
    """
    _living[attempt] = thread
    taken = True
    for number in _SIGNALS:
        before = signal.getsignal(number)
        # None: a C library has set the handler, which cannot be called from here.
        if isinstance(before, _Handler) or before in (signal.SIG_IGN, None):
            continue
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, _Handler(before))
        else:
            taken = False  # Python can set handlers only in the main thread
    return taken


def dismiss(attempt: Any) -> None:
    """Removes an attempt that has ended; any thread. Its threads are still joined."""
    _living.pop(attempt, None)
    _late.pop(attempt, None)


def afterwards(act: Callable[[], object]) -> None:
    """Registers a function to call at the end of the interpreter, once all runs have ended."""
    _afterwards.append(act)


def await_signal(secs: float) -> None:
    """Waits for a signal that is sent again, so that the program does not end before it comes.

    Called in the main thread, at the end of a loop in the foreground.
    """
    if _sending.acquire(timeout=min(secs + _MARGIN_SECS, threading.TIMEOUT_MAX)):
        _sending.release()


def are_ending() -> bool:
    """Returns whether the process ends, and waits for its runs."""
    return _ending


def say(text: str) -> None:
    """Prints a message to the process's own stderr; that of a kernel ends with its connection."""
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError, ValueError):  # stderr is closed
            visible.say(f"nbtrain: {text}", sys.__stderr__, flush=True)


class _Handler:
    """A signal handler that saves every run, then does what the signal does without nbtrain.

    Args:
        before: The handler of the program, or `signal.SIG_DFL`, which ends the process.
    """

    def __init__(self, before: Any) -> None:
        self.before = before
        self._is_second = False  # sent again, as all runs have saved

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handles the signal; main thread."""
        if _ending:
            return  # a repeated signal, such as Jupyter's after 2.5 s: the ending continues
        is_second, self._is_second = self._is_second, False
        if _calling and callable(self.before):  # the program's newer handler calls this one
            self.before(number, frame)
        elif not is_second and _trains_here():
            if _sending.acquire(blocking=False):
                _thread.start_new_thread(self._send_again, (number,))
        elif not callable(self.before):
            _apart(_end_all)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            if not is_second:
                _apart(lambda: _save_all(signal.Signals(number).name))
            self._call(number, frame)

    def _send_again(self, number: int) -> None:
        """Sends the signal again when the runs have ended or saved, or their grace is over."""
        try:
            if callable(self.before):
                _save_all(signal.Signals(number).name)
            else:
                _end_all()
            self._is_second = True
            os.kill(os.getpid(), number)
        finally:
            _sending.release()

    def _call(self, number: int, frame: FrameType | None) -> None:
        global _calling
        _calling = True
        try:
            self.before(number, frame)
        finally:
            _calling = False


def _trains_here() -> bool:
    """Returns whether a loop in the foreground of the main thread trains."""
    return any(thread is threading.main_thread() for thread in list(_living.values()))


def _apart(act: Callable[[], None]) -> None:
    """Calls `act` in a separate thread and waits for it; main thread.

    The signal may have interrupted the main thread while it held a lock that `act` needs. Starting
    a `threading.Thread` needs such a lock too.
    """
    if not _living:
        return
    graces = [attempt.context.settings.grace for attempt in list(_living)]
    secs = max([_SAY_SECS, *graces]) + _MARGIN_SECS
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
    """Asks every run to save, and waits for each within its grace."""
    global _ending
    began, _ending = time.monotonic(), True
    try:
        living = _not_late()
        _wait_for_answers({attempt: attempt.save() for attempt in living}, began, name)
    finally:
        _ending = False


def _end_all() -> None:
    """Stops every run, waits for its last checkpoint within its grace, and joins all threads."""
    global _ending
    began, _ending = time.monotonic(), True
    try:
        for attempt, thread in list(_living.items()):
            if thread is threading.current_thread() or not thread.is_alive():
                attempt.abandon()  # a loop in the foreground that nobody continues
        living = _not_late()
        for attempt in list(_living):
            attempt.context.coord.request_stop()
        _wait_for_answers({attempt: attempt.ended.wait for attempt in living}, began)
        stuck = [_living[attempt] for attempt in list(_late) if attempt in _living]
        _join([thread for thread in _threads() if thread not in stuck], began + _SAY_SECS)
    finally:
        _ending = False


@atexit.register
def _at_exit() -> None:
    """Ends the runs; the interpreter ends afterwards."""
    _end_all()
    if _threads():
        _leave_without_crash()
    for act in _afterwards:
        act()


def _leave_without_crash() -> None:
    """Prevents a step that is still running from crashing the exit; does nothing without glibc.

    Two things would crash the process, and its exit status would be that of the crash:

    1. The end of a process destroys objects that TensorFlow's threads use. Python does not know the
       exit status of the program. glibc's `on_exit` does, and calls `_exit` with this status before
       any destructor.
    2. Until then, a step that returns to Python ends its thread by `pthread_exit` (before Python
       3.14), which aborts in TensorFlow's C++ frames. The handler of SIGABRT lets that thread
       sleep until the process has ended, however long its objects take to be destroyed.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)
        libc.fflush(None)  # `_exit` does not write C's buffered output
        libc.signal(signal.SIGABRT, libc.pause)


def _not_late() -> list[Any]:
    """The attempts, except those that are still at the step at which their grace ended."""
    return [attempt for attempt in list(_living) if _late.get(attempt) != attempt.step]


def _wait_for_answers(
    asked: dict[Any, Callable[[float], bool]], began: float, signal_name: str | None = None
) -> None:
    """Waits for each answer within the attempt's grace, and reports unsaved steps."""
    happens = f"{signal_name} has come" if signal_name else "The process ends"
    patient = {
        attempt: wait
        for attempt, wait in asked.items()
        if attempt.context.settings.grace > _SAY_SECS
    }
    for attempt in _behind(patient, began, _SAY_SECS):
        say(attempt.unsaved.say(happens, yet=True))
    behind = _behind(asked, began)
    for attempt in behind:
        _late[attempt] = attempt.step
        happened = happens if signal_name else "The process has ended"
        say(
            attempt.unsaved.say(
                f"{happened} after grace={attempt.context.settings.grace:g} s", yet=False
            )
        )
    for attempt in asked:
        if attempt not in behind and (text := attempt.unsaved.say_saved()):
            say(text)


def _behind(
    asked: dict[Any, Callable[[float], bool]], began: float, most: float = float("inf")
) -> list[Any]:
    """Returns the attempts that do not answer within their grace and within `most` seconds."""
    behind = []
    for attempt, wait in asked.items():
        until = began + min(attempt.context.settings.grace, most)
        if not wait(max(0.0, until - time.monotonic())):
            behind.append(attempt)
    return behind


def _threads() -> list[threading.Thread]:
    """The live threads of nbtrain."""
    return [each for each in threading.enumerate() if each.name.startswith(NAME)]


def _join(threads: Iterable[threading.Thread], until: float) -> None:
    """Stops threads and waits until they end; waits a moment even if the time is over."""
    for thread in threads:
        if (request_stop := getattr(thread, "request_stop", None)) is not None:  # a LooperThread
            request_stop()
    until = max(until, time.monotonic() + _MARGIN_SECS)
    for thread in threads:
        if thread.is_alive():  # a thread that could not be started cannot be joined
            thread.join(max(0.0, until - time.monotonic()))


def _forget() -> None:
    """Clears the state in a forked process, which has no threads; restores its signal handlers."""
    global _ending, _calling, _sending
    _ending = _calling = False
    _sending = _thread.allocate_lock()
    _living.clear()
    _late.clear()
    for number in _SIGNALS:
        if isinstance(handler := signal.getsignal(number), _Handler):
            signal.signal(number, handler.before)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
