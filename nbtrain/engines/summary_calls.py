"""Finds calls of `tf.summary` in trained code that record nothing because there is no writer.

A summary writer belongs to the thread that set it, and a traced function to the writer that it was
traced under. The calls are found in the code, before anything is called.
"""

from __future__ import annotations

import dis
import os
import types
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from nbtrain.core.tracebacks import is_of_the_user
from nbtrain.run.run import Run
from nbtrain.run.walk import Walk

_KINDS = frozenset({"scalar", "image", "histogram", "text", "audio", "write", "graph"})
_WRITERS = frozenset({"as_default", "set_as_default"})

# The instructions that look up a name.
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF")


def tell_unwritten(run: Run, functions: Iterable[object]) -> None:
    """Says in the panel what the functions would record in vain; training thread only."""
    run.handle.note("summaries", unwritten(functions, os.path.relpath(run.logdir)))


def unwritten(functions: Iterable[object], logdir: str) -> str | None:
    """Describes the first call of `tf.summary` that records nothing, and how to fix it.

    Must be called in the thread that will train.
    """
    if bool(tf.summary.should_record_summaries()):
        return None
    found = None
    for function in Walk(functions).functions:
        if not is_of_the_user(function.__code__.co_filename):
            continue
        for names in _attributes(function.__code__):
            if _WRITERS & {*names}:  # it has a writer of its own
                return None
            if found is None and names[-1] in _KINDS and _is_summary(names[:-1], function):
                found = f"tf.summary.{names[-1]} in {function.__name__}()"
    if found is None:
        return None
    return (
        f"{found} records nothing: the training thread has no summary writer. Make one before the "
        f"step is traced, writer = tf.summary.create_file_writer({logdir!r}), and call it inside "
        "`with writer.as_default():`, with step= of a variable that counts."
    )


def of_model(model: Any) -> list[object]:
    """The methods of a Keras model and its layers that the user may have written."""
    parts = [model, *model._flatten_layers(include_self=False)]
    names = ("call", "train_step", "compute_loss")
    return [getattr(type(part), name, None) for part in parts for name in names]


def _attributes(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Yields the names that code looks up, with their attributes: ("tf", "summary", "image")."""
    names: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if names and name in ("LOAD_ATTR", "LOAD_METHOD"):
            names = (*names, value)
            continue
        if names:
            yield names
        names = (value,) if name.startswith(_NAMES) else ()
        if isinstance(value, types.CodeType):
            yield from _attributes(value)


def _is_summary(names: tuple[str, ...], function: types.FunctionType) -> bool:
    """Tells if a name with its attributes means `tf.summary` in a function."""
    if not names or names[0] not in function.__globals__:
        return names == ("tf", "summary")  # imported inside
    found = function.__globals__[names[0]]
    for name in names[1:]:
        found = getattr(found, name, None) if isinstance(found, types.ModuleType) else None
    return found is tf.summary
