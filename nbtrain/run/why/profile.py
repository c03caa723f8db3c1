"""Profiles some steps, and finds the layers and lines that their operations are of.

    profile = Profile(folder)
    for _ in range(profile.count):
        with profile:
            step(batch)       # the first one is traced anew, and only notes the operations
    profile.close()
    profile.read()
    profile.parts             # the time by layer and line, the most expensive first

The trace is TensorFlow's own, and stays in the folder for the profile tab of TensorBoard.
"""

from __future__ import annotations

import contextlib
import functools
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.inner.keras import layer_at_hand, optimizer_at_hand
from nbtrain.inner.tensorflow import (
    Span,
    add_callback,
    is_compiled,
    remove_callback,
    spans_in,
    tracing_anew,
)
from nbtrain.run.why.answer import shown
from nbtrain.run.why.derivatives import MOVES, Derivatives
from nbtrain.run.why.operation import CodeLine, lines_of, scope_of_derivative
from nbtrain.run.why.slowness import Cause

# The steps that are profiled, after one that is traced anew and one that is not measured.
_PROFILED = 5
_BEFORE = 2

# A part of the time below which operations leave much of a step to other work.
_IDLE = 0.3

# The scopes of Keras, in words.
_SCOPES = {"compile_loss": "the loss", "compile_metrics": "the metrics"}

# The part of the time from which code outside of functions is what takes it.
_PYTHON = 0.5

# The parts that are told, each of which has a share from which it is worth telling.
_TOLD, _LEAST = 3, 0.1

# Before the types of operations that TensorFlow executes in the place of others.
_OTHERS = re.compile(r"^_(Mkl(Native)?)?")


@dataclass(frozen=True, slots=True)
class Spent:
    """The time that a step spends in a part of it.

    Attributes:
        name: Its layer, its line of the user's program, or the scope of its operations.
        ms: Milliseconds of each step, added up over all threads.
        share: The part of the time of all operations.
        place: The line of the user's program with most of the time; None if there is none.
        layer: The path of the Keras layer below the model; "" if it is of none.
        kinds: The shares of its time by type of operation, the most expensive first.
    """

    name: str
    ms: float
    share: float
    place: CodeLine | None
    layer: str
    kinds: Mapping[str, float]

    @property
    def fields(self) -> dict[str, Any]:
        """The same, as plain data."""
        found: dict[str, Any] = {"name": self.name, "ms": self.ms, "share": self.share}
        found["operations"] = {**self.kinds}
        if self.layer:
            found["layer"] = self.layer
        if self.place is not None:
            found |= self.place.fields
        return found


