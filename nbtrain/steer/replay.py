"""Shows the history of a run as a table, and replays its edits in another run."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from nbtrain.core.commands import Replay
from nbtrain.core.errors import ArgumentError
from nbtrain.core.receipts import Receipt
from nbtrain.core.text.text_table import counted, in_columns
from nbtrain.rundir.entries import FILE, Entry, edits_of, parent_of, when
from nbtrain.rundir.lineage import Lineage
from nbtrain.steer.requests import Requests

# Events that are not in the table: they are frequent, or of no interest to a reader.
_UNSHOWN = frozenset(
    {"back", "checkpoint", "copy", "evaluated", "folder", "found", "origin", "stop"}
)

# Reasons why a run continues with another value than the edits before its checkpoint have set.
_OUTLIVED, _OWN = "is in no checkpoint, keeps its value", "the program itself has set it"

# Characters of an outcome per line, so that a row fits into a notebook cell.
_OUTCOME_CHARS = 60

_HEAD = ("step", "event", "hyperparameter", "old", "new", "outcome")


class ReplayPlan:
    """The history of a run, and the edits that led to its end.

    A cell shows the history as a table, the same at every execution.

    Args:
        folder: The run's folder.

    Attributes:
        logdir: The run's folder.
        edits: Step and new values, in the order in which they were made. Edits of the runs from
            which the run was branched come first.

    Raises:
        OSError: Its `steering.jsonl` cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.logdir = folder
        self._lineage = Lineage(folder)
        self.edits = tuple((step, values) for _, step, values in self._lineage.state.edits)

    def apply(self, run: Requests) -> Receipt:
        """Plans every edit in a new run, after the same step; any thread.

        Args:
            run: A run that was made with `start=False` and is started next, or one that has not
                reached the first of the edits.

        Returns:
            The receipt. The command is refused if the run is already past one of the steps, or if
            it lacks a hyperparameter; then no edit is made.

        Raises:
            ArgumentError: The folder does not contain all edits, or `run` is not a run.
        """
        if not isinstance(run, Requests):
            raise ArgumentError(f"apply({run!r}): give the run that is to make the edits.")
        if gap := self._lineage.state.gap:
            raise ArgumentError(f"{self.logdir} cannot be replayed: {gap}.")
        many = counted(len(self.edits), "edit")
        span = f", of steps {self.edits[0][0]:,} to {self.edits[-1][0]:,}" if self.edits else ""
        return run.post(Replay(self.edits, f"{many} of {self.logdir.name}{span}"), at=0)

    def table(self, *, clock: bool = False) -> str:
        """Returns the history as text, one event per line.

        Args:
            clock: Whether each line begins with the seconds since the first.
        """
        led = {line for line, *_ in self._lineage.state.edits}
        rows: list[tuple[str, ...]] = [_HEAD]
        times = ["seconds"]
        first = min(map(when, self._lineage.lines), default=0.0)
        for number, entry in enumerate(self._lineage.lines):
            kept = self._lineage.kept.get(number, {})
            for row in _rows(entry, kept, led=number in led):
                rows.append(row)
                times.append(f"{when(entry) - first:.1f}")
        if clock:
            rows = [(time, *row) for time, row in zip(times, rows, strict=True)]
        return in_columns([line for row in rows for line in _wrapped(row)])

    def __repr__(self) -> str:
        """The table."""
        return self.table()


def replay(logdir: str | os.PathLike[str]) -> ReplayPlan:
    """Reads the history of a run: a cell shows it as a table, `apply` repeats it in a new run.

    Repeats every edit of a hyperparameter that led to the end, after the same step. Edits that a
    restore has undone are not repeated. On a CPU, with the same seeds and
    `tf.config.experimental.enable_op_determinism()`, the new run ends with the same weights.

    Args:
        logdir: The run's folder, such as "runs/digits"; the run may be over, killed, or alive.

    Returns:
        The plan.

    Raises:
        ArgumentError: There is no such folder, or no run has written to it.

    Example:
        >>> again = nbtrain.train(step, steps=500, name="again", start=False)
        >>> nbtrain.replay("runs/digits").apply(again)
        >>> again.start()
    """
    try:
        folder = Path(logdir).expanduser()
    except (TypeError, RuntimeError):
        raise ArgumentError(
            f"logdir={logdir!r}: give the folder of a run, such as 'runs/digits'."
        ) from None
    try:
        return ReplayPlan(folder)
    except FileNotFoundError:
        why = f"it has no {FILE}" if folder.is_dir() else "there is none"
    except OSError as error:
        why = f"its {FILE} cannot be read: {error.strerror}"
    raise ArgumentError(
        f"{folder} is not the folder of a run: {why}. Give a folder in which a run has trained, "
        "such as 'runs/digits'."
    )


def _wrapped(row: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yields a row; the rest of a long outcome is in further rows."""
    first, *more = textwrap.wrap(row[-1], _OUTCOME_CHARS) or [""]
    yield (*row[:-1], first)
    yield from ((*[""] * len(row[:-1]), line) for line in more)


def _rows(
    entry: Entry, kept: Mapping[str, tuple[float, float, bool]], *, led: bool
) -> list[tuple[str, ...]]:
    """Returns the rows of one entry: one for each edit, otherwise one; none if it is not shown."""
    step, event, text = f"{entry['step']:,}", str(entry["event"]), str(entry.get("text", ""))
    text = text.partition("\n")[0]
    if event in _UNSHOWN:
        return []
    if event == "segment":
        return [
            (step, event, name, f"{old:.10g}", f"{new:.10g}", _OUTLIVED if outlived else _OWN)
            for name, (old, new, outlived) in kept.items()
        ]
    if not entry.get("applied", True):
        return [(step, event, "", "", "", f"refused: {text}")]
    if edits := edits_of(entry):
        outcome = "applied" if event == "set" else text
        if not led and "to" not in entry:
            outcome += "; undone by a restore or a new start"
        return [(step, event, name, f"{a:.10g}", f"{b:.10g}", outcome) for name, a, b in edits]
    if parent := parent_of(entry):
        text = f"a branch of {parent['logdir']}, from step {parent['step']:,}"
    return [(step, event, "", "", "", text)]
