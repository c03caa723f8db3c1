"""The arms of a trial of several values, and the result of each.

arms_of({"learning_rate": (1e-3, 1e-2)}, {})             # two arms
arms_of({"rate": (1, 2), "dropout": (0.1, 0.5)}, {})     # a grid: four arms
arms_of({}, {"calm": {"rate": 1}, "bold": {"rate": 9}})  # two arms with names
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.text_table import text_table
from nbtrain.core.values.direction import Direction

# The most arms of a trial: a larger grid is most likely a mistake.
MOST_ARMS = 100

# The most characters of a cell of the table: the values of a grid must not be cut.
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the settings that a trial compares.

    Attributes:
        name: The name of the setting, or its values in words.
        values: The hyperparameters that it sets, by name.
    """

    name: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ArmResult:
    """The result of one arm.

    Attributes:
        name: As in `Arm`.
        values: The hyperparameters that it has set, by name.
        tag: The scalar that is compared.
        before: Its value before the trial.
        after: Its value after each repeat; NaN if the arm went bad, or it could not be measured.
            Empty for the suggestion of a range test, which has not been trained.
        note: Why an `after` is NaN; empty if none is.
        kept: Whether the run continues from its end, because it was the best.
    """

    name: str
    values: Mapping[str, float]
    tag: str
    before: float
    after: tuple[float, ...] = ()
    note: str = ""
    kept: bool = False

    @property
    def remark(self) -> str:
        """The last column of a table: "kept", or the note."""
        return "kept" if self.kept else self.note

    @property
    def mean(self) -> float:
        """The mean of `after`; NaN if one of them is, or if there is none."""
        return statistics.fmean(self.after) if self.after else math.nan

    @property
    def difference(self) -> float:
        """The mean after the trial, minus the value before it."""
        return self.mean - self.before

    @property
    def spread(self) -> float | None:
        """The standard deviation of the difference over the repeats; None without repeats."""
        if len(self.after) < 2:
            return None
        return statistics.stdev(self.after) if math.isfinite(self.mean) else math.nan

    def measured(self, value: float, note: str = "") -> ArmResult:
        """Returns the result with one more repeat."""
        return replace(self, after=(*self.after, value), note=self.note or note)

    def __str__(self) -> str:
        """Returns the name, and the change of the scalar with its spread."""
        if not math.isfinite(self.mean):
            return f"{self.name} {self.note or self.mean}"
        spread = "" if self.spread is None else f" ± {self.spread:.2g}"
        return f"{self.name} {change_of(self.tag, self.before, self.mean)}{spread}"


def best_of(results: Sequence[ArmResult], direction: Direction) -> int | None:
    """Returns the index of the best result, the first of equal ones; None if all are NaN."""
    best = None
    for number, each in enumerate(results):
        if math.isfinite(each.mean) and (
            best is None or direction.prefers(each.mean, results[best].mean)
        ):
            best = number
    return best


def change_of(tag: str, old: float, new: float) -> str:
    """Describes the change of a scalar, with enough digits to distinguish the two values."""
    for digits in (4, 7, 17):
        before, after = f"{old:.{digits}g}", f"{new:.{digits}g}"
        if before != after or old == new:
            break
    return f"{tag} {before} → {after}"


def table(results: Sequence[ArmResult]) -> str:
    """Formats results as a table of plain text, one trained arm a line."""
    results = [each for each in results if each.after]
    if not results:
        return ""
    tag = results[0].tag
    heads = ["values", f"{tag} before", "after", "difference"]
    spread = any(result.spread is not None for result in results)
    heads += ["spread"] * spread + ["note"] * any(result.remark for result in results)
    rows = []
    for each in results:
        row: list[float | str | None] = [each.name, each.before, each.mean, each.difference]
        row += [each.spread] if spread else []
        row += [each.remark] if "note" in heads else []
        rows.append(row)
    return text_table(heads, rows, width=_WIDTH)


def is_list(value: object) -> bool:
    """Returns whether a value is a list of values: a list, tuple, range or array of one axis."""
    if isinstance(value, (list, tuple, range)):
        return True
    shape = getattr(value, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 1


def frozen(values: Mapping[str, object]) -> dict[str, Any]:
    """Returns a copy of values, with the lists as tuples."""
    lists: Any = values
    return {name: tuple(lists[name]) if is_list(lists[name]) else lists[name] for name in lists}


def arms_of(
    values: Mapping[str, object], settings: Mapping[str, Mapping[str, object]]
) -> tuple[Arm, ...]:
    """Returns the arms of a trial: each named setting with each combination of the lists.

    Raises:
        ArgumentError: A list is empty or overridden by a setting, or there are too many arms.
    """
    empty = [name for name, value in values.items() if is_list(value) and not _items(value)]
    empty += [name for name, setting in settings.items() if not setting]
    if empty:
        raise ArgumentError(f"{empty[0]} has no value to try: give at least one.")
    for name, setting in settings.items():
        for each in setting:
            if is_list(values.get(each)):
                raise ArgumentError(
                    f"{each} has a list of values and is in settings[{name!r}], too: give one."
                )
    sizes = [len(_items(value)) for value in values.values() if is_list(value)]
    count = math.prod(sizes) * max(1, len(settings))
    if count > MOST_ARMS:
        raise ArgumentError(
            f"These are {count:,} settings to try, one after the other: give at most {MOST_ARMS}."
        )
    found = []
    choices = [_items(value) if is_list(value) else (value,) for value in values.values()]
    for combined in itertools.product(*choices):
        grid = dict(zip(values, combined, strict=True))
        tried = {name: grid[name] for name in grid if is_list(values[name])}
        for name, setting in (settings or {"": {}}).items():
            words = [name] * bool(name) + [_words(tried)] * bool(tried)
            found.append(Arm(", ".join(words) or _words(grid), {**grid, **setting}))
    return tuple(found)


def _items(value: Any) -> tuple[object, ...]:
    return tuple(value)


def _words(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _number(value: Any) -> str:
    try:
        return f"{float(value):.10g}"
    except (TypeError, ValueError):
        return repr(value)
