"""Finds the optimizers with which a model is trained."""

from __future__ import annotations

from typing import Any

import keras

from nbtrain.engines.named_variables import survey
from nbtrain.keras.trackers import has_keras_step

_ROOT = "model/"


def optimizers_of(model: Any) -> dict[str, Any]:
    """Returns the optimizers of a compiled model by name; its `optimizer` has the name "".

    A `train_step` of the user's own may use other optimizers, which are attributes of the model.
    Then `compile` makes a default optimizer that no step uses. It is left out until it has been
    built, by the first step that uses it. Optimizers of models within this one are left out.
    """
    if has_keras_step(model):
        return {"": model.optimizer}
    found = survey({_ROOT[:-1]: model}, leave_out=(keras.metrics.Metric,)).optimizers
    others = {
        name.removeprefix(_ROOT).replace("/", "_"): optimizer
        for name, optimizer in found.items()
        if optimizer is not model.optimizer and not name.endswith("/optimizer")
    }
    return others if others and _is_default(model.optimizer) else {"": model.optimizer, **others}


def _is_default(optimizer: Any) -> bool:
    """Returns whether an optimizer is like the one of a bare `compile()`, and not built."""
    usual = keras.optimizers.get("rmsprop")
    return (
        type(optimizer) is type(usual)
        and not optimizer.built
        and {**optimizer.get_config(), "name": ""} == {**usual.get_config(), "name": ""}
    )
