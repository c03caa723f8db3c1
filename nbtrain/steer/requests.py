"""The methods that steer a run: each queues a command and returns a receipt at once."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, SupportsFloat, SupportsIndex, TypeAlias

from nbtrain.core.commands import (
    NO_SENDER,
    Command,
    Evaluate,
    LookInside,
    Note,
    Pause,
    Restore,
    Resume,
    Save,
    Sender,
    Set,
    Stop,
    Tag,
    Try,
    WhyNan,
    WhySlow,
)
from nbtrain.core.errors import ArgumentError, UnknownNameError
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.text.labels import checked, checked_note
from nbtrain.rundir.journal import Marks
from nbtrain.steer.actions import Action, Actions
from nbtrain.steer.learning_rate import range_test

# Not None, which a step function returns if it lacks a return statement.
NO_VALUES: Mapping[str, SupportsFloat] = MappingProxyType({})

_NO_SETTINGS: Mapping[str, Mapping[str, SupportsFloat]] = MappingProxyType({})

# Names from other libraries, and what to use instead.
INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("stop", "cancel", "abort", "kill"), "run.request_stop()"),
        **dict.fromkeys(("join", "result"), "run.wait()"),
        **dict.fromkeys(("show", "display", "plot"), "run, as the last line of a cell"),
        "checkpoint": "run.save()",
        "load": "run.restore()",
        "unpause": "run.resume()",
        "step": "run.status.step",
        "phase": "run.status.phase",
        "history": "run.scalars",
    }
)


class Requests:
    """The commands of a run, from any thread; each is executed at a step boundary.

    Attributes:
        logdir: The run's folder.
        marks: The marks on the curves.
        most_checkpoints: The most checkpoints that `status` lists; None if it lists all.
    """

    logdir: Path
    marks: Marks
    most_checkpoints: int | None = None

    if TYPE_CHECKING:

        @property
        def status(self) -> Status:
            """The present state of the run."""

    def __dir__(self) -> list[str]:
        """Returns the names, without those that only raise an error."""
        return [name for name in super().__dir__() if name not in INSTEAD]

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Queues a command for the next step boundary, and returns its receipt.

        Args:
            command: The command.
            at: A future step after which to execute it; None executes it at once. Such a planned
                command may be posted before the first start.
            sender: Where the command comes from. A second command with the same id is not executed,
                and returns the receipt of the first.

        Raises:
            ArgumentError: A stop is planned, `command` is not a command, or `at` is not a step.
        """
        raise NotImplementedError

    def refuse(self, command: Command, why: str) -> Receipt:
        """Answers a command at once, because it cannot be done; returns its receipt."""
        raise NotImplementedError

    @property
    def tags(self) -> tuple[str, ...]:
        """The words by which the run can be found again."""
        return self.marks.tags

    def note(self, text: str) -> Receipt:
        """Adds a note to the history of the run, as a mark at its present step.

        Args:
            text: What to remember, on one line.

        Raises:
            ArgumentError: The text is empty or too long.

        Example:
            >>> run.note("the loss is flat: lower the rate")
        """
        return self.post(Note(checked_note(text)))

    def tag(self, *tags: str) -> Receipt:
        """Replaces the tags of the run; without arguments, the run has none afterwards.

        Raises:
            ArgumentError: One of them is not a tag.

        Example:
            >>> run.tag("baseline", *run.tags)
        """
        return self.post(Tag(checked(tags)))

    def actions(self) -> tuple[Action, ...]:
        """Returns what can be done about the newest marks: restore a checkpoint, or undo an edit.

        The panel shows these actions for every mark on a curve. The best action comes first: while
        the run is paused because of a NaN, an action of that mark.

        Example:
            >>> run.actions()
            (run.restore('checkpoints/ckpt-300', halve='learning_rate'), ...)
            >>> run.do(run.actions()[0]).wait()
        """
        return self._all_actions.latest()

    def do(self, action: Action) -> Receipt:
        """Executes one of `actions` at the next step boundary.

        An action that cannot be done now, or is no longer one of `actions`, is refused.

        Raises:
            ArgumentError: `action` is not an action.
        """
        if not isinstance(action, Action):
            raise ArgumentError(f"do({action!r}): give one of run.actions(), such as the first.")
        if why := self._all_actions.refusal(action):
            return self.refuse(action.command, f"Cannot do {action.text!r}: {why}")
        return self.post(action.command)

    @property
    def _all_actions(self) -> Actions:
        count = self.marks.count  # first: the checkpoint of a mark is listed before the mark
        return Actions(self.marks, self.status, count, most=self.most_checkpoints)

    def request_stop(self) -> Receipt:
        """Ends the run after the current step, with a last checkpoint."""
        return self.post(Stop())

    def pause(self) -> Receipt:
        """Pauses the training until `resume`; saving and restoring still work."""
        return self.post(Pause())

    def resume(self) -> Receipt:
        """Continues after a pause."""
        return self.post(Resume())

    def save(self) -> Receipt:
        """Writes a checkpoint at the next step boundary."""
        return self.post(Save())

    def restore(
        self, checkpoint: int | str | Checkpoint | None = None, *, halve: str | None = None
    ) -> Receipt:
        """Restores a checkpoint.

        Args:
            checkpoint: Its step, its path, "best" for the state that `keep_best=` keeps, or None
                for the latest on the current branch. An abandoned checkpoint is used only if there
                is no other.
            halve: A hyperparameter to halve afterwards: it gets half of the lower of its values
                before and after the restore. None changes nothing.
        """
        wanted = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
        return self.post(Restore(wanted, halve))

    def set(
        self, values: Mapping[str, SupportsFloat] = NO_VALUES, /, **more: SupportsFloat
    ) -> Receipt:
        """Sets hyperparameters at the next step boundary: all of them, or none.

        Args:
            values: Numbers by the names of hyperparameters.
            more: More values, by keyword.

        Example:
            >>> run.set(learning_rate=1e-4, dropout_rate=0.3).wait()
        """
        return self.post(Set({**_by_name(values), **more}))

    def evaluate(self) -> Receipt:
        """Evaluates at the next step boundary, also while paused; records `val_loss` and so on.

        The start of the run sets what to evaluate: `evaluate=`, or `validation_data=` of a Keras
        fit.
        """
        return self.post(Evaluate())

    def why_nan(self) -> Receipt:
        """Finds the operation from which a NaN or an infinity comes, and its line of the program.

        To be asked while the run is paused at a NaN. It goes back to the last checkpoint before
        the bad step, usually some seconds of training, takes the same steps again, and watches each
        operation of the one that goes bad. Then the run is where it was: weights, slots of the
        optimizer, metrics, position in the data and random draws. Nothing of it is recorded.
        `answer` of the outcome has the step, the operation, file, line and function, the layer of
        Keras, and its inputs in numbers.

        For `nbtrain.train`, `fit`, `track` and `run.track`, with a checkpoint, and data that can be
        drawn again. A step that draws random numbers without a `tf.random.Generator`, or its data
        by itself, may not go bad again; the outcome then says so.

        Example:
            >>> run.why_nan().wait().text
            'log of 0 in loss_fn (losses.py, line 7) at step 412: 3 of 64 values are 0'
        """
        return self.post(WhyNan())

    def why_slow(self, steps: int = 50) -> Receipt:
        """Measures where the time of a step goes, and names what would make it shorter.

        Three measurements of `steps` steps: the input alone (elements are drawn, nothing is
        trained), whole steps, and the step alone (one element is trained again and again). Each
        ends after ten seconds, if it has five steps by then. Then the run is where it was, as after
        `why_nan`.
        `answer` of the outcome has the milliseconds of each, with their range over five parts of
        the measurement, how many times faster the training could be at best, and the causes that
        were found in the pipeline of `tf.data` and in the step, each with its line.

        For `nbtrain.train`, `fit`, `track` and `run.track`, with a checkpoint, and data that can be
        drawn again. Input and step are measured apart only if nbtrain draws the data: `data=` of
        `train`, a tracked loop over the data, or `fit`.

        Args:
            steps: The number of steps of each measurement; at least 5.

        Example:
            >>> run.why_slow().wait().text
            'input 14.1 ms, step 5.2 ms, together 14.3 ms: the input holds the training back; ...'
        """
        return self.post(WhySlow(steps))

    def look_inside(self) -> Receipt:
        """Looks at the layers in the next step: their activations, gradients and updates.

        The step is taken, measured, and taken back; then the run is where it was, as after
        `why_nan`. `answer` of the outcome has the `parts`, which are the layers of Keras that the
        step calls and other variables that it trains, each with the norms of its weights and of
        their gradient, the update over the weights, and mean, spread and zeros of its activations;
        the `findings`, such as dead ReLUs, saturated sigmoids, gradients that vanish or explode,
        and layers without a gradient; and both as a `table` in Markdown, which is recorded under
        the tag "inside" too. From the second look on, the table has the numbers of the last look
        beside the new ones.

        For `nbtrain.train`, `fit`, `track` and `run.track`, with a checkpoint, and data that can be
        drawn again.

        Example:
            >>> run.look_inside().wait().text
            '62% of the units of hidden are 0 in all 64 rows: dead ReLUs'
        """
        return self.post(LookInside())

    def trial(
        self,
        values: Mapping[str, SupportsFloat | Sequence[SupportsFloat]] = NO_VALUES,
        /,
        *,
        steps: int = 200,
        keep_if: str | Callable[[Mapping[str, float], Mapping[str, float]], object] | None = None,
        settings: Mapping[str, Mapping[str, SupportsFloat]] = _NO_SETTINGS,
        repeats: int = 1,
        **more: SupportsFloat | Sequence[SupportsFloat],
    ) -> Receipt:
        """Tries hyperparameters for some steps, then keeps them or rewinds.

        Scalars are measured before and after the trial: by an evaluation if the run can evaluate,
        and as means over the last quarter of `steps` steps. A rewind restores the checkpoint from
        the beginning of the trial and the old values. The receipt is answered at the end of the
        trial, so not while the run is paused; a `wait` for it then reports the pause. `kept` of its
        outcome is the decision.

        With a list, each of its values trains from the same saved state, on the same batches and
        with the same random draws; several lists make a grid. The run continues from the end of the
        best training, unless its result is worse than before. `table` of the outcome compares the
        values. A pause or a stop during such a trial rewinds to its beginning.

        Args:
            values: Hyperparameters by their names, or lists of values to try.
            steps: The number of steps of the trial, or of each value.
            keep_if: Tag of a scalar that must not get worse: a loss or an error must not rise, an
                accuracy must not fall, and Keras knows the direction of its metrics. For everything
                else, say which is better: "max:val_f1" or "min:val_perplexity". Or a function of
                two dicts, the scalars before and after, that returns whether to keep the values.
                None uses `val_loss`; with several values, None rewinds, and `run.actions()` offers
                the values.
            settings: Hyperparameters to try together, by the name of the setting.
            repeats: How often each value is tried, with other random draws and, if the run draws
                its data, other batches. The outcome then has the spread.
            more: More values, by keyword.

        Example:
            >>> run.trial(learning_rate=5e-4, steps=200, keep_if="val_loss").wait()
            >>> run.trial(learning_rate=[3e-4, 1e-3], keep_if="val_loss").wait().table
        """
        tried = {**_by_name(values), **more}
        return post(self, Try(tried, steps, keep_if, _settings(settings), repeats))

    def find_learning_rate(
        self,
        low: float = 1e-6,
        high: float = 1.0,
        *,
        steps: int = 200,
        tag: str | None = None,
        name: str | None = None,
    ) -> Receipt:
        """Suggests a learning rate by a range test, then restores the present state.

        The rate grows from `low` to `high` by equal factors (Smith, arXiv:1506.01186), until the
        loss becomes NaN or rises far. The suggestion is an action of the mark. `curve` of the
        outcome has pairs of a rate and the smoothed loss.

        Args:
            low: The rate of the first step.
            high: The rate of the last of `steps` steps.
            tag: The loss that each step records; None uses `loss`, or the first scalar with `loss`
                in its name, except those of an evaluation or an epoch.
            name: The hyperparameter; None uses the learning rate of the run.

        Raises:
            ArgumentError: The run has no learning rate among its hyperparameters, or a limit is not
                a number.

        Example:
            >>> run.find_learning_rate().wait().text
        """
        return post(self, range_test(self.status, low, high, steps=steps, tag=tag, name=name))


