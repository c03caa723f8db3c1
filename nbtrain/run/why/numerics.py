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
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.text.tracebacks import callers
from nbtrain.inner.keras import layer_at_hand
from nbtrain.inner.tensorflow import (
    add_callback,
    is_meant,
    remove_callback,
    tracing_anew,
    variable_read_by,
)
from nbtrain.run.why.derivatives import MOVES, Derivatives
from nbtrain.run.why.operation import (
    DATA,
    READS,
    CodeLine,
    Operation,
    Values,
    lines_of,
)

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
        self._derivatives = Derivatives()
        self._layers: dict[tf.Operation, str] = {}  # the paths of the layers that they are of
        self._is_seeing = False  # whether the present operation is one of this object's own

    def __enter__(self) -> Watch:
        self._around.enter_context(tracing_anew(self._called))
        add_callback(self._see)
        self._around.callback(remove_callback, self._see)
        return self

    def __exit__(self, *_error: object) -> None:
        self._around.close()

    def _called(self, _function: object, arguments: Any) -> AbstractContextManager[None]:
        """Notes bad arguments of a `tf.function`, unless an operation may have made them."""
        if not self.found:
            self._check_arguments(arguments)
        return contextlib.nullcontext()

    def _check_arguments(self, arguments: Any) -> None:
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
        if self._is_seeing or kind in MOVES:
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
        self._layers[operation] = layer_at_hand()
        self._derivatives.add(operation)

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
            known, of = self._derivatives, self._derivatives.forward_of(operation)
            found = replace(
                found,
                name=operation.name,
                lines=lines_of(of),
                layer=self._layers.get(of, ""),
                number=known.numbers[operation],
                sources=(*known.sources_of(operation),),
                variable=variable_read_by(operation) if kind in READS else "",
                forward=known.numbers[of],
                derivative_of="" if of is operation else of.type,
            )
        self.found.append(found)


def _is_real(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating)
