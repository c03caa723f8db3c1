"""The life of a run as one table.

    created ─start─▶ preparing ─ready─▶ running ◀─pause, resume─▶ paused
                         │                 │                         │
                         └─────────────────┴─── stop, loop ended ────┘
                                           ▼
                                       stopping ─▶ finished | stopped | failed

A run that has ended (finished, stopped, failed) can be started again.
`stopping` lasts from the request to stop, or the end of the loop, until the
last checkpoint is saved and everything is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any, cast

from nbtrain.core.errors import PhaseError
from nbtrain.core.ranges import Hyperparameter

# Of what there are many, as many are shown in a cell.
_SHOWN = 5


class Phase(str, Enum):
    """Where a run is in its life; compares equal to its own word (`"running"`)."""

    CREATED = "created"
    PREPARING = "preparing"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    def __str__(self) -> str:
        """The phase's word."""
        return self.value

    @property
    def ended(self) -> bool:
        """Whether the training thread is over (finished, stopped or failed)."""
        return self in ENDED


class Event(str, Enum):
    """What can happen to a run: four are asked for, the others are facts."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    READY = "ready"
    """The loop has reached its first step boundary."""
    LOOP_ENDED = "loop ended"
    """The loop is over, by itself: all steps done, input exhausted, or an error."""
    FINISHED = "finished"
    """Everything is closed, and the run came to its own end."""
    STOPPED = "stopped"
    """Everything is closed, and the run was asked to stop."""
    FAILED = "failed"
    """Everything is closed, and the loop had raised an error."""

    def __str__(self) -> str:
        """The event's word."""
        return self.value


ASKED = (Event.START, Event.PAUSE, Event.RESUME, Event.STOP)
ENDED = frozenset({Phase.FINISHED, Phase.STOPPED, Phase.FAILED})
_AGAIN = {Event.START: Phase.PREPARING}

TRANSITIONS: Mapping[Phase, Mapping[Event, Phase]] = MappingProxyType(
    {
        Phase.CREATED: {Event.START: Phase.PREPARING},
        Phase.PREPARING: {
            Event.READY: Phase.RUNNING,
            Event.STOP: Phase.STOPPING,
            Event.LOOP_ENDED: Phase.STOPPING,
        },
        Phase.RUNNING: {
            Event.PAUSE: Phase.PAUSED,
            Event.STOP: Phase.STOPPING,
            Event.LOOP_ENDED: Phase.STOPPING,
        },
        Phase.PAUSED: {
            Event.RESUME: Phase.RUNNING,
            Event.STOP: Phase.STOPPING,
            Event.LOOP_ENDED: Phase.STOPPING,
        },
        Phase.STOPPING: {
            Event.FINISHED: Phase.FINISHED,
            Event.STOPPED: Phase.STOPPED,
            Event.FAILED: Phase.FAILED,
        },
        Phase.FINISHED: _AGAIN,
        Phase.STOPPED: _AGAIN,
        Phase.FAILED: _AGAIN,
    }
)


