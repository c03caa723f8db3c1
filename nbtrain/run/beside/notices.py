"""The messages of a run for its user."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from nbtrain.core.notes import Notes
from nbtrain.core.states import Phase
from nbtrain.core.text.tracebacks import all_stacks, stack_of
from nbtrain.rundir.names import LOG

# Seconds of preparing until a message shows the stack of the thread. Building and tracing a model
# take seconds.
PREPARING_SECS = 15.0

# Seconds of running until a message that is not a warning disappears.
NOTICE_SECS = 30.0

# Seconds between two stacks of a late thread: often enough to see it move.
STACK_SECS = 1.0

# Seconds of work, such as an evaluation, until a message explains why commands wait.
BUSY_SECS = 1.0

# Seconds of running without a step until the log has the stacks of all threads.
STALL_SECS = 60.0


class Notices(Notes):
    """The warnings of one start of a run by topic, and a notice that is not a warning; any thread.

    Args:
        grace_secs: Seconds after a request to stop until `message` shows the stack of the
            training thread.
        clock: Returns the time in seconds.

    Attributes:
        log: Adds a warning to the run's log.
    """

    def __init__(self, grace_secs: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.notice: str | None = None
        self._lock = threading.Lock()  # keeps a notice that comes while another is changed
        self._read_from: float | None = None  # when the run first ran with this notice
        self._grace_secs = grace_secs
        self._clock = clock
        self._began = self._stack_due = clock()
        self._stop_asked: float | None = None
        self._muted = 0  # the thread whose messages are dropped
        self._at: tuple[str, float] | None = None  # the current long work, and since when
        self.log: Callable[[str], object] = lambda _text: None
        self._done, self._longest = 0, 0.0  # the steps, and the most seconds that one has taken
        self._stepped: float | None = None  # when the last was done; None while none is trained
        self._stalls = False  # whether it was reported that no step has come since

    @property
    def message(self) -> str | None:
        """The warnings for the user, one paragraph each; None if there are none."""
        return "\n".join(self.texts) or None

    def note(self, topic: str, text: str | None) -> None:
        """Sets or (None) clears the message about a topic."""
        if threading.get_ident() != self._muted:
            super().note(topic, text)

    def inform(self, text: str | None) -> None:
        """Shows a message that is not a warning until the run has run a while; None clears it."""
        if threading.get_ident() == self._muted:
            return
        with self._lock:
            self.notice, self._read_from = text, None

    def inform_too(self, text: str) -> None:
        """Adds a paragraph to the message that `inform` shows."""
        if threading.get_ident() == self._muted:
            return
        with self._lock:
            self.notice = f"{self.notice}\n{text}" if self.notice else text
            self._read_from = None

    @contextlib.contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Shows what the training thread is doing if it takes long; training thread only."""
        self._at = text, self._clock()
        try:
            yield
        finally:
            self._at = None
            super().note("busy", None)

    @contextlib.contextmanager
    def muted(self, text: str) -> Iterator[None]:
        """Shows what the training thread is doing if it takes long, and drops its other messages.

        Training thread only.
        """
        self._muted = threading.get_ident()
        try:
            with self.busy(text):
                yield
        finally:
            self._muted = 0

    def stop_asked(self) -> None:
        """Notes the time of the first request to stop."""
        if self._stop_asked is None:
            self._stop_asked = self._clock()

    def tick(
        self,
        phase: Phase,
        thread: threading.Thread | None,
        done: int = 0,
        *,
        trains: bool = True,
    ) -> None:
        """Updates the messages that depend on the time.

        Args:
            thread: The training thread.
            done: Completed steps of this start.
            trains: Whether the thread takes steps and does not evaluate.
        """
        now, at, text = self._clock(), self._at, None
        if at is not None and (secs := now - at[1]) >= BUSY_SECS:
            text = f"{at[0]}, for {secs:.0f} s: commands wait until that is over."
        self.note("busy", text)
        if phase is Phase.RUNNING:
            with self._lock:
                self._read_from = self._read_from or now
                if now - self._read_from >= NOTICE_SECS:
                    self.notice = None
        trains = trains and phase is Phase.RUNNING and self._at is None
        self._report_stall(thread, done, now, trains=trains)
        text = self._late(phase, now)
        if text is None:
            self.note("late", None)
        elif now >= self._stack_due:
            self._stack_due = now + STACK_SECS
            stack = stack_of(thread)
            self.note("late", f"{text} (newest call last):\n{stack}" if stack else None)

    def _report_stall(
        self, thread: threading.Thread | None, done: int, now: float, *, trains: bool
    ) -> None:
        """Logs the stacks of all threads once if no step comes for a minute.

        If an earlier step took longer than half a minute, a stall begins after twice its time.
        """
        if not trains or self._stepped is None or done != self._done:
            if trains and self._stepped is not None:
                self._longest = max(self._longest, now - self._stepped)
            self._stepped, self._done, self._stalls = now if trains else None, done, False
            self.note("stall", None)
        elif not self._stalls and now - self._stepped >= max(STALL_SECS, 2 * self._longest):
            self._stalls, text = True, f"No step for {now - self._stepped:.0f} s"
            self.log(f"{text}:\n{all_stacks(thread)}")
            self.note("stall", f"{text}: where each thread stands is in {LOG}.")

    def _late(self, phase: Phase, now: float) -> str | None:
        """Returns a text that the training thread is late; None if it is not."""
        if phase is Phase.STOPPING and self._stop_asked is not None:
            late = now - self._stop_asked
            if late >= self._grace_secs:
                return f"Asked to stop {late:.0f} s ago; the training thread is still here"
        if phase is Phase.PREPARING and (late := now - self._began) >= PREPARING_SECS:
            return (
                f"Preparing for {late:.0f} s. A loop of your own begins when it first asks "
                "run.should_stop(), and asks it once a step; in its place do sv.should_stop() of "
                "an nbtrain.tf1.Supervisor, and hooks=[nbtrain.tf1.RunHook(run)] of a "
                "MonitoredSession. The training thread is here"
            )
        return None
