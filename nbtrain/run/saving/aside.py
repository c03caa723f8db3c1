"""Saves states beside the checkpoints that `keep` counts: a trial's start, and its best state.

path = policy.aside.save_start()   # checkpoints/trial
path = policy.aside.save_best()    # checkpoints/trial_best
policy.aside.delete()              # deletes both once the trial is over
policy.aside.save_best_state(...)  # checkpoints/best: the best state of the run, which stays
"""

from __future__ import annotations

from typing import Protocol

from nbtrain.checkpoints.files import Saver, delete_all, listed
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.saving.catalog import Catalog, check_listed
from nbtrain.run.saving.draws import Draws
from nbtrain.run.saving.trial_start import TrialStart
from nbtrain.rundir.names import BEST, TRIAL, TRIAL_BEST


class Policy(Protocol):
    """The parts of a `CheckpointPolicy` that are used here."""

    catalog: Catalog

    @property
    def saver(self) -> Saver | None:
        """The saver of the open session; None if nothing saves the run."""

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last."""

    def save(self) -> None:
        """Saves a checkpoint that `keep` counts."""

    def save_with(self, saver: Saver) -> None:
        """Saves with another saver."""

    def check_sound(self) -> None:
        """Raises a CheckpointError if the training has gone bad."""

    def is_lost(self, saver: Saver) -> bool:
        """Returns whether the run's folder is lost."""


class Aside:
    """The states beside the checkpoints of one start of a run; training thread only."""

    def __init__(
        self, policy: Policy, start: TrialStart, monitor: Monitor, steps: StepCounter
    ) -> None:
        self._policy = policy
        self._monitor = monitor
        self._start = start
        self._steps = steps

    def draws(self) -> Draws:
        """Returns the random draws and data of the present state, for a trial.

        Raises:
            CheckpointError: Nothing can be saved beside the checkpoints.
        """
        saver = self._policy.saver
        if saver is None or saver.side_saver(TRIAL_BEST, 1) is None:
            raise CheckpointError(
                "Several values are tried from one saved state, and this run cannot save it "
                "beside its checkpoints: start it with checkpoint= (a tf.train.Checkpoint), or try "
                "one value."
            )
        return Draws(saver)

    def save_best(self) -> str:
        """Saves the best state of a trial so far, and returns its path."""
        saver = self._policy.saver
        best = saver.side_saver(TRIAL_BEST, 1) if saver is not None else None
        assert saver is not None, "the trial has saved its start"
        assert best is not None, "as before"
        self._policy.check_sound()
        self._policy.save_with(best)
        self._policy.catalog.add_copy(best.directory, saver)
        check_listed(self._steps.step, best.directory)
        return listed(best.directory)[-1].path

    def save_best_state(self, **entry: object) -> None:
        """Saves the best state of the run so far, which replaces the one before.

        Args:
            entry: Further fields of its line in the journal.

        Raises:
            CheckpointError: The state cannot be saved beside the checkpoints, or has gone bad.
        """
        saver = self._policy.saver
        best = saver.side_saver(BEST, 1) if saver is not None else None
        if saver is None or best is None:
            raise CheckpointError("this run cannot save beside its checkpoints")
        self._policy.check_sound()
        self._policy.save_with(best)
        self._policy.catalog.add_copy(best.directory, saver, event=BEST, **entry)
        check_listed(self._steps.step, best.directory)
        if self._start.alone:
            self._start.alone = False
            self.delete()

    def save_start(self) -> str:
        """Saves the start of a trial beside the checkpoints that `keep` counts; returns its path.

        The file stays until the trial is decided or the next one begins.
        """
        saver = self._policy.saver
        begin = saver.side_saver(TRIAL, 1) if saver is not None else None
        if saver is None or begin is None:
            self._policy.save()
            text = "where a trial begins"
            self._monitor.log(event="checkpoint", step=self._steps.step, text=text)
            return self._policy.checkpoints[-1].path
        self._policy.check_sound()
        self._policy.save_with(begin)
        self._start.saved()
        self._policy.catalog.add_copy(begin.directory, saver)
        check_listed(self._steps.step, begin.directory)
        return listed(begin.directory)[-1].path

    def delete(self) -> None:
        """Deletes the states of a trial once it is over."""
        saver = self._policy.saver
        if saver is None or self._policy.is_lost(saver):
            return
        best = saver.directory / TRIAL_BEST
        had_best = best.exists()
        delete_all(best)
        if self._start.delete(saver) or had_best:
            self._policy.catalog.read(saver.directory)
