"""The parts that one attempt of a run shares: its boundary, its loops and its host get them."""

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
        settings: How long, and when to save.
        lifecycle: The run's phase.
        commands: What waits to be executed.
        recorder: Takes the records.
        monitor: Is told what should be known, and tells it.
        bindings: The names by which the program reaches what it trains.
        hyperparameters: What can be set.
        steps: The step at hand.
        total: Gives the step at which the run finishes; None where that is not known.
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
