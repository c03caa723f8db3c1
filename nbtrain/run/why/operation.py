"""An operation of a step whose output is NaN or infinite, with its values in numbers."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from nbtrain.core.text.tracebacks import is_of_the_user

_LONGEST = 3  # rows that are named

# In the names of files that AutoGraph makes of functions; elsewhere it gives the user's own lines.
_CONVERTED = "__autograph_generated_file"

_IN_LOOP = "gradients/"  # before an operation of a loop, in the name of its derivative
_DERIVATIVE = "gradient_tape/"  # in the name of an operation that a tape has added

# The kind of an element of the data, which is noted like an operation.
DATA = "data"


def scope_of_derivative(name: str) -> str | None:
    """Returns the scope of the operation that an operation is a derivative of; None if of none.

    The scope is the name of the operation or of what is around it; "" if there is nothing.
    """
    _, tape, of = name.rpartition(_DERIVATIVE)
    if not tape:
        return None
    scope = of.rpartition("/")[0]
    _, in_loop, operation = scope.rpartition(_IN_LOOP)
    return operation.removesuffix("_grad") if in_loop else scope


def is_within(name: str, scope: str) -> bool:
    """Returns whether an operation has the name of a scope, or is in it."""
    return f"{name}/".startswith(f"{scope}/")


# The operations that read a variable.
READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a tensor, in numbers.

    Attributes:
        shape: The shape.
        dtype: The name of the type, such as "float32".
        least, most: The least and the greatest finite value; NaN without one.
        zeros, negative, nan, infinite: The numbers of values that are 0, below 0, NaN and infinite.
        highest: The number of values that are +∞.
        rows: The first indices along the first axis with a value that is not finite; three at most.
    """

    shape: tuple[int, ...]
    dtype: str
    least: float
    most: float
    zeros: int
    negative: int
    nan: int
    infinite: int
    highest: int
    rows: tuple[int, ...]

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Values:
        """Counts the values of an array of floating-point numbers."""
        wide = np.asarray(array, np.float64)
        finite = np.isfinite(wide)
        rows = ~finite.reshape(len(wide), -1).all(axis=1) if wide.size and wide.ndim else ()
        kept = wide[finite]
        return cls(
            shape=wide.shape,
            dtype=array.dtype.name,
            least=float(kept.min()) if kept.size else float("nan"),
            most=float(kept.max()) if kept.size else float("nan"),
            zeros=int((wide == 0).sum()),
            negative=int((wide < 0).sum()),
            nan=int(np.isnan(wide).sum()),
            infinite=int(np.isinf(wide).sum()),
            highest=int(np.isposinf(wide).sum()),
            rows=tuple(map(int, np.flatnonzero(rows)[:_LONGEST])),
        )

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_finite(self) -> bool:
        """True if no value is NaN or infinite."""
        return not self.nan and not self.infinite


class CodeLine(NamedTuple):
    """A line of the user's program: the file or the name of a cell's code, and the function."""

    filename: str
    line: int
    function: str

    @property
    def fields(self) -> dict[str, Any]:
        """The file, the line and its code, as plain data."""
        found: dict[str, Any] = {"file": self.filename, "line": self.line}
        code = linecache.getline(self.filename, self.line).strip()
        return {**found, "code": code} if code else found


def lines_of(operation: tf.Operation) -> tuple[CodeLine, ...]:
    """Returns the lines of the user's program that led to an operation, the innermost first."""
    return tuple(
        CodeLine(frame.filename, frame.lineno, frame.name)
        for frame in reversed(operation.traceback)
        if is_of_the_user(frame.filename) and _CONVERTED not in frame.filename
    )


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with an output that is NaN or infinite.

    Attributes:
        kind: The type of the operation, such as "Log"; or `DATA`.
        outputs: Its floating-point outputs.
        inputs: Its floating-point inputs.
        name: Its name in the graph, with the layers as scopes; "" if it was executed eagerly.
        lines: The lines of the user's program that led to it, the innermost first; for a
            derivative, those of the operation that it is of.
        layer: The path of the Keras layer that it is of, or that it is a derivative of, below the
            model; "" if it is of none.
        number: Its place in the order in which the operations were traced; -1 if executed eagerly.
        sources: The numbers of the operations whose outputs it has as inputs, as far as known.
        variable: The name of the variable that it reads; "" for other operations.
        forward: The number of the operation that it is a derivative of; its own if it is of none,
            -1 if unknown.
        derivative_of: The type of that operation; "" if it is of none.
    """

    kind: str
    outputs: tuple[Values, ...]
    inputs: tuple[Values, ...] = ()
    name: str = ""
    lines: tuple[CodeLine, ...] = ()
    layer: str = ""
    number: int = -1
    sources: tuple[int, ...] = ()
    variable: str = ""
    forward: int = -1
    derivative_of: str = ""
