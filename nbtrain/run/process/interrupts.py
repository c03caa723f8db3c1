"""Handles Ctrl-C, or the interrupt of a notebook, during a loop in the foreground.

interrupts = Interrupts(name, request_stop)
interrupts.catch()         # the first one asks the run to stop; a second one is a KeyboardInterrupt
interrupts.release()       # at the end of the loop
with interrupts.holding() as held:    # the last save, which delays the next interrupt
    ...
"""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from nbtrain.core.text.visible import say


class Interrupts:
    """Handles the first interrupt of a loop, unless the program handles interrupts itself.

    A KeyboardInterrupt in the middle of a step would leave its variables half updated.

    Args:
        name: The name of the run.
        request_stop: Asks the run to stop.

    Attributes:
        has_come: Whether the first interrupt of the present loop has come.
    """

    def __init__(self, name: str, request_stop: Callable[[], object]) -> None:
        self._name, self._request_stop = name, request_stop
        self._context = contextvars.copy_context()  # of the cell that shows the message
        self._is_over = False
        self.has_come = False

    def catch(self) -> None:
        """Handles the next interrupt from now on; does nothing outside of the main thread."""
        self._is_over = self.has_come = False
        before = signal.getsignal(signal.SIGINT)
        if isinstance(before, Interrupts) and before._is_over:
            before = signal.default_int_handler
        if _can_set() and before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self)

    def release(self) -> None:
        """Lets Python handle interrupts again; any thread."""
        self._is_over = True
        if _can_set() and signal.getsignal(signal.SIGINT) is self:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextlib.contextmanager
    def holding(self) -> Iterator[threading.Event]:
        """Delays the next interrupt until a block has saved; one more is raised at once.

        Yields:
            An event that is set by an interrupt. The caller raises it after the block.
        """
        held = threading.Event()

        def hold(_number: int, _frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            held.set()
            _thread.start_new_thread(self._context.run, (self._say_held,))

        if not (_can_set() and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
            yield held  # the program handles interrupts itself
            return
        signal.signal(signal.SIGINT, hold)
        try:
            yield held
        finally:
            if signal.getsignal(signal.SIGINT) is hold:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def _say_held(self) -> None:
        say(
            f"\nnbtrain: {self._name} ends with its last checkpoint, and the interrupt follows. "
            "One more does not wait for the checkpoint."
        )

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Asks the run to stop; main thread.

        Another thread does the work, because the main thread may hold a lock that is needed.
        """
        was_over = self._is_over
        self.release()
        if was_over:
            signal.default_int_handler(number, frame)
        self.has_come = True
        _thread.start_new_thread(self._context.run, (self._ask,))

    def _ask(self) -> None:
        self._request_stop()
        say(
            f"\nnbtrain: {self._name} stops after the step at hand and saves a last checkpoint. "
            "A second interrupt ends the loop at once, in the middle of a step."
        )


def _can_set() -> bool:
    """Returns whether the calling thread can set handlers."""
    return threading.current_thread() is threading.main_thread()
