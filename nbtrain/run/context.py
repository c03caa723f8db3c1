"""The parts that the boundary, the loops and the session host of one attempt share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nbtrain.core.at_hand import AtHand
from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.hyperparameters import Hyperparameters
from nbtrain.core.states import Lifecycle
from nbtrain.recording.recorder import Recorder
from nbtrain.run.bindings import Bindings
from nbtrain.run.monitor import Monitor
from nbtrain.run.options import Settings
from nbtrain.run.threads import Coordinator
from nbtrain.rundir.folder import Logdir


@dataclass(frozen=True, slots=True)
class Context:
    """The collaborators of one attempt of a run.

    Attributes:
        coord: The coordinator of the run.
        folder: The run's folder; released at the end.
        settings: How long to train and when to save.
        lifecycle: The run's phase.
        commands: The commands that wait to be executed.
        recorder: Stores the records.
        monitor: Shows messages and writes the journal.
        bindings: The names by which the program reaches the model.
        hyperparameters: The hyperparameters that can be set.
        steps: The current step.
        total: Returns the step at which the run finishes; None if it is not known.
    """

    coord: Coordinator
    folder: Logdir
    settings: Settings
    lifecycle: Lifecycle
    commands: CommandQueue
    recorder: Recorder
    monitor: Monitor
    bindings: Bindings
    hyperparameters: Hyperparameters
    steps: AtHand
    total: Callable[[], int | None]
