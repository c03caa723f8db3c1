"""Checks the functions given to a run before anything starts."""

from __future__ import annotations

import inspect
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.steer.options import Settings


def check_call(
    name: str, function: Any, *args: object, advice: str, generates: bool = False
) -> None:
    """Checks that a function can be called with these arguments and returns its result directly.

    Args:
        name: The name of the argument.
        function: The function given.
        args: The arguments that it will be called with.
        advice: The advice what to give instead, for the message.
        generates: Whether it may be a generator function.
    """
    if not callable(function):
        raise ArgumentError(f"{name}={function!r} cannot be called: {advice}")
    for call in (function, type(function).__call__):  # the second is for callable objects
        if inspect.isgeneratorfunction(call) and not generates:
            raise ArgumentError(f"{name}={function!r} returns a generator: {advice}")
        if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            kind = "a coroutine" if inspect.iscoroutinefunction(call) else "an async generator"
            raise ArgumentError(
                f"{name}={function!r} returns {kind}, which no training thread awaits: {advice} "
                "What is asynchronous in it, asyncio.run(...) runs to its end."
            )
    try:
        inspect.signature(function).bind(*args)
    except TypeError as error:
        takes = "takes other arguments" if args else "takes arguments"
        raise ArgumentError(f"{name}={function!r} {takes} ({error}): {advice}") from None
    except ValueError:  # a C function has no signature
        return


def check_evaluation(evaluate: Any, settings: Settings, *args: object) -> None:
    """Checks that `evaluate` can be called with `args`, and is given if it is scheduled."""
    takes = "that takes the session and" if args else "that"
    advice = f'give a function {takes} returns scalars by name, such as {{"loss": loss}}.'
    if evaluate is None:
        check_cadence("evaluate", settings, advice)
    else:
        check_call("evaluate", evaluate, *args, advice=advice)


def check_stage(settings: Settings, checkpoint: object) -> None:
    """Raises an ArgumentError if a stage is named and there is no checkpoint to save it."""
    if settings.stage is not None and checkpoint is None:
        raise ArgumentError(
            f"stage={settings.stage!r} without checkpoint=: a stage goes on from the weights of a "
            "checkpoint. Add the objects to save, such as "
            "checkpoint=tf.train.Checkpoint(model=model, optimizer=optimizer)."
        )


def check_cadence(name: str, settings: Settings, advice: str) -> None:
    """Raises an ArgumentError if an evaluation is scheduled without the argument `name`."""
    for cadence in ("evaluate_secs", "evaluate_steps"):
        if value := getattr(settings, cadence):
            raise ArgumentError(f"{cadence}={value!r} without {name}=: {advice}")
