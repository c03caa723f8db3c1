"""Says what stands out in the layers of a step: the course of `run.look_inside()`.

The thresholds of what stands out have their sources in docs/why.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import PhaseError
from nbtrain.core.text.text_table import counted, some
from nbtrain.inner.variables import is_distributed
from nbtrain.run.why.experiment import Course, NextStep
from nbtrain.run.why.look import Look, Observed

# The name of the table in an answer, and the tag under which it is recorded.
TABLE, INSIDE = "table", "inside"

# The share of units that are 0 in all rows, and of outputs at the ends of a sigmoid or tanh.
_MANY = 0.5

# The rows from which a unit that is always 0 is not so by chance.
_ROWS = 16

# Gradients per weight of the first layer over those of the last.
_VANISHING, _EXPLODING = 1e-3, 1e3

# Updates over weights; the usual share is between them.
_LEAST, _USUAL, _MOST = 1e-5, 1e-3, 1e-1

# The findings that are told; all are in the table.
_TOLD = 4

# The blocks of the longest bar; each further block is a factor of 10.
_BLOCKS = 8

# Numbers between these are written in full.
_LONG, _LONGEST = 1e3, 1e7

_HEADS = ("layer", "weights", "gradient", "", "update / weights", "mean", "spread", "zeros")
_TEXTS = ("layer", "")  # the others are numbers


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that stands out.

    Attributes:
        names: The layers or variables in which it does.
        text: A sentence about it, without its end.
    """

    names: tuple[str, ...]
    text: str


class InsideQuestion:
    """The question for what the layers do; training thread only."""

    busy = "Looking inside"

    def __init__(self, steps: StepCounter) -> None:
        self._steps = steps
        # The step and the parts of the last look.
        self._last: tuple[int, dict[str, Observed]] | None = None

    def course(self, variables: Sequence[Any]) -> Course:
        """Takes a step, and looks at its layers.

        Args:
            variables: The variables that the step may train.

        Raises:
            PhaseError: They belong to a strategy.
        """
        if any(map(is_distributed, variables)):
            raise PhaseError(
                "The step runs in the replicas of a strategy, where its layers cannot be observed: "
                "look_inside needs a model without a strategy."
            )
        step = self._steps.step
        look = Look(variables)
        yield NextStep(look)
        parts = [*look.parts()]
        found = [*findings(parts)]
        last, self._last = self._last, (step, {each.name: each for each in parts})
        return told(parts, found), {
            "parts": [each.fields for each in parts],
            "findings": [dataclasses.asdict(each) for each in found],
            TABLE: table(parts, found, *(last or (None, {}))),
        }


def told(parts: Sequence[Observed], found: Sequence[Finding]) -> str:
    """Returns what stands out, in a few sentences."""
    if not parts:
        return "The step calls no layer of Keras, and changes no weight"
    if not found:
        layers = sum(bool(each.kind) for each in parts)
        counts = ((layers, "layer"), (len(parts) - layers, "variable"))
        return f"Nothing stands out in {' and '.join(counted(*each) for each in counts if each[0])}"
    more = len(found) - _TOLD
    said = [each.text for each in found[:_TOLD]]
    return ". ".join([*said, f"{more} more are in the table"] if more > 0 else said)


def findings(parts: Sequence[Observed]) -> Iterator[Finding]:
    """Yields what stands out, the worst first."""
    for part in parts:
        numbers = [part.weights] * bool(part.size) + [part.gradient] * part.is_connected
        numbers += [part.activations.mean] if part.activations else []
        if not all(map(math.isfinite, numbers)):
            yield _of(
                part,
                "{} has values that are NaN or infinite: run.why_nan() finds the cause, unless "
                "a loss scale was too large",
            )
    outputs = [each for each in parts if each.activations is not None]
    for part in outputs:
        yield from _stuck(part, is_last=part is outputs[-1])
    weighted = [each for each in parts if each.size]
    trained = [each for each in weighted if each.is_trained]
    yield from _unreached(weighted, trained)
    yield from _by_depth(
        [each for each in trained if each.kind and not each.is_sparse and 0 < each.slope < math.inf]
    )
    for part in trained:
        if part.kind:  # own variables may well begin at 0
            yield from _far_updates(part)


