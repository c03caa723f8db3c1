"""The parts that the boundary, the loops and the session host of one attempt share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.current_step import CurrentStep
from nbtrain.core.states import Lifecycle
from nbtrain.core.values.hyperparameters import Hyperparameters
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.recorder import Recorder
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.program.bindings import Bindings
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """The collaborators of one attempt of a run."""

    coord: Coordinator
    folder: Logdir
    settings: Settings
    lifecycle: Lifecycle
    commands: CommandQueue
    recorder: Recorder
    monitor: Monitor
    bindings: Bindings
    hyperparameters: Hyperparameters
    media: RunMedia
    steps: CurrentStep
    total: Callable[[], int | None]
