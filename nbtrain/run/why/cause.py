"""Finds the operation from which a NaN or an infinity comes, and says so in words.

made = origin_of(watch.found)
fault_of(made)                  # "log of 0"
share_of(made)                  # "3 of 64 values of its input are 0"
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence

from nbtrain.run.why.operation import DATA, READS, Operation, Values

# The greatest finite numbers of the types.
_MOST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.4028235e38, "float64": 1.8e308}

_OF = "derivative of"

# So many products of small numbers are not added up: what is infinite then is no overflow.
_MANY = 1000


def origin_of(found: Sequence[Operation], *, loss_is_bad: bool = False) -> Operation:
    """Returns the operation from which the bad values of a step come.

    It is the first that gives NaN from inputs without one. If its inputs are infinite, it is the
    operation that has made the infinity from finite inputs; an infinity that the program has set,
    such as that of a mask, was made by none. Without a NaN, it is the first that gives an infinity.

    The variables were finite before the step. One that is read as NaN is an effect: a read may see
    the update of the same step, on which nothing in the step waits.

    If the loss of the step is bad, it does not come from a derivative: gradients that are infinite
    or NaN too are an effect, or those of a loss scale that is too large.

    Args:
        found: The operations with bad outputs, in the order of their execution; one or more.
        loss_is_bad: Whether a loss of the step is NaN or infinite.
    """
    before = [*itertools.takewhile(lambda each: not each.derivative_of, found)]
    if loss_is_bad and any(_gives_nan(each) or _is_made(each) for each in before):
        found = before
    found = [each for each in found if each.kind not in READS] or found
    made = [*filter(_is_made, found)]
    nan = next((each for each in found if _gives_nan(each)), None)
    if nan is None:  # data may have an infinity that is meant
        return next((each for each in made if each.kind != DATA), (made or found)[0])
    if nan in made:
        return nan
    known = {each.number: each for each in found if each.number >= 0}
    waiting, seen = deque(nan.sources), set()
    while waiting:
        number = waiting.popleft()
        source = known.get(number)
        if source is None or number in seen:
            continue
        if source in made:
            return _forward_of(source, made)
        seen.add(number)
        waiting += source.sources
    # The sources of an operation outside of a function are unknown, and so are its arguments.
    before = [each for each in found[: found.index(nan)] if each in made]
    return next((each for each in before if nan.number < 0 or each.kind == DATA), nan)


def _forward_of(operation: Operation, made: Sequence[Operation]) -> Operation:
    """Returns the operation of which this is a derivative if that has given an infinity too."""
    return next((each for each in made if each.number == operation.forward), operation)


def _is_made(operation: Operation) -> bool:
    return all(values.is_finite for values in operation.inputs)


def _gives_nan(operation: Operation) -> bool:
    inputs, outputs = operation.inputs, operation.outputs
    return any(each.nan for each in outputs) and not any(each.nan for each in inputs)


def fault_of(operation: Operation) -> str:
    """Returns what is wrong, as a part of a sentence: "log of 0", "division by 0"."""
    fault, of = _fault_of(operation), operation.derivative_of
    return f"{fault} in the derivative of {of}" if of and not fault.startswith(_OF) else fault


def _fault_of(operation: Operation) -> str:
    if operation.kind == DATA:
        return f"{_bad(operation.outputs)} in the data"
    if operation.variable or not operation.inputs:
        return f"{_bad(operation.outputs)} in {operation.variable or operation.kind}"
    fault = _FAULTS.get(operation.kind)
    found = fault(operation) if fault else ""
    return found or _overflow(operation) or f"{operation.kind} of {_given(operation.inputs)}"


def share_of(operation: Operation) -> str:
    """Returns how much of the input is at fault, as a sentence without its end; or ""."""
    fault = _fault_of(operation)
    if operation.kind == DATA:
        (values,) = operation.outputs
        rows = ", ".join(map(str, values.rows))
        at = f", first in {'row' if len(values.rows) == 1 else 'rows'} {rows}" if rows else ""
        return f"{_counted(values.nan + values.infinite, values, 'not finite')}{at}"
    if not operation.inputs:
        return ""
    divides = operation.kind in _DIVISIONS
    values = operation.inputs[-1 if divides else 0]
    if fault.endswith(" 0"):
        return _counted(values.zeros, values, "0", "divisors" if divides else "values")
    if fault.endswith("negative number"):
        return _counted(values.negative, values, "negative")
    if fault.startswith("overflow ") and "exp(" not in fault:
        dtype = operation.outputs[0].dtype
        most = f", and the greatest {dtype} is {_MOST[dtype]:.4g}" if dtype in _MOST else ""
        return f"its inputs are as large as {_largest(operation.inputs):.4g}{most}"
    return ""


def _largest(values: Sequence[Values]) -> float:
    """Returns the greatest absolute value that is finite; 0 without one."""
    ends = [abs(end) for each in values for end in (each.least, each.most)]
    return max((end for end in ends if math.isfinite(end)), default=0.0)


def _counted(count: int, of: Values, what: str, name: str = "values") -> str:
    return f"{count:,} of {of.size:,} {name} {'is' if count == 1 else 'are'} {what}"


def _given(inputs: Sequence[Values]) -> str:
    if any(not each.is_finite for each in inputs):
        return f"values that are {_bad(inputs)}"
    return "values for which it is not defined"


def _bad(values: Sequence[Values]) -> str:
    return "NaN" if any(each.nan for each in values) else "infinite"


def _of(name: str) -> Callable[[Operation], str]:
    """Returns the fault of a function that is defined above 0 only."""

    def fault(operation: Operation) -> str:
        (values, *_) = operation.inputs
        if values.negative and any(each.nan for each in operation.outputs):
            return f"{name} of a negative number"
        return f"{name} of 0" if values.zeros else ""

    return fault


def _derivative(name: str) -> Callable[[Operation], str]:
    return lambda operation: f"{_OF} {name} at 0" if operation.inputs[0].zeros else ""


def _division(operation: Operation) -> str:
    return "division by 0" if operation.inputs[-1].zeros else ""


def _power(operation: Operation) -> str:
    base, exponent = operation.inputs
    if base.zeros and exponent.negative:
        return "negative power of 0"
    nan = any(each.nan for each in operation.outputs)
    return "fractional power of a negative number" if base.negative and nan else ""


def _exponential(operation: Operation) -> str:
    (values,) = operation.inputs
    return f"overflow of exp({values.most:.4g}) in {values.dtype}"


def _softmax(operation: Operation) -> str:
    values = operation.inputs[0]
    if values.infinite and not values.highest:
        return "softmax over values that are all −∞"
    return "softmax of +∞" if values.highest else ""


def _overflow(operation: Operation) -> str:
    """Returns the fault of an operation whose result is too large for its type."""
    finite = all(each.is_finite for each in operation.inputs)
    if not finite or not any(each.infinite for each in operation.outputs):
        return ""
    given = {each.dtype for each in operation.inputs}
    dtype = operation.outputs[0].dtype
    most = _MOST.get(dtype, math.inf)
    if _largest(operation.inputs) < math.sqrt(most) / _MANY:
        return ""
    narrower = operation.kind == "Cast" and given != {dtype}
    what = "" if narrower else f" of {operation.kind}"
    return f"overflow{what} in {dtype}"


_DIVISIONS = ("RealDiv", "Div", "Mod", "FloorMod", "FloorDiv", "Xdivy")
_FAULTS: dict[str, Callable[[Operation], str]] = {
    "Log": _of("log"),
    "Sqrt": _of("sqrt"),
    "Rsqrt": _of("1/sqrt"),
    "Lgamma": _of("lgamma"),
    "Digamma": _of("digamma"),
    "SqrtGrad": _derivative("sqrt"),
    "RsqrtGrad": _derivative("1/sqrt"),
    "Reciprocal": _division,
    "Inv": _division,
    **dict.fromkeys(_DIVISIONS, _division),
    "Pow": _power,
    **dict.fromkeys(("Exp", "Expm1", "Sinh", "Cosh"), _exponential),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
}
