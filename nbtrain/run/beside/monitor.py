"""The work beside the training thread, ten times a second.

One LooperThread per run drains the recorder, measures the speed, shows the stack of a late training
thread, writes the journal, and then calls the listeners that display the run. Another thread calls
the functions of `run.on`, which may take as long as they like. An error here never reaches the
training: it becomes a message.
"""

from __future__ import annotations

import functools
import math
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from nbtrain.cluster import own_cluster
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase
from nbtrain.recording.recorder import Recorder
from nbtrain.run.beside.folder_watch import FolderWatch
from nbtrain.run.beside.notices import Notices
from nbtrain.run.beside.resource_usage import ResourceUsage
from nbtrain.run.beside.task_watch import TaskWatch
from nbtrain.run.beside.throughput import Throughput
from nbtrain.run.beside.time_usage import ASKED, EVALUATE, TimeUsage
from nbtrain.rundir.entries import FILE
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Journal, Marks
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.steer.listeners import Listeners

TICK_SECS = 0.1

# Seconds per tick for reading earlier curves, which slows the training down.
RECALL_SECS = 0.02


class Monitor:
    """The services of one start of a run.

    Args:
        listeners: Functions called at the end of every tick, to display the run.
        functions: The functions of `run.on`.

    Attributes:
        marks: The marks, the tags and the config of the run.
        each_tick: Functions called at every tick before the records are drained, by topic.
    """

    def __init__(
        self,
        recorder: Recorder,
        logdir: Logdir,
        marks: Marks,
        *,
        grace_secs: float,
        listeners: list[Callable[[], object]] | None = None,
        functions: Listeners | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notices = Notices(grace_secs, clock)
        self.throughput = Throughput()
        self.time_usage = TimeUsage(clock)
        self.resource_usage = ResourceUsage(self.time_usage, clock=clock)
        self.tasks = TaskWatch(self._report_task, own_cluster.source(), clock=clock)
        self.folder = FolderWatch(logdir, recorder, self._report_folder)
        self.listeners = [] if listeners is None else listeners
        self.functions = Listeners() if functions is None else functions
        self.each_tick: dict[str, Callable[[], object]] = {}
        self.marks = marks
        self._recorder = recorder
        self._journal = Journal(logdir, marks)
        self._holds_back = False
        self._clock = clock

    def inherit(self, last: Monitor) -> None:
        """Adds the entries that an earlier start has not written."""
        self._journal.inherit(last._journal)

    def log(self, **entry: object) -> float:
        """Adds an entry to the journal, and returns its order; any thread."""
        return self._journal.log(**entry)

    def begin(self, tags: Sequence[str], *, holds_back: bool = True, **entry: object) -> None:
        """Logs the entry of a run's start; without tags, the tags of earlier starts stay.

        In the folder of an earlier run nothing is written until `write_from_here`.

        Args:
            holds_back: Whether such a folder stays unchanged until then.
        """
        self.write_journal()  # the entries that an earlier start has left
        self._holds_back = holds_back and self._journal.is_written and not self._journal.waits
        self._journal.begin_labels()
        if tags:
            entry["tags"] = list(tags)
        self.log(event="start", step=0, **entry)
        self.write_journal()

    @property
    def holds_back(self) -> bool:
        """True while an earlier run's folder is unchanged."""
        return self._holds_back

    def write_from_here(self) -> None:
        """Writes the entries so far and all later ones, because the run trains."""
        self._holds_back = False
        self.write_journal()

    def drop_held_back(self) -> None:
        """Drops the entries of a start that has ended before its first step boundary."""
        if self._holds_back:
            self._journal.clear()

    def timeline(self) -> RunTimeline:
        """The checkpoints and restores of the run, including its earlier starts."""
        self.write_journal()  # the lines of this start belong to it
        lines, unread = self._journal.read()
        self.notices.note("journal lines", unread)
        self._journal.begin_timeline(lines)
        return self._journal.timeline

    def open_segment(self, step: int) -> None:
        """Starts a segment: the run continues from a step, and other branches are abandoned.

        The event file has a mark for each segment except the first. The journal is written before
        the mark, so that the journal knows each mark even if the process is killed.
        """
        if not self._journal.has_timeline:
            self.timeline()
        timeline = self._journal.timeline
        if not timeline.is_open(step):
            self.log(event="back", step=step)
        self.write_journal()
        self._recorder.open_segment(
            step, timeline.limits, wall_time=timeline.wall_time, marked=timeline.segment > 0
        )

    def led_here(self, receipt: Receipt) -> bool:
        """Returns whether a command was applied and has not been undone by a restore since."""
        outcome = receipt.outcome
        counts = self._journal.timeline.counts
        return outcome is not None and outcome.applied and counts(outcome.step, receipt.order)

    def recall(self, *, goes_on: bool) -> None:
        """Reads the marks and curves of earlier starts if the run continues from a checkpoint."""
        self._journal.recall(goes_on=goes_on)
        if goes_on:
            self._recorder.read_earlier(self._journal.timeline)

    def tick(self, phase: Phase, step: int, done: int, thread: threading.Thread | None) -> None:
        """Does one tick; the looper's thread, and once more at the end.

        Args:
            done: Completed steps of this start; a restore does not change them.
            thread: The training thread, if there is one.
        """
        began = time.thread_time()
        if self.folder.is_due(self._clock()):
            self.guarded(
                "check of the folder", lambda: self.folder.poll(step), self.folder.list_again
            )
        secs = math.inf if phase.ended else RECALL_SECS
        self.guarded("reading of earlier curves", lambda: self._recorder.recall(secs))
        for topic, act in self.each_tick.items():
            self.guarded(topic, act)
        self.guarded("recording", self._record)
        self.guarded("measurement of the speed", lambda: self._keep_pace(phase, done))
        check_thread = functools.partial(self._check_thread, phase, thread, done)
        self.guarded("check of the training thread", check_thread)
        self.guarded("journal", self.write_journal)
        self.guarded("measurement of the resources", lambda: self.resource_usage.measure(phase))
        self.guarded("check of the tasks", lambda: self.tasks.poll(step, ended=phase.ended))
        self.guarded("display", *self.listeners)
        self.resource_usage.beside(time.thread_time() - began)

    def _check_thread(self, phase: Phase, thread: threading.Thread | None, done: int) -> None:
        trains = self.time_usage.kind != EVALUATE
        self.notices.tick(phase, thread, done, trains=trains)

    def _keep_pace(self, phase: Phase, done: int) -> None:
        if phase is Phase.RUNNING and self.time_usage.kind != ASKED:
            self.throughput.update(done, self._clock())
        elif not phase.ended:
            self.throughput.reset()

    def _report_folder(self, step: int, text: str) -> None:
        self.log(event="folder", step=step, text=text)
        self.notices.note("folder", text)

    def _report_task(self, event: str, step: int, text: str) -> None:
        self.log(event=event, step=step, text=text)

    def guarded(self, topic: str, *acts: Callable[[], object]) -> None:
        """Calls all functions; their errors become a message and never reach the training."""
        failed: list[str] = []
        for act in acts:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - shown, and tried again next tick
                lines = "".join(traceback.format_exception(error, limit=-2))
                failed.append(f"The {topic} failed; the training continues: {lines}")
        self.notices.note(f"{topic} failed", "\n".join(failed) or None)

    def _record(self) -> None:
        self._recorder.drain()
        self.notices.note("event file", self._recorder.error)
        self.notices.note("samples", self._recorder.samples.message)
        if self._recorder.thinned_steps:
            self.notices.note(
                "thinned",
                f"Steps come faster than they can be recorded: of {self._recorder.thinned_steps:,} "
                "of them only the first, last, lowest and highest values were kept.",
            )

    def notify(self, phase: Phase) -> None:
        """Calls the functions of `run.on` for new marks; in a separate thread."""
        if self.functions and (untold := self._journal.untold):
            text = f"Functions of run.on take too long: {untold:,} events are lost."
            self.notices.note("untold", text)
        for mark in self._journal.done(ended=phase.ended):
            if calls := self.functions.calls(mark):
                self.guarded(f'function of run.on("{mark.event}")', *calls)

    def write_journal(self) -> None:
        """Writes the journal, before a command is confirmed; any thread.

        Entries that cannot be written wait for the next tick in their order, and a message says so.
        """
        if self.folder.lost:
            self._journal.clear()
        if self.folder.lost or self._holds_back:
            return
        try:
            self._journal.write()
            self.notices.note("journal", None)
        except OSError as error:
            self.notices.note(
                "journal",
                f"{FILE} cannot be written: {error.strerror or error}. Its lines wait in memory.",
            )
