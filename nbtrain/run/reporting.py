"""The state of a run, and the functions that are called when it changes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import monotonic
from typing import Any

from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.text import tracebacks
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.store import ScalarStore
from nbtrain.run.attempt import Attempt
from nbtrain.run.engine import Engine
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.mailbox import Address
from nbtrain.steer.listeners import Listener, added, check_event


class Reporting:
    """The state of a run, from any thread."""

    name: str
    scalars: ScalarStore
    marks: Marks
    attempt: Attempt
    _engine: Engine[Any]
    # The step from which the start continues, if it is known before the training, and the
    # checkpoints at the end of the last start.
    _before: tuple[int, tuple[Checkpoint, ...]]

    @property
    def _step(self) -> int:
        """Completed steps; until the checkpoint is restored, the steps of the checkpoint."""
        phase, step = self.attempt.context.lifecycle.phase, self.attempt.step
        known = self.attempt.session.taken_up or phase.ended or phase is Phase.CREATED
        return step if known else step or self._before[0]

    @property
    def media(self) -> RunMedia:
        """Its pictures and media, found in the event files of its folder."""
        return self.attempt.context.media

    @property
    def status(self) -> Status:
        """The present state of the run."""
        phase, attempt = self.attempt.context.lifecycle.phase, self.attempt
        monitor = attempt.context.monitor
        started = phase is not Phase.CREATED
        total, step = self.total_steps, self._step
        epoch = self._engine.epoch
        if epoch and phase.ended:
            epoch = epoch.ended_at(step)
        speed = attempt.steps_per_s if started else None
        left = None if total is None or phase.ended else max(0, total - step)
        return Status(
            name=self.name,
            engine=self._engine.kind,
            phase=phase,
            step=step,
            total_steps=total,
            epoch=epoch.number if epoch else None,
            epochs=epoch.count if epoch else None,
            epoch_began=epoch.began if epoch else None,
            epoch_steps=epoch.steps if epoch else None,
            steps_per_s=speed,
            eta_s=monitor.throughput.secs_for(left) if started and left is not None else None,
            elapsed_s=monitor.throughput.elapsed(monotonic()),
            values=self.scalars.last_values(),
            values_at=self.scalars.earlier_steps(),
            checkpoints=self.checkpoints,
            threads=attempt.threads,
            message=monitor.notices.message if started else None,
            notice=monitor.notices.notice if started else None,
            error=tracebacks.formatted(attempt.error, attempt.traceback) if attempt.error else None,
            failure=tracebacks.named(attempt.error) if attempt.error else None,
            log=attempt.handle.log.lines,
            hyperparameters=self.attempt.context.hyperparameters.known,
            evaluates=self._engine.evaluate is not None,
            mirror=attempt.monitor_threads.mirrored,
            usage=monitor.resource_usage.usage,
            tasks=monitor.tasks.tasks,
            tags=self.marks.tags,
            directions=attempt.context.settings.directions.told,
        )

    @property
    def mailbox(self) -> Address | None:
        """The mailbox of the latest start; None before the first."""
        return self.attempt.monitor_threads.address

    @property
    def trained_by(self) -> str | None:
        """The process that trains; None, as it is this one."""
        return None

    @property
    def error(self) -> BaseException | None:
        """The error that ended the run; None unless it has failed."""
        return self.attempt.error

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The values that `set` can change, by name; empty until the first step boundary."""
        return self.attempt.context.hyperparameters.values

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last, and copies of good states."""
        catalog = self.attempt.boundary.policy.catalog
        return catalog.checkpoints if catalog.in_use else self._before[1]

    @property
    def total_steps(self) -> int | None:
        """The step at which the run finishes; None if it does not end by itself."""
        return self.attempt.context.settings.steps

    @property
    def keep(self) -> int | None:
        """The number of checkpoints to keep; None keeps all."""
        return self.attempt.context.settings.keep

    def on(self, event: str, function: Listener | None = None) -> Any:
        """Calls a function whenever an event happens to the run, from now on, in all its starts.

        A separate thread calls these functions. A long call delays the next one, and delays `wait`
        and `start` by ten seconds at most. The function's output appears under the cell that has
        registered it; its errors appear in the panel.

        Args:
            event: "finished", "stopped" or "failed", after the end of the run; or an event of
                `steering.jsonl`: "checkpoint" (saved by cadence), "save", "restore", "set",
                "try", "pause", "resume", "evaluate" (on request), "evaluated" (by cadence),
                "undone" (an edit, by the program), "nan" and so on. Refused commands are no
                events.
            function: Takes a `Mark`: `event`, `step`, `wall_time`, `text` and `edits`.

        Returns:
            The function; without one, the decorator that registers it.

        Raises:
            ArgumentError: There is no such event, or the function cannot be called.

        Example:
            >>> @run.on("failed")
            ... def tell(mark):
            ...     print(f"{run.name} failed at step {mark.step}: {mark.text}")
        """
        check_event(event)
        if function is None:
            return functools.partial(self.on, event)
        self.attempt.context.monitor.functions.add(event, function)
        return function

    @property
    def is_over(self) -> bool:
        """True if the run has ended and all of it is read: from the last call of `on_tick` on."""
        return self.attempt.monitor_threads.is_over

    def on_tick(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls `listener` ten times a second until the run ends, and once after its end.

        Returns:
            A function that removes the listener; calling it again does nothing.
        """
        return added(self.attempt.context.monitor.listeners, listener)

    def __repr__(self) -> str:
        """Name, phase and step."""
        phase = self.attempt.context.lifecycle.phase
        return f"<nbtrain run {self.name!r}: {phase} at step {self._step:,}>"
