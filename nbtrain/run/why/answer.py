"""Says in words, and as plain data, where a NaN or an infinity comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nbtrain.core.text.text_table import counted
from nbtrain.run.why.cause import fault_of, origin_of, share_of
from nbtrain.run.why.operation import CodeLine, Operation, Values, scope_of_derivative
from nbtrain.steer import surroundings

Answer = tuple[str, Mapping[str, Any]]

# The name and the absolute value of the largest weight before each of some steps.
Growth = Sequence[tuple[str, float]]

# A weight that has become so many times larger in a few steps has grown.
_GROWN = 10.0


def answer_of(
    step: int,
    found: Sequence[Operation],
    losses: Sequence[str],
    variables: Sequence[str] = (),
    growth: Growth = (),
    differs: int | None = None,
) -> Answer:
    """Returns where the bad values of a step come from.

    Args:
        step: The number of the step.
        found: The operations with bad outputs; empty if none was seen.
        losses: The names of the losses of the step that are not finite.
        variables: The names of variables that are not finite after the step.
        growth: The largest weight before each of the last steps.
        differs: The first step that was another than the recorded one; None if none was.
    """
    names = [*losses, *variables]
    if not found:
        text = (
            f"{' and '.join(names)} went bad at step {step:,}, but no operation that is watched "
            "gave NaN or infinity. Code of Python and NumPy, loaded functions, further replicas "
            "and the updates of variables are not watched"
        )
        return text, {"step": step, "names": names}
    origin = origin_of(found, loss_is_bad=bool(losses))
    fault, share = fault_of(origin), share_of(origin)
    place = origin.lines[0] if origin.lines else None
    where = shown(place) if place else _scope(origin)
    answer: dict[str, Any] = {
        "step": step,
        "fault": fault,
        "operation": origin.kind,
        **({"name": origin.name} if origin.name else {}),
        **({"layer": origin.layer} if origin.layer else {}),
        **({"variable": origin.variable} if origin.variable else {}),
        **({"share": share} if share else {}),
        "inputs": [*map(summary, origin.inputs)],
        "outputs": [*map(summary, origin.outputs)],
        "rows": [*next((each.rows for each in origin.outputs if each.rows), ())],
    }
    if place is not None:
        answer |= {**place.fields, "function": place.function}
    if grown := _grown(growth):
        grew = sorted({name for name, _ in growth})
        answer["growth"] = {"variables": grew, "values": [value for _, value in growth]}
    other = ""
    if differs is not None:
        other = f"from step {differs:,} on the scalars differed from the recorded ones"
        answer["differs"] = differs
    details = "; ".join(filter(None, (share, grown, other)))
    at = f"{f' in {where}' if where else ''} at step {step:,}"
    return f"{fault}{at}{f': {details}' if details else ''}", answer


def _grown(growth: Growth) -> str:
    """Returns how much the largest weight has grown, as a part of a sentence; "" if little."""
    finite = [each for each in growth if math.isfinite(each[1])]
    if len(finite) < len(growth) or len(growth) < 2:
        return ""
    (_, first), (name, last) = growth[0], growth[-1]
    if last < _GROWN * max(first, 1.0):
        return ""
    steps = counted(len(growth) - 1, "step")
    return f"the largest weight, of {name}, grew from {first:.4g} to {last:.4g} in {steps}"


def bad_values(step: int, values: Mapping[str, float]) -> Answer:
    """Returns the answer for a step that had hyperparameters which are not finite."""
    said = [f"{name} was {'NaN' if math.isnan(each) else each}" for name, each in values.items()]
    text = " and ".join(said)
    return f"{text} at step {step:,}", {"step": step, "fault": text, "names": [*values]}


def unexplained(good: int, last: int, differs: int | None) -> Answer:
    """Returns what is said if the steps taken again did not go bad as they had.

    Args:
        good: The step from which they were taken again.
        last: The last step.
        differs: The first step that was another than the recorded one; None if none was.
    """
    taken = f"the steps {good + 1:,} to {last:,} were taken again"
    if differs is None:
        return f"no cause found: {taken} and gave the same scalars as before, but no NaN", {}
    return (
        f"no cause found: {taken}, and differed from step {differs:,} on: they had other data, "
        "random draws or settings, or something else has changed the model"
    ), {"differs": differs}


def _scope(operation: Operation) -> str:
    """Returns where an operation is that no line of the user's program has made."""
    if operation.layer:
        return f"layer {operation.layer}"
    scope = scope_of_derivative(operation.name)
    return operation.name.rpartition("/")[0] if scope is None else scope


def shown(place: CodeLine) -> str:
    """Returns a place in the program: "loss_fn (model.py, line 7)"."""
    where = f"{surroundings.current.name_of_code(place.filename)}, line {place.line:,}"
    return f"{place.function} ({where})" if place.function.isidentifier() else where


def summary(values: Values) -> str:
    """Returns a tensor in words: "float32 (64, 10), 0 to 0.98, 3 zeros, 1 NaN"."""
    shape = f"({', '.join(map(str, values.shape))}{',' * (len(values.shape) == 1)})"
    parts = [f"{values.dtype} {shape}"]
    if not math.isnan(values.least):
        parts.append(f"{values.least:.4g} to {values.most:.4g}")
    if values.zeros:
        parts.append(counted(values.zeros, "zero"))
    counts = {"negative": values.negative, "NaN": values.nan, "infinite": values.infinite}
    parts += [f"{count:,} {what}" for what, count in counts.items() if count]
    return ", ".join(parts)
