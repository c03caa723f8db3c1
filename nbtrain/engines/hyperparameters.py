"""Finds the variables that hold hyperparameters: eager, in a graph, or in Keras optimizers.

held_by({"learning_rate": optimizer.learning_rate})    # a variable under its name
held_by(optimizer)                # the variables of an optimizer, under its own names
held_by({"critic": optimizer})    # the same, as `critic_learning_rate`
held_by([g_opt, d_opt])           # the same, under the names of the caller's variables
held_by({...}, graph)             # variables of this graph, among others
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.tracebacks import bound_by_caller
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.engines.dependencies import ops_below
from nbtrain.engines.eager_variable import EagerVariable
from nbtrain.engines.schedules import Factor, ScheduledRate
from nbtrain.inner.keras import rate_of
from nbtrain.inner.variables import as_written, assigning, is_variable

_KERAS = tf.keras.optimizers.Optimizer
_MULTI = getattr(tf.keras.optimizers, "MultiOptimizer", ())  # not in every version


class GraphVariable(Variable):
    """A variable of a graph.

    A value is set by running the variable's initializer with the value fed, as in TensorFlow's
    `Variable.load`.
    Nothing is added to the graph, which may be finalized.
    """

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.whole = variable.dtype.base_dtype.is_integer
        self._session: tf.compat.v1.Session | None = None
        self._asked = False  # whether its value is fetched after each step

    def attach(self, session: tf.compat.v1.Session, ops: Container[tf.Operation]) -> None:
        """Attaches to a session, which runs the operations `ops` at each step."""
        self._session = session
        self._asked = self._asked or any(each in ops for each in assigning(self.variable))

    def read(self) -> float:
        """Returns its value in the session."""
        return as_written(self._opened().run(self.variable))

    def now(self) -> Any:
        """Returns its value if the steps assign to it; always None in a cluster."""
        session = self._opened()
        is_far = bool(getattr(session, "sess_str", ""))  # runs on a server
        return session.run(self.variable) if self._asked and not is_far else None

    def distrust(self) -> None:
        """Notes that an operation outside the train op assigns to it."""
        self._asked = True

    def number(self, value: Any) -> float:
        """Converts an array to a number."""
        return as_written(value)

    def write(self, value: float) -> None:
        """Assigns to it in the session."""
        assign = self.variable.initializer
        self._opened().run(assign, {assign.inputs[1]: value})

    def _opened(self) -> tf.compat.v1.Session:
        assert self._session is not None, "the engine opens the session first"
        return self._session


def in_session(
    variables: Mapping[str, Variable], session: tf.compat.v1.Session, train_op: Any
) -> None:
    """Attaches the graph variables to a session that runs `train_op`; training thread only."""
    held = [variable for variable in variables.values() if isinstance(variable, GraphVariable)]
    ops = ops_below(tf.nest.flatten(train_op)) if held else ()
    for variable in held:
        variable.attach(session, ops)


def held_by(given: Any, graph: tf.Graph | None = None) -> dict[str, Variable]:
    """Returns the variable that holds each hyperparameter.

    Args:
        given: Name to variable or Keras optimizer; one optimizer; a list of these, each in a
            variable of the caller with a name; None for none.
        graph: The graph that is trained; None for eager training.

    Raises:
        ArgumentError: Something else is given, or one variable has two names, which could be set to
            two values.
    """
    if given is None:
        return {}
    if isinstance(given, (list, tuple)) and given:
        given = _by_name(given)
    if isinstance(given, _KERAS):
        found = _of_optimizer(given)
    elif isinstance(given, Mapping):
        found = (each for name, item in given.items() for each in _named(name, item, graph))
    else:
        raise ArgumentError(
            f"hyperparameters={given!r}: give them by name, such as "
            '{"learning_rate": optimizer.learning_rate}, or a Keras optimizer.'
        )
    held: dict[str, Variable] = {}
    names: dict[int, str] = {}
    for name, holder in found:
        if name in held:
            raise ArgumentError(f"Two hyperparameters are called {name!r}: rename one.")
        if (other := names.setdefault(id(holder.variable), name)) != name:
            raise ArgumentError(f"{other!r} and {name!r} are one variable: give it one name.")
        held[name] = holder
    return held


def _by_name(given: Sequence[Any]) -> dict[str, Any]:
    """Returns hyperparameters by the names of the variables that hold them in the caller's code."""
    names = [bound_by_caller(each) for each in given]
    if None in names or len(set(names)) < len(names):
        kinds = ", ".join(type(each).__name__ for each in given)
        line = ", ".join(f'"{name or f"name{at}"}": ...' for at, name in enumerate(names, 1))
        raise ArgumentError(
            f"hyperparameters=[{kinds}]: not each of these is in a variable of its own, whose name "
            f"it would have. Give them by name: hyperparameters={{{line}}}."
        )
    return dict(zip(map(str, names), given, strict=True))


