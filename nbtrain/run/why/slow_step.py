"""Finds the causes of a slow step: it is traced again and again, or executed one by one."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from nbtrain.core.text.tracebacks import callers, is_of_the_user
from nbtrain.inner.tensorflow import (
    add_callback,
    function_of,
    remove_callback,
    seeing_traces,
    traces_of,
)
from nbtrain.run.why.operation import CodeLine
from nbtrain.run.why.slowness import Cause

# The operations of a step that are executed one by one, from which on a graph would be faster.
_MANY = 20

# The beginnings of the kinds of operations that call a traced function.
_CALLS = ("__inference", "__forward", "__backward", "PartitionedCall", "StatefulPartitionedCall")

# The differences of an argument that are named.
_NAMED = 3


class Calls:
    """Notes traces, and operations that are executed one by one, as a context manager of steps.

    Attributes:
        steps: The steps that were noted.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._traced: defaultdict[CodeType, list[Any]] = defaultdict(list)
        self._executed: Counter[tuple[CodeType, int]] = Counter()
        self._around = contextlib.ExitStack()

    def __enter__(self) -> Calls:
        self.steps += 1
        self._around.enter_context(seeing_traces(self._note_trace))
        add_callback(self._note)
        self._around.callback(remove_callback, self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        self._around.close()

    def _note_trace(self, function: Any) -> None:
        code = getattr(function_of(function), "__code__", None)
        if code is not None:
            self._traced[code].append(function)

    def _note(
        self,
        kind: str | bytes,
        _inputs: object,
        _attributes: object,
        _outputs: object,
        _name: object = None,
        graph: Any = None,
        **_more: object,
    ) -> None:
        """Is called by TensorFlow after each operation was executed or added to a graph."""
        kind = kind.decode() if isinstance(kind, bytes) else kind
        if graph is None and not kind.startswith(_CALLS):
            self._executed[callers()[0]] += 1

    @property
    def traces_again(self) -> bool:
        """True if functions were traced again in many of the noted steps."""
        return sum(map(len, self._traced.values())) > self.steps / 4

    def causes(self) -> Iterator[Cause]:
        """Yields what makes the noted steps slow."""
        for code, functions in self._traced.items():
            if len(functions) > 1:
                yield self._tracing(code, functions)
        executed = sum(self._executed.values()) / max(self.steps, 1)
        if executed >= _MANY:
            (code, line), _ = self._executed.most_common(1)[0]
            is_theirs = is_of_the_user(code.co_filename)
            yield Cause(
                f"{executed:,.0f} operations of each step are executed one by one",
                "put them into a function with @tf.function, which executes them as one graph "
                "(in Keras: compile without run_eagerly)",
                CodeLine(code.co_filename, line, "") if is_theirs else None,
            )

    def _tracing(self, code: CodeType, functions: Sequence[Any]) -> Cause:
        """Describes a function that was traced again and again."""
        times = f"{len(functions):,} times in {self.steps:,} steps"
        is_theirs = is_of_the_user(code.co_filename)
        place = CodeLine(code.co_filename, code.co_firstlineno, "") if is_theirs else None
        name = code.co_name if is_theirs else "the step"
        if len({*map(id, functions)}) > 1:
            return Cause(
                f"{name} was traced {times}, as a new tf.function each time",
                "make it once, outside of the step",
                place,
            )
        return Cause(f"{name} was traced {times}", _reason(functions[-1]), place)


def _reason(function: Any) -> str:
    """Returns why a function was traced again, by argument, and what to do."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for trace in traces_of(function):
        for name, parameter in trace.function_type.parameters.items():
            kind = str(parameter.type_constraint)
            if kind not in kinds[name]:
                kinds[name].append(kind)
    for name, found in kinds.items():
        if len(found) > 1:
            return _advice(name, found)
    return "it reads Python objects that change: give them to it as tensors"


def _advice(name: str, kinds: Sequence[str]) -> str:
    """Returns what to do about an argument that differs from call to call."""
    shown = ", ".join(kinds[-_NAMED:])
    if all(kind.startswith("Literal") for kind in kinds):
        return (
            f"its argument {name} is another Python value each time ({shown}): give it as "
            f"tf.constant({name})"
        )
    return (
        f"its argument {name} has other shapes or types ({shown}): give batches of one size, as by "
        "batch(..., drop_remainder=True), or @tf.function(reduce_retracing=True)"
    )