# A command, or a function that makes it for a run.
Asked: TypeAlias = Command | Callable[[Requests], Command]


def post(run: Requests, asked: Asked, *, sender: Sender = NO_SENDER) -> Receipt:
    """Posts a command; the receipt of a trial then says whether the run is paused.

    A trial needs steps, and a paused run executes none.

    Raises:
        ArgumentError: There is no such command for this run.
    """

    def held() -> str:
        status = run.status
        if status.phase is not Phase.PAUSED:
            return ""
        return (
            f"The run is paused at step {status.step:,}, and a trial needs steps: the trial "
            "begins once the run is resumed."
        )

    command = asked(run) if callable(asked) else asked
    receipt = run.post(command, sender=sender)
    if receipt.takes_steps:
        receipt.held = held
    return receipt


class _Instead:
    """Refuses a name. A `__getattr__` could do this too, but would slow down all other names."""

    def __init__(self, name: str, words: str) -> None:
        self._text = f"'Run' object has no attribute {name!r}: use {words}"

    def __get__(self, run: object, owner: type) -> NoReturn:
        raise UnknownNameError(self._text)


for _name, _words in INSTEAD.items():
    setattr(Requests, _name, _Instead(_name, _words))


def _settings(settings: object) -> Mapping[str, Mapping[str, SupportsFloat]]:
    """Returns the given settings.

    Raises:
        ArgumentError: `settings` is not a mapping of mappings.
    """
    if isinstance(settings, Mapping) and all(isinstance(e, Mapping) for e in settings.values()):
        return settings
    raise ArgumentError(
        f"settings={settings!r}: give hyperparameters by the name of each setting, such as "
        '{"calm": {"learning_rate": 1e-4}, "bold": {"learning_rate": 1e-2}}.'
    )


