"""Watches the operations of a step: which of them has an output that is NaN or infinite.

with Watch() as watch:
    step(batch)           # traced anew, with each operation watched
watch.found               # the operations with bad outputs, in the order of their execution

Nothing raises: the step goes on as it would without the watch. Within a traced function, each
floating-point operation gets a `tf.numpy_function` beside it, which TensorFlow executes in the
order of the program. An operation costs some twenty microseconds more, so only single steps are
watched.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.text.tracebacks import callers, is_of_the_user
from nbtrain.inner.keras import layer_at_hand
from nbtrain.inner.tensorflow import (
    add_callback,
    is_meant,
    remove_callback,
    tracing_anew,
    variable_read_by,
)
from nbtrain.run.why.operation import (
    DATA,
    READS,
    CodeLine,
    Operation,
    Values,
    is_within,
    scope_of_derivative,
)

# Operations whose outputs are inputs, or parts of them. TensorFlow also adds identities behind the
# end of a function, which nothing may depend on.
_MOVE = frozenset(
    {
        *("Identity", "IdentityN", "StopGradient", "PreventGradient", "Placeholder", "Const"),
        *("Reshape", "Squeeze", "ExpandDims", "Transpose", "Concat", "ConcatV2", "Pack", "Unpack"),
        *("Slice", "StridedSlice", "Split", "SplitV", "Fill", "Tile", "BroadcastTo", "Gather"),
        *("GatherV2", "GatherNd", "Pad", "PadV2", "TensorListStack", "TensorListGetItem"),
        *("PyFunc", "EagerPyFunc", "PyFuncStateless", "Snapshot"),
    }
)
# In the names of files that AutoGraph makes of functions; elsewhere it gives the user's own lines.
_CONVERTED = "__autograph_generated_file"
# Operations that draw elements of data.
_DRAW = frozenset({"IteratorGetNext", "IteratorGetNextSync", "OptionalGetValue"})


class Watch:
    """Watches the operations of the calling thread, as a context manager.

    Attributes:
        found: The operations with bad outputs, in the order of their execution.
    """

    def __init__(self) -> None:
        self.found: list[Operation] = []
        self._around = contextlib.ExitStack()
        self._watched: list[tf.Operation] = []
        self._numbers: dict[tf.Operation, int] = {}  # the places of operations in that list
        self._layers: dict[tf.Operation, str] = {}  # the paths of the layers that they are of
        # The operations that no tape has added, by the tensors that they make and use.
        self._makers: dict[Any, tf.Operation] = {}
        self._users: defaultdict[Any, list[tf.Operation]] = defaultdict(list)
        self._is_seeing = False  # whether the present operation is one of this object's own

    def __enter__(self) -> Watch:
        self._around.enter_context(tracing_anew(self._check_arguments))
        add_callback(self._see)
        self._around.callback(remove_callback, self._see)
        return self

    def __exit__(self, *_error: object) -> None:
        self._around.close()

    def _check_arguments(self, arguments: Any) -> None:
        """Notes bad arguments of a `tf.function`, unless an operation may have made them."""
        if self.found:
            return
        for each in tf.nest.flatten(arguments, expand_composites=True):
            is_eager = tf.is_tensor(each) and hasattr(each, "numpy")
            if isinstance(each, np.ndarray) or (is_eager and _is_real(each)):
                self._note_data(np.asarray(each))

    def _note_data(self, array: np.ndarray[Any, Any]) -> None:
        """Notes an element of the data if it is not finite."""
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            self.found.append(Operation(DATA, (Values.of(array),)))

    def _see(
        self,
        kind: str | bytes,
        inputs: Sequence[Any],
        _attributes: object,
        outputs: Sequence[Any],
        _name: object = None,
        graph: Any = None,
        **_more: object,
    ) -> None:
        """Is called by TensorFlow after each operation was executed or added to a graph."""
        kind = kind.decode() if isinstance(kind, bytes) else kind
        if self._is_seeing or kind in _MOVE:
            return
        seen = [each for i, each in enumerate(outputs) if _is_real(each) and is_meant(kind, i)]
        if not seen:
            return
        given = [each for each in inputs if _is_real(each)]
        self._is_seeing = True
        try:
            if graph is None:
                self._note(kind, None, seen, given)
            else:
                self._add_note(kind, outputs[0].op, seen, given)
        finally:
            self._is_seeing = False

    def _add_note(
        self, kind: str, operation: tf.Operation, seen: Sequence[Any], given: Sequence[Any]
    ) -> None:
        """Adds the check of an operation's outputs to its graph."""
        self._numbers[operation] = len(self._watched)
        self._layers[operation] = layer_at_hand()
        self._watched.append(operation)
        if scope_of_derivative(operation.name) is None:
            self._makers |= {each.ref(): operation for each in operation.outputs}
            for each in operation.inputs:
                self._users[each.ref()].append(operation)

        def note(*arrays: Any) -> None:
            self._note(kind, operation, arrays[: len(seen)], arrays[len(seen) :])

        tf.numpy_function(note, [*seen, *given], [])

    def _note(
        self,
        kind: str,
        operation: tf.Operation | None,
        outputs: Sequence[Any],
        inputs: Sequence[Any],
    ) -> None:
        """Notes an operation that was executed if an output is not finite."""
        outputs = [np.asarray(each) for each in outputs]
        if kind in _DRAW:
            for each in outputs:
                self._note_data(each)
            return
        if all(np.isfinite(each).all() for each in outputs):
            return
        found = Operation(
            kind,
            tuple(map(Values.of, outputs)),
            tuple(Values.of(np.asarray(each)) for each in inputs),
            lines=tuple(CodeLine(code.co_filename, line, code.co_name) for code, line in callers()),
            layer=layer_at_hand(),
        )
        if operation is not None:
            of = self._forward_of(operation)
            found = replace(
                found,
                name=operation.name,
                lines=_lines_of(of),
                layer=self._layers.get(of, ""),
                number=self._numbers[operation],
                sources=(*self._sources_of(operation),),
                variable=variable_read_by(operation) if kind in READS else "",
                forward=self._numbers[of],
                derivative_of="" if of is operation else of.type,
            )
        self.found.append(found)

    def _sources_of(self, operation: tf.Operation) -> Iterator[int]:
        """Yields the numbers of the watched operations from which inputs come."""
        waiting, seen = [*operation.inputs], set()
        while waiting:
            source = waiting.pop(0).op
            if source in seen:
                continue
            seen.add(source)
            if source in self._numbers:
                yield self._numbers[source]
            else:
                waiting += source.inputs

    def _forward_of(self, operation: tf.Operation) -> tf.Operation:
        """Returns the operation of which this is a derivative; itself if of none.

        A derivative computes with an output of that operation ("SqrtGrad") or with an input of it,
        or with what another part of the same derivative has made of these.
        """
        scope = scope_of_derivative(operation.name)
        if scope is None:
            return operation
        nearest: tf.Operation | None = None  # the nearest source that no tape has added
        waiting, seen = deque([operation]), {operation}
        while waiting:
            part = waiting.popleft()
            for of in self._sharing(part):
                if not scope or is_within(of.name, scope):
                    return of
            for source in map(self._watched.__getitem__, self._sources_of(part)):
                if scope_of_derivative(source.name) is None:
                    nearest = nearest or source
                elif source not in seen:
                    waiting.append(source)
                    seen.add(source)
        within = (each for each in self._watched if scope and is_within(each.name, scope))
        return next(within, None) or nearest or operation

    def _sharing(self, derivative: tf.Operation) -> Iterator[tf.Operation]:
        """Yields the operations with which a derivative shares tensors."""
        given = [each.ref() for each in derivative.inputs]
        if derivative.type.endswith("Grad"):
            yield from (self._makers[each] for each in given if each in self._makers)
        for each in given:
            yield from self._users.get(each, ())


def _lines_of(operation: tf.Operation) -> tuple[CodeLine, ...]:
    """Returns the lines of the user's program that led to an operation."""
    return tuple(
        CodeLine(frame.filename, frame.lineno, frame.name)
        for frame in reversed(operation.traceback)
        if is_of_the_user(frame.filename) and _CONVERTED not in frame.filename
    )


def _is_real(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating)
