"""Finds the operations of which others are derivatives, as a `tf.GradientTape` adds them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbtrain.run.why.operation import is_within, scope_of_derivative

# Operations whose outputs are inputs, or parts of them. TensorFlow also adds identities behind the
# end of a function, which nothing may depend on.
MOVES = frozenset(
    {
        *("Identity", "IdentityN", "StopGradient", "PreventGradient", "Placeholder", "Const"),
        *("Reshape", "Squeeze", "ExpandDims", "Transpose", "Concat", "ConcatV2", "Pack", "Unpack"),
        *("Slice", "StridedSlice", "Split", "SplitV", "Fill", "Tile", "BroadcastTo", "Gather"),
        *("GatherV2", "GatherNd", "Pad", "PadV2", "TensorListStack", "TensorListGetItem"),
        *("PyFunc", "EagerPyFunc", "PyFuncStateless", "Snapshot"),
    }
)


class Derivatives:
    """Operations of graphs, added in the order in which they were traced.

    Attributes:
        numbers: The place of each in that order.
    """

    def __init__(self) -> None:
        self.numbers: dict[tf.Operation, int] = {}
        self._operations: list[tf.Operation] = []
        # The operations that no tape has added: the first in each scope of names, and all by the
        # tensors that they make and use.
        self._scopes: dict[str, tf.Operation] = {}
        self._makers: dict[Any, tf.Operation] = {}
        self._users: defaultdict[Any, list[tf.Operation]] = defaultdict(list)

    def add(self, operation: tf.Operation) -> None:
        """Adds an operation."""
        self.numbers[operation] = len(self._operations)
        self._operations.append(operation)
        if scope_of_derivative(operation.name) is not None:
            return
        scope = operation.name
        while scope and scope not in self._scopes:
            self._scopes[scope] = operation
            scope = scope.rpartition("/")[0]
        self._makers |= {each.ref(): operation for each in operation.outputs}
        for each in operation.inputs:
            self._users[each.ref()].append(operation)

    def sources_of(self, operation: tf.Operation) -> Iterator[int]:
        """Yields the numbers of the operations from which inputs come."""
        waiting, seen = [*operation.inputs], set()
        while waiting:
            source = waiting.pop(0).op
            if source in seen:
                continue
            seen.add(source)
            if source in self.numbers:
                yield self.numbers[source]
            else:
                waiting += source.inputs

    def forward_of(self, operation: tf.Operation) -> tf.Operation:
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
            for source in map(self._operations.__getitem__, self.sources_of(part)):
                if scope_of_derivative(source.name) is None:
                    nearest = nearest or source
                elif source not in seen:
                    waiting.append(source)
                    seen.add(source)
        return self._scopes.get(scope) or nearest or operation

    def _sharing(self, derivative: tf.Operation) -> Iterator[tf.Operation]:
        """Yields the operations with which a derivative shares tensors."""
        given = [each.ref() for each in derivative.inputs]
        if derivative.type.endswith("Grad"):
            yield from (self._makers[each] for each in given if each in self._makers)
        for each in given:
            yield from self._users.get(each, ())