def _by_name(values: object) -> Mapping[str, SupportsFloat]:
    """Returns the given values.

    Raises:
        ArgumentError: `values` is not a mapping.
    """
    if isinstance(values, Mapping):
        return values
    raise ArgumentError(
        f"{values!r} names no hyperparameter: give numbers by name, such as learning_rate=1e-4, or "
        'a dict, {"learning_rate": 1e-4}.'
    )


def planned(command: object, at: SupportsIndex | None) -> int | None:
    """Returns the step at which a command is planned, as an int; None if it is not planned.

    Raises:
        ArgumentError: A stop is planned, `command` is not a command, or `at` is not a step.
    """
    if not isinstance(command, Command):
        raise ArgumentError(f"post({command!r}): give a command, such as Save() or Pause().")
    if at is None:
        return None
    step = _number_of_step(at)
    if isinstance(command, Stop):
        raise ArgumentError(f"A stop cannot be planned: for an end at step {step}, give steps=.")
    return step


def _number_of_step(at: SupportsIndex) -> int:
    """Returns the step at which a command is planned, as an int.

    Raises:
        ArgumentError: `at` is not a step.
    """
    with contextlib.suppress(TypeError):  # arrays have `__index__` too, but it raises
        if not isinstance(at, bool) and (step := operator.index(at)) >= 0:
            return step
    raise ArgumentError(f"at={at!r}: give the number of a step, from 0, or None.")