def _unreached(weighted: Sequence[Observed], trained: Sequence[Observed]) -> Iterator[Finding]:
    """Yields layers that get no gradient."""
    for part in trained:
        if not part.is_connected:
            yield _of(part, "No gradient reaches {}: the loss does not depend on it")
        elif part.gradient == 0:
            yield _of(part, "The gradient of {} is 0 for this batch")
    left = [each for each in weighted if trained and not (each.is_trained or each.is_changed)]
    if left:
        names = tuple(each.name for each in left)
        yield Finding(names, f"The step does not train {some(names)}")
    if trained and not any(each.is_changed for each in weighted):
        yield Finding(
            (),
            "The step changes no weights, as with a learning rate of 0, or between two updates of "
            "an optimizer that accumulates gradients",
        )


def _stuck(part: Observed, *, is_last: bool) -> Iterator[Finding]:
    """Yields activations whose slope is 0 or nearly 0.

    Args:
        part: A layer.
        is_last: Whether it is the last: outputs that are right are at the ends of a sigmoid.
    """
    seen = part.activations
    assert seen is not None, "others were left out"
    if seen.rows < _ROWS:
        return
    if part.activation.startswith("relu") and seen.dead >= _MANY:
        yield _of(
            part,
            f"{seen.dead:.0%} of the units of {{}} are 0 in all {seen.rows:,.0f} rows: dead ReLUs",
        )
    if seen.saturated >= _MANY and not is_last:
        yield _of(
            part,
            f"{seen.saturated:.0%} of the outputs of {{}} are at the ends of its "
            f"{part.activation}, where the slope is nearly 0: it is saturated",
        )


def _by_depth(trained: Sequence[Observed]) -> Iterator[Finding]:
    """Yields that gradients shrink or grow from the last layer to the first."""
    if len(trained) < 2:
        return
    first, last = trained[0], trained[-1]
    factor = first.slope / last.slope
    than = f"per weight than {last.name}"
    if factor < _VANISHING:
        text = f"Gradients vanish: {first.name} gets {1 / factor:,.0f} times less {than}"
        yield Finding((first.name,), text)
    if factor > _EXPLODING:
        text = f"Gradients explode: {first.name} gets {factor:,.0f} times more {than}"
        yield Finding((first.name,), text)


def _far_updates(part: Observed) -> Iterator[Finding]:
    """Yields that a step changes the weights by far more or less than is usual."""
    if part.update > _MOST or 0 < part.update < _LEAST:
        size = "much" if part.update > _MOST else "little"
        yield _of(
            part,
            f"A step changes {{}} by {part.update:.2g} of its weights, which is {size}: about "
            f"{_USUAL:g} is usual",
        )


def _of(part: Observed, text: str) -> Finding:
    return Finding((part.name,), text.format(part.name))


def table(
    parts: Sequence[Observed],
    found: Sequence[Finding],
    last_step: int | None = None,
    last: Mapping[str, Observed] = {},
) -> str:
    """Returns the numbers in Markdown: what stands out first, then the layers in their order.

    Args:
        parts: The layers.
        found: What stands out.
        last_step: The step of the look before; None without one.
        last: Its layers by name.
    """
    named = [name for each in found for name in each.names]
    rows = sorted(
        parts, key=lambda each: named.index(each.name) if each.name in named else len(named)
    )
    most = max((each.slope for each in parts if math.isfinite(each.slope)), default=math.nan)
    lines = [f"- {each.text}" for each in found]
    if last_step is not None:
        lines += ["", f"Each number comes after that of step {last_step:,}."]
    lines += ["", _line(_HEADS), _line(["---" if head in _TEXTS else "---:" for head in _HEADS])]
    for part in rows:
        before = last.get(part.name)
        cells = zip(_cells(part), [""] * 6 if before is None else _cells(before), strict=True)
        weights, gradient, *others = (f"{old} → {new}" if old else new for new, old in cells)
        name = f"{part.name} (frozen)" if part.is_frozen else part.name
        lines.append(_line((name, weights, gradient, _bar(part.slope, most), *others)))
    return "\n".join(lines).strip()


def _cells(part: Observed) -> tuple[str, ...]:
    seen = part.activations
    numbers = (part.weights, part.gradient, part.update)
    of_seen = (seen.mean, seen.spread, seen.zeros) if seen else (math.nan,) * 3
    return tuple(map(_shown, (*numbers, *of_seen)))


def _shown(number: float) -> str:
    if math.isnan(number):
        return ""
    return f"{number:,.0f}" if _LONG <= abs(number) < _LONGEST else f"{number:.3g}"


def _bar(value: float, most: float) -> str:
    """Returns a bar for a value, which is one block shorter for each factor of 10."""
    if not 0 < value < math.inf:
        return ""
    return "▇" * max(1, _BLOCKS + round(math.log10(value / most)))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
