"""The config that a fit knows by itself: how its model is compiled, and how much it trains."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from nbtrain.core.values.config import Value, value_of
from nbtrain.keras.optimizers import optimizers_of

# Settings of Keras's optimizers that tell nothing while there is no moving average.
_OF_AVERAGE = {"use_ema", "ema_momentum", "ema_overwrite_frequency"}


def known_config(
    model: Any, *, batch_size: int | None, epochs: int, hyperparameters: Collection[str]
) -> dict[str, Value]:
    """Returns the config of a fit, without its hyperparameters, which are recorded anyway.

    Args:
        batch_size: Rows of a batch; None if unknown.
        hyperparameters: Their names.
    """
    found: dict[str, Value] = {}
    for name, optimizer in optimizers_of(model).items():
        kind = name or "optimizer"
        found[kind] = type(optimizer).__name__
        for setting, value in _settings(optimizer):
            if setting.partition(".")[0] not in hyperparameters:
                found[f"{kind}.{setting}"] = value_of(value)
    losses = model.loss.items() if isinstance(model.loss, Mapping) else [("", model.loss)]
    for output, loss in losses:
        if loss is not None:
            found[f"loss.{output}" if output else "loss"] = value_of(_named(loss))
    if batch_size is not None:
        found["batch_size"] = batch_size
    found["epochs"] = epochs
    if model.built:
        found["parameters"] = model.count_params()
    return {**found, "layers": len(model.layers)}


def _settings(optimizer: Any) -> Iterator[tuple[str, object]]:
    """Yields the settings of an optimizer that are in use; none if its class cannot tell them."""
    settings: Mapping[str, Any] = {}
    with contextlib.suppress(Exception):  # a class of the user's own
        settings = optimizer.get_config()
    left_out = set() if settings.get("use_ema") else _OF_AVERAGE
    for name, value in settings.items():
        if name == "name" or name in left_out or value is None or value is False:
            continue
        if isinstance(value, Mapping) and "class_name" in value:  # a schedule
            yield name, value["class_name"]
            for each, number in (value.get("config") or {}).items():
                if each != "name" and number is not None:
                    yield f"{name}.{each}", number
        else:
            yield name, value


def _named(loss: Any) -> object:
    """Returns the name of a loss, or the names of several."""
    if isinstance(loss, list | tuple):
        return [_named(each) for each in loss]
    return loss if isinstance(loss, str) else getattr(loss, "name", loss)
