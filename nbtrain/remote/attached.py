"""Follows and steers a run of another process like a run of this process.

run = nbtrain.attach("runs/digits")     # trained by a script, another kernel, another machine
run.status.step; run.scalars["loss"]; list(run.marks)
run.pause().wait()                      # through the mailbox in its folder
run.wait()                              # until it ends; an interrupt ends only the wait
run.close()                             # stops following; the run is not affected
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtrain.core.commands import NO_SENDER, Command, Note, Sender, Tag
from nbtrain.core.errors import RunFailedError, WaitError
from nbtrain.core.notes import Notes
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.text.visible import visible
from nbtrain.remote.follower import TICK_SECS, Follower
from nbtrain.rundir.mailbox import Address
from nbtrain.rundir.status_file import CHECKPOINTS, SignOfLife
from nbtrain.steer import surroundings
from nbtrain.steer.annotations import annotate
from nbtrain.steer.listeners import added
from nbtrain.steer.requests import Requests, planned
from nbtrain.steer.surroundings import Wait
from nbtrain.steer.waiting import Waiting

if TYPE_CHECKING:
    from typing_extensions import Self

# Seconds between two checks of an `await`.
_AWAIT_SECS = 0.1

# The runs that are followed, in the order in which they were attached; each until it has ended, or
# is closed.
_followed: list[AttachedRun] = []

# The last runs that were followed to their ends: their panels can still be explored.
_last_ended: deque[weakref.ref[AttachedRun]] = deque(maxlen=8)

if hasattr(os, "register_at_fork"):  # not on Windows
    # A forked process has no threads of its parent, so it follows nothing.
    os.register_at_fork(after_in_child=_followed.clear)


class AttachedRun(Requests):
    """A run that trains in another process, followed and steered through its folder.

    The object has the panel, the status, the curves, the marks and the commands of a `Run`. If the
    run has ended, it can still be shown, and commands are refused. Methods may be called from any
    thread and return at once, unless they say otherwise. `nbtrain.attach` makes it.

    Args:
        folder: The run's folder.
        sign: Its last sign of life.

    Attributes:
        logdir: The run's folder.
        scalars: Every recorded scalar, read from the event files about twice a second.
        marks: The marks on the curves, read from the journal.
        log: The lines of its log, read from `log.txt`.
        media: Its pictures and media, found in the event files.
        receipts: The receipts of the last eight commands that were sent from here.
    """

    most_checkpoints = CHECKPOINTS

    def __init__(self, folder: Path, sign: SignOfLife) -> None:
        self.logdir = folder
        self.receipts: deque[Receipt] = deque(maxlen=8)
        self._follower = follower = Follower(folder, sign, self.receipts)
        self.scalars, self.marks, self.log = follower.scalars, follower.marks, follower.log
        self.media = follower.media
        self._closing, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(
            target=self._follow_folder, name=f"nbtrain attached {self.name}", daemon=True
        )
        _followed.append(self)
        self._thread.start()

    # --- the thread ---------------------------------------------------------------

    def _follow_folder(self) -> None:
        follower = self._follower
        follower.outbox.thread = threading.get_ident()
        why = "the run is no longer followed"
        while not self._closing.is_set():
            more = follower.tick()
            if follower.has_ended:
                self._ended.set()
            else:
                self._ended.clear()
            if follower.is_done:
                why = follower.liveness.refusal or why
                break
            if not more:
                self._closing.wait(TICK_SECS)
        follower.outbox.shut(why)
        if self.status.phase.ended:
            _last_ended.append(weakref.ref(self))
        _followed[:] = [other for other in _followed if other is not self]

    def close(self) -> None:
        """Stops following the run, which is not affected; what was read stays.

        Commands without an answer are withdrawn, or refused if the run has read them.
        """
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Self:
        """Returns the run itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Stops following the run."""
        self.close()

    def read(self, timeout: float) -> bool:
        """Waits up to `timeout` seconds until the folder has been read; returns whether it was."""
        return self._follower.caught_up.wait(timeout)

    # --- its state ----------------------------------------------------------------

    @property
    def name(self) -> str:
        """The run's name."""
        return self.sign.status.name

    @property
    def status(self) -> Status:
        """The state of the run by its last sign of life, at most about a second old.

        If its process ended without a last status, the phase is failed, and `failure` says so. If
        there is no sign of life, or the folder is gone, `message` says so.
        """
        liveness = self._follower.liveness
        status, said = liveness.status, liveness.message
        own = [text for text in (said, *self._follower.notes.texts) if text]
        if not own:
            return status
        return replace(status, message="\n".join(filter(None, (*own, status.message))))

    @property
    def mailbox(self) -> Address:
        """The mailbox to which its commands are sent."""
        return Address(self.logdir.absolute(), self.sign.writer.attempt)

    @property
    def trained_by(self) -> str:
        """The process that trains, such as "process 4711 on lab-3"."""
        return str(self.sign.writer)

    @property
    def sign(self) -> SignOfLife:
        """The last sign of life of the run, with the process that wrote it."""
        return self._follower.liveness.sign

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The values that `set` can change, by name."""
        return {each.name: each.value for each in self.status.hyperparameters}

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last: at most a hundred."""
        return self.status.checkpoints

    @property
    def total_steps(self) -> int | None:
        """The step at which the run finishes; None if it does not end by itself."""
        return self.status.total_steps

    @property
    def handle(self) -> Notes:
        """The messages of the display."""
        return self._follower.notes

    @property
    def is_over(self) -> bool:
        """True if the run has ended and everything is read."""
        return self.status.phase.ended

    def on_tick(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls `listener` ten times a second until the run ends, and once after its end.

        Returns:
            A function that removes the listener; calling it again does nothing.
        """
        return added(self._follower.listeners, listener)

    def __repr__(self) -> str:
        """Name, process, phase and step."""
        status, process = self.status, self.trained_by
        return f"<nbtrain run {self.name!r} of {process}: {status.phase} at step {status.step:,}>"

    # --- commands and the end -------------------------------------------------------

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Sends a command to the run's mailbox; see `Requests.post`.

        The run reads the command within a fifth of a second, and executes it at its next step
        boundary. A command that cannot be sent is refused, as is every command once the run has
        ended.
        """
        at = planned(command, at)
        if isinstance(command, Note | Tag) and self._follower.has_ended:
            receipt = annotate(self, command, sender)
            self.receipts.append(receipt)
            return receipt
        return self._follower.outbox.post(command, at=at, sender=sender)

    def refuse(self, command: Command, why: str) -> Receipt:
        """Answers a command at once, because it cannot be done; returns its receipt."""
        receipt = Receipt(command)
        receipt.answer(Outcome(applied=False, step=self.status.step, text=why))
        self.receipts.append(receipt)
        return receipt

    def wait(self, timeout: float | None = None) -> AttachedRun:
        """Blocks until the run has ended; an interrupt ends the wait, not the training.

        A message on the standard error says once that the run is paused.

        Args:
            timeout: The most seconds to wait; None waits until the end.

        Returns:
            The run itself, so that a cell shows how it ended.

        Raises:
            WaitError: The run has not ended after `timeout` seconds, is no longer followed, or a
                function of `on_tick` would wait for its own thread.
            RunFailedError: The training has failed, or its process ended without a last status.
        """
        waiting = AttachedWaiting(self, self._thread, self._ended)
        if not waiting.until_ended(timeout):
            raise WaitError(
                f"After {timeout:g} s of waiting the run has not ended ({self!r}): wait again, or "
                "call request_stop()."
            )
        return self._result()

    def __await__(self) -> Generator[Any, None, AttachedRun]:
        """Waits without blocking the event loop: `await run`."""
        yield from AttachedWaiting(self, self._thread, self._ended).awaited()
        return self._result()

    def _result(self) -> AttachedRun:
        surroundings.current.note_awaited(self)
        status = self.status
        if status.phase is Phase.FAILED:
            error = f"\n\n{status.error}" if status.error else ""
            raise RunFailedError(visible(f"{self!r}: {status.failure}{error}"))
        return self


class AttachedWaiting(Waiting):
    """One wait for the end of a run; any thread except the one that follows it.

    Args:
        run: The run.
        thread: The thread that follows it.
        ended: Set when the run has ended.

    Raises:
        WaitError: The calling thread is `thread`, and would wait for itself.
    """

    def __init__(self, run: AttachedRun, thread: threading.Thread, ended: threading.Event) -> None:
        super().__init__(ended)
        self._run, self._thread = run, thread
        if thread is threading.current_thread():
            raise WaitError(
                f"A function of on_tick cannot wait for the end of the run {run.name!r}: its own "
                "thread reads the end. Remove wait() here."
            )

    def awaited(self) -> Generator[Any, None, None]:
        """Waits without blocking the event loop; reports pauses meanwhile."""
        while not self._ended.is_set():
            self._pauses.report()
            yield from asyncio.sleep(_AWAIT_SECS).__await__()

    def paused(self) -> str | None:
        """Returns the message for a paused run; None while the run is not paused.

        Raises:
            WaitError: The run is no longer followed.
        """
        if not self._thread.is_alive() and not self._ended.is_set():
            raise WaitError(
                f"{self._run!r} is no longer followed, because close() was called: attach it again."
            )
        status = self._run.status
        if status.phase is not Phase.PAUSED:
            return None
        how = surroundings.current.how_to_resume(self._run.logdir, Wait.ATTACHED)
        return (
            f"The run {self._run.name!r} is paused at step {status.step:,}, and this waits for "
            f"its end. {how}"
        )


def is_known(run: AttachedRun) -> bool:
    """Returns whether a run is followed, or is one of the last that have ended."""
    return run in _followed or any(ref() is run for ref in _last_ended)


def followed() -> list[AttachedRun]:
    """Returns the runs that are followed and have not ended, the latest attached last."""
    return [run for run in list(_followed) if not run.status.phase.ended]


def ended() -> list[AttachedRun]:
    """Returns the last runs that have ended, also those that are still followed."""
    last = [run for ref in list(_last_ended) if (run := ref()) is not None]
    return [run for run in [*last, *_followed] if run.status.phase.ended]