class Profile:
    """A profile of the steps that it is the context manager of; training thread only.

    Attributes:
        count: The number of steps to take.
        trace: The file of TensorFlow's profiler; None if there is none.
        error: Why nothing could be profiled; None if it could.
        parts: The time by layer or line, the most expensive first; empty before `read`.
        busy: The part of the time of the steps in which an operation was executed.
    """

    count = _BEFORE + _PROFILED

    def __init__(self, folder: Path) -> None:
        self.trace: Path | None = None
        self.error: str | None = None
        self._folder = folder
        self._taken = 0
        self._secs = 0.0  # of the steps that were profiled
        self._began = 0.0
        self._around = contextlib.ExitStack()
        self._is_compiled = False  # XLA has compiled a part of the step
        self._depth = 0  # calls of functions within others
        self._function_secs = 0.0  # in calls of functions, of the steps that were profiled
        self._graphs: dict[int, tf.Graph] = {}
        self._layers: dict[tf.Operation, str] = {}
        self._of_optimizers: set[tf.Operation] = set()
        self.parts: list[Spent] = []
        self.busy = 0.0

    def __enter__(self) -> Profile:
        if self._taken == 0:
            self._around.enter_context(tracing_anew(self._calling, compiled=False))
            add_callback(self._note)
            self._around.callback(remove_callback, self._note)
        if self._taken == _BEFORE:
            self._start()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._taken >= _BEFORE:
            self._secs += time.perf_counter() - self._began
        self._taken += 1

    def close(self) -> None:
        """Ends the profile, and writes the trace."""
        self._around.close()

    def read(self) -> None:
        """Reads the trace: sets the parts."""
        if self.trace is None or self._is_compiled:
            return
        names = _Names(self._graphs.values())
        spans = [each for each in spans_in(self.trace) if names.operation(each.name) is not None]
        self.parts = [*self._parts_of(spans, names)]
        self.busy = min(1.0, 1e-12 * _covered(spans) / self._secs)

    @property
    def step_ms(self) -> float:
        """The milliseconds of a step that was profiled; 0 if none was."""
        return 1e3 * self._secs / _PROFILED

    def told(self) -> Iterator[str]:
        """Yields a sentence about the most expensive parts, if operations take the time."""
        told = [each for each in self.parts[:_TOLD] if each.share >= _LEAST]
        if told and self.busy >= _IDLE:
            shares = ", ".join(f"{each.share:.0%} in {each.name}" for each in told)
            yield f"Of the time of its operations, the step spends {shares}"

    @property
    def fields(self) -> dict[str, Any]:
        """The profile, as plain data; empty if there is none."""
        if self.trace is None:
            return {"error": self.error} if self.error else {}
        parts = [each.fields for each in self.parts]
        return {"trace": str(self.trace), "busy": self.busy, "parts": parts}

    def causes(self) -> Iterator[Cause]:
        """Yields that little of the time of a step is that of operations."""
        if not self.parts:
            return
        outside = 1 - self._function_secs / self._secs
        if outside > _PYTHON:
            yield Cause(
                f"{outside:.0%} of the time of a step is that of Python, outside of its "
                "tf.functions",
                "move it into a tf.function, or do it less often",
            )
        elif self.busy < _IDLE:
            yield Cause(
                f"Operations run for {self.busy:.0%} of the time of a step, and the rest is the "
                "work of Python and TensorFlow for each call",
                "take several steps in each call of a tf.function (in Keras: steps_per_execution=)",
            )

    @contextlib.contextmanager
    def _calling(self, function: Any, _arguments: object) -> Iterator[None]:
        """Measures the time of the outermost calls of functions."""
        self._is_compiled |= is_compiled(function)
        began = time.perf_counter()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth and self._taken >= _BEFORE:
                self._function_secs += time.perf_counter() - began

    def _start(self) -> None:
        try:
            tf.profiler.experimental.start(str(self._folder))
        except tf.errors.AlreadyExistsError:
            self.error = "another profiler is running"
            return
        self._around.callback(self._stop)

    def _stop(self) -> None:
        try:
            tf.profiler.experimental.stop()
        except tf.errors.OpError as error:
            self.error = error.message
            return
        traces = self._folder.glob("plugins/profile/*/*.xplane.pb")
        self.trace = max(traces, key=lambda each: each.stat().st_mtime_ns, default=None)

    def _note(
        self,
        _kind: str | bytes,
        _inputs: object,
        _attributes: object,
        outputs: Sequence[Any],
        _name: object = None,
        graph: Any = None,
        **_more: object,
    ) -> None:
        """Is called by TensorFlow after each operation was executed or added to a graph."""
        if graph is not None:
            self._graphs[id(graph)] = graph
            if outputs:
                self._layers[outputs[0].op] = layer_at_hand()
                if optimizer_at_hand():
                    self._of_optimizers.add(outputs[0].op)

    def _parts_of(self, spans: Sequence[Span], names: _Names) -> Iterator[Spent]:
        """Yields the parts of the time, the most expensive first."""
        spent: defaultdict[str, Counter[CodeLine | None]] = defaultdict(Counter)
        kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        layers: dict[str, str] = {}
        place_of = functools.cache(_place)
        for span, own in _without_inner(spans):
            operation = names.operation(span.name)
            assert operation is not None, "other spans were left out"
            of = names.forward_of(operation)
            layer, place = self._layers.get(of, ""), place_of(of)
            name = f"layer {layer}" if layer else shown(place) if place else self._scope(of)
            layers[name] = layer
            spent[name][place] += own
            kinds[name][_OTHERS.sub("", span.kind)] += own
        total = sum(each.total() for each in spent.values())
        for name, found in sorted(spent.items(), key=lambda each: -each[1].total()):
            ((place, _),) = found.most_common(1)
            whole = found.total()
            of_kinds = {kind: each / whole for kind, each in kinds[name].most_common()}
            ms = 1e-9 * whole / _PROFILED
            yield Spent(name, ms, whole / total, place, layers[name], of_kinds)

    def _scope(self, operation: tf.Operation) -> str:
        """Returns where an operation of no layer and no line is."""
        if operation in self._of_optimizers:
            return "the optimizer"
        if scope_of_derivative(operation.name) is not None:
            return "derivatives"
        scope = str(operation.name.partition("/")[0])
        return _SCOPES.get(scope, scope)


class _Names:
    """The operations of graphs, by the names that a profile gives them.

    Attributes:
        forward_of: Returns the operation of which one is a derivative; itself if of none.
    """

    def __init__(self, graphs: Iterable[tf.Graph]) -> None:
        self._operations: dict[str, tf.Operation] = {}
        derivatives = Derivatives()
        for graph in graphs:
            for each in graph.get_operations():
                self._operations.setdefault(each.name, each)
                if each.type not in MOVES:
                    derivatives.add(each)
        self.forward_of = functools.cache(derivatives.forward_of)

    def operation(self, name: str) -> tf.Operation | None:
        """Returns an operation; None for one of something else.

        In a profile, the names of the calls around it may come first. A name that TensorFlow has
        made of another ends with what it did: "conv2d/Relu-0-TransposeNHWCToNCHW-LayoutOptimizer".
        """
        parts = name.partition("-")[0].split("/")
        found = ("/".join(parts[at:]) for at in range(len(parts)))
        return next((self._operations[each] for each in found if each in self._operations), None)


def _place(operation: tf.Operation) -> CodeLine | None:
    """Returns the innermost line of the user's program that led to an operation."""
    return next(iter(lines_of(operation)), None)


def _without_inner(spans: Iterable[Span]) -> Iterator[tuple[Span, int]]:
    """Yields the picoseconds of each span, without those of others within it."""
    spans = sorted(spans, key=lambda each: (each.thread, each.began, -each.ended))
    own = [each.ended - each.began for each in spans]
    around: list[int] = []  # the numbers of the spans that the present one is within
    for number, span in enumerate(spans):
        while around and not _is_within(span, spans[around[-1]]):
            around.pop()
        if around:
            own[around[-1]] -= own[number]
        around.append(number)
    yield from zip(spans, own, strict=True)


def _is_within(span: Span, other: Span) -> bool:
    return span.thread == other.thread and span.ended <= other.ended


def _covered(spans: Iterable[Span]) -> int:
    """Returns the picoseconds in which one or more of the spans lasted."""
    covered = end = 0
    for span in sorted(spans, key=lambda each: each.began):
        covered += max(0, span.ended - max(end, span.began))
        end = max(end, span.ended)
    return covered
