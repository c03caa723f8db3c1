"""The names of Keras that are not public (seen in 3.15), each with what it is for.

All of Keras's other names that nbtrain uses are public. No other module has one of these: a new
version of Keras is checked here. Keras itself is imported by none of these functions but
`adapter_of`: a program without it has none of its objects either.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

_GLOBAL_STATE = "keras.src.backend.common.global_state"


# The attribute that is named by `trained_by`.
TRAINED = "_trainable_variables"


# --- variables ----------------------------------------------------------------------------


def storage_of(variable: Any) -> Any:
    """The variable of TensorFlow in a variable of Keras (`_value`)."""
    return variable._value


def trained_by(optimizer: Any) -> list[Any]:
    """The variables that an optimizer was built for.

    Without the name, none: what an optimizer trains is not known then.
    """
    return list(getattr(optimizer, TRAINED, ()))


def rate_of(optimizer: Any) -> Any:
    """The learning rate itself: a variable, a schedule or a function (`_learning_rate`).

    The public `learning_rate` evaluates a schedule. Without the name, None.
    """
    return getattr(optimizer, "_learning_rate", None)


def momenta_of(optimizer: Any) -> Any:
    """The momenta of an optimizer, which have had both names; None if it has none."""
    return getattr(optimizer, "momentums", None) or getattr(optimizer, "_momentums", None)


def trainable_of(layer: Any) -> Iterable[Any]:
    """The trainable variables that a layer has by itself, frozen or not."""
    found: Iterable[Any] = layer._trainable_variables
    return found


def statistics_of(layer: Any) -> Iterable[Any]:
    """The other variables that a layer has by itself, such as moving averages."""
    found: Iterable[Any] = layer._non_trainable_variables
    return found


# --- models -------------------------------------------------------------------------------


def layers_of(model: Any, *, with_itself: bool = True) -> list[Any]:
    """A model, its layers, and their layers (`_flatten_layers`)."""
    return list(model._flatten_layers(include_self=with_itself))


def is_functional(model: Any) -> bool:
    """Returns whether the layers of a model are connected by calls that Keras knows."""
    return hasattr(model, "_nodes_by_depth")


def calls_of(model: Any) -> list[Any]:
    """The calls of the layers within a functional model, as Keras's nodes."""
    return [node for nodes in model._nodes_by_depth.values() for node in nodes]


def made_by(tensor: Any) -> tuple[Any, int, int]:
    """The layer that has made a symbolic tensor, and the numbers of its call and its output."""
    layer, call, output = tensor._keras_history
    return layer, call, output


# --- compiled models ----------------------------------------------------------------------


def builder_of(model: Any) -> Any:
    """Keras's way to build a compiled model by tracing it; None if there is none."""
    return getattr(model, "_symbolic_build", None)


def compiled_parts_of(model: Any) -> list[Any]:
    """The compiled metrics and the compiled loss of a model; None for each that is missing."""
    return [model._compile_metrics, model._compile_loss]


def metrics_given_to(model: Any) -> tuple[Any, Any]:
    """The metrics and the weighted metrics that `compile` was given, as the user wrote them.

    Without the names, None: they are objects of Keras from the first batch on only.
    """
    compiled = getattr(model, "_compile_metrics", None)
    names = "_user_metrics", "_user_weighted_metrics"
    given, weighted = (getattr(compiled, name, None) for name in names)
    return given, weighted


def direction_of(metric: Any) -> str:
    """The direction in which a metric is better, "up" or "down"; empty if it does not say."""
    return str(getattr(metric, "_direction", None) or "")


def loss_tracker_of(model: Any) -> Any:
    """The metric that tracks the loss; None in a model that is not compiled."""
    return model._loss_tracker


def begin_at_epoch(model: Any, epoch: int | None) -> None:
    """Sets the epoch at which the fit that begins starts; None for that of its arguments."""
    model._initial_epoch = epoch


def is_validated_after(model: Any, epoch: int, frequency: Any) -> bool:
    """Returns whether Keras validates after an epoch, counted from 0."""
    return bool(model._should_eval(epoch, frequency))


def adapter_of(data: Any, class_weight: Any) -> Any:
    """Keras's adapter of a dataset, with workers that can be stopped; None in an older Keras."""
    try:
        from keras.src.trainers.data_adapters import get_data_adapter
    except ImportError:
        return None
    return get_data_adapter(data, class_weight=class_weight)


# --- global state -------------------------------------------------------------------------


def state_of_thread() -> dict[str, object]:
    """The state that Keras keeps for the calling thread; empty if nothing has imported Keras."""
    module = sys.modules.get(_GLOBAL_STATE)
    return {} if module is None else vars(module.GLOBAL_STATE_TRACKER)


def global_seed() -> Any:
    """The state of the generator of the whole process; None if there is none."""
    attribute = getattr(sys.modules.get(_GLOBAL_STATE), "get_global_attribute", None)
    generator = None if attribute is None else attribute("global_seed_generator")
    return None if generator is None else generator.state.value
