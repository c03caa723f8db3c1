"""The options of the functions that start a run, and the checked settings of the run.

@with_options(RunOptions)                            # the signature and the docstring have them all
def start(step, **options: Unpack[RunOptions]):
    settings = Settings.of(options, steps=100)
    folder = folder_of(options, kind="train")
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, get_type_hints

from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.labels import checked, checked_stage
from nbtrain.core.values.config import Config, flat
from nbtrain.core.values.direction import Directions, parted
from nbtrain.core.values.whole import whole
from nbtrain.recording.best_monitor import BestMonitor
from nbtrain.recording.loss_monitor import LossMonitor
from nbtrain.rundir.folder import Logdir

_F = TypeVar("_F", bound=Callable[..., Any])

# A Python lock waits for at most 49 days (on Windows).
MOST_GRACE_SECS = 1e6


class RunOptions(TypedDict, total=False):
    """The options of every function that starts a run; the defaults are those of `Settings`.

    Attributes:
        logdir: The folder of the run; None uses `runs/<name>`, or the logdir of a given Supervisor.
        name: The name of the run; None uses a new numbered one. If the folder contains checkpoints,
            the run continues from the latest.
        save_secs: Seconds between two checkpoints; None or 0 saves none by time.
        save_steps: Steps between two checkpoints; None saves none by steps.
        keep: The number of newest checkpoints to keep; None keeps all. The saver of a given
            Supervisor keeps its own number.
        on_nan: The reaction to a loss or a saved variable that is NaN or infinite. A loss is a
            scalar whose last word is `loss`, except losses of a validation. "pause" pauses before
            the next save. "recover" restores the last good checkpoint and halves the hyperparameter
            `learning_rate` or `learning_rate_factor`; the sixth time in a row, it pauses. None
            continues. With "recover" or "pause", good states are copied to `last_good` beside the
            checkpoints: at the start, and every ten seconds or, if copying took more than 1 % of
            the time, less often. The newest three copies are deleted once the run has ended well.
            If the bad value comes with the last of the data, the run ends with a message, and saves
            nothing. In a cluster, only the losses of a graph are checked, and nothing is copied.
        jump: The factor by which a loss may exceed the median of the last losses before it counts
            as bad, such as 10.0; None ignores jumps.
        grace: Seconds that the end of the process (the end of a script, a shutdown of the kernel,
            SIGTERM, SIGHUP) waits for the run to stop and save.
        mirror: The address of a folder in a store, such as "s3://bucket/runs", to which the run's
            folder is copied while the run trains. A start in an empty folder continues from there.
        fresh: True begins from scratch: an earlier run in the folder is moved to
            `<folder>-before-1`.
        prints: "cell" shows the prints of the training below the cell that has started the run, and
            in the log of the run; "log" shows them only in the log.
        system: True records the use of the machine, under `system/`.
        tags: Words by which the run can be found again, such as `["baseline", "adam"]`. A start
            without tags keeps those of the run.
        config: The settings that the run is made with, such as `{"units": 64, "dropout": 0.1}`: a
            dict, nested or not, an object of a dataclass or an `argparse.Namespace`. The panel and
            lists of runs show them, and runs are compared by them in HParams. A later start
            replaces the entries that it gives, and keeps the others. None gives none.
        keep_best: The scalar by which the best state is chosen, such as "val_loss" or "max:val_f1".
            The best state is saved in `checkpoints/best`, which does not count towards `keep`;
            `run.restore("best")` restores it. A loss or an error is better if it is lower, an
            accuracy if it is higher, and Keras knows the direction of its metrics. For every other
            scalar, give the direction: "max:val_f1" or "min:val_perplexity". Each value of an
            evaluation or an epoch (`val_...`, `epoch_...`) is judged, and each mean of 100 values
            of another scalar. None keeps no best state.
        patience: The number of judged values in a row without an improvement after which the run
            finishes; None never finishes for that reason. A restore or a new start begins to count
            again.
    """

    logdir: str | os.PathLike[str] | None
    name: str | None
    save_secs: float | None
    save_steps: int | None
    keep: int | None
    on_nan: Literal["pause", "recover"] | None
    jump: float | None
    grace: float
    mirror: str | None
    fresh: bool
    prints: Literal["cell", "log"]
    system: bool
    tags: Sequence[str]
    config: object
    keep_best: str | None
    patience: int | None


class LoopOptions(RunOptions, total=False):
    """The options of a start that trains by a step function or a loop of Python.

    Attributes:
        steps: The step at which the run finishes; None trains until stopped.
        evaluate_secs: Seconds between two evaluations; None or 0 disables this.
        evaluate_steps: Steps between two evaluations; None disables this.
        stage: The name of this stage of the training, such as "fine-tune"; needs `checkpoint`. The
            first start of another stage than that of the latest checkpoint restores the weights,
            and continues the curve with a new optimizer: the slots, steps and learning rate of the
            old one are not restored, and variables that the checkpoint lacks keep their values.
            Later starts of the same stage restore everything. None continues the stage of the
            checkpoint.
    """

    steps: int | None
    evaluate_secs: float | None
    evaluate_steps: int | None
    stage: str | None


# The options of the run's folder, which are not settings.
_OF_THE_FOLDER = ("logdir", "name")


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked settings of a run: the options of `LoopOptions`, and these.

    Attributes:
        stop_grace_secs: Seconds after a request to stop until the panel shows where the
            training thread is.
        directions: The known directions of scalars: those that the training knows, and the one that
            `keep_best` gives.
        known: Entries of the config that the training knows by itself; given ones replace them.

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
    config: Any = None
    keep_best: str | None = None
    patience: int | None = None
    stage: str | None = None
    stop_grace_secs: float = 5.0
    directions: Directions = field(default_factory=Directions)
    known: Config = field(default_factory=dict)

    @classmethod
    def of(cls, options: RunOptions, **more: Any) -> Settings:
        """Returns the settings of some options, with `more` of them.

        Raises:
            TypeError: There is no such option.
        """
        given: dict[str, Any] = {**options, **more}
        for name in _OF_THE_FOLDER:
            given.pop(name, None)
        return cls(**given)

    def __post_init__(self) -> None:
        """Checks every value."""
        for name, none in (
            ("steps", "train until stopped"),
            ("keep", "keep all checkpoints"),
            ("patience", "never finish for that reason"),
        ):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole(name, value, none=none))
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
        given = flat({} if self.config is None else self.config)
        object.__setattr__(self, "config", {**given, **self.known, **given})  # given ones first
        if not isinstance(self.system, bool):
            raise ArgumentError(
                f"system={self.system!r}: give True to record the use of the machine, or False."
            )
        if self.prints not in ("cell", "log"):
            raise ArgumentError(
                f'prints={self.prints!r}: give "cell" to show the prints of the training below its '
                'cell and in its log, or "log" to show them only in its log.'
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
                "Give another name= instead of fresh=."
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
                "checkpoint and halve the learning rate, or None to continue."
            )
        if self.jump is None:
            return
        if self.on_nan is None:
            raise ArgumentError(
                f"jump={self.jump!r} has no effect with on_nan=None: give "
                'on_nan="pause" or "recover", or no jump=.'
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
        """Returns the monitor that judges the best value; None if no scalar is judged."""
        if self.keep_best is None:
            return None
        return BestMonitor(*self.directions.asked("keep_best", self.keep_best), self.patience)

    def save_cadence(self) -> Every:
        """Returns the cadence of the checkpoints."""
        return Every(steps=self.save_steps, secs=self.save_secs)

    def evaluate_cadence(self) -> Every:
        """Returns the cadence of the evaluations."""
        return Every(steps=self.evaluate_steps, secs=self.evaluate_secs)


def folder_of(options: RunOptions, *, kind: str) -> Logdir:
    """Returns the folder of a run; without a given name, its name begins with `kind`."""
    return Logdir(options.get("logdir"), options.get("name"), kind=kind)


class Option(NamedTuple):
    """An option of a run.

    Attributes:
        name: The name.
        annotation: The type.
        default: The default.
        meaning: The entry in the docstring; empty under `python -OO`, which drops docstrings.
    """

    name: str
    annotation: Any
    default: Any
    meaning: str


def options_of(kind: type[Any]) -> list[Option]:
    """Returns the options of `RunOptions` or an extension of it, those of the extension first."""
    texts = [inspect.cleandoc(each.__doc__ or "") for each in (RunOptions, kind)]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", "\n".join(texts), re.MULTILINE)
    meanings = dict(entries)
    defaults = {each.name: each.default for each in fields(Settings)}
    hints = get_type_hints(kind)
    return [
        Option(name, hints[name], defaults.get(name), meanings.get(name, ""))
        for name in sorted(hints, key=RunOptions.__annotations__.__contains__)
    ]


def with_options(kind: type[Any]) -> Callable[[_F], _F]:
    """Adds options to the signature and the docstring of a function with `**options`.

    Args:
        kind: `RunOptions`, or a class that extends it.
    """
    options = options_of(kind)

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = inspect.Parameter.KEYWORD_ONLY
        added = [
            inspect.Parameter(each.name, named, default=each.default, annotation=each.annotation)
            for each in options
        ]
        function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        if function.__doc__:  # there is none under `python -OO`
            lines = inspect.cleandoc(function.__doc__).split("\n")
            end = lines.index("", lines.index("Args:"))
            lines[end:end] = [f"    {each.name}: {each.meaning}" for each in options]
            function.__doc__ = "\n".join(lines)
        return function

    return decorate
