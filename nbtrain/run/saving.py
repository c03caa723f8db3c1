"""Keeps a run's checkpoints: those that are due, those asked for, and the last one.

It saves and restores with the saver of the session that is open, at the step of the run's
counter. Where the session knows another step, or a checkpoint brings one, it moves the counter.
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
    """The checkpoints of one start of a run; training thread only, except `list_again`.

    Args:
        due: When a checkpoint is due, where the session has no cadence of its own.
        watch: Is told what should be known.
        health: Knows whether the training has gone bad: then nothing is saved.
        steps: The step at hand, which it moves.
    """

    def __init__(self, due: Every, watch: Monitor, health: Health, steps: StepCounter) -> None:
        self._due = due
        self._steps = steps
        self._monitor = watch
        self._health = health
        self._proof = RestoreProof(watch, steps)
        self._saver: Saver | None = None
        self._last_good: LastGood | None = None
        self._saved_step: int | None = None
        self._undecided: int | None = None  # step at which a trial began that was never decided
        self._on_trial = False  # whether where a trial began alone holds what the run goes on from
        self._listing = Listing()
        self._begun = False  # whether it has taken up a saver: what comes later is of this life

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """What can be restored, the newest last; any thread."""
        return self._listing.checkpoints

    @property
    def next_step(self) -> float:
        """Step at which the next checkpoint is due."""
        return self._due.next_step

    @property
    def can_save(self) -> bool:
        """Whether there is something to save."""
        return self._saver is not None

    def take_up(self, saver: Saver, due: Every | None = None) -> bool:
        """Go on from the latest checkpoint of a saver's folder, and keep it from now on.

        Args:
            saver: Saves and restores.
            due: When it saves; None keeps to the cadence there is.

        Returns:
            Whether there is one.

        Raises:
            ArgumentError: What was given as checkpoint=, or another session, is kept already.
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
            if last_good is not None:  # a branch begins without one of its own
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
        self._monitor.inform(f"Goes on from {restored}.")
        self._tell_of_trial(restored, saver)
        return True

    def let_go(self, *, gone_on: bool = False) -> None:
        """Before the saver's session closes: a last checkpoint.

        Args:
            gone_on: Whether it may have been trained since the step at hand was saved.
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
        """Something was set since this step was saved: the last checkpoint is yet to come."""
        self._saved_step = None

    def lose(self) -> None:
        """The saver's session is lost, and nothing of it can be saved."""
        self._saver = self._last_good = None

    def start(self) -> None:
        """Count from the step at hand, and from now, when the next is due."""
        self._due.start(self._steps.step, time.monotonic())
        if self._last_good is not None:
            self._last_good.start(self._steps.step)

    def save_if_due(self) -> None:
        """Save by cadence: what fails becomes a message, and trouble is the alarm's to tell."""
        if self._saver is None:
            return
        if self._due(self._steps.step, time.monotonic()):
            if self._health.anomaly(self._saver) is None:
                self._save_or_say_why(functools.partial(self._write, self._saver))
        elif self._last_good is not None and self._last_good.due(self._steps.step):
            self._copy(self._last_good, self._saver)

    def save(self) -> None:
        """Save now.

        Raises:
            CheckpointError: It cannot be written, or not be listed; there is nothing to save, or
                it has gone bad.
        """
        if self._saver is None:
            raise CheckpointError(
                "This run has nothing to save: start it with checkpoint= (a tf.train.Checkpoint), "
                "or with a Supervisor that has a logdir and a saver. What a worker trains is saved "
                "by its chief."
            )
        self._check_sound()
        self._write(self._saver)

    def set_aside(self) -> str:
        """Save where a trial begins: not counted by `keep`, there until the next or the end.

        Returns:
            Its path.

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
        self._undecided, self._on_trial = None, False  # this has taken its place
        self._add_copy(begin.directory, saver)
        _check_listed(self._steps.step, begin.directory)
        return listed(begin.directory)[-1].path

    def leave_aside(self) -> None:
        """Delete where a trial began, as it is over.

        It stays where nothing was decided, and until it is no longer all that a start could go
        on from.
        """
        if self._saver is not None and self._undecided is None and not self._on_trial:
            delete_all(self._saver.directory / TRIAL)
            self._listing.read(self._saver.directory)

    def keep_aside(self, begun: int) -> None:
        """Have where the trial began, at this step, stay, as what was tried does."""
        self._undecided = begun

    def below(self, step: int) -> tuple[Checkpoint, ...]:
        """What can be restored, now, of the steps before one, and was not abandoned."""
        if self._saver is not None:
            self._listing.read(self._saver.directory)  # some may have been deleted by hand
        return tuple(each for each in self.checkpoints if not each.abandoned and each.step < step)

    def non_finite(self) -> str | None:
        """The name of a variable that holds NaN or Inf, and did not when it was taken up."""
        return self._health.non_finite(self._saver)

    def _check_sound(self) -> None:
        """Raise a CheckpointError where what would be saved has gone bad."""
        if (anomaly := self._health.anomaly(self._saver)) is not None:
            good = self.below(anomaly.good)
            advice = "No checkpoint is good: build the model anew."
            if good:
                last = f"the last good one is of step {good[-1].step:,}"
                advice = f"Go on from a checkpoint: {last}."
            raise CheckpointError(f"{anomaly}, and what has gone bad is not saved. {advice}")

    def _save_with(self, saver: Saver | LastGood) -> None:
        step = self._steps.step
        self._monitor.folder.make_sure(step)
        self._monitor.write_journal()  # a checkpoint holds no edit that is not written down
        with self._monitor.time_usage.during(SAVE):
            self._steps.move_to(saver.save(step))  # a graph may count its own steps

    def _write(self, saver: Saver) -> None:
        self._save_with(saver)
        step = self._steps.step
        self._listing.timeline.save(step, "")  # its line comes with the answer
        self._listing.read(saver.directory)
        _check_listed(step, saver.directory)
        self._saved_step = step
        self._hold_elsewhere()
        if self._last_good is not None:
            self._last_good.saved(step)
        self._monitor.note("state", None)
        self._monitor.note("save", None)
        self._monitor.note("copy", None)

    def _copy(self, last_good: LastGood, saver: Saver) -> None:
        """Add the state at hand to the last good ones, if it is."""
        if self._health.anomaly(saver) is not None:
            return
        step = self._steps.step
        try:
            self._save_with(last_good)
            self._add_copy(last_good.directory, saver)
            self._hold_elsewhere()
        except Exception as error:  # noqa: BLE001 - the training goes on
            self._monitor.note("copy", f"No copy of step {step:,}: {error}")
        else:
            self._monitor.note("copy", None)
        self._listing.read(saver.directory)

    def restore(self, wanted: int | str | None) -> Restored:
        """Go back to a checkpoint: its step, its path, or (None) the latest that counts, no copy.

        Raises:
            CheckpointError: It is not there or does not fit; nothing was restored.
        """
        if self._saver is None:
            raise CheckpointError(
                "This run has nothing to restore: it was started without a saver."
            )
        self._listing.read(self._saver.directory)  # some may have been deleted by hand
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
        self._saved_step = None  # what was saved under a later step is of the abandoned course
        if self._undecided is not None and restored.step <= self._undecided:
            self._undecided = None
            self._monitor.note("trial", None)
        self._health.turn_back()
        self.start()
        self._on_trial = side_folder(restored.path) == TRIAL
        if self._last_good is not None and self._on_trial:
            self._last_good.begin()  # what was restored goes with the trial
        return restored

    def prove(self) -> None:
        """Look again at a restore that left gaps: the first step creates what was missing."""
        self._proof.complete(self._saver)

    def list_again(self) -> None:
        """Drop from `checkpoints` what was deleted; any thread, once a second."""
        if (saver := self._saver) is not None:
            self._listing.read_if_changed(saver.directory)

    def _taken(self, restored: Restored, saver: Saver) -> int | None:
        """Remember what was restored; returns its step, where this folder has it."""
        step, path = restored.step, restored.path
        directory, own = Path(path).parent.resolve(), saver.directory.resolve()
        if own in (directory, *directory.parents):  # as that of a copy
            self._monitor.log(event="back", step=step, checkpoint=path)
        else:
            lines = 0
            with contextlib.suppress(OSError):  # it is no run's folder
                lines = sum(1 for _ in entries(run_of(Path(path))))
            self._monitor.log(event="origin", step=step, checkpoint=path, lines=lines)
        self._listing.read(saver.directory)  # what is abandoned now
        return step if directory == own else None

    def _find(self, saver: Saver) -> None:
        """List what a saver's folder has, and write down what no line tells of."""
        timeline = self._listing.timeline
        self._listing.read(saver.directory)
        for held in self.checkpoints:
            if not timeline.knows(held):
                self._monitor.log(event="found", step=held.step, checkpoint=held.path)
        self._listing.read(saver.directory)
        self._monitor.note("state", saver.mended)

    def _hold_elsewhere(self) -> None:
        """What the run went back to is held by more than the begin of a trial now."""
        if self._on_trial:
            self._on_trial = False
            self.leave_aside()

    def _add_copy(self, copies: Path, saver: Saver) -> None:
        """One more was saved in this folder of copies."""
        for held in listed(copies)[-1:]:
            self._monitor.log(event="copy", step=held.step, checkpoint=held.path)
        self._listing.read(saver.directory)

    def _tell_of_trial(self, restored: Restored, saver: Saver) -> None:
        """Say that the run goes on with what it was trying when it ended."""
        begun = listed(saver.directory / TRIAL)
        if begun and begun[-1].path != restored.path:
            self._undecided = begun[-1].step
            name = f"{TRIAL}/{Path(begun[-1].path).name}"
            self._monitor.note(
                "trial",
                f"Nothing was decided of the trial that began at step {self._undecided:,}: what "
                f"was tried stays. run.restore({name!r}) goes back before it.",
            )

    def _save_or_say_why(self, save: Callable[[], None]) -> None:
        step = self._steps.step
        try:
            save()
        except Exception as error:  # noqa: BLE001 - the training goes on
            self._monitor.note("save", f"No checkpoint at step {step:,}: {error}")
        else:
            name = Path(self.checkpoints[-1].path).name
            self._monitor.log(event="checkpoint", step=self._steps.step, text=name)


def _check_listed(step: int, directory: Path) -> None:
    """Raise a CheckpointError where what was just saved is not to be found."""
    if all(held.step != step for held in listed(directory)):
        raise CheckpointError(
            f"What was saved cannot be found in {directory}: it was deleted at once, or its saver "
            "writes TensorFlow's old format, which is not restored here: leave write_version= out."
        )


def _check_saved(own: Sequence[Checkpoint], copies: Sequence[Checkpoint]) -> None:
    """Raise a CheckpointError where there are only copies: of these one is named."""
    if copies and not own:
        steps = ", ".join(f"{held.step:,}" for held in copies)
        raise CheckpointError(
            f"No checkpoint was saved yet, and of the copies of good states, of steps {steps}, "
            f"none is taken unasked: run.restore({copies[-1].step}) takes the newest."
        )


def _is_copy(held: Checkpoint) -> bool:
    """Whether nobody asked for it."""
    return Path(held.path).parent.name == LAST_GOOD
