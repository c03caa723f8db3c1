"""Checks the arguments for training a graph before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.signatures import check_call
from nbtrain.steer.options import Settings
from nbtrain.tf1.saving.savers import saves
from nbtrain.tf1.supervising.supervisor import Supervisor

v1 = tf.compat.v1

Feed = Callable[[], Mapping[Any, Any]]


@dataclass(frozen=True, slots=True)
class GraphTraining:
    """The training of a graph.

    Attributes:
        graph: The graph.
        train_op: The operation or tensor run at every step.
        scalars: Tag to tensor of shape (), fetched together with `train_op`.
        feed: Returns the feed_dict of each step; None feeds nothing.
        hyperparameters: The variables that can be set while it trains.
    """

    graph: tf.Graph
    train_op: Any
    scalars: Mapping[str, tf.Tensor]
    feed: Feed | None
    hyperparameters: Mapping[str, Variable]


def checked(
    train_op: Any, scalars: Any, feed: Any, hyperparameters: Any, supervisor: Any = None
) -> GraphTraining:
    """Returns the training that a user's arguments describe.

    Raises:
        ArgumentError: An argument cannot be used.
    """
    graph = _graph_of(train_op, supervisor)
    tensors = _tensors_of(graph, scalars)
    if feed is not None:
        check_call(
            "feed",
            feed,
            advice="give a function without arguments that returns the feed_dict of a step, such "
            "as lambda: {x: next(batches)}.",
        )
    return GraphTraining(graph, train_op, tensors, feed, held_by(hyperparameters, graph))


def _graph_of(train_op: Any, supervisor: Any) -> tf.Graph:
    if supervisor is not None and not isinstance(supervisor, Supervisor):
        raise ArgumentError(
            f"supervisor={type(supervisor).__name__} object: make it with "
            "nbtrain.tf1.Supervisor(...), which takes the same arguments and "
            "works with eager execution on."
        )
    if supervisor is not None and not supervisor.is_chief:
        raise ArgumentError(
            "The supervisor was made with is_chief=False: it would wait for the chief to prepare "
            "its session. nbtrain.tf1.supervise trains as the chief: leave that argument out."
        )
    if tf.is_tensor(train_op) and not hasattr(train_op, "graph"):
        train_op = "an eager tensor"
    graph = getattr(train_op, "graph", None) if not isinstance(train_op, str) else None
    if not isinstance(graph, tf.Graph):
        raise ArgumentError(
            f"train_op is {train_op!r}: give an operation of a graph, such as "
            "optimizer.minimize(loss, global_step=step) built inside `with graph.as_default():`; "
            "tf.group(...) makes one of several."
        )
    variables = graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
    if any(train_op is variable for variable in variables):
        raise ArgumentError(
            f"train_op is the variable {train_op.op.name!r}, and running that trains nothing: give "
            "an operation such as optimizer.minimize(loss, global_step=step)."
        )
    if supervisor is None and not variables:
        raise ArgumentError("The graph of train_op has no variables: there is nothing to train.")
    if supervisor is not None and supervisor.graph is not graph:
        raise ArgumentError(
            "train_op and supervisor belong to two graphs: build both inside the same "
            "`with graph.as_default():`."
        )
    return graph


def _tensors_of(graph: tf.Graph, scalars: Any) -> dict[str, tf.Tensor]:
    if scalars is None:
        return {}
    if not isinstance(scalars, Mapping):
        raise ArgumentError(f'scalars={scalars!r} is no dict: give tags too, {{"loss": loss}}.')
    return {tag: scalar_of(graph, tag, given) for tag, given in scalars.items()}


def scalar_of(graph: tf.Graph, tag: str, given: Any, *, among: str = "scalars") -> Any:
    """Returns the tensor of shape () that `given`, a tensor, variable or name, refers to.

    Raises:
        ArgumentError: The tensor is not a single number of this graph.
    """
    try:
        tensor = graph.as_graph_element(given, allow_operation=False)
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"{among}[{tag!r}]={given!r} is no tensor of the graph ({error}): give a tensor, or a "
            "name such as 'loss:0'."
        ) from None
    if not isinstance(tag, str) or not tag:
        raise ArgumentError(f"The tag {tag!r} is no name: give a string, such as 'loss'.")
    if tensor.dtype == tf.resource:  # a variable's name is that of its handle
        held = graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        read = (graph.as_graph_element(v) for v in held if getattr(v, "handle", None) is tensor)
        tensor = next(read, tensor)
    kind = tensor.dtype.base_dtype
    if not (kind.is_floating or kind.is_integer or kind.is_bool):
        raise ArgumentError(
            f"{among}[{tag!r}] is a {kind.name}, and a number was expected: give a tensor of one; "
            "of a variable, itself or its read_value()."
        )
    if tensor.shape.rank not in (0, None):
        raise ArgumentError(
            f"{among}[{tag!r}] has the shape {tensor.shape}, and a scalar was expected: reduce it, "
            "as tf.reduce_mean(...) does."
        )
    return tensor


def check_saving(supervisor: Supervisor, settings: Settings) -> None:
    """Raises an ArgumentError if the run is to save variables that its Supervisor cannot."""
    lacks = "logdir" if not supervisor.save_path else "" if saves(supervisor.saver) else "saver"
    for name, cadence in (("save_steps", settings.save_steps), ("save_secs", settings.save_secs)):
        if lacks and cadence and cadence != getattr(Settings(), name):
            raise ArgumentError(
                f"{name}={cadence!r}, and the supervisor has no {lacks}, so nothing can be saved: "
                f"give {lacks}= to nbtrain.tf1.Supervisor(...), or leave {name}= out."
            )
