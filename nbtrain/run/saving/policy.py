"""Saves a run's checkpoints, by cadence, on request and at the end, and restores them.

The policy uses the saver of the open session, at the step of the run's counter. It moves the
counter if the session counts another step, or if a checkpoint is restored.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from nbtrain.checkpoints.files import Restored, Saver, at, delete_all, listed
from nbtrain.checkpoints.last_good import LAST_GOOD_KEPT, LastGood
from nbtrain.checkpoints.listing import find
from nbtrain.core.cadence import Every
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.core.text.text_table import some
from nbtrain.recording.loss_monitor import Anomaly
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.beside.time_usage import RESTORE, SAVE
from nbtrain.run.saving.catalog import Catalog, check_listed
from nbtrain.run.saving.draws import Draws
from nbtrain.run.saving.health import Health
from nbtrain.run.saving.restore_proof import RestoreProof
from nbtrain.rundir.entries import entries
from nbtrain.rundir.names import BEST, LAST_GOOD, PRESENT, TRIAL, TRIAL_BEST
from nbtrain.rundir.timeline import name_of, run_of, side_folder


class CheckpointPolicy:
    """The checkpoints of one start of a run; training thread only, except `list_again`.

    Attributes:
        saver: The saver of the open session; None if nothing saves the run.
        proof: The check of the last restore.
        catalog: The checkpoints that can be restored.
        aside: The states beside them.
        restored_after_end: The name of the checkpoint in the objects, if another one than that of
            the end was restored after it.
    """

    def __init__(self, due: Every, monitor: Monitor, health: Health, steps: StepCounter) -> None:
        self._due = due
        self._steps = steps
        self._monitor = monitor
        self._health = health
        self.proof = RestoreProof(monitor, steps)
        self.saver: Saver | None = None
        self._closed: Saver | None = None  # of a session that is over, if it can still be used
        self.restored_after_end: str | None = None
        self._last_good: LastGood | None = None
        self._saved_step: int | None = None
        self._lost: str | None = None  # why there is no saver at present
        self.catalog = Catalog(monitor)
        self.aside = Aside(self, monitor, steps)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last; any thread."""
        return self.catalog.checkpoints

    @property
    def next_step(self) -> float:
        """The step at which a checkpoint, or a check of the restored variables, is due next."""
        due = math.inf if self.aside.compares else self._due.next_step
        return min(due, self.proof.next_step)

    @property
    def can_save(self) -> bool:
        """True if there is something to save."""
        return self.saver is not None

    def resume(self, saver: Saver, due: Every | None = None) -> bool:
        """Uses a saver from now on, and continues from the latest checkpoint of its folder."""
        if self.saver is not None:
            raise ArgumentError(
                "This run saves what was given as checkpoint=, or another session that its loop "
                "has open, and would save the graph of this one too: leave checkpoint= out, or "
                "open this session when the other has ended."
            )
        self.aside.drop_best(saver)
        is_first = self.catalog.begin(saver)
        restored = saver.resume(self.catalog.timeline)
        self.saver, self._saved_step, self._lost = saver, None, None
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
            self.proof.report_unsaved(saver, 0)
            return False
        self._steps.move_to(restored.step)
        restored = self.proof.begin(saver, restored)
        self._saved_step = self.catalog.rewind(restored, saver)
        self._monitor.log(event="resume", step=restored.step, text=str(restored))
        self._monitor.notices.inform(f"Continues from {restored}.")
        self.aside.report_undecided(restored, saver)
        return True

    def close(self, *, may_have_trained: bool = False) -> None:
        """Saves a last checkpoint before the saver's session closes.

        Args:
            may_have_trained: Whether steps may have been trained since the current step was saved.
        """
        # Before its first step boundary, a start has changed nothing.
        lacks = self._saved_step != self._steps.step and not self._monitor.holds_back
        if self.saver is not None and (may_have_trained or lacks):
            self._monitor.write_from_here()
            self._save_or_say_why(self.save)
        if self.saver is not None and self._saved_step == self._steps.step:
            self.aside.delete()
            if self._last_good is not None and not self.is_lost(self.saver):
                self._last_good.clear()
            self.list_again()
        if self.saver is not None and self.saver.outlives_session:
            self._closed = self.saver
        self.saver = self._last_good = None

    @property
    def is_closed(self) -> bool:
        """True if the session is over, and its objects can still be saved and restored."""
        return self._closed is not None

    @contextlib.contextmanager
    def in_closed_session(self) -> Iterator[None]:
        """Uses the saver of the session that is over inside the block."""
        self.saver = self._closed
        try:
            yield
        finally:
            self.saver = None

    def outdate(self) -> None:
        """Makes this step be saved again, because a value was set since the last save."""
        self._saved_step = None

    def lose(self, why: str | None = None) -> None:
        """Drops the saver of a lost session; `why` then refuses to save and restore."""
        self.saver, self._last_good, self._lost = None, None, why

    def start(self) -> None:
        """Starts the cadence at the current step and the present time."""
        self._due.start(self._steps.step, time.monotonic())
        if self._last_good is not None:
            self._last_good.start(self._steps.step)

    def copy_soon(self) -> None:
        """Makes a copy due: no checkpoint has the position in data that begin now."""
        if self._last_good is not None:
            self._last_good.begin()

    def save_if_due(self) -> None:
        """Saves if a checkpoint is due; an error becomes a message, a bad value skips the save."""
        if self.saver is None or self.aside.compares:
            return
        if self.proof.reason:
            return
        if self._due(self._steps.step, time.monotonic()):
            if self._health.anomaly(self.saver) is None:
                self._save_or_say_why(functools.partial(self._write, self.saver))
        elif self._last_good is not None and self._last_good.due(self._steps.step):
            self._copy(self._last_good, self.saver)

    def save(self) -> None:
        """Saves now.

        Raises:
            CheckpointError: There is nothing to save, the training has gone bad, or the checkpoint
                cannot be written or found afterwards.
        """
        if self.saver is None:
            raise CheckpointError(
                self._lost
                or "This run has nothing to save: start it with checkpoint= (a "
                "tf.train.Checkpoint), or with a Supervisor that has a logdir and a saver. The "
                "chief saves for its workers."
            )
        self.aside.check_saves()
        self.check_sound()
        if self.restored_after_end is not None:
            raise CheckpointError(
                f"The objects hold {self.restored_after_end}, which was restored after the end and "
                "is saved already. To save other values as a checkpoint of their own, use "
                "tf.train.Checkpoint."
            )
        self._write(self.saver)

    def below(self, step: int) -> tuple[Checkpoint, ...]:
        """Returns the checkpoints of earlier steps than this that are there and not abandoned."""
        if self.saver is not None:
            self.catalog.read(self.saver.directory)  # the user may have deleted some
        return tuple(each for each in self.checkpoints if not each.abandoned and each.step < step)

    def non_finite(self) -> str | None:
        """The name of a variable that holds NaN or Inf but did not at first; None if none."""
        return self._health.non_finite(self.saver)

    def largest(self) -> tuple[str, float]:
        """Returns the name and the value of the largest weight, as in `Saver`."""
        return ("", 0.0) if self.saver is None else self.saver.largest()

    def weights(self) -> Sequence[Any]:
        """Returns the trainable variables that are saved, as in `Saver`."""
        return () if self.saver is None else self.saver.weights()

    @property
    def checks_values(self) -> bool:
        """True if the run looks for values that have gone bad."""
        return self._health.is_checked

    @property
    def anomaly(self) -> Anomaly | None:
        """What has gone bad up to the current step; None while all is well."""
        return self._health.anomaly(self.saver)

    def check_sound(self) -> None:
        """Raises a CheckpointError if the training has gone bad, or was not restored as a whole."""
        if self.proof.reason:
            raise CheckpointError(f"{self.proof.reason}. run.resume() accepts these values.")
        if (anomaly := self._health.anomaly(self.saver)) is not None:
            good = self.below(anomaly.good)
            advice = "No checkpoint is good: build the model again."
            if good:
                last = f"the last good one is of step {good[-1].step:,}"
                advice = f"Continue from a checkpoint: {last}."
            raise CheckpointError(f"{anomaly}, and what has gone bad is not saved. {advice}")

    def save_with(self, saver: Saver | LastGood) -> None:
        """Saves with a saver, after the journal is written."""
        self._steps.complete()
        step = self._steps.step
        if self.saver is not None:
            self.complete_restore()
            self.proof.check_complete(self.saver)
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
        self.aside.saved_elsewhere()
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
            self.aside.saved_elsewhere()
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
        if self.saver is None:
            raise CheckpointError(
                self._lost or "This run has nothing to restore: it was started without a saver."
            )
        self._steps.complete()
        path = self._find(self.saver, wanted).path
        with self._monitor.time_usage.during(RESTORE):
            restored = self.saver.restore(path)
        self._steps.move_to(restored.step)
        restored = self.proof.begin(self.saver, restored)
        self.catalog.rewind(restored, self.saver)
        self._saved_step = None  # checkpoints of later steps belong to the abandoned branch
        self.aside.rewind(restored)
        self._health.rewind()
        self.start()
        if self._last_good is not None and self.aside.start_is_alone:
            self._last_good.begin()  # the restored checkpoint disappears with the trial
        return restored

    def restore_after_end(self, wanted: int | str | None) -> Restored:
        """Restores the objects of a checkpoint; the curve and the step do not change.

        Raises:
            CheckpointError: The checkpoint does not exist or does not fit; nothing was restored.
        """
        assert self.saver is not None, "in_closed_session() was entered"
        restored = self.saver.restore_objects(self._find(self.saver, wanted).path)
        is_own = Path(restored.path).parent.resolve() == self.saver.directory.resolve()
        is_the_end = is_own and restored.step == self._saved_step
        self.restored_after_end = None if is_the_end else Path(restored.path).name
        return restored

    def check_own(self, wanted: int | str | None) -> None:
        """Checks a checkpoint that another process asks to restore.

        Raises:
            CheckpointError: The checkpoint does not exist, or is neither listed nor in the run's
                folder.
        """
        if self.saver is None or not isinstance(wanted, str):
            return
        held = self._find(self.saver, wanted)
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

    def prove(self) -> str | None:
        """Checks a restore again after the first step, which creates variables.

        Returns:
            The path of the checkpoint to restore once more, because a step has trained variables
            that were created since; otherwise None.
        """
        saver, is_untrained = self.saver, self.proof.waits
        path = self.proof.check_again(saver)
        if saver is None or path is None or not is_untrained:
            return path
        try:
            restored = self.proof.begin(saver, saver.restore(path))
        except CheckpointError as error:
            self.proof.fail(path, str(error))
        else:
            self._monitor.notices.inform(f"Continues from {restored}.")
        return None

    def complete_restore(self) -> None:
        """Restores variables that were created since a restore, if no step has trained them."""
        if self.proof.waits:
            self.proof.hasten()
            self.prove()

    def list_again(self) -> None:
        """Updates `checkpoints` if files have changed; any thread, once a second."""
        if (saver := self.saver) is not None:
            self.catalog.read_if_changed(saver.directory)

    def _save_or_say_why(self, save: Callable[[], None]) -> None:
        step = self._steps.step
        try:
            save()
        except Exception as error:  # noqa: BLE001 - the training continues
            self._monitor.notices.note("save", f"No checkpoint at step {step:,}: {error}")
        else:
            name = Path(self.checkpoints[-1].path).name
            self._monitor.log(event="checkpoint", step=self._steps.step, text=name)


