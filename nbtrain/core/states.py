"""The phases of a run as one table.

    created ─start─▶ preparing ─ready─▶ running ◀─pause, resume─▶ paused
                         │                 │                         │
                         └─────────────────┴─── stop, loop ended ────┘
                                           ▼
                                       stopping ─▶ finished | stopped | failed

A run that has ended (finished, stopped, failed) can be started again. `stopping` lasts from the
request to stop, or the end of the loop, until the last checkpoint is saved and everything is
closed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any, cast

from nbtrain.core.errors import PhaseError
from nbtrain.core.tasks import Task
from nbtrain.core.text.visible import visible
from nbtrain.core.values.config import Value
from nbtrain.core.values.ranges import Hyperparameter
from nbtrain.core.values.side_tags import SYSTEM

# How many entries of a long list a cell shows.
_SHOWN = 5


class Phase(str, Enum):
    """The phase of a run; compares equal to its own word (`"running"`)."""

    CREATED = "created"
    PREPARING = "preparing"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    def __str__(self) -> str:
        """Returns the phase's word."""
        return self.value

    @property
    def ended(self) -> bool:
        """True if the training thread has ended (finished, stopped or failed)."""
        return self in ENDED


class Event(str, Enum):
    """An event of a run: four are requests, the others are facts."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    READY = "ready"
    """The loop has reached its first step boundary."""
    LOOP_ENDED = "loop ended"
    """The loop has ended by itself: all steps done, input exhausted, or an error."""
    FINISHED = "finished"
    """Everything is closed, and the run came to its own end."""
    STOPPED = "stopped"
    """Everything is closed, and the run was asked to stop."""
    FAILED = "failed"
    """Everything is closed, and the loop had raised an error."""

    def __str__(self) -> str:
        """Returns the event's word."""
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
        self._lock = threading.Lock()  # makes "look up, then move" atomic

    @property
    def phase(self) -> Phase:
        """The current phase. Any thread may read it."""
        return self._phase

    def allows(self, event: Event) -> bool:
        """Returns whether `event` is possible in the current phase."""
        return event in TRANSITIONS[self._phase]

    def apply(self, event: Event) -> Phase:
        """Moves to the phase that `event` leads to, and returns it.

        Raises:
            PhaseError: The phase does not allow the event; nothing has changed.
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
        step: Steps completed when it was saved.
        path: Prefix of its files, as TensorFlow's savers and readers expect it.
        wall_time: The time of the save, in seconds since the epoch. It does not show the order of
            saves, because the clock may have been set back.
        order: Its number in the order of the run's saves, if known.
        abandoned: Whether the run has since gone back to an earlier step.
    """

    step: int
    path: str
    wall_time: float
    order: float = field(default=0.0, compare=False, repr=False)
    abandoned: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        """Returns its step and its path."""
        return f"step {self.step:,}: {self.path}"


@dataclass(frozen=True, slots=True)
class Usage:
    """The time and resources that a run uses; measured once a second.

    Kinds of time of the training thread: "step" and "input" (waiting for the next batch), or "step
    and input" if these cannot be told apart; "evaluate", "save", "restore", "paused".

    Attributes:
        seconds: Time since the first step boundary, by kind.
        shares: Fractions of the last ten seconds, by kind; of all the time once the run has ended.
        display: CPU seconds a second for recording and displaying, in a thread of their own.
        cpu: CPU seconds a second of the whole process: 1.5 for one core and a half.
        memory: Bytes of memory that the process uses.
        memory_limit: Bytes that it may use, by its container or its machine.
        gpu_memory: Bytes of GPU memory for TensorFlow's tensors; None without a GPU.
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
    """The status of a run at one moment, from which every display is made.

    A cell shows a line for each field that is set.

    Attributes:
        name: The run's name.
        engine: The kind of training, in words.
        phase: The phase.
        step: Steps completed. While the run prepares, the step of the checkpoint to be restored; 0
            if there is none, or if only the session that its loop opens knows it
            (`nbtrain.tf1.monitor`, a Supervisor in the user's own loop).
        total_steps: The step at which the run finishes; None if it has no end of its own.
        epoch: The epoch that the run is in, from 1: a pass over the data that it draws, or an epoch
            of a Keras fit. None if it has no epochs.
        epochs: The number of epochs; None if they have no end, or there are none.
        epoch_began: The step at which the epoch began; None if unknown.
        epoch_steps: The steps of the epoch; None if unknown.
        steps_per_s: Steps a second over the last seconds; once the run has ended, over all its time
            except pauses; None while unknown.
        eta_s: Seconds left at the speed of the last two minutes; None without an end or a speed.
        elapsed_s: Seconds since the start, pauses included.
        values: Last recorded value of every tag.
        values_at: The steps of values recorded before the run last started or went back, if others
            were recorded since.
        checkpoints: The checkpoints that can be restored, the newest last.
        threads: Names of the live threads under its coordinator: queue runners and loops.
        message: A warning, such as a checkpoint that could not be written; None if there is none.
        notice: Information, such as the checkpoint it continues from; None if none, or old.
        error: The traceback that ended the run; None if none did.
        failure: Type and message of that error, in one line.
        log: TensorFlow's log messages in the training thread, the newest line last.
        hyperparameters: The hyperparameters that can be set, with the values that the next step
            uses.
        evaluates: Whether there is something to evaluate.
        mirror: The newest checkpoint in the mirror, and how far the mirror is behind; None without
            a mirror.
        usage: How the run spends its time, and what its process uses; None while unknown.
        tasks: The tasks of the cluster that it trains on; empty without a cluster.
        tags: The words by which the run can be found again.
        config: The settings that the run is made with; names of nested ones are joined by dots.
        directions: Name of a scalar to "max" or "min", the direction of its best value. Contains
            the known directions that do not follow from the last word of the name.
    """

    name: str
    engine: str
    phase: Phase
    step: int = 0
    total_steps: int | None = None
    epoch: int | None = field(default=None, kw_only=True)
    epochs: int | None = field(default=None, kw_only=True)
    epoch_began: int | None = field(default=None, kw_only=True)
    epoch_steps: int | None = field(default=None, kw_only=True)
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
    mirror: str | None = None
    usage: Usage | None = None
    tasks: tuple[Task, ...] = ()
    tags: tuple[str, ...] = ()
    config: Mapping[str, Value] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint; None before the first."""
        return self.checkpoints[-1] if self.checkpoints else None

    def __repr__(self) -> str:
        """Shows a line for each field that is set, without the curves of the machine."""
        told = {each.name: _lines(getattr(self, each.name)) for each in fields(self)}
        told["values"] = _lines(
            {tag: value for tag, value in self.values.items() if not tag.startswith(SYSTEM)}
        )
        width = max(map(len, told))
        return "\n".join(
            f"{'' if number else name:<{width}}  {line}"
            for name, lines in told.items()
            for number, line in enumerate(lines)
        )


def _lines(value: object) -> list[str]:
    """Formats a value in lines; a long list is cut to its newest entries."""
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
            return visible(value).splitlines()
        case tuple():
            older = [f"… and {len(value) - _SHOWN:,} before"] if len(value) > _SHOWN else []
            return [*older, *(visible(str(each)) for each in value[-_SHOWN:])]
        case Mapping():
            return [visible(f"{name} {', '.join(_lines(each))}") for name, each in value.items()]
    found = {each.name: _lines(getattr(value, each.name)) for each in fields(cast(Any, value))}
    return [f"{name} {', '.join(lines)}" for name, lines in found.items() if lines]
