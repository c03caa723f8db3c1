"""What a run needs of the engine that trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeVar

from nbtrain.checkpoints.files import Saver
from nbtrain.core.hyperparameters import Variable
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.threads import Coordinator
from nbtrain.rundir.folder import Logdir

RunT = TypeVar("RunT", contravariant=True)


class Engine(Protocol[RunT]):
    """What trains: it opens a session, and owns the loop or hands it to the user.

    Attributes:
        origin: Path of the checkpoint that it begins at while its folder has none; or None.
    """

    origin: str | None

    @property
    def kind(self) -> str:
        """What trains, in words."""

    @property
    def coord(self) -> Coordinator:
        """The coordinator of its threads."""

    @property
    def functions(self) -> Sequence[object]:
        """What of the user's own is called at every step."""

    @property
    def hyperparameters(self) -> Mapping[str, Variable]:
        """What holds each hyperparameter that can be set while it trains."""

    @property
    def evaluate(self) -> Evaluation | None:
        """Evaluates what is trained, in the training thread; None where nothing is there to."""

    @property
    def resumes(self) -> Path | None:
        """The folder from whose latest checkpoint, or else its origin, it goes on.

        None where it goes on from none, or where that is not known before it trains.
        """

    def models(self) -> list[object]:
        """Objects that only one run at a time may train, as far as the engine knows."""

    def roots(self) -> Sequence[object]:
        """Of these the models and optimizers themselves, for which names of a notebook stand."""

    def branched(self, folder: Logdir) -> Engine[RunT]:
        """The same training, in another folder; its `origin` is yet to be set.

        Raises:
            ArgumentError: It cannot be.
        """

    def session(self) -> AbstractContextManager[Saver | None]:
        """Make ready to train, and clean up after; training thread."""

    def train(self, run: RunT) -> None:
        """Loop until `run.should_stop()`; training thread."""