class Aside:
    """The states beside the checkpoints that `keep` counts; training thread only.

    path = policy.aside.save_start()   # checkpoints/trial
    path = policy.aside.save_best()    # checkpoints/trial_best
    policy.aside.delete()              # deletes both once the trial is over
    policy.aside.save_best_state(...)  # checkpoints/best: the best state of the run, which stays

    Attributes:
        undecided: The step at which an undecided trial began; None if there is none.
        start_is_alone: Whether the start of a trial is the only checkpoint with the present state.
        compares: Whether several values are tried, during which nothing else is saved.
    """

    def __init__(self, policy: CheckpointPolicy, monitor: Monitor, steps: StepCounter) -> None:
        self._policy = policy
        self._monitor = monitor
        self._steps = steps
        self.undecided: int | None = None
        self.start_is_alone = self.compares = False

    def drop_best(self, saver: Saver) -> None:
        """Deletes what a killed process has left: the best state of a trial, which rewinds."""
        delete_all(saver.directory / PRESENT)
        if listed(saver.directory / TRIAL):
            delete_all(saver.directory / TRIAL_BEST)

    def report_undecided(self, restored: Restored, saver: Saver) -> None:
        """Reports that the run continues with the edits of an undecided trial, or before them."""
        begun = listed(saver.directory / TRIAL)
        if begun and begun[-1].path == restored.path and _is_cut_short(saver):
            self._monitor.notices.inform(
                f"Continues from {restored}. A trial began there and was cut short: the run is "
                "back at its beginning, and nothing was decided."
            )
        if begun and begun[-1].path != restored.path:
            self.undecided = begun[-1].step
            name = f"{TRIAL}/{Path(begun[-1].path).name}"
            self._monitor.notices.note(
                "trial",
                f"The trial that began at step {self.undecided:,} was not decided: its values "
                f"stay. run.restore({name!r}) goes back before it.",
            )

    def check_saves(self) -> None:
        """Raises a CheckpointError while several values are tried."""
        if self.compares:
            raise CheckpointError(
                "Nothing is saved while several values are tried: the run would continue from one "
                "of them after a kill. Their start is saved; wait for the end of the trial."
            )

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

    def save_start(self) -> str:
        """Saves the start of a trial beside the checkpoints that `keep` counts; returns its path.

        The file stays until the trial is decided or the next one begins.
        """
        if (path := self._save(TRIAL)) is not None:
            self.undecided, self.start_is_alone = None, False
            return path
        self._policy.save()
        text = "where a trial begins"
        self._monitor.log(event="checkpoint", step=self._steps.step, text=text)
        return self._policy.checkpoints[-1].path

    def save_best(self) -> str:
        """Saves the best state of a trial so far, and returns its path."""
        path = self._save(TRIAL_BEST)
        assert path is not None, "the trial has its draws from `draws`"
        return path

    def save_best_state(self, **entry: object) -> None:
        """Saves the best state of the run so far, which replaces the one before.

        Args:
            entry: Further fields of its line in the journal.

        Raises:
            CheckpointError: The state cannot be saved beside the checkpoints, or has gone bad.
        """
        if self._save(BEST, event=BEST, **entry) is None:
            raise CheckpointError("this run cannot save beside its checkpoints")
        self.saved_elsewhere()

    def check_leaving(self, *, other_data: bool = False) -> tuple[Saver, Saver]:
        """Returns the saver, and the one that can save the present state beside the checkpoints.

        Args:
            other_data: See `visiting`.

        Raises:
            CheckpointError: There is none, or the data cannot be drawn again.
        """
        saver = self._policy.saver
        side = None if saver is None else saver.side_saver(PRESENT, 1)
        if saver is None or side is None:
            raise CheckpointError(
                "The present state of this run cannot be saved beside its checkpoints, so it could "
                "not be restored afterwards: start it with checkpoint= (a tf.train.Checkpoint)."
            )
        _drawing(saver, other_data=other_data)
        return saver, side

    @contextlib.contextmanager
    def visiting(
        self, *, other_data: bool = False
    ) -> Iterator[Callable[[Checkpoint | None], None]]:
        """Leaves the present state for a block, which gets a function that restores another one.

        The function restores the present state if it is given None.

        Nothing else learns of it: the curves, the timeline and the list of checkpoints stay.

        Args:
            other_data: Whether the block may draw other elements of the same data, if those that
                were drawn cannot be drawn again.

        Raises:
            CheckpointError: The present state cannot be saved beside the checkpoints, its data
                cannot be drawn again, or it could not be restored after the block.
        """
        policy, step = self._policy, self._steps.step
        saver, side = self.check_leaving(other_data=other_data)
        draws = Draws(saver)
        besides = [(variable, variable.numpy()) for variable in saver.besides()]
        policy.save_with(side)
        present = listed(side.directory)[-1]
        # Perhaps it is known since this save that the state of the data cannot be saved.
        drawing = _drawing(saver, other_data=other_data)

        def visit(wanted: Checkpoint | None) -> None:
            held = wanted or present
            restored = saver.restore(held.path)
            self._steps.move_to(held.step)
            if restored.valueless:
                raise CheckpointError(
                    f"{name_of(held.path)} has no values of {some(restored.valueless)}, which the "
                    "first step has created: build the model before the start, for example by "
                    "calling it once."
                )

        with drawing:
            try:
                yield visit
            finally:
                try:
                    visit(None)
                except CheckpointError as error:
                    raise CheckpointError(
                        f"The present state, step {step:,}, could not be restored from "
                        f"{present.path}: {error} The run holds the state of an earlier step now: "
                        "restore a checkpoint."
                    ) from error
                draws.again()
                for variable, value in besides:
                    variable.assign(value)
                delete_all(side.directory)

    def saved_elsewhere(self) -> None:
        """Deletes the start of a trial once another checkpoint contains the present state."""
        if self.start_is_alone:
            self.start_is_alone = False
            self.delete()

    def rewind(self, restored: Restored) -> None:
        """Handles a restore, which may have rewound to before the trial."""
        if self.undecided is not None and restored.step <= self.undecided:
            self.undecided = None
            self._monitor.notices.note("trial", None)
        self.start_is_alone = side_folder(restored.path) == TRIAL

    def delete(self) -> None:
        """Deletes the states of a trial once it is over.

        The start stays if the trial was not decided, or if no other checkpoint contains the state
        from which the run continues.
        """
        saver = self._policy.saver
        if saver is None or self._policy.is_lost(saver):
            return
        delete_all(saver.directory / TRIAL_BEST)
        if self.undecided is None and not self.start_is_alone:
            delete_all(saver.directory / TRIAL)
        self._policy.catalog.read(saver.directory)

    def _save(self, folder: str, **entry: object) -> str | None:
        """Saves the present state in a folder beside the checkpoints, instead of the one before.

        Returns:
            The path; None if nothing can be saved there.
        """
        policy = self._policy
        side = policy.saver.side_saver(folder, 1) if policy.saver is not None else None
        if policy.saver is None or side is None:
            return None
        policy.check_sound()
        policy.save_with(side)
        policy.catalog.add_copy(side.directory, policy.saver, **entry)
        check_listed(self._steps.step, side.directory)
        return listed(side.directory)[-1].path


def _drawing(saver: Saver, *, other_data: bool) -> AbstractContextManager[object]:
    """Returns the context in which the present state is left, as in `Aside.visiting`."""
    if other_data and (apart := saver.apart()) is not None:
        return apart
    if (one_way := saver.one_way) is None:
        return contextlib.nullcontext()
    raise CheckpointError(
        f"This run cannot leave its present state, as it could not come back: {one_way}. "
        "Draw the data from a tf.data.Dataset, or from something else that begins again. "
        "In a fit, the state of the dataset must be one that can be saved: without Python, "
        "and with tf.random.stateless_uniform and its like for random numbers."
    )


def _is_cut_short(saver: Saver) -> bool:
    """Returns whether the journal's newest trial has no end."""
    last = None
    with contextlib.suppress(OSError):
        for entry in entries(run_of(saver.directory / "checkpoint")):
            last = entry if entry["event"] == "try" else last
    return last is not None and last.get("applied", True) and "kept" not in last
