"""Refuses arguments that a public function does not take, and says what to type.

train = refusing(train, "nbtrain")
train(step, log_dir="a")   # UnknownArgumentError: ... does not take log_dir=. Give logdir=.
train(step, data, 500)     # UnknownArgumentError: ... Give the others by name: data=, steps=500
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Sequence
from numbers import Integral
from typing import ParamSpec, TypeVar

from nbtrain.core.errors import UnknownArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")

# The meaning of other words: an argument, or a word of the advice.
_OTHER_WORDS = {
    "data": "dataset train_data generator ds x",
    "logdir": "checkpoint_dir folder log_dir model_dir output_dir path",
    "steps": "iterations max_steps num_steps total_steps",
    "learning_rate": "lr",
    "save_every": "checkpoint_every save_freq save_interval",
    "validation_data": "eval_data val_data val_dataset",
}
_MEANT = {word: meant for meant, words in _OTHER_WORDS.items() for word in words.split()}
# The arguments whose values an advice repeats, beside the number of steps.
_SHOWN = ("name", "logdir")
# The words to type instead of one, if the function has a certain argument.
_ADVICE = {
    "batch_size": {
        "data": "Batch the data: data=dataset.batch(32).",
        "iterable": "Batch what is looped over: nbtrain.track(dataset.batch(32)).",
    },
    "callbacks": {
        "hooks": "Give hooks=.",
        "hyperparameters": "The run calls a function at an event with run.on(event, function).",
    },
    "data": {"x": "Give x=.", "iterable": "Give it first, without a name."},
    "epochs": {
        "iterable": "Loop over them around this loop: for epoch in nbtrain.track(range(10)).",
        "train_op": "Give steps=, the step at which the run finishes.",
    },
    "learning_rate": {
        "model": "Give it to the optimizer: model.compile(keras.optimizers.Adam(1e-3), ...).",
        "hyperparameters": "Give it to the optimizer, and to be able to set it later, give "
        'hyperparameters={"learning_rate": optimizer.learning_rate}.',
    },
    "model": {"checkpoint": "To save it, give checkpoint=tf.train.Checkpoint(model=model)."},
    "optimizer": {
        "model": "Compile the model with it: model.compile(optimizer, ...).",
        "train_op": "Give its operation: train_op=optimizer.minimize(loss).",
        "checkpoint": "To save it, give checkpoint=tf.train.Checkpoint(optimizer=optimizer); to be "
        "able to set its values, hyperparameters=optimizer.",
    },
    "save_every": {"save_secs": "Give save_secs= or save_steps=."},
    "validation_data": {"evaluate": "Give evaluate=, a function that returns scalars by name."},
}


def refusing(function: Callable[_P, _R], home: str) -> Callable[_P, _R]:
    """Returns the function, which then says what to type instead of an unknown argument.

    Args:
        home: The module from which it is called, such as "nbtrain".
    """
    parameters = inspect.signature(function).parameters
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes = [name for name, each in parameters.items() if each.kind in named]
    kinds = [each.kind for each in parameters.values()]
    only = kinds.count(inspect.Parameter.KEYWORD_ONLY)
    most = math.inf if inspect.Parameter.VAR_POSITIONAL in kinds else len(kinds) - only

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        called = f"{home}.{function.__name__}()"
        refusals = [
            f"{called} does not take {name}=. {_advice(name, parameters, takes)}"
            for name in kwargs
            if name not in takes
        ]
        if len(args) > most:
            first = ", ".join(list(parameters)[: int(most)]) or "no argument"
            given = "1 argument has" if len(args) == 1 else f"{len(args)} arguments have"
            refusals.append(
                f"{called} takes {first} without a name, but {given} none. "
                + _by_name(args[int(most) :], takes[len(takes) - only :])
            )
        if refusals:
            raise UnknownArgumentError("\n".join(refusals))
        return function(*args, **kwargs)

    call.__module__ = home
    return call


def _by_name(others: Sequence[object], takes: Sequence[str]) -> str:
    """Says how to give arguments by name, from what they are."""
    if not takes:
        return "It takes no others."
    one = "the other one" if len(others) == 1 else "the others"
    meant = [_meaning(each, takes) for each in others]
    if None in meant or len(set(meant)) < len(meant):
        return f"Give {one} by name; it takes {', '.join(takes)}."
    words = []
    for value, name in zip(others, meant, strict=True):
        shown = str(value) if name == "steps" else repr(value) if name in _SHOWN else ""
        or_epochs = f" (or epochs={shown})" if name == "steps" and "epochs" in takes else ""
        words.append(f"{name}={shown}{or_epochs}")
    return f"Give {one} by name: {', '.join(words)}."


def _meaning(value: object, takes: Collection[str]) -> str | None:
    """Returns the argument that a value is probably meant for."""
    if isinstance(value, str | os.PathLike):
        meant = "name" if isinstance(value, str) and os.sep not in value else "logdir"
    elif isinstance(value, Integral):
        meant = "" if isinstance(value, bool) else "steps"
    else:
        meant = "checkpoint" if type(value).__name__ == "Checkpoint" else "data"
    return meant if meant in takes else None


def _advice(name: str, parameters: Collection[str], takes: Collection[str]) -> str:
    if name in parameters:
        return "Give it first, without a name."
    near = difflib.get_close_matches(name, [*takes, *_ADVICE, *_MEANT], n=1, cutoff=0.7)
    for word in (name, *near):
        meant = _MEANT.get(word, word)
        if meant in takes:
            return f"Give {meant}=."
        for argument, advice in _ADVICE.get(meant, {}).items():
            if argument in parameters:
                return advice
    return f"It takes {', '.join(takes) or 'no arguments'}."
