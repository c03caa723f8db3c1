"""Saves a run's checkpoints, by cadence, on request and at the end, and restores them.

The policy uses the saver of the open session, at the step of the run's counter. It moves the
counter if the session counts another step, or if a checkpoint is restored.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nbtrain.checkpoints.files import Restored, Saver, at
from nbtrain.checkpoints.last_good import LAST_GOOD_KEPT, LastGood
from nbtrain.checkpoints.listing import find
from nbtrain.core.cadence import Every
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.beside.time_usage import RESTORE, SAVE
from nbtrain.run.saving.aside import Aside
from nbtrain.run.saving.catalog import Catalog, check_listed
from nbtrain.run.saving.health import Health
from nbtrain.run.saving.restore_proof import RestoreProof
from nbtrain.run.saving.trial_start import TrialStart
from nbtrain.rundir.names import LAST_GOOD


class CheckpointPolicy:
    """The checkpoints of one start of a run; training thread only, except `list_again`."""

    def __init__(self, due: Every, monitor: Monitor, health: Health, steps: StepCounter) -> None:
        self._due = due
        self._steps = steps
        self._monitor = monitor
        self._health = health
        self._proof = RestoreProof(monitor, steps)
        self._saver: Saver | None = None
        self._closed: Saver | None = None  # of a session that is over, if it can still be used
        self._held_instead: str | None = None  # the checkpoint restored after the end
        self._last_good: LastGood | None = None
        self._saved_step: int | None = None
        self._lost: str | None = None  # why there is no saver at present
        self.catalog = Catalog(monitor)
        self.trial_start = TrialStart(monitor.notices)
        self.aside = Aside(self, self.trial_start, monitor, steps)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last; any thread."""
        return self.catalog.checkpoints

    @property
    def next_step(self) -> float:
        """The step at which a checkpoint, or a check of the restored variables, is due next."""
        due = math.inf if self.trial_start.compares else self._due.next_step
        return min(due, self._proof.next_step)

    @property
    def can_save(self) -> bool:
        """True if there is something to save."""
        return self._saver is not None

    @property
    def saver(self) -> Saver | None:
        """The saver of the open session; None if nothing saves the run."""
        return self._saver

    def resume(self, saver: Saver, due: Every | None = None) -> bool:
        """Uses a saver from now on, and continues from the latest checkpoint of its folder."""
        if self._saver is not None:
            raise ArgumentError(
                "This run saves what was given as checkpoint=, or another session that its loop "
                "has open, and would save the graph of this one too: leave checkpoint= out, or "
                "open this session when the other has ended."
            )
        self.trial_start.drop_best(saver)
        is_first = self.catalog.begin(saver)
        restored = saver.resume(self.catalog.timeline)
        self._saver, self._saved_step, self._lost = saver, None, None
        self._due = due or self._due
        self._last_good = None
        if self._health.is_checked:
            self._health.begin(saver)
            last_good = saver.side_saver(LAST_GOOD, LAST_GOOD_KEPT)
            if last_good is not None:  # a branch has no copies at first
                self._last_good = LastGood(
                    last_good, begins=restored is None or not self.checkpoints
                )
        if is_first:
            self._monitor.recall(goes_on=restored is not None)
        if restored is None:
            self._proof.report_unsaved(saver, 0)
            return False
        self._steps.move_to(restored.step)
        restored = self._proof.begin(saver, restored)
        self._saved_step = self.catalog.rewind(restored, saver)
        self._monitor.log(event="resume", step=restored.step, text=str(restored))
        self._monitor.notices.inform(f"Goes on from {restored}.")
        self.trial_start.report_undecided(restored, saver)
        return True

    def close(self, *, may_have_trained: bool = False) -> None:
        """Saves a last checkpoint before the saver's session closes.

        Args:
            may_have_trained: Whether steps may have been trained since the current step was saved.
        """
        # Before its first step boundary, a start has changed nothing.
        lacks = self._saved_step != self._steps.step and not self._monitor.holds_back
        if self._saver is not None and (may_have_trained or lacks):
            self._monitor.write_from_here()
            self._save_or_say_why(self.save)
        if self._saver is not None and self._saved_step == self._steps.step:
            self.aside.delete()
            if self._last_good is not None and not self.is_lost(self._saver):
                self._last_good.clear()
            self.list_again()
        if self._saver is not None and self._saver.outlives_session:
            self._closed = self._saver
        self._saver = self._last_good = None

    @property
    def is_closed(self) -> bool:
        """True if the session is over, and its objects can still be saved and restored."""
        return self._closed is not None

    @contextlib.contextmanager
    def in_closed_session(self) -> Iterator[None]:
        """Uses the saver of the session that is over inside the block."""
        self._saver = self._closed
        try:
            yield
        finally:
            self._saver = None

    def outdate(self) -> None:
        """Makes this step be saved again, because a value was set since the last save."""
        self._saved_step = None

    def lose(self, why: str | None = None) -> None:
        """Drops the saver of a lost session; `why` then refuses to save and restore."""
        self._saver, self._last_good, self._lost = None, None, why

    def start(self) -> None:
        """Starts the cadence at the current step and the present time."""
        self._due.start(self._steps.step, time.monotonic())
        if self._last_good is not None:
            self._last_good.start(self._steps.step)

    def save_if_due(self) -> None:
        """Saves if a checkpoint is due; an error becomes a message, a bad value skips the save."""
        if self._saver is None or self.trial_start.compares:
            return
        if self._proof.reason:
            return
        if self._due(self._steps.step, time.monotonic()):
            if self._health.anomaly(self._saver) is None:
                self._save_or_say_why(functools.partial(self._write, self._saver))
        elif self._last_good is not None and self._last_good.due(self._steps.step):
            self._copy(self._last_good, self._saver)

    def save(self) -> None:
        """Saves now.

        Raises:
            CheckpointError: There is nothing to save, the training has gone bad, or the checkpoint
                cannot be written or found afterwards.
        """
        if self._saver is None:
            raise CheckpointError(
                self._lost
                or "This run has nothing to save: start it with checkpoint= (a "
                "tf.train.Checkpoint), or with a Supervisor that has a logdir and a saver. The "
                "chief saves for its workers."
            )
        self.trial_start.check_saves()
        self.check_sound()
        if self._held_instead is not None:
            raise CheckpointError(
                f"The objects hold {self._held_instead}, which was restored after the end and is "
                "saved already. To save other values as a checkpoint of their own, use "
                "tf.train.Checkpoint."
            )
        self._write(self._saver)

    def below(self, step: int) -> tuple[Checkpoint, ...]:
        """Lists the checkpoints of earlier steps than this that exist now and are not abandoned."""
        if self._saver is not None:
            self.catalog.read(self._saver.directory)  # the user may have deleted some
        return self.catalog.below(step)

    def non_finite(self) -> str | None:
        """The name of a variable that holds NaN or Inf but did not at first; None if none."""
        return self._health.non_finite(self._saver)

    def check_sound(self) -> None:
        """Raises a CheckpointError if the training has gone bad, or was not restored as a whole."""
        if self._proof.reason:
            raise CheckpointError(f"{self._proof.reason}. run.resume() accepts these values.")
        if (anomaly := self._health.anomaly(self._saver)) is not None:
            good = self.below(anomaly.good)
            advice = "No checkpoint is good: build the model again."
            if good:
                last = f"the last good one is of step {good[-1].step:,}"
                advice = f"Go on from a checkpoint: {last}."
            raise CheckpointError(f"{anomaly}, and what has gone bad is not saved. {advice}")

    def save_with(self, saver: Saver | LastGood) -> None:
        """Saves with a saver, after the journal is written."""
        self._steps.complete()
        step = self._steps.step
        if self._saver is not None:
            self.complete_restore()
            self._proof.check_complete(self._saver)
        self._monitor.folder.check(step)
        self._monitor.write_journal()  # first, so that every edit in a checkpoint is logged
        with self._monitor.time_usage.during(SAVE):
            self._steps.move_to(saver.save(step))  # a graph may count its own steps

    def _write(self, saver: Saver) -> None:
        self.save_with(saver)
        step = self._steps.step
        self.catalog.timeline.save(step, "")  # the answer will write its line
        self.catalog.read(saver.directory)
        check_listed(step, saver.directory)
        self._saved_step = step
        self._note_saved()
        if self._last_good is not None:
            self._last_good.saved(step)
        self._monitor.notices.note("state", None)
        self._monitor.notices.note("save", None)
        self._monitor.notices.note("copy", None)

    def _copy(self, last_good: LastGood, saver: Saver) -> None:
        """Adds a copy of the present state to the last good ones, if the state is good."""
        if self._health.anomaly(saver) is not None:
            return
        step = self._steps.step
        try:
            self.save_with(last_good)
            self.catalog.add_copy(last_good.directory, saver)
            self._note_saved()
        except Exception as error:  # noqa: BLE001 - the training continues
            self._monitor.notices.note("copy", f"No copy of step {step:,}: {error}")
        else:
            self._monitor.notices.note("copy", None)
        self.catalog.read(saver.directory)

    def restore(self, wanted: int | str | None) -> Restored:
        """Restores a checkpoint.

        Args:
            wanted: Its step, its path, or None for the latest on the current branch, but no copy.

        Raises:
            CheckpointError: The checkpoint does not exist or does not fit; nothing was restored.
        """
        if self._saver is None:
            raise CheckpointError(
                self._lost or "This run has nothing to restore: it was started without a saver."
            )
        self._steps.complete()
        path = self._find(self._saver, wanted).path
        with self._monitor.time_usage.during(RESTORE):
            restored = self._saver.restore(path)
        self._steps.move_to(restored.step)
        restored = self._proof.begin(self._saver, restored)
        self.catalog.rewind(restored, self._saver)
        self._saved_step = None  # checkpoints of later steps belong to the abandoned branch
        self.trial_start.rewind(restored)
        self._health.rewind()
        self.start()
        if self._last_good is not None and self.trial_start.alone:
            self._last_good.begin()  # the restored checkpoint disappears with the trial
        return restored

    @property
    def restored_after_end(self) -> str | None:
        """The name of the checkpoint in the objects, if not that of the end; otherwise None."""
        return self._held_instead

    def restore_after_end(self, wanted: int | str | None) -> Restored:
        """Restores the objects of a checkpoint; the curve and the step do not change.

        Raises:
            CheckpointError: The checkpoint does not exist or does not fit; nothing was restored.
        """
        assert self._saver is not None, "in_closed_session() was entered"
        restored = self._saver.restore_objects(self._find(self._saver, wanted).path)
        is_own = Path(restored.path).parent.resolve() == self._saver.directory.resolve()
        is_the_end = is_own and restored.step == self._saved_step
        self._held_instead = None if is_the_end else Path(restored.path).name
        return restored

    def check_own(self, wanted: int | str | None) -> None:
        """Checks a checkpoint that another process asks to restore.

        Raises:
            CheckpointError: The checkpoint does not exist, or is neither listed nor in the run's
                folder.
        """
        if self._saver is None or not isinstance(wanted, str):
            return
        held = self._find(self._saver, wanted)
        if held not in self.checkpoints and not self._monitor.folder.holds(Path(held.path)):
            raise CheckpointError(
                f"{wanted!r} is outside of the folder of the run: another process can restore the "
                "run's own checkpoints. run.restore(...) in its own program restores others."
            )

    def _find(self, saver: Saver, wanted: int | str | None) -> Checkpoint:
        """Returns a checkpoint to restore; if the folder is lost, only one of another folder."""
        if self.is_lost(saver):
            path = Path(wanted).absolute() if isinstance(wanted, str) else None
            held = None if path is None or self._monitor.folder.is_lost(path) else at(path)
            if held is None:
                self._monitor.folder.check(self._steps.step)
            else:
                return held
        self.catalog.read(saver.directory)  # the user may have deleted some
        return find(self.catalog.on_the_way() if wanted is None else self.checkpoints, wanted)

    def is_lost(self, saver: Saver) -> bool:
        """Returns whether the checkpoints may be another run's, because the folder is lost."""
        return self._monitor.folder.is_lost(saver.directory)

    @property
    def proof(self) -> RestoreProof:
        """The check of the last restore."""
        return self._proof

    def prove(self) -> str | None:
        """Checks a restore again after the first step, which creates variables.

        Returns:
            The path of the checkpoint to restore once more, because a step has trained variables
            that were created since; otherwise None.
        """
        saver, is_untrained = self._saver, self._proof.waits
        path = self._proof.check_again(saver)
        if saver is None or path is None or not is_untrained:
            return path
        try:
            restored = self._proof.begin(saver, saver.restore(path))
        except CheckpointError as error:
            self._proof.fail(path, str(error))
        else:
            self._monitor.notices.inform(f"Goes on from {restored}.")
        return None

    def complete_restore(self) -> None:
        """Restores variables that were created since a restore, if no step has trained them."""
        if self._proof.waits:
            self._proof.hasten()
            self.prove()

    def list_again(self) -> None:
        """Updates `checkpoints` if files have changed; any thread, once a second."""
        if (saver := self._saver) is not None:
            self.catalog.read_if_changed(saver.directory)

    def _note_saved(self) -> None:
        """Deletes the start of a trial, which is not needed once another checkpoint is saved."""
        if self.trial_start.alone:
            self.trial_start.alone = False
            self.aside.delete()

    def _save_or_say_why(self, save: Callable[[], None]) -> None:
        step = self._steps.step
        try:
            save()
        except Exception as error:  # noqa: BLE001 - the training continues
            self._monitor.notices.note("save", f"No checkpoint at step {step:,}: {error}")
        else:
            name = Path(self.checkpoints[-1].path).name
            self._monitor.log(event="checkpoint", step=self._steps.step, text=name)
