"""The run, to what opens a session in its loop: a Supervisor, or a MonitoredSession's hook.

host.lead(coord, left_open)              # before a Supervisor's session: it stops with the run
    host.adopt(coord, saver, due, step)  # its session is there: it and the run stop together
    while not host.should_stop(): ...    # the step boundary, where its saver saves
host.release(coord)                      # a last checkpoint
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping
from typing import SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core.cadence import Every
from nbtrain.run.boundary import Boundary
from nbtrain.run.context import Context
from nbtrain.run.loops import HookLoop, OwnLoop
from nbtrain.run.session_loop import SessionLoop
from nbtrain.run.threads import Coordinator, serves


class SessionHost:
    """Takes the sessions that the loop of a run opens under that run: their owner.

    Args:
        context: The collaborators of the attempt.
        boundary: Its step boundary.
        session: The session that the loop has open.
        loop: The loop that asks whether to stop.

    Attributes:
        left_open: Closes, when it is left, what the loop has left open.
    """

    def __init__(
        self, context: Context, boundary: Boundary, session: SessionLoop, loop: OwnLoop
    ) -> None:
        self.left_open = contextlib.ExitStack()
        self._context = context
        self._coord = context.coord
        self._commands = context.commands
        self._boundary = boundary
        self._session = session
        self._loop = loop
        # Of each session the coordinator, and what is to be undone at its release.
        self._guests: dict[tf.train.Coordinator, contextlib.ExitStack] = {}

    @property
    def name(self) -> str:
        """The name of the run."""
        return self._context.folder.name

    def should_stop(self) -> bool:
        """Whether to leave the loop: in the training thread the step boundary; any thread."""
        if threading.get_ident() == self._commands.thread:
            return self._loop.reach()
        return self.asked_to_stop()

    def asked_to_stop(self) -> bool:
        """Whether a stop was requested: no step boundary; any thread."""
        return bool(self._coord.should_stop())

    def is_asked(self) -> bool:
        """Whether a command waits for the next step boundary; any thread."""
        return self._commands.waiting

    def stop(self) -> None:
        """Stop what was taken in; any thread."""
        for coord in self.coords:
            if not coord.should_stop():
                coord.request_stop()

    @property
    def coords(self) -> list[tf.train.Coordinator]:
        """The coordinators of what was taken in; any thread."""
        return list(self._guests)

    def lead(self, coord: Coordinator, left_open: Callable[[], object]) -> None:
        """Stop a Supervisor with the run, also while its session is prepared; training thread.

        Args:
            coord: Its coordinator.
            left_open: Called at the end of the run, if it has not been released.
        """
        if coord not in self._guests:
            self._guests[coord] = contextlib.ExitStack()
            self.at_end(lambda: left_open() if coord in self._guests else None)
        if self._coord.should_stop():
            coord.request_stop()

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every, step: int | None) -> None:
        """Take a Supervisor's session under the run, until `release`; training thread only.

        A second one before that replaces the first, which is lost.

        Args:
            coord: Of the session's threads, led by the run: from now on they stop together.
            saver: Of the session; the run's checkpoints are its from now on.
            due: When they are due.
            step: Steps that the session has behind it; None where it does not count.

        Raises:
            ArgumentError: The run has a saver of its own.
            BusyError: Another run saves into the folder of this saver.
        """
        if coord.on_stop is not None:
            lost = self._boundary.step
            if saver is not None:
                self._boundary.policy.lose()
                self._session.go_on(saver, due, step)
            saving = "save_model_steps= or save_model_secs=" if saver is not None else None
            self._tell_of_recovery(lost, saving)
            return
        with contextlib.ExitStack() as undo:
            if saver is not None:
                undo.enter_context(self._context.folder.holding(saver.directory))
                self._session.go_on(saver, due, step)
                undo.callback(self._session.let_go)
            undo.callback(setattr, coord, "on_stop", None)
            self._guests[coord] = undo.pop_all()
        coord.on_stop = functools.partial(self._follow, coord)
        if self._coord.should_stop():
            coord.request_stop()

    def pass_by(self, recount: Callable[[int], int]) -> None:
        """What a loop that never asks whether to stop would not do; training thread only."""
        self._session.pass_by(recount)

    def attach(
        self, coord: tf.train.Coordinator, saver: Saver | None, step: int, *, again: bool
    ) -> HookLoop:
        """Take a hook's session under the run, until `release`; training thread only.

        Args:
            coord: Of the session's threads, which stop when the run does.
            saver: Of the session; None saves nothing.
            step: Steps that the session has behind it.
            again: Whether it replaces one that was lost.

        Returns:
            The loop, where the hook counts from now on.

        Raises:
            ArgumentError: The run has a saver of its own.
        """
        lost = self._boundary.step
        loop = HookLoop(self._context, self._boundary, self._session)
        loop.attach(saver, step, again=again)
        self._guests[coord] = contextlib.ExitStack()
        self._guests[coord].callback(self._session.let_go)
        if again:
            self._tell_of_recovery(lost, "save_steps= or save_secs=")
        return loop

    def at_end(self, close: Callable[[], object]) -> None:
        """Call `close` when the loop is over and its last checkpoint saved; training thread only.

        It closes what the loop, or an error, has left open.
        """
        self.left_open.callback(close)

    def release(self, coord: tf.train.Coordinator | None = None) -> None:
        """Let go of a session (None: of each), after a last checkpoint; training thread only."""
        for guest in list(self._guests) if coord is None else [coord]:
            self._guests.pop(guest, contextlib.ExitStack()).close()

    def _tell_of_recovery(self, lost: int, saving: str | None) -> None:
        """Say where it goes on; `saving` names what saves its checkpoints, None: nothing does."""
        step, goes_on = self._boundary.step, "."
        if saving is not None:
            goes_on = (
                f"; the training goes on from step {step:,}."
                if step
                else ", and none of its steps was saved: THE TRAINING STARTS ALL OVER, from step "
                f"0. Give {saving} to save sooner."
            )
        text = f"The session was lost at step {lost:,} and made again{goes_on}"
        self._context.monitor.note("recovery", text)
        self._context.monitor.log(event="recovery", step=step, text=text)

    def note(self, topic: str, text: str | None) -> None:
        """Warn of something in the panel, until (None) there is nothing to warn of; any thread."""
        self._context.monitor.note(topic, text)

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Record scalars of a step that was done, or (None) of the last one; any thread."""
        if values:
            step = self._boundary.step if step is None else step
            self._context.recorder.queue.append(step, time.time(), values)

    def _follow(self, guest: Coordinator) -> None:
        """A Supervisor whose session its loop has opened was asked to stop."""
        if not self._coord.should_stop():
            in_loop = threading.get_ident() == self._commands.thread
            by_itself = in_loop or serves(threading.current_thread())
            self._coord.exhausted = guest.exhausted or by_itself
            self._coord.request_stop()