class Lifecycle:
    """The phase of one run; every change goes through `apply`, from any thread."""

    def __init__(self) -> None:
        self._phase = Phase.CREATED
        self._lock = threading.Lock()  # makes "look up, then move" one act

    @property
    def phase(self) -> Phase:
        """The phase now; may be read from any thread."""
        return self._phase

    def allows(self, event: Event) -> bool:
        """Whether `event` is possible in the phase of this moment."""
        return event in TRANSITIONS[self._phase]

    def apply(self, event: Event) -> Phase:
        """Move to the phase that `event` leads to, and return it.

        Raises:
            PhaseError: The phase does not allow the event; the phase is as before.
        """
        with self._lock:
            allowed = TRANSITIONS[self._phase]
            if event not in allowed:
                possible = ", ".join(str(asked) for asked in ASKED if asked in allowed) or "nothing"
                raise PhaseError(f"Cannot {event} while {self._phase}; possible now: {possible}.")
            self._phase = allowed[event]
            return self._phase


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One saved state of the variables.

    Attributes:
        step: Steps that had been completed when it was saved.
        path: Prefix of its files, as TensorFlow's savers and readers take it.
        wall_time: When it was saved, in seconds since the epoch, by a clock that may have been
            set back: it orders nothing.
        order: Its place among the saves of its run, as far as that is known.
        abandoned: Whether the run has gone back behind it since.
    """

    step: int
    path: str
    wall_time: float
    order: float = field(default=0.0, compare=False, repr=False)
    abandoned: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        """Its step and its path."""
        return f"step {self.step:,}: {self.path}"


@dataclass(frozen=True, slots=True)
class Usage:
    """Where the time of a run goes, and what its process takes; measured once a second.

    Kinds of time, of the training thread: "step" and "input" (it waited for the next batch) or,
    where these cannot be told apart, "step and input"; "evaluate", "save", "restore", "paused".

    Attributes:
        seconds: Of the time since the first step boundary, by kind.
        shares: Of the last ten seconds, by kind, as parts of 1; of all, once the run has ended.
        display: What recording and displaying take on a thread of their own, beside the
            training: CPU seconds a second.
        cpu: What the whole process takes: CPU seconds a second, 1.5 for one core and a half.
        memory: Bytes of the process in memory.
        memory_limit: Bytes that it may have, of its container or its machine.
        gpu_memory: Bytes of GPUs that TensorFlow's tensors take; None without a GPU.
    """

    seconds: Mapping[str, float]
    shares: Mapping[str, float]
    display: float
    cpu: float
    memory: int
    memory_limit: int
    gpu_memory: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Status:
    """How a run stands, at one moment; what every display is made from.

    A cell shows a line for each field that says something.

    Attributes:
        name: The run's name.
        engine: What trains, in words.
        phase: Where the run is in its life.
        step: Steps completed. While the run prepares, the step of the checkpoint from which it is
            about to go on; 0 where there is none, or where only the session that its loop opens
            knows (`nbtrain.monitor`, a Supervisor in a loop of one's own).
        total_steps: Step at which the run finishes; None where it has no end of its own.
        steps_per_s: Steps a second over the last seconds, or once the run has ended over all but
            its pauses; None before it can be known.
        eta_s: Seconds left at that speed; None without an end or a speed.
        elapsed_s: Seconds since the start, pauses included.
        values: Last recorded value of every tag.
        values_at: Of those that were recorded before the run last started, or went back, while
            others were recorded since: their steps.
        checkpoints: What can be restored, the newest last.
        threads: Names of the live threads under its coordinator: of queue runners and loops.
        message: What the user is to be warned of: a thinned record, a late step with its
            stack, a checkpoint that could not be written. None when all is well.
        notice: What is good to know and no warning, such as the checkpoint that the run
            goes on from. None where there is nothing, or it has been there for a while.
        error: The traceback that ended the run; None where none did.
        failure: Type and message of that error, in one line.
        log: What TensorFlow logged in the training thread, the newest line last.
        hyperparameters: Those that can be set, with the values that the next step uses.
        evaluates: Whether there is something to evaluate.
        usage: Where its time goes, and what its process takes; None before that is known.
    """

    name: str
    engine: str
    phase: Phase
    step: int = 0
    total_steps: int | None = None
    steps_per_s: float | None = None
    eta_s: float | None = None
    elapsed_s: float = 0.0
    values: Mapping[str, float] = field(default_factory=dict)
    values_at: Mapping[str, int] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    threads: tuple[str, ...] = ()
    message: str | None = None
    notice: str | None = None
    error: str | None = None
    failure: str | None = None
    log: tuple[str, ...] = ()
    hyperparameters: tuple[Hyperparameter, ...] = ()
    evaluates: bool = False
    usage: Usage | None = None

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint; None before the first."""
        return self.checkpoints[-1] if self.checkpoints else None

    def __repr__(self) -> str:
        """A line for each field that says something."""
        told = {each.name: _lines(getattr(self, each.name)) for each in fields(self)}
        width = max(map(len, told))
        return "\n".join(
            f"{'' if number else name:<{width}}  {line}"
            for name, lines in told.items()
            for number, line in enumerate(lines)
        )


def _lines(value: object) -> list[str]:
    """A value in lines for a reader; of many the newest."""
    match value:
        case None | False:
            return []
        case True:
            return ["yes"]
        case float():
            return [f"{value:.6g}"]
        case int():
            return [f"{value:,}"]
        case str():
            return value.splitlines()
        case tuple():
            older = [f"… and {len(value) - _SHOWN:,} before"] if len(value) > _SHOWN else []
            return [*older, *map(str, value[-_SHOWN:])]
        case Mapping():
            return [f"{name} {', '.join(_lines(number))}" for name, number in value.items()]
    found = {each.name: _lines(getattr(value, each.name)) for each in fields(cast(Any, value))}
    return [f"{name} {', '.join(lines)}" for name, lines in found.items() if lines]
