"""The work beside the training thread, ten times a second.

One LooperThread per run drains the recorder, measures the speed, shows where a late training
thread is, writes the journal, and then calls the listeners that display the run. Another thread
calls the functions of `run.on`, which may take as long as they like. An error here never reaches
the training: it becomes a message.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import traceback
from collections.abc import Callable, Iterator

from nbtrain.core.commands import Receipt
from nbtrain.core.states import Phase
from nbtrain.core.tracebacks import stack_of
from nbtrain.recording.recorder import Recorder
from nbtrain.run.folder_watch import FolderWatch
from nbtrain.run.listeners import Listeners
from nbtrain.run.resource_usage import ResourceUsage
from nbtrain.run.threads import LooperThread
from nbtrain.run.time_usage import Throughput, TimeUsage
from nbtrain.rundir.entries import FILE
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Journal, Marks
from nbtrain.rundir.timeline import RunTimeline

TICK_SECS = 0.1

# Seconds of preparing until a message says where the thread is. Building and tracing a model take
# seconds.
PREPARING_SECS = 15.0

# Seconds of running until a message that is not a warning disappears.
NOTICE_SECS = 30.0

# Seconds between two stacks of a late thread: often enough to see it move.
STACK_SECS = 1.0

# Seconds of work, such as an evaluation, until a message explains why commands wait.
BUSY_SECS = 1.0

# Seconds per tick for reading earlier curves, which takes the processor from the training.
RECALL_SECS = 0.02

# Seconds between two looks at the folder: for a network folder, every tick would be too often.
LOOK_SECS = 1.0


class MonitorThread(LooperThread):
    """A LooperThread that calls its target once more when it stops, so that nothing is left."""

    def stop_loop(self) -> None:
        """Does the last tick."""
        self.run_loop()


class Monitor:
    """The services of one start of a run.

    Args:
        grace_secs: Seconds after a request to stop until `message` shows the stack of the
            training thread.

    Attributes:
        each_tick: Functions called at every tick before the records are drained.
        notice: A message that is not a warning; see `inform`.
    """

    def __init__(
        self,
        recorder: Recorder,
        logdir: Logdir,
        marks: Marks,
        *,
        grace_secs: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.throughput = Throughput()
        self.time_usage = TimeUsage(clock)
        self.resource_usage = ResourceUsage(self.time_usage, clock=clock)
        self.notice: str | None = None
        self._read_from: float | None = None  # when the run first ran with this notice
        self.listeners: list[Callable[[], object]] = []
        self.told = Listeners()
        self.each_tick: list[Callable[[], object]] = []
        self.each_second: list[Callable[[], object]] = []
        self.folder = FolderWatch(logdir, recorder, self._tell_of_folder)
        self._recorder = recorder
        self._grace_secs = grace_secs
        self._journal = Journal(logdir, marks)
        self.log = self._journal.log  # any thread
        self._notes: dict[str, str] = {}
        self._clock = clock
        self._began = clock()
        self._stop_asked: float | None = None
        self._at: tuple[str, float] | None = None  # the current long work, and since when
        self._stack_due = self._look_due = clock()

    @property
    def message(self) -> str | None:
        """The warnings for the user, one paragraph each; None if there are none."""
        return "\n".join(list(self._notes.values())) or None

    def begin(self, **entry: object) -> None:
        """Logs the entry of a run's start."""
        self.log(event="start", step=0, **entry)
        self.write_journal()

    def timeline(self) -> RunTimeline:
        """The checkpoints and restores of the run, including its earlier starts."""
        lines, unread = self._journal.read()
        self.note("journal lines", unread)
        self._journal.begin_timeline(lines)
        return self._journal.timeline

    def open_segment(self, step: int, *, marked: bool = True) -> None:
        """Starts a segment: the run goes on from a step, other branches are abandoned.

        Args:
            marked: Whether to mark this in the event files; False if a run begins.
        """
        timeline = self._journal.timeline
        timeline.go_on(step)
        self._recorder.open_segment(step, timeline.limits, marked=marked)

    def led_here(self, receipt: Receipt) -> bool:
        """Tells if a command was applied and has not been undone by a restore since."""
        outcome = receipt.outcome
        counts = self._journal.timeline.counts
        return outcome is not None and outcome.applied and counts(outcome.step, receipt.order)

    def note(self, topic: str, text: str | None) -> None:
        """Sets or (None) clears the message about a topic; any thread."""
        if text is None:
            self._notes.pop(topic, None)
        else:
            self._notes[topic] = text

    def inform(self, text: str | None) -> None:
        """Shows a message that is not a warning until the run has run a while; None clears it."""
        self.notice, self._read_from = text, None

    @contextlib.contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Shows what the training thread is doing if it takes long; training thread only."""
        self._at = text, self._clock()
        try:
            yield
        finally:
            self._at = None

    def stop_asked(self) -> None:
        """Notes the time of the first request to stop."""
        if self._stop_asked is None:
            self._stop_asked = self._clock()

    def recall(self) -> None:
        """Reads the marks and curves of earlier starts, as the run continues from a checkpoint."""
        self._journal.recall()
        self._recorder.go_on(self._journal.timeline.begins)

    def tick(self, phase: Phase, step: int, done: int, thread: threading.Thread | None) -> None:
        """Does one tick; the looper's thread, and once more at the end.

        Args:
            done: Completed steps of this start; a restore does not change them.
        """
        began = time.thread_time()
        self._look_at_folder(step)
        secs = math.inf if phase.ended else RECALL_SECS
        self._guarded("look at earlier curves", lambda: self._recorder.recall(secs))
        self._guarded("record", *self.each_tick, self._record)
        self._tell_of_work()
        self._guarded("speed", lambda: self._keep_pace(phase, done))
        self._guarded("look at the training thread", lambda: self._look_for(phase, thread))
        self._guarded("journal", self.write_journal)
        self._guarded("look at what the run uses", lambda: self.resource_usage.look(phase))
        self._guarded("display", *self.listeners)
        self.resource_usage.beside(time.thread_time() - began)

    def _keep_pace(self, phase: Phase, done: int) -> None:
        if phase is Phase.RUNNING:
            self.throughput.update(done, self._clock())
            self._let_go_of_notice(self._clock())
        elif not phase.ended:
            self.throughput.reset()

    def _look_at_folder(self, step: int) -> None:
        if (now := self._clock()) < self._look_due:
            return
        self._look_due = now + LOOK_SECS
        self._guarded("look at the folder", lambda: self.folder.look(step), *self.each_second)

    def _tell_of_folder(self, step: int, text: str) -> None:
        self.log(event="folder", step=step, text=text)
        self.note("folder", text)

    def _let_go_of_notice(self, now: float) -> None:
        if self._read_from is None:
            self._read_from = now
        elif now - self._read_from >= NOTICE_SECS:
            self.notice = None

    def _guarded(self, topic: str, *acts: Callable[[], object]) -> None:
        """Calls all functions; their errors become a message and never reach the training."""
        failed: list[str] = []
        for act in acts:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - shown, and tried again next tick
                lines = "".join(traceback.format_exception(error, limit=-2))
                failed.append(f"The {topic} failed, the training goes on: {lines}")
        self.note(f"{topic} failed", "\n".join(failed) or None)

    def _record(self) -> None:
        self._recorder.drain()
        self.note("event file", self._recorder.error)
        if self._recorder.thinned_steps:
            self.note(
                "thinned",
                f"Steps come faster than they can be recorded: of {self._recorder.thinned_steps:,} "
                "of them only the first, last, lowest and highest values were kept.",
            )

    def _tell_of_work(self) -> None:
        text, at = None, self._at
        if at is not None and (secs := self._clock() - at[1]) >= BUSY_SECS:
            text = f"{at[0]}, for {secs:.0f} s: what was asked for waits until that is over."
        self.note("busy", text)

    def _look_for(self, phase: Phase, thread: threading.Thread | None) -> None:
        """Shows the stack of the training thread if it is late."""
        now = self._clock()
        text = self._late(phase, now)
        if text is None:
            self.note("late", None)
        elif now >= self._stack_due:
            self._stack_due = now + STACK_SECS
            stack = stack_of(thread)
            self.note("late", f"{text} (newest call last):\n{stack}" if stack else None)

    def _late(self, phase: Phase, now: float) -> str | None:
        if phase is Phase.STOPPING and self._stop_asked is not None:
            late = now - self._stop_asked
            if late >= self._grace_secs:
                return f"Asked to stop {late:.0f} s ago; the training thread is still here"
        if phase is Phase.PREPARING and (late := now - self._began) >= PREPARING_SECS:
            return (
                f"Preparing for {late:.0f} s. A loop of one's own begins when it first asks "
                "run.should_stop(), and asks it once a step; in its place do sv.should_stop() of "
                "an nbtrain.Supervisor, and hooks=[nbtrain.RunHook(run)] of a MonitoredSession. "
                "The training thread is here"
            )
        return None

    def tell(self, phase: Phase) -> None:
        """Calls the functions of `run.on` for new marks; in a thread of their own."""
        if self.told and (untold := self._journal.untold):
            self.note("untold", f"Functions of run.on take too long: {untold:,} events are lost.")
        for mark in self._journal.done(ended=phase.ended):
            if calls := self.told.calls(mark):
                self._guarded(f'function of run.on("{mark.event}")', *calls)

    def write_journal(self) -> None:
        """Writes the journal, before a command is confirmed; any thread.

        Entries that cannot be written wait for the next tick in their order, and a message says so.
        """
        if self.folder.lost:
            self._journal.clear()
            return
        try:
            self._journal.write()
            self.note("journal", None)
        except OSError as error:
            self.note(
                "journal",
                f"{FILE} cannot be written: {error.strerror or error}. What belongs there waits in "
                "memory.",
            )
