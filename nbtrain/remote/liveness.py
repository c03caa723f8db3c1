"""Decides whether a run in another process is alive, by the signs of life in `status.json`.

liveness = Liveness(folder, sign)
liveness.heard(sign)         # the file has changed
liveness.update(there=True)  # ten times a second
liveness.status              # the run's own, or FAILED once its process is gone
liveness.message             # "No sign of life of process 4711 on lab-3 for 3 s; ..."

Silence is measured by the clock of this process, because the clocks of two machines differ. A
process counts as gone only if it is also silent: its number may belong to another container.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.rundir import launched, processes
from nbtrain.rundir.folder import shown
from nbtrain.rundir.names import ASIDE, LOG
from nbtrain.rundir.status_file import ALIVE_SECS, SignOfLife
from nbtrain.rundir.timeline import on_the_way, side_folder

# Seconds without a sign of life until a message says so: two seconds, less one tick.
SILENT_SECS = 1.9

# Seconds without a sign of life until the process is checked: one sign is overdue.
OVERDUE_SECS = 1.2 * ALIVE_SECS

# Seconds between two checks of a process.
_POLL_SECS = 0.5

# Seconds for which a notice says that a run was started again.
_NOTICE_SECS = 30.0

# Seconds of silence after which the message has the date of the last sign.
_DATED_SECS = 60.0


def has_ended(sign: SignOfLife) -> bool:
    """Returns whether the process of a sign has ended; False for one of another machine."""
    writer = sign.writer
    return processes.has_ended(writer.host, writer.process, writer.process_started, sign.alive)


class Liveness:
    """The state of one run in another process; one thread updates it, any thread may read.

    Args:
        folder: The run's folder.
        sign: Its last sign of life.
        clock: Returns seconds that never go backwards.
        wall: Returns seconds since the epoch.
        gone: Returns whether the process of a sign of life has ended.

    Attributes:
        sign: The last sign of life.
        message: A warning for the user; None if there is none.
        failure: A message that the process ended without a last status; None if it did not.
        printed: The last lines that the process printed before its end; None if unknown.
    """

    def __init__(
        self,
        folder: Path,
        sign: SignOfLife,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        gone: Callable[[SignOfLife], bool] = has_ended,
    ) -> None:
        self.sign = sign
        self.message: str | None = None
        self.failure: str | None = None
        self.printed: str | None = None
        self._folder, self._clock, self._wall, self._gone = folder, clock, wall, gone
        self._notice, self._noticed_at = "", 0.0
        self._polled_at = -_POLL_SECS
        age = wall() - sign.alive if sign.writer.host == socket.gethostname() else 0.0
        self._heard_at = clock() - max(0.0, age)

    def heard(self, sign: SignOfLife) -> None:
        """Records a sign of life; ignores one that was seen before."""
        if sign == self.sign:
            return
        before = self.sign.writer
        if sign.writer.attempt != before.attempt and not (sign.writer.launched or before.launched):
            self._notice = f"The run was started again, by {sign.writer}."
            self._noticed_at = self._clock()
        self.sign = sign
        self._heard_at = self._clock()
        self.failure = self.printed = self.message = None

    def update(self, *, there: bool) -> None:
        """Decides again whether the run is alive.

        Args:
            there: Whether the folder exists.
        """
        if self.sign.status.phase.ended:
            self.message = None
            return
        now = self._clock()
        silent = now - self._heard_at
        if (self._starts or silent >= OVERDUE_SECS) and now - self._polled_at >= _POLL_SECS:
            self._polled_at = now
            dead = self._gone(self.sign)
            self.printed = (launched.printed(self._folder) if dead else None) or None
            self.failure = self._death() if dead else None
        if not there:
            self.message = (
                f"The folder {shown(self._folder)} is gone: it was deleted or renamed, or its "
                "share is unavailable. The data shown is from before."
            )
        elif self.is_silent:
            self.message = self._silence(silent)
        else:
            self.message = None

    @property
    def is_silent(self) -> bool:
        """True if a run has not ended and writes no sign of life, and its process is not gone."""
        if self.sign.status.phase.ended or self.failure is not None or self._starts:
            return False
        return self._clock() - self._heard_at >= SILENT_SECS

    @property
    def _starts(self) -> bool:
        """True while its process is silent because it imports TensorFlow and begins its run."""
        writer = self.sign.writer
        return writer.launched and writer.host == socket.gethostname()

    def _silence(self, secs: float) -> str:
        step, alive = self.sign.status.step, self.sign.alive
        dated = ""
        if abs(self._wall() - alive) >= _DATED_SECS:
            local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(alive))
            dated = f", dated {local} by its clock"
        return (
            f"No sign of life of {self.sign.writer} for {secs:.0f} s; the last was at step "
            f"{step:,}{dated}."
        )

    def _death(self) -> str:
        status = self._with_all_checkpoints
        process = str(self.sign.writer)
        process = process[0].upper() + process[1:]
        if self.sign.writer.launched:
            log = shown(self._folder / LOG)
            if self.printed is None:
                return f"{process} ended before it started a run, and printed nothing to {log}."
            last = self.printed.rpartition("\n")[2]
            return f"{process} ended before it started a run. The last line of {log}: {last}"
        return (
            f"{process} ended without a last status; its last sign of life was at step "
            f"{status.step:,}. {_how_to_continue(status, self._folder)}"
        )

    @property
    def _with_all_checkpoints(self) -> Status:
        """The status of an ended process, with what it saved after its last sign of life."""
        status = self.sign.status
        saved = _saved_since(status, self._folder)
        return replace(status, checkpoints=(*status.checkpoints, *saved))

    @property
    def status(self) -> Status:
        """The status of its last sign of life; failed if the process has ended since."""
        failure = self.failure
        status = self.sign.status if failure is None else self._with_all_checkpoints
        if self._notice and self._clock() - self._noticed_at < _NOTICE_SECS:
            notice = f"{self._notice} {status.notice or ''}".rstrip()
            status = replace(status, notice=notice)
        if failure is None:
            return status
        return replace(
            status,
            phase=Phase.FAILED,
            failure=failure,
            error=self.printed,
            notice=None,
            steps_per_s=None,
            eta_s=None,
            threads=(),
        )

    @property
    def refusal(self) -> str | None:
        """The reason why no command can be executed, with advice; None if commands can be."""
        status = self.sign.status
        if self.failure is not None:
            return self.failure
        if not status.phase.ended:
            return None
        return (
            f"the run has ended ({status.phase} at step {status.step:,}). "
            f"{_how_to_continue(status, self._folder)}"
        )


def _saved_since(status: Status, folder: Path) -> list[Checkpoint]:
    """Returns the checkpoints and copies that a process has saved after its last sign of life."""
    known = {(side_folder(each.path), Path(each.path).name) for each in status.checkpoints}
    last = max((each.step for each in status.checkpoints if not each.abandoned), default=-1)
    found = []
    for side in ("", *ASIDE):
        for index in (folder / "checkpoints" / side).glob("ckpt-*.index"):
            step = index.stem.removeprefix("ckpt-")
            if step.isdecimal() and int(step) > last and (side, index.stem) not in known:
                path, saved_at = str(index.with_suffix("")), index.stat().st_mtime
                found.append(Checkpoint(int(step), path, saved_at))
    return sorted(found, key=lambda each: each.step)


def _how_to_continue(status: Status, folder: Path) -> str:
    """Returns how to start a run again, and the step from which the run then continues."""
    more = "more steps and " if status.phase is Phase.FINISHED else ""
    start = f"Start the run again with {more}logdir={shown(folder)!r}"
    held = on_the_way(status.checkpoints)  # with the copies, from which a start continues too
    if not held:
        return f"{start}: it has no checkpoint, so it starts over."
    return f"{start}: it continues from its latest checkpoint, step {held[-1].step:,}."
