"""Saves a run's checkpoints, by cadence, on request and at the end, and restores them.

It uses the saver of the open session, at the step of the run's counter. If the session counts
another step, or a checkpoint is restored, it moves the counter.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nbtrain.checkpoints.files import Restored, Saver, delete_all, find, listed
from nbtrain.checkpoints.last_good import LAST_GOOD_KEPT, LastGood
from nbtrain.checkpoints.listing import Listing, on_the_way
from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.core.step_counter import StepCounter
from nbtrain.run.health import Health
from nbtrain.run.monitor import Monitor
from nbtrain.run.restore_proof import RestoreProof
from nbtrain.run.time_usage import RESTORE, SAVE
from nbtrain.rundir.entries import entries
from nbtrain.rundir.folder import LAST_GOOD, TRIAL
from nbtrain.rundir.lineage import run_of
from nbtrain.rundir.timeline import side_folder


class CheckpointPolicy:
    """The checkpoints of one start of a run; training thread only, except `list_again`."""

    def __init__(self, due: Every, monitor: Monitor, health: Health, steps: StepCounter) -> None:
        self._due = due
        self._steps = steps
        self._monitor = monitor
        self._health = health
        self._proof = RestoreProof(monitor, steps)
        self._saver: Saver | None = None
        self._last_good: LastGood | None = None
        self._saved_step: int | None = None
        self._undecided: int | None = None  # step at which an undecided trial began
        self._on_trial = False  # whether only the start of a trial holds the present state
        self._listing = Listing()
        self._begun = False  # whether it has accepted a saver: later ones belong to this start

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last; any thread."""
        return self._listing.checkpoints

    @property
    def next_step(self) -> float:
        """The step at which the next checkpoint is due."""
        return self._due.next_step

    @property
    def can_save(self) -> bool:
        """True if there is something to save."""
        return self._saver is not None

    def take_up(self, saver: Saver, due: Every | None = None) -> bool:
        """Continues from the latest checkpoint of a saver's folder, and uses the saver from now on.

        Args:
            due: The cadence of the checkpoints; None keeps the present cadence.

        Returns:
            Whether there is a checkpoint.

        Raises:
            ArgumentError: The run already saves its checkpoint= argument or another session.
        """
        if self._saver is not None:
            raise ArgumentError(
                "This run saves what was given as checkpoint=, or another session that its loop "
                "has open, and would save the graph of this one too: leave checkpoint= out, or "
                "open this session when the other has ended."
            )
        begun, self._begun = self._begun, True
        if not begun:
            self._listing.timeline = self._monitor.timeline()
        self._find(saver)
        restored = saver.resume(self._listing.timeline)
        self._saver, self._saved_step = saver, None
        self._due = due or self._due
        self._last_good = None
        if self._health.is_looked_after:
            self._health.begin(saver)
            last_good = saver.side_saver(LAST_GOOD, LAST_GOOD_KEPT)
            if last_good is not None:  # a branch has no copies at first
                self._last_good = LastGood(
                    last_good, begins=restored is None or not self.checkpoints
                )
        if restored is None:
            self._proof.look_for_lacking(saver, 0)
            return False
        self._steps.move_to(restored.step)
        restored = self._proof.begin(saver, restored)
        if not begun:
            self._monitor.recall()
        self._saved_step = self._taken(restored, saver)
        self._monitor.log(event="resume", step=restored.step, text=str(restored))
        self._monitor.notices.inform(f"Goes on from {restored}.")
        self._tell_of_trial(restored, saver)
        return True

    def let_go(self, *, gone_on: bool = False) -> None:
        """Saves a last checkpoint before the saver's session closes.

        Args:
            gone_on: Whether the training may have gone on since the current step was saved.
        """
        if self._saver is not None and (gone_on or self._saved_step != self._steps.step):
            self._save_or_say_why(self.save)
        if self._saver is not None and self._saved_step == self._steps.step:
            self.leave_aside()
            if self._last_good is not None:
                self._last_good.clear()
            self.list_again()
        self._saver = self._last_good = None

    def outdate(self) -> None:
        """Notes that a value was set since the last save, so that this step is saved again."""
        self._saved_step = None

    def lose(self) -> None:
        """Drops the saver of a lost session, which can no longer be saved."""
        self._saver = self._last_good = None

    def start(self) -> None:
        """Starts the cadence at the current step and the present time."""
        self._due.start(self._steps.step, time.monotonic())
        if self._last_good is not None:
            self._last_good.start(self._steps.step)

    def save_if_due(self) -> None:
        """Saves if a checkpoint is due; an error becomes a message, a bad value skips the save."""
        if self._saver is None:
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
                "This run has nothing to save: start it with checkpoint= (a tf.train.Checkpoint), "
                "or with a Supervisor that has a logdir and a saver. The chief saves for its "
                "workers."
            )
        self._check_sound()
        self._write(self._saver)

    def set_aside(self) -> str:
        """Saves the start of a trial, in a folder that does not count towards `keep`.

        The file stays until the trial is decided or the next one begins.

        Returns:
            The path of the checkpoint.

        Raises:
            CheckpointError: As in `save`.
        """
        saver = self._saver
        begin = saver.side_saver(TRIAL, 1) if saver is not None else None
        if saver is None or begin is None:
            self.save()
            text = "where a trial begins"
            self._monitor.log(event="checkpoint", step=self._steps.step, text=text)
            return self.checkpoints[-1].path
        self._check_sound()
        self._save_with(begin)
        self._undecided, self._on_trial = None, False  # this replaces the checkpoint before
        self._add_copy(begin.directory, saver)
        _check_listed(self._steps.step, begin.directory)
        return listed(begin.directory)[-1].path

    def leave_aside(self) -> None:
        """Deletes the checkpoint of a trial's start once the trial is over.

        The checkpoint stays if the trial was not decided, or if no other checkpoint holds the
        state from which the run goes on.
        """
        if self._saver is not None and self._undecided is None and not self._on_trial:
            delete_all(self._saver.directory / TRIAL)
            self._listing.read(self._saver.directory)

    def keep_aside(self, begun: int) -> None:
        """Keeps the checkpoint of the start, at step `begun`, of an undecided trial."""
        self._undecided = begun

    def below(self, step: int) -> tuple[Checkpoint, ...]:
        """Lists the checkpoints below a step that exist now and are not abandoned."""
        if self._saver is not None:
            self._listing.read(self._saver.directory)  # the user may have deleted some
        return tuple(each for each in self.checkpoints if not each.abandoned and each.step < step)

    def non_finite(self) -> str | None:
        """The name of a variable that holds NaN or Inf but did not at first; None if none."""
        return self._health.non_finite(self._saver)

    def _check_sound(self) -> None:
        """Raises a CheckpointError if the training has gone bad."""
        if (anomaly := self._health.anomaly(self._saver)) is not None:
            good = self.below(anomaly.good)
            advice = "No checkpoint is good: build the model again."
            if good:
                last = f"the last good one is of step {good[-1].step:,}"
                advice = f"Go on from a checkpoint: {last}."
            raise CheckpointError(f"{anomaly}, and what has gone bad is not saved. {advice}")

    def _save_with(self, saver: Saver | LastGood) -> None:
        step = self._steps.step
        self._monitor.folder.check(step)
        self._monitor.write_journal()  # first, so that every edit in a checkpoint is logged
        with self._monitor.time_usage.during(SAVE):
            self._steps.move_to(saver.save(step))  # a graph may count its own steps

    def _write(self, saver: Saver) -> None:
        self._save_with(saver)
        step = self._steps.step
        self._listing.timeline.save(step, "")  # the answer will write its line
        self._listing.read(saver.directory)
        _check_listed(step, saver.directory)
        self._saved_step = step
        self._hold_elsewhere()
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
            self._save_with(last_good)
            self._add_copy(last_good.directory, saver)
            self._hold_elsewhere()
        except Exception as error:  # noqa: BLE001 - the training goes on
            self._monitor.notices.note("copy", f"No copy of step {step:,}: {error}")
        else:
            self._monitor.notices.note("copy", None)
        self._listing.read(saver.directory)

    def restore(self, wanted: int | str | None) -> Restored:
        """Restores a checkpoint.

        Args:
            wanted: Its step, its path, or None for the latest on the current branch, but no copy.

        Raises:
            CheckpointError: It does not exist or does not fit; nothing was restored.
        """
        if self._saver is None:
            raise CheckpointError(
                "This run has nothing to restore: it was started without a saver."
            )
        self._listing.read(self._saver.directory)  # the user may have deleted some
        if wanted is None:
            own = tuple(held for held in self.checkpoints if not _is_copy(held))
            _check_saved(own, self.checkpoints)
            own = on_the_way(own)
        else:
            own = self.checkpoints
        with self._monitor.time_usage.during(RESTORE):
            restored = self._saver.restore(find(own, wanted).path)
        self._steps.move_to(restored.step)
        restored = self._proof.begin(self._saver, restored)
        self._taken(restored, self._saver)
        self._saved_step = None  # checkpoints of later steps belong to the abandoned branch
        if self._undecided is not None and restored.step <= self._undecided:
            self._undecided = None
            self._monitor.notices.note("trial", None)
        self._health.turn_back()
        self.start()
        self._on_trial = side_folder(restored.path) == TRIAL
        if self._last_good is not None and self._on_trial:
            self._last_good.begin()  # the restored checkpoint disappears with the trial
        return restored

    def prove(self) -> None:
        """Checks a restore with gaps again after the first step, which creates variables."""
        self._proof.complete(self._saver)

    def list_again(self) -> None:
        """Updates `checkpoints` if files have changed; any thread, once a second."""
        if (saver := self._saver) is not None:
            self._listing.read_if_changed(saver.directory)

    def _taken(self, restored: Restored, saver: Saver) -> int | None:
        """Logs a restore; returns its step, or None if the saver's folder does not have it."""
        step, path = restored.step, restored.path
        directory, own = Path(path).parent.resolve(), saver.directory.resolve()
        if own in (directory, *directory.parents):  # a copy is in a folder below
            self._monitor.log(event="back", step=step, checkpoint=path)
        else:
            lines = 0
            with contextlib.suppress(OSError):  # the folder is not of a run
                lines = sum(1 for _ in entries(run_of(Path(path))))
            self._monitor.log(event="origin", step=step, checkpoint=path, lines=lines)
        self._listing.read(saver.directory)  # updates which checkpoints are abandoned
        return step if directory == own else None

    def _find(self, saver: Saver) -> None:
        """Lists a saver's folder, and logs checkpoints that the journal does not contain."""
        timeline = self._listing.timeline
        self._listing.read(saver.directory)
        for held in self.checkpoints:
            if not timeline.knows(held):
                when = round(held.wall_time, 3)
                self._monitor.log(
                    event="found", step=held.step, wall_time=when, checkpoint=held.path
                )
        self._listing.read(saver.directory)
        self._monitor.notices.note("state", saver.mended)

    def _hold_elsewhere(self) -> None:
        """Notes that a checkpoint other than the start of a trial holds the state now."""
        if self._on_trial:
            self._on_trial = False
            self.leave_aside()

    def _add_copy(self, copies: Path, saver: Saver) -> None:
        """Logs the newest checkpoint in a folder of copies."""
        for held in listed(copies)[-1:]:
            self._monitor.log(event="copy", step=held.step, checkpoint=held.path)
        self._listing.read(saver.directory)

    def _tell_of_trial(self, restored: Restored, saver: Saver) -> None:
        """Says that the run goes on with the edits of an undecided trial."""
        begun = listed(saver.directory / TRIAL)
        if begun and begun[-1].path != restored.path:
            self._undecided = begun[-1].step
            name = f"{TRIAL}/{Path(begun[-1].path).name}"
            self._monitor.notices.note(
                "trial",
                f"The trial that began at step {self._undecided:,} was not decided: its values "
                f"stay. run.restore({name!r}) goes back before it.",
            )

    def _save_or_say_why(self, save: Callable[[], None]) -> None:
        step = self._steps.step
        try:
            save()
        except Exception as error:  # noqa: BLE001 - the training goes on
            self._monitor.notices.note("save", f"No checkpoint at step {step:,}: {error}")
        else:
            name = Path(self.checkpoints[-1].path).name
            self._monitor.log(event="checkpoint", step=self._steps.step, text=name)


def _check_listed(step: int, directory: Path) -> None:
    """Raises a CheckpointError if the checkpoint that was just saved cannot be found."""
    if all(held.step != step for held in listed(directory)):
        raise CheckpointError(
            f"The saved checkpoint cannot be found in {directory}: it was deleted at once, or its "
            "saver writes TensorFlow's old format, which is not restored here: leave write_version= out."
        )


def _check_saved(own: Sequence[Checkpoint], copies: Sequence[Checkpoint]) -> None:
    """Raises a CheckpointError if there are only copies; it names the newest."""
    if copies and not own:
        steps = ", ".join(f"{held.step:,}" for held in copies)
        raise CheckpointError(
            f"No checkpoint was saved yet, and of the copies of good states, of steps {steps}, "
            f"none is taken unasked: run.restore({copies[-1].step}) takes the newest."
        )


def _is_copy(held: Checkpoint) -> bool:
    """Tells if a checkpoint is a copy of a good state."""
    return Path(held.path).parent.name == LAST_GOOD
