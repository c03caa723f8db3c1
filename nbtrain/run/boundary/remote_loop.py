"""The loop of a run whose steps other processes take, several at once.

loop.begin(complete, variables)  # the cluster is connected
    ...                          # between two steps the boundary calls complete() before it acts
loop.lose(why)                   # the variables are lost: commands that need them are refused
    loop.answer()                # meanwhile
loop.resume(saver, variables)    # they are back: continues from the latest checkpoint
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import SupportsFloat

from nbtrain.checkpoints.files import Saver
from nbtrain.core.errors import PhaseError
from nbtrain.core.states import Phase
from nbtrain.core.tasks import TaskState
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.boundary.loop import Loop
from nbtrain.run.context import Context


class LostVariable(Variable):
    """Replaces a variable that is lost at present.

    Args:
        why: Why it can be neither read nor set.
        whole: Whether its values are whole numbers.
    """

    def __init__(self, why: str, *, whole: bool) -> None:
        self._why = why
        self.whole = whole

    def read(self) -> float:
        """Raises a PhaseError."""
        raise PhaseError(self._why)

    def write(self, _value: float) -> None:
        """Raises a PhaseError."""
        raise PhaseError(self._why)


class RemoteLoop:
    """Counts and saves the steps of other processes; training thread only.

    Attributes:
        watch: Watches the tasks of the cluster, once it knows their source.
        end_silent: Ends the tasks without a sign of life; returns their names.
    """

    def __init__(self, context: Context, boundary: Boundary, loop: Loop) -> None:
        self._context = context
        self._boundary = boundary
        self._loop = loop
        self.watch = context.monitor.tasks
        self.end_silent: Callable[[], list[str]] = list
        self._variables: Mapping[str, Variable] = {}

    @property
    def steps_left(self) -> int:
        """Steps until the end of the run."""
        total = self._context.total()
        return sys.maxsize if total is None else total - self._context.steps.step

    @property
    def lost_tasks(self) -> list[str]:
        """The names of the tasks without a sign of life."""
        return [task.name for task in self.watch.tasks if task.state is TaskState.LOST]

    def begin(self, complete: Callable[[], None], variables: Mapping[str, Variable]) -> None:
        """Begins the training on a cluster.

        Args:
            complete: Waits for the steps under way, and calls `count` for each.
            variables: The hyperparameters.
        """
        self._context.steps.complete = complete
        self._bind(variables)

    def count(self, values: Mapping[str, SupportsFloat]) -> None:
        """Counts and records a step that was completed while the boundary waited for it."""
        steps = self._context.steps
        steps.step += 1
        self._context.recorder.queue.append(steps.step, time.time(), values)

    def answer(self) -> bool:
        """Executes commands while no step can be taken; returns whether the loop must end."""
        self._boundary.answer()
        return self._context.lifecycle.phase is Phase.STOPPING

    def lose(self, why: str) -> None:
        """Records that the variables are lost, and why nothing can be saved or set meanwhile."""
        self._boundary.policy.lose(why)
        lost = {name: LostVariable(why, whole=held.whole) for name, held in self._variables.items()}
        self._context.hyperparameters.bind(lost)

    def log(self, text: str) -> None:
        """Logs the step from which the training continues after a loss."""
        self._context.monitor.log(event="recovery", step=self._context.steps.step, text=text)

    def resume(self, saver: Saver | None, variables: Mapping[str, Variable]) -> int:
        """Continues from the latest checkpoint; returns its step, 0 if there is none."""
        steps = self._context.steps
        self._bind(variables)
        steps.move_to(0)  # until a checkpoint is restored
        self._loop.resume(saver)
        if saver is None:
            self._boundary.executor.open_segment()
        return steps.step

    def _bind(self, variables: Mapping[str, Variable]) -> None:
        self._variables = variables
        self._context.hyperparameters.bind(variables)
