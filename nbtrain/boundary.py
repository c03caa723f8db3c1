"""The step boundary: the only place where anything is done to a training.

Between two steps the training thread counts the step, hands its record over, saves
when that is due, and executes the commands that wait; paused, it waits here.

    boundary.go_on(saver)          # before the loop: from the latest checkpoint
    while not boundary.reach():    # once a step
        boundary.record({"loss": loss}, {}, None)
    boundary.leave(finished=True)  # after it: the last record, the last checkpoint
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import SupportsFloat

from nbtrain.cadence import Every
from nbtrain.checkpoints import Saver, find, listed
from nbtrain.commands import Command, CommandQueue, Outcome, Pause, Restore, Resume, Save, Stop
from nbtrain.errors import ArgumentError, CheckpointError, PhaseError
from nbtrain.names import Names
from nbtrain.recorder import Recorder
from nbtrain.settings import Settings
from nbtrain.states import Checkpoint, Event, Lifecycle, Phase
from nbtrain.tags import Tags, no_mapping
from nbtrain.watch import Watch

_NEVER = sys.maxsize


class Boundary:
    """The boundary of one life of a run; its methods belong to the training thread.

    Args:
        settings: How long, and when to save.
        lifecycle: The run's phase.
        commands: What waits to be executed.
        recorder: Takes the records.
        watch: Is told what should be known.
        names: By which the program reaches what it trains.
        again: Whether an earlier life was recorded, perhaps beyond the first step of this.

    Attributes:
        step: Steps completed; may be read from any thread.
        checkpoints: What can be restored, the newest last; may be read from any thread.
    """

    def __init__(
        self,
        settings: Settings,
        lifecycle: Lifecycle,
        commands: CommandQueue,
        recorder: Recorder,
        watch: Watch,
        names: Names,
        *,
        again: bool = False,
    ) -> None:
        self.step = self._origin = 0
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self._total = settings.steps
        self._due = settings.save_cadence()
        self._lifecycle = lifecycle
        self._commands = commands
        self._recorder = recorder
        self._queue = recorder.queue
        self._watch = watch
        self._names = names
        self._saver: Saver | None = None
        self._saved_step: int | None = None
        self._listed: float | None = None  # when the checkpoints' folder had last changed
        self._pending: dict[str, SupportsFloat] | None = None
        self._tags = Tags()
        self._again = again
        self._begun = self._looping = self._hooked = self._driving = self._over = False
        # Step of a restore that left gaps: the next step may fill them.
        self._unproven: int | None = None
        self._next = 0  # step at which to look up, whatever the flag says

    def go_on(self, saver: Saver | None, due: Every | None = None) -> None:
        """Take up the latest checkpoint of a saver's folder, if there is one.

        Args:
            saver: Saves and restores from now on; None leaves it to the one before.
            due: When it saves; None keeps to the settings.
        """
        if saver is None:
            return
        self._saver, self._saved_step = saver, None
        self._due = due or self._due
        restored = saver.resume()
        self.checkpoints = listed(saver.directory)
        if restored is not None:
            self.step = self._origin = self._saved_step = restored.step
            self._watch.log(event="resume", step=self.step, text=str(restored))
            self._watch.inform(f"Goes on from {restored}.")
            self._unproven = restored.step if restored.gaps else None
        if self._total is not None and self.step >= self._total:
            self._watch.note(
                "steps",
                f"Already at step {self.step:,} of {self._total:,}: there is nothing left to "
                "train. Give more steps=, or another name= to begin anew.",
            )
        self._due.start(self.step, time.monotonic())
        self._commands.attention = True
        if self._begun and not self._hooked:
            self._recorder.open_segment(self.step)

    def attach(self, saver: Saver | None, step: int, *, again: bool) -> None:
        """A hook has got a session, and counts from now on; `again`: the one before was lost."""
        if self._saver is not None and not self._hooked:
            raise ArgumentError(
                "This run saves what was given as checkpoint=, and its RunHook would save the "
                "graph: leave checkpoint= out."
            )
        lost, self.step, self._hooked, self._saver = self.step, step, True, None
        if not again:
            self._origin = step
        self.go_on(saver)
        if self._begun:
            self._looping = False
            self._recorder.open_segment(self.step)
        else:
            self._begin()
        if again:
            text = f"The session was lost at step {lost:,} and made again"
            if self.step:
                text += f"; the training goes on from step {self.step:,}."
            else:
                text += (
                    ", and no checkpoint was there: THE TRAINING STARTS ALL OVER, from step 0. "
                    "Give save_steps= or save_secs= to have one."
                )
            self._watch.note("recovery", text)
            self._watch.log(event="recovery", step=self.step, text=text)

    def arrive(
        self,
        steps: int,
        values: Mapping[str, SupportsFloat] | None,
        recount: Callable[[int], int],
    ) -> bool:
        """The boundary of a hook; returns whether to leave the loop.

        Args:
            steps: By how many the session's run has advanced; 0: it trained nothing.
            values: Scalars of the step.
            recount: Gives the exact step, where this one is expected: asked whenever there
                is something to do besides counting.
        """
        step = self.step + steps
        look = step >= self._next or self._commands.attention
        if look:
            step = recount(step)
            if step < self.step:
                self._recorder.open_segment(step)
        self.step = step
        if steps and values:
            self._queue.append(step, time.time(), values)
        return look and self._look_up()

    def let_go(self) -> None:
        """The saver's session is about to close: a last checkpoint."""
        if self._saver is not None and self._saved_step != self.step:
            self._save_or_say_why()
        self._saver = None
        self._hooked = False

    def reach(self) -> bool:
        """Do what is to be done between two steps; returns whether to leave the loop."""
        if not self._looping:
            if not self._hooked:
                self._begin()
            return (self.step >= self._next or self._commands.attention) and self._look_up()
        self.step = step = self.step + 1
        pending = self._pending
        if pending:
            self._pending = None
            self._queue.append(step, time.time(), pending)
        return (step >= self._next or self._commands.attention) and self._look_up()

    def record(
        self,
        values: Mapping[str, SupportsFloat],
        scalars: dict[str, SupportsFloat],
        step: int | None,
    ) -> None:
        """Keep scalars for the step at hand; `step` is its number where the program counts.

        Raises:
            ArgumentError: Values that are no mapping, hold what is no scalar under a new tag, or
                a step below 1.
        """
        # The type first: asking the abstract class costs more than all the rest.
        if type(values) is not dict and not isinstance(values, Mapping):
            raise no_mapping(values)
        if values:
            scalars = {**values, **scalars}
        tags = self._tags
        if scalars.keys() != tags.last:
            tags.admit(scalars)
        if tags.changing:
            scalars = tags.read(scalars)
        if self._hooked:
            self._queue.append(self.step if step is None else step, time.time(), scalars)
            return
        if self._pending is None:
            self._pending = scalars
        else:
            self._pending.update(scalars)
        if self._driving:
            self._commands.attention = True
        if step is not None:
            if type(step) is not int or not 0 < step < _NEVER:
                step = _whole(step)
            self.step = step - 1

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """The whole loop in one frame: call `step`, record what it returns, until told to leave.

        The same as `reach` and `record` in turn. After a step that has emptied the
        processor's caches each call of Python's costs a microsecond: here it costs none.

        Raises:
            ArgumentError: As in `record`.
        """
        if self.reach():
            return
        self._driving = True
        try:
            self._drive(step)
        finally:
            self._driving = False

    def _drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        now, queue, commands, known = time.time, self._queue, self._commands, self._tags
        items, most_items, changing = queue.items, queue.most_items, known.changing
        tags: tuple[str, ...] = ()
        while True:
            values = step()
            if type(values) is not dict and not isinstance(values, Mapping):
                raise no_mapping(values)
            if tuple(values) != tags:
                known.admit(values)
                tags = queue.tags_of(values)
            if changing:
                values = known.read(values)
            self.step = number = self.step + 1
            if tags and len(items) < most_items:
                items.extend((tags, number, now(), *values.values()))
            elif tags:
                queue.append(number, now(), values)  # which thins them
            if (number >= self._next or commands.attention) and self._look_up():
                return

    def leave(self, *, finished: bool) -> None:
        """After the loop: the record of a finished step, what still waits, a last checkpoint."""
        if finished and self._pending is not None:  # the loop was left without a last boundary
            self.step += 1
            self._queue.append(self.step, time.time(), self._pending)
        elif not finished and (rebound := self._names.rebound()):
            self._watch.note("names", f"When the run failed, {_astray(rebound)}.")
        with contextlib.suppress(PhaseError):  # it is stopping already
            self._lifecycle.apply(Event.LOOP_ENDED)
        self._prove()
        self._obey()
        self.let_go()

    def list_again(self) -> None:
        """Drop from `checkpoints` what was deleted; any thread, once a second."""
        if self._saver is None:
            return
        try:
            changed = self._saver.directory.stat().st_mtime
        except OSError:
            changed = 0.0  # it is gone, or not to be seen
        if changed != self._listed:
            # What has just changed may change again before the file system's clock ticks.
            self._listed = changed if time.time() - changed > 1 else None
            self.checkpoints = listed(self._saver.directory)

    @property
    def steps_done(self) -> int:
        """Steps taken in this life."""
        return self.step - self._origin

    def _begin(self) -> None:
        self._looping = not self._hooked
        if self._begun:
            return
        self._begun = True
        if self._again or self.step:
            self._recorder.open_segment(self.step)
        self._due.start(self.step, time.monotonic())
        self._commands.attention = True
        with contextlib.suppress(PhaseError):  # asked to stop while preparing
            self._lifecycle.apply(Event.READY)

    def _look_up(self) -> bool:
        """Do what is not done at every step; ten times a second, and when something waits."""
        self._commands.attention = False  # first: what comes from now on sets it again
        if self._pending:  # `record` was called by a step that `drive` called
            self._queue.append(self.step, time.time(), self._pending)
            self._pending = None
        if self._total is not None and self.step >= self._total:
            self._over = True
        elif self._due(self.step, time.monotonic()):
            self._save_or_say_why()
        self._prove()
        if not self._over:
            self._hold_still()
            self._obey()
        # A whole number: comparing a step with infinity costs more than with it.
        self._next = int(min(self._due.next_step, self._total or _NEVER, _NEVER))
        # Not the coordinator's word: a Supervisor that prepares its session clears that.
        stop = self._over or self._lifecycle.phase is Phase.STOPPING
        if stop:
            self._commands.attention = True  # whoever asks again is told again
        return stop

    def _prove(self) -> None:
        """Look again at a restore that left gaps: the first step creates what was missing."""
        if self._unproven is None or self.step <= self._unproven:
            return
        self._unproven = None
        try:
            proof = self._saver.proof() if self._saver is not None else None
        except Exception as error:  # noqa: BLE001 - a look at a model never ends its training
            self._watch.note("restore", f"What was restored could not be looked at again: {error}")
            return
        if proof is not None:
            self._watch.inform(f"Goes on from {proof}.")
            self._watch.note("restore", proof.gaps or None)

    def _hold_still(self) -> None:
        """Pause where the next step would train something else than the checkpoints hold."""
        if (rebound := self._names.rebound()) and self._lifecycle.allows(Event.PAUSE):
            self._lifecycle.apply(Event.PAUSE)
            text = f"Paused at step {self.step:,}: {_astray(rebound)}; {_REMEDY}"
            self._watch.note("names", text)
            self._watch.log(event="pause", step=self.step, text=text)

    def _resume(self) -> str:
        rebound = self._names.rebound()
        if rebound and self._lifecycle.allows(Event.RESUME):
            raise PhaseError(f"Cannot resume: {_astray(rebound)}; {_REMEDY}")
        self._lifecycle.apply(Event.RESUME)
        self._watch.note("names", None)
        return "running again"

    def _obey(self) -> None:
        """Execute commands until none is left; while paused, wait for the next."""
        while True:
            paused = self._lifecycle.phase is Phase.PAUSED
            receipt = self._commands.take(wait=paused)
            if receipt is None:
                return
            step = self.step
            try:
                outcome = Outcome(applied=True, step=step, text=self._do(receipt.command))
            except Exception as error:  # noqa: BLE001 - a refusal is an answer
                outcome = Outcome(applied=False, step=step, text=str(error))
            self._watch.log(
                event=receipt.name, step=step, applied=outcome.applied, text=outcome.text
            )
            receipt.answer(outcome)

    def _do(self, command: Command) -> str:
        """Execute one command; an error refuses it."""
        match command:
            case Stop():
                return "stopping"
            case Pause():
                self._lifecycle.apply(Event.PAUSE)
                return "paused"
            case Resume():
                return self._resume()
            case Save():
                return f"saved {Path(self._save().path).name}"
            case Restore(wanted):
                return self._restore(wanted)

    def _save(self) -> Checkpoint:
        if self._saver is None:
            raise CheckpointError(
                "This run has nothing to save: start it with checkpoint= (a tf.train.Checkpoint), "
                "or with a Supervisor that has a logdir and a saver."
            )
        self._watch.folder.make_sure(self.step)
        step = self._saver.save(self.step)
        self._origin += step - self.step
        self.step = step
        self._saved_step = self.step
        self.checkpoints = checkpoints = listed(self._saver.directory)
        self._watch.note("save", None)
        return checkpoints[-1]

    def _save_or_say_why(self) -> None:
        """Save by cadence or at the end: what fails becomes a message."""
        if self._saver is None:
            return
        try:
            checkpoint = self._save()
        except Exception as error:  # noqa: BLE001 - the training goes on
            self._watch.note("save", f"No checkpoint at step {self.step:,}: {error}")
        else:
            self._watch.log(event="checkpoint", step=self.step, text=Path(checkpoint.path).name)

    def _restore(self, wanted: int | str | None) -> str:
        if self._saver is None:
            raise CheckpointError(
                "This run has nothing to restore: it was started without a saver."
            )
        if self._lifecycle.phase is Phase.STOPPING:
            raise PhaseError("Cannot restore while stopping; start the run again to go on.")
        self.checkpoints = listed(self._saver.directory)  # some may have been deleted by hand
        restored = self._saver.restore(find(self.checkpoints, wanted).path)
        self._origin += restored.step - self.step
        self.step = restored.step
        self._recorder.open_segment(self.step)
        self._due.start(self.step, time.monotonic())
        self._unproven = restored.step if restored.gaps else None
        return f"restored {restored}"


def _whole(step: object) -> int:
    """The number of a step, where it was given as a variable or the like.

    Raises:
        ArgumentError: It is none.
    """
    try:
        number = int(step)  # type: ignore[call-overload]
        if number == step and 0 < number < _NEVER:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(
        f"step={step!r}: the number of a step that was done is a whole number of at least 1."
    )


_REMEDY = (
    "a further step would train the new. Stop this run before you start another; to go on with "
    "it, bind what it started with again and resume."
)


def _astray(rebound: Sequence[str]) -> str:
    are = "is" if len(rebound) == 1 else "are"
    return f"{' and '.join(rebound)} {are} no longer what the run started with"
