"""The protocol of an engine, the part that trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nbtrain.checkpoints.files import Saver, step_in_name
from nbtrain.checkpoints.listing import latest
from nbtrain.core.epoch import Epoch
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import Logdir

RunT = TypeVar("RunT", contravariant=True)


class Engine(Protocol[RunT]):
    """An engine opens a session, and runs the loop or leaves it to the user.

    Attributes:
        origin: Path of the checkpoint to start from if the folder has none; or None.
    """

    origin: str | None

    @property
    def kind(self) -> str:
        """A name of the engine for display."""

    @property
    def epoch(self) -> Epoch | None:
        """The current epoch of the engine; None if it has no epochs. Any thread may read it."""

    @property
    def total_steps(self) -> int | None:
        """The step at which the data end; None if unknown, or without an end. Any thread."""

    @property
    def coord(self) -> Coordinator:
        """The coordinator of the engine's threads."""

    @property
    def functions(self) -> Sequence[object]:
        """The user's functions that are called at every step."""

    @property
    def hyperparameters(self) -> Mapping[str, Variable]:
        """The variables of the hyperparameters that can be set during the training, by name."""

    @property
    def evaluate(self) -> Evaluation | None:
        """Evaluates the model, in the training thread; None if there is nothing to evaluate."""

    @property
    def resumes(self) -> Path | None:
        """The folder with the checkpoint to continue from; without one, `origin` is used.

        None if the engine continues from no checkpoint, or if this is not known before it trains.
        """

    def models(self) -> list[object]:
        """Objects known to the engine that only one run at a time may train."""

    def roots(self) -> Sequence[object]:
        """The models and optimizers among `models()`, to which names in a notebook may refer."""

    def branched(self, folder: Logdir) -> Engine[RunT]:
        """Returns the same training for another folder; the caller sets its `origin`."""

    def session(self) -> AbstractContextManager[Saver | None]:
        """Prepares the training, and cleans up after it; training thread."""

    def train(self, run: RunT) -> None:
        """Trains until `run.should_stop()`; training thread."""


def first_step(engine: Engine[Any]) -> int:
    """Returns the step from which an engine will continue; 0 if it is not known in advance."""
    if engine.resumes is None:
        return 0
    try:
        held = latest(engine.resumes)
    except OSError:  # the training thread will meet this error too, and report it
        return 0
    return held.step if held is not None else step_in_name(engine.origin or "") or 0
