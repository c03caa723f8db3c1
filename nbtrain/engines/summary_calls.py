"""Finds calls of `tf.summary` in trained code that record nothing, and says why.

A run records what its step gives to `tf.summary`. But a traced function keeps what it was traced
with: one that was traced before, without a writer, has no such operations. XLA has none either.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from nbtrain.core.tracebacks import is_of_the_user
from nbtrain.run.run import Run
from nbtrain.run.traced import traces
from nbtrain.run.walk import COMPILED, Walk

_KINDS = frozenset({"scalar", "image", "histogram", "text", "audio", "write", "graph"})
_WRITERS = frozenset({"as_default", "set_as_default"})

# The instructions that look up a name.
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF")


def tell_unrecorded(run: Run, functions: Iterable[object]) -> None:
    """Says in the panel what the functions give to `tf.summary` in vain; training thread only."""
    run.handle.note("summaries", unrecorded(functions))


def unrecorded(functions: Iterable[object]) -> str | None:
    """Describes the first call of `tf.summary` in vain, and how to mend it; None without any.

    Must be called before the training, and after a first trace.
    """
    functions = [*functions]
    compiled = [*functions, *(found for _, found in Walk(functions).named.values())]
    for each in compiled:
        if not isinstance(each, COMPILED):
            continue
        call = first_call([each])
        if call is None:
            continue
        name = getattr(each, "__name__", "the function")
        if getattr(each, "_jit_compile", None):
            return (
                f"{call} records nothing: {name} is compiled by XLA, which cannot write summaries. "
                "Leave jit_compile=True out, or record with run.record(...) outside of it."
            )
        if traces(each) and not _writes(each):
            return (
                f"{call} records nothing: {name} was traced before this run, without a summary "
                "writer. Run the cell that defines it again, then start the run."
            )
    return None


def begin_recording(run: Run, model: Any) -> None:
    """Lets Keras trace its step again if that gives anything to `tf.summary`."""
    call = first_call(_of_model(model))
    if call is None:
        return
    model.train_function = None
    if model.jit_compile:
        run.handle.note(
            "summaries",
            f"{call} records nothing: Keras compiles the step by XLA, which cannot write "
            "summaries. Give model.compile(..., jit_compile=False).",
        )


def first_call(functions: Iterable[object]) -> str | None:
    """Names the first call of `tf.summary` in functions without a writer of their own."""
    found = None
    for function in Walk(functions).functions:
        if not is_of_the_user(function.__code__.co_filename):
            continue
        for names in _attributes(function.__code__):
            if _WRITERS & {*names}:  # it has a writer of its own
                return None
            if found is None and names[-1] in _KINDS and _is_summary(names[:-1], function):
                found = f"tf.summary.{names[-1]} in {function.__name__}()"
    return found


def _writes(compiled: Any) -> bool:
    """Tells if a trace of a function, or of one that it calls, writes summaries."""
    graphs = [each.graph for each in compiled._list_all_concrete_functions()]
    for graph in graphs:
        if graph.get_collection(ops.GraphKeys._SUMMARY_COLLECTION):
            return True
        library = graph.as_graph_def().library.function
        if any(node.op == "WriteSummary" for made in library for node in made.node_def):
            return True
    return False


def _of_model(model: Any) -> list[object]:
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
