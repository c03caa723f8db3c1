"""Evaluates between two training steps, for validation curves beside the training's."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.whole import whole
from nbtrain.engines.dependencies import ops_below
from nbtrain.engines.signatures import check_call
from nbtrain.run.boundary.session_host import SessionHost, owner
from nbtrain.tf1.arguments import scalar_of
from nbtrain.tf1.graphs import adopt_global_step, step_of

v1 = tf.compat.v1

Feeds = Mapping[Any, Any] | Callable[[], Any]


class EvalHook(tf.compat.v1.train.SessionRunHook):
    """Evaluates metrics on a validation set, and records them under their tags in the run.

    The hook acts in the training thread of a run (`nbtrain.tf1.monitor`, or `RunHook` in the user's
    own loop), between two steps, in the training's own session. Other hooks do not see its calls.

    Args:
        metrics: Tag to tensor of shape () or its name, averaged over the batches; or to the pair
            (value, update_op) of `tf.compat.v1.metrics`, whose local variables are reset before
            each evaluation.
        feed: The feed_dict of a single batch; or a function, which runs eagerly, like a cell. The
            function returns the feed_dict of a batch and is called for each batch, or returns an
            iterable of feed_dicts and is called for each evaluation. None feeds nothing.
        every_steps: Global steps between two evaluations; None disables this.
        every_secs: Seconds between two evaluations; None disables this.
        steps: The most batches of an evaluation. None uses all until the feed, or the input of the
            graph, is exhausted. If nothing can be exhausted, None uses one batch. A stop of the run
            ends an evaluation between two batches; such an evaluation is not recorded.
        init_op: Run before each evaluation, such as the initializer of an iterator.

    Raises:
        ArgumentError: An argument cannot be used.

    Example:
        >>> evaluate = nbtrain.tf1.EvalHook({"val_loss": loss}, feed={x: x_val}, every_steps=100)
        >>> run = nbtrain.tf1.monitor(train_op, feed=batch, hooks=[evaluate])
    """

    def __init__(
        self,
        metrics: Mapping[str, Any],
        *,
        feed: Feeds | None = None,
        every_steps: int | None = None,
        every_secs: float | None = None,
        steps: int | None = None,
        init_op: Any = None,
    ) -> None:
        if not isinstance(metrics, Mapping) or not metrics:
            raise ArgumentError(
                f'metrics={metrics!r}: give tensors by their tags, such as {{"val_loss": loss}}.'
            )
        if every_steps is None and every_secs is None:
            raise ArgumentError("Give every_steps= or every_secs=: when to evaluate.")
        if steps is not None:
            steps = whole("steps", steps, none="take batches until the feed is exhausted")
        if every_steps is not None:
            every_steps = whole("every_steps", every_steps, none="evaluate by every_secs= alone")
        if every_secs is not None and not (isinstance(every_secs, Real) and every_secs > 0):
            raise ArgumentError(f"every_secs={every_secs!r}: give seconds above 0, or None.")
        if feed is not None and not callable(feed) and not isinstance(feed, Mapping):
            raise ArgumentError(
                f"feed={type(feed).__name__} object: give a feed_dict, or a function that returns "
                "one, or that returns the iterable of all; an iterator lasts one evaluation only."
            )
        if callable(feed):
            advice = "give a function without arguments that returns a feed_dict, or all of them."
            check_call("feed", feed, advice=advice, generates=True)
        self._metrics = dict(metrics)
        self._feed = feed
        self._due = Every(steps=every_steps, secs=every_secs)
        self._steps = steps
        self._init_op = init_op
        self._owner: SessionHost | None = None

    @property
    def tags(self) -> frozenset[str]:
        """The tags that it records."""
        return frozenset(self._metrics)

    # --- as a hook --------------------------------------------------------------

    def begin(self) -> None:
        """Finds the run, the tensors, and the variables to reset.

        Raises:
            ArgumentError: This is not a run's training thread, or a metric cannot be used.
        """
        self._owner = owner.get()
        if self._owner is None:
            raise ArgumentError(
                "An EvalHook records in a run, and this thread trains none: give it to "
                "nbtrain.tf1.monitor(), or make the session in a function of @nbtrain.background."
            )
        graph = v1.get_default_graph()
        self._global_step = adopt_global_step(graph)
        step = self._global_step
        self._request = None if step is None else v1.train.SessionRunArgs(step)
        self._tensors = _Tensors.of(graph, self._metrics)
        self._runs = self._last = 0

    def after_create_session(
        self,
        session: tf.compat.v1.Session,
        coord: tf.train.Coordinator,  # noqa: ARG002 - TensorFlow's
    ) -> None:
        """Counts steps and seconds from here."""
        self._due.start(step_of(session, self._global_step) or self._runs, time.monotonic())

    def before_run(self, run_context: Any) -> Any:  # noqa: ARG002 - TensorFlow's
        """Fetches the global step, with its value before or after this step."""
        return self._request

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Evaluates if an evaluation is due."""
        now = time.monotonic()
        if self._request is None:
            self._runs += 1
            if self._due(self._runs, now):
                self._evaluate(run_context.session, None)
            return
        # The value from before this step or after it: TensorFlow does not order the read and the
        # increment.
        about = int(np.ravel(run_values.results)[0])
        if about < self._last:  # the training went back to a checkpoint
            self._due.start(step_of(run_context.session, self._global_step) or 0, now)
        self._last = about
        if self._due.soon(about + 1, now):
            step = step_of(run_context.session, self._global_step) or 0
            if self._due(step, now):
                self._evaluate(run_context.session, step)

    # --- an evaluation ----------------------------------------------------------

    def _evaluate(self, session: tf.compat.v1.Session, step: int | None) -> None:
        assert self._owner is not None, "begin() has found it"
        tensors = self._tensors
        session.run([tensors.resets, [] if self._init_op is None else self._init_op])
        sums = dict.fromkeys(tensors.means, 0.0)
        batches = 0
        try:
            for feed in _eagerly(self._batches()):
                if batches and self._owner.asked_to_stop():
                    return  # a part of the batches is not a validation
                means, _ = session.run([tensors.means, tensors.updates], feed)
                batches += 1
                for tag, value in means.items():
                    sums[tag] += float(value)
        except (StopIteration, tf.errors.OutOfRangeError):
            pass  # the validation set is exhausted, not the training's input
        if batches:
            values = {tag: total / batches for tag, total in sums.items()}
            values.update({tag: float(v) for tag, v in session.run(tensors.values).items()})
            self._owner.add(step, values)
        else:
            v1.logging.warning(
                "EvalHook: no batch at step %s, nothing was evaluated. Its feed is exhausted: give "
                "a function that returns a new iterable for each evaluation.",
                step,
            )

    def _batches(self) -> Iterator[Mapping[Any, Any] | None]:
        """Yields the feed_dict of each batch of one evaluation."""
        feed, most = self._feed, self._steps
        if callable(feed):
            return itertools.islice(_called(feed), most)
        if most is None and self._init_op is None:
            most = 1  # nothing can be exhausted
        return itertools.islice(itertools.repeat(feed), most)


