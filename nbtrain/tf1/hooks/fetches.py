"""The fetches of a session's calls: the scalars to add, and the steps that a call counts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbtrain.engines.dependencies import placeholders_below
from nbtrain.tf1.graphs import not_counted, step_of

# The most kinds of fetches whose step count is remembered.
_MOST_KINDS = 64


class Fetches:
    """Remembers, for each kind of fetches, how far a call advances the global step.

    Args:
        global_step: The graph's global step, or None.
        scalars: Tag to tensor, fetched together with fetches that train.
        train_op: Fetches that must advance the global step, if known.

    Attributes:
        steps: The number of steps of the current fetches; None until `learn`.
    """

    def __init__(self, global_step: Any, scalars: Mapping[str, Any], train_op: Any) -> None:
        self.global_step = global_step
        self.steps: int | None = None
        self._train_op = train_op
        self._request = tf.compat.v1.train.SessionRunArgs(scalars) if scalars else None
        tensors = list(scalars.values())
        self._fed = tensors if placeholders_below(tensors) else []
        self._known: dict[tuple[int, ...] | int, tuple[int, Any, Any]] = {}
        self._before: int | None = None  # the step before a call of an unknown kind

    def step_of(self, session: tf.compat.v1.Session) -> int | None:
        """Returns the current global step; None if the graph has none."""
        return step_of(session, self.global_step)

    def ask(self, session: tf.compat.v1.Session, args: Any) -> Any:
        """Returns the request for the scalars in addition to these `SessionRunArgs`, or None."""
        fetches = args.fetches
        kind = type(fetches)
        if kind is list or kind is tuple:
            key: Any = tuple(map(id, fetches))
        elif kind is dict:
            key = tuple(map(id, fetches.values()))
        else:
            key = id(fetches)
        known = self._known.get(key)
        if known is None:
            self.steps, self._key = None, key
            self._before = self.step_of(session)
            self._asked = self._what_to_ask(session.graph, args)
            return self._asked
        self.steps = known[0]
        return known[1]

    def learn(self, session: tf.compat.v1.Session, fetches: Any) -> int:
        """Returns how far these fetches advance the global step.

        If the graph has no global step, each call is one step.

        Raises:
            ArgumentError: The fetches are the train op, and do not advance the global step.
        """
        steps = 1
        if self._before is not None:
            steps = (self.step_of(session) or 0) - self._before
            if steps == 0 and fetches is self._train_op:
                raise not_counted(self._before)
        if len(self._known) >= _MOST_KINDS:
            self._known.clear()
        # Keeps the fetches themselves: as long as they live, no others have their ids.
        self._known[self._key] = steps, self._asked if steps else None, fetches
        self.steps = steps
        return steps

    def forget(self) -> None:
        """Forgets all counts, because the current fetches do not always count the same."""
        self._known.clear()

    def _what_to_ask(self, graph: tf.Graph, args: Any) -> Any:
        """Returns the request for the scalars; None if they need a feed that the fetches do not.

        Another hook may feed the placeholders that the fetches need as well.
        """
        feed = args.feed_dict
        fed = feed if isinstance(feed, Mapping) else ()  # otherwise TensorFlow raises an error
        needed = placeholders_below(self._fed, fed)
        if needed and not set(needed) <= set(placeholders_below(_elements(graph, args.fetches))):
            return None
        return self._request


def _elements(graph: tf.Graph, fetches: Any) -> Iterator[Any]:
    """Yields the tensors and operations of some fetches."""
    for item in tf.nest.flatten(fetches, expand_composites=True):
        with contextlib.suppress(KeyError, TypeError, ValueError):  # TensorFlow raises
            yield graph.as_graph_element(item)
