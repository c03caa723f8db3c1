"""The settings of a run, checked before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real

from nbtrain.core.cadence import Every
from nbtrain.core.direction import Directions, parted
from nbtrain.core.errors import ArgumentError
from nbtrain.core.labels import checked, checked_stage
from nbtrain.recording.best_monitor import BestMonitor
from nbtrain.recording.loss_monitor import LossMonitor

# A Python lock waits for at most 49 days (on Windows).
MOST_GRACE_SECS = 1e6


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings common to all functions that start a run.

    Attributes:
        steps: Step at which the run finishes, counted over all its starts; None trains
            until stopped or until the input is exhausted.
        save_secs: Seconds between two checkpoints; None or 0 saves none by time.
        save_steps: Saves at each multiple of this number of steps; None saves none by steps.
        keep: The number of checkpoints to keep, the newest; None keeps all.
        evaluate_secs: Seconds between two evaluations; None or 0 evaluates none by time.
        evaluate_steps: Evaluates at each multiple of this number of steps; None evaluates none by
            steps.
        on_nan: The reaction to a loss or variable that is NaN or infinite, or to a jump of the
            loss: "pause", "recover" or None. "recover" goes back to the last good checkpoint and
            halves the learning rate. If the checkpoint's rate differs from the rate before the
            error, the lower one is halved.
        jump: A loss above this many times the recent level is a jump; None detects none.
        grace: Seconds that the end of the process (the end of a script, a shutdown of the
            kernel, SIGTERM, SIGHUP) waits for the run to stop and save. Then the process
            ends, and says what was not saved.
        mirror: The address of a folder in a store, to which the run's folder is copied; None for
            none.
        keep_best: The scalar whose best state is kept beside the checkpoints, with "max:" or "min:"
            before it if its direction is not known otherwise; None keeps none.
        patience: The run ends after this many judged values of that scalar in a row that are no
            better; None for never.
        fresh: Whether the first start begins from scratch: what an earlier run has left in the
            folder is moved aside.
        prints: Where the prints of the training's threads are shown: "cell" shows them under the
            cell that has started the run, and in its log; "log" only in its log.
        system: Whether the use of the machine is recorded, under `system/`.
        tags: Words by which the run can be found again. If a start gives none, the run keeps those
            that it has.
        stage: The name of the stage of the training: the first start of another stage goes on from
            the weights of the latest checkpoint, with a new optimizer. None goes on with the stage
            of the checkpoint.
        stop_grace_secs: Seconds after a request to stop until the panel shows where the
            training thread is.
        directions: Which values of the scalars are better, as far as the training knows it; with
            what `keep_best` says.

    Raises:
        ArgumentError: A value cannot be used.
    """

    steps: int | None = None
    save_secs: float | None = 600.0
    save_steps: int | None = None
    keep: int | None = 5
    evaluate_secs: float | None = None
    evaluate_steps: int | None = None
    on_nan: str | None = "pause"
    jump: float | None = None
    grace: float = 10.0
    mirror: str | None = None
    fresh: bool = False
    prints: str = "cell"
    system: bool = True
    tags: Sequence[str] = ()
    keep_best: str | None = None
    patience: int | None = None
    stage: str | None = None
    stop_grace_secs: float = 5.0
    directions: Directions = field(default_factory=Directions)

    def __post_init__(self) -> None:
        """Checks every value."""
        for name, none in (
            ("steps", "train until stopped"),
            ("keep", "keep all checkpoints"),
            ("patience", "never end for that"),
        ):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
                raise ArgumentError(
                    f"{name}={value!r}: give a whole number of at least 1, or None to {none}."
                )
            # Converted, because JSON does not know the integers of NumPy.
            object.__setattr__(self, name, int(value))
        self._check_alarm()
        self._check_shown()
        self._check_stage()
        self._check_folder()
        self._check_best()
        self._check_grace()
        for name, number in (
            ("save_secs", "number above 0"),
            ("save_steps", "whole number of at least 1"),
            ("evaluate_secs", "number above 0"),
            ("evaluate_steps", "whole number of at least 1"),
        ):
            try:
                Every(**{name.rpartition("_")[-1]: getattr(self, name)})
            except (ArgumentError, TypeError, ValueError):
                raise ArgumentError(
                    f"{name}={getattr(self, name)!r}: give a {number}, or None for never."
                ) from None

    def _check_shown(self) -> None:
        object.__setattr__(self, "tags", checked(self.tags))
        if not isinstance(self.system, bool):
            raise ArgumentError(
                f"system={self.system!r}: give True to record the use of the machine, or False."
            )
        if self.prints not in ("cell", "log"):
            raise ArgumentError(
                f'prints={self.prints!r}: give "cell" to show what the training prints under its '
                'cell and in its log, or "log" for its log alone.'
            )

    def _check_stage(self) -> None:
        if self.stage is not None:
            object.__setattr__(self, "stage", checked_stage(self.stage))

    def _check_grace(self) -> None:
        is_number = isinstance(self.grace, Real) and not isinstance(self.grace, bool)
        if not is_number or not 0 < self.grace <= MOST_GRACE_SECS:
            raise ArgumentError(
                f"grace={self.grace!r}: give a number of seconds above 0, such as 10.0, and at "
                f"most {MOST_GRACE_SECS:,.0f}."
            )

    def _check_folder(self) -> None:
        if self.mirror is not None and "://" not in str(self.mirror):
            raise ArgumentError(
                f"mirror={self.mirror!r}: give the address of a folder with its scheme, such as "
                "'s3://bucket/runs' or 'file:///mnt/disk/runs', or None for no mirror."
            )
        if not isinstance(self.fresh, bool):
            raise ArgumentError(f"fresh={self.fresh!r}: give True to begin from scratch, or False.")
        if self.fresh and self.mirror is not None:
            raise ArgumentError(
                f"fresh=True with mirror={self.mirror!r}: the mirror has one run under this name. "
                "Give another name=, and leave fresh= out."
            )

    def _check_best(self) -> None:
        wanted = self.keep_best
        if wanted is not None and (not isinstance(wanted, str) or not parted(wanted)[0]):
            raise ArgumentError(
                f"keep_best={wanted!r}: give the name of a recorded scalar, such as 'val_loss', "
                "or None to keep no best checkpoint."
            )
        if self.patience is not None and wanted is None:
            raise ArgumentError(
                f"patience={self.patience!r} without keep_best=: give the scalar that must "
                "improve too, such as keep_best='val_loss'."
            )
        if wanted is not None:
            tag, direction = self.directions.asked("keep_best", wanted)
            object.__setattr__(self, "directions", self.directions.also(tag, direction))

    def _check_alarm(self) -> None:
        if self.on_nan not in ("pause", "recover", None):
            raise ArgumentError(
                f'on_nan={self.on_nan!r}: give "pause", "recover" to go back to the last good '
                "checkpoint and halve the learning rate, or None to go on."
            )
        if self.jump is None:
            return
        if self.on_nan is None:
            raise ArgumentError(
                f"jump={self.jump!r}, and with on_nan=None nothing is done about one: give "
                'on_nan="pause" or "recover", or leave jump= out.'
            )
        number = isinstance(self.jump, Real) and not isinstance(self.jump, bool)
        if not number or not 1 < self.jump < float("inf"):
            raise ArgumentError(
                f"jump={self.jump!r}: give a factor above 1, such as 10.0, or None for never."
            )

    def loss_monitor(self) -> LossMonitor | None:
        """Returns the monitor that detects bad losses; None if the run does not react to them."""
        return None if self.on_nan is None else LossMonitor(self.jump)

    def best_monitor(self) -> BestMonitor | None:
        """Returns a judge of the best value; None if no scalar is judged."""
        if self.keep_best is None:
            return None
        return BestMonitor(*self.directions.asked("keep_best", self.keep_best), self.patience)

    def save_cadence(self) -> Every:
        """Returns the cadence of the checkpoints."""
        return Every(steps=self.save_steps, secs=self.save_secs)

    def evaluate_cadence(self) -> Every:
        """Returns the cadence of the evaluations."""
        return Every(steps=self.evaluate_steps, secs=self.evaluate_secs)
