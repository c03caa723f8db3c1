"""Finds the causes of slow data in the pipeline of `tf.data` itself.

TensorFlow 2.21 changes a pipeline before it executes it: a `map` without state runs in parallel
even without `num_parallel_calls`, `map` and `batch` become one, and a `prefetch` is added at the
end. So what is named here is only what TensorFlow leaves as it is.
"""

from __future__ import annotations

import ast
import functools
import glob
import linecache
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import keras
import tensorflow as tf

from nbtrain.core.errors import PhaseError
from nbtrain.core.text.tracebacks import is_of_the_user
from nbtrain.inner.tensorflow import (
    cache_file_of,
    inputs_of,
    mapped_by,
    size_of_batch,
    size_of_buffer,
)
from nbtrain.run.program import for_loops
from nbtrain.run.why.operation import CodeLine
from nbtrain.run.why.slowness import Cause

_PYTHON = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
_GENERATOR = "GeneratorDataset"
_READS = {"ReadFile", "WholeFileReaderV2"}

# Milliseconds for each call of a function below which the call itself takes most of the time.
_SMALL_MS = 0.05

# Elements that a `prefetch` may hold which chooses their number.
_CHOSEN = 16

_AUTOTUNE = "tf.data.AUTOTUNE"


def prepared_by(data: Any) -> int:
    """Returns how many elements may have been prepared in advance, as far as it is known."""
    if isinstance(data, keras.utils.PyDataset):  # Keras's queue, and a `prefetch` behind it
        return int(data.max_queue_size + data.workers) + _CHOSEN
    sizes = [size_of_buffer(each) for each in _chain(data)]
    return sum(_CHOSEN if each < 0 else each for each in sizes)


def causes_in(data: Any, ms: float) -> Iterator[Cause]:
    """Yields what makes the elements of some data slow.

    Args:
        data: A `tf.data.Dataset`, or anything else that a training draws from.
        ms: The milliseconds that an element takes.
    """
    if isinstance(data, keras.utils.PyDataset):
        name = type(data).__name__
        yield Cause(
            f"{name}.__getitem__ makes each batch in Python",
            f"give it more workers, as in super().__init__(workers={2 * max(1, data.workers)})",
        )
    elif not isinstance(data, tf.data.Dataset):
        yield Cause(
            f"The elements come from Python ({type(data).__name__}), while no step is trained",
            f"draw from a tf.data.Dataset that ends with .prefetch({_AUTOTUNE})",
        )
    chain = [*_chain(data)]
    batch = 1  # the elements of the batches that are made after a dataset
    for at, dataset in enumerate(chain):
        batch *= size_of_batch(dataset) or 1
        if (mapped := mapped_by(dataset)) is None:
            continue
        function, graph = mapped
        kinds = {each.type for each in graph.get_operations()}
        name, place = _name(function), _place(function)
        if _GENERATOR in kinds:
            yield Cause(
                "from_generator makes each element in Python, one after the other",
                "let the generator yield whole batches, or read the data by tf.data itself",
            )
            continue
        if kinds & _PYTHON:
            yield Cause(
                f"map({name}) calls Python, where one call waits for the other",
                "write it with operations of TensorFlow, which run on all cores",
                place,
            )
            continue
        is_random = any(map(_draws_at_random, graph.get_operations()))
        if is_random and any(type(each).__name__ == "CacheDataset" for each in chain[:at]):
            yield Cause(
                f"cache() keeps what map({name}) has drawn at random: each pass gets the same",
                "write cache() before this map",
                place,
            )
        if kinds & _READS:
            yield Cause(
                f"map({name}) reads a file for each element",
                "join many in one TFRecord file, and read several of these by "
                f".interleave(tf.data.TFRecordDataset, num_parallel_calls={_AUTOTUNE})",
                place,
            )
        if type(dataset).__name__ == "_MapDataset" and is_random:
            yield Cause(
                f"map({name}) makes one element at a time, because it draws random numbers",
                f"write .map({name}, num_parallel_calls={_AUTOTUNE})",
                place,
            )
        elif batch > 1 and ms / batch < _SMALL_MS:
            yield Cause(
                f"map({name}) is called for each of the {batch:,} elements of a batch, and takes "
                "less time than its call",
                "write .batch(...) before it, if it can take a batch",
                place,
            )


def variables_in(data: Any) -> list[tf.Variable]:
    """Returns the variables that the maps of a pipeline use, such as random generators' states."""
    functions = filter(None, map(mapped_by, _chain(data)))
    found = {id(each): each for _, graph in functions for each in graph.variables}
    return list(found.values())


def check_cache(data: Any) -> None:
    """Raises a PhaseError if a pass over the data fills a file with them at present.

    A second pass at the same time would end with an error, and the first one too.
    """
    for file in filter(None, map(cache_file_of, _chain(data))):
        path = Path(file)
        if any(path.parent.glob(f"{glob.escape(path.name)}*.lockfile")):
            raise PhaseError(
                f"The first pass over the data fills the cache {file} at present, which two passes "
                "cannot do at once: ask after the first pass."
            )


def _chain(data: Any) -> Iterator[Any]:
    """Yields a dataset and those that it draws from, the last first."""
    waiting = [data] if isinstance(data, tf.data.Dataset) else []
    while waiting:
        dataset = waiting.pop(0)
        yield dataset
        waiting += inputs_of(dataset)


def _draws_at_random(operation: tf.Operation) -> bool:
    """Returns whether an operation draws random numbers, and has a state for it."""
    is_random = "Random" in operation.type or operation.type == "Multinomial"
    return is_random and bool(operation.op_def.is_stateful)


def _name(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else str(name)


def _place(function: Any) -> CodeLine | None:
    """Returns the line that gives a function to `map`; its own first line if unknown."""
    if isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None:
        return None
    if not is_of_the_user(code.co_filename):
        return None
    lines = linecache.getlines(code.co_filename)
    tree = for_loops.parsed("".join(lines))
    found = [] if tree is None else [*_maps(tree, function.__name__, code.co_firstlineno)]
    if len(found) == 1:
        return CodeLine(code.co_filename, found[0], "")
    return CodeLine(code.co_filename, code.co_firstlineno, "")


def _maps(tree: ast.AST, name: str, line: int) -> Iterator[int]:
    """Yields the lines in which a function is given to a `map`: by its name, or a lambda."""
    for each in ast.walk(tree):
        if not (isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args):
            continue
        if each.func.attr in ("map", "interleave", "flat_map"):
            given = each.args[0]
            is_named = isinstance(given, ast.Name) and given.id == name
            if is_named or (isinstance(given, ast.Lambda) and given.lineno == line):
                yield given.lineno
