"""The run as seen by a Supervisor or a MonitoredSession's hook that opens a session in its loop.

host.link(coord, left_open)              # before the session opens: it stops with the run
    host.adopt(coord, saver, due, step)  # the session is open: both stop together
    while not host.should_stop(): ...    # the step boundary, where its saver saves
host.release(coord)                      # saves a last checkpoint
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.core.tasks import Task
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.boundary.loop import Loop
from nbtrain.run.context import Context
from nbtrain.run.thread.threads import Coordinator, serves


class SessionHost:
    """The run for the sessions that are opened in its training thread.

    Attributes:
        own_tags: The tags that the run records at every step, while the run's engine has its own
            session open, which the engine saves and loops by itself. Otherwise None.
        initial: Returns the checkpoint that a chief can initialize all variables of a saver from,
            or None. Set by a hook before its session is made.
    """

    def __init__(self, context: Context, boundary: Boundary, loop: Loop) -> None:
        self.left_open = contextlib.ExitStack()
        self.own_tags: frozenset[str] | None = None
        self.initial: Callable[[Any], str | None] = lambda _saver: None
        self._context = context
        self._coord = context.coord
        self._commands = context.commands
        self._boundary = boundary
        self._loop = loop
        # The coordinator of each session, and what to undo at its release.
        self._guests: dict[tf.train.Coordinator, contextlib.ExitStack] = {}

    @property
    def name(self) -> str:
        """The name of the run."""
        return self._context.folder.name

    @property
    def coord(self) -> Coordinator:
        """The coordinator of the run, whose stop ends the wait for a session; any thread."""
        return self._coord

    def should_stop(self) -> bool:
        """Returns whether the loop must end; a step boundary in the training thread. Any thread."""
        if self.own_tags is None and threading.get_ident() == self._commands.thread:
            return self._loop.should_stop()
        return self.asked_to_stop()

    def asked_to_stop(self) -> bool:
        """Returns whether a stop was requested; this is not a step boundary. Any thread."""
        return bool(self._coord.should_stop())

    def is_asked(self) -> bool:
        """Returns whether a command waits for the next step boundary; any thread."""
        return self._commands.waiting

    def stop(self) -> None:
        """Asks all accepted sessions to stop; any thread."""
        for coord in self.coords:
            if not coord.should_stop():
                coord.request_stop()

    @property
    def coords(self) -> list[tf.train.Coordinator]:
        """The coordinators of the accepted sessions; any thread."""
        return list(self._guests)

    def link(self, coord: Coordinator, left_open: Callable[[], object]) -> None:
        """Links a Supervisor to the run: it stops with the run; training thread.

        The Supervisor also stops while its session is prepared.
        """
        if self.own_tags is not None:  # the session belongs to the run
            return
        if coord not in self._guests:
            self._guests[coord] = contextlib.ExitStack()
            self.at_end(lambda: left_open() if coord in self._guests else None)
        if self._coord.should_stop():
            coord.request_stop()

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every, step: int | None) -> None:
        """Accepts a Supervisor's session until `release`; training thread only.

        A second call before `release` means that the first session was lost.

        Args:
            coord: The coordinator of the session's threads, from `link`. From now on, the
                coordinator and the run stop together.
            step: Completed steps of the session; None if it does not count them.
        """
        if self.own_tags is not None:
            return
        if coord.on_stop is not None:
            lost = self._boundary.steps.step
            if saver is not None:
                self._boundary.policy.lose()
                self._loop.resume(saver, due, step)
            saving = "save_model_steps= or save_model_secs=" if saver is not None else None
            self._report_recovery(lost, saving)
            return
        with contextlib.ExitStack() as undo:
            if saver is not None:
                undo.enter_context(self._context.folder.holding(saver.directory))
                self._loop.resume(saver, due, step)
                undo.callback(self._loop.close_session)
            undo.callback(setattr, coord, "on_stop", None)
            self._guests[coord] = undo.pop_all()
        coord.on_stop = functools.partial(self._stop_with, coord)
        if self._coord.should_stop():
            coord.request_stop()

    def before_call(self, recount: Callable[[int], int]) -> None:
        """Handles the boundary for a loop that never asks whether to stop; training thread only."""
        if self.own_tags is None:
            self._loop.before_call(recount)

    def attach(
        self, coord: tf.train.Coordinator, saver: Saver | None, step: int, *, again: bool
    ) -> Loop:
        """Accepts a hook's session until `release`; training thread only."""
        lost = self._boundary.steps.step
        self._loop.count_by_hook(saver, step, again=again)
        self._guests[coord] = contextlib.ExitStack()
        self._guests[coord].callback(self._loop.close_session)
        if again:
            self._report_recovery(lost, "save_steps= or save_secs=")
        return self._loop

    def show_tasks(self, source: Callable[[], Sequence[Task]]) -> None:
        """Shows the tasks of the cluster that its session trains on."""
        self._context.monitor.tasks.source = source

    def at_end(self, close: Callable[[], object]) -> None:
        """Registers `close` for the end of the loop; training thread only.

        `close` is called after the last checkpoint, and closes what the loop or an error has left
        open.
        """
        self.left_open.callback(close)

    def release(self, coord: tf.train.Coordinator | None = None) -> None:
        """Releases a session, or all if None, after a last checkpoint; training thread only."""
        for guest in list(self._guests) if coord is None else [coord]:
            self._guests.pop(guest, contextlib.ExitStack()).close()

    def _report_recovery(self, lost: int, saving: str | None) -> None:
        """Reports the step from which the training continues after its session was lost.

        Args:
            saving: The arguments that make the session save; None if nothing saves the session.
        """
        step, then = self._boundary.steps.step, "."
        if saving is not None:
            then = (
                f"; the training continues from step {step:,}."
                if step
                else ", and none of its steps was saved: THE TRAINING STARTS ALL OVER, from step "
                f"0. Give {saving} to save sooner."
            )
        text = f"The session was lost at step {lost:,} and made again{then}"
        self._context.monitor.notices.note("recovery", text)
        self._context.monitor.log(event="recovery", step=step, text=text)

    def note(self, topic: str, text: str | None) -> None:
        """Shows a warning in the panel; None clears it. Any thread."""
        self._context.monitor.notices.note(topic, text)

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Records scalars of a completed step, or of the last one if None; any thread."""
        values = {tag: values[tag] for tag in values if tag not in (self.own_tags or ())}
        if values:
            step = self._boundary.steps.step if step is None else step
            self._context.recorder.queue.append(step, time.time(), values)

    def _stop_with(self, guest: Coordinator) -> None:
        """Stops the run because the Supervisor of its session was asked to stop."""
        if not self._coord.should_stop():
            in_loop = threading.get_ident() == self._commands.thread
            by_itself = in_loop or serves(threading.current_thread())
            self._coord.exhausted = guest.exhausted or by_itself
            self._coord.request_stop()


class _OfThread(threading.local):
    """The run that trains in the calling thread; neither new threads nor contexts inherit it."""

    _host: SessionHost | None = None

    def get(self) -> SessionHost | None:
        """Returns the run that trains in this thread, or None."""
        return self._host

    def set(self, host: SessionHost | None) -> None:
        """Sets the run for this thread."""
        self._host = host


owner = _OfThread()


def warn(topic: str, text: str | None) -> None:
    """Shows a warning in the panel of this thread's run; without a run, logs it."""
    run = owner.get()
    if run is not None:
        run.note(topic, text)
    elif text is not None:
        tf.compat.v1.logging.warning(text)