def check_tags(scalars: Iterable[str], hooks: Sequence[Any]) -> None:
    """Raises an ArgumentError if two hooks, or a hook and a scalar, have the same tag."""
    taken = set(scalars)
    for hook in hooks:
        if not isinstance(hook, EvalHook):
            continue
        if twice := sorted(taken & hook.tags):
            raise ArgumentError(
                f"An EvalHook evaluates {twice[0]!r}, and a scalar or another EvalHook is recorded "
                f"under that tag: give the metric another, such as 'val_{twice[0]}'."
            )
        taken |= hook.tags


@dataclass(frozen=True, slots=True)
class _Tensors:
    """The tensors of some metrics by tag.

    Attributes:
        means: Tensors that are averaged over the batches.
        values: Tensors that are read after the last batch, of `tf.compat.v1.metrics`.
        updates: The update ops of `values`.
        resets: The initializers of the local variables that the updates write to.
    """

    means: Mapping[str, Any]
    values: Mapping[str, Any]
    updates: Sequence[Any]
    resets: Sequence[Any]

    @classmethod
    def of(cls, graph: tf.Graph, metrics: Mapping[str, Any]) -> _Tensors:
        """Finds the tensors.

        Raises:
            ArgumentError: A metric cannot be used.
        """
        means, values, updates = dict[str, Any](), dict[str, Any](), list[Any]()
        for tag, given in metrics.items():
            if not isinstance(given, (tuple, list)):
                means[tag] = scalar_of(graph, tag, given, among="metrics")
                continue
            if len(given) != 2:
                raise ArgumentError(
                    f"metrics[{tag!r}] has {len(given)} parts: give a tensor, or the pair (value, "
                    "update_op) that tf.compat.v1.metrics returns."
                )
            values[tag] = scalar_of(graph, tag, given[0], among="metrics")
            updates.append(given[1])
        needed = ops_below(updates)
        variables = graph.get_collection(v1.GraphKeys.METRIC_VARIABLES)
        resets = [variable.initializer for variable in variables if variable.op in needed]
        return cls(means, values, updates, resets)


def _called(feed: Callable[[], Any]) -> Iterator[Mapping[Any, Any]]:
    """Yields the dicts of a feed function, which returns one at each call or all at once."""
    with contextlib.suppress(StopIteration):
        given = feed()
        if not isinstance(given, Mapping):
            yield from given
            return
        while True:
            yield given
            given = feed()


def _eagerly(feeds: Iterator[Any]) -> Iterator[Any]:
    """Yields the same dicts, each computed eagerly: hooks are called inside a graph."""
    while True:
        with tf.__internal__.eager_context.eager_mode():
            try:
                feed = next(feeds)
            except StopIteration:
                return
        yield feed