def held_beside(optimizers: Mapping[str, Any], given: Any) -> dict[str, Variable]:
    """Returns the variables of the given hyperparameters and of a model's own optimizers.

    Args:
        optimizers: The optimizers by name; "" leaves the names of the variables as they are.
    """
    held: dict[str, Any] = held_by(given)
    taken = {id(holder.variable) for holder in held.values()}
    own: dict[str, Any] = {}
    for name, optimizer in optimizers.items():
        with contextlib.suppress(ArgumentError):  # its learning rate cannot be set
            if isinstance(optimizer, _KERAS):
                own |= held_by({name: optimizer} if name else optimizer)
    return {name: each for name, each in own.items() if id(each.variable) not in taken} | held


def _named(name: object, item: Any, graph: tf.Graph | None) -> Iterator[tuple[str, Any]]:
    """Yields the variables given under one name."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(
            f"The hyperparameter {name!r}: give a name as Python has them, such as "
            "'learning_rate', for run.set(learning_rate=...)."
        )
    if isinstance(item, _KERAS):
        for own, holder in _of_optimizer(item):
            yield f"{name}_{own}", holder
    else:
        yield name, _variable(name, item, graph)


def _of_optimizer(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yields the variables of a Keras optimizer; its Python numbers are fixed in a traced step."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # for a LossScaleOptimizer
    if isinstance(optimizer, _MULTI):  # its own rate is used by nothing
        for label, each in _labelled(optimizer.optimizers):
            yield from ((f"{label}_{name}", holder) for name, holder in _of_optimizer(each))
        return
    rate = rate_of(optimizer)
    if isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule):
        yield ScheduledRate.NAME, ScheduledRate(optimizer)
    elif is_variable(rate):
        yield "learning_rate", EagerVariable(rate)
    else:
        raise ArgumentError(
            f"The learning rate of {type(optimizer).__name__} is {rate!r}, which cannot be set: "
            "give the optimizer a number or a LearningRateSchedule."
        )
    for name, value in vars(optimizer).items():
        own = not name.startswith("_") and name != Factor.NAME and is_variable(value)
        if own and not tuple(value.shape) and tf.as_dtype(value.dtype).is_floating:
            yield name, EagerVariable(value)


def _labelled(optimizers: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yields optimizers with names that are the same in every program.

    Keras numbers the optimizers of a class over the whole program; here they are numbered among
    these.
    """
    counts: Counter[str] = Counter()
    for optimizer in optimizers:
        base = re.sub(r"\W", "_", re.sub(r"_\d+$", "", optimizer.name))
        yield f"{base}_{counts[base]}" if counts[base] else base, optimizer
        counts[base] += 1


def _variable(name: str, item: Any, graph: tf.Graph | None) -> Variable:
    """Returns the variable that holds one hyperparameter."""
    if not is_variable(item):
        kind = "a tensor" if tf.is_tensor(item) else f"{item!r}, a {type(item).__name__}"
        raise ArgumentError(
            f"hyperparameters[{name!r}] is {kind}, and no variable: what it is now is fixed in a "
            "traced step. Give the tf.Variable that the step reads; for a learning rate under a "
            "schedule, the optimizer itself."
        )
    dtype = tf.as_dtype(item.dtype).base_dtype
    if tuple(item.shape) or not (dtype.is_floating or dtype.is_integer):
        raise ArgumentError(
            f"hyperparameters[{name!r}] is a {dtype.name} variable of shape {tuple(item.shape)}: "
            "give one that holds a single number."
        )
    of = getattr(item, "graph", None)
    if not isinstance(of, tf.Graph):
        return EagerVariable(item)
    if of is not graph:
        of_which = (
            "another graph: was the graph built again? Give the variable of the graph that is "
            "trained."
            if graph
            else "a graph, which only a run that trains the graph itself can set. Start it with "
            f'nbtrain.tf1.supervise(train_op, hyperparameters={{"{name}": ...}}), or with '
            "nbtrain.tf1.monitor, which takes hooks= too."
        )
        raise ArgumentError(f"hyperparameters[{name!r}] is {item.name!r} of {of_which}")
    return GraphVariable(item)
