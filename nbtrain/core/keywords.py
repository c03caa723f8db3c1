"""Refuses keyword arguments that a public function does not take, and says what to type.

train = refusing(train, "nbtrain")
train(step, log_dir="a")   # UnknownArgumentError: ... does not take log_dir=. Give logdir=.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection
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
    """Returns the function, which then says what to type instead of an unknown keyword argument.

    Args:
        home: The module from which it is called, such as "nbtrain".
    """
    parameters = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        takes = [name for name, each in parameters.items() if each.kind in named]
        if unknown := [name for name in kwargs if name not in takes]:
            refusals = (
                f"{home}.{function.__name__}() does not take {name}=. "
                + _advice(name, parameters, takes)
                for name in unknown
            )
            raise UnknownArgumentError("\n".join(refusals))
        return function(*args, **kwargs)

    call.__module__ = home
    return call


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
