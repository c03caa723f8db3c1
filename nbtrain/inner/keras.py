"""The private names of Keras (seen in 3.15) that nbtrain uses, each with its purpose.

All of Keras's other names that nbtrain uses are public. No other module uses a private name, so a
new version of Keras is checked here. Only `adapter_of` imports Keras. The others need not: without
an import of Keras, a program has no objects of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

_GLOBAL_STATE = "keras.src.backend.common.global_state"


# The attribute that `trained_by` reads.
TRAINED = "_trainable_variables"


# --- variables ----------------------------------------------------------------------------


def storage_of(variable: Any) -> Any:
    """Returns the variable of TensorFlow in a variable of Keras (`_value`)."""
    return variable._value


def trained_by(optimizer: Any) -> list[Any]:
    """Returns the variables that an optimizer was built for.

    Empty if Keras lacks the name: then the variables are unknown.
    """
    return list(getattr(optimizer, TRAINED, ()))


def rate_of(optimizer: Any) -> Any:
    """Returns the learning rate itself: a variable, a schedule or a function (`_learning_rate`).

    The public `learning_rate` evaluates a schedule. None if Keras lacks the name.
    """
    return getattr(optimizer, "_learning_rate", None)


def momenta_of(optimizer: Any) -> Any:
    """Returns the momenta of an optimizer, by their new or old name; None if it has none."""
    return getattr(optimizer, "momentums", None) or getattr(optimizer, "_momentums", None)


def trainable_of(layer: Any) -> Iterable[Any]:
    """Returns the trainable variables of a layer without its sublayers, frozen or not."""
    found: Iterable[Any] = layer._trainable_variables
    return found


def statistics_of(layer: Any) -> Iterable[Any]:
    """Returns the other variables of a layer without its sublayers, such as moving averages."""
    found: Iterable[Any] = layer._non_trainable_variables
    return found


# --- models -------------------------------------------------------------------------------


def layers_of(model: Any, *, with_itself: bool = True) -> list[Any]:
    """Returns a model, its layers, and their layers (`_flatten_layers`)."""
    return list(model._flatten_layers(include_self=with_itself))


def is_functional(model: Any) -> bool:
    """Returns whether the layers of a model are connected by calls that Keras knows."""
    return hasattr(model, "_nodes_by_depth")


def calls_of(model: Any) -> list[Any]:
    """Returns the calls of the layers within a functional model, as Keras's nodes."""
    return [node for nodes in model._nodes_by_depth.values() for node in nodes]


def made_by(tensor: Any) -> tuple[Any, int, int]:
    """Returns the layer that made a symbolic tensor, and the numbers of its call and output."""
    layer, call, output = tensor._keras_history
    return layer, call, output


# --- compiled models ----------------------------------------------------------------------


def builder_of(model: Any) -> Any:
    """Returns Keras's method that builds a compiled model by tracing it; None if missing."""
    return getattr(model, "_symbolic_build", None)


def compiled_parts_of(model: Any) -> list[Any]:
    """Returns the compiled metrics and the compiled loss of a model; None for a missing one."""
    return [model._compile_metrics, model._compile_loss]


def metrics_given_to(model: Any) -> tuple[Any, Any]:
    """Returns the metrics and the weighted metrics given to `compile`, as the user wrote them.

    None for each if Keras lacks the name: then the metrics are known only from the first batch on.
    """
    compiled = getattr(model, "_compile_metrics", None)
    names = "_user_metrics", "_user_weighted_metrics"
    given, weighted = (getattr(compiled, name, None) for name in names)
    return given, weighted


def direction_of(metric: Any) -> str:
    """Returns the direction of better values of a metric, "up" or "down"; empty if unknown."""
    return str(getattr(metric, "_direction", None) or "")


def loss_tracker_of(model: Any) -> Any:
    """Returns the metric that tracks the loss; None in a model that is not compiled."""
    return model._loss_tracker


def begin_at_epoch(model: Any, epoch: int | None) -> None:
    """Sets the first epoch of the fit that begins; None for the epoch of its arguments."""
    model._initial_epoch = epoch


def is_validated_after(model: Any, epoch: int, frequency: Any) -> bool:
    """Returns whether Keras validates after an epoch, counted from 0."""
    return bool(model._should_eval(epoch, frequency))


def adapter_of(data: Any, class_weight: Any) -> Any:
    """Returns Keras's adapter of data, whose workers can be stopped; None in an older Keras."""
    try:
        from keras.src.trainers.data_adapters import get_data_adapter
    except ImportError:
        return None
    return get_data_adapter(data, class_weight=class_weight)


# --- global state -------------------------------------------------------------------------


def state_of_thread() -> dict[str, object]:
    """Returns Keras's state of the calling thread; empty if nothing has imported Keras."""
    module = sys.modules.get(_GLOBAL_STATE)
    return {} if module is None else vars(module.GLOBAL_STATE_TRACKER)


def layer_at_hand() -> str:
    """Returns the path of the layer that the calling thread calls, below the model; "" if none."""
    return "/".join(each.name for each in _called())


def path_of_called(layer: Any, *, with_model: bool = False) -> str:
    """Returns the path of a layer that the calling thread has just called; below the model."""
    around = [each for each in _callers() if hasattr(each, "call")] if with_model else _called()
    return "/".join(each.name for each in (*around, layer))


def optimizer_at_hand() -> bool:
    """Returns whether the calling thread is in the update of an optimizer."""
    return any(hasattr(each, "apply_gradients") for each in _callers())


def _called() -> list[Any]:
    """Returns the layers that the calling thread calls, the outermost first, without a model."""
    layers = [each for each in _callers() if hasattr(each, "call")]
    return layers[1:] if layers and hasattr(layers[0], "fit") else layers


def _callers() -> list[Any]:
    """Returns what Keras has opened a scope of names for (`name_scope_stack`)."""
    scopes: Any = state_of_thread().get("name_scope_stack") or ()
    return [scope.caller for scope in scopes]


def global_seed() -> Any:
    """Returns the state of the generator of the whole process; None if there is none."""
    attribute = getattr(sys.modules.get(_GLOBAL_STATE), "get_global_attribute", None)
    generator = None if attribute is None else attribute("global_seed_generator")
    return None if generator is None else generator.state.value
